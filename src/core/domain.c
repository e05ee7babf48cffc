/*
 * domain.c - a domain as a thing: making it, its clock, its sources, opening it by name.
 *
 * The one idea: the receive time of the activity clock is the domain's last receive time as of the opening, plus what
 * the monotonic clock has run since: so neither downtime nor a stepped wall clock ages an id.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/store.h"

/* A lock that its holder may take again: the visitor of hapax_dump asks for names. */
static int init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    int rc = pthread_mutexattr_init(&attributes);
    if (rc != 0)
        return rc;
    rc = pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    if (rc == 0)
        rc = pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return rc;
}

hapax_domain *hx_domain_new(hapax_store *store, uint32_t number, const char *name, size_t name_len,
                            const hx_settings *settings, hapax_error *ret_error)
{
    uint32_t first_use = 0;
    int rc = store->os->entropy(store->os->ctx, &first_use, sizeof first_use);
    hapax_domain *domain = calloc(1, sizeof *domain);
    char *copy = malloc(name_len + 1);
    if (rc < 0 || domain == NULL || copy == NULL || init_lock(&domain->lock) != 0) {
        free(copy);
        free(domain);
        (void)(rc < 0 ? hx_fail_os(ret_error, rc, "cannot read", "entropy")
                      : hx_fail(ret_error, HAPAX_ERR_MEMORY, "no memory for a domain"));
        return NULL;
    }
    memcpy(copy, name, name_len);
    copy[name_len] = '\0';
    domain->store = store;
    domain->number = number;
    domain->name = copy;
    domain->name_len = name_len;
    domain->next_seq = 1;
    domain->next_log_number = 1;
    hx_memory_init(&domain->memory, &store->memory, UINT64_MAX);
    hx_window_init(&domain->window, &domain->memory, settings, store->superblock.key, first_use);
    hx_domain_start_clock(domain);
    return domain;
}

void hx_domain_free(hapax_domain *domain)
{
    if (domain == NULL)
        return;
    hx_window_free(&domain->window);
    pthread_mutex_destroy(&domain->lock);
    free(domain->prepared);
    free(domain->events);
    free(domain->receipts);
    free(domain->name);
    free(domain);
}

void hx_domain_start_clock(hapax_domain *domain)
{
    domain->time_base_ms = domain->window.has_last ? domain->window.last_ms : 0;
    domain->monotonic_base_ms = hx_clock_monotonic(&domain->store->clock);
}

hx_moment hx_domain_moment(const hapax_domain *domain)
{
    const hx_clock *clock = &domain->store->clock;
    int64_t activity_ms = hx_clock_activity(clock);
    return (hx_moment){
        .time_ms = domain->time_base_ms + (hx_clock_monotonic(clock) - domain->monotonic_base_ms),
        .activity_ms = activity_ms,
        .age_ms = activity_ms + clock->downtime_ms,
        .wall_ms = hx_clock_wall(clock),
    };
}

void hx_domain_set_time_mode(hapax_domain *domain, bool given)
{
    domain->window.has_time_mode = true;
    domain->window.stamps.given_times = given;
}

int hx_domain_reserve_scratch(hapax_domain *domain, size_t n)
{
    if (n > domain->prepared_cap) {
        hx_prepared *prepared = realloc(domain->prepared, n * sizeof *prepared);
        if (prepared == NULL)
            return HAPAX_ERR_MEMORY;
        domain->prepared = prepared;
        domain->prepared_cap = n;
    }
    if (n > domain->receipts_cap) {
        uint32_t *receipts = realloc(domain->receipts, n * sizeof *receipts);
        if (receipts == NULL)
            return HAPAX_ERR_MEMORY;
        domain->receipts = receipts;
        domain->receipts_cap = n;
    }
    size_t events = 2 * n + 2; /* per message a source name and an arrival; silent sources; counts */
    if (events > domain->events_cap) {
        hx_event *grown = realloc(domain->events, events * sizeof *grown);
        if (grown == NULL)
            return HAPAX_ERR_MEMORY;
        domain->events = grown;
        domain->events_cap = events;
    }
    for (size_t i = 0; i < n; i++)
        domain->prepared[i].source = HX_SOURCE_NONE;
    return HAPAX_OK;
}

void hx_domain_settle_sources(hapax_domain *domain, size_t n)
{
    hx_sources *sources = &domain->window.sources;
    uint32_t last = HX_SOURCE_NONE; /* a run of the same source has one reference */
    for (size_t i = 0; i < n; i++) {
        uint32_t source = domain->prepared[i].source;
        if (source == HX_SOURCE_NONE || source == last)
            continue;
        hx_sources_settle(sources, source);
        hx_sources_unref(sources, source);
        last = source;
    }
}

