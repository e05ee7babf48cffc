/*
 * format.c - the bytes of superblocks, log file headers and log batches.
 *
 * The one idea: every block begins with a magic, and its CRC covers all of it with the CRC's own bytes as zeros. The
 * version stands at one place in all formats to come, and the CRC is checked before it, so that a newer version is
 * told from damage.
 *
 *     superblock:  0 magic "HAPAXSUP" | 8 version | 12 crc | 16 uuid | 32 key | 48 generation | 56 first_wal | 64
 * created log file:    0 magic "HAPAXWAL" | 8 version | 12 crc | 16 uuid | 32 key | 48 seq | 56 prev_seq | 64
 * prev_end | 72 first_lsn | 80 chain | 88 salt | 96 wall batch:       0 magic "HXB1" | 4 crc | 8 len | 12 count | 16
 * first_lsn | 24 salt | 32 chain | 40 wall | 48 activity | 56 payload crc | 60 zero
 */
#include "core/format.h"

#include <string.h>

#include "base/codec.h"
#include "base/crc32c.h"
#include "base/siphash.h"

#define BATCH_MAGIC 0x31425848u /* "HXB1" */

static const char superblock_magic[8] = {'H', 'A', 'P', 'A', 'X', 'S', 'U', 'P'};
static const char wal_magic[8] = {'H', 'A', 'P', 'A', 'X', 'W', 'A', 'L'};

/* The CRC of len bytes with the four at crc_at taken as zeros. */
static uint32_t crc_without(const unsigned char *data, size_t len, size_t crc_at)
{
    static const unsigned char zeros[4];
    uint32_t crc = hx_crc32c(0, data, crc_at);
    crc = hx_crc32c(crc, zeros, sizeof zeros);
    return hx_crc32c(crc, data + crc_at + 4, len - crc_at - 4);
}

static bool all_zero(const unsigned char *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (data[i] != 0)
            return false;
    return true;
}

static void begin_block(unsigned char block[HX_BLOCK], const char magic[8], uint32_t version)
{
    memset(block, 0, HX_BLOCK);
    memcpy(block, magic, 8);
    hx_put_le32(block + 8, version);
}

static void end_block(unsigned char block[HX_BLOCK])
{
    hx_put_le32(block + 12, crc_without(block, HX_BLOCK, 12));
}

static hx_format_check check_block(const unsigned char block[HX_BLOCK], const char magic[8])
{
    if (all_zero(block, HX_BLOCK))
        return HX_FORMAT_BLANK;
    if (memcmp(block, magic, 8) != 0 || hx_get_le32(block + 12) != crc_without(block, HX_BLOCK, 12))
        return HX_FORMAT_BAD;
    uint32_t version = hx_get_le32(block + 8);
    if (version == 0)
        return HX_FORMAT_BAD;
    return version > HX_FORMAT_VERSION ? HX_FORMAT_NEWER : HX_FORMAT_GOOD;
}

void hx_format_write_superblock(unsigned char block[HX_BLOCK], const hx_superblock *superblock)
{
    begin_block(block, superblock_magic, superblock->version);
    memcpy(block + 16, superblock->uuid, 16);
    memcpy(block + 32, superblock->key, 16);
    hx_put_le64(block + 48, superblock->generation);
    hx_put_le64(block + 56, superblock->first_wal);
    hx_put_le64(block + 64, (uint64_t)superblock->created_ms);
    end_block(block);
}

hx_format_check hx_format_read_superblock(const unsigned char block[HX_BLOCK], hx_superblock *ret_superblock)
{
    hx_format_check check = check_block(block, superblock_magic);
    if (check != HX_FORMAT_GOOD && check != HX_FORMAT_NEWER)
        return check;
    ret_superblock->version = hx_get_le32(block + 8);
    memcpy(ret_superblock->uuid, block + 16, 16);
    memcpy(ret_superblock->key, block + 32, 16);
    ret_superblock->generation = hx_get_le64(block + 48);
    ret_superblock->first_wal = hx_get_le64(block + 56);
    ret_superblock->created_ms = (int64_t)hx_get_le64(block + 64);
    return check;
}

