/*
 * select_help.h - what the select tests share: input placed right before a page that cannot be read, and a whole
 * input taken through framing, header and selection.
 */
#ifndef HX_TEST_SELECT_HELP_H
#define HX_TEST_SELECT_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <hapax.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "select/select.h"

/* len bytes whose end is the end of what may be read: one byte further is a crash. */
typedef struct guarded {
    unsigned char *data;
    void *map;
    size_t map_len;
} guarded;

static inline guarded guard(const void *data, size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = (len + page - 1) / page * page;
    guarded g = {.map_len = room + page};
    g.map = mmap(NULL, g.map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(g.map, MAP_FAILED);
    assert_int_equal(mprotect((char *)g.map + room, page, PROT_NONE), 0);
    g.data = (unsigned char *)g.map + room - len;
    if (len > 0)
        memcpy(g.data, data, len);
    return g;
}

static inline void unguard(guarded *g)
{
    assert_int_equal(munmap(g->map, g->map_len), 0);
}

#define RUN_MAX 256

/* One input file from front to back. */
typedef struct run {
    guarded input;
    size_t count;
    hx_split_record records[RUN_MAX];
    hx_selected got[RUN_MAX];
    hx_select_plan *plan;
    hx_select_state *state;
    hx_select_error err;
    int rc; /* of the step that failed, or 0 */
} run;

static inline void run_begin(run *r, const hx_select_options *options, const void *data, size_t len)
{
    memset(r, 0, sizeof *r);
    r->input = guard(data, len);
    r->rc = hx_select_plan_new(options, &r->plan, &r->err);
    if (r->rc < 0)
        return;
    hx_split split;
    hx_select_split(r->plan, &split);
    size_t consumed;
    r->count = hx_split_next(&split, r->input.data, len, true, r->records, RUN_MAX, &consumed);
    assert_true(r->count == RUN_MAX || consumed == len);
    if (hx_select_has_header(r->plan) && r->count > 0) {
        r->rc = hx_select_header(r->plan, r->input.data, &r->records[0], &r->err);
        if (r->rc < 0)
            return;
        r->count--;
        memmove(r->records, r->records + 1, r->count * sizeof r->records[0]);
    }
    assert_int_equal(hx_select_state_new(r->plan, &r->state), 0);
    r->rc = hx_select_block(r->state, r->input.data, len, r->records, r->count, r->got);
    assert_int_equal(r->rc, 0);
}

static inline void run_text(run *r, const hx_select_options *options, const char *text)
{
    run_begin(r, options, text, strlen(text));
}

static inline void run_end(run *r)
{
    hx_select_state_free(r->state);
    hx_select_plan_free(r->plan);
    unguard(&r->input);
}

/* The id of record `at` is `want`, byte for byte; NULL: valid and without an id. */
#define assert_id(r, at, want) check_id(r, at, want, __FILE__, __LINE__)
static inline void check_id(const run *r, size_t at, const char *want, const char *file, int line)
{
    _assert_true(at < r->count, "there is such a record", file, line);
    const hx_selected *got = &r->got[at];
    if (got->status != HX_SELECT_OK)
        fprintf(stderr, "record %zu: column %llu: %s\n", at, (unsigned long long)got->column, got->message);
    _assert_int_equal(got->status, HX_SELECT_OK, file, line);
    size_t len = want == NULL ? 0 : strlen(want);
    if (got->id_len != len)
        fprintf(stderr, "record %zu: id \"%.*s\"\n", at, (int)got->id_len, (const char *)got->id);
    _assert_int_equal(got->id_len, len, file, line);
    if (len > 0)
        _assert_memory_equal((const char *)got->id, want, len, file, line);
}

/* Record `at` is invalid at that line and column, for a reason with `words` in it. */
#define assert_invalid(r, at, line, column, words) check_invalid(r, at, line, column, words, __FILE__, __LINE__)
static inline void check_invalid(const run *r, size_t at, uint64_t line, uint64_t column, const char *words,
                                 const char *file, int at_line)
{
    _assert_true(at < r->count, "there is such a record", file, at_line);
    const hx_selected *got = &r->got[at];
    _assert_int_equal(got->status, HX_SELECT_INVALID, file, at_line);
    if (strstr(got->message, words) == NULL || got->column != column)
        fprintf(stderr, "record %zu: column %llu: %s\n", at, (unsigned long long)got->column, got->message);
    _assert_int_equal(got->line, line, file, at_line);
    _assert_int_equal(got->column, column, file, at_line);
    _assert_true(strstr(got->message, words) != NULL, words, file, at_line);
    _assert_int_equal(got->id_len, 0, file, at_line);
    _assert_int_equal(got->source_len, 0, file, at_line);
    _assert_true(got->time_ms == HAPAX_NOW, "no time", file, at_line);
}

/* The options are refused, and the message has `words` in it. */
#define assert_refused(options, words) check_refused(options, words, __FILE__, __LINE__)
static inline void check_refused(const hx_select_options *options, const char *words, const char *file, int line)
{
    hx_select_plan *plan = NULL;
    hx_select_error err = {0};
    _assert_int_equal(hx_select_plan_new(options, &plan, &err), -EINVAL, file, line);
    _assert_true(plan == NULL, "no plan", file, line);
    if (strstr(err.message, words) == NULL)
        fprintf(stderr, "message: %s\n", err.message);
    _assert_true(strstr(err.message, words) != NULL, words, file, line);
}

#endif
