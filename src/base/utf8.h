/*
 * utf8.h - is it UTF-8? Strict: no surrogates, nothing overlong, nothing above U+10FFFF.
 */
#ifndef HX_BASE_UTF8_H
#define HX_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

bool hx_utf8_valid(const void *data, size_t len);

/* The offset of the first byte that begins no valid character; len where all are valid. */
size_t hx_utf8_prefix(const void *data, size_t len);

#endif