/* Stages the DOMAIN event and waits for it. */
static int log_domain(hapax_domain *domain, const hx_settings *settings, hapax_error *ret_error)
{
    hapax_store *store = domain->store;
    hx_buf blob = {0};
    if (hx_buf_reserve(&blob, HX_DOMAIN_BLOB_MAX) < 0)
        return hx_fail(ret_error, HAPAX_ERR_MEMORY, "no memory for a domain");
    hx_event_write_domain(&blob, settings, domain->name, domain->name_len);
    hx_wal_room room = {1, blob.len};
    int rc = hx_wal_reserve(&store->wal, &room, 0, ret_error);
    if (rc < 0) {
        hx_buf_free(&blob);
        return rc;
    }
    hx_event event = {.type = HX_EVENT_DOMAIN, .domain = domain->number};
    event.blob.data = blob.data;
    event.blob.len = blob.len;
    uint64_t position = hx_wal_append(&store->wal, &room, &event, 1, NULL);
    return hx_wal_finish(&store->wal, position, ret_error);
}

static int differ(const hx_settings *in_force, const hx_settings *asked, const char *why, const hapax_domain *domain,
                  hapax_error *ret_error)
{
    const char *name = "";
    int64_t now = 0;
    int64_t want = 0;
    (void)hx_settings_differ(in_force, asked, &name, &now, &want);
    return hx_fail(ret_error, HAPAX_ERR_SETTINGS, "domain '%.*s': %s is %" PRId64 ", asked for %" PRId64 ": %s",
                   (int)(domain->name_len > 128 ? 128 : domain->name_len), domain->name, name, now, want, why);
}

/* Applies settings to a domain that was stored. Its lock is held. */
static int change_settings(hapax_domain *domain, const hx_settings *settings, unsigned changed, bool allow_push,
                           hapax_error *ret_error)
{
    hx_moment moment = hx_domain_moment(domain);
    if (!allow_push && hx_window_settings_push(&domain->window, settings, moment.age_ms, moment.activity_ms))
        return differ(&domain->window.settings, settings, "that would push ids out; allow it with change_settings",
                      domain, ret_error);
    int rc = log_domain(domain, settings, ret_error);
    if (rc < 0)
        return rc;
    hx_window_set(&domain->window, settings);
    domain->changed = changed;
    return HAPAX_OK;
}

/* Opens a domain that is there. The store's lock is held. */
static int open_existing(hapax_domain *domain, const hapax_domain_options *options, hapax_error *ret_error)
{
    hx_settings settings;
    unsigned changed;
    pthread_mutex_lock(&domain->lock);
    int rc = hx_settings_merge(&domain->window.settings, options, &settings, &changed, ret_error);
    if (rc == HAPAX_OK && changed != 0) {
        if (domain->opened)
            rc = differ(&domain->window.settings, &settings, "it is open with other settings", domain, ret_error);
        else if (domain->store->read_only)
            rc = hx_fail(ret_error, HAPAX_ERR_READ_ONLY, "a store that is open for reading keeps its settings");
        else
            rc = change_settings(domain, &settings, changed, options != NULL && options->change_settings, ret_error);
    }
    if (rc == HAPAX_OK)
        domain->opened = true;
    pthread_mutex_unlock(&domain->lock);
    return rc;
}

/* Makes a domain. The store's lock is held. */
static int open_new(hapax_store *store, const char *name, size_t name_len, const hapax_domain_options *options,
                    hapax_domain **ret_domain, hapax_error *ret_error)
{
    hx_settings settings;
    unsigned changed;
    int rc = hx_settings_merge(NULL, options, &settings, &changed, ret_error);
    if (rc < 0)
        return rc;
    if (store->read_only)
        return hx_fail(ret_error, HAPAX_ERR_NOT_FOUND, "the store has no domain of that name");
    hapax_domain *domain;
    rc = hx_store_add_domain(store, name, name_len, &settings, &domain, ret_error);
    if (rc < 0)
        return rc;
    rc = log_domain(domain, &settings, ret_error);
    if (rc < 0) {
        hx_store_drop_last_domain(store);
        return rc;
    }
    domain->opened = true;
    *ret_domain = domain;
    return HAPAX_OK;
}

int hapax_domain_open(hapax_store *store, const char *name, size_t name_len, const hapax_domain_options *options,
                      hapax_domain **ret_domain, hapax_error *ret_error)
{
    if (store == NULL || name == NULL || name_len == 0 || ret_domain == NULL)
        return hx_fail(ret_error, HAPAX_ERR_INVALID,
                       "hapax_domain_open needs a store, a name and a place for the domain");
    if (options != NULL && options->size != sizeof *options)
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "hapax_domain_options has not been initialised");
    if (name_len > HAPAX_NAME_MAX)
        return hx_fail(ret_error, HAPAX_ERR_TOO_LONG, "a domain name of %zu bytes; at most %d are taken", name_len,
                       HAPAX_NAME_MAX);
    pthread_mutex_lock(&store->lock);
    hapax_domain *domain = hx_store_domain_named(store, name, name_len);
    int rc = domain != NULL ? open_existing(domain, options, ret_error)
                            : open_new(store, name, name_len, options, &domain, ret_error);
    pthread_mutex_unlock(&store->lock);
    if (rc == HAPAX_OK)
        *ret_domain = domain;
    return rc;
}
