/*
 * entries.c - the occurrences of ids, by number. The picture is in entries.h.
 *
 * The one idea: what is looked at together lies together. An occurrence is 28 bytes in a row, so meeting one costs a
 * cache line or two; only the offsets of a sparse chunk, which are searched, have a column of their own.
 * Invariants: live counts the slots whose state is not DEAD; a chunk other than the tail with live 0 is freed at
 * once; one that is more than half empty is re-packed, so memory stays within twice what is held (and 64 entries a
 * chunk).
 */
#include "core/entries.h"

#include <assert.h>
#include <hapax.h>
#include <string.h>

#define FIRST_CAP 64u
#define BASE_TIME_UNSET INT64_MIN
#define STATE_BITS 3 /* of the state column; the other five are the top of the time */

/* An occurrence as it is stored. All fields are 4-aligned or smaller, so there is no padding but the last byte. */
typedef struct slot {
    uint32_t hash[4]; /* lo, then hi, as they lie in memory */
    uint32_t source;
    uint32_t time_low;
    uint16_t time_mid;
    uint8_t state; /* low 3 bits state and flags, high 5 bits the top of the time */
    uint8_t unused;
} slot;

_Static_assert(sizeof(slot) == 28, "an occurrence takes 28 bytes");

struct hx_chunk {
    uint32_t cap;      /* slots allocated */
    uint32_t len;      /* slots in use, dead ones included */
    uint32_t live;     /* of them not DEAD */
    bool sparse;       /* slots are found by the offset column */
    int64_t base_time; /* of the first occurrence; times are stored as the distance from it */
    uint16_t *offset;  /* sparse only, else NULL; behind the slots */
    slot slots[];
};

static size_t chunk_bytes(uint32_t cap, bool sparse)
{
    return sizeof(hx_chunk) + cap * (sizeof(slot) + (sparse ? sizeof(uint16_t) : 0u));
}

static hx_chunk *chunk_new(hx_memory *memory, uint32_t cap, bool sparse)
{
    hx_chunk *chunk = hx_memory_alloc(memory, chunk_bytes(cap, sparse));
    if (chunk == NULL)
        return NULL;
    chunk->cap = cap;
    chunk->sparse = sparse;
    chunk->base_time = BASE_TIME_UNSET;
    chunk->offset = sparse ? (uint16_t *)&chunk->slots[cap] : NULL;
    return chunk;
}

static void chunk_free(hx_memory *memory, hx_chunk *chunk)
{
    if (chunk != NULL)
        hx_memory_free(memory, chunk, chunk_bytes(chunk->cap, chunk->sparse));
}

static uint8_t state_of(const slot *s)
{
    return s->state & HX_ENTRY_STATE;
}

static hx_hash hash_of(const slot *s)
{
    hx_hash hash;
    memcpy(&hash, s->hash, sizeof s->hash);
    return hash;
}

static int64_t time_of(const hx_chunk *chunk, const slot *s)
{
    uint64_t distance = s->time_low | (uint64_t)s->time_mid << 32 | (uint64_t)(s->state >> STATE_BITS) << 48;
    return chunk->base_time + (int64_t)distance;
}

/* The chunk with room for cap dense slots and the contents of `old` (freed). NULL: no memory, old as it was. */
static hx_chunk *chunk_grow(hx_memory *memory, hx_chunk *old, uint32_t cap)
{
    hx_chunk *chunk = chunk_new(memory, cap, false);
    if (chunk == NULL)
        return NULL;
    memcpy(chunk->slots, old->slots, old->len * sizeof(slot));
    chunk->len = old->len;
    chunk->live = old->live;
    chunk->base_time = old->base_time;
    chunk_free(memory, old);
    return chunk;
}

/* Re-packs the live slots into a sparse chunk of just their number; without memory the old one stays. */
static hx_chunk *chunk_pack(hx_memory *memory, hx_chunk *old)
{
    hx_chunk *chunk = chunk_new(memory, old->live, true);
    if (chunk == NULL)
        return old;
    chunk->base_time = old->base_time;
    for (uint32_t i = 0; i < old->len; i++) {
        if (state_of(&old->slots[i]) == HX_ENTRY_DEAD)
            continue;
        chunk->slots[chunk->len] = old->slots[i];
        chunk->offset[chunk->len] = old->sparse ? old->offset[i] : (uint16_t)i;
        chunk->len++;
    }
    chunk->live = chunk->len;
    chunk_free(memory, old);
    return chunk;
}

void hx_entries_init(hx_entries *entries, hx_memory *memory)
{
    *entries = (hx_entries){.memory = memory, .next_order = 1};
}

