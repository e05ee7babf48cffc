/*
 * json_reader.h - read one JSON text: validate all of it (RFC 8259), and find the values at the nodes of a pointer
 * tree.
 */
#ifndef HX_SELECT_JSON_READER_H
#define HX_SELECT_JSON_READER_H

#include "select/json_scan.h"
#include "select/pointer.h"

typedef enum hx_json_kind {
    HX_JSON_ABSENT = 0, /* nothing there */
    HX_JSON_NULL,
    HX_JSON_STRING,    /* start, end: between the quotes, escapes not resolved */
    HX_JSON_SCALAR,    /* a number, true or false; start, end: its text */
    HX_JSON_CONTAINER, /* an object or array; start: its first byte */
} hx_json_kind;

typedef struct hx_json_value {
    hx_json_kind kind;
    size_t start, end;
} hx_json_value;

typedef enum hx_json_answer {
    HX_JSON_OK = 0,
    HX_JSON_BLANK,   /* nothing but blanks */
    HX_JSON_INVALID, /* see fault_offset and fault */
    HX_JSON_NO_MEMORY,
} hx_json_answer;

/* Fields other than fault_offset and fault are private. */
typedef struct hx_json_reader {
    const hx_pointer_tree *tree;
    hx_json_kernel kernel;
    /* the record */
    const unsigned char *data;
    size_t len, readable;
    size_t next_run;         /* where the run of blocks after the one in `scan` begins */
    size_t base;             /* where the run in `scan` begins */
    size_t low_surrogate_at; /* the "u" of the low half that belongs to a high half just seen */
    bool stopped;            /* the scan met a fault: no tokens behind it */
    bool escapes, high;      /* backslashes, bytes above 0x7f so far */
    size_t scan_fault_offset;
    const char *scan_fault;
    size_t fault_offset; /* in the record */
    const char *fault;   /* plain words, a literal */
    /* per node of the tree; those of earlier records have an older stamp */
    uint64_t stamp;
    uint64_t *stamps;
    uint64_t *elements; /* elements of the array seen so far */
    hx_json_value *values;
    /* kinds of the containers that are open, 64 a word, 1 = object; grown on demand */
    uint64_t *levels;
    size_t levels_len, levels_cap;
    hx_json_scan scan;
} hx_json_reader;

/* The tree must not change while the reader is there. Returns 0 or -ENOMEM. */
int hx_json_reader_init(hx_json_reader *reader, const hx_pointer_tree *tree, hx_json_kernel kernel);
void hx_json_reader_free(hx_json_reader *reader);

/* Read data[0, len). Bytes up to data[readable) may be read too (they are not looked at); readable >= len. */
hx_json_answer hx_json_reader_read(hx_json_reader *reader, const unsigned char *data, size_t len, size_t readable);

/* After HX_JSON_OK: the value at a node. */
hx_json_value hx_json_reader_get(const hx_json_reader *reader, uint32_t node);

#endif
