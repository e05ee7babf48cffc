/* format.h - numbers as people read them. Every function fills and returns its buffer. */
#ifndef HX_APP_FORMAT_H
#define HX_APP_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define HX_FORMAT_CAP 40

typedef struct hx_format_buf {
    char text[HX_FORMAT_CAP];
} hx_format_buf;

/* 1,234,567 */
const char *hx_format_count(uint64_t value, hx_format_buf *buf);
/* -1,234 */
const char *hx_format_signed(int64_t value, hx_format_buf *buf);
/* 512 bytes, 343.3 MiB */
const char *hx_format_bytes(uint64_t value, hx_format_buf *buf);
/* 2m, 90s, forever; the text of a setting. INT64_MAX is `endless`. */
const char *hx_format_duration(int64_t ms, const char *endless, hx_format_buf *buf);
/* About how long: 0.4 s, 12 s, 3 min 5 s, 2 h 10 min, 3 days 4 h */
const char *hx_format_span(int64_t ms, hx_format_buf *buf);
/* RFC 3339 in UTC, to the second */
const char *hx_format_wall(int64_t wall_ms, hx_format_buf *buf);

/*
 * Bytes that come from outside, fit for a terminal: control characters (C0, DEL, C1) become \x1b and the like. Writes
 * at most cap - 1 bytes and a NUL, never half an escape, and returns how many; what does not fit is left out.
 */
size_t hx_format_shown(const void *data, size_t len, char *text, size_t cap);
#define HX_FORMAT_SHOWN_CAP(len) ((size_t)(len)*4 + 1) /* room for len bytes, whatever they are */

#endif
