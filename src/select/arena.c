/*
 * arena.c - memory for the values of one block of records.
 *
 *     first -> chunk 64 KiB -> chunk 64 KiB -> chunk of one large value -> NULL
 *                              ^ current, `used` bytes of it
 *
 * Pieces never move, so pointers into them hold until the reset. A value above the chunk size gets a chunk of its
 * own, which goes at the reset: one long record does not hold its memory for the rest of the run.
 */
#include "select/arena.h"

#include <stdlib.h>

#define CHUNK_LEN ((size_t)64 * 1024)

struct hx_arena_chunk {
    hx_arena_chunk *next;
    size_t cap;
    unsigned char data[];
};

static hx_arena_chunk *new_chunk(size_t len)
{
    size_t cap = len < CHUNK_LEN ? CHUNK_LEN : len, bytes;
    if (__builtin_add_overflow(cap, sizeof(hx_arena_chunk), &bytes))
        return NULL;
    hx_arena_chunk *chunk = malloc(bytes);
    if (chunk != NULL) {
        chunk->next = NULL;
        chunk->cap = cap;
    }
    return chunk;
}

unsigned char *hx_arena_take(hx_arena *arena, size_t len)
{
    hx_arena_chunk *chunk = arena->current;
    if (chunk == NULL || chunk->cap - arena->used < len) {
        hx_arena_chunk **place = chunk == NULL ? &arena->first : &chunk->next;
        if (*place == NULL || (*place)->cap < len) {
            hx_arena_chunk *added = new_chunk(len);
            if (added == NULL)
                return NULL;
            added->next = *place;
            *place = added;
        }
        chunk = *place;
        arena->current = chunk;
        arena->used = 0;
    }
    unsigned char *data = chunk->data + arena->used;
    arena->used += len;
    return data;
}

void hx_arena_reset(hx_arena *arena)
{
    for (hx_arena_chunk **place = &arena->first; *place != NULL;) {
        hx_arena_chunk *chunk = *place;
        if (chunk->cap > CHUNK_LEN) {
            *place = chunk->next;
            free(chunk);
        } else {
            place = &chunk->next;
        }
    }
    arena->current = NULL;
    arena->used = 0;
}

void hx_arena_free(hx_arena *arena)
{
    while (arena->first != NULL) {
        hx_arena_chunk *chunk = arena->first;
        arena->first = chunk->next;
        free(chunk);
    }
    arena->current = NULL;
    arena->used = 0;
}
