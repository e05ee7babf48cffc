/*
 * split.h - where one record ends and the next begins. No I/O: the caller owns the buffer, split finds the ends.
 *
 *     data[0]                                            data[len)
 *     | record 0 ...\n | record 1 ...\r\n | record 2 ... (not complete yet)
 *       offset, len, end_len                ^ not reported; the caller moves it to the front, reads on behind it
 *                                             and calls again: what was scanned is not scanned a second time
 *
 * The loop of a caller:
 *
 *     hx_select_split(plan, &split);                         (or hx_split_init; once per input file)
 *     for (;;) {
 *         read some bytes behind the unfinished ones; ended = nothing more will come
 *         do {
 *             count = hx_split_next(&split, data, len, ended, records, CAP, &consumed);
 *             ... use data + records[i].offset ...
 *             data += consumed; len -= consumed;
 *         } while (count == CAP);
 *         if (ended) break;                                  (then len is 0: every byte was in some record)
 *     }
 *
 * Every byte of the input belongs to exactly one record or its end; joined together they are the input again.
 * Bytes behind the last end are a record with end_len 0. An input of 0 bytes has no record, "\n" has one empty one.
 *
 * Records end in LF, and a CR directly before that LF belongs to the end (end_len 2); a CR anywhere else is content,
 * also as the last byte of an input. With `nul` records end in NUL and CR and LF are content.
 *
 * In CSV (`quotes`) a field that begins with a quote runs to the next single quote; "" stands for one quote; line
 * ends and delimiters inside are content. A quote inside a field that did not begin with one is content. Two things
 * are wrong and reported in `fault` (the framing goes on, nothing is skipped):
 *   - text between a closing quote and the next delimiter or end; the record ends at its line end as if unquoted;
 *   - a quote that is never closed: the record is all the rest of the input. `lines` says how many lines it took,
 *     fault_line and fault_column where the quote stands.
 */
#ifndef HX_SELECT_SPLIT_H
#define HX_SELECT_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hx_split_record {
    size_t offset;       /* of the first byte, from the data given in this call */
    size_t len;          /* bytes without the end */
    uint64_t line;       /* 1-based number of the line on which the record begins (with nul: of the record) */
    uint64_t lines;      /* lines it takes, at least 1; more where quoted fields hold line ends */
    uint64_t taken;      /* bytes of its beginning that the caller took away before (hx_split_take); else 0 */
    uint8_t end_len;     /* bytes of the end behind it: 0 at the end of an input, 1 (LF or NUL), 2 (CR LF) */
    uint8_t bom_len;     /* 3: the record begins with a UTF-8 byte order mark that is no part of its content; else 0.
                            Only in the first record of an input, and only where split was told to look (`bom`) */
    const char *fault;   /* NULL, or what is wrong with the quotes, in words; a literal */
    uint64_t fault_line; /* 1-based line of the fault */
    uint64_t fault_column; /* 1-based byte column on that line (the byte order mark counts) */
} hx_split_record;

/* The state between calls. Private; copying it is fine. */
typedef struct hx_split {
    bool nul, quotes, bom;
    unsigned char delimiter;
    bool first;           /* the first record of the input is not out yet */
    uint8_t csv_state;    /* see split.c */
    size_t scanned;       /* bytes of the unfinished record that need no second look */
    uint64_t taken;       /* bytes of it that the caller took away */
    uint64_t line;        /* line on which the unfinished record begins */
    uint64_t inner_lines; /* line ends inside its quoted fields so far */
    uint64_t line_start;  /* offset in the record (counting taken bytes) of its current line's first byte */
    uint64_t quote_line, quote_column; /* where its last quoted field began */
    const char *fault;
    uint64_t fault_line, fault_column;
} hx_split;

typedef struct hx_split_options {
    bool nul;                /* records end in NUL instead of LF or CR LF */
    bool quotes;             /* CSV or TSV */
    unsigned char delimiter; /* with quotes: what parts fields */
    bool bom;                /* look for a byte order mark at the start of the input */
} hx_split_options;

/* Begin an input file. */
void hx_split_init(hx_split *split, const hx_split_options *options);

/*
 * Find up to `max` complete records in data[0, len). data[0] must be the first byte that no earlier call consumed
 * (or that hx_split_take did not give away), and bytes seen before must be the same. `ended`: no byte follows
 * data[len). Returns the number of records; *ret_consumed is where the byte after the last one's end stands.
 */
size_t hx_split_next(hx_split *split, const unsigned char *data, size_t len, bool ended, hx_split_record *records,
                     size_t max, size_t *ret_consumed);

/*
 * For a record that is longer than the caller wants to hold: after a call that returned fewer than `max` records,
 * says how many bytes at the front of the unfinished record may be taken away now (written out, dropped). They
 * count as taken: the next call's data begins behind them, and the record, when its end is found, comes with
 * `taken` > 0 and only the rest in offset and len. Its content cannot be selected from any more.
 */
size_t hx_split_take(hx_split *split);

/* Is the unfinished record inside a quoted field? If so, where did that field's quote stand (1-based)? */
bool hx_split_open_quote(const hx_split *split, uint64_t *ret_line, uint64_t *ret_column);

#endif
