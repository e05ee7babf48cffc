/*
 * select.c - follow a plan: from records to id, source and time, see select.h.
 *
 * Each record goes through two steps. Finding fills `values`, one for each slot of the plan, by the rules of its
 * format (JSON values, columns, fields, a pattern). Judging makes the id out of the first values, and takes source
 * and time from theirs. Whatever is wrong ends in invalid(), and the record carries no id then.
 *
 * Values point into the block's data where that is the content, else into the arena.
 */
#include "base/text.h"
#include "select/arena.h"
#include "select/fields.h"
#include "select/json_reader.h"
#include "select/json_text.h"
#include "select/plan.h"

#include <errno.h>
#include <hapax.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A pattern may need exponential time on a line made for it. These bound it to a few ms; no sensible pattern comes
 * near on lines of ordinary length.
 */
#define PATTERN_STEPS_MAX 1000000u
#define PATTERN_STACK_BYTES ((size_t)1024 * 1024)
#define PATTERN_HEAP_KIB 65536u

struct value {
    const unsigned char *data; /* NULL: missing */
    size_t len;
    size_t column; /* 1-based place in the record, 0: not known */
};

struct hx_select_state {
    const hx_select_plan *plan;
    hx_arena arena;
    hx_json_reader reader;
    bool has_reader;
    pcre2_match_data *match_data;
    pcre2_match_context *match_context;
    pcre2_jit_stack *jit_stack;
    struct value values[HX_PLAN_SLOTS_MAX + 1]; /* one more, for the place of an id without a slot */
};

/* A record on its way; the functions below return 0, 1 for an invalid record, or -ENOMEM. */
struct work {
    hx_select_state *state;
    const unsigned char *data;
    size_t len, readable;
    hx_selected *ret;
};

enum { INVALID = 1 };

/* ---- states ---- */

static int set_up_pattern(hx_select_state *state)
{
    state->match_data = pcre2_match_data_create_from_pattern(state->plan->pattern, NULL);
    state->match_context = pcre2_match_context_create(NULL);
    state->jit_stack = pcre2_jit_stack_create(32 * 1024, PATTERN_STACK_BYTES, NULL);
    if (state->match_data == NULL || state->match_context == NULL)
        return -ENOMEM;
    pcre2_set_match_limit(state->match_context, PATTERN_STEPS_MAX);
    pcre2_set_heap_limit(state->match_context, PATTERN_HEAP_KIB);
    if (state->jit_stack != NULL) /* NULL also where PCRE2 was built without JIT */
        pcre2_jit_stack_assign(state->match_context, NULL, state->jit_stack);
    return 0;
}

int hx_select_state_new(const hx_select_plan *plan, hx_select_state **ret)
{
    hx_select_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return -ENOMEM;
    state->plan = plan;
    int rc = 0;
    if (plan->format == HX_SELECT_NDJSON) {
        rc = hx_json_reader_init(&state->reader, &plan->tree, plan->kernel);
        state->has_reader = rc == 0;
    }
    if (rc == 0 && plan->pattern != NULL)
        rc = set_up_pattern(state);
    if (rc < 0) {
        hx_select_state_free(state);
        return rc;
    }
    *ret = state;
    return 0;
}

void hx_select_state_free(hx_select_state *state)
{
    if (state == NULL)
        return;
    if (state->has_reader)
        hx_json_reader_free(&state->reader);
    pcre2_match_data_free(state->match_data);
    pcre2_match_context_free(state->match_context);
    pcre2_jit_stack_free(state->jit_stack);
    hx_arena_free(&state->arena);
    free(state);
}

void hx_select_reset(hx_select_state *state)
{
    hx_arena_reset(&state->arena);
}

/* ---- finding ---- */

static int invalid(const struct work *work, size_t column, const char *message)
{
    work->ret->status = HX_SELECT_INVALID;
    work->ret->column = column;
    work->ret->message = message;
    return INVALID;
}

/* invalid() with "the id" or the like in front. A len above 0 is told as well: "the id has 5000 bytes, ...". */
static int invalid_value(const struct work *work, size_t slot, const char *message, size_t len)
{
    const hx_select_plan *plan = work->state->plan;
    const char *word = slot < plan->slot_count ? plan->slots[slot].word : "id"; /* the whole line, a pattern */
    char text[160];
    int text_len = len == 0 ? snprintf(text, sizeof text, "the %s %s", word, message)
                            : snprintf(text, sizeof text, "the %s has %zu bytes, %s", word, len, message);
    unsigned char *copy = hx_arena_take(&work->state->arena, (size_t)text_len + 1);
    if (copy == NULL)
        return -ENOMEM;
    memcpy(copy, text, (size_t)text_len + 1);
    return invalid(work, work->state->values[slot].column, (const char *)copy);
}

