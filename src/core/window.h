/*
 * window.h - the windowed policy: which ids a domain knows, and what an arrival does to that.
 *
 * The rules are in docs/guarantees.md; here is how they are held. An occurrence of an id is in its source's
 * window or in the time queue. Since receive times never go back, occurrences stand in the order of their times, and
 * the time queue needs no structure of its own: an occurrence in it is alive while its time is at least `floor_ms`,
 * the largest time that ever entered the queue less the expiry. The floor only rises.
 *
 *     orders:      1 .............. expire_order .................... next_order
 *                  | below the floor            | at or above the floor
 *     in queue     | forgotten, freed           | known
 *     in a window  | known, dies on leaving it  | known
 *
 * An occurrence that falls below the floor is forgotten at that moment, whether or not it has been freed yet: freeing
 * is done in small steps by later arrivals, and every look-up compares with the floor.
 *
 * Preparation and action are apart: hx_window_reserve may fail and changes nothing that shows, and after it n actions
 * cannot fail. Not thread-safe: the domain's lock covers it.
 */
#ifndef HX_WINDOW_H
#define HX_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/claims.h"
#include "core/entries.h"
#include "core/index.h"
#include "core/older.h"
#include "core/sources.h"
#include "core/stamps.h"

/* The settings of a domain; HAPAX_FOREVER in a time means never or off. */
typedef struct hx_settings {
    int64_t window; /* ids per source */
    int64_t expiry_ms;
    int64_t refresh; /* 0 or 1 */
    int64_t max_age_ms;
    int64_t source_idle_ms;
    int64_t max_sources;
    int64_t max_step_ms;
} hx_settings;

typedef struct hx_window {
    hx_memory *memory;
    hx_settings settings;
    hx_entries entries;
    hx_index index;
    hx_sources sources;
    hx_older older;
    hx_claims claims;
    hx_stamps stamps;
    bool has_time_mode; /* a claim has decided whether times are given */
    bool has_last;
    bool has_newest;
    int64_t last_ms;       /* the domain's last receive time */
    int64_t newest_ms;     /* the largest receive time that ever entered the time queue */
    int64_t floor_ms;      /* an occurrence in the queue below it is forgotten; INT64_MIN at first */
    uint64_t expire_order; /* every occurrence in the queue below it has been freed */
    uint64_t in_queue;     /* occurrences in the queue, one an id, some of them perhaps below the floor */
    uint64_t window_ids;   /* ids with an occurrence in a window */
} hx_window;

void hx_window_init(hx_window *window, hx_memory *memory, const hx_settings *settings, const unsigned char key[16],
                    uint32_t first_claim_use);
void hx_window_free(hx_window *window);

/* Makes room for n arrivals, besides that of their sources' windows. HAPAX_OK or an error. */
int hx_window_reserve(hx_window *window, size_t n);
/* Makes room for an arrival from a source whose name is kept. */
int hx_window_reserve_source(hx_window *window, uint32_t source);

/*
 * The latest occurrence held of an id, or 0. An occurrence that fell below the floor is freed on the way.
 * now_age_ms: with max_age, an id that is older than that is not found either (unless it is in flight), and
 * *ret_too_old is set.
 */
uint64_t hx_window_find(hx_window *window, hx_hash hash, int64_t now_age_ms, bool *ret_too_old);
/* The same as hx_window_find, without freeing anything. */
uint64_t hx_window_peek(const hx_window *window, hx_hash hash, int64_t now_age_ms);

/*
 * An arrival that changes the window: rules 2 to 5. `latest` is what hx_window_find said. `source` is the
 * number of a source to which the caller has a reference. The domain's last receive time moves to the moment's.
 * Returns false where the source would have had a window but for max_sources.
 */
bool hx_window_arrive(hx_window *window, hx_hash hash, uint32_t source, const hx_moment *moment, uint64_t latest);

/* Every occurrence of an id goes; what they had pushed out stays out. */
void hx_window_forget(hx_window *window, hx_hash hash);

/* Empties the windows of the sources that have been silent for source_idle; returns whether there were any. */
bool hx_window_empty_idle(hx_window *window, int64_t activity_ms);

/* Frees up to `steps` occurrences that fell below the floor, and sweeps the index accordingly. */
void hx_window_expire(hx_window *window, size_t steps);

/* True where new settings would push out ids that are held. */
bool hx_window_settings_push(hx_window *window, const hx_settings *settings, int64_t now_age_ms,
                             int64_t now_activity_ms);
/* Applies them. */
void hx_window_set(hx_window *window, const hx_settings *settings);

/* Visits the occurrences held of an id, oldest first, until visit returns false. */
void hx_window_each(const hx_window *window, hx_hash hash, bool (*visit)(void *arg, uint64_t order, const hx_entry *),
                    void *arg);
/* Whether this occurrence, which is there, is below the floor and so forgotten. */
bool hx_window_fell(const hx_window *window, const hx_entry *entry);

#endif
