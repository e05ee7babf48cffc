/*
 * sources.h - the sources of a domain: their names and their windows.
 *
 * A window is a ring of orders, oldest first. An order whose occurrence is not in the window any more (it was renewed
 * or released) stays in the ring as a gap until it comes to the front or the ring is packed; `live` counts the
 * others.
 *
 *     ring:   [ 17 | 21 | (25) | 30 | 31 | .. ]      (25): a gap; head at 17; live 4, len 5
 *
 * A source is kept while its window holds something or an occurrence or claim names it (`refs`). Sources with a
 * window stand in a list by their last activity, longest silent first. Not thread-safe: the domain's lock covers it.
 */
#ifndef HX_SOURCES_H
#define HX_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/entries.h"
#include "core/map.h"
#include "core/memory.h"

#define HX_SOURCE_NONE UINT32_MAX /* a source whose name is not kept */

typedef struct hx_source {
    char *name; /* owned, name_len bytes; NULL: the place is free */
    uint32_t name_len;
    uint32_t live; /* occurrences in the window */
    uint64_t name_hash;
    uint64_t refs;     /* occurrences and claims that name this source */
    uint64_t *ring;    /* orders, ascending */
    uint32_t ring_cap; /* a power of two, or 0 */
    uint32_t ring_head;
    uint32_t ring_len; /* gaps included */
    uint32_t pending;  /* places promised to the batch that is being prepared */
    uint32_t newer;    /* list by activity; HX_SOURCE_NONE at the end */
    uint32_t older;
    int64_t activity_ms; /* of its last claim that changed state */
    uint32_t log_number; /* under which the log of this opening of the store knows the name; 0: not yet */
} hx_source;

typedef struct hx_sources {
    hx_memory *memory;
    hx_map by_name;
    hx_source *items;
    uint32_t len; /* places in use or free below cap */
    uint32_t cap;
    uint32_t free_first;   /* free places are chained by `newer` */
    uint32_t with_window;  /* sources whose live > 0 */
    uint32_t silent;       /* head of the list by activity: longest silent */
    uint32_t busy;         /* its tail */
    unsigned char key[16]; /* of the hash of names */
} hx_sources;

void hx_sources_init(hx_sources *sources, hx_memory *memory, const unsigned char key[16]);
void hx_sources_free(hx_sources *sources);

/* The number of a source, or HX_SOURCE_NONE. */
uint32_t hx_sources_find(const hx_sources *sources, const void *name, size_t len);
/* The number of a source, added where it is missing, with a reference for the caller. HAPAX_OK or an error. */
int hx_sources_take(hx_sources *sources, const void *name, size_t len, uint32_t *ret_source);
void hx_sources_ref(hx_sources *sources, uint32_t source);
/* Takes a reference back; the source may be gone afterwards. HX_SOURCE_NONE is fine. */
void hx_sources_unref(hx_sources *sources, uint32_t source);

/* Promises one more place in the ring, of a window of at most `window` ids, to the batch that is being prepared. */
int hx_sources_reserve_place(hx_sources *sources, const hx_entries *entries, uint32_t source, uint32_t window);
/* Ends the promises of a batch and forgets the source if nothing needs it. May be called again for the same one. */
void hx_sources_settle(hx_sources *sources, uint32_t source);

/* Appends an order to the window. Room was made before. */
void hx_sources_push(hx_sources *sources, const hx_entries *entries, uint32_t source, uint64_t order,
                     int64_t activity_ms);
/*
 * Takes the oldest occurrence off the ring and returns its order, with a copy of it; live must be above 0. It still
 * counts as live.
 */
uint64_t hx_sources_pop(hx_sources *sources, const hx_entries *entries, uint32_t source, hx_entry *ret_entry);
/* One occurrence less in the window; leaves the list by activity when it was the last. */
void hx_sources_left(hx_sources *sources, uint32_t source);

#endif
