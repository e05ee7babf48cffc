/*
 * json.c - JSON out, by hand and correct (RFC 8259).
 *
 * Strings: quote, backslash and everything below 0x20 are escaped, all other UTF-8 stands as it is. Runs without
 * anything to escape are copied as a whole, since ids nearly always are one.
 */
#include "app/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const char hex_digits[] = "0123456789abcdef";

static int comma(hx_buf *buf)
{
    if (buf->len == 0)
        return 0;
    unsigned char last = buf->data[buf->len - 1];
    if (last == '{' || last == '[' || last == ':' || last == '\n')
        return 0;
    return hx_buf_append(buf, ",", 1);
}

int hx_json_open(hx_buf *buf, char bracket)
{
    int rc = comma(buf);
    if (rc < 0)
        return rc;
    return hx_buf_append(buf, &bracket, 1);
}

int hx_json_close(hx_buf *buf, char bracket)
{
    return hx_buf_append(buf, &bracket, 1);
}

int hx_json_key(hx_buf *buf, const char *key)
{
    int rc = comma(buf);
    if (rc == 0)
        rc = hx_json_string(buf, key, strlen(key));
    if (rc == 0)
        rc = hx_buf_append(buf, ":", 1);
    return rc;
}

static size_t escape(unsigned char byte, char out[6])
{
    char letter = 0;
    switch (byte) {
    case '"': letter = '"'; break;
    case '\\': letter = '\\'; break;
    case '\b': letter = 'b'; break;
    case '\f': letter = 'f'; break;
    case '\n': letter = 'n'; break;
    case '\r': letter = 'r'; break;
    case '\t': letter = 't'; break;
    default: break;
    }
    if (letter != 0) {
        out[0] = '\\';
        out[1] = letter;
        return 2;
    }
    memcpy(out, "\\u00", 4);
    out[4] = hex_digits[byte >> 4];
    out[5] = hex_digits[byte & 15];
    return 6;
}

int hx_json_string(hx_buf *buf, const void *data, size_t len)
{
    const unsigned char *bytes = data;
    size_t at = 0;
    int rc = hx_buf_append(buf, "\"", 1);
    while (rc == 0 && at < len) {
        size_t run = at;
        while (run < len && bytes[run] >= 0x20 && bytes[run] != '"' && bytes[run] != '\\')
            run++;
        rc = hx_buf_append(buf, bytes + at, run - at);
        at = run;
        if (rc == 0 && at < len) {
            char escaped[6];
            rc = hx_buf_append(buf, escaped, escape(bytes[at++], escaped));
        }
    }
    if (rc == 0)
        rc = hx_buf_append(buf, "\"", 1);
    return rc;
}

int hx_json_member_text(hx_buf *buf, const char *key, const char *text)
{
    int rc = hx_json_key(buf, key);
    return rc < 0 ? rc : hx_json_string(buf, text, strlen(text));
}

int hx_json_member_u64(hx_buf *buf, const char *key, uint64_t value)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, value);
    int rc = hx_json_key(buf, key);
    return rc < 0 ? rc : hx_buf_append(buf, digits, (size_t)n);
}

int hx_json_member_i64(hx_buf *buf, const char *key, int64_t value)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRId64, value);
    int rc = hx_json_key(buf, key);
    return rc < 0 ? rc : hx_buf_append(buf, digits, (size_t)n);
}

int hx_json_member_bool(hx_buf *buf, const char *key, bool value)
{
    int rc = hx_json_key(buf, key);
    return rc < 0 ? rc : hx_buf_append(buf, value ? "true" : "false", value ? 4 : 5);
}

int hx_json_member_hex(hx_buf *buf, const char *key, const void *data, size_t len)
{
    const unsigned char *bytes = data;
    int rc = hx_json_key(buf, key);
    if (rc == 0)
        rc = hx_buf_append(buf, "\"", 1);
    for (size_t i = 0; rc == 0 && i < len; i++) {
        char pair[2] = {hex_digits[bytes[i] >> 4], hex_digits[bytes[i] & 15]};
        rc = hx_buf_append(buf, pair, 2);
    }
    if (rc == 0)
        rc = hx_buf_append(buf, "\"", 1);
    return rc;
}

int hx_json_member_bytes(hx_buf *buf, const char *key, const void *data, size_t len)
{
    char hex_key[64];
    if (!hx_utf8_valid(data, len)) {
        snprintf(hex_key, sizeof hex_key, "%s_hex", key);
        return hx_json_member_hex(buf, hex_key, data, len);
    }
    int rc = hx_json_key(buf, key);
    return rc < 0 ? rc : hx_json_string(buf, data, len);
}
