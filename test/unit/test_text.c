/*
 * test_text.c - strict text <-> value: what is taken, what is refused, and that a refusal leaves the result alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define UNTOUCHED INT64_C(-4242424242)

struct expected {
    const char *text;
    int rc;
    int64_t value;
};

typedef int parser(const char *text, size_t len, int64_t *ret);

static void check_all(parser *parse, const struct expected *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t value = UNTOUCHED;
        int rc = parse(cases[i].text, strlen(cases[i].text), &value);
        int64_t want = cases[i].rc < 0 ? UNTOUCHED : cases[i].value;
        if (rc != cases[i].rc || value != want)
            fprintf(stderr, "\"%s\": rc %d, value %lld\n", cases[i].text, rc, (long long)value);
        assert_int_equal(rc, cases[i].rc);
        assert_true(value == want);
    }
}

#define CHECK_ALL(parse, ...)                                                                                        \
    check_all(parse, (const struct expected[]){__VA_ARGS__},                                                         \
              sizeof((const struct expected[]){__VA_ARGS__}) / sizeof(struct expected))

static int parse_u64(const char *text, size_t len, int64_t *ret)
{
    return hx_text_parse_u64(text, len, (uint64_t *)ret);
}

static int parse_ms(const char *text, size_t len, int64_t *ret)
{
    return hx_text_parse_number_ms(text, len, false, ret);
}

static int parse_s(const char *text, size_t len, int64_t *ret)
{
    return hx_text_parse_number_ms(text, len, true, ret);
}

static void test_u64(void **state)
{
    (void)state;
    CHECK_ALL(parse_u64, {"0", 0, 0}, {"7", 0, 7}, {"007", 0, 7}, {"18446744073709551615", 0, -1},
              {"18446744073709551616", -ERANGE, 0}, {"99999999999999999999999", -ERANGE, 0}, {"", -EINVAL, 0},
              {"-1", -EINVAL, 0}, {"+1", -EINVAL, 0}, {" 1", -EINVAL, 0}, {"1 ", -EINVAL, 0}, {"1.0", -EINVAL, 0},
              {"0x1", -EINVAL, 0}, {"1e3", -EINVAL, 0});
}

static void test_durations(void **state)
{
    (void)state;
    CHECK_ALL(hx_text_parse_duration_ms, {"500ms", 0, 500}, {"30s", 0, 30000}, {"2m", 0, 120000}, {"1h", 0, 3600000},
              {"7d", 0, 604800000}, {"0s", 0, 0}, {"0ms", 0, 0}, {"9223372036854775807ms", 0, INT64_MAX},
              {"9223372036854775808ms", -ERANGE, 0}, {"99999999999999d", -ERANGE, 0},
              {"99999999999999999999999s", -ERANGE, 0}, {"106751991167d", 0, INT64_C(106751991167) * 86400000},
              {"106751991168d", -ERANGE, 0}, {"", -EINVAL, 0}, {"5", -EINVAL, 0}, {"s", -EINVAL, 0},
              {"1.5h", -EINVAL, 0}, {"-1s", -EINVAL, 0}, {"+1s", -EINVAL, 0}, {"1 s", -EINVAL, 0},
              {" 1s", -EINVAL, 0}, {"1s ", -EINVAL, 0}, {"1S", -EINVAL, 0}, {"1sec", -EINVAL, 0},
              {"1h30m", -EINVAL, 0}, {"1w", -EINVAL, 0}, {"forever", -EINVAL, 0}, {"1us", -EINVAL, 0},
              {"1e3s", -EINVAL, 0});
}

static void test_sizes(void **state)
{
    (void)state;
    CHECK_ALL(hx_text_parse_size, {"0", 0, 0}, {"4096", 0, 4096}, {"64KiB", 0, 65536}, {"10MiB", 0, 10485760},
              {"1GiB", 0, 1073741824}, {"1TiB", 0, INT64_C(1) << 40}, {"9223372036854775807", 0, INT64_MAX},
              {"9223372036854775808", -ERANGE, 0}, {"8388608TiB", -ERANGE, 0},
              {"8388607TiB", 0, INT64_C(8388607) << 40}, {"10MB", -EINVAL, 0}, {"10M", -EINVAL, 0},
              {"10kib", -EINVAL, 0}, {"10 MiB", -EINVAL, 0}, {"", -EINVAL, 0}, {"MiB", -EINVAL, 0},
              {"-1", -EINVAL, 0}, {"1.5MiB", -EINVAL, 0}, {"10B", -EINVAL, 0});
}

static void test_format_duration(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {{0, "0ms"},
                 {1, "1ms"},
                 {1500, "1500ms"},
                 {1000, "1s"},
                 {90000, "90s"},
                 {120000, "2m"},
                 {3600000, "1h"},
                 {86400000, "1d"},
                 {604800000, "7d"},
                 {90000000, "25h"},
                 {INT64_MAX, "9223372036854775807ms"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char buf[32];
        int64_t again = UNTOUCHED;
        assert_int_equal(hx_text_format_duration(cases[i].ms, buf, sizeof buf), strlen(cases[i].text));
        assert_string_equal(buf, cases[i].text);
        assert_int_equal(hx_text_parse_duration_ms(buf, strlen(buf), &again), 0);
        assert_true(again == cases[i].ms);
    }
    char small[4] = "xxx";
    assert_int_equal(hx_text_format_duration(1500, small, sizeof small), 6);
    assert_string_equal(small, "150");
    assert_int_equal(hx_text_format_duration(1500, NULL, 0), 6);
}

static void test_times(void **state)
{
    (void)state;
    CHECK_ALL(hx_text_parse_time_ms, {"1970-01-01T00:00:00Z", 0, 0}, {"1970-01-01 00:00:00", 0, 0},
              {"1970-01-01t00:00:00z", 0, 0}, {"1970-01-01T00:00:00.001Z", 0, 1}, {"1970-01-01T00:00:00.0019Z", 0, 1},
              {"1970-01-01T00:00:00.1Z", 0, 100}, {"1970-01-01T00:00:00.12", 0, 120},
              {"1970-01-01T00:00:00.123456789012345678901234567890Z", 0, 123},
              {"2016-09-03T12:02:44.520Z", 0, INT64_C(1472904164520)},
              {"2016-09-03T14:02:44.52+02:00", 0, INT64_C(1472904164520)},
              {"2016-09-03 07:02:44.52-05:00", 0, INT64_C(1472904164520)}, {"1969-12-31T23:59:59.999Z", 0, -1},
              {"1969-12-31T23:59:59.9999Z", 0, -1}, {"1969-12-31T23:59:59Z", 0, -1000},
              {"1970-01-01T00:00:00+00:01", 0, -60000}, {"1970-01-01T00:00:00-00:00", 0, 0},
              {"1970-01-01T23:59:59-23:59", 0, 172739000}, {"0000-01-01T00:00:00Z", 0, INT64_C(-62167219200000)},
              {"0000-02-29T00:00:00Z", 0, INT64_C(-62162121600000)},
              {"9999-12-31T23:59:59.999Z", 0, INT64_C(253402300799999)},
              {"2000-02-29T00:00:00Z", 0, INT64_C(951782400000)}, {"2000-03-01T00:00:00Z", 0, INT64_C(951868800000)},
              {"2024-02-29T00:00:00Z", 0, INT64_C(1709164800000)},
              {"0001-01-01T00:00:00Z", 0, INT64_C(-62135596800000)});
    CHECK_ALL(hx_text_parse_time_ms, {"2023-02-29T00:00:00Z", -EINVAL, 0}, {"1900-02-29T00:00:00Z", -EINVAL, 0},
              {"2016-04-31T00:00:00Z", -EINVAL, 0}, {"2016-13-01T00:00:00Z", -EINVAL, 0},
              {"2016-00-01T00:00:00Z", -EINVAL, 0}, {"2016-01-00T00:00:00Z", -EINVAL, 0},
              {"2016-01-32T00:00:00Z", -EINVAL, 0}, {"2016-01-01T24:00:00Z", -EINVAL, 0},
              {"2016-01-01T00:60:00Z", -EINVAL, 0}, {"2016-01-01T00:00:61Z", -EINVAL, 0},
              {"2016-01-01T00:00:00+24:00", -EINVAL, 0}, {"2016-01-01T00:00:00+00:60", -EINVAL, 0},
              {"2016-01-01T00:00:00+0000", -EINVAL, 0}, {"2016-01-01T00:00:00+00", -EINVAL, 0},
              {"2016-01-01T00:00:00.Z", -EINVAL, 0}, {"2016-01-01T00:00:00,5Z", -EINVAL, 0},
              {"2016-01-01T00:00Z", -EINVAL, 0}, {"2016-01-01", -EINVAL, 0}, {"2016-1-1T00:00:00Z", -EINVAL, 0},
              {"20160101T000000Z", -EINVAL, 0}, {"2016-01-01T00:00:00 Z", -EINVAL, 0},
              {"2016-01-01T00:00:00ZZ", -EINVAL, 0}, {" 2016-01-01T00:00:00Z", -EINVAL, 0},
              {"2016-01-01  00:00:00Z", -EINVAL, 0}, {"+2016-01-01T00:00:00Z", -EINVAL, 0},
              {"-001-01-01T00:00:00Z", -EINVAL, 0}, {"12016-01-01T00:00:00Z", -EINVAL, 0}, {"", -EINVAL, 0},
              {"2016-01-01T00:00:0", -EINVAL, 0}, {"2016-01-01X00:00:00Z", -EINVAL, 0},
              {"Sat, 03 Sep 2016 12:02:44 GMT", -EINVAL, 0});
    int64_t value = UNTOUCHED;
    assert_int_equal(hx_text_parse_time_ms("2016-01-01T00:00:00\0", 20, &value), -EINVAL);
    assert_int_equal(hx_text_parse_time_ms("2016-01-01\0"
                                           "00:00:00Z",
                                           20, &value),
                     -EINVAL);
    assert_true(value == UNTOUCHED);
}

/* A 60th second is one only where a month ends in UTC. */
static void test_leap_seconds(void **state)
{
    (void)state;
    CHECK_ALL(hx_text_parse_time_ms, {"2016-12-31T23:59:60Z", 0, INT64_C(1483228800000)},
              {"2016-12-31T23:59:60.5Z", 0, INT64_C(1483228800500)},
              {"2017-01-01T00:59:60+01:00", 0, INT64_C(1483228800000)},
              {"2016-12-31T15:59:60-08:00", 0, INT64_C(1483228800000)},
              {"2015-06-30T23:59:60Z", 0, INT64_C(1435708800000)},
              {"2016-02-29T23:59:60Z", 0, INT64_C(1456790400000)}, {"1969-12-31T23:59:60Z", 0, 0},
              {"0000-12-31T23:59:60Z", 0, INT64_C(-62135596800000)},
              {"9999-12-31T23:59:60Z", 0, INT64_C(253402300800000)}, {"2016-02-28T23:59:60Z", -EINVAL, 0},
              {"2015-02-28T23:59:60Z", 0, INT64_C(1425168000000)}, {"2016-12-30T23:59:60Z", -EINVAL, 0},
              {"2016-12-31T23:58:60Z", -EINVAL, 0}, {"2016-12-31T22:59:60Z", -EINVAL, 0},
              {"2016-12-31T23:59:60+01:00", -EINVAL, 0}, {"2016-12-31T00:00:60Z", -EINVAL, 0});
}