static int take_json_value(const struct work *work, size_t slot)
{
    hx_select_state *state = work->state;
    struct value *value = &state->values[slot];
    hx_json_value found = hx_json_reader_get(&state->reader, state->plan->slots[slot].node);
    *value = (struct value){.column = found.start + 1};
    switch (found.kind) {
    case HX_JSON_ABSENT: value->column = 0; break;
    case HX_JSON_NULL: break;
    case HX_JSON_CONTAINER: return invalid_value(work, slot, "is an object or array", 0);
    case HX_JSON_STRING:
    case HX_JSON_SCALAR:
        value->data = work->data + found.start;
        value->len = found.end - found.start;
        break;
    }
    if (found.kind != HX_JSON_STRING || !state->reader.escapes || memchr(value->data, '\\', value->len) == NULL)
        return 0;
    unsigned char *content = hx_arena_take(&state->arena, value->len);
    if (content == NULL)
        return -ENOMEM;
    value->len = hx_json_text_unescape(value->data, value->len, content);
    value->data = content;
    return 0;
}

/* *ret_blank: nothing but blanks; the values are not set then. */
static int find_json(const struct work *work, bool *ret_blank)
{
    hx_select_state *state = work->state;
    switch (hx_json_reader_read(&state->reader, work->data, work->len, work->readable)) {
    case HX_JSON_OK: break;
    case HX_JSON_BLANK: *ret_blank = true; return 0;
    case HX_JSON_INVALID: return invalid(work, state->reader.fault_offset + 1, state->reader.fault);
    case HX_JSON_NO_MEMORY: return -ENOMEM;
    }
    for (size_t i = 0; i < state->plan->slot_count; i++) {
        int rc = take_json_value(work, i);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int find_fields(const struct work *work)
{
    hx_select_state *state = work->state;
    const hx_select_plan *plan = state->plan;
    for (size_t i = 0; i < plan->slot_count; i++)
        state->values[i] = (struct value){0};
    hx_fields fields;
    hx_field field;
    hx_fields_begin(&fields, work->data, work->len, (unsigned char)plan->delimiter, plan->format != HX_SELECT_LINES);
    uint64_t column = 0;
    for (size_t next = 0; next < plan->slot_count;) {
        if (!hx_fields_next(&fields, &field))
            break;
        column++;
        for (; next < plan->slot_count && plan->slots[plan->by_column[next]].column == column; next++) {
            struct value *value = &state->values[plan->by_column[next]];
            *value = (struct value){field.data, field.len, (size_t)(field.data - work->data) + 1};
            if (!field.doubled)
                continue;
            unsigned char *content = hx_arena_take(&state->arena, field.len);
            if (content == NULL)
                return -ENOMEM;
            value->len = hx_fields_unquote(field.data, field.len, content);
            value->data = content;
        }
    }
    return 0;
}

/* The first group, or the whole match where the pattern has none. Its place is behind the slots. */
static int find_pattern(const struct work *work, struct value *value)
{
    hx_select_state *state = work->state;
    int rc = pcre2_match(state->plan->pattern, work->data, work->len, 0, 0, state->match_data, state->match_context);
    *value = (struct value){0};
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc == PCRE2_ERROR_NOMEMORY)
        return -ENOMEM;
    if (rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_DEPTHLIMIT || rc == PCRE2_ERROR_HEAPLIMIT ||
        rc == PCRE2_ERROR_JIT_STACKLIMIT)
        return invalid(work, 0, "the pattern takes too long on this line");
    if (rc < 0)
        return invalid(work, 0, "the pattern cannot be tried on this line (is it UTF-8?)");
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(state->match_data);
    size_t group = state->plan->pattern_groups > 0 ? 1 : 0;
    /* a group that took no part is unset; \K can put a match's start behind its end */
    if ((size_t)rc <= group || ends[2 * group] == PCRE2_UNSET || ends[2 * group] > ends[2 * group + 1])
        return 0;
    size_t start = ends[2 * group];
    *value = (struct value){work->data + start, ends[2 * group + 1] - start, start + 1};
    return 0;
}

/* ---- judging ---- */

static size_t decimal_len(size_t number)
{
    size_t len = 1;
    for (; number >= 10; number /= 10)
        len++;
    return len;
}

/* LEN ':' part for all parts but the last, then ':' and the last. */
static int join_id(const struct work *work, const struct value *parts, size_t count)
{
    size_t len = 1, any = 0;
    for (size_t i = 0; i < count; i++) {
        any |= parts[i].len;
        len += parts[i].len;
        if (i + 1 < count)
            len += decimal_len(parts[i].len) + 1;
    }
    if (any == 0)
        return 0;
    if (len > HAPAX_ID_MAX)
        return invalid_value(work, 0, "with its parts joined; at most 4096 are allowed", len);
    unsigned char *id = hx_arena_take(&work->state->arena, len + 1); /* snprintf ends with a NUL */
    if (id == NULL)
        return -ENOMEM;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count)
            at += (size_t)snprintf((char *)id + at, len + 1 - at, "%zu:", parts[i].len);
        else
            id[at++] = ':';
        if (parts[i].len > 0)
            memcpy(id + at, parts[i].data, parts[i].len);
        at += parts[i].len;
    }
    work->ret->id = id;
    work->ret->id_len = len;
    return 0;
}

