/*
 * plan.c - check the selection options and compile them, see select.h.
 *
 * Whatever can be known to be wrong before the first byte of input is refused here, with the option and the place in
 * it. What needs the header of a CSV file is left to header.c.
 */
#include "select/plan.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *suffix;
    hx_select_format format;
} suffixes[] = {{".csv", HX_SELECT_CSV},      {".tsv", HX_SELECT_TSV},     {".tab", HX_SELECT_TSV},
                {".txt", HX_SELECT_LINES},    {".lines", HX_SELECT_LINES}, {".ndjson", HX_SELECT_NDJSON},
                {".jsonl", HX_SELECT_NDJSON}, {".json", HX_SELECT_NDJSON}};

static const char *const format_names[] = {"ndjson", "csv", "tsv", "lines"};

hx_select_format hx_select_format_by_name(const char *path)
{
    size_t len = strlen(path);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t suffix_len = strlen(suffixes[i].suffix);
        if (len > suffix_len && strcasecmp(path + len - suffix_len, suffixes[i].suffix) == 0)
            return suffixes[i].format;
    }
    return HX_SELECT_NDJSON;
}

const char *hx_select_format_name(hx_select_format format)
{
    return format_names[format];
}

int hx_select_format_parse(const char *text, hx_select_format *ret)
{
    for (size_t i = 0; i < sizeof format_names / sizeof format_names[0]; i++) {
        if (strcmp(text, format_names[i]) == 0) {
            *ret = (hx_select_format)i;
            return 0;
        }
    }
    return -EINVAL;
}

int hx_plan_refuse(hx_select_error *err, const char *option, const char *text, const char *format, ...)
{
    int len = text == NULL ? snprintf(err->message, sizeof err->message, "%s: ", option)
                           : snprintf(err->message, sizeof err->message, "%s \"%.100s%s\": ", option, text,
                                      strlen(text) > 100 ? "..." : "");
    va_list args;
    va_start(args, format);
    vsnprintf(err->message + len, sizeof err->message - (size_t)len, format, args);
    va_end(args);
    return -EINVAL;
}

static bool is_table(hx_select_format format)
{
    return format == HX_SELECT_CSV || format == HX_SELECT_TSV;
}

/* ---- the parts ---- */

/* Options that make no sense with each other or with the format. */
static int check_combination(const hx_select_options *o, hx_select_error *err)
{
    if (o->id_count > HX_SELECT_IDS_MAX)
        return hx_plan_refuse(err, "--id", NULL, "given %zu times, at most %d are possible", o->id_count,
                              HX_SELECT_IDS_MAX);
    if (o->id_pattern != NULL && o->format != HX_SELECT_LINES)
        return hx_plan_refuse(err, "--id-pattern", o->id_pattern, "goes with --format lines only, and this is %s",
                              format_names[o->format]);
    if (o->id_pattern != NULL && o->id_count > 0)
        return hx_plan_refuse(err, "--id-pattern", o->id_pattern, "cannot be combined with --id");
    if (o->no_header && !is_table(o->format))
        return hx_plan_refuse(err, "--header", "no", "goes with csv and tsv only, and this is %s",
                              format_names[o->format]);
    if (o->delimiter != NULL && o->format == HX_SELECT_NDJSON)
        return hx_plan_refuse(err, "--delimiter", o->delimiter, "goes with csv, tsv and lines only");
    return 0;
}

static int set_delimiter(hx_select_plan *plan, const char *text, hx_select_error *err)
{
    plan->delimiter = plan->format == HX_SELECT_CSV ? ',' : plan->format == HX_SELECT_TSV ? '\t' : -1;
    if (text == NULL)
        return 0;
    if (strcmp(text, "\\t") == 0)
        text = "\t";
    if (strlen(text) != 1)
        return hx_plan_refuse(err, "--delimiter", text, "must be one byte, or \\t for a tab");
    if (text[0] == '\n' || text[0] == '\r')
        return hx_plan_refuse(err, "--delimiter", NULL, "a line end cannot part fields");
    if (text[0] == '"' && is_table(plan->format))
        return hx_plan_refuse(err, "--delimiter", text, "the quote cannot part fields");
    plan->delimiter = (unsigned char)text[0];
    return 0;
}

static int set_pointer(hx_select_plan *plan, hx_plan_slot *slot, hx_select_error *err)
{
    const char *text = slot->text == NULL ? "/id" : slot->text;
    size_t offset;
    const char *reason;
    int rc = hx_pointer_add(&plan->tree, text, &slot->node, &offset, &reason);
    if (rc == -E2BIG)
        return hx_plan_refuse(err, slot->option, text, "has too many parts");
    if (rc != -EINVAL)
        return rc;
    if (offset == 0 && text[0] != '/' && strpbrk(text, "/~$.[") == NULL)
        return hx_plan_refuse(err, slot->option, text, "%s; is \"/%.100s\" meant?", reason, text);
    return hx_plan_refuse(err, slot->option, text, "at byte %zu: %s", offset + 1, reason);
}

bool hx_plan_column_number(const char *text, uint64_t *ret)
{
    uint64_t number;
    int rc = hx_text_parse_u64(text, strlen(text), &number);
    if (rc == -EINVAL)
        return false;
    *ret = rc == 0 && number <= HX_PLAN_COLUMN_MAX ? number : 0;
    return true;
}

