/*
 * fuzz_csv.c - CSV framing and columns on any bytes, against a reader that goes byte by byte.
 *
 * Layout of an input:  byte 0: the column and -z   byte 1: how large the pieces are   rest: the file, without header
 *
 * What must hold: every byte is in one record; the records, their faults and their line numbers are those of the
 * naive reader, whatever the pieces; and the column's content is the same.
 */
#include <hapax.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "select/select.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

/* One record as the naive reader sees it. */
struct naive_record {
    size_t end;     /* of its content */
    size_t next;    /* where the one behind it begins */
    uint64_t lines; /* line ends in it, its own not counted */
    bool fault;
    bool has_field;
    size_t field_len; /* of the wanted column's content, which is in `field` */
};

static void naive_read(const uint8_t *data, size_t size, size_t at, size_t column, bool nul, uint8_t *field,
                       struct naive_record *ret)
{
    enum { START, PLAIN, QUOTED, CLOSED } state = START;
    uint8_t end = nul ? 0 : '\n';
    size_t number = 1;
    *ret = (struct naive_record){.has_field = column == 1};
    for (;; at++) {
        if (at == size || (state != QUOTED && data[at] == end)) {
            ret->end = at;
            ret->next = at + (at < size);
            ret->fault |= state == QUOTED;
            return;
        }
        uint8_t c = data[at];
        if (state != QUOTED && !nul && c == '\r' && at + 1 < size && data[at + 1] == '\n') {
            ret->end = at;
            ret->next = at + 2;
            return;
        }
        if (state == QUOTED) {
            if (c == '"' && at + 1 < size && data[at + 1] == '"')
                at++;
            else if (c == '"') {
                state = CLOSED;
                continue;
            }
            ret->lines += !nul && c == '\n';
        } else if (c == ',') {
            state = START;
            ret->has_field |= ++number == column;
            continue;
        } else if (c == '"' && state == START) {
            state = QUOTED;
            continue;
        } else {
            ret->fault |= state == CLOSED;
            state = PLAIN;
        }
        if (number == column)
            field[ret->field_len++] = c;
    }
}

/* The records of the whole input, found in pieces. */
static size_t split_in_pieces(hx_split *split, const uint8_t *data, size_t size, size_t step,
                              hx_split_record *records)
{
    size_t from = 0, to = 0, count = 0;
    for (;;) {
        size_t consumed,
            found = hx_split_next(split, data + from, to - from, to == size, records + count, 3, &consumed);
        for (size_t i = 0; i < found; i++)
            records[count + i].offset += from;
        count += found;
        from += consumed;
        if (found == 3)
            continue;
        if (to == size)
            break;
        to = size - to < step ? size : to + step;
    }
    must(from == size);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    static const char *const columns[] = {"1", "2", "3", "7"};
    static const size_t numbers[] = {1, 2, 3, 7};
    size_t column = data[0] & 3, step = data[1] == 0 ? SIZE_MAX : data[1];
    hx_select_options options = {.format = HX_SELECT_CSV,
                                 .ids = columns + column,
                                 .id_count = 1,
                                 .no_header = true,
                                 .nul = (data[0] & 4) != 0};
    hx_select_plan *plan = NULL;
    hx_select_state *state = NULL;
    hx_select_error error;
    hx_split split;
    size -= 2;
    uint8_t *text = malloc(size + 1), *field = malloc(size + 1);
    hx_split_record *records = calloc(size + 4, sizeof *records);
    hx_selected *got = calloc(size + 4, sizeof *got);
    must(text != NULL && field != NULL && records != NULL && got != NULL);
    memcpy(text, data + 2, size);
    must(hx_select_plan_new(&options, &plan, &error) == 0 && hx_select_state_new(plan, &state) == 0);
    hx_select_split(plan, &split);
    size_t count = split_in_pieces(&split, text, size, step, records);
    must(hx_select_block(state, text, size, records, count, got) == 0);
    size_t at = 0;
    uint64_t line = 1;
    for (size_t i = 0; i < count; i++) {
        struct naive_record want;
        bool bom = i == 0 && size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
        naive_read(text, size, at + (bom ? 3 : 0), numbers[column], options.nul, field, &want);
        must(records[i].offset == at && records[i].len == want.end - at && records[i].line == line);
        must(records[i].end_len == want.next - want.end && (records[i].fault != NULL) == want.fault);
        must((records[i].bom_len == 3) == bom);
        at = want.next;
        line += want.lines + 1;
        if (want.fault || want.field_len > HAPAX_ID_MAX) {
            must(got[i].status == HX_SELECT_INVALID);
            continue;
        }
        must(got[i].status == HX_SELECT_OK && got[i].id_len == (want.has_field ? want.field_len : 0));
        must(got[i].id_len == 0 || memcmp(got[i].id, field, got[i].id_len) == 0);
    }
    must(at == size);
    hx_select_state_free(state);
    hx_select_plan_free(plan);
    free(got);
    free(records);
    free(field);
    free(text);
    return 0;
}
