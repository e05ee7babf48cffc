/*
 * memory.h - allocation with a running total and a budget.
 *
 * Every block the engine holds is asked for here with its size and given back with its size, so the total is known
 * without asking the allocator, and a budget is checked before memory is taken rather than after.
 * A domain has a total of its own, whose parent is that of the store.
 * Threads: every function may be called from any thread.
 */
#ifndef HX_MEMORY_H
#define HX_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hx_memory {
    struct hx_memory *parent; /* counts the same blocks too, and has the budget; or NULL */
    _Atomic uint64_t used_bytes;
    uint64_t limit_bytes;   /* UINT64_MAX: none */
    _Atomic int over_limit; /* 1: the last refusal was the budget's, 0: the machine's */
} hx_memory;

void hx_memory_init(hx_memory *memory, hx_memory *parent, uint64_t limit_bytes);

/* `bytes` of zeroed memory, or NULL. */
void *hx_memory_alloc(hx_memory *memory, size_t bytes);
/* The same, on a multiple of `align` (a power of two, at least 64). */
void *hx_memory_alloc_aligned(hx_memory *memory, size_t align, size_t bytes);
/* As realloc, new bytes are not zeroed; NULL with the old block as it was. */
void *hx_memory_resize(hx_memory *memory, void *block, size_t old_bytes, size_t new_bytes);
void hx_memory_free(hx_memory *memory, void *block, size_t bytes);

/* After a NULL: HAPAX_ERR_FULL where the budget said no, HAPAX_ERR_MEMORY where the machine did. */
int hx_memory_failure(const hx_memory *memory);

#endif
