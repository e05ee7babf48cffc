/*
 * naive_json.h - RFC 8259 read in the plainest way, byte by byte, by recursion: what the real reader is held against.
 *
 * It shares nothing with src/select. Beside the grammar it wants UTF-8 and no lone surrogate escape. Texts deeper
 * than NAIVE_DEPTH are not for it.
 */
#ifndef HX_TEST_NAIVE_JSON_H
#define HX_TEST_NAIVE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define NAIVE_DEPTH 400

typedef struct naive {
    const unsigned char *at, *end;
    int depth;
    bool too_deep;
} naive;

static bool naive_value(naive *n);

static void naive_blanks(naive *n)
{
    while (n->at < n->end && (*n->at == ' ' || *n->at == '\t' || *n->at == '\n' || *n->at == '\r'))
        n->at++;
}

static bool naive_take(naive *n, unsigned char c)
{
    if (n->at == n->end || *n->at != c)
        return false;
    n->at++;
    return true;
}

static int naive_hex4(naive *n)
{
    int value = 0;
    for (int i = 0; i < 4; i++, n->at++) {
        if (n->at == n->end)
            return -1;
        const char *digits = "0123456789abcdef0123456789ABCDEF";
        const char *digit = *n->at == 0 ? NULL : strchr(digits, *n->at);
        if (digit == NULL)
            return -1;
        value = value * 16 + (int)(digit - digits) % 16;
    }
    return value;
}

static bool naive_escape(naive *n)
{
    if (n->at == n->end)
        return false;
    unsigned char c = *n->at++;
    if (c != 'u')
        return c != 0 && strchr("\"\\/bfnrt", c) != NULL;
    int high = naive_hex4(n);
    if (high < 0 || (high >= 0xdc00 && high < 0xe000))
        return false;
    if (high < 0xd800 || high >= 0xe000)
        return true;
    if (!naive_take(n, '\\') || !naive_take(n, 'u'))
        return false;
    int low = naive_hex4(n);
    return low >= 0xdc00 && low < 0xe000;
}

/* One character above 0x7f, decoded and judged by its value. */
static bool naive_utf8(naive *n)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = *n->at++;
    int count = first >= 0xf8 ? 0 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
    if (count == 0)
        return false;
    unsigned code = first & (0x7fu >> count);
    for (int i = 1; i < count; i++, n->at++) {
        if (n->at == n->end || *n->at < 0x80 || *n->at > 0xbf)
            return false;
        code = code << 6 | (*n->at & 0x3fu);
    }
    return code >= least[count] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

static bool naive_string(naive *n)
{
    if (!naive_take(n, '"'))
        return false;
    while (n->at < n->end) {
        if (naive_take(n, '"'))
            return true;
        if (naive_take(n, '\\')) {
            if (!naive_escape(n))
                return false;
        } else if (*n->at < 0x20) {
            return false;
        } else if (*n->at >= 0x80) {
            if (!naive_utf8(n))
                return false;
        } else {
            n->at++;
        }
    }
    return false;
}

static bool naive_digits(naive *n)
{
    const unsigned char *from = n->at;
    while (n->at < n->end && *n->at >= '0' && *n->at <= '9')
        n->at++;
    return n->at > from;
}

static bool naive_number(naive *n)
{
    naive_take(n, '-');
    if (!naive_take(n, '0') && !naive_digits(n))
        return false;
    if (naive_take(n, '.') && !naive_digits(n))
        return false;
    if (naive_take(n, 'e') || naive_take(n, 'E')) {
        if (!naive_take(n, '+'))
            naive_take(n, '-');
        return naive_digits(n);
    }
    return true;
}

static bool naive_word(naive *n, const char *word)
{
    for (; *word != '\0'; word++) {
        if (!naive_take(n, (unsigned char)*word))
            return false;
    }
    return true;
}

static bool naive_container(naive *n, bool object)
{
    unsigned char close = object ? '}' : ']';
    n->at++;
    if (++n->depth > NAIVE_DEPTH) {
        n->too_deep = true;
        return false;
    }
    naive_blanks(n);
    if (!naive_take(n, close)) {
        for (;;) {
            if (object) {
                naive_blanks(n);
                if (!naive_string(n))
                    return false;
                naive_blanks(n);
                if (!naive_take(n, ':'))
                    return false;
            }
            if (!naive_value(n))
                return false;
            if (naive_take(n, close))
                break;
            if (!naive_take(n, ','))
                return false;
        }
    }
    n->depth--;
    return true;
}

static bool naive_value(naive *n)
{
    naive_blanks(n);
    if (n->at == n->end)
        return false;
    bool good;
    switch (*n->at) {
    case '{': good = naive_container(n, true); break;
    case '[': good = naive_container(n, false); break;
    case '"': good = naive_string(n); break;
    case 't': good = naive_word(n, "true"); break;
    case 'f': good = naive_word(n, "false"); break;
    case 'n': good = naive_word(n, "null"); break;
    default: good = naive_number(n); break;
    }
    naive_blanks(n);
    return good;
}

/* Is it one JSON text? *ret_too_deep: this reader cannot say. */
static inline bool naive_valid(const unsigned char *data, size_t len, bool *ret_too_deep)
{
    naive n = {.at = data, .end = data + len};
    bool good = naive_value(&n) && n.at == n.end;
    *ret_too_deep = n.too_deep;
    return good;
}

#endif
