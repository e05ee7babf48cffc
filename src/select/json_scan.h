/*
 * json_scan.h - the first pass over a JSON text: 64 bytes at a time, which bytes begin a token?
 *
 *     {"a\"b": [12, true]}          text
 *     o       o o  o     oo         o = a token
 *
 * Tokens are {}[]:, outside strings, the quote that opens a string, and the first byte of a run of anything else
 * (numbers, words, rubbish). But what stands directly behind one of {[:, is not listed: something must follow
 * those, so the reader looks there first. In text without blanks that leaves one token of two to list and to walk.
 *
 * A scan goes over a run of up to HX_JSON_BLOCKS blocks and leaves what it found in hx_json_scan; the carries go
 * on into the next run of the same record. The reader (json_reader.c) gives the tokens their meaning.
 * There are several kernels for the same function; they give the same answers and differ in speed.
 */
#ifndef HX_SELECT_JSON_SCAN_H
#define HX_SELECT_JSON_SCAN_H

#include <stddef.h>
#include <stdint.h>

#define HX_JSON_BLOCK 64 /* bytes */
#define HX_JSON_BLOCKS 8 /* in a run */
#define HX_JSON_TOKEN_STEP 8
#define HX_JSON_TOKENS_SPARE 64 /* words behind the last token that a kernel may write */

typedef struct hx_json_scan {
    /* carried from block to block; all 0 at the start of a record */
    uint64_t in_string;    /* all ones: the next block begins inside a string */
    uint64_t escape_next;  /* 1: the next block's first byte has a backslash before it */
    uint64_t in_scalar;    /* 1: the next block's first byte goes on with a number or word */
    uint64_t after_opener; /* 1: the next block's first byte stands directly behind one of {[:, */
    /* of this run */
    uint64_t odd;                     /* not 0: some `escaped` or `control` is not 0 */
    uint64_t high;                    /* not 0: some byte is above 0x7f */
    uint64_t escaped[HX_JSON_BLOCKS]; /* bytes with an escaping backslash before them */
    uint64_t control[HX_JSON_BLOCKS]; /* control characters inside strings */
    size_t count;
    uint16_t tokens[HX_JSON_BLOCKS * HX_JSON_BLOCK + HX_JSON_TOKENS_SPARE]; /* offsets in the run, rising */
} hx_json_scan;

/*
 * Scan `blocks` (1 to HX_JSON_BLOCKS) blocks from data on; all their bytes are read. Only the bits of `last_valid`
 * count in the last of them: the bytes behind are read and ignored.
 */
typedef void (*hx_json_kernel)(hx_json_scan *scan, const unsigned char *data, size_t blocks, uint64_t last_valid);

/* The kernels that this machine can run, the fastest first, NULL behind the last; names in the same order. */
#define HX_JSON_KERNELS_MAX 4
size_t hx_json_scan_kernels(hx_json_kernel kernels[HX_JSON_KERNELS_MAX], const char *names[HX_JSON_KERNELS_MAX]);

#endif
