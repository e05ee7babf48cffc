/*
 * map.c - a small hash map from a 64-bit hash to a 32-bit number.
 *
 * The one idea: linear probing at most half full; a removal moves later entries of the run back, so there are no
 * tombstones and a map that empties is as fast as a new one. It shrinks when room is
 * asked for, because only then is none promised.
 */
#include "core/map.h"

#include <assert.h>
#include <hapax.h>

#define CAP_MIN 16u

void hx_map_init(hx_map *map, hx_memory *memory)
{
    *map = (hx_map){.memory = memory};
}

void hx_map_free(hx_map *map)
{
    hx_memory_free(map->memory, map->slots, map->cap * sizeof *map->slots);
    map->slots = NULL;
    map->cap = 0;
    map->len = 0;
}

static size_t home(const hx_map *map, uint64_t hash)
{
    return (size_t)((hash * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (map->cap - 1);
}

static void put(hx_map *map, uint64_t hash, uint32_t value)
{
    size_t at = home(map, hash);
    while (map->slots[at].value != HX_MAP_NONE)
        at = (at + 1) & (map->cap - 1);
    map->slots[at] = (hx_map_slot){hash, value};
}

static int resize(hx_map *map, size_t cap)
{
    hx_map_slot *slots = hx_memory_alloc(map->memory, cap * sizeof *slots);
    if (slots == NULL)
        return hx_memory_failure(map->memory);
    for (size_t i = 0; i < cap; i++)
        slots[i].value = HX_MAP_NONE;
    hx_map old = *map;
    map->slots = slots;
    map->cap = cap;
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].value != HX_MAP_NONE)
            put(map, old.slots[i].hash, old.slots[i].value);
    hx_memory_free(map->memory, old.slots, old.cap * sizeof *slots);
    return HAPAX_OK;
}

int hx_map_reserve(hx_map *map, size_t n)
{
    size_t need = map->len + n;
    size_t cap = map->cap == 0 ? CAP_MIN : map->cap;
    while (cap / 2 < need)
        cap *= 2;
    if (cap == map->cap && cap > CAP_MIN && need < cap / 16) {
        (void)resize(map, cap / 2); /* without memory it stays as large as it is */
        return HAPAX_OK;
    }
    return cap == map->cap ? HAPAX_OK : resize(map, cap);
}

uint32_t hx_map_find(const hx_map *map, uint64_t hash, hx_map_is *is, const void *ctx)
{
    if (map->len == 0)
        return HX_MAP_NONE;
    for (size_t at = home(map, hash); map->slots[at].value != HX_MAP_NONE; at = (at + 1) & (map->cap - 1))
        if (map->slots[at].hash == hash && is(ctx, map->slots[at].value))
            return map->slots[at].value;
    return HX_MAP_NONE;
}

void hx_map_put(hx_map *map, uint64_t hash, uint32_t value)
{
    assert(map->len < map->cap / 2 + 1 && value != HX_MAP_NONE);
    put(map, hash, value);
    map->len++;
}

void hx_map_remove(hx_map *map, uint64_t hash, uint32_t value)
{
    size_t mask = map->cap - 1;
    size_t at = home(map, hash);
    while (map->slots[at].hash != hash || map->slots[at].value != value) {
        assert(map->slots[at].value != HX_MAP_NONE);
        at = (at + 1) & mask;
    }
    /* Close the gap: an entry further on moves back unless its home lies between the gap and itself. */
    for (size_t next = (at + 1) & mask; map->slots[next].value != HX_MAP_NONE; next = (next + 1) & mask) {
        size_t distance_from_home = (next - home(map, map->slots[next].hash)) & mask;
        if (distance_from_home >= ((next - at) & mask)) {
            map->slots[at] = map->slots[next];
            at = next;
        }
    }
    map->slots[at].value = HX_MAP_NONE;
    map->len--;
}
