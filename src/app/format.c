/*
 * format.c - numbers as people read them: thousands parted by commas, sizes in powers of 1,024, times in UTC.
 *
 * None of it depends on a locale: what a script reads today it reads tomorrow.
 */
#include "app/format.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"

const char *hx_format_count(uint64_t value, hx_format_buf *buf)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, value);
    char *out = buf->text;
    for (int i = 0; i < n; i++) {
        *out++ = digits[i];
        int left = n - 1 - i;
        if (left > 0 && left % 3 == 0)
            *out++ = ',';
    }
    *out = '\0';
    return buf->text;
}

const char *hx_format_signed(int64_t value, hx_format_buf *buf)
{
    hx_format_buf plain;
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    snprintf(buf->text, sizeof buf->text, "%s%.30s", value < 0 ? "-" : "", hx_format_count(size, &plain));
    return buf->text;
}

const char *hx_format_bytes(uint64_t value, hx_format_buf *buf)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (value < 1024) {
        snprintf(buf->text, sizeof buf->text, "%" PRIu64 " bytes", value);
        return buf->text;
    }
    size_t unit = 0;
    double scaled = (double)value / 1024;
    while (scaled >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        scaled /= 1024;
        unit++;
    }
    snprintf(buf->text, sizeof buf->text, "%.1f %s", scaled, units[unit]);
    return buf->text;
}

const char *hx_format_duration(int64_t ms, const char *endless, hx_format_buf *buf)
{
    if (ms == INT64_MAX)
        snprintf(buf->text, sizeof buf->text, "%s", endless);
    else if (ms < 0)
        snprintf(buf->text, sizeof buf->text, "%" PRId64 "ms", ms);
    else
        hx_text_format_duration(ms, buf->text, sizeof buf->text);
    return buf->text;
}

const char *hx_format_span(int64_t ms, hx_format_buf *buf)
{
    int64_t s = ms / 1000;
    if (ms < 10000)
        snprintf(buf->text, sizeof buf->text, "%.1f s", (double)ms / 1000);
    else if (s < 60)
        snprintf(buf->text, sizeof buf->text, "%" PRId64 " s", s);
    else if (s < 3600)
        snprintf(buf->text, sizeof buf->text, "%" PRId64 " min %" PRId64 " s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(buf->text, sizeof buf->text, "%" PRId64 " h %" PRId64 " min", s / 3600, s / 60 % 60);
    else
        snprintf(buf->text, sizeof buf->text, "%" PRId64 " days %" PRId64 " h", s / 86400, s / 3600 % 24);
    return buf->text;
}

const char *hx_format_wall(int64_t wall_ms, hx_format_buf *buf)
{
    time_t seconds = (time_t)(wall_ms >= 0 ? wall_ms / 1000 : (wall_ms - 999) / 1000);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) == NULL ||
        strftime(buf->text, sizeof buf->text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        snprintf(buf->text, sizeof buf->text, "%" PRId64 "ms", wall_ms);
    return buf->text;
}

static bool is_control(const unsigned char *data, size_t left)
{
    return *data < 0x20 || *data == 0x7f || (*data == 0xc2 && left > 1 && data[1] >= 0x80 && data[1] < 0xa0);
}

size_t hx_format_shown(const void *data, size_t len, char *text, size_t cap)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = data;
    size_t at = 0, escape = 0; /* bytes that are escaped from here on: two of a C1 character */
    for (size_t i = 0; i < len; i++) {
        if (escape == 0 && is_control(bytes + i, len - i))
            escape = bytes[i] == 0xc2 ? 2 : 1;
        if (at + (escape > 0 ? 4 : 1) >= cap)
            break;
        if (escape == 0) {
            text[at++] = (char)bytes[i];
            continue;
        }
        text[at++] = '\\';
        text[at++] = 'x';
        text[at++] = digits[bytes[i] >> 4];
        text[at++] = digits[bytes[i] & 15];
        escape--;
    }
    text[at] = '\0';
    return at;
}
