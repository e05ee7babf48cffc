/*
 * inspect.c - looking inside: statistics, explanations, dumps, verification.
 *
 * The one idea: figures are exact. What fell below the floor but has not been freed yet is freed before anything is
 * counted.
 */
#include <stdio.h>
#include <string.h>

#include "core/fail.h"
#include "core/store.h"

void hapax_store_stat(hapax_store *store, hapax_store_stats *ret_stats)
{
    *ret_stats = (hapax_store_stats){.size = sizeof *ret_stats};
    pthread_mutex_lock(&store->lock);
    ret_stats->domains = store->domains_len;
    pthread_mutex_unlock(&store->lock);
    ret_stats->memory_bytes = store->memory.used_bytes;
    ret_stats->durability = store->durability;
    ret_stats->in_memory = store->wal.in_memory;
    ret_stats->format_version = HX_FORMAT_VERSION;
    ret_stats->activity_ms = hx_clock_activity(&store->clock);
    if (store->wal.in_memory)
        return;
    if (store->read_only) {
        ret_stats->disk_bytes = store->scanned.bytes;
        return;
    }
    ret_stats->disk_bytes = hx_wal_disk_bytes(&store->wal);
    pthread_mutex_lock(&store->wal.lock);
    ret_stats->held_events = store->wal.hold ? store->wal.events_len : 0;
    pthread_mutex_unlock(&store->wal.lock);
}

void hapax_domain_stat(hapax_domain *domain, hapax_domain_stats *ret_stats)
{
    hx_window *window = &domain->window;
    *ret_stats = (hapax_domain_stats){.size = sizeof *ret_stats};
    pthread_mutex_lock(&domain->lock);
    hx_window_expire(window, SIZE_MAX);
    memcpy(ret_stats->name, domain->name, domain->name_len);
    ret_stats->name_len = domain->name_len;
    ret_stats->window = window->settings.window;
    ret_stats->expiry_ms = window->settings.expiry_ms;
    ret_stats->given_times = window->stamps.given_times;
    ret_stats->ids_held = window->index.live + window->claims.unheld_count;
    ret_stats->ids_in_windows = window->window_ids;
    ret_stats->ids_in_time_queue = window->in_queue;
    ret_stats->sources = window->sources.with_window;
    ret_stats->in_flight = window->claims.open_count;
    ret_stats->new_count = domain->counters.new_count;
    ret_stats->duplicate_count = domain->counters.duplicate;
    ret_stats->in_flight_count = domain->counters.in_flight;
    ret_stats->unchecked_count = domain->counters.unchecked;
    ret_stats->sources_over_limit = domain->counters.over_limit;
    ret_stats->steps_not_believed = domain->counters.steps;
    ret_stats->last_receive_ms = window->has_last ? window->last_ms : HAPAX_UNSET;
    ret_stats->memory_bytes = domain->memory.used_bytes;
    pthread_mutex_unlock(&domain->lock);
}

hapax_domain *hapax_domain_at(hapax_store *store, size_t index)
{
    pthread_mutex_lock(&store->lock);
    hapax_domain *domain = index < store->domains_len ? store->domains[index] : NULL;
    pthread_mutex_unlock(&store->lock);
    return domain;
}

static void put_hash(hx_hash hash, unsigned char bytes[16])
{
    hx_put_le64(bytes, hash.lo);
    hx_put_le64(bytes + 8, hash.hi);
}

static hapax_occurrence occurrence_of(const hx_window *window, uint64_t order, const hx_entry *entry)
{
    hapax_occurrence occurrence = {.order = order, .receive_ms = entry->time_ms, .source = entry->source};
    int64_t age_ms;
    put_hash(entry->hash, occurrence.hash);
    hx_stamps_get(&window->stamps, order, entry->time_ms, &occurrence.wall_ms, &age_ms);
    occurrence.held_by =
        (entry->state & HX_ENTRY_STATE) == HX_ENTRY_IN_WINDOW ? HAPAX_HELD_BY_WINDOW : HAPAX_HELD_BY_TIME_QUEUE;
    if (hx_claims_find(&window->claims, entry->hash) != NULL)
        occurrence.held_by |= HAPAX_HELD_BY_CLAIM;
    return occurrence;
}

static hapax_occurrence occurrence_of_claim(const hx_claim *claim)
{
    hapax_occurrence occurrence = {.receive_ms = claim->moment.time_ms,
                                   .wall_ms = claim->moment.wall_ms,
                                   .source = claim->source,
                                   .held_by = HAPAX_HELD_BY_CLAIM};
    put_hash(claim->hash, occurrence.hash);
    return occurrence;
}

typedef struct explaining {
    const hx_window *window;
    hapax_explanation *explanation;
} explaining;

static bool explain_occurrence(void *arg, uint64_t order, const hx_entry *entry)
{
    explaining *e = arg;
    hapax_occurrence occurrence = occurrence_of(e->window, order, entry);
    if (e->explanation->occurrences++ == 0)
        e->explanation->first = occurrence;
    e->explanation->last = occurrence;
    e->explanation->held_by |= occurrence.held_by;
    return true;
}

/* How many further ids of its source push this occurrence out of its window. */
static uint64_t window_ahead(const hx_window *window, const hapax_occurrence *occurrence)
{
    const hx_source *source = &window->sources.items[occurrence->source];
    uint64_t older = 0;
    for (uint32_t i = 0; i < source->ring_len; i++) {
        uint64_t order = source->ring[(source->ring_head + i) & (source->ring_cap - 1)];
        hx_entry entry;
        if (order >= occurrence->order)
            break;
        older +=
            hx_entries_get(&window->entries, order, &entry) && (entry.state & HX_ENTRY_STATE) == HX_ENTRY_IN_WINDOW;
    }
    return (uint64_t)window->settings.window - source->live + older + 1;
}

