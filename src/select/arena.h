/*
 * arena.h - memory that is handed out piece by piece and taken back all at once.
 */
#ifndef HX_SELECT_ARENA_H
#define HX_SELECT_ARENA_H

#include <stddef.h>

typedef struct hx_arena_chunk hx_arena_chunk;

typedef struct hx_arena {
    hx_arena_chunk *first, *current; /* zero-initialise */
    size_t used;                     /* bytes of current */
} hx_arena;

/* len bytes, not aligned, that stay where they are until the reset; NULL: no memory. */
unsigned char *hx_arena_take(hx_arena *arena, size_t len);

/* Take all back. Ordinary chunks are kept for the next round, large ones are freed. */
void hx_arena_reset(hx_arena *arena);
void hx_arena_free(hx_arena *arena);

#endif
