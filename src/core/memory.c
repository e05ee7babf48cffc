/*
 * memory.c - allocation with a running total and a budget.
 *
 * The one idea: add first, look at the sum, take it back where it is too much; so that threads that allocate at the
 * same time cannot pass the budget together.
 */
#include "core/memory.h"

#include <hapax.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

void hx_memory_init(hx_memory *memory, hx_memory *parent, uint64_t limit_bytes)
{
    memory->parent = parent;
    memory->used_bytes = 0;
    memory->limit_bytes = limit_bytes;
    memory->over_limit = 0;
}

static void give_back(hx_memory *memory, size_t bytes)
{
    for (; memory != NULL; memory = memory->parent)
        atomic_fetch_sub(&memory->used_bytes, bytes);
}

static bool take(hx_memory *memory, size_t bytes)
{
    for (hx_memory *at = memory; at != NULL; at = at->parent) {
        uint64_t before = atomic_fetch_add(&at->used_bytes, bytes);
        if (at->limit_bytes < bytes || at->limit_bytes - bytes < before) {
            for (hx_memory *undo = memory; undo != at->parent; undo = undo->parent)
                atomic_fetch_sub(&undo->used_bytes, bytes);
            memory->over_limit = 1;
            return false;
        }
    }
    return true;
}

static void *taken_or_undone(hx_memory *memory, void *block, size_t bytes)
{
    if (block == NULL) {
        give_back(memory, bytes);
        memory->over_limit = 0;
    }
    return block;
}

void *hx_memory_alloc(hx_memory *memory, size_t bytes)
{
    if (!take(memory, bytes))
        return NULL;
    return taken_or_undone(memory, calloc(1, bytes), bytes);
}

void *hx_memory_alloc_aligned(hx_memory *memory, size_t align, size_t bytes)
{
    if (!take(memory, bytes))
        return NULL;
    void *block = NULL;
    if (posix_memalign(&block, align, bytes) != 0)
        block = NULL;
    if (block != NULL && align >= HUGE_PAGE_BYTES)
        (void)madvise(block, bytes,
                      MADV_HUGEPAGE); /* a wish: without it look-ups miss the TLB as well as the cache */
    if (block != NULL)
        memset(block, 0, bytes);
    return taken_or_undone(memory, block, bytes);
}

void *hx_memory_resize(hx_memory *memory, void *block, size_t old_bytes, size_t new_bytes)
{
    if (new_bytes > old_bytes && !take(memory, new_bytes - old_bytes))
        return NULL;
    void *moved = realloc(block, new_bytes);
    if (new_bytes > old_bytes)
        return taken_or_undone(memory, moved, new_bytes - old_bytes);
    if (moved != NULL)
        give_back(memory, old_bytes - new_bytes);
    return moved;
}

void hx_memory_free(hx_memory *memory, void *block, size_t bytes)
{
    if (block == NULL)
        return;
    free(block);
    give_back(memory, bytes);
}

int hx_memory_failure(const hx_memory *memory)
{
    return memory->over_limit ? HAPAX_ERR_FULL : HAPAX_ERR_MEMORY;
}
