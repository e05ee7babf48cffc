/*
 * format.h - the bytes of superblocks, log file headers and log batches; docs/format.md describes each.
 *
 * Everything is little-endian. Encoders fill a block the caller provides; decoders check magic, version and CRC and
 * trust nothing. No I/O here.
 */
#ifndef HX_FORMAT_H
#define HX_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HX_FORMAT_VERSION 1u
#define HX_BLOCK 4096u           /* superblocks, file headers; batches start on a multiple of it */
#define HX_BATCH_HEADER 64u      /* bytes before a batch's records */
#define HX_BATCH_MAX (64u << 20) /* bytes of a batch's records */

/* What a decoder found. */
typedef enum hx_format_check {
    HX_FORMAT_GOOD = 0,
    HX_FORMAT_BLANK, /* all zeros */
    HX_FORMAT_BAD,   /* not ours, or damaged */
    HX_FORMAT_NEWER, /* ours, sound, of a version this library does not know */
} hx_format_check;

typedef struct hx_superblock {
    uint32_t version;
    uint64_t generation; /* the higher one of the two is in force */
    unsigned char uuid[16];
    unsigned char key[16]; /* of the hash of ids */
    uint64_t first_wal;    /* seq of the first log file that is needed */
    int64_t created_ms;    /* wall time */
} hx_superblock;

typedef struct hx_wal_header {
    uint32_t version;
    unsigned char uuid[16];
    unsigned char key[16];
    uint64_t seq;      /* number of the file */
    uint64_t prev_seq; /* the file before it in the chain; 0: none */
    uint64_t prev_end; /* the bytes of that file that count: this file goes on from there */
    uint64_t first_lsn;
    uint64_t chain; /* of the batch before the first */
    uint64_t salt;  /* of the batches in this file */
    int64_t wall_ms;
} hx_wal_header;

typedef struct hx_batch_header {
    uint32_t len;       /* bytes of the records */
    uint32_t count;     /* events in them */
    uint64_t first_lsn; /* number of the first event; the events of all batches are numbered without a gap */
    uint64_t salt;
    uint64_t chain; /* hash of the header of the batch before */
    int64_t wall_ms;
    int64_t activity_ms;
    uint32_t payload_crc;
} hx_batch_header;

void hx_format_write_superblock(unsigned char block[HX_BLOCK], const hx_superblock *superblock);
hx_format_check hx_format_read_superblock(const unsigned char block[HX_BLOCK], hx_superblock *ret_superblock);

void hx_format_write_wal_header(unsigned char block[HX_BLOCK], const hx_wal_header *header);
hx_format_check hx_format_read_wal_header(const unsigned char block[HX_BLOCK], hx_wal_header *ret_header);

void hx_format_write_batch(unsigned char header_bytes[HX_BATCH_HEADER], const hx_batch_header *header);
/* HX_FORMAT_GOOD says that the header is sound; its records are checked against payload_crc by the caller. */
hx_format_check hx_format_read_batch(const unsigned char header_bytes[HX_BATCH_HEADER], hx_batch_header *ret_header);

/* What the next batch carries as `chain`. */
uint64_t hx_format_chain(const unsigned char key[16], const unsigned char header_bytes[HX_BATCH_HEADER]);

/* The bytes a batch of `len` bytes of records takes in the file: a multiple of HX_BLOCK. */
uint64_t hx_format_batch_span(uint32_t len);

#endif
