/*
 * siphash.h - SipHash (Aumasson and Bernstein, 2012), a keyed hash: who does not know the key can neither aim a
 * collision nor find one.
 */
#ifndef HX_SIPHASH_H
#define HX_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

#define HX_SIPHASH_KEY_LEN 16

/* A 128-bit hash as two words; its bytes are lo, then hi, little-endian. */
typedef struct hx_hash {
    uint64_t lo, hi;
} hx_hash;

/* SipHash-1-3 with 128-bit output: the identity of an id. Any thread. */
hx_hash hx_siphash_id(const unsigned char key[HX_SIPHASH_KEY_LEN], const void *data, size_t len);

/* SipHash-2-4 with 64-bit output: the chain of log batches and other places where speed does not count. */
uint64_t hx_siphash64(const unsigned char key[HX_SIPHASH_KEY_LEN], const void *data, size_t len);

/* SipHash-2-4 with 128-bit output. */
void hx_siphash128(const unsigned char key[HX_SIPHASH_KEY_LEN], const void *data, size_t len, unsigned char out[16]);

#endif
