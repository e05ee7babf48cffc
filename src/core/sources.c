/*
 * sources.c - the sources of a domain: their names and their windows. The picture is in sources.h.
 *
 * The one idea: the ring holds orders, which are never used twice, so an entry that left the window some other way
 * than by the front needs no search: it is recognised as a gap when it is met.
 * Invariants: live <= ring_len <= ring_cap; live > 0 exactly for the sources in the list by activity.
 */
#include "core/sources.h"

#include <assert.h>
#include <hapax.h>
#include <string.h>

#include "base/siphash.h"

#define RING_CAP_MIN 8u

void hx_sources_init(hx_sources *sources, hx_memory *memory, const unsigned char key[16])
{
    *sources = (hx_sources){
        .memory = memory, .free_first = HX_SOURCE_NONE, .silent = HX_SOURCE_NONE, .busy = HX_SOURCE_NONE};
    memcpy(sources->key, key, sizeof sources->key);
    hx_map_init(&sources->by_name, memory);
}

void hx_sources_free(hx_sources *sources)
{
    for (uint32_t i = 0; i < sources->len; i++) {
        hx_source *source = &sources->items[i];
        hx_memory_free(sources->memory, source->name, (size_t)source->name_len + 1);
        hx_memory_free(sources->memory, source->ring, source->ring_cap * sizeof *source->ring);
    }
    hx_memory_free(sources->memory, sources->items, sources->cap * sizeof *sources->items);
    hx_map_free(&sources->by_name);
    *sources = (hx_sources){0};
}

typedef struct name_query {
    const hx_sources *sources;
    const void *name;
    size_t len;
} name_query;

static bool is_name(const void *ctx, uint32_t value)
{
    const name_query *query = ctx;
    const hx_source *source = &query->sources->items[value];
    return source->name_len == query->len && (query->len == 0 || memcmp(source->name, query->name, query->len) == 0);
}

uint32_t hx_sources_find(const hx_sources *sources, const void *name, size_t len)
{
    name_query query = {sources, name, len};
    return hx_map_find(&sources->by_name, hx_siphash_id(sources->key, name, len).lo, is_name, &query);
}

static int reserve_item(hx_sources *sources)
{
    if (sources->free_first != HX_SOURCE_NONE || sources->len < sources->cap)
        return HAPAX_OK;
    uint32_t cap = sources->cap == 0 ? 4 : sources->cap * 2;
    hx_source *items =
        hx_memory_resize(sources->memory, sources->items, sources->cap * sizeof *items, cap * sizeof *items);
    if (items == NULL)
        return hx_memory_failure(sources->memory);
    sources->items = items;
    sources->cap = cap;
    return HAPAX_OK;
}

static int add(hx_sources *sources, const void *name, size_t len, uint32_t *ret_source)
{
    int rc = hx_map_reserve(&sources->by_name, 1);
    if (rc < 0)
        return rc;
    rc = reserve_item(sources);
    if (rc < 0)
        return rc;
    char *copy = hx_memory_alloc(sources->memory, len + 1);
    if (copy == NULL)
        return hx_memory_failure(sources->memory);
    if (len > 0)
        memcpy(copy, name, len);
    uint32_t at = sources->free_first;
    if (at != HX_SOURCE_NONE)
        sources->free_first = sources->items[at].newer;
    else
        at = sources->len++;
    sources->items[at] = (hx_source){.name = copy,
                                     .name_len = (uint32_t)len,
                                     .name_hash = hx_siphash_id(sources->key, name, len).lo,
                                     .newer = HX_SOURCE_NONE,
                                     .older = HX_SOURCE_NONE};
    hx_map_put(&sources->by_name, sources->items[at].name_hash, at);
    *ret_source = at;
    return HAPAX_OK;
}

int hx_sources_take(hx_sources *sources, const void *name, size_t len, uint32_t *ret_source)
{
    uint32_t source = hx_sources_find(sources, name, len);
    int rc = source != HX_SOURCE_NONE ? HAPAX_OK : add(sources, name, len, &source);
    if (rc < 0)
        return rc;
    sources->items[source].refs++;
    *ret_source = source;
    return HAPAX_OK;
}

static void free_ring(hx_sources *sources, hx_source *source)
{
    hx_memory_free(sources->memory, source->ring, source->ring_cap * sizeof *source->ring);
    source->ring = NULL;
    source->ring_cap = 0;
    source->ring_head = 0;
    source->ring_len = 0;
}

static void drop_unused(hx_sources *sources, uint32_t at)
{
    hx_source *source = &sources->items[at];
    if (source->name == NULL || source->refs > 0 || source->live > 0 || source->pending > 0)
        return;
    hx_map_remove(&sources->by_name, source->name_hash, at);
    hx_memory_free(sources->memory, source->name, (size_t)source->name_len + 1);
    free_ring(sources, source);
    *source = (hx_source){.newer = sources->free_first, .older = HX_SOURCE_NONE};
    sources->free_first = at;
}

void hx_sources_ref(hx_sources *sources, uint32_t source)
{
    if (source != HX_SOURCE_NONE)
        sources->items[source].refs++;
}