static int judge_time(const struct work *work)
{
    hx_select_state *state = work->state;
    size_t slot = (size_t)state->plan->time_slot;
    const struct value *value = &state->values[slot];
    if (value->len == 0)
        return invalid_value(work, slot, "is missing", 0);
    const char *text = (const char *)value->data;
    int64_t time_ms;
    int rc = hx_text_parse_number_ms(text, value->len, state->plan->time_unit == HX_SELECT_S, &time_ms);
    if (rc == -EINVAL)
        rc = hx_text_parse_time_ms(text, value->len, &time_ms);
    if (rc < 0)
        return invalid_value(work, slot,
                             rc == -ERANGE ? "is out of range" : "is neither a number nor an RFC 3339 time", 0);
    work->ret->time_ms = time_ms;
    return 0;
}

static int judge(const struct work *work, const struct value *whole)
{
    hx_select_state *state = work->state;
    const hx_select_plan *plan = state->plan;
    if (plan->id_count > 1) {
        int rc = join_id(work, state->values, plan->id_count);
        if (rc != 0)
            return rc;
    } else {
        const struct value *id = plan->id_count == 0 ? whole : &state->values[0];
        if (id->len > HAPAX_ID_MAX) {
            size_t slot = plan->id_count == 0 ? plan->slot_count : 0;
            return invalid_value(work, slot, "at most 4096 are allowed", id->len);
        }
        work->ret->id = id->data;
        work->ret->id_len = id->len;
    }
    if (plan->source_slot >= 0) {
        const struct value *source = &state->values[plan->source_slot];
        if (source->len > HAPAX_NAME_MAX)
            return invalid_value(work, (size_t)plan->source_slot, "at most 1024 are allowed", source->len);
        work->ret->source = source->data;
        work->ret->source_len = source->len;
    }
    return plan->time_slot >= 0 ? judge_time(work) : 0;
}

/* ---- records ---- */

static int select_content(const struct work *work)
{
    const hx_select_plan *plan = work->state->plan;
    bool blank = work->len == 0;
    int rc = 0;
    struct value whole = {0};
    if (!blank && plan->format == HX_SELECT_NDJSON)
        rc = find_json(work, &blank);
    else if (!blank && plan->slot_count > 0)
        rc = find_fields(work);
    if (rc == 0 && !blank && plan->id_count == 0) {
        whole = (struct value){work->data, work->len, 1};
        if (plan->pattern != NULL)
            rc = find_pattern(work, &whole);
        work->state->values[plan->slot_count].column = whole.column;
    }
    if (rc == 0 && !blank)
        return judge(work, &whole);
    if (rc == 0 && plan->time_slot >= 0)
        work->ret->time_ms = 0; /* a blank record has no time either; see select.h */
    return rc;
}

static int select_record(hx_select_state *state, const unsigned char *data, size_t data_len,
                         const hx_split_record *record, hx_selected *ret)
{
    *ret = (hx_selected){.time_ms = HAPAX_NOW, .line = record->line};
    size_t start = record->offset + record->bom_len;
    struct work work = {
        .state = state,
        .data = data + start,
        .len = record->len - record->bom_len,
        .readable = data_len - start,
        .ret = ret,
    };
    if (record->fault != NULL) {
        invalid(&work, (size_t)record->fault_column, record->fault);
        ret->line = record->fault_line;
        return 0;
    }
    if (record->taken > 0) {
        invalid(&work, 0, "the record is too long");
        return 0;
    }
    int rc = select_content(&work);
    if (rc < 0)
        return rc;
    if (rc == INVALID) {
        ret->id = ret->source = NULL;
        ret->id_len = ret->source_len = 0;
        ret->time_ms = HAPAX_NOW;
        if (ret->column > 0)
            ret->column += record->bom_len;
    }
    return 0;
}

int hx_select_block(hx_select_state *state, const unsigned char *data, size_t data_len,
                    const hx_split_record *records, size_t count, hx_selected *ret)
{
    for (size_t i = 0; i < count; i++) {
        int rc = select_record(state, data, data_len, &records[i], &ret[i]);
        if (rc < 0)
            return rc;
    }
    return 0;
}
