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

void hx_memory_init(hx_memory *memory, uint64_t limit_bytes)
{
    memory->used_bytes = 0;
    memory->limit_bytes = limit_bytes;
    memory->over_limit = 0;
}

static bool take(hx_memory *memory, size_t bytes)
{
    uint64_t before = atomic_fetch_add(&memory->used_bytes, bytes);
    if (memory->limit_bytes - bytes >= before && memory->limit_bytes >= bytes)
        return true;
    atomic_fetch_sub(&memory->used_bytes, bytes);
    memory->over_limit = 1;
    return false;
}

static void *taken_or_undone(hx_memory *memory, void *block, size_t bytes)
{
    if (block == NULL) {
        atomic_fetch_sub(&memory->used_bytes, bytes);
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
    else
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
        atomic_fetch_sub(&memory->used_bytes, old_bytes - new_bytes);
    return moved;
}

void hx_memory_free(hx_memory *memory, void *block, size_t bytes)
{
    if (block == NULL)
        return;
    free(block);
    atomic_fetch_sub(&memory->used_bytes, bytes);
}

int hx_memory_failure(const hx_memory *memory)
{
    return memory->over_limit ? HAPAX_ERR_FULL : HAPAX_ERR_MEMORY;
}
