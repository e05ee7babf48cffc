/*
 * clock.h - the clocks of an open store, over the os table.
 *
 * activity   ms the store has been open, over all opens; from the monotonic clock, so that a stepped wall clock does
 *            not move it
 * age        activity and the downtime between opens together (a downtime is what the wall clock says, if it says
 *            more than nothing); the clock of max_age
 * Any thread: nothing here changes while the store is open.
 */
#ifndef HX_CLOCK_H
#define HX_CLOCK_H

#include <stdint.h>

#include "os/os.h"

typedef struct hx_clock {
    const hx_os *os;
    int64_t monotonic_at_open_ms;
    int64_t activity_at_open_ms;
    int64_t downtime_ms; /* over all downtimes */
} hx_clock;

static inline int64_t hx_clock_monotonic(const hx_clock *clock)
{
    return clock->os->monotonic_ms(clock->os->ctx);
}

static inline int64_t hx_clock_wall(const hx_clock *clock)
{
    return clock->os->wall_ms(clock->os->ctx);
}

static inline int64_t hx_clock_activity(const hx_clock *clock)
{
    return clock->activity_at_open_ms + (hx_clock_monotonic(clock) - clock->monotonic_at_open_ms);
}

#endif
