/*
 * json_text.h - the rare parts of JSON strings and words: escapes, and words for what is wrong.
 */
#ifndef HX_SELECT_JSON_TEXT_H
#define HX_SELECT_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * data[at] is the byte behind an escaping backslash: is it a valid escape? NULL or what is wrong. A high surrogate
 * must be followed by its low half; *low_at remembers where that one stands, so that it is not taken for a lone one.
 * Call it for all escapes of a text in order, *low_at being 0 before the first.
 */
const char *hx_json_text_check_escape(const unsigned char *data, size_t len, size_t at, size_t *low_at);

/* Is text[0, len), with valid escapes, the same as name[0, name_len) once they are resolved? */
bool hx_json_text_equal(const unsigned char *text, size_t len, const unsigned char *name, size_t name_len);

/*
 * Resolve the escapes of a valid string; out has room for len bytes. Returns the length, which is never above len.
 */
size_t hx_json_text_unescape(const unsigned char *text, size_t len, unsigned char *out);

/* May this byte stand directly behind a number or word? Blanks, and whatever is a token of its own. */
extern const bool hx_json_text_ends_scalar[256];

/* What is wrong with text that should be a value and is none, going by its first byte. */
const char *hx_json_text_describe_rubbish(unsigned char first);

#endif
