/*
 * siphash.c - SipHash-c-d with 64- and 128-bit output, after the paper "SipHash: a fast short-input PRF".
 *
 * The one idea: one inlined body with the number of rounds as constants, so that the compiler makes a straight-line
 * version for each variant and the published vectors of SipHash-2-4 check the code that SipHash-1-3 runs too.
 */
#include "base/siphash.h"

#include <stdbool.h>
#include <string.h>

typedef struct sip_state {
    uint64_t v0, v1, v2, v3;
} sip_state;

static inline uint64_t rotl(uint64_t x, unsigned bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static inline uint64_t load_le64(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline void sip_round(sip_state *s)
{
    s->v0 += s->v1;
    s->v1 = rotl(s->v1, 13) ^ s->v0;
    s->v0 = rotl(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotl(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotl(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotl(s->v1, 17) ^ s->v2;
    s->v2 = rotl(s->v2, 32);
}

static inline void sip_rounds(sip_state *s, int rounds)
{
    for (int i = 0; i < rounds; i++)
        sip_round(s);
}

/* The last block: the bytes that are left and the length, as the paper wants it. */
static inline uint64_t last_block(const unsigned char *p, size_t left, size_t len)
{
    uint64_t word = (uint64_t)len << 56;
    if (len >= 8 && left > 0) /* the bytes before them are there too: one load, and shifted out */
        return word | load_le64(p + left - 8) >> (64 - 8 * left);
    for (size_t i = 0; i < left; i++)
        word |= (uint64_t)p[i] << (8 * i);
    return word;
}

static inline hx_hash sip_hash(const unsigned char *key, const void *data, size_t len, int c_rounds, int d_rounds,
                               bool wide)
{
    const unsigned char *p = data;
    uint64_t k0 = load_le64(key);
    uint64_t k1 = load_le64(key + 8);
    sip_state s = {k0 ^ 0x736f6d6570736575U, k1 ^ 0x646f72616e646f6dU, k0 ^ 0x6c7967656e657261U,
                   k1 ^ 0x7465646279746573U};
    if (wide)
        s.v1 ^= 0xee;
    for (size_t blocks = len / 8; blocks > 0; blocks--) {
        uint64_t word = load_le64(p);
        s.v3 ^= word;
        sip_rounds(&s, c_rounds);
        s.v0 ^= word;
        p += 8;
    }
    uint64_t word = last_block(p, len % 8, len);
    s.v3 ^= word;
    sip_rounds(&s, c_rounds);
    s.v0 ^= word;
    s.v2 ^= wide ? 0xee : 0xff;
    sip_rounds(&s, d_rounds);
    hx_hash hash = {s.v0 ^ s.v1 ^ s.v2 ^ s.v3, 0};
    if (wide) {
        s.v1 ^= 0xdd;
        sip_rounds(&s, d_rounds);
        hash.hi = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
    }
    return hash;
}

hx_hash hx_siphash_id(const unsigned char key[HX_SIPHASH_KEY_LEN], const void *data, size_t len)
{
    return sip_hash(key, data, len, 1, 3, true);
}

uint64_t hx_siphash64(const unsigned char key[HX_SIPHASH_KEY_LEN], const void *data, size_t len)
{
    return sip_hash(key, data, len, 2, 4, false).lo;
}

void hx_siphash128(const unsigned char key[HX_SIPHASH_KEY_LEN], const void *data, size_t len, unsigned char out[16])
{
    hx_hash hash = sip_hash(key, data, len, 2, 4, true);
    for (int i = 0; i < 8; i++) {
        out[i] = (unsigned char)(hash.lo >> (8 * i));
        out[8 + i] = (unsigned char)(hash.hi >> (8 * i));
    }
}
