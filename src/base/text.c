/*
 * text.c - strict text <-> value, see text.h.
 *
 * Every parser reads from left to right and must come out exactly at the end; each step either takes what it expects
 * or the whole text is refused. Results are written only when all of it is known to be right.
 */
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DAY_MS ((int64_t)86400000)

static const struct unit {
    char name[4];
    int64_t factor;
} duration_units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", DAY_MS}},
  size_units[] = {{"", 1},
                  {"KiB", (int64_t)1 << 10},
                  {"MiB", (int64_t)1 << 20},
                  {"GiB", (int64_t)1 << 30},
                  {"TiB", (int64_t)1 << 40}};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t count_digits(const char *text, size_t len)
{
    size_t count = 0;
    while (count < len && is_digit(text[count]))
        count++;
    return count;
}

int hx_text_parse_u64(const char *text, size_t len, uint64_t *ret)
{
    if (len == 0 || count_digits(text, len) != len)
        return -EINVAL;
    uint64_t value = 0;
    for (size_t i = 0; i < len; i++) {
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
            return -ERANGE;
    }
    *ret = value;
    return 0;
}

/* A whole number and one of the units behind it. */
static int parse_with_unit(const char *text, size_t len, const struct unit *units, size_t count, int64_t *ret)
{
    size_t digits = count_digits(text, len);
    if (digits == 0)
        return -EINVAL;
    const char *name = text + digits;
    size_t name_len = len - digits;
    for (size_t i = 0; i < count; i++) {
        if (strlen(units[i].name) != name_len || memcmp(units[i].name, name, name_len) != 0)
            continue;
        uint64_t number;
        int64_t value;
        if (hx_text_parse_u64(text, digits, &number) < 0 || __builtin_mul_overflow(number, units[i].factor, &value))
            return -ERANGE;
        *ret = value;
        return 0;
    }
    return -EINVAL;
}

int hx_text_parse_duration_ms(const char *text, size_t len, int64_t *ret_ms)
{
    return parse_with_unit(text, len, duration_units, sizeof duration_units / sizeof duration_units[0], ret_ms);
}

int hx_text_parse_size(const char *text, size_t len, int64_t *ret_bytes)
{
    return parse_with_unit(text, len, size_units, sizeof size_units / sizeof size_units[0], ret_bytes);
}

size_t hx_text_format_duration(int64_t ms, char *buf, size_t cap)
{
    const struct unit *unit = &duration_units[0];
    for (size_t i = 1; i < sizeof duration_units / sizeof duration_units[0]; i++) {
        if (ms != 0 && ms % duration_units[i].factor == 0)
            unit = &duration_units[i];
    }
    int len = snprintf(buf, cap, "%lld%s", (long long)(ms / unit->factor), unit->name);
    return len < 0 ? 0 : (size_t)len;
}

/* ---- RFC 3339 ---- */

/* Exactly `count` digits. */
static bool take_number(const char **at, const char *end, int count, int *ret)
{
    if (end - *at < count)
        return false;
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (!is_digit((*at)[i]))
            return false;
        value = value * 10 + ((*at)[i] - '0');
    }
    *at += count;
    *ret = value;
    return true;
}

static bool take_char(const char **at, const char *end, const char *any_of)
{
    if (*at == end || **at == '\0' || strchr(any_of, **at) == NULL)
        return false;
    ++*at;
    return true;
}

