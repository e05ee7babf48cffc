/*
 * recover.c - from the log back to the state.
 *
 * The one idea: judge again. Every event that counts is put to the same rules as when it came, in the order in which
 * it came, epoch by epoch (an epoch is one opening of the store). What never counted - claims that were not
 * confirmed, and in an epoch that ended in a crash also those that were released - is as if it had never been.
 *
 * Claims are logged when they end, so the log is read twice: the first reading checks everything and gathers the
 * claims that count, sorted by seq; the second takes the arrivals as they stand and merges the gathered events in.
 *
 *     log:       r5 r6 [c2 confirmed at 7] r8          r: recorded, c: claim
 *     judged:    c2 r5 r6 confirm7 r8
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/chain.h"
#include "core/fail.h"
#include "core/store.h"

#define CARRY_MAX (64u << 10) /* a newest file of up to this is written anew as a whole, and goes */
#define PROGRESS_EVERY_MS 200
#define ROOM 256 /* arrivals for which room is made at once */

/* An event that is not judged where it stands in the log. */
typedef struct late_event {
    uint32_t epoch;
    bool released; /* a CLAIM that ended in a release, or that RELEASE */
    hx_event event;
} late_event;

typedef struct source_name {
    char *name; /* owned; NULL: not known */
    size_t len;
    uint32_t number; /* of the source in the window, when it was last looked up */
} source_name;

/* What recovery knows of a domain besides its state. */
typedef struct domain_recovery {
    source_name *names; /* by the log's number */
    size_t names_len;
    uint32_t highest;         /* number so far: they are given out one after the other */
    size_t room;              /* arrivals for which room has been made */
    size_t late_at, late_end; /* its part of the gathered events in this epoch */
} domain_recovery;

typedef struct recovery {
    hapax_store *store;
    hx_chain *chain;
    late_event *late;
    size_t late_len, late_cap;
    uint8_t *clean; /* per epoch */
    size_t epochs, epochs_cap;
    size_t epochs_read; /* by the second reading */
    uint32_t epoch;
    domain_recovery *domains;
    size_t domains_len;
    int64_t downtime_ms;
    bool last_clean; /* the last event was CLEAN */
    hapax_error error;
    const hapax_store_options *options;
    int64_t next_progress_ms;
} recovery;

static int no_memory(recovery *r)
{
    return hx_fail(&r->error, HAPAX_ERR_MEMORY, "no memory to recover the store");
}

static int nonsense(recovery *r, const char *what)
{
    return hx_fail(&r->error, HAPAX_ERR_DAMAGED, "%s", what);
}

/* ---- First reading --------------------------------------------------------------------------------------------- */

static int begin_epoch(recovery *r)
{
    if (r->epochs == r->epochs_cap) {
        size_t cap = r->epochs_cap == 0 ? 16 : r->epochs_cap * 2;
        uint8_t *clean = realloc(r->clean, cap);
        if (clean == NULL)
            return no_memory(r);
        r->clean = clean;
        r->epochs_cap = cap;
    }
    r->clean[r->epochs++] = 0;
    return 0;
}

static int gather_event(recovery *r, const hx_event *event)
{
    if (r->late_len == r->late_cap) {
        size_t cap = r->late_cap == 0 ? 256 : r->late_cap * 2;
        late_event *late = realloc(r->late, cap * sizeof *late);
        if (late == NULL)
            return no_memory(r);
        r->late = late;
        r->late_cap = cap;
    }
    bool ends = event->type == HX_EVENT_CONFIRM || event->type == HX_EVENT_RELEASE;
    late_event *claim = r->late_len > 0 ? &r->late[r->late_len - 1] : NULL;
    if (ends && (claim == NULL || claim->event.type != HX_EVENT_CLAIM || claim->event.seq != event->claim_seq))
        return nonsense(r, "the end of a claim without its arrival");
    bool released = event->type == HX_EVENT_RELEASE;
    if (released)
        claim->released = true;
    r->late[r->late_len++] = (late_event){(uint32_t)r->epochs - 1, released, *event};
    return 0;
}

static int first_visit(void *arg, const hx_event *event)
{
    recovery *r = arg;
    r->last_clean = event->type == HX_EVENT_CLEAN;
    switch (event->type) {
    case HX_EVENT_OPEN: return begin_epoch(r);
    case HX_EVENT_CLEAN:
        if (r->epochs > 0)
            r->clean[r->epochs - 1] = 1;
        return 0;
    case HX_EVENT_CLAIM:
    case HX_EVENT_CONFIRM:
    case HX_EVENT_RELEASE:
    case HX_EVENT_RENEW:
    case HX_EVENT_IDLE:
        return r->epochs == 0 ? nonsense(r, "an event before the first opening") : gather_event(r, event);
    default: return 0;
    }
}

