/*
 * older.c - the ids of which more than one occurrence is held. The picture is in older.h.
 *
 * The one idea: two maps over one pool of nodes. An occurrence is found by its id and source, and the occurrences of
 * an id are chained by age, so that neither renewing nor forgetting has to walk them.
 */
#include "core/older.h"

#include <assert.h>
#include <hapax.h>

#define NONE UINT32_MAX
#define POOL_MIN 16u

struct hx_older_node {
    hx_hash hash;
    uint64_t order;
    uint32_t source;
    uint32_t older, newer; /* neighbours of the same id; `newer` chains the free ones */
    bool in_window;
};

struct hx_older_id {
    hx_hash hash;
    uint32_t oldest, latest; /* nodes; `oldest` chains the free ones */
    uint32_t queued;         /* the node in the time queue, or NONE */
    uint32_t windows;        /* nodes in a window */
};

void hx_older_init(hx_older *older, hx_memory *memory)
{
    *older = (hx_older){.memory = memory, .nodes_free = NONE, .ids_free = NONE};
    hx_map_init(&older->by_hash, memory);
    hx_map_init(&older->by_window, memory);
}

void hx_older_free(hx_older *older)
{
    hx_map_free(&older->by_hash);
    hx_map_free(&older->by_window);
    hx_memory_free(older->memory, older->nodes, older->nodes_cap * sizeof *older->nodes);
    hx_memory_free(older->memory, older->ids, older->ids_cap * sizeof *older->ids);
    *older = (hx_older){0};
}

typedef struct query {
    const hx_older *older;
    hx_hash hash;
    uint32_t source;
} query;