void hx_format_write_wal_header(unsigned char block[HX_BLOCK], const hx_wal_header *header)
{
    begin_block(block, wal_magic, header->version);
    memcpy(block + 16, header->uuid, 16);
    memcpy(block + 32, header->key, 16);
    hx_put_le64(block + 48, header->seq);
    hx_put_le64(block + 56, header->prev_seq);
    hx_put_le64(block + 64, header->prev_end);
    hx_put_le64(block + 72, header->first_lsn);
    hx_put_le64(block + 80, header->chain);
    hx_put_le64(block + 88, header->salt);
    hx_put_le64(block + 96, (uint64_t)header->wall_ms);
    end_block(block);
}

hx_format_check hx_format_read_wal_header(const unsigned char block[HX_BLOCK], hx_wal_header *ret_header)
{
    hx_format_check check = check_block(block, wal_magic);
    if (check != HX_FORMAT_GOOD && check != HX_FORMAT_NEWER)
        return check;
    ret_header->version = hx_get_le32(block + 8);
    memcpy(ret_header->uuid, block + 16, 16);
    memcpy(ret_header->key, block + 32, 16);
    ret_header->seq = hx_get_le64(block + 48);
    ret_header->prev_seq = hx_get_le64(block + 56);
    ret_header->prev_end = hx_get_le64(block + 64);
    ret_header->first_lsn = hx_get_le64(block + 72);
    ret_header->chain = hx_get_le64(block + 80);
    ret_header->salt = hx_get_le64(block + 88);
    ret_header->wall_ms = (int64_t)hx_get_le64(block + 96);
    return check;
}

void hx_format_write_batch(unsigned char bytes[HX_BATCH_HEADER], const hx_batch_header *header)
{
    memset(bytes, 0, HX_BATCH_HEADER);
    hx_put_le32(bytes, BATCH_MAGIC);
    hx_put_le32(bytes + 8, header->len);
    hx_put_le32(bytes + 12, header->count);
    hx_put_le64(bytes + 16, header->first_lsn);
    hx_put_le64(bytes + 24, header->salt);
    hx_put_le64(bytes + 32, header->chain);
    hx_put_le64(bytes + 40, (uint64_t)header->wall_ms);
    hx_put_le64(bytes + 48, (uint64_t)header->activity_ms);
    hx_put_le32(bytes + 56, header->payload_crc);
    hx_put_le32(bytes + 4, crc_without(bytes, HX_BATCH_HEADER, 4));
}

hx_format_check hx_format_read_batch(const unsigned char bytes[HX_BATCH_HEADER], hx_batch_header *ret_header)
{
    if (all_zero(bytes, HX_BATCH_HEADER))
        return HX_FORMAT_BLANK;
    if (hx_get_le32(bytes) != BATCH_MAGIC || hx_get_le32(bytes + 4) != crc_without(bytes, HX_BATCH_HEADER, 4))
        return HX_FORMAT_BAD;
    hx_batch_header header = {
        .len = hx_get_le32(bytes + 8),
        .count = hx_get_le32(bytes + 12),
        .first_lsn = hx_get_le64(bytes + 16),
        .salt = hx_get_le64(bytes + 24),
        .chain = hx_get_le64(bytes + 32),
        .wall_ms = (int64_t)hx_get_le64(bytes + 40),
        .activity_ms = (int64_t)hx_get_le64(bytes + 48),
        .payload_crc = hx_get_le32(bytes + 56),
    };
    if (header.len == 0 || header.len > HX_BATCH_MAX || header.count == 0)
        return HX_FORMAT_BAD;
    *ret_header = header;
    return HX_FORMAT_GOOD;
}

uint64_t hx_format_chain(const unsigned char key[16], const unsigned char bytes[HX_BATCH_HEADER])
{
    return hx_siphash64(key, bytes, HX_BATCH_HEADER);
}

uint64_t hx_format_batch_span(uint32_t len)
{
    return ((uint64_t)HX_BATCH_HEADER + len + HX_BLOCK - 1) / HX_BLOCK * HX_BLOCK;
}