void hx_entries_free(hx_entries *entries)
{
    for (size_t i = 0; i < entries->chunks_len; i++)
        chunk_free(entries->memory, entries->chunks[i]);
    hx_memory_free(entries->memory, entries->chunks, entries->chunks_cap * sizeof *entries->chunks);
    *entries = (hx_entries){0};
}

/* The chunk of a range, or NULL. */
static hx_chunk *find_chunk(const hx_entries *entries, uint64_t order)
{
    uint64_t at = order / HX_CHUNK_ENTRIES - entries->first_range; /* wraps to a huge number below the front */
    return at < entries->chunks_len ? entries->chunks[at] : NULL;
}

/* The first slot whose offset in the range is at least `offset`; chunk->len where there is none. */
static uint32_t first_slot_from(const hx_chunk *chunk, uint32_t offset)
{
    if (!chunk->sparse)
        return offset < chunk->len ? offset : chunk->len;
    uint32_t low = 0;
    uint32_t high = chunk->len;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (chunk->offset[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The slot of an order, or NULL where it is not there. */
static slot *find_slot(hx_chunk *chunk, uint64_t order)
{
    uint32_t offset = (uint32_t)(order % HX_CHUNK_ENTRIES);
    uint32_t at = first_slot_from(chunk, offset);
    if (at == chunk->len || (chunk->sparse && chunk->offset[at] != offset))
        return NULL;
    return state_of(&chunk->slots[at]) == HX_ENTRY_DEAD ? NULL : &chunk->slots[at];
}

/* Counts the gone ranges at the front; moves the directory down when half of it is free. */
static void trim_front(hx_entries *entries)
{
    size_t gone = entries->front_gone;
    uint64_t tail_range = entries->next_order / HX_CHUNK_ENTRIES;
    while (gone < entries->chunks_len && entries->chunks[gone] == NULL && entries->first_range + gone < tail_range)
        gone++;
    entries->front_gone = gone;
    if (gone == 0 || gone < entries->chunks_len / 2)
        return;
    memmove(entries->chunks, entries->chunks + gone, (entries->chunks_len - gone) * sizeof *entries->chunks);
    entries->chunks_len -= gone;
    entries->first_range += gone;
    entries->front_gone = 0;
}

static int reserve_directory(hx_entries *entries, size_t len)
{
    if (len <= entries->chunks_cap)
        return HAPAX_OK;
    size_t cap = entries->chunks_cap == 0 ? 8 : entries->chunks_cap;
    while (cap < len)
        cap *= 2;
    hx_chunk **chunks = hx_memory_resize(entries->memory, entries->chunks, entries->chunks_cap * sizeof *chunks,
                                         cap * sizeof *chunks);
    if (chunks == NULL)
        return hx_memory_failure(entries->memory);
    entries->chunks = chunks;
    entries->chunks_cap = cap;
    return HAPAX_OK;
}

/* Makes the chunk of directory place `at` hold slots up to `need`; a first small chunk grows by doubling. */
static int reserve_chunk(hx_entries *entries, size_t at, uint32_t need)
{
    hx_chunk *chunk = entries->chunks[at];
    if (chunk != NULL && chunk->cap >= need)
        return HAPAX_OK;
    bool busy = entries->next_order >= HX_CHUNK_ENTRIES; /* past its first range a domain gets whole chunks */
    uint32_t cap = busy ? HX_CHUNK_ENTRIES : FIRST_CAP;
    while (cap < need)
        cap *= 2;
    hx_chunk *grown =
        chunk == NULL ? chunk_new(entries->memory, cap, false) : chunk_grow(entries->memory, chunk, cap);
    if (grown == NULL)
        return hx_memory_failure(entries->memory);
    entries->chunks[at] = grown;
    return HAPAX_OK;
}

int hx_entries_reserve(hx_entries *entries, size_t n)
{
    if (n == 0)
        return HAPAX_OK;
    if (entries->chunks_len == 0)
        entries->first_range = entries->next_order / HX_CHUNK_ENTRIES;
    uint64_t last = entries->next_order + n - 1;
    size_t len = (size_t)(last / HX_CHUNK_ENTRIES - entries->first_range) + 1;
    int rc = reserve_directory(entries, len);
    if (rc < 0)
        return rc;
    while (entries->chunks_len < len)
        entries->chunks[entries->chunks_len++] = NULL;
    for (uint64_t range = entries->next_order / HX_CHUNK_ENTRIES; range <= last / HX_CHUNK_ENTRIES; range++) {
        bool final = range == last / HX_CHUNK_ENTRIES;
        uint32_t need = final ? (uint32_t)(last % HX_CHUNK_ENTRIES) + 1 : HX_CHUNK_ENTRIES;
        rc = reserve_chunk(entries, (size_t)(range - entries->first_range), need);
        if (rc < 0)
            return rc;
    }
    return HAPAX_OK;
}

/* Frees or re-packs a chunk that is not being filled any more. */
static void settle_chunk(hx_entries *entries, uint64_t order)
{
    uint64_t range = order / HX_CHUNK_ENTRIES;
    if (range >= entries->next_order / HX_CHUNK_ENTRIES)
        return;
    size_t at = (size_t)(range - entries->first_range);
    hx_chunk *chunk = entries->chunks[at];
    if (chunk == NULL)
        return;
    if (chunk->live == 0) {
        chunk_free(entries->memory, chunk);
        entries->chunks[at] = NULL;
        if (at == entries->front_gone)
            trim_front(entries);
    } else if (chunk->live <= chunk->cap / 2) {
        entries->chunks[at] = chunk_pack(entries->memory, chunk);
    }
}

uint64_t hx_entries_append(hx_entries *entries, const hx_entry *entry)
{
    uint64_t order = entries->next_order;
    hx_chunk *chunk = find_chunk(entries, order);
    uint32_t at = (uint32_t)(order % HX_CHUNK_ENTRIES);
    assert(chunk != NULL && !chunk->sparse && at < chunk->cap);
    if (chunk->base_time == BASE_TIME_UNSET)
        chunk->base_time = entry->time_ms;
    uint64_t distance = (uint64_t)(entry->time_ms - chunk->base_time);
    assert(distance >> 53 == 0);
    slot *s = &chunk->slots[at];
    memcpy(s->hash, &entry->hash, sizeof s->hash);
    s->source = entry->source;
    s->time_low = (uint32_t)distance;
    s->time_mid = (uint16_t)(distance >> 32);
    s->state = (uint8_t)(entry->state | (distance >> 48) << STATE_BITS);
    chunk->len = at + 1;
    chunk->live++;
    entries->next_order++;
    if (entries->next_order % HX_CHUNK_ENTRIES == 0)
        settle_chunk(entries, order);
    return order;
}

bool hx_entries_get(const hx_entries *entries, uint64_t order, hx_entry *ret_entry)
{
    hx_chunk *chunk = find_chunk(entries, order);
    const slot *s = chunk == NULL ? NULL : find_slot(chunk, order);
    if (s == NULL)
        return false;
    ret_entry->hash = hash_of(s);
    ret_entry->time_ms = time_of(chunk, s);
    ret_entry->source = s->source;
    ret_entry->state = s->state & ((1u << STATE_BITS) - 1);
    return true;
}

bool hx_entries_is(const hx_entries *entries, uint64_t order, hx_hash hash)
{
    hx_chunk *chunk = find_chunk(entries, order);
    const slot *s = chunk == NULL ? NULL : find_slot(chunk, order);
    return s != NULL && hash_of(s).lo == hash.lo && hash_of(s).hi == hash.hi;
}

void hx_entries_set_state(hx_entries *entries, uint64_t order, uint8_t state)
{
    hx_chunk *chunk = find_chunk(entries, order);
    slot *s = chunk == NULL ? NULL : find_slot(chunk, order);
    assert(s != NULL);
    uint8_t time_top = s->state & (uint8_t)(0xffu << STATE_BITS);
    s->state = time_top | state;
    if ((state & HX_ENTRY_STATE) != HX_ENTRY_DEAD)
        return;
    chunk->live--;
    settle_chunk(entries, order);
}

/* The place of the first live slot from `at` on, or UINT32_MAX. */
static uint32_t next_live(const hx_chunk *chunk, uint32_t at)
{
    for (; at < chunk->len; at++)
        if (state_of(&chunk->slots[at]) != HX_ENTRY_DEAD)
            return at;
    return UINT32_MAX;
}

uint64_t hx_entries_next(const hx_entries *entries, uint64_t from)
{
    uint64_t range = from / HX_CHUNK_ENTRIES;
    uint32_t offset = (uint32_t)(from % HX_CHUNK_ENTRIES);
    if (range < entries->first_range) {
        range = entries->first_range;
        offset = 0;
    }
    for (; range - entries->first_range < entries->chunks_len; range++, offset = 0) {
        const hx_chunk *chunk = entries->chunks[range - entries->first_range];
        if (chunk == NULL)
            continue;
        uint32_t at = next_live(chunk, first_slot_from(chunk, offset));
        if (at != UINT32_MAX)
            return range * HX_CHUNK_ENTRIES + (chunk->sparse ? chunk->offset[at] : at);
    }
    return 0;
}
