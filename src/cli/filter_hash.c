/*
 * filter_hash.c - a running hash of the input, by which the next run knows it again.
 *
 *     chain[0] = 0;  chain[i + 1] = H(chain[i] | 16 KiB of input)      H: SipHash-1-3, 128 bits
 *     value    = H(chain | what is behind the last whole 16 KiB)        together with the number of bytes
 *
 * A checksum of 32 bits would not do: it lets one wrong input in four thousand million through, and a run that skips
 * an input it never judged loses messages. With 128 bits that does not happen by accident; the key is random for
 * each input, so it cannot be brought about either, except by who can read the store.
 *
 * `marks` holds 64 bits of the value after 1, 2, 4, 8, ... bytes. By them a different input is told after at most
 * twice the bytes it shares with the old one: a pipe that trickles is not held up for a whole recorded length.
 */
#include "cli/filter.h"

#include <string.h>

#include "base/codec.h"

#define CHAIN_LEN 16
#define CHUNK_LEN (sizeof(((hx_filter_hash *)0)->chunk) - CHAIN_LEN)

void hx_filter_hash_init(hx_filter_hash *hash, const unsigned char key[HX_SIPHASH_KEY_LEN])
{
    memset(hash, 0, sizeof *hash);
    memcpy(hash->key, key, HX_SIPHASH_KEY_LEN);
}

hx_hash hx_filter_hash_value(const hx_filter_hash *hash)
{
    return hx_siphash_id(hash->key, hash->chunk, CHAIN_LEN + hash->chunk_len);
}

static void mark(hx_filter_hash *hash)
{
    hash->marks[hash->mark_count++] = hx_filter_hash_value(hash).lo;
}

void hx_filter_hash_add(hx_filter_hash *hash, const unsigned char *data, size_t len)
{
    while (len > 0) {
        size_t n = CHUNK_LEN - hash->chunk_len;
        bool marking = hash->mark_count < HX_FILTER_MARKS;
        uint64_t to_mark = marking ? ((uint64_t)1 << hash->mark_count) - hash->bytes : UINT64_MAX;
        if (n > len)
            n = len;
        if (n > to_mark)
            n = (size_t)to_mark;
        memcpy(hash->chunk + CHAIN_LEN + hash->chunk_len, data, n);
        hash->chunk_len += n;
        hash->bytes += n;
        data += n;
        len -= n;
        if (hash->chunk_len == CHUNK_LEN) {
            hx_hash chain = hx_filter_hash_value(hash);
            hx_put_le64(hash->chunk, chain.lo);
            hx_put_le64(hash->chunk + 8, chain.hi);
            hash->chunk_len = 0;
        }
        if (n == to_mark)
            mark(hash);
    }
}
