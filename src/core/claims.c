/*
 * claims.c - the claims that are open.
 *
 * The one idea: a handle names a place and a use of it, so a handle that was confirmed or released, or is of another
 * open of the store, is told from an open one without a table of old handles.
 */
#include "core/claims.h"

#include <assert.h>
#include <hapax.h>

#define NONE UINT32_MAX
#define CAP_MIN 16u

void hx_claims_init(hx_claims *claims, hx_memory *memory, uint32_t first_use)
{
    *claims = (hx_claims){.memory = memory, .free_first = NONE, .first_use = first_use};
    hx_map_init(&claims->by_hash, memory);
}

void hx_claims_free(hx_claims *claims)
{
    hx_map_free(&claims->by_hash);
    hx_memory_free(claims->memory, claims->items, claims->cap * sizeof *claims->items);
    *claims = (hx_claims){0};
}

int hx_claims_reserve(hx_claims *claims, size_t n)
{
    int rc = hx_map_reserve(&claims->by_hash, n);
    if (rc < 0)
        return rc;
    size_t need = claims->open_count + n; /* places in use and free ones together are len */
    if (need <= claims->cap)
        return HAPAX_OK;
    size_t cap = claims->cap == 0 ? CAP_MIN : claims->cap;
    while (cap < need)
        cap *= 2;
    if (cap >= NONE)
        return HAPAX_ERR_FULL;
    hx_claim *items =
        hx_memory_resize(claims->memory, claims->items, claims->cap * sizeof *items, cap * sizeof *items);
    if (items == NULL)
        return hx_memory_failure(claims->memory);
    claims->items = items;
    claims->cap = (uint32_t)cap;
    return HAPAX_OK;
}

typedef struct claim_query {
    const hx_claims *claims;
    hx_hash hash;
} claim_query;

static bool is_claim(const void *ctx, uint32_t value)
{
    const claim_query *query = ctx;
    const hx_claim *claim = &query->claims->items[value];
    return claim->hash.lo == query->hash.lo && claim->hash.hi == query->hash.hi;
}

uint64_t hx_claims_open(hx_claims *claims, const hx_claim *claim)
{
    uint32_t at = claims->free_first;
    uint32_t uses = claims->first_use;
    if (at != NONE) {
        claims->free_first = claims->items[at].next_free;
        uses = claims->items[at].uses;
    } else {
        assert(claims->len < claims->cap);
        at = claims->len++;
    }
    claims->items[at] = *claim;
    claims->items[at].uses = uses + 1;
    claims->items[at].open = true;
    claims->items[at].held = true;
    claims->open_count++;
    hx_map_put(&claims->by_hash, claim->hash.lo, at);
    return hx_claims_handle(claims, &claims->items[at]);
}

hx_claim *hx_claims_find(const hx_claims *claims, hx_hash hash)
{
    if (claims->open_count == 0)
        return NULL;
    claim_query query = {claims, hash};
    uint32_t at = hx_map_find(&claims->by_hash, hash.lo, is_claim, &query);
    return at == HX_MAP_NONE ? NULL : &claims->items[at];
}

uint64_t hx_claims_handle(const hx_claims *claims, const hx_claim *claim)
{
    return (uint64_t)claim->uses << 32 | (uint32_t)(claim - claims->items + 1);
}

hx_claim *hx_claims_get(const hx_claims *claims, uint64_t handle)
{
    uint32_t at = (uint32_t)handle - 1;
    if (at >= claims->len)
        return NULL;
    hx_claim *claim = &claims->items[at];
    return claim->open && claim->uses == (uint32_t)(handle >> 32) ? claim : NULL;
}

void hx_claims_close(hx_claims *claims, hx_claim *claim)
{
    hx_claims_set_held(claims, claim, true);
    uint32_t at = (uint32_t)(claim - claims->items);
    hx_map_remove(&claims->by_hash, claim->hash.lo, at);
    claim->open = false;
    claim->next_free = claims->free_first;
    claims->free_first = at;
    claims->open_count--;
}

void hx_claims_set_held(hx_claims *claims, hx_claim *claim, bool held)
{
    if (claim->held == held)
        return;
    claim->held = held;
    if (held)
        claims->unheld_count--;
    else
        claims->unheld_count++;
}
