/*
 * plan.h - the compiled form of the selection options. Private to select/: plan.c makes it, header.c binds the
 * columns, select.c follows it.
 */
#ifndef HX_SELECT_PLAN_H
#define HX_SELECT_PLAN_H

#define PCRE2_CODE_UNIT_WIDTH 8

#include "select/json_scan.h"
#include "select/pointer.h"
#include "select/select.h"

#include <pcre2.h>

#define HX_PLAN_SLOTS_MAX (HX_SELECT_IDS_MAX + 2)
#define HX_PLAN_COLUMN_MAX 1000000000u

/* One selector. */
typedef struct hx_plan_slot {
    const char *option; /* "--id", for messages */
    const char *word;   /* "id", "source", "time" */
    char *text;         /* what the user gave; NULL: the default */
    uint64_t column;    /* csv, tsv, lines: from 1; 0 until the header is there */
    uint32_t node;      /* ndjson: in tree */
} hx_plan_slot;

struct hx_select_plan {
    hx_select_format format;
    hx_select_time_unit time_unit;
    bool header, nul;
    int delimiter; /* -1: none */
    /* ids come first, in the order given; then source and time where they are asked for (-1: not) */
    hx_plan_slot slots[HX_PLAN_SLOTS_MAX];
    size_t slot_count, id_count;
    int source_slot, time_slot;
    size_t by_column[HX_PLAN_SLOTS_MAX]; /* slots by rising column */
    hx_pointer_tree tree;
    hx_json_kernel kernel;
    pcre2_code *pattern; /* then id_count is 0, as it is where the whole line is the id */
    uint32_t pattern_groups;
    unsigned char *header_data; /* the first file's header record */
    size_t header_len;
};

/* Writes "option "text": ..." into err; returns -EINVAL. text may be NULL. */
int hx_plan_refuse(hx_select_error *err, const char *option, const char *text, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* All columns are known: put the slots into their order. */
void hx_plan_sort_columns(hx_select_plan *plan);

/* Digits only: a column number in *ret, 0 where it is out of range. false: not digits only. */
bool hx_plan_column_number(const char *text, uint64_t *ret);

#endif
