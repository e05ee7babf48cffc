/*
 * fuzz_time.c - times on any bytes: RFC 3339 against the C library's calendar, numbers against 128-bit arithmetic.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define UNTOUCHED INT64_C(0x5a5a5a5a5a5a5a5a)

static void must(int holds)
{
    if (!holds)
        abort();
}

/* What was taken must come back from the calendar, without zone and fraction, when it is written out again. */
static void try_time(const char *text, size_t len)
{
    int64_t ms = UNTOUCHED;
    int rc = hx_text_parse_time_ms(text, len, &ms);
    must(rc == 0 || rc == -EINVAL);
    if (rc < 0) {
        must(ms == UNTOUCHED);
        return;
    }
    must(len >= 19);
    struct tm tm = {0};
    int year, month;
    char head[20];
    memcpy(head, text, 19);
    head[19] = '\0';
    head[10] = 'T';
    must(sscanf(head, "%4d-%2d-%2dT%2d:%2d:%2d", &year, &month, &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec) ==
         6);
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    int64_t local = (int64_t)timegm(&tm);
    size_t at = 19;
    int fraction_ms = 0, digits = 0;
    if (at < len && text[at] == '.') {
        for (at++; at < len && text[at] >= '0' && text[at] <= '9'; at++) {
            if (digits++ < 3)
                fraction_ms = fraction_ms * 10 + (text[at] - '0');
        }
        for (; digits < 3; digits++)
            fraction_ms *= 10;
    }
    int64_t offset = 0;
    if (at < len && (text[at] == '+' || text[at] == '-')) {
        must(len - at == 6);
        offset =
            ((text[at + 1] - '0') * 10 + text[at + 2] - '0') * 60 + (text[at + 4] - '0') * 10 + text[at + 5] - '0';
        offset *= text[at] == '-' ? -60 : 60;
    }
    must(ms == (local - offset) * 1000 + fraction_ms);
}

/* Plain decimals of up to 30 digits, by their value times 10^-fraction. */
static void try_number(const char *text, size_t len, bool seconds)
{
    int64_t ms = UNTOUCHED;
    int rc = hx_text_parse_number_ms(text, len, seconds, &ms);
    must(rc == 0 || rc == -EINVAL || rc == -ERANGE);
    if (rc < 0)
        must(ms == UNTOUCHED);
    else
        must(ms != INT64_MIN);
    if (rc == -EINVAL || len > 30 || memchr(text, 'e', len) != NULL || memchr(text, 'E', len) != NULL)
        return;
    bool negative = text[0] == '-', fraction = false;
    __int128 value = 0, scale = 1;
    for (size_t i = negative; i < len; i++) {
        if (text[i] == '.') {
            fraction = true;
            continue;
        }
        value = value * 10 + (text[i] - '0');
        if (fraction)
            scale *= 10;
    }
    if (seconds)
        value *= 1000;
    __int128 whole = value / scale;
    if (negative)
        whole = -whole - (value % scale != 0);
    bool fits = whole >= -(__int128)INT64_MAX && whole <= INT64_MAX;
    must(fits == (rc == 0));
    must(!fits || ms == (int64_t)whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1); /* a copy without an end byte behind it */
    must(text != NULL);
    memcpy(text, data, size);
    try_time(text, size);
    try_number(text, size, false);
    try_number(text, size, true);
    free(text);
    return 0;
}
