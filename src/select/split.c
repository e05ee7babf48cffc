/*
 * split.c - find the ends of records, see split.h.
 *
 * Lines are memchr. In CSV a record ends at the first end byte outside quotes:
 *
 *              quote at the start of a field            quote
 *     OUTSIDE ------------------------------> INSIDE ----------> QUOTE   (closing, or the first of "")
 *        ^                                      ^                  |
 *        |                                      +---- quote -------+
 *        +--------- delimiter; anything else but an end is a fault +---- end: the record is over
 *
 * All state is in hx_split: `scanned` bytes of the unfinished record are done, and the byte before it is still there
 * (hx_split_take leaves one), which is what tells a quote at the start of a field from one in the middle.
 */
#include "select/split.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { OUTSIDE = 0, INSIDE, QUOTE };

static const char unclosed[] = "a quoted field is never closed";
static const char text_behind[] = "text stands between a closing quote and the next delimiter or line end";
static const unsigned char bom[3] = {0xef, 0xbb, 0xbf};

static void begin_record(hx_split *split)
{
    split->csv_state = OUTSIDE;
    split->scanned = 0;
    split->taken = 0;
    split->inner_lines = 0;
    split->line_start = 0;
    split->fault = NULL;
}

void hx_split_init(hx_split *split, const hx_split_options *options)
{
    memset(split, 0, sizeof *split);
    split->nul = options->nul;
    split->quotes = options->quotes;
    split->delimiter = options->delimiter;
    split->bom = options->bom;
    split->first = true;
    split->line = 1;
    begin_record(split);
}

/* The record data[0, len + end_len) is complete. */
static void emit(hx_split *split, const unsigned char *data, size_t offset, size_t len, unsigned end_len,
                 hx_split_record *ret)
{
    *ret = (hx_split_record){
        .offset = offset,
        .len = len,
        .line = split->line,
        .lines = split->inner_lines + 1,
        .taken = split->taken,
        .end_len = (uint8_t)end_len,
        .fault = split->fault,
        .fault_line = split->fault_line,
        .fault_column = split->fault_column,
    };
    if (split->first && split->bom && split->taken == 0 && len >= sizeof bom && memcmp(data, bom, sizeof bom) == 0)
        ret->bom_len = sizeof bom;
    if (split->fault == NULL)
        ret->fault_line = ret->fault_column = 0;
    split->first = false;
    split->line += split->inner_lines + 1;
    begin_record(split);
}

/* ---- CSV ---- */

/* The first quote or end byte in data[at, len), or len. */
static size_t find_mark(const unsigned char *data, size_t at, size_t len, unsigned char end)
{
#ifdef __SSE2__
    __m128i quotes = _mm_set1_epi8('"'), ends = _mm_set1_epi8((char)end);
    while (len - at >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(data + at));
        int hits = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, quotes), _mm_cmpeq_epi8(bytes, ends)));
        if (hits != 0)
            return at + (size_t)__builtin_ctz((unsigned)hits);
        at += 16;
    }
#endif
    while (at < len && data[at] != '"' && data[at] != end)
        at++;
    return at;
}

static bool at_field_start(const hx_split *split, const unsigned char *data, size_t at)
{
    if (at == 0)
        return split->taken == 0;
    if (data[at - 1] == split->delimiter)
        return true;
    return at == sizeof bom && split->first && split->bom && split->taken == 0 && memcmp(data, bom, sizeof bom) == 0;
}

static void note_fault(hx_split *split, const char *fault, uint64_t line, uint64_t column)
{
    if (split->fault != NULL)
        return;
    split->fault = fault;
    split->fault_line = line;
    split->fault_column = column;
}

static uint64_t column_of(const hx_split *split, size_t at)
{
    return split->taken + at - split->line_start + 1;
}

/*
 * The byte at data[at] follows a quote inside a quoted field. Returns false where it takes one byte more to tell.
 * Otherwise the state is right for scanning on at *at; *ret_end_len > 0: the record ends there.
 */
