/*
 * confirm.c - the end of claims: hapax_confirm, hapax_release, and the release of what is open at a clean close.
 *
 * The one idea: a claim is logged only here, its arrival and its end together, so a claim that never ends leaves no
 * trace. A confirm waits for the disk, a release need not: forgetting is what a crash does anyway.
 */
#include <stdlib.h>

#include "core/fail.h"
#include "core/store.h"

#define CLOSE_STEP 1000 /* claims released at once by a close */

/* Checks that n handles are open, each named once. */
static int check_handles(hapax_domain *domain, const uint64_t *handles, size_t n, hapax_error *ret_error)
{
    hx_claims *claims = &domain->window.claims;
    size_t good = 0;
    for (; good < n; good++) {
        hx_claim *claim = hx_claims_get(claims, handles[good]);
        if (claim == NULL || claim->marked)
            break;
        claim->marked = true;
    }
    for (size_t i = 0; i < good; i++)
        hx_claims_get(claims, handles[i])->marked = false;
    if (good == n)
        return HAPAX_OK;
    (void)hx_fail(ret_error, HAPAX_ERR_NOT_FOUND, "claim %zu of %zu is not open", good, n);
    if (ret_error != NULL)
        ret_error->index = good;
    return HAPAX_ERR_NOT_FOUND;
}

/* Stages the arrival of a claim and what ended it. */
static void add_end(hapax_domain *domain, const hx_claim *claim, uint8_t type, uint64_t seq, const hx_moment *moment)
{
    uint8_t flags = domain->window.stamps.given_times ? HX_EVENT_GIVEN_TIME : 0;
    hx_event *event = &domain->events[domain->events_len];
    event[0] = (hx_event){.type = HX_EVENT_CLAIM,
                          .flags = flags,
                          .domain = domain->number,
                          .source = domain->window.sources.items[claim->source].log_number,
                          .seq = claim->seq,
                          .time_ms = claim->moment.time_ms,
                          .activity_ms = claim->moment.activity_ms,
                          .wall_ms = claim->moment.wall_ms,
                          .hash = claim->hash};
    event[1] = event[0];
    event[1].type = type;
    event[1].seq = seq;
    event[1].claim_seq = claim->seq;
    event[1].time_ms = moment->time_ms;
    event[1].activity_ms = moment->activity_ms;
    event[1].wall_ms = moment->wall_ms;
    domain->events_len += 2;
}

static void confirm_one(hapax_domain *domain, hx_claim *claim, const hx_moment *moment)
{
    hx_window *window = &domain->window;
    bool too_old;
    add_end(domain, claim, HX_EVENT_CONFIRM, domain->next_seq++, moment);
    if (hx_window_find(window, claim->hash, moment->age_ms, &too_old) == 0)
        (void)hx_window_arrive(window, claim->hash, claim->source, moment, 0);
    uint32_t source = claim->source;
    hx_claims_close(&window->claims, claim);
    hx_sources_unref(&window->sources, source);
}

static void release_one(hapax_domain *domain, hx_claim *claim, const hx_moment *moment)
{
    hx_window *window = &domain->window;
    add_end(domain, claim, HX_EVENT_RELEASE, domain->next_seq++, moment);
    hx_hash hash = claim->hash;
    uint32_t source = claim->source;
    hx_window_forget(window, hash);
    hx_claims_close(&window->claims, claim);
    hx_sources_unref(&window->sources, source);
}

/* The time of a confirm: given, else the activity clock, or in a domain with given times its last one. */
static int confirm_time(const hapax_domain *domain, int64_t time_ms, hx_moment *moment, hapax_error *ret_error)
{
    const hx_window *window = &domain->window;
    bool given = time_ms != HAPAX_NOW;
    if (given && !window->stamps.given_times)
        return hx_fail(ret_error, HAPAX_ERR_TIME_MODE, "a time is given, but the domain runs on its activity clock");
    if (given && (time_ms < -HAPAX_TIME_MAX_MS || time_ms > HAPAX_TIME_MAX_MS))
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "the time is out of range");
    if (given)
        moment->time_ms = time_ms;
    else if (window->stamps.given_times)
        moment->time_ms = window->last_ms;
    if (window->has_last && window->last_ms > moment->time_ms)
        moment->time_ms = window->last_ms;
    return HAPAX_OK;
}

/* Makes room for what confirming may append, and holds the sources of the claims. */
static int prepare_confirm(hapax_domain *domain, const uint64_t *handles, size_t n, hapax_error *ret_error)
{
    hx_window *window = &domain->window;
    int rc = hx_window_reserve(window, n);
    for (size_t i = 0; i < n && rc == HAPAX_OK; i++) {
        uint32_t source = hx_claims_get(&window->claims, handles[i])->source;
        if (i == 0 || domain->prepared[i - 1].source != source)
            hx_sources_ref(&window->sources, source);
        domain->prepared[i].source = source;
        rc = hx_window_reserve_source(window, source);
    }
    if (rc < 0)
        return hx_fail(ret_error, rc, "no memory to confirm %zu claims", n);
    return hx_wal_reserve_end(&domain->store->wal, &(hx_wal_room){2 * n, 0}, ret_error);
}