/* A column or field by number, where there is no header with names. */
static int set_column(const hx_select_plan *plan, hx_plan_slot *slot, hx_select_error *err)
{
    if (slot->text == NULL) {
        slot->column = 1;
        return 0;
    }
    if (plan->format == HX_SELECT_LINES && plan->delimiter < 0)
        return hx_plan_refuse(err, slot->option, slot->text, "fields of lines need --delimiter");
    if (!hx_plan_column_number(slot->text, &slot->column))
        return hx_plan_refuse(err, slot->option, slot->text,
                              plan->format == HX_SELECT_LINES
                                  ? "fields of lines are chosen by number, from 1"
                                  : "without a header, columns are chosen by number, from 1");
    if (slot->column == 0)
        return hx_plan_refuse(err, slot->option, slot->text, "columns are counted from 1 to %u", HX_PLAN_COLUMN_MAX);
    return 0;
}

static int add_slot(hx_select_plan *plan, const char *option, const char *text, hx_select_error *err)
{
    hx_plan_slot *slot = &plan->slots[plan->slot_count++];
    slot->option = option;
    slot->word = option + 2;
    if (text != NULL) {
        slot->text = strdup(text);
        if (slot->text == NULL)
            return -ENOMEM;
    }
    if (plan->format == HX_SELECT_NDJSON)
        return set_pointer(plan, slot, err);
    return plan->header ? 0 : set_column(plan, slot, err);
}

static int set_slots(hx_select_plan *plan, const hx_select_options *o, hx_select_error *err)
{
    int rc = 0;
    size_t ids = o->id_count;
    if (ids == 0 && plan->format != HX_SELECT_LINES)
        rc = add_slot(plan, "--id", NULL, err);
    for (size_t i = 0; rc == 0 && i < ids; i++)
        rc = add_slot(plan, "--id", o->ids[i], err);
    plan->id_count = plan->slot_count;
    if (rc == 0 && o->source != NULL) {
        plan->source_slot = (int)plan->slot_count;
        rc = add_slot(plan, "--source", o->source, err);
    }
    if (rc == 0 && o->time != NULL) {
        plan->time_slot = (int)plan->slot_count;
        rc = add_slot(plan, "--time", o->time, err);
    }
    return rc;
}

static bool is_ascii(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text > 0x7f)
            return false;
    }
    return true;
}

/*
 * ASCII patterns work on bytes, so that they find an id in a line that is not UTF-8. Others need characters; then
 * bytes that are no UTF-8 match nothing, but are no error.
 */
static int set_pattern(hx_select_plan *plan, const char *text, hx_select_error *err)
{
    uint32_t flags = is_ascii(text) ? 0 : PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
    int code;
    PCRE2_SIZE offset;
    plan->pattern = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, flags, &code, &offset, NULL);
    if (plan->pattern == NULL) {
        PCRE2_UCHAR reason[200];
        pcre2_get_error_message(code, reason, sizeof reason);
        return hx_plan_refuse(err, "--id-pattern", text, "at byte %zu: %s", (size_t)offset + 1, (const char *)reason);
    }
    pcre2_pattern_info(plan->pattern, PCRE2_INFO_CAPTURECOUNT, &plan->pattern_groups);
    pcre2_jit_compile(plan->pattern, PCRE2_JIT_COMPLETE); /* where there is no JIT, matching is just slower */
    return 0;
}

/* ---- the plan ---- */

int hx_select_plan_new(const hx_select_options *options, hx_select_plan **ret, hx_select_error *err)
{
    hx_select_plan *plan = NULL;
    int rc = check_combination(options, err);
    if (rc < 0)
        goto fail;
    rc = -ENOMEM;
    plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        goto fail;
    plan->format = options->format;
    plan->time_unit = options->time_unit;
    plan->header = is_table(options->format) && !options->no_header;
    plan->nul = options->nul;
    plan->source_slot = plan->time_slot = -1;
    hx_json_kernel kernels[HX_JSON_KERNELS_MAX];
    const char *names[HX_JSON_KERNELS_MAX];
    hx_json_scan_kernels(kernels, names);
    plan->kernel = kernels[0];
    rc = set_delimiter(plan, options->delimiter, err);
    if (rc < 0)
        goto fail;
    rc = set_slots(plan, options, err);
    if (rc < 0)
        goto fail;
    if (options->id_pattern != NULL) {
        rc = set_pattern(plan, options->id_pattern, err);
        if (rc < 0)
            goto fail;
    }
    if (!plan->header)
        hx_plan_sort_columns(plan);
    *ret = plan;
    return 0;

fail:
    if (rc == -ENOMEM)
        snprintf(err->message, sizeof err->message, "no memory left");
    hx_select_plan_free(plan);
    return rc;
}

void hx_select_plan_free(hx_select_plan *plan)
{
    if (plan == NULL)
        return;
    for (size_t i = 0; i < plan->slot_count; i++)
        free(plan->slots[i].text);
    hx_pointer_free(&plan->tree);
    pcre2_code_free(plan->pattern);
    free(plan->header_data);
    free(plan);
}

void hx_plan_sort_columns(hx_select_plan *plan)
{
    for (size_t i = 0; i < plan->slot_count; i++) {
        size_t at = i;
        while (at > 0 && plan->slots[plan->by_column[at - 1]].column > plan->slots[i].column) {
            plan->by_column[at] = plan->by_column[at - 1];
            at--;
        }
        plan->by_column[at] = i;
    }
}

hx_select_format hx_select_plan_format(const hx_select_plan *plan)
{
    return plan->format;
}

bool hx_select_has_header(const hx_select_plan *plan)
{
    return plan->header;
}

void hx_select_split(const hx_select_plan *plan, hx_split *split)
{
    hx_split_options options = {
        .nul = plan->nul,
        .quotes = is_table(plan->format),
        .delimiter = (unsigned char)plan->delimiter,
        .bom = plan->format != HX_SELECT_LINES,
    };
    hx_split_init(split, &options);
}
