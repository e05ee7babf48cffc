/*
 * select_floor.c - what framing and selection alone cost: records found, validated, ids taken, nothing kept.
 *
 *     select_floor [--format F] [--id SEL]... [--source SEL] [--time SEL] [--runs N] FILE
 *
 * The file is read into memory first, so no disk is measured. Each run goes over it in the blocks that the filter
 * uses. Printed, fastest and median of the runs: framing alone, then framing and selection; for NDJSON with each of
 * the kernels that this machine has, so that what a lesser processor would do is seen too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "select/plan.h"
#include "select/select.h"

#define BLOCK_BYTES ((size_t)256 * 1024)
#define BLOCK_RECORDS 4096
#define RUNS_MAX 100

struct totals {
    size_t records, invalid, id_bytes;
};

/* Processor time: this does nothing but compute, and so a busy machine disturbs it less. */
static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void fail(const char *what)
{
    fprintf(stderr, "select_floor: %s\n", what);
    exit(2);
}

static unsigned char *read_file(const char *path, size_t *ret_len)
{
    FILE *file = fopen(path, "rb");
    struct stat stat;
    if (file == NULL || fstat(fileno(file), &stat) < 0)
        fail("the file cannot be opened");
    *ret_len = (size_t)stat.st_size;
    unsigned char *data = malloc(*ret_len + 1);
    if (data == NULL || fread(data, 1, *ret_len, file) != *ret_len)
        fail("the file cannot be read");
    fclose(file);
    return data;
}

/* Once over the file; state == NULL: framing only. */
static struct totals run_once(hx_select_plan *plan, hx_select_state **state, const unsigned char *data, size_t len)
{
    static hx_split_record records[BLOCK_RECORDS];
    static hx_selected got[BLOCK_RECORDS];
    struct totals totals = {0};
    hx_split split;
    hx_select_error err;
    bool header_due = hx_select_has_header(plan);
    hx_select_split(plan, &split);
    size_t from = 0, to = len < BLOCK_BYTES ? len : BLOCK_BYTES;
    for (;;) {
        size_t consumed,
            count = hx_split_next(&split, data + from, to - from, to == len, records, BLOCK_RECORDS, &consumed);
        size_t first = 0;
        if (header_due && count > 0) {
            if (hx_select_header(plan, data + from, &records[0], &err) < 0)
                fail(err.message);
            header_due = false;
            first = 1;
        }
        totals.records += count - first;
        if (state != NULL && count > first) {
            if (*state == NULL && hx_select_state_new(plan, state) < 0)
                fail("no memory");
            hx_select_reset(*state);
            if (hx_select_block(*state, data + from, to - from, records + first, count - first, got) < 0)
                fail("no memory");
            for (size_t i = 0; i < count - first; i++) {
                totals.invalid += got[i].status == HX_SELECT_INVALID;
                totals.id_bytes += got[i].id_len;
            }
        }
        from += consumed;
        if (count == BLOCK_RECORDS)
            continue;
        if (to == len)
            break;
        to = len - to < BLOCK_BYTES ? len : to + BLOCK_BYTES;
    }
    return totals;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, hx_select_plan *plan, bool select, const unsigned char *data, size_t len,
                    int runs)
{
    double seconds[RUNS_MAX];
    struct totals totals = {0};
    hx_select_state *state = NULL;
    for (int i = 0; i < runs; i++) {
        double start = now_s();
        totals = run_once(plan, select ? &state : NULL, data, len);
        seconds[i] = now_s() - start;
    }
    hx_select_state_free(state);
    qsort(seconds, (size_t)runs, sizeof seconds[0], by_size);
    double fastest = seconds[0], median = seconds[runs / 2];
    printf("%-18s %8.0f MB/s (median %.0f)  %6.2f M records/s  records %zu  invalid %zu  id bytes %zu\n", name,
           (double)len / fastest / 1e6, (double)len / median / 1e6, (double)totals.records / fastest / 1e6,
           totals.records, totals.invalid, totals.id_bytes);
}

int main(int argc, char **argv)
{
    const char *ids[HX_SELECT_IDS_MAX];
    hx_select_options options = {.ids = ids};
    const char *path = NULL;
    bool format_given = false;
    int runs = 5;
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--id") == 0 && more && options.id_count < HX_SELECT_IDS_MAX)
            ids[options.id_count++] = argv[++i];
        else if (strcmp(argv[i], "--source") == 0 && more)
            options.source = argv[++i];
        else if (strcmp(argv[i], "--time") == 0 && more)
            options.time = argv[++i];
        else if (strcmp(argv[i], "--runs") == 0 && more)
            runs = atoi(argv[++i]);
        else if (strcmp(argv[i], "--format") == 0 && more && hx_select_format_parse(argv[++i], &options.format) == 0)
            format_given = true;
        else if (argv[i][0] != '-' && path == NULL)
            path = argv[i];
        else
            fail("usage: select_floor [--format F] [--id SEL]... [--source SEL] [--time SEL] [--runs N] FILE");
    }
    if (path == NULL || runs < 1 || runs > RUNS_MAX)
        fail("one FILE, and 1 to 100 runs");
    if (!format_given)
        options.format = hx_select_format_by_name(path);
    hx_select_plan *plan;
    hx_select_error err;
    if (hx_select_plan_new(&options, &plan, &err) < 0)
        fail(err.message);
    size_t len;
    unsigned char *data = read_file(path, &len);
    measure("framing", plan, false, data, len, runs);
    hx_json_kernel kernels[HX_JSON_KERNELS_MAX];
    const char *names[HX_JSON_KERNELS_MAX];
    size_t count = options.format == HX_SELECT_NDJSON ? hx_json_scan_kernels(kernels, names) : 0;
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "selection, %s", names[i]);
        plan->kernel = kernels[i];
        measure(name, plan, true, data, len, runs);
    }
    if (count == 0)
        measure("selection", plan, true, data, len, runs);
    hx_select_plan_free(plan);
    free(data);
    return 0;
}