static bool is_leap_year(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int month_days(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && is_leap_year(year) ? 29 : days[month - 1];
}

/* Days from 1970-01-01. Years are counted from March, so that the leap day is a year's last. */
static int64_t days_from_date(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static bool take_date(const char **at, const char *end, int64_t *ret_days)
{
    int year, month, day;
    if (!take_number(at, end, 4, &year) || !take_char(at, end, "-") || !take_number(at, end, 2, &month) ||
        !take_char(at, end, "-") || !take_number(at, end, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > month_days(year, month))
        return false;
    *ret_days = days_from_date(year, month, day);
    return true;
}

/* ".fraction", if it is there, cut to ms. */
static bool take_fraction(const char **at, const char *end, int *ret_ms)
{
    *ret_ms = 0;
    if (!take_char(at, end, "."))
        return true;
    size_t digits = count_digits(*at, (size_t)(end - *at));
    for (size_t i = 0; i < 3; i++)
        *ret_ms = *ret_ms * 10 + (i < digits ? (*at)[i] - '0' : 0);
    *at += digits;
    return digits > 0;
}

static bool take_zone(const char **at, const char *end, int *ret_minutes)
{
    *ret_minutes = 0;
    if (*at == end || take_char(at, end, "Zz"))
        return true;
    bool west = **at == '-';
    int hour, minute;
    if (!take_char(at, end, "+-") || !take_number(at, end, 2, &hour) || !take_char(at, end, ":") ||
        !take_number(at, end, 2, &minute) || hour > 23 || minute > 59)
        return false;
    *ret_minutes = (hour * 60 + minute) * (west ? -1 : 1);
    return true;
}

/* Is `ms` the first moment of a month in UTC? Only before one a 60th second can be inserted. */
static bool begins_month(int64_t ms)
{
    if (ms % DAY_MS != 0)
        return false;
    int64_t days = ms / DAY_MS + 719468; /* from 0000-03-01, as in days_from_date */
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153; /* from March */
    return day_of_year == (153 * month + 2) / 5;
}

int hx_text_parse_time_ms(const char *text, size_t len, int64_t *ret_ms)
{
    const char *at = text, *end = text + len;
    int64_t days;
    int hour, minute, second, ms, zone_minutes;
    if (!take_date(&at, end, &days) || !take_char(&at, end, "Tt ") || !take_number(&at, end, 2, &hour) ||
        !take_char(&at, end, ":") || !take_number(&at, end, 2, &minute) || !take_char(&at, end, ":") ||
        !take_number(&at, end, 2, &second) || !take_fraction(&at, end, &ms) || !take_zone(&at, end, &zone_minutes) ||
        at != end)
        return -EINVAL;
    if (hour > 23 || minute > 59 || second > 60)
        return -EINVAL;
    int64_t seconds = days * 86400 + (int64_t)hour * 3600 + ((int64_t)minute - zone_minutes) * 60 + second;
    if (second == 60 && !begins_month(seconds * 1000))
        return -EINVAL;
    *ret_ms = seconds * 1000 + ms;
    return 0;
}

/* ---- numbers ---- */

struct decimal {
    bool negative;
    const char *digits; /* with at most one point in them */
    size_t len;
    int64_t whole_digits; /* how many of the digits stand before the point once the exponent is applied */
};

/* An exponent far out of reach of any int64 stays there. */
static int64_t bounded_exponent(const char *digits, size_t count)
{
    int64_t value = 0;
    for (size_t i = 0; i < count && value < (int64_t)1 << 40; i++)
        value = value * 10 + (digits[i] - '0');
    return value;
}

static bool split_decimal(const char *text, size_t len, struct decimal *ret)
{
    const char *at = text, *end = text + len;
    ret->negative = take_char(&at, end, "-");
    ret->digits = at;
    size_t whole = count_digits(at, (size_t)(end - at));
    if (whole == 0)
        return false;
    at += whole;
    if (take_char(&at, end, ".")) {
        size_t fraction = count_digits(at, (size_t)(end - at));
        if (fraction == 0)
            return false;
        at += fraction;
    }
    ret->len = (size_t)(at - ret->digits);
    ret->whole_digits = (int64_t)whole;
    if (take_char(&at, end, "eE")) {
        bool down = at < end && *at == '-';
        take_char(&at, end, "+-");
        size_t count = count_digits(at, (size_t)(end - at));
        if (count == 0)
            return false;
        int64_t exponent = bounded_exponent(at, count);
        ret->whole_digits += down ? -exponent : exponent;
        at += count;
    }
    return at == end;
}

int hx_text_parse_number_ms(const char *text, size_t len, bool seconds, int64_t *ret_ms)
{
    struct decimal decimal;
    if (!split_decimal(text, len, &decimal))
        return -EINVAL;
    int64_t whole = decimal.whole_digits + (seconds ? 3 : 0);
    int64_t value = 0, seen = 0;
    bool rest = false; /* something other than 0 stands behind the whole ms */
    for (size_t i = 0; i < decimal.len; i++) {
        if (decimal.digits[i] == '.')
            continue;
        int digit = decimal.digits[i] - '0';
        if (seen++ >= whole)
            rest |= digit != 0;
        else if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value))
            return -ERANGE;
    }
    for (; value != 0 && seen < whole; seen++) {
        if (__builtin_mul_overflow(value, 10, &value))
            return -ERANGE;
    }
    if (decimal.negative) {
        value = -value;
        if (rest && __builtin_sub_overflow(value, 1, &value))
            return -ERANGE;
        if (value == INT64_MIN)
            return -ERANGE;
    }
    *ret_ms = value;
    return 0;
}