static void explain_end(const hapax_domain *domain, hapax_explanation *explanation)
{
    const hx_window *window = &domain->window;
    const hapax_occurrence *last = &explanation->last;
    explanation->expires_after_ms = HAPAX_FOREVER;
    explanation->max_age_left_ms = HAPAX_FOREVER;
    if (explanation->occurrences == 0)
        return;
    if (last->held_by & HAPAX_HELD_BY_WINDOW)
        explanation->window_ahead = window_ahead(window, last);
    if (window->settings.expiry_ms != HAPAX_FOREVER)
        explanation->expires_after_ms = last->receive_ms + window->settings.expiry_ms;
    if (window->settings.max_age_ms != HAPAX_FOREVER) {
        int64_t wall_ms, age_ms;
        hx_stamps_get(&window->stamps, last->order, last->receive_ms, &wall_ms, &age_ms);
        explanation->max_age_left_ms = age_ms + window->settings.max_age_ms - hx_domain_moment(domain).age_ms;
    }
}

int hapax_explain(hapax_domain *domain, const void *id, size_t id_len, hapax_explanation *ret_explanation,
                  hapax_error *ret_error)
{
    if (domain == NULL || id == NULL || id_len == 0 || ret_explanation == NULL)
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "a domain, an id that is not empty and a place are needed");
    if (id_len > HAPAX_ID_MAX)
        return hx_fail(ret_error, HAPAX_ERR_TOO_LONG, "an id of %zu bytes; at most %d are taken", id_len,
                       HAPAX_ID_MAX);
    hx_hash hash = hx_siphash_id(domain->store->superblock.key, id, id_len);
    hapax_explanation explanation = {.size = sizeof explanation};
    explaining e = {&domain->window, &explanation};
    pthread_mutex_lock(&domain->lock);
    hx_window_each(&domain->window, hash, explain_occurrence, &e);
    const hx_claim *claim = hx_claims_find(&domain->window.claims, hash);
    if (claim != NULL && explanation.occurrences == 0) {
        explanation.first = occurrence_of_claim(claim);
        explanation.last = explanation.first;
        explanation.held_by = HAPAX_HELD_BY_CLAIM;
    }
    explanation.in_flight = claim != NULL;
    explain_end(domain, &explanation);
    explanation.known = claim != NULL || (explanation.occurrences > 0 && explanation.max_age_left_ms >= 0);
    /* Known for good is what is safe: see hapax_peek. */
    uint64_t position = explanation.known && !explanation.in_flight ? hx_wal_staged(&domain->store->wal) : 0;
    pthread_mutex_unlock(&domain->lock);
    int rc = hx_wal_settle(&domain->store->wal, position, ret_error);
    if (rc == HAPAX_OK)
        *ret_explanation = explanation;
    return rc;
}

void hapax_id_hash(hapax_domain *domain, const void *id, size_t id_len, unsigned char ret_hash[16])
{
    put_hash(hx_siphash_id(domain->store->superblock.key, id, id_len), ret_hash);
}

int hapax_source_name(hapax_domain *domain, uint32_t number, char *buffer, size_t capacity)
{
    const hx_sources *sources = &domain->window.sources;
    int rc = HAPAX_ERR_NOT_FOUND;
    pthread_mutex_lock(&domain->lock); /* again, when hapax_dump calls back */
    if (number < sources->len && sources->items[number].name != NULL) {
        const hx_source *source = &sources->items[number];
        size_t len = source->name_len < capacity ? source->name_len : capacity;
        if (len > 0)
            memcpy(buffer, source->name, len);
        rc = (int)source->name_len;
    }
    pthread_mutex_unlock(&domain->lock);
    return rc;
}

int hapax_dump(hapax_domain *domain, int (*visit)(void *arg, const hapax_occurrence *occurrence), void *arg)
{
    hx_window *window = &domain->window;
    int rc = 0;
    pthread_mutex_lock(&domain->lock);
    hx_window_expire(window, SIZE_MAX);
    for (uint64_t order = hx_entries_next(&window->entries, 1); order != 0 && rc == 0;
         order = hx_entries_next(&window->entries, order + 1)) {
        hx_entry entry;
        (void)hx_entries_get(&window->entries, order, &entry);
        hapax_occurrence occurrence = occurrence_of(window, order, &entry);
        rc = visit(arg, &occurrence);
    }
    for (uint32_t i = 0; i < window->claims.len && rc == 0; i++) {
        const hx_claim *claim = &window->claims.items[i];
        if (!claim->open || claim->held)
            continue;
        hapax_occurrence occurrence = occurrence_of_claim(claim);
        rc = visit(arg, &occurrence);
    }
    pthread_mutex_unlock(&domain->lock);
    return rc;
}

int hapax_verify(const char *path, hapax_verify_report *ret_report, hapax_error *ret_error)
{
    hapax_store_options options;
    hapax_store_options_init(&options);
    options.path = path;
    options.flags = HAPAX_OPEN_READ_ONLY;
    hapax_store *store;
    /* Recovery reads and checks every byte that counts, and judges every event again. */
    int rc = hapax_store_open(&options, &store, ret_error);
    if (rc < 0)
        return rc;
    const hapax_open_report *report = &store->report;
    *ret_report = (hapax_verify_report){.size = sizeof *ret_report,
                                        .files = store->scanned.files,
                                        .batches = store->scanned.batches,
                                        .events = store->scanned.events,
                                        .bytes = store->scanned.bytes,
                                        .torn_bytes = report->torn_bytes,
                                        .torn_offset = report->torn_offset};
    memcpy(ret_report->torn_path, report->torn_path, sizeof ret_report->torn_path);
    hapax_store_abandon(store);
    return HAPAX_OK;
}
