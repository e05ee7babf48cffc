/*
 * header.c - from column names to column numbers, and: do all files have the same header?
 *
 * A column is found by its name, whole and with case. Where no column has that name, digits are a number. What is not
 * found is answered with the name that is nearest to it, because most such errors are typing errors.
 */
#include "select/fields.h"
#include "select/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN 64 /* longer names are not compared by distance */

/* A field for people: content, cut, with control characters replaced. */
static void show_field(const hx_field *field, char out[NAME_MAX_LEN + 4])
{
    size_t len = 0;
    for (size_t i = 0; i < field->len && len < NAME_MAX_LEN; i++) {
        unsigned char c = field->data[i];
        out[len++] = c < ' ' || c == 0x7f ? '?' : (char)c;
        i += field->doubled && c == '"';
    }
    snprintf(out + len, 4, "%s", field->len > NAME_MAX_LEN ? "..." : "");
}

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/* How many bytes to insert, delete or replace, case aside, to get from one name to the other. */
static size_t distance(const unsigned char *a, size_t a_len, const unsigned char *b, size_t b_len)
{
    size_t row[NAME_MAX_LEN + 1];
    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t replaced = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
            diagonal = row[j];
            size_t moved = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = replaced < moved ? replaced : moved;
        }
    }
    return row[b_len];
}

static int refuse_unknown(const hx_select_plan *plan, const hx_plan_slot *slot, const hx_fields *header,
                          hx_select_error *err)
{
    size_t len = strlen(slot->text), columns = 0, best = len / 3 + 2;
    char nearest[NAME_MAX_LEN + 4] = "", first[NAME_MAX_LEN + 4] = "";
    hx_fields fields = *header;
    hx_field field;
    while (hx_fields_next(&fields, &field)) {
        if (columns++ == 0)
            show_field(&field, first);
        if (len > NAME_MAX_LEN || field.len == 0 || field.len > NAME_MAX_LEN)
            continue;
        size_t d = distance((const unsigned char *)slot->text, len, field.data, field.len);
        if (d < best) {
            best = d;
            show_field(&field, nearest);
        }
    }
    if (nearest[0] != '\0')
        return hx_plan_refuse(err, slot->option, slot->text, "no such column in the header; is \"%s\" meant?",
                              nearest);
    if (columns == 1 && plan->format == HX_SELECT_CSV)
        return hx_plan_refuse(err, slot->option, slot->text,
                              "no such column; the header has only one, \"%s\" (is --delimiter right?)", first);
    return hx_plan_refuse(err, slot->option, slot->text, "no such column among the %zu of the header", columns);
}

static int bind_slot(const hx_select_plan *plan, hx_plan_slot *slot, const hx_fields *header, hx_select_error *err)
{
    if (slot->text == NULL) {
        slot->column = 1;
        return 0;
    }
    hx_field name = {.data = (const unsigned char *)slot->text, .len = strlen(slot->text)};
    hx_fields fields = *header;
    hx_field field;
    uint64_t column = 0;
    slot->column = 0;
    while (hx_fields_next(&fields, &field)) {
        column++;
        if (!hx_fields_equal(&field, &name))
            continue;
        if (slot->column != 0)
            return hx_plan_refuse(err, slot->option, slot->text,
                                  "columns %llu and %llu both have that name; give the number",
                                  (unsigned long long)slot->column, (unsigned long long)column);
        slot->column = column;
    }
    if (slot->column != 0)
        return 0;
    if (!hx_plan_column_number(slot->text, &slot->column))
        return refuse_unknown(plan, slot, header, err);
    if (slot->column == 0 || slot->column > column)
        return hx_plan_refuse(err, slot->option, slot->text,
                              "the header has columns 1 to %llu, and none of that name", (unsigned long long)column);
    return 0;
}

static int bind_columns(hx_select_plan *plan, const unsigned char *data, size_t len, hx_select_error *err)
{
    hx_fields header;
    hx_fields_begin(&header, data, len, (unsigned char)plan->delimiter, true);
    for (size_t i = 0; i < plan->slot_count; i++) {
        int rc = bind_slot(plan, &plan->slots[i], &header, err);
        if (rc < 0)
            return rc;
    }
    unsigned char *copy = malloc(len + 1);
    if (copy == NULL) {
        snprintf(err->message, sizeof err->message, "no memory left");
        return -ENOMEM;
    }
    memcpy(copy, data, len);
    plan->header_data = copy;
    plan->header_len = len;
    hx_plan_sort_columns(plan);
    return 0;
}

static int compare_headers(const hx_select_plan *plan, const unsigned char *data, size_t len, hx_select_error *err)
{
    hx_fields first, fields;
    hx_fields_begin(&first, plan->header_data, plan->header_len, (unsigned char)plan->delimiter, true);
    hx_fields_begin(&fields, data, len, (unsigned char)plan->delimiter, true);
    for (size_t column = 1;; column++) {
        hx_field wanted, field;
        bool more_wanted = hx_fields_next(&first, &wanted), more = hx_fields_next(&fields, &field);
        if (!more_wanted && !more)
            return 0;
        if (more_wanted && more && hx_fields_equal(&wanted, &field))
            continue;
        char shown_wanted[NAME_MAX_LEN + 4] = "", shown[NAME_MAX_LEN + 4] = "";
        if (more_wanted)
            show_field(&wanted, shown_wanted);
        if (more)
            show_field(&field, shown);
        if (!more)
            snprintf(err->message, sizeof err->message,
                     "the header ends before column %zu, \"%s\" in the first file; all headers must be equal", column,
                     shown_wanted);
        else if (!more_wanted)
            snprintf(err->message, sizeof err->message,
                     "the header has a column %zu, \"%s\", more than the first file; all headers must be equal",
                     column, shown);
        else
            snprintf(
                err->message, sizeof err->message,
                "column %zu of the header is \"%s\" and not \"%s\" as in the first file; all headers must be equal",
                column, shown, shown_wanted);
        return -EINVAL;
    }
}

int hx_select_header(hx_select_plan *plan, const unsigned char *data, const hx_split_record *record,
                     hx_select_error *err)
{
    if (record->fault != NULL) {
        snprintf(err->message, sizeof err->message, "the header, line %llu, column %llu: %s",
                 (unsigned long long)record->fault_line, (unsigned long long)record->fault_column, record->fault);
        return -EINVAL;
    }
    if (record->taken > 0) {
        snprintf(err->message, sizeof err->message, "the header is too long");
        return -EINVAL;
    }
    data += record->offset + record->bom_len;
    size_t len = record->len - record->bom_len;
    if (plan->header_data == NULL)
        return bind_columns(plan, data, len, err);
    return compare_headers(plan, data, len, err);
}
