/* crc32c.h - CRC-32C (Castagnoli, polynomial 0x1EDC6F41, reflected), as in RFC 3720 appendix B.4. */
#ifndef HX_CRC32C_H
#define HX_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 at the start) over len bytes of data. Any thread. */
uint32_t hx_crc32c(uint32_t crc, const void *data, size_t len);

/* The same by table alone: what runs on a processor without the instruction. For tests. */
uint32_t hx_crc32c_plain(uint32_t crc, const void *data, size_t len);

#endif
