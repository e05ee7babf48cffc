/*
 * test_utf8.c - strict UTF-8: every code point, every short byte sequence, and where the first fault stands.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* The plain way: decode and judge the value. The length of the character at text, or 0. */
static size_t plain_character(const unsigned char *text, size_t len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (text[0] < 0x80)
        return 1;
    size_t count = text[0] >= 0xf8 ? 0 : text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc0 ? 2 : 0;
    if (count == 0 || count > len)
        return 0;
    uint32_t code = text[0] & (0x7fu >> count);
    for (size_t i = 1; i < count; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3fu);
    }
    return code >= least[count] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? count : 0;
}

static size_t plain_prefix(const unsigned char *text, size_t len)
{
    size_t at = 0, step;
    while (at < len && (step = plain_character(text + at, len - at)) > 0)
        at += step;
    return at;
}

static void check(const unsigned char *text, size_t len)
{
    size_t want = plain_prefix(text, len);
    assert_int_equal(hx_utf8_prefix(text, len), want);
    assert_int_equal(hx_utf8_valid(text, len), want == len);
}

/* All sequences of up to three bytes, and of four that begin with a byte that can begin four. */
static void test_short_sequences(void **state)
{
    (void)state;
    unsigned char text[4] = {0};
    check(text, 0);
    for (uint32_t i = 0; i < 1u << 24; i++) {
        text[0] = (unsigned char)(i >> 16);
        text[1] = (unsigned char)(i >> 8);
        text[2] = (unsigned char)i;
        if (i < 256)
            check(text + 2, 1);
        if (i < 65536)
            check(text + 1, 2);
        if (text[0] >= 0x80 && text[1] >= 0x70)
            check(text, 3);
    }
    for (uint32_t first = 0xee; first <= 0xf8; first++) {
        for (uint32_t i = 0; i < 1u << 16; i++) {
            static const unsigned char last[] = {0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xff};
            text[0] = (unsigned char)first;
            text[1] = (unsigned char)(i >> 8);
            text[2] = (unsigned char)i;
            for (size_t j = 0; j < sizeof last; j++) {
                text[3] = last[j];
                check(text, 4);
            }
        }
    }
}

/* One wrong byte, or a character cut off, at every place of a longer text that mixes short and long runs. */
static void test_places(void **state)
{
    (void)state;
    static const char good[] =
        "plain ASCII text that is longer than a register \xc3\xa9 \xe2\x82\xac\xe2\x82\xac\xe2\x82\xac "
        "and \xf0\x9f\x98\x80\xf0\x9f\x98\x80 more \xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82";
    static const unsigned char wrong[] = {0x80, 0xbf, 0xc0, 0xc1, 0xc3, 0xe0, 0xed, 0xf4, 0xf5, 0xff};
    size_t len = sizeof good - 1;
    assert_true(hx_utf8_valid(good, len));
    for (size_t at = 0; at < len; at++) {
        unsigned char *text = malloc(len); /* exactly as long, so that a sanitizer sees a byte too many */
        assert_non_null(text);
        memcpy(text, good, len);
        check(text, at);
        for (size_t i = 0; i < sizeof wrong; i++) {
            text[at] = wrong[i];
            check(text, len);
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_sequences),
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
