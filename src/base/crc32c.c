/*
 * crc32c.c - CRC-32C with the processor's instruction where there is one, else by table.
 *
 * The one idea: one stream, 8 bytes a step. Three interleaved streams would be faster still, but this is already far
 * above what a disk takes, and a log batch is checksummed once.
 */
#include "base/crc32c.h"

#include <stdbool.h>
#include <string.h>

/* Nibble table of the reflected polynomial 0x82F63B78: entry i is the CRC of the 4-bit value i. */
static const uint32_t nibble_table[16] = {
    0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3, 0x61C69362, 0x7198540D,
    0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9, 0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75,
};

uint32_t hx_crc32c_plain(uint32_t crc, const void *data, size_t len)
{
    const unsigned char *p = data;
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = (crc >> 4) ^ nibble_table[crc & 15];
        crc = (crc >> 4) ^ nibble_table[crc & 15];
    }
    return ~crc;
}

#if defined(__x86_64__)
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *data, size_t len)
{
    const unsigned char *p = data;
    uint64_t c = ~crc;
    while (len >= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        c = _mm_crc32_u64(c, word);
        p += 8;
        len -= 8;
    }
    uint32_t c32 = (uint32_t)c;
    while (len > 0) {
        c32 = _mm_crc32_u8(c32, *p);
        p++;
        len--;
    }
    return ~c32;
}

uint32_t hx_crc32c(uint32_t crc, const void *data, size_t len)
{
    if (__builtin_cpu_supports("sse4.2"))
        return crc32c_sse42(crc, data, len);
    return hx_crc32c_plain(crc, data, len);
}
#else
uint32_t hx_crc32c(uint32_t crc, const void *data, size_t len)
{
    return hx_crc32c_plain(crc, data, len);
}
#endif
