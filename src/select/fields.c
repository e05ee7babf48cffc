/*
 * fields.c - go over the fields of a record, one after the other.
 *
 *     7,"a ""b""",,x        four fields: 7 | a "b" | nothing | x
 *
 * split.c has already seen that quotes are closed and that nothing stands behind them.
 */
#include "select/fields.h"

#include <string.h>

void hx_fields_begin(hx_fields *fields, const unsigned char *data, size_t len, unsigned char delimiter, bool quotes)
{
    *fields = (hx_fields){.at = data, .end = data + len, .delimiter = delimiter, .quotes = quotes};
}

/* Behind the opening quote at `at`: the field's content. Returns where the closing quote stands. */
static const unsigned char *read_quoted(const unsigned char *at, const unsigned char *end, hx_field *ret)
{
    *ret = (hx_field){.data = at};
    for (;;) {
        const unsigned char *quote = memchr(at, '"', (size_t)(end - at));
        if (quote == NULL)
            quote = end;
        if (quote == end || quote + 1 == end || quote[1] != '"') {
            ret->len = (size_t)(quote - ret->data);
            return quote;
        }
        ret->doubled = true;
        at = quote + 2;
    }
}

bool hx_fields_next(hx_fields *fields, hx_field *ret)
{
    const unsigned char *at = fields->at, *end = fields->end;
    if (at == NULL)
        return false;
    bool quoted = fields->quotes && at < end && *at == '"';
    const unsigned char *from = quoted ? read_quoted(at + 1, end, ret) : at;
    const unsigned char *delimiter = memchr(from, fields->delimiter, (size_t)(end - from));
    if (!quoted)
        *ret = (hx_field){.data = at, .len = (size_t)((delimiter == NULL ? end : delimiter) - at)};
    fields->at = delimiter == NULL ? NULL : delimiter + 1;
    return true;
}

size_t hx_fields_unquote(const unsigned char *data, size_t len, unsigned char *out)
{
    size_t out_len = 0;
    for (size_t i = 0; i < len; i++) {
        out[out_len++] = data[i];
        if (data[i] == '"' && i + 1 < len && data[i + 1] == '"')
            i++;
    }
    return out_len;
}

bool hx_fields_equal(const hx_field *a, const hx_field *b)
{
    size_t i = 0, j = 0;
    while (i < a->len && j < b->len) {
        if (a->data[i] != b->data[j])
            return false;
        i += 1 + (a->doubled && a->data[i] == '"');
        j += 1 + (b->doubled && b->data[j] == '"');
    }
    return i >= a->len && j >= b->len;
}
