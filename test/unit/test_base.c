/*
 * test_base.c - buffers, the codec, CRC-32C and SipHash: published vectors, bounds, and that what is written is read
 * back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/codec.h"
#include "base/crc32c.h"
#include "base/siphash.h"

static void siphash_gives_the_published_values(void **state)
{
    (void)state;
    static const uint64_t short_hashes[] = {0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a,
                                            0x85676696d7fb7e2d};
    static const unsigned char wide_0[16] = {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6,
                                             0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93};
    static const unsigned char wide_1[16] = {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44,
                                             0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45};
    unsigned char key[16];
    unsigned char data[64];
    unsigned char out[16];
    for (unsigned i = 0; i < sizeof key; i++)
        key[i] = (unsigned char)i;
    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)i;
    for (size_t len = 0; len < 4; len++)
        assert_true(hx_siphash64(key, data, len) == short_hashes[len]);
    assert_true(hx_siphash64(key, data, 15) == 0xa129ca6149be45e5); /* the value in the paper's appendix */
    hx_siphash128(key, data, 0, out);
    assert_memory_equal(out, wide_0, 16);
    hx_siphash128(key, data, 1, out);
    assert_memory_equal(out, wide_1, 16);
}

static void siphash_of_ids_depends_on_key_length_and_every_byte(void **state)
{
    (void)state;
    unsigned char key[16] = {7};
    unsigned char data[40] = {0};
    hx_hash all = hx_siphash_id(key, data, sizeof data);
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] ^= 1;
        hx_hash changed = hx_siphash_id(key, data, sizeof data);
        assert_true(changed.lo != all.lo && changed.hi != all.hi);
        data[i] ^= 1;
    }
    hx_hash shorter = hx_siphash_id(key, data, sizeof data - 1);
    assert_true(shorter.lo != all.lo && shorter.hi != all.hi);
    key[15] ^= 1;
    hx_hash other_key = hx_siphash_id(key, data, sizeof data);
    assert_true(other_key.lo != all.lo && other_key.hi != all.hi);
}

static void crc32c_gives_the_published_values(void **state)
{
    (void)state;
    unsigned char zeros[32] = {0};
    unsigned char ones[32];
    memset(ones, 0xff, sizeof ones);
    uint32_t (*const both[])(uint32_t, const void *, size_t) = {hx_crc32c, hx_crc32c_plain};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(both[i](0, "123456789", 9), 0xe3069283);
        assert_int_equal(both[i](0, zeros, sizeof zeros), 0x8a9136aa);
        assert_int_equal(both[i](0, ones, sizeof ones), 0x62a8ab43);
        assert_int_equal(both[i](both[i](0, "1234", 4), "56789", 5), 0xe3069283);
        assert_int_equal(both[i](0, "", 0), 0);
    }
}

static void crc32c_by_table_and_by_instruction_agree(void **state)
{
    (void)state;
    unsigned char data[600];
    uint64_t x = 1;
    for (size_t i = 0; i < sizeof data; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        data[i] = (unsigned char)(x >> 56);
    }
    for (size_t from = 0; from < 9; from++)
        for (size_t len = 0; len + from < sizeof data; len += 7)
            assert_int_equal(hx_crc32c(5, data + from, len), hx_crc32c_plain(5, data + from, len));
}

static void numbers_are_read_back_as_written(void **state)
{
    (void)state;
    static const uint64_t values[] = {0,          1,
                                      127,        128,
                                      16383,      16384,
                                      UINT32_MAX, (uint64_t)UINT32_MAX + 1,
                                      INT64_MAX,  (uint64_t)INT64_MAX + 1,
                                      UINT64_MAX};
    hx_buf buf = {0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        buf.len = 0;
        assert_int_equal(hx_buf_reserve(&buf, 64), 0);
        hx_write_varint(&buf, values[i]);
        hx_write_zigzag(&buf, (int64_t)values[i]);
        hx_write_le64(&buf, values[i]);
        hx_write_u8(&buf, 0xa5);
        hx_reader reader = {buf.data, buf.len, 0, false};
        assert_true(hx_read_varint(&reader) == values[i]);
        assert_true(hx_read_zigzag(&reader) == (int64_t)values[i]);
        assert_true(hx_read_le64(&reader) == values[i]);
        assert_int_equal(hx_read_u8(&reader), 0xa5);
        assert_false(reader.bad);
        assert_int_equal(reader.at, buf.len);
    }
    hx_buf_free(&buf);
}

static void small_magnitudes_are_short(void **state)
{
    (void)state;
    hx_buf buf = {0};
    assert_int_equal(hx_buf_reserve(&buf, 64), 0);
    hx_write_zigzag(&buf, -1);
    hx_write_zigzag(&buf, 63);
    hx_write_varint(&buf, 127);
    assert_int_equal(buf.len, 3);
    hx_buf_free(&buf);
}

static void a_reader_refuses_what_is_malformed_and_stays_refusing(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        unsigned char bytes[12];
    } bad[] = {
        {0, {0}},                                                                 /* nothing */
        {1, {0x80}},                                                              /* ends within */
        {2, {0x80, 0x00}},                                                        /* a needless byte */
        {10, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}},       /* 65 bits */
        {11, {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}}, /* too many bytes */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hx_reader reader = {bad[i].bytes, bad[i].len, 0, false};
        assert_true(hx_read_varint(&reader) == 0);
        assert_true(reader.bad);
        assert_true(hx_read_u8(&reader) == 0 && hx_read_le64(&reader) == 0);
        assert_null(hx_read_bytes(&reader, 0));
    }
}

static void bytes_are_never_read_past_the_end(void **state)
{
    (void)state;
    unsigned char *data = malloc(7); /* exactly: a sanitizer sees one byte more */
    memset(data, 1, 7);
    hx_reader reader = {data, 7, 0, false};
    assert_non_null(hx_read_bytes(&reader, 3));
    assert_true(hx_read_le64(&reader) == 0);
    assert_true(reader.bad);
    hx_reader huge = {data, 7, 0, false};
    assert_null(hx_read_bytes(&huge, SIZE_MAX));
    assert_true(huge.bad);
    free(data);
}

static void a_buffer_grows_and_refuses_the_impossible(void **state)
{
    (void)state;
    hx_buf buf = {0};
    for (int i = 0; i < 1000; i++)
        assert_int_equal(hx_buf_append(&buf, "abc", 3), 0);
    assert_int_equal(buf.len, 3000);
    assert_memory_equal(buf.data + 2997, "abc", 3);
    unsigned char *before = buf.data;
    assert_true(hx_buf_reserve(&buf, SIZE_MAX) < 0);
    assert_true(hx_buf_reserve(&buf, SIZE_MAX / 2) < 0);
    assert_ptr_equal(buf.data, before);
    assert_int_equal(buf.len, 3000);
    hx_buf_free(&buf);
    assert_null(buf.data);
    assert_int_equal(buf.cap, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(siphash_gives_the_published_values),
        cmocka_unit_test(siphash_of_ids_depends_on_key_length_and_every_byte),
        cmocka_unit_test(crc32c_gives_the_published_values),
        cmocka_unit_test(crc32c_by_table_and_by_instruction_agree),
        cmocka_unit_test(numbers_are_read_back_as_written),
        cmocka_unit_test(small_magnitudes_are_short),
        cmocka_unit_test(a_reader_refuses_what_is_malformed_and_stays_refusing),
        cmocka_unit_test(bytes_are_never_read_past_the_end),
        cmocka_unit_test(a_buffer_grows_and_refuses_the_impossible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