void hx_sources_unref(hx_sources *sources, uint32_t source)
{
    if (source == HX_SOURCE_NONE)
        return;
    assert(sources->items[source].refs > 0);
    sources->items[source].refs--;
    drop_unused(sources, source);
}

static bool in_window(const hx_entries *entries, uint64_t order)
{
    hx_entry entry;
    return hx_entries_get(entries, order, &entry) && (entry.state & HX_ENTRY_STATE) == HX_ENTRY_IN_WINDOW;
}

/* Copies the ring without its gaps to `to`, a block of its own. Returns the length. */
static uint32_t ring_pack(const hx_entries *entries, const hx_source *source, uint64_t *to)
{
    uint32_t len = 0;
    for (uint32_t i = 0; i < source->ring_len; i++) {
        uint64_t order = source->ring[(source->ring_head + i) & (source->ring_cap - 1)];
        if (in_window(entries, order))
            to[len++] = order;
    }
    return len;
}

/* Takes the gaps out of a full ring where it stands: the entries behind a gap move up. */
static void ring_close_gaps(const hx_entries *entries, hx_source *source)
{
    uint32_t mask = source->ring_cap - 1;
    uint32_t len = 0;
    for (uint32_t i = 0; i < source->ring_len; i++) {
        uint64_t order = source->ring[(source->ring_head + i) & mask];
        if (in_window(entries, order))
            source->ring[(source->ring_head + len++) & mask] = order;
    }
    source->ring_len = len;
}

int hx_sources_reserve_place(hx_sources *sources, const hx_entries *entries, uint32_t at, uint32_t window)
{
    hx_source *source = &sources->items[at];
    if (source->pending > window)
        return HAPAX_OK; /* the window cannot take more at once */
    uint32_t need = source->live + source->pending + 1;
    if (need > window + 1)
        need = window + 1;
    need += need / 4 + 1; /* so that gaps are not closed all the time */
    if (need > source->ring_cap) {
        uint32_t cap = RING_CAP_MIN;
        while (cap < need)
            cap *= 2;
        uint64_t *ring = hx_memory_alloc(sources->memory, cap * sizeof *ring);
        if (ring == NULL)
            return hx_memory_failure(sources->memory);
        uint32_t len = ring_pack(entries, source, ring);
        free_ring(sources, source);
        source->ring = ring;
        source->ring_cap = cap;
        source->ring_len = len;
    }
    source->pending++;
    return HAPAX_OK;
}

void hx_sources_settle(hx_sources *sources, uint32_t at)
{
    if (at == HX_SOURCE_NONE)
        return;
    hx_source *source = &sources->items[at];
    source->pending = 0;
    if (source->live == 0)
        free_ring(sources, source);
    drop_unused(sources, at);
}

static void list_remove(hx_sources *sources, uint32_t at)
{
    hx_source *source = &sources->items[at];
    if (source->older != HX_SOURCE_NONE)
        sources->items[source->older].newer = source->newer;
    else
        sources->silent = source->newer;
    if (source->newer != HX_SOURCE_NONE)
        sources->items[source->newer].older = source->older;
    else
        sources->busy = source->older;
    source->newer = HX_SOURCE_NONE;
    source->older = HX_SOURCE_NONE;
}

static void list_append(hx_sources *sources, uint32_t at)
{
    hx_source *source = &sources->items[at];
    source->older = sources->busy;
    source->newer = HX_SOURCE_NONE;
    if (sources->busy != HX_SOURCE_NONE)
        sources->items[sources->busy].newer = at;
    else
        sources->silent = at;
    sources->busy = at;
}

void hx_sources_push(hx_sources *sources, const hx_entries *entries, uint32_t at, uint64_t order, int64_t activity_ms)
{
    hx_source *source = &sources->items[at];
    if (source->ring_len == source->ring_cap)
        ring_close_gaps(entries, source);
    assert(source->ring_len < source->ring_cap);
    source->ring[(source->ring_head + source->ring_len) & (source->ring_cap - 1)] = order;
    source->ring_len++;
    source->activity_ms = activity_ms;
    if (source->live++ == 0) {
        sources->with_window++;
        list_append(sources, at);
    } else if (sources->busy != at) {
        list_remove(sources, at);
        list_append(sources, at);
    }
}

uint64_t hx_sources_pop(hx_sources *sources, const hx_entries *entries, uint32_t at, hx_entry *ret_entry)
{
    hx_source *source = &sources->items[at];
    for (;;) {
        assert(source->ring_len > 0);
        uint64_t order = source->ring[source->ring_head];
        source->ring_head = (source->ring_head + 1) & (source->ring_cap - 1);
        source->ring_len--;
        if (hx_entries_get(entries, order, ret_entry) && (ret_entry->state & HX_ENTRY_STATE) == HX_ENTRY_IN_WINDOW)
            return order;
    }
}

void hx_sources_left(hx_sources *sources, uint32_t at)
{
    hx_source *source = &sources->items[at];
    assert(source->live > 0);
    if (--source->live > 0)
        return;
    sources->with_window--;
    list_remove(sources, at);
    source->ring_len = 0;
    source->ring_head = 0;
    if (source->pending == 0)
        free_ring(sources, source);
}
