/*
 * text.h - strict text <-> value. The whole string is the value or it is an error: no leading or trailing blanks,
 * no sign unless said, no rounding up, no silent overflow.
 * All parsers return 0, -EINVAL (not of that form) or -ERANGE (of that form, but does not fit); *ret is untouched
 * then.
 */
#ifndef HX_BASE_TEXT_H
#define HX_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal digits; leading zeros are taken. */
int hx_text_parse_u64(const char *text, size_t len, uint64_t *ret);

/* A whole number and one of ms s m h d: "500ms", "30s", "7d". "forever" is the caller's affair. */
int hx_text_parse_duration_ms(const char *text, size_t len, int64_t *ret_ms);

/* A whole number of bytes, or one with KiB, MiB, GiB or TiB behind it. */
int hx_text_parse_size(const char *text, size_t len, int64_t *ret_bytes);

/*
 * RFC 3339: 2016-09-03T12:00:00[.fraction][Z|+hh:mm|-hh:mm]. A space or "t" for T and "z" for Z are taken; no zone
 * means UTC. Fractions of any length, cut (towards the past) to ms. A second of 60 is taken only where a leap second
 * can be (23:59 UTC at the end of a month's last day) and counts as the second after it. Years 0000 to 9999.
 */
int hx_text_parse_time_ms(const char *text, size_t len, int64_t *ret_ms);

/*
 * A number of ms, or of s: [-]digits[.digits][e[+-]digits]. What lies below a ms is cut towards the past, so that
 * order is kept across 0. HAPAX_NOW (INT64_MIN) is never returned.
 */
int hx_text_parse_number_ms(const char *text, size_t len, bool seconds, int64_t *ret_ms);

/*
 * The shortest exact form that hx_text_parse_duration_ms reads back, for instance "2m", "90s", "1500ms", "0ms".
 * Returns the length it has or would have without the end byte, as snprintf does; always terminated when cap > 0.
 * ms must not be negative.
 */
size_t hx_text_format_duration(int64_t ms, char *buf, size_t cap);

#endif
