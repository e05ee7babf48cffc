/*
 * fields.h - the columns of a CSV record and the fields of a line.
 */
#ifndef HX_SELECT_FIELDS_H
#define HX_SELECT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hx_field {
    const unsigned char *data; /* NULL: the record has no such field */
    size_t len;
    bool doubled; /* a quoted field with "" in it: hx_fields_unquote makes its content */
} hx_field;

/* Goes over the fields of one record. */
typedef struct hx_fields {
    const unsigned char *at, *end; /* at == NULL: none left */
    unsigned char delimiter;
    bool quotes;
} hx_fields;

/* A record without fields does not exist: an empty one has one empty field. With `quotes` it has no fault. */
void hx_fields_begin(hx_fields *fields, const unsigned char *data, size_t len, unsigned char delimiter, bool quotes);

/* The next field; false: there is none. */
bool hx_fields_next(hx_fields *fields, hx_field *ret);

/* The content of a field that is `doubled`; out has room for len bytes. Returns its length. */
size_t hx_fields_unquote(const unsigned char *data, size_t len, unsigned char *out);

/* Do two fields have the same content? */
bool hx_fields_equal(const hx_field *a, const hx_field *b);

#endif