static bool after_quote(hx_split *split, const unsigned char *data, size_t *at, size_t len, bool ended,
                        unsigned *ret_end_len)
{
    unsigned char c = data[*at];
    unsigned char end = split->nul ? '\0' : '\n';
    if (c == '"') {
        split->csv_state = INSIDE;
        ++*at;
        return true;
    }
    split->csv_state = OUTSIDE;
    if (c == end) {
        *ret_end_len = 1;
        return true;
    }
    if (c == '\r' && !split->nul) {
        if (*at + 1 == len && !ended) {
            split->csv_state = QUOTE;
            return false;
        }
        if (*at + 1 < len && data[*at + 1] == '\n') {
            *ret_end_len = 2;
            return true;
        }
    }
    if (c != split->delimiter)
        note_fault(split, text_behind, split->line + split->inner_lines, column_of(split, *at));
    ++*at;
    return true;
}

/* Scan on in the record data[0, len). Returns the length of its end, *ret_len its own; 0: no end yet. */
static unsigned scan_csv(hx_split *split, const unsigned char *data, size_t len, bool ended, size_t *ret_len)
{
    unsigned char end = split->nul ? '\0' : '\n';
    size_t at = split->scanned;
    while (at < len) {
        if (split->csv_state == QUOTE) {
            unsigned end_len = 0;
            if (!after_quote(split, data, &at, len, ended, &end_len))
                break;
            if (end_len > 0) {
                *ret_len = at;
                return end_len;
            }
            continue;
        }
        at = find_mark(data, at, len, end);
        if (at == len)
            break;
        bool quote = data[at] == '"';
        if (split->csv_state == INSIDE) {
            if (quote)
                split->csv_state = QUOTE;
            else if (!split->nul) {
                split->inner_lines++;
                split->line_start = split->taken + at + 1;
            }
        } else if (!quote) {
            bool cr = !split->nul && at > 0 && data[at - 1] == '\r';
            *ret_len = at - cr;
            return 1 + cr;
        } else if (at_field_start(split, data, at)) {
            split->csv_state = INSIDE;
            split->quote_line = split->line + split->inner_lines;
            split->quote_column = column_of(split, at);
        }
        at++;
    }
    split->scanned = at;
    return 0;
}

/* ---- lines ---- */

static unsigned scan_line(hx_split *split, const unsigned char *data, size_t len, size_t *ret_len)
{
    const unsigned char *end = NULL;
    if (len > split->scanned)
        end = memchr(data + split->scanned, split->nul ? '\0' : '\n', len - split->scanned);
    if (end == NULL) {
        split->scanned = len;
        return 0;
    }
    bool cr = !split->nul && end > data && end[-1] == '\r';
    *ret_len = (size_t)(end - data) - cr;
    return 1 + cr;
}

size_t hx_split_next(hx_split *split, const unsigned char *data, size_t len, bool ended, hx_split_record *records,
                     size_t max, size_t *ret_consumed)
{
    size_t count = 0, at = 0;
    while (count < max) {
        size_t record_len = 0;
        unsigned end_len = split->quotes ? scan_csv(split, data + at, len - at, ended, &record_len)
                                         : scan_line(split, data + at, len - at, &record_len);
        if (end_len == 0) {
            if (!ended || (at == len && split->taken == 0))
                break;
            record_len = len - at;
            if (split->csv_state == INSIDE) {
                /* a line end that is the last byte begins no line */
                split->inner_lines -= split->inner_lines > 0 && data[at + record_len - 1] == '\n';
                note_fault(split, unclosed, split->quote_line, split->quote_column);
            }
        }
        emit(split, data + at, at, record_len, end_len, &records[count++]);
        at += record_len + end_len;
    }
    *ret_consumed = at;
    return count;
}

size_t hx_split_take(hx_split *split)
{
    if (split->scanned < 2)
        return 0;
    size_t take = split->scanned - 1;
    split->scanned = 1;
    split->taken += take;
    return take;
}

bool hx_split_open_quote(const hx_split *split, uint64_t *ret_line, uint64_t *ret_column)
{
    if (split->csv_state != INSIDE)
        return false;
    *ret_line = split->quote_line;
    *ret_column = split->quote_column;
    return true;
}
