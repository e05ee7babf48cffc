/*
 * map.h - a small hash map from a 64-bit hash to a 32-bit number, for the tables beside the index: sources by name,
 * open claims and shared ids by hash. Several entries may have the same hash; the caller tells them apart.
 *
 * Not thread-safe: the domain's lock covers it.
 */
#ifndef HX_MAP_H
#define HX_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/memory.h"

#define HX_MAP_NONE UINT32_MAX

typedef struct hx_map_slot {
    uint64_t hash;
    uint32_t value; /* HX_MAP_NONE: free */
} hx_map_slot;

typedef struct hx_map {
    hx_memory *memory;
    hx_map_slot *slots;
    size_t cap; /* a power of two, or 0 */
    size_t len;
} hx_map;

/* True where `value` is the one that is looked for. */
typedef bool hx_map_is(const void *ctx, uint32_t value);

void hx_map_init(hx_map *map, hx_memory *memory);
void hx_map_free(hx_map *map);
/* Room for n more entries, so that n puts cannot fail. HAPAX_OK or an error. */
int hx_map_reserve(hx_map *map, size_t n);
/* The value, or HX_MAP_NONE. */
uint32_t hx_map_find(const hx_map *map, uint64_t hash, hx_map_is *is, const void *ctx);
void hx_map_put(hx_map *map, uint64_t hash, uint32_t value);
/* Removes the entry with this hash and value; it must be there. */
void hx_map_remove(hx_map *map, uint64_t hash, uint32_t value);

#endif