static int compare_late(const void *a, const void *b)
{
    const late_event *x = a;
    const late_event *y = b;
    if (x->epoch != y->epoch)
        return x->epoch < y->epoch ? -1 : 1;
    if (x->event.domain != y->event.domain)
        return x->event.domain < y->event.domain ? -1 : 1;
    return x->event.seq < y->event.seq ? -1 : x->event.seq > y->event.seq;
}

/* Whether the claim that a RENEW is about is among the gathered events, which are sorted. */
static bool claim_counts(const recovery *r, const late_event *renew)
{
    late_event key = {.epoch = renew->epoch, .event = {.domain = renew->event.domain, .seq = renew->event.claim_seq}};
    const late_event *found = bsearch(&key, r->late, r->late_len, sizeof key, compare_late);
    return found != NULL && found->event.type == HX_EVENT_CLAIM && (!found->released || r->clean[found->epoch]);
}

/* Sorts what was gathered and keeps what counts. */
static int keep_what_counts(recovery *r)
{
    if (r->late_len == 0)
        return 0;
    qsort(r->late, r->late_len, sizeof *r->late, compare_late);
    uint8_t *counts = malloc(r->late_len);
    if (counts == NULL)
        return no_memory(r);
    for (size_t i = 0; i < r->late_len; i++) {
        const late_event *late = &r->late[i];
        bool only_clean = late->released || late->event.type == HX_EVENT_IDLE;
        counts[i] = late->event.type == HX_EVENT_RENEW ? claim_counts(r, late) : !only_clean || r->clean[late->epoch];
    }
    size_t kept = 0;
    for (size_t i = 0; i < r->late_len; i++)
        if (counts[i])
            r->late[kept++] = r->late[i];
    r->late_len = kept;
    free(counts);
    return 0;
}

/* ---- Second reading -------------------------------------------------------------------------------------------- */

/* The window's number for a source of the log, with a reference for the caller. */
static int take_source(recovery *r, hapax_domain *domain, uint32_t log_number, uint32_t *ret_source)
{
    domain_recovery *dr = &r->domains[domain->number];
    if (log_number >= dr->names_len || dr->names[log_number].name == NULL)
        return nonsense(r, "a source that was never named");
    source_name *name = &dr->names[log_number];
    hx_sources *sources = &domain->window.sources;
    if (name->number < sources->len) {
        const hx_source *source = &sources->items[name->number];
        if (source->name != NULL && source->name_len == name->len &&
            memcmp(source->name, name->name, name->len) == 0) {
            hx_sources_ref(sources, name->number);
            *ret_source = name->number;
            return 0;
        }
    }
    int rc = hx_sources_take(sources, name->name, name->len, ret_source);
    if (rc < 0)
        return hx_fail(&r->error, rc, "no memory to recover the sources");
    name->number = *ret_source;
    return 0;
}

static hx_moment moment_of(const recovery *r, const hapax_domain *domain, const hx_event *event)
{
    const hx_window *window = &domain->window;
    int64_t time_ms = window->has_last && window->last_ms > event->time_ms ? window->last_ms : event->time_ms;
    return (hx_moment){time_ms, event->activity_ms, event->activity_ms + r->downtime_ms, event->wall_ms};
}

/* A time that no caller can have given would break the arithmetic of the windows. */
static int check_event(recovery *r, const hx_event *event)
{
    int64_t limit = HAPAX_TIME_MAX_MS;
    if (event->time_ms < -limit || event->time_ms > limit || event->activity_ms < 0 || event->activity_ms > limit ||
        event->wall_ms < -limit || event->wall_ms > limit)
        return nonsense(r, "a time that is out of range");
    return 0;
}

