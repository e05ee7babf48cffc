/*
 * index.h - from the hash of an id to the order of its latest occurrence.
 *
 * A table of 8-byte slots, 8 to a cache line (a bucket). Each id has two buckets it may live in and takes the emptier
 * one, so a look-up reads two cache lines. A slot only routes:
 *
 *     63 ........ 40 39 ....................................... 0
 *     [ tag, 24 bits | order of the latest occurrence, 40 bits  ]      0: free
 *
 * The tag is bits 8 to 31 of the hash; the verdict compares all 128 bits in the occurrence. The second bucket is the
 * first one exclusive-or a mix of the tag, so that a slot can be moved with what it says about itself.
 *
 * The table grows by linear hashing: bucket `split` of the lower half is parted in two, one bucket at a time, in
 * turn. No pause, no second table. Memory comes in pages of 32,768 buckets.
 *
 * Slots of occurrences that are gone stay until they are met or swept: expiry need not touch the index.
 * Not thread-safe: the domain's lock covers it.
 */
#ifndef HX_INDEX_H
#define HX_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/siphash.h"
#include "core/entries.h"
#include "core/memory.h"

#define HX_INDEX_ORDER_MAX ((UINT64_C(1) << 40) - 1)

typedef struct hx_index_bucket hx_index_bucket;

typedef struct hx_index {
    hx_memory *memory;
    const hx_entries *entries; /* borrowed: tells whether an order is still there and whose it is */
    hx_index_bucket **pages;
    size_t pages_len;
    size_t pages_cap;
    uint64_t first_page_buckets; /* allocated in page 0 while it is the only one */
    uint64_t level_mask;         /* 2^level - 1 */
    uint64_t split;              /* buckets of the lower half that have been parted */
    uint64_t used;               /* slots that are not free, gone ones included */
    uint64_t live;               /* ids that are held: what `used` would be after a sweep */
    uint64_t sweep;              /* next bucket to look through for gone slots */
    uint64_t kicks;              /* slots moved to make room, for the statistics */
} hx_index;

/* The place of a slot that was found; valid until the next call that changes the index. */
typedef uint64_t *hx_index_slot;

void hx_index_init(hx_index *index, hx_memory *memory, const hx_entries *entries);
void hx_index_free(hx_index *index);

/* Makes room for n more ids, so that n calls of hx_index_insert cannot fail. HAPAX_OK or an error. */
int hx_index_reserve(hx_index *index, size_t n);

/* Asks the processor to load the two buckets of a hash. */
void hx_index_prefetch(const hx_index *index, hx_hash hash);

/* The order of the latest occurrence of an id, or 0. *ret_slot (or NULL) is set when it is found. */
uint64_t hx_index_find(const hx_index *index, hx_hash hash, hx_index_slot *ret_slot);

/* Adds an id that is not there. Room was made before. */
void hx_index_insert(hx_index *index, hx_hash hash, uint64_t order);

/* Points a slot that was found to another order of the same id. */
void hx_index_update(hx_index_slot slot, uint64_t order);

/* Frees a slot that was found. */
void hx_index_remove(hx_index *index, hx_index_slot slot);

/* An id was forgotten without its slot being touched. */
void hx_index_forgot(hx_index *index);

/* Looks through at most `buckets` buckets for gone slots, where more than a fifth of the slots in use are gone. */
void hx_index_sweep(hx_index *index, size_t buckets);

#endif
