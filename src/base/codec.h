/*
 * codec.h - numbers and bytes to and from their stored form, little-endian, never past a bound.
 *
 * Writer: appends to an hx_buf whose room was reserved before (hx_buf_reserve), so that writing cannot fail.
 * Reader: a cursor over a run of bytes. The first read past the end, or a malformed number, sets `bad`; from then on
 * every read gives 0 and moves nothing. So a caller reads a whole record and asks once.
 */
#ifndef HX_CODEC_H
#define HX_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define HX_VARINT_MAX 10 /* bytes of the longest varint */

typedef struct hx_reader {
    const unsigned char *data; /* borrowed */
    size_t len;
    size_t at;
    bool bad;
} hx_reader;

/* Fixed width, at p. */
void hx_put_le32(unsigned char *p, uint32_t value);
void hx_put_le64(unsigned char *p, uint64_t value);
uint32_t hx_get_le32(const unsigned char *p);
uint64_t hx_get_le64(const unsigned char *p);

/* Appends; the room must be there (asserted). */
void hx_write_u8(hx_buf *buf, uint8_t value);
void hx_write_le64(hx_buf *buf, uint64_t value);
void hx_write_varint(hx_buf *buf, uint64_t value); /* LEB128, 1 to 10 bytes */
void hx_write_zigzag(hx_buf *buf, int64_t value);  /* a signed number as varint: 0, -1, 1, -2, ... */
void hx_write_bytes(hx_buf *buf, const void *data, size_t len);

uint8_t hx_read_u8(hx_reader *reader);
uint64_t hx_read_le64(hx_reader *reader);
uint64_t hx_read_varint(hx_reader *reader); /* refuses more than 64 bits and needless bytes */
int64_t hx_read_zigzag(hx_reader *reader);
/* The next len bytes, borrowed from the run, or NULL when there are fewer. */
const unsigned char *hx_read_bytes(hx_reader *reader, size_t len);

#endif
