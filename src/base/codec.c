/*
 * codec.c - numbers and bytes to and from their stored form. See codec.h for the two sides.
 *
 * The one idea: a reader that has gone wrong stays wrong and harmless, so decoding needs one check a record.
 * Varints are canonical: a value has exactly one encoding, so equal states are equal bytes.
 */
#include "base/codec.h"

#include <assert.h>
#include <string.h>

void hx_put_le32(unsigned char *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(value >> (8 * i));
}

void hx_put_le64(unsigned char *p, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        p[i] = (unsigned char)(value >> (8 * i));
}

uint32_t hx_get_le32(const unsigned char *p)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value |= (uint32_t)p[i] << (8 * i);
    return value;
}

uint64_t hx_get_le64(const unsigned char *p)
{
    uint64_t value;
    memcpy(&value, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

void hx_write_u8(hx_buf *buf, uint8_t value)
{
    assert(buf->cap - buf->len >= 1);
    buf->data[buf->len++] = value;
}

void hx_write_le64(hx_buf *buf, uint64_t value)
{
    assert(buf->cap - buf->len >= 8);
    hx_put_le64(buf->data + buf->len, value);
    buf->len += 8;
}

void hx_write_varint(hx_buf *buf, uint64_t value)
{
    while (value >= 0x80) {
        hx_write_u8(buf, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    hx_write_u8(buf, (uint8_t)value);
}

void hx_write_zigzag(hx_buf *buf, int64_t value)
{
    hx_write_varint(buf, ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

void hx_write_bytes(hx_buf *buf, const void *data, size_t len)
{
    assert(buf->cap - buf->len >= len);
    if (len > 0)
        memcpy(buf->data + buf->len, data, len);
    buf->len += len;
}

const unsigned char *hx_read_bytes(hx_reader *reader, size_t len)
{
    if (reader->bad || len > reader->len - reader->at) {
        reader->bad = true;
        return NULL;
    }
    const unsigned char *p = reader->data + reader->at;
    reader->at += len;
    return p;
}

uint8_t hx_read_u8(hx_reader *reader)
{
    const unsigned char *p = hx_read_bytes(reader, 1);
    return p == NULL ? 0 : *p;
}

uint64_t hx_read_le64(hx_reader *reader)
{
    const unsigned char *p = hx_read_bytes(reader, 8);
    return p == NULL ? 0 : hx_get_le64(p);
}

uint64_t hx_read_varint(hx_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = hx_read_u8(reader);
        uint64_t bits = byte & 0x7f;
        if (reader->bad || (shift == 63 && bits > 1) || (byte == 0 && shift > 0))
            break;
        value |= bits << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
    reader->bad = true;
    return 0;
}

int64_t hx_read_zigzag(hx_reader *reader)
{
    uint64_t value = hx_read_varint(reader);
    return (int64_t)((value >> 1) ^ (0 - (value & 1)));
}