/* Every day of the years 0000 to 9999 comes right after the day before it. */
static void test_calendar(void **state)
{
    (void)state;
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t want = INT64_C(-62167219200000);
    for (int year = 0; year <= 9999; year++) {
        bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        for (int month = 1; month <= 12; month++) {
            int last = days[month - 1] + (month == 2 && leap);
            for (int day = 1; day <= last; day++) {
                char text[64];
                int64_t got = UNTOUCHED;
                int len = snprintf(text, sizeof text, "%04d-%02d-%02dT00:00:00Z", year, month, day);
                assert_int_equal(hx_text_parse_time_ms(text, (size_t)len, &got), 0);
                assert_true(got == want);
                want += 86400000;
                /* and the last second of the day can be followed by a 60th on the last day of a month only */
                if (year % 37 == 0) {
                    len = snprintf(text, sizeof text, "%04d-%02d-%02dT23:59:60Z", year, month, day);
                    assert_int_equal(hx_text_parse_time_ms(text, (size_t)len, &got), day == last ? 0 : -EINVAL);
                }
            }
        }
    }
}

static void test_numbers(void **state)
{
    (void)state;
    CHECK_ALL(parse_ms, {"0", 0, 0}, {"-0", 0, 0}, {"1472904164520", 0, INT64_C(1472904164520)}, {"1.9", 0, 1},
              {"1.0", 0, 1}, {"-1.0", 0, -1}, {"-1.1", 0, -2}, {"-0.0001", 0, -1}, {"0.9999", 0, 0}, {"1e3", 0, 1000},
              {"1E+3", 0, 1000}, {"1.5e3", 0, 1500}, {"1.5e-3", 0, 0}, {"-1.5e-3", 0, -1}, {"12345e-2", 0, 123},
              {"1e18", 0, INT64_C(1000000000000000000)}, {"1e19", -ERANGE, 0}, {"9223372036854775807", 0, INT64_MAX},
              {"9223372036854775807.9", 0, INT64_MAX}, {"9223372036854775808", -ERANGE, 0},
              {"-9223372036854775807", 0, -INT64_MAX}, {"-9223372036854775807.1", -ERANGE, 0},
              {"-9223372036854775808", -ERANGE, 0}, {"0e999999999999999999999", 0, 0},
              {"1e-999999999999999999999", 0, 0}, {"-1e-999999999999999999999", 0, -1},
              {"1e999999999999999999999", -ERANGE, 0}, {"0.000000000000000000000000000001e30", 0, 1},
              {"1000000000000000000000000000000e-30", 0, 1}, {"007", 0, 7});
    CHECK_ALL(parse_s, {"1472904164.52", 0, INT64_C(1472904164520)}, {"1472904164.5209", 0, INT64_C(1472904164520)},
              {"0.0009", 0, 0}, {"0.001", 0, 1}, {"-0.0001", 0, -1}, {"-1", 0, -1000}, {"1e-3", 0, 1},
              {"1e3", 0, 1000000}, {"9223372036854775.807", 0, INT64_MAX}, {"9223372036854775.808", -ERANGE, 0},
              {"9223372036854776", -ERANGE, 0}, {"5", 0, 5000});
    CHECK_ALL(parse_ms, {"", -EINVAL, 0}, {"-", -EINVAL, 0}, {"+1", -EINVAL, 0}, {".5", -EINVAL, 0},
              {"1.", -EINVAL, 0}, {"1e", -EINVAL, 0}, {"1e+", -EINVAL, 0}, {"1e5.5", -EINVAL, 0}, {" 1", -EINVAL, 0},
              {"1 ", -EINVAL, 0}, {"1,5", -EINVAL, 0}, {"0x10", -EINVAL, 0}, {"NaN", -EINVAL, 0}, {"inf", -EINVAL, 0},
              {"--1", -EINVAL, 0}, {"1-", -EINVAL, 0}, {"1..5", -EINVAL, 0}, {"true", -EINVAL, 0},
              {"1e+-5", -EINVAL, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_u64),      cmocka_unit_test(test_durations),
        cmocka_unit_test(test_sizes),    cmocka_unit_test(test_format_duration),
        cmocka_unit_test(test_times),    cmocka_unit_test(test_leap_seconds),
        cmocka_unit_test(test_calendar), cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
