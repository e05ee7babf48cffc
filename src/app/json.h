/*
 * json.h - JSON out, by hand and correct.
 *
 * Members are written into an hx_buf; a comma comes before each but the first of its object, which is seen from the
 * byte before. Nothing is checked twice: who opens an object closes it. All return 0 or -ENOMEM.
 */
#ifndef HX_APP_JSON_H
#define HX_APP_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Adds `{`, `}`, `[`, `]` or a key with its colon; `open` and `key` put the comma where one is due. */
int hx_json_open(hx_buf *buf, char bracket);
int hx_json_close(hx_buf *buf, char bracket);
int hx_json_key(hx_buf *buf, const char *key);

/* A string with what has to be escaped escaped; data must be UTF-8. */
int hx_json_string(hx_buf *buf, const void *data, size_t len);

/* A whole member each. */
int hx_json_member_text(hx_buf *buf, const char *key, const char *text);
int hx_json_member_u64(hx_buf *buf, const char *key, uint64_t value);
int hx_json_member_i64(hx_buf *buf, const char *key, int64_t value);
int hx_json_member_bool(hx_buf *buf, const char *key, bool value);
/* "KEY":"text" where data is UTF-8, else "KEY_hex":"00ff..." */
int hx_json_member_bytes(hx_buf *buf, const char *key, const void *data, size_t len);
/* "KEY":"00ff..." */
int hx_json_member_hex(hx_buf *buf, const char *key, const void *data, size_t len);

#endif