/* Room for an arrival; but for its source's window it is made for many at once. */
static int reserve_arrival(recovery *r, hapax_domain *domain, uint32_t source)
{
    hx_window *window = &domain->window;
    domain_recovery *dr = &r->domains[domain->number];
    int rc = HAPAX_OK;
    if (dr->room == 0) {
        rc = hx_window_reserve(window, ROOM);
        if (rc == HAPAX_OK)
            rc = hx_stamps_reserve(&window->stamps, ROOM);
        if (rc == HAPAX_OK)
            rc = hx_claims_reserve(&window->claims, ROOM);
        if (rc == HAPAX_OK)
            dr->room = ROOM;
    }
    if (rc == HAPAX_OK)
        rc = hx_window_reserve_source(window, source);
    if (rc < 0)
        return hx_fail(&r->error, rc,
                       rc == HAPAX_ERR_FULL ? "the store does not fit the memory budget"
                                            : "no memory to recover the store");
    dr->room--;
    return 0;
}

/* An arrival is put to the rules again. The caller has a reference to its source and made the room. */
static void judge_again(recovery *r, hapax_domain *domain, const hx_event *event, uint32_t source)
{
    hx_window *window = &domain->window;
    if (!window->has_time_mode)
        hx_domain_set_time_mode(domain, event->flags & HX_EVENT_GIVEN_TIME);
    hx_moment moment = moment_of(r, domain, event);
    (void)hx_window_empty_idle(window, moment.activity_ms);
    bool too_old;
    uint64_t latest = hx_window_find(window, event->hash, moment.age_ms, &too_old);
    bool in_flight = hx_claims_find(&window->claims, event->hash) != NULL;
    bool known = latest != 0 || in_flight;
    if (too_old)
        hx_window_forget(window, event->hash);
    if (event->type == HX_EVENT_CLAIM && !in_flight) {
        hx_claim claim = {.hash = event->hash, .moment = moment, .seq = event->seq, .source = source};
        (void)hx_claims_open(&window->claims, &claim);
        hx_sources_ref(&window->sources, source);
    }
    if (!known || window->settings.refresh)
        (void)hx_window_arrive(window, event->hash, source, &moment, latest);
}

static int visit_arrival(recovery *r, hapax_domain *domain, const hx_event *event)
{
    uint32_t source = HX_SOURCE_NONE;
    int rc = check_event(r, event);
    if (rc == 0)
        rc = take_source(r, domain, event->source, &source);
    if (rc < 0)
        return rc;
    rc = reserve_arrival(r, domain, source);
    if (rc == 0)
        judge_again(r, domain, event, source);
    hx_sources_settle(&domain->window.sources, source);
    hx_sources_unref(&domain->window.sources, source);
    return rc;
}

static int end_claim(recovery *r, hapax_domain *domain, const hx_event *event)
{
    hx_window *window = &domain->window;
    hx_claim *claim = hx_claims_find(&window->claims, event->hash);
    if (claim == NULL)
        return nonsense(r, "the end of a claim that is not open");
    uint32_t source = claim->source;
    int rc = check_event(r, event);
    if (rc == 0)
        rc = reserve_arrival(r, domain, source);
    if (rc < 0)
        return rc;
    hx_moment moment = moment_of(r, domain, event);
    bool too_old;
    if (event->type == HX_EVENT_RELEASE)
        hx_window_forget(window, event->hash);
    else if (hx_window_find(window, event->hash, moment.age_ms, &too_old) == 0)
        (void)hx_window_arrive(window, event->hash, source, &moment, 0);
    hx_claims_close(&window->claims, hx_claims_find(&window->claims, event->hash));
    hx_sources_settle(&window->sources, source);
    hx_sources_unref(&window->sources, source);
    return 0;
}

static int judge_late(recovery *r, hapax_domain *domain, const hx_event *event)
{
    switch (event->type) {
    case HX_EVENT_CONFIRM:
    case HX_EVENT_RELEASE: return end_claim(r, domain, event);
    case HX_EVENT_IDLE: (void)hx_window_empty_idle(&domain->window, event->activity_ms); return 0;
    default: return visit_arrival(r, domain, event);
    }
}

/* Judges the gathered events of a domain that came before `seq`. */
static int catch_up(recovery *r, hapax_domain *domain, uint64_t seq)
{
    domain_recovery *dr = &r->domains[domain->number];
    int rc = 0;
    while (rc == 0 && dr->late_at < dr->late_end && r->late[dr->late_at].event.seq < seq)
        rc = judge_late(r, domain, &r->late[dr->late_at++].event);
    return rc;
}

