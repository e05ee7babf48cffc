/*
 * stamps.c - from an order to the wall time and the age of its receipt.
 *
 * The one idea: predict from the last stamp and note a new one only where the prediction is off. With the activity
 * clock the age is exact; with given times both are at most a second behind.
 */
#include "core/stamps.h"

#include <assert.h>
#include <hapax.h>
#include <stdlib.h>
#include <string.h>

#define SLACK_MS 1000

void hx_stamps_init(hx_stamps *stamps, hx_memory *memory)
{
    *stamps = (hx_stamps){.memory = memory};
}

void hx_stamps_free(hx_stamps *stamps)
{
    hx_memory_free(stamps->memory, stamps->items, stamps->cap * sizeof *stamps->items);
    *stamps = (hx_stamps){0};
}

int hx_stamps_reserve(hx_stamps *stamps, size_t n)
{
    if (stamps->first > 0 && stamps->len + n > stamps->cap) {
        stamps->len -= stamps->first;
        memmove(stamps->items, stamps->items + stamps->first, stamps->len * sizeof *stamps->items);
        stamps->first = 0;
    }
    size_t cap = stamps->cap == 0 ? 4 : stamps->cap;
    while (cap < stamps->len + n)
        cap *= 2;
    if (cap == stamps->cap)
        return HAPAX_OK;
    hx_stamp *items =
        hx_memory_resize(stamps->memory, stamps->items, stamps->cap * sizeof *items, cap * sizeof *items);
    if (items == NULL)
        return hx_memory_failure(stamps->memory);
    stamps->items = items;
    stamps->cap = cap;
    return HAPAX_OK;
}

static void predict(const hx_stamps *stamps, const hx_stamp *stamp, int64_t time_ms, int64_t *ret_wall_ms,
                    int64_t *ret_age_ms)
{
    int64_t since = stamps->given_times ? 0 : time_ms - stamp->time_ms;
    *ret_wall_ms = stamp->wall_ms + since;
    *ret_age_ms = stamp->age_ms + since;
}

void hx_stamps_note(hx_stamps *stamps, uint64_t order, const hx_moment *moment)
{
    if (stamps->len > stamps->first) {
        int64_t wall_ms, age_ms;
        predict(stamps, &stamps->items[stamps->len - 1], moment->time_ms, &wall_ms, &age_ms);
        int64_t age_slack_ms = stamps->given_times ? SLACK_MS : 1;
        if (llabs(moment->wall_ms - wall_ms) < SLACK_MS && llabs(moment->age_ms - age_ms) < age_slack_ms)
            return;
    }
    assert(stamps->len < stamps->cap);
    stamps->items[stamps->len++] = (hx_stamp){order, moment->time_ms, moment->age_ms, moment->wall_ms};
}

/* The place of the last stamp at or below an order; the first where there is none. */
static size_t find(const hx_stamps *stamps, uint64_t order)
{
    size_t low = stamps->first;
    size_t high = stamps->len;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (stamps->items[middle].first_order <= order)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void hx_stamps_get(const hx_stamps *stamps, uint64_t order, int64_t time_ms, int64_t *ret_wall_ms,
                   int64_t *ret_age_ms)
{
    if (stamps->len == stamps->first) {
        *ret_wall_ms = 0;
        *ret_age_ms = 0;
        return;
    }
    predict(stamps, &stamps->items[find(stamps, order)], time_ms, ret_wall_ms, ret_age_ms);
}

void hx_stamps_trim(hx_stamps *stamps, uint64_t first_order)
{
    if (stamps->len > stamps->first)
        stamps->first = find(stamps, first_order);
}
