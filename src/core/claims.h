/*
 * claims.h - the claims that are open: messages whose work is not done yet.
 *
 * A claim is found by the hash of its id, and by its handle, which is its place here and how often that place was
 * used:
 *
 *     handle:  63 ... 32  31 ... 0
 *             [ use count | place + 1 ]      0 is no claim
 *
 * Not thread-safe: the domain's lock covers it.
 */
#ifndef HX_CLAIMS_H
#define HX_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/siphash.h"
#include "core/map.h"
#include "core/memory.h"
#include "core/stamps.h"

typedef struct hx_claim {
    hx_hash hash;
    hx_moment moment; /* of its arrival */
    uint64_t seq;     /* of its arrival, see event.h */
    uint32_t source;  /* referenced */
    uint32_t uses;
    uint32_t next_free;
    bool open;
    bool held;   /* an occurrence of the id is held */
    bool marked; /* scratch of a call that checks its handles before it acts */
} hx_claim;

typedef struct hx_claims {
    hx_memory *memory;
    hx_map by_hash;
    hx_claim *items;
    uint32_t cap;
    uint32_t len; /* places ever used */
    uint32_t free_first;
    uint32_t first_use; /* where use counts start: drawn at each open, so that old handles do not fit */
    uint64_t open_count;
    uint64_t unheld_count; /* open claims of which no occurrence is held */
} hx_claims;

void hx_claims_init(hx_claims *claims, hx_memory *memory, uint32_t first_use);
void hx_claims_free(hx_claims *claims);

/* Room for n more. HAPAX_OK or an error. */
int hx_claims_reserve(hx_claims *claims, size_t n);
/* Opens a claim (uses, next_free, open and held are set here) and returns its handle. Room was made before. */
uint64_t hx_claims_open(hx_claims *claims, const hx_claim *claim);
/* The open claim of an id, or NULL. Valid until the next open or close. */
hx_claim *hx_claims_find(const hx_claims *claims, hx_hash hash);
/* The handle of an open claim. */
uint64_t hx_claims_handle(const hx_claims *claims, const hx_claim *claim);
/* The open claim of a handle, or NULL. */
hx_claim *hx_claims_get(const hx_claims *claims, uint64_t handle);
void hx_claims_close(hx_claims *claims, hx_claim *claim);
/* Notes whether an occurrence of the claim's id is held. */
void hx_claims_set_held(hx_claims *claims, hx_claim *claim, bool held);

#endif
