/*
 * older.h - the ids of which more than one occurrence is held.
 *
 * The index leads to the latest occurrence of an id. Where older ones are held too they stand here, per id, oldest
 * first: one for each other source that has the id in its window, and at most one that is in the time queue.
 *
 *     index -> 90 (latest)       here:  12 (window of A) - 40 (window of B) - 71 (time queue)
 *
 * All occurrences of such an id carry HX_ENTRY_SHARED. An id is here only while a window holds it, so the windows
 * bound this table. Every step is O(1), also for an id that thousands of sources have sent.
 * Not thread-safe: the domain's lock covers it.
 */
#ifndef HX_OLDER_H
#define HX_OLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/siphash.h"
#include "core/map.h"
#include "core/memory.h"

typedef struct hx_older_node hx_older_node;
typedef struct hx_older_id hx_older_id;

typedef struct hx_older {
    hx_memory *memory;
    hx_map by_hash;   /* hash -> place in ids */
    hx_map by_window; /* hash and source -> place in nodes, for those in a window */
    hx_older_node *nodes;
    hx_older_id *ids;
    uint32_t nodes_cap, nodes_free; /* free places are chained */
    uint32_t ids_cap, ids_free;
} hx_older;

void hx_older_init(hx_older *older, hx_memory *memory);
void hx_older_free(hx_older *older);

/* Makes room for n more occurrences, so that n calls of hx_older_add cannot fail. HAPAX_OK or an error. */
int hx_older_reserve(hx_older *older, size_t n);

/* Adds what was the latest occurrence of an id until now. Room was made before. */
void hx_older_add(hx_older *older, hx_hash hash, uint64_t order, uint32_t source, bool in_window);
/* The occurrence has left the window of `source` for the time queue, where none of the id was. */
void hx_older_to_queue(hx_older *older, hx_hash hash, uint32_t source);
/* Removes the one in the window of `source`, or (in_window false) the one in the time queue. True: it was the last.
 */
bool hx_older_remove(hx_older *older, hx_hash hash, uint32_t source, bool in_window);
/* Removes the latest of them and returns its order; *ret_last: it was the last. */
uint64_t hx_older_take_latest(hx_older *older, hx_hash hash, bool *ret_last);

/* Orders, or 0 where there is none. */
uint64_t hx_older_in_window(const hx_older *older, hx_hash hash, uint32_t source);
uint64_t hx_older_in_queue(const hx_older *older, hx_hash hash);
/* Calls visit with the order of each, oldest first, until it returns false. */
void hx_older_each(const hx_older *older, hx_hash hash, bool (*visit)(void *arg, uint64_t order), void *arg);
/* How many windows hold an older occurrence of the id. */
uint32_t hx_older_windows(const hx_older *older, hx_hash hash);

#endif
