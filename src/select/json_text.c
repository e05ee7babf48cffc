/*
 * json_text.c - escapes of JSON strings, see RFC 8259 section 7.
 *
 * \uD800..\uDBFF is the high half of a character above U+FFFF and means nothing without \uDC00..\uDFFF directly
 * behind it; together they are one character, written in UTF-8 as four bytes. Half a character cannot be written in
 * UTF-8 at all, which is why a lone half makes the record invalid.
 */
#include "select/json_text.h"

#include <stdint.h>
#include <string.h>

const bool hx_json_text_ends_scalar[256] = {
    [' '] = true, ['\t'] = true, ['\n'] = true, ['\r'] = true, [','] = true, [':'] = true,
    ['['] = true, [']'] = true,  ['{'] = true,  ['}'] = true,  ['"'] = true,
};

static int hex_digit(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four hex digits at data[at], or -1. */
static int32_t hex4(const unsigned char *data, size_t len, size_t at)
{
    if (len < 4 || at > len - 4)
        return -1;
    int32_t value = 0;
    for (size_t i = 0; i < 4; i++) {
        int digit = hex_digit(data[at + i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

const char *hx_json_text_check_escape(const unsigned char *data, size_t len, size_t at, size_t *low_at)
{
    if (at >= len)
        return "the text ends inside an escape";
    switch (data[at]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't': return NULL;
    case 'u': break;
    default: return "an unknown escape";
    }
    int32_t unit = hex4(data, len, at + 1);
    if (unit < 0)
        return "\\u needs four hex digits";
    if (unit >= 0xdc00 && unit <= 0xdfff)
        return *low_at == at ? NULL : "half a character: a low surrogate without the high one before it";
    if (unit < 0xd800 || unit > 0xdbff)
        return NULL;
    int32_t low = -1;
    if (at + 6 < len && data[at + 5] == '\\' && data[at + 6] == 'u')
        low = hex4(data, len, at + 7);
    if (low < 0xdc00 || low > 0xdfff)
        return "half a character: a high surrogate without the low one behind it";
    *low_at = at + 6;
    return NULL;
}

static size_t put_utf8(uint32_t code, unsigned char out[4])
{
    if (code < 0x80) {
        out[0] = (unsigned char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (unsigned char)(0xc0 | code >> 6);
        out[1] = (unsigned char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (unsigned char)(0xe0 | code >> 12);
        out[1] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (unsigned char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (unsigned char)(0xf0 | code >> 18);
    out[1] = (unsigned char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (unsigned char)(0x80 | (code & 0x3f));
    return 4;
}

/* The valid escape at text[0]: its character as UTF-8 in out; *ret_used bytes of text were read. */
static size_t resolve_escape(const unsigned char *text, size_t len, unsigned char out[4], size_t *ret_used)
{
    static const char codes[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    *ret_used = 2;
    if (text[1] != 'u') {
        const char *code = memchr(codes, text[1], sizeof codes - 1);
        out[0] = code == NULL ? text[1] : (unsigned char)values[code - codes];
        return 1;
    }
    *ret_used = 6;
    int32_t unit = hex4(text, len, 2);
    if (unit < 0xd800 || unit > 0xdbff)
        return put_utf8((uint32_t)unit, out);
    *ret_used = 12;
    int32_t low = hex4(text, len, 8);
    return put_utf8(0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00), out);
}

size_t hx_json_text_unescape(const unsigned char *text, size_t len, unsigned char *out)
{
    size_t at = 0, out_len = 0;
    while (at < len) {
        const unsigned char *backslash = memchr(text + at, '\\', len - at);
        size_t plain = backslash == NULL ? len - at : (size_t)(backslash - (text + at));
        memcpy(out + out_len, text + at, plain);
        out_len += plain;
        at += plain;
        if (at == len)
            break;
        size_t used;
        unsigned char bytes[4];
        size_t count = resolve_escape(text + at, len - at, bytes, &used);
        memcpy(out + out_len, bytes, count);
        out_len += count;
        at += used;
    }
    return out_len;
}

bool hx_json_text_equal(const unsigned char *text, size_t len, const unsigned char *name, size_t name_len)
{
    size_t at = 0, name_at = 0;
    while (at < len) {
        size_t used = 1, count = 1;
        unsigned char bytes[4] = {text[at]};
        if (text[at] == '\\')
            count = resolve_escape(text + at, len - at, bytes, &used);
        if (name_len - name_at < count || memcmp(bytes, name + name_at, count) != 0)
            return false;
        at += used;
        name_at += count;
    }
    return name_at == name_len;
}

const char *hx_json_text_describe_rubbish(unsigned char first)
{
    switch (first) {
    case '}':
    case ']': return "a value is missing";
    case ',': return "a value is missing before the comma";
    case ':': return "a colon where a value is expected";
    case '\'': return "strings stand in double quotes";
    case '+': return "a number must not begin with +";
    case '.': return "a number must begin with a digit";
    case '\0': return "a NUL byte";
    case 0xef: return "not a value (a byte order mark may stand only at the start of a file)";
    case 'N':
    case 'I': return "NaN and Infinity are no JSON values";
    case 'T':
    case 'F': return "true, false and null are written in small letters";
    default: return "not a JSON value";
    }
}