static bool same_hash(hx_hash a, hx_hash b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

static bool is_queried_id(const void *ctx, uint32_t value)
{
    const query *q = ctx;
    return same_hash(q->older->ids[value].hash, q->hash);
}

static bool is_queried_node(const void *ctx, uint32_t value)
{
    const query *q = ctx;
    const hx_older_node *node = &q->older->nodes[value];
    return node->source == q->source && same_hash(node->hash, q->hash);
}

static uint64_t window_key(hx_hash hash, uint32_t source)
{
    return hash.hi + source * UINT64_C(0xD6E8FEB86659FD93);
}

static uint32_t find_id(const hx_older *older, hx_hash hash)
{
    query q = {older, hash, 0};
    return hx_map_find(&older->by_hash, hash.lo, is_queried_id, &q);
}

static uint32_t find_in_window(const hx_older *older, hx_hash hash, uint32_t source)
{
    query q = {older, hash, source};
    return hx_map_find(&older->by_window, window_key(hash, source), is_queried_node, &q);
}

static int reserve_nodes(hx_older *older, size_t n)
{
    size_t used = older->by_window.len + older->by_hash.len; /* at most one queued node an id */
    if (used + n <= older->nodes_cap)
        return HAPAX_OK;
    size_t cap = older->nodes_cap == 0 ? POOL_MIN : older->nodes_cap;
    while (cap < used + n)
        cap *= 2;
    hx_older_node *nodes =
        hx_memory_resize(older->memory, older->nodes, older->nodes_cap * sizeof *nodes, cap * sizeof *nodes);
    if (nodes == NULL)
        return hx_memory_failure(older->memory);
    older->nodes = nodes;
    while (older->nodes_cap < cap) {
        nodes[older->nodes_cap].newer = older->nodes_free;
        older->nodes_free = older->nodes_cap++;
    }
    return HAPAX_OK;
}

static int reserve_ids(hx_older *older, size_t n)
{
    size_t used = older->by_hash.len;
    if (used + n <= older->ids_cap)
        return HAPAX_OK;
    size_t cap = older->ids_cap == 0 ? POOL_MIN : older->ids_cap;
    while (cap < used + n)
        cap *= 2;
    hx_older_id *ids = hx_memory_resize(older->memory, older->ids, older->ids_cap * sizeof *ids, cap * sizeof *ids);
    if (ids == NULL)
        return hx_memory_failure(older->memory);
    older->ids = ids;
    while (older->ids_cap < cap) {
        ids[older->ids_cap].oldest = older->ids_free;
        older->ids_free = older->ids_cap++;
    }
    return HAPAX_OK;
}

int hx_older_reserve(hx_older *older, size_t n)
{
    int rc = hx_map_reserve(&older->by_hash, n);
    if (rc < 0)
        return rc;
    rc = hx_map_reserve(&older->by_window, n);
    if (rc < 0)
        return rc;
    rc = reserve_ids(older, n);
    if (rc < 0)
        return rc;
    return reserve_nodes(older, n);
}

static uint32_t make_id(hx_older *older, hx_hash hash)
{
    uint32_t at = older->ids_free;
    assert(at != NONE);
    older->ids_free = older->ids[at].oldest;
    older->ids[at] = (hx_older_id){.hash = hash, .oldest = NONE, .latest = NONE, .queued = NONE};
    hx_map_put(&older->by_hash, hash.lo, at);
    return at;
}

void hx_older_add(hx_older *older, hx_hash hash, uint64_t order, uint32_t source, bool in_window)
{
    uint32_t id_at = find_id(older, hash);
    if (id_at == HX_MAP_NONE)
        id_at = make_id(older, hash);
    hx_older_id *id = &older->ids[id_at];
    uint32_t at = older->nodes_free;
    assert(at != NONE);
    hx_older_node *node = &older->nodes[at];
    older->nodes_free = node->newer;
    *node = (hx_older_node){hash, order, source, id->latest, NONE, in_window};
    if (id->latest != NONE)
        older->nodes[id->latest].newer = at;
    else
        id->oldest = at;
    id->latest = at;
    if (in_window) {
        hx_map_put(&older->by_window, window_key(hash, source), at);
        id->windows++;
    } else {
        assert(id->queued == NONE);
        id->queued = at;
    }
}

void hx_older_to_queue(hx_older *older, hx_hash hash, uint32_t source)
{
    hx_older_id *id = &older->ids[find_id(older, hash)];
    uint32_t at = find_in_window(older, hash, source);
    assert(at != HX_MAP_NONE && id->queued == NONE);
    hx_map_remove(&older->by_window, window_key(hash, source), at);
    older->nodes[at].in_window = false;
    id->windows--;
    id->queued = at;
}

/* Takes a node out of everything; true when its id has no more. */
static bool remove_node(hx_older *older, uint32_t id_at, uint32_t at)
{
    hx_older_id *id = &older->ids[id_at];
    hx_older_node *node = &older->nodes[at];
    if (node->in_window) {
        hx_map_remove(&older->by_window, window_key(node->hash, node->source), at);
        id->windows--;
    } else {
        id->queued = NONE;
    }
    if (node->older != NONE)
        older->nodes[node->older].newer = node->newer;
    else
        id->oldest = node->newer;
    if (node->newer != NONE)
        older->nodes[node->newer].older = node->older;
    else
        id->latest = node->older;
    node->newer = older->nodes_free;
    older->nodes_free = at;
    if (id->oldest != NONE)
        return false;
    hx_map_remove(&older->by_hash, id->hash.lo, id_at);
    id->oldest = older->ids_free;
    older->ids_free = id_at;
    return true;
}

bool hx_older_remove(hx_older *older, hx_hash hash, uint32_t source, bool in_window)
{
    uint32_t id_at = find_id(older, hash);
    assert(id_at != HX_MAP_NONE);
    uint32_t at = in_window ? find_in_window(older, hash, source) : older->ids[id_at].queued;
    assert(at != NONE);
    return remove_node(older, id_at, at);
}

uint64_t hx_older_take_latest(hx_older *older, hx_hash hash, bool *ret_last)
{
    uint32_t id_at = find_id(older, hash);
    assert(id_at != HX_MAP_NONE);
    uint32_t at = older->ids[id_at].latest;
    uint64_t order = older->nodes[at].order;
    *ret_last = remove_node(older, id_at, at);
    return order;
}

uint64_t hx_older_in_window(const hx_older *older, hx_hash hash, uint32_t source)
{
    uint32_t at = find_in_window(older, hash, source);
    return at == HX_MAP_NONE ? 0 : older->nodes[at].order;
}

uint64_t hx_older_in_queue(const hx_older *older, hx_hash hash)
{
    uint32_t id_at = find_id(older, hash);
    if (id_at == HX_MAP_NONE || older->ids[id_at].queued == NONE)
        return 0;
    return older->nodes[older->ids[id_at].queued].order;
}

void hx_older_each(const hx_older *older, hx_hash hash, bool (*visit)(void *arg, uint64_t order), void *arg)
{
    uint32_t id_at = find_id(older, hash);
    if (id_at == HX_MAP_NONE)
        return;
    for (uint32_t at = older->ids[id_at].oldest; at != NONE; at = older->nodes[at].newer)
        if (!visit(arg, older->nodes[at].order))
            return;
}

uint32_t hx_older_windows(const hx_older *older, hx_hash hash)
{
    uint32_t id_at = find_id(older, hash);
    return id_at == HX_MAP_NONE ? 0 : older->ids[id_at].windows;
}