/* The first gathered event that does not come before (this epoch, domain, seq). */
static size_t first_late_from(const recovery *r, uint32_t domain, uint64_t seq)
{
    late_event key = {.epoch = r->epoch, .event = {.domain = domain, .seq = seq}};
    size_t low = 0;
    size_t high = r->late_len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_late(&r->late[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Finds the gathered events of this epoch for a domain. */
static void find_late(recovery *r, size_t number)
{
    r->domains[number].late_at = first_late_from(r, (uint32_t)number, 0);
    r->domains[number].late_end = first_late_from(r, (uint32_t)number, UINT64_MAX);
}

static int end_epoch(recovery *r)
{
    int rc = 0;
    for (size_t i = 0; i < r->store->domains_len && rc == 0; i++) {
        rc = catch_up(r, r->store->domains[i], UINT64_MAX);
        if (rc == 0 && r->store->domains[i]->window.claims.open_count > 0)
            rc = nonsense(r, "a claim that neither ends nor vanishes");
        if (!r->clean[r->epoch])
            r->store->domains[i]->step = (hx_step_state){0}; /* it may be that of a message that never was */
    }
    return rc;
}

static int visit_domain(recovery *r, const hx_event *event)
{
    hx_settings settings;
    const char *name;
    size_t name_len;
    if (!hx_event_read_domain(event->blob.data, event->blob.len, &settings, &name, &name_len) ||
        !hx_settings_valid(&settings))
        return nonsense(r, "the settings of a domain make no sense");
    hapax_domain *domain = hx_store_domain_named(r->store, name, name_len);
    if (domain != NULL) {
        if (domain->number != event->domain)
            return nonsense(r, "a domain that changes its number");
        hx_window_set(&domain->window, &settings);
        return 0;
    }
    if (event->domain != r->store->domains_len)
        return nonsense(r, "a domain that does not follow the one before it");
    domain_recovery *domains = realloc(r->domains, (r->domains_len + 1) * sizeof *domains);
    if (domains == NULL)
        return no_memory(r);
    r->domains = domains;
    r->domains[r->domains_len++] = (domain_recovery){0};
    int rc = hx_store_add_domain(r->store, name, name_len, &settings, &domain, &r->error);
    if (rc == 0)
        find_late(r, r->domains_len - 1);
    return rc;
}

static int visit_source(recovery *r, const hapax_domain *domain, const hx_event *event)
{
    domain_recovery *dr = &r->domains[domain->number];
    if (event->source == 0 || event->source > dr->highest + 1 || event->blob.len > HAPAX_NAME_MAX)
        return nonsense(r, "a source with an impossible number or name");
    if (event->source >= dr->names_len) {
        size_t len = dr->names_len == 0 ? 16 : dr->names_len;
        while (len <= event->source)
            len *= 2;
        source_name *names = realloc(dr->names, len * sizeof *names);
        if (names == NULL)
            return no_memory(r);
        memset(names + dr->names_len, 0, (len - dr->names_len) * sizeof *names);
        dr->names = names;
        dr->names_len = len;
    }
    char *copy = malloc(event->blob.len + 1);
    if (copy == NULL)
        return no_memory(r);
    if (event->blob.len > 0)
        memcpy(copy, event->blob.data, event->blob.len);
    if (event->source > dr->highest)
        dr->highest = event->source;
    free(dr->names[event->source].name);
    dr->names[event->source] = (source_name){copy, event->blob.len, UINT32_MAX};
    return 0;
}

static int visit_bookmark(recovery *r, const hx_event *event)
{
    const char *name;
    size_t name_len;
    const unsigned char *data;
    size_t data_len;
    if (!hx_event_read_bookmark(event->blob.data, event->blob.len, &name, &name_len, &data, &data_len))
        return nonsense(r, "a bookmark makes no sense");
    int rc = hx_bookmarks_set(&r->store->bookmarks, name, name_len, data, data_len);
    return rc < 0 ? no_memory(r) : 0;
}

static void count_event(hapax_domain *domain, const hx_event *event)
{
    hx_counters *counters = &domain->counters;
    switch (event->type) {
    case HX_EVENT_ARRIVE:
        counters->duplicate += (event->flags & HX_EVENT_DUPLICATE) != 0;
        counters->new_count += (event->flags & HX_EVENT_DUPLICATE) == 0;
        break;
    case HX_EVENT_CLAIM: counters->new_count++; break;
    case HX_EVENT_RENEW: counters->in_flight++; break;
    case HX_EVENT_COUNT:
        counters->duplicate += event->counts.duplicate;
        counters->in_flight += event->counts.in_flight;
        counters->unchecked += event->counts.unchecked;
        counters->over_limit += event->counts.over_limit;
        counters->steps += event->counts.steps;
        if (event->flags & HX_EVENT_HAS_STEP)
            domain->step = (hx_step_state){true, event->flags & HX_EVENT_STEP_AHEAD, event->time_ms};
        break;
    default: break;
    }
}

/* An event of a domain, at its place in the log. */
static int visit_in_domain(recovery *r, const hx_event *event)
{
    if (event->domain >= r->store->domains_len)
        return nonsense(r, "an event of a domain that was never made");
    hapax_domain *domain = r->store->domains[event->domain];
    count_event(domain, event);
    if (event->type == HX_EVENT_SOURCE)
        return visit_source(r, domain, event);
    if (event->type != HX_EVENT_ARRIVE)
        return 0;
    int rc = catch_up(r, domain, event->seq);
    return rc < 0 ? rc : visit_arrival(r, domain, event);
}

static int second_visit(void *arg, const hx_event *event)
{
    recovery *r = arg;
    int rc;
    switch (event->type) {
    case HX_EVENT_OPEN:
        rc = r->epochs_read == 0 ? 0 : end_epoch(r);
        r->epoch = (uint32_t)r->epochs_read++;
        r->downtime_ms = (int64_t)event->claim_seq;
        if (r->store->read_only) /* who only reads tells the mode of who wrote */
            r->store->durability =
                event->flags & HX_EVENT_NO_SYNCS ? HAPAX_DURABILITY_PROCESS : HAPAX_DURABILITY_FULL;
        for (size_t i = 0; i < r->domains_len; i++)
            find_late(r, i);
        return rc;
    case HX_EVENT_CLEAN: return 0;
    case HX_EVENT_DOMAIN: return visit_domain(r, event);
    case HX_EVENT_BOOKMARK: return visit_bookmark(r, event);
    default: return visit_in_domain(r, event);
    }
}

/* ---- The whole --------------------------------------------------------------------------------------------------
 */

static void report_progress(void *arg, uint64_t done_bytes, uint64_t total_bytes)
{
    recovery *r = arg;
    int64_t now_ms = hx_clock_monotonic(&r->store->clock);
    if (r->options->progress == NULL || now_ms < r->next_progress_ms)
        return;
    r->next_progress_ms = now_ms + PROGRESS_EVERY_MS;
    r->options->progress(r->options->progress_arg, done_bytes, total_bytes);
}

/* What the newest file holds may not have reached the disk yet, and must before anything is built on it. */
static int sync_newest(const hapax_store *store, const hx_chain *chain, hapax_error *ret_error)
{
    if (store->read_only || !store->wal.syncs || chain->files_len == 0)
        return HAPAX_OK;
    char path[HX_PATH_MAX];
    hx_wal_path(path, chain->folder, chain->files[chain->files_len - 1].header.seq, false);
    int file = store->os->open(store->os->ctx, path, HX_OS_WRITE);
    if (file < 0)
        return hx_fail_os(ret_error, file, "cannot open", path);
    int rc = store->os->sync(store->os->ctx, file);
    int close_rc = store->os->close(store->os->ctx, file);
    if (rc == 0)
        rc = close_rc;
    return rc < 0 ? hx_fail_os(ret_error, rc, "cannot sync", path) : HAPAX_OK;
}

static int read_twice(recovery *r, hapax_error *ret_error)
{
    hx_chain_progress progress = {.report = report_progress, .arg = r};
    for (size_t i = 0; i < r->chain->files_len; i++)
        progress.total_bytes += 2 * r->chain->files[i].end;
    int rc = hx_chain_scan(r->chain, first_visit, r, &progress, ret_error);
    if (rc == 0)
        rc = keep_what_counts(r);
    if (rc == 0) {
        rc = hx_chain_scan(r->chain, second_visit, r, &progress, ret_error);
    }
    return rc == 0 && r->epochs > 0 ? end_epoch(r) : rc;
}

/* Where the log goes on: the last batch, or a small newest file as a whole, is written anew. */
static int plan_resume(const hapax_store *store, const hx_chain *chain, hx_wal_resume *resume, hapax_error *ret_error)
{
    *resume = (hx_wal_resume){.seq = 1, .next_lsn = chain->next_lsn};
    resume->older_bytes = 3 * HX_BLOCK; /* SUPER.0, SUPER.1, LOCK */
    if (chain->files_len == 0)
        return HAPAX_OK;
    const hx_chain_file *newest = &chain->files[chain->files_len - 1];
    resume->seq = newest->header.seq + 1;
    for (size_t i = 0; i < chain->unused_len; i++)
        if (chain->unused[i] >= resume->seq)
            resume->seq = chain->unused[i] + 1;
    for (size_t i = 0; i + 1 < chain->files_len; i++)
        resume->older_bytes += chain->files[i].end;
    bool whole = newest->end - HX_BLOCK <= CARRY_MAX;
    uint64_t from = whole ? HX_BLOCK : chain->last_batch_at;
    resume->newest_seq = newest->header.seq;
    resume->newest_end = newest->end < newest->size ? newest->end : newest->size;
    resume->replaced_seq = whole ? newest->header.seq : 0;
    resume->prev_seq = whole ? newest->header.prev_seq : newest->header.seq;
    resume->prev_end = whole ? newest->header.prev_end : from;
    resume->first_lsn = whole ? newest->header.first_lsn : chain->last_first_lsn;
    resume->chain = whole ? newest->header.chain : chain->last_chain;
    if (!whole)
        resume->older_bytes += newest->end;
    if (store->read_only || newest->end <= from)
        return HAPAX_OK;
    return hx_chain_copy_tail(chain, from, newest->end, &resume->carry, ret_error);
}

static void free_recovery(recovery *r)
{
    for (size_t i = 0; i < r->domains_len; i++) {
        for (size_t j = 0; j < r->domains[i].names_len; j++)
            free(r->domains[i].names[j].name);
        free(r->domains[i].names);
    }
    free(r->domains);
    free(r->late);
    free(r->clean);
}

/* The clocks go on from what the last batch says. */
static void set_clocks(hapax_store *store, const recovery *r)
{
    const hx_chain *chain = r->chain;
    store->clock.activity_at_open_ms = chain->last_base.activity_ms;
    store->clock.downtime_ms = r->downtime_ms;
    if (chain->batches > 0) {
        int64_t away_ms = hx_clock_wall(&store->clock) - chain->last_base.wall_ms;
        store->report.downtime_ms = away_ms > 0 ? away_ms : 0;
        store->clock.downtime_ms += store->report.downtime_ms;
    }
    store->clock.monotonic_at_open_ms = hx_clock_monotonic(&store->clock);
    for (size_t i = 0; i < store->domains_len; i++) {
        hapax_domain *domain = store->domains[i];
        hx_window_expire(&domain->window, SIZE_MAX);
        hx_domain_start_clock(domain);
    }
}

static void fill_report(hapax_store *store, const recovery *r)
{
    const hx_chain *chain = r->chain;
    store->report.clean = r->last_clean || chain->batches == 0;
    store->report.recovered_events = chain->events;
    store->report.torn_bytes = chain->torn_bytes;
    store->report.torn_offset = chain->torn_at;
    store->scanned = (hx_scanned){chain->files_len + 2, chain->batches, chain->events, chain->bytes + 2 * HX_BLOCK};
    if (chain->torn_bytes > 0) {
        char path[HX_PATH_MAX];
        hx_wal_path(path, chain->folder, chain->files[chain->files_len - 1].header.seq, false);
        hx_fail_path(store->report.torn_path, path);
    }
}

int hx_recover(hapax_store *store, const hapax_store_options *options, hx_wal_resume *ret_resume,
               hapax_error *ret_error)
{
    hx_chain chain;
    recovery r = {.store = store, .chain = &chain, .options = options};
    r.next_progress_ms = hx_clock_monotonic(&store->clock) + 1000;
    int rc = hx_chain_open(&chain, store->os, store->wal.folder, &store->superblock, ret_error);
    if (rc == HAPAX_OK)
        rc = sync_newest(store, &chain, ret_error);
    if (rc == HAPAX_OK) {
        if (ret_error != NULL)
            snprintf(ret_error->message, sizeof ret_error->message, "reading %.200s", chain.folder);
        rc = read_twice(&r, ret_error);
        if (rc < 0 && r.error.status != 0 && ret_error != NULL) {
            /* The scan knows the place, the visit knows the reason. */
            hapax_error place = *ret_error;
            rc = hx_fail(ret_error, r.error.status, "%s (%s)", r.error.message, place.message);
        }
    }
    if (rc == HAPAX_OK)
        rc = plan_resume(store, &chain, ret_resume, ret_error);
    if (rc == HAPAX_OK) {
        set_clocks(store, &r);
        fill_report(store, &r);
    }
    free_recovery(&r);
    hx_chain_free(&chain);
    return rc;
}