static int confirm_all(hapax_domain *domain, const uint64_t *handles, size_t n, int64_t time_ms,
                       uint64_t *ret_position, hapax_error *ret_error)
{
    hx_moment moment = hx_domain_moment(domain);
    int rc = hx_wal_failed(&domain->store->wal, ret_error);
    if (rc == HAPAX_OK)
        rc = check_handles(domain, handles, n, ret_error);
    if (rc == HAPAX_OK)
        rc = confirm_time(domain, time_ms, &moment, ret_error);
    if (rc == HAPAX_OK && hx_domain_reserve_scratch(domain, n) < 0)
        rc = hx_fail(ret_error, HAPAX_ERR_MEMORY, "no memory to confirm %zu claims", n);
    if (rc < 0)
        return rc;
    rc = prepare_confirm(domain, handles, n, ret_error);
    if (rc == HAPAX_OK) {
        for (size_t i = 0; i < n; i++)
            confirm_one(domain, hx_claims_get(&domain->window.claims, handles[i]), &moment);
        *ret_position =
            hx_wal_append(&domain->store->wal, &(hx_wal_room){2 * n, 0}, domain->events, domain->events_len, NULL);
        domain->events_len = 0;
        hx_wal_unpromise(&domain->store->wal, 2 * n);
    }
    hx_domain_settle_sources(domain, n);
    return rc;
}

static int check_call(const hapax_domain *domain, const uint64_t *handles, size_t n, hapax_error *ret_error)
{
    if (domain == NULL || (n > 0 && handles == NULL))
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "a domain and claims are needed");
    if (n > HAPAX_BATCH_MAX)
        return hx_fail(ret_error, HAPAX_ERR_TOO_LONG, "%zu claims in a call; at most %d are taken", n,
                       HAPAX_BATCH_MAX);
    return HAPAX_OK;
}

int hapax_confirm(hapax_domain *domain, const uint64_t *claims, size_t n, int64_t time_ms, hapax_error *ret_error)
{
    int rc = check_call(domain, claims, n, ret_error);
    if (rc < 0 || n == 0)
        return rc;
    uint64_t position = 0;
    pthread_mutex_lock(&domain->lock);
    rc = confirm_all(domain, claims, n, time_ms, &position, ret_error);
    pthread_mutex_unlock(&domain->lock);
    return rc < 0 ? rc : hx_wal_finish(&domain->store->wal, position, ret_error);
}

static int release_all(hapax_domain *domain, const uint64_t *handles, size_t n, hapax_error *ret_error)
{
    int rc = hx_wal_failed(&domain->store->wal, ret_error);
    if (rc == HAPAX_OK)
        rc = check_handles(domain, handles, n, ret_error);
    if (rc < 0)
        return rc;
    if (hx_domain_reserve_scratch(domain, n) < 0)
        return hx_fail(ret_error, HAPAX_ERR_MEMORY, "no memory to release %zu claims", n);
    hx_wal_room room = {2 * n, 0};
    rc = hx_wal_reserve_end(&domain->store->wal, &room, ret_error);
    bool logged = rc == HAPAX_OK;
    if (rc < 0 && rc != HAPAX_ERR_FULL)
        return rc;
    hx_moment moment = hx_domain_moment(domain);
    if (domain->window.stamps.given_times)
        moment.time_ms = domain->window.last_ms; /* the activity clock means nothing here */
    for (size_t i = 0; i < n; i++)
        release_one(domain, hx_claims_get(&domain->window.claims, handles[i]), &moment);
    /* Without room a release leaves no trace: forgetting needs none, and what the claim had pushed out comes back. */
    if (logged)
        (void)hx_wal_append(&domain->store->wal, &room, domain->events, domain->events_len, NULL);
    domain->events_len = 0;
    hx_wal_unpromise(&domain->store->wal, 2 * n);
    return HAPAX_OK;
}

int hapax_release(hapax_domain *domain, const uint64_t *claims, size_t n, hapax_error *ret_error)
{
    int rc = check_call(domain, claims, n, ret_error);
    if (rc < 0 || n == 0)
        return rc;
    pthread_mutex_lock(&domain->lock);
    rc = release_all(domain, claims, n, ret_error);
    pthread_mutex_unlock(&domain->lock);
    return rc < 0 ? rc : hx_wal_finish(&domain->store->wal, 0, ret_error);
}

int hx_domain_close_claims(hapax_domain *domain, hapax_error *ret_error)
{
    hx_claims *claims = &domain->window.claims;
    uint64_t handles[CLOSE_STEP];
    int rc = HAPAX_OK;
    for (uint32_t at = 0; at < claims->len && rc == HAPAX_OK;) {
        size_t n = 0;
        for (; at < claims->len && n < CLOSE_STEP; at++)
            if (claims->items[at].open)
                handles[n++] = hx_claims_handle(claims, &claims->items[at]);
        rc = release_all(domain, handles, n, ret_error);
        if (rc == HAPAX_OK)
            rc = hx_wal_commit(&domain->store->wal, UINT64_MAX, ret_error);
    }
    return rc;
}
