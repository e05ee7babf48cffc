/*
 * fuzz_select.c - framing and selection of records on any bytes.
 *
 * Layout of an input:  byte 0: format and options   byte 1: where the second read begins   rest: the records
 *
 * What must hold for any input: the records joined together are the input again; an input that comes in two reads has
 * the same records as one that comes whole; a record alone gives what it gave in its block; what is handed out keeps
 * the limits of select.h.
 */
#include <hapax.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "select/select.h"
#include "select/split.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORDS = 64 };

static void must(int holds)
{
    if (!holds)
        abort();
}

/* One of a few plans for each format. */
static hx_select_plan *make_plan(uint8_t choice)
{
    static const char *const json_ids[] = {"/id", "/a~1b/0", ""};
    static const char *const column_ids[] = {"id", "2"};
    static const char *const line_ids[] = {"1", "3"};
    hx_select_options options = {.format = (hx_select_format)(choice & 3)};
    hx_select_plan *plan = NULL;
    hx_select_error error;

    if (options.format == HX_SELECT_NDJSON) {
        options.ids = json_ids + (choice >> 4) % 3;
        options.id_count = (choice >> 4) % 3 == 0 ? 1 + (choice >> 6) % 3 : 1;
        options.source = (choice & 8) ? "/source" : NULL;
        options.time = (choice & 4) ? "/time" : NULL;
    } else if (options.format == HX_SELECT_LINES) {
        options.nul = (choice & 8) != 0;
        if (choice & 4) {
            options.id_pattern = "id=([^ ]*)";
        } else if (choice & 16) {
            options.ids = line_ids;
            options.id_count = 2;
            options.delimiter = " ";
        }
    } else {
        options.no_header = (choice & 4) != 0;
        options.ids = column_ids + (options.no_header ? 1 : 0);
        options.id_count = 1;
        options.nul = (choice & 8) != 0;
    }
    must(hx_select_plan_new(&options, &plan, &error) == 0 && plan != NULL);
    return plan;
}

static void check_selected(const hx_selected *selected)
{
    must(selected->id_len <= HAPAX_ID_MAX && selected->source_len <= HAPAX_NAME_MAX);
    must(selected->id_len == 0 || selected->id != NULL);
    if (selected->status == HX_SELECT_INVALID) {
        must(selected->id == NULL && selected->id_len == 0 && selected->source_len == 0);
        must(selected->message != NULL && selected->message[0] != '\0' && strchr(selected->message, '\n') == NULL);
        must(selected->line >= 1);
    }
}

static bool same_selected(const hx_selected *a, const hx_selected *b)
{
    return a->status == b->status && a->id_len == b->id_len && a->source_len == b->source_len &&
           a->time_ms == b->time_ms && (a->id_len == 0 || memcmp(a->id, b->id, a->id_len) == 0) &&
           (a->source_len == 0 || memcmp(a->source, b->source, a->source_len) == 0);
}

/* The whole block, then each record alone. */
static void check_block(hx_select_state *state, hx_select_state *other, const uint8_t *data, size_t len,
                        const hx_split_record *records, size_t count)
{
    hx_selected block[RECORDS], alone;

    hx_select_reset(state);
    must(hx_select_block(state, data, len, records, count, block) == 0);
    for (size_t i = 0; i < count; i++) {
        check_selected(&block[i]);
        hx_select_reset(other);
        must(hx_select_block(other, data, len, &records[i], 1, &alone) == 0);
        must(same_selected(&block[i], &alone));
    }
}

/* Finds all records of data, which comes in two reads with `first` bytes in the first; up to `max` ends are kept. */
static size_t frame(const hx_select_plan *plan, const uint8_t *data, size_t len, size_t first, size_t *ends,
                    size_t max)
{
    hx_split_record records[RECORDS];
    hx_split split;
    size_t at = 0, found = 0, count, consumed;

    hx_select_split(plan, &split);
    for (int round = first < len ? 0 : 1; round < 2; round++) {
        size_t have = round == 0 ? first : len;
        do {
            count = hx_split_next(&split, data + at, have - at, round == 1, records, RECORDS, &consumed);
            must(count <= RECORDS && consumed <= have - at);
            size_t expected = 0;
            for (size_t i = 0; i < count; i++) {
                must(records[i].offset == expected && records[i].lines >= 1);
                expected = records[i].offset + records[i].len + records[i].end_len;
                if (found < max)
                    ends[found] = at + expected;
                found++;
            }
            must(expected == consumed);
            at += consumed;
        } while (count == RECORDS);
    }
    must(at == len);
    return found;
}

static void check_framing(const hx_select_plan *plan, const uint8_t *data, size_t len, size_t first)
{
    size_t whole[RECORDS], parts[RECORDS];
    size_t count = frame(plan, data, len, len, whole, RECORDS);

    must(frame(plan, data, len, first, parts, RECORDS) == count);
    for (size_t i = 0; i < count && i < RECORDS; i++)
        must(whole[i] == parts[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hx_select_state *state = NULL, *other = NULL;
    hx_split_record records[RECORDS];
    hx_select_error error;
    hx_split split;
    size_t count, consumed, from = 0;

    if (size < 2)
        return 0;
    hx_select_plan *plan = make_plan(data[0]);
    size_t first = data[1];
    data += 2;
    size -= 2;
    check_framing(plan, data, size, first < size ? first : size);

    hx_select_split(plan, &split);
    count = hx_split_next(&split, data, size, true, records, RECORDS, &consumed);
    if (hx_select_has_header(plan)) {
        if (count == 0 || hx_select_header(plan, data, &records[0], &error) < 0)
            goto done;
        from = 1;
    }
    must(hx_select_state_new(plan, &state) == 0 && hx_select_state_new(plan, &other) == 0);
    check_block(state, other, data, size, records + from, count - from);
done:
    hx_select_state_free(other);
    hx_select_state_free(state);
    hx_select_plan_free(plan);
    return 0;
}
