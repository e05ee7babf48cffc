/*
 * entries.h - the occurrences of ids, by number.
 *
 * Every arrival that changes a window makes an occurrence and gets the next number, its `order`. Orders are never
 * used twice, so an order is a safe name for an occurrence: where it is gone, looking it up says so. That is why the
 * index and the windows hold orders and nothing has to be told when an occurrence goes.
 *
 * Orders come in ranges of 4,096, each with a chunk of memory of its own:
 *
 *     order:   1 ........ 4095 | 4096 ...... 8191 | 8192 ..... 12287 | 12288 ...
 *     chunk:     (gone)        |   sparse         |     dense        |   tail, still filling
 *
 *     dense    slot i is order first + i; a slot of state DEAD is a hole
 *     sparse   what is left of a chunk more than half empty: only the live ones, with their offsets, ascending
 *     gone     nothing of it is held; costs 8 bytes of the directory until the directory's front moves past it
 *
 * Receive times never go back, so they rise with the order. An occurrence costs 28 bytes: hash 16, time 6.6 (53 bits
 * from the chunk's first time), source 4, state 0.4, one over.
 * Not thread-safe: the domain's lock covers it.
 */
#ifndef HX_ENTRIES_H
#define HX_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/siphash.h"
#include "core/memory.h"

#define HX_CHUNK_ENTRIES 4096u

/* What an occurrence is held by; two bits. */
enum {
    HX_ENTRY_DEAD = 0,      /* by nothing: it is gone */
    HX_ENTRY_IN_WINDOW = 1, /* its source's window */
    HX_ENTRY_IN_QUEUE = 2,  /* the time queue */
    HX_ENTRY_STATE = 3,     /* mask of the above */
    HX_ENTRY_SHARED = 4,    /* flag: the id has more than one occurrence, see older.h */
};

typedef struct hx_entry {
    hx_hash hash;
    int64_t time_ms; /* receive time */
    uint32_t source;
    uint8_t state; /* HX_ENTRY_* */
} hx_entry;

typedef struct hx_chunk hx_chunk;

typedef struct hx_entries {
    hx_memory *memory;
    hx_chunk **chunks; /* the directory: chunks[i] holds range first_range + i; NULL: gone */
    size_t chunks_cap;
    size_t chunks_len;
    size_t front_gone; /* leading places that are gone */
    uint64_t first_range;
    uint64_t next_order; /* the order of the next occurrence; the first is 1 */
} hx_entries;

void hx_entries_init(hx_entries *entries, hx_memory *memory);
void hx_entries_free(hx_entries *entries);

/* Makes room for n more occurrences, so that n calls of hx_entries_append cannot fail. HAPAX_OK or an error. */
int hx_entries_reserve(hx_entries *entries, size_t n);

/* Adds an occurrence (state not DEAD, time not below that of the one before) and returns its order. */
uint64_t hx_entries_append(hx_entries *entries, const hx_entry *entry);

/* Copies the occurrence; false where it is gone. */
bool hx_entries_get(const hx_entries *entries, uint64_t order, hx_entry *ret_entry);

/* True where the occurrence is there and is one of this id. */
bool hx_entries_is(const hx_entries *entries, uint64_t order, hx_hash hash);

/* Sets state and flags. The occurrence must be there. DEAD removes it and may shrink or free its chunk. */
void hx_entries_set_state(hx_entries *entries, uint64_t order, uint8_t state);

/* The first occurrence that is there with an order of at least `from`, or 0. */
uint64_t hx_entries_next(const hx_entries *entries, uint64_t from);

#endif
