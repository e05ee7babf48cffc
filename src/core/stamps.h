/*
 * stamps.h - from an order to the wall time and the age of its receipt.
 *
 * Both run beside the receive time most of the time, so a stamp is kept only where they stop doing so: where the
 * store was opened again, where the wall clock was set, and, in a domain with given times, once a second. Not
 * thread-safe: the domain's lock covers it.
 */
#ifndef HX_STAMPS_H
#define HX_STAMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/memory.h"

/* When something happened, by every clock there is. */
typedef struct hx_moment {
    int64_t time_ms;     /* receive time */
    int64_t activity_ms; /* how long the store had been open */
    int64_t age_ms;      /* activity and downtime together: the clock of max_age */
    int64_t wall_ms;     /* since 1970 */
} hx_moment;

typedef struct hx_stamp {
    uint64_t first_order; /* holds from here to the next stamp */
    int64_t time_ms, age_ms, wall_ms;
} hx_stamp;

typedef struct hx_stamps {
    hx_memory *memory;
    hx_stamp *items;
    size_t first, len, cap; /* items[first .. len) are in use */
    bool given_times;       /* receive times say nothing about the other clocks */
} hx_stamps;

void hx_stamps_init(hx_stamps *stamps, hx_memory *memory);
void hx_stamps_free(hx_stamps *stamps);
/* Room for n more. HAPAX_OK or an error. */
int hx_stamps_reserve(hx_stamps *stamps, size_t n);
/* Notes the moment of an order, which is above all noted before. Room was made before. */
void hx_stamps_note(hx_stamps *stamps, uint64_t order, const hx_moment *moment);
/* Wall time and age of the receipt of an order with this receive time; within a second. */
void hx_stamps_get(const hx_stamps *stamps, uint64_t order, int64_t time_ms, int64_t *ret_wall_ms,
                   int64_t *ret_age_ms);
/* Nothing below this order will be asked for any more. */
void hx_stamps_trim(hx_stamps *stamps, uint64_t first_order);

#endif
