/*
 * judge.c - hapax_claim, hapax_record and hapax_peek: messages in, verdicts out.
 *
 * A call goes in three steps. Preparing looks at every message and makes all the room that judging may need, in the
 * window, in the log and on the disk: only it can fail, and nothing has changed then. Judging takes the messages one
 * by one and cannot fail. Waiting is for the disk, without the domain's lock.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/store.h"

#define PREFETCH_AHEAD 12

typedef enum judge_kind { JUDGE_RECORD, JUDGE_CLAIM } judge_kind;

static bool has_id(const hapax_message *message)
{
    return message->id != NULL && message->id_len > 0;
}

static size_t source_len(const hapax_message *message)
{
    return message->source == NULL ? 0 : message->source_len;
}

static hx_hash hash_of(const hapax_domain *domain, const hapax_message *message)
{
    if (message->hash != NULL)
        return (hx_hash){hx_get_le64(message->hash), hx_get_le64(message->hash + 8)};
    return hx_siphash_id(domain->store->superblock.key, message->id, message->id_len);
}

static int fail_at(hapax_error *ret_error, size_t index, int status, const char *what)
{
    (void)hx_fail(ret_error, status, "message %zu: %s", index, what);
    if (ret_error != NULL)
        ret_error->index = index;
    return status;
}

/* What can be wrong with a message by itself, and with its kind of time. */
static int check_messages(const hapax_domain *domain, const hapax_message *messages, size_t n, hapax_error *ret_error)
{
    bool decided = domain->window.has_time_mode;
    bool given = domain->window.stamps.given_times;
    for (size_t i = 0; i < n; i++) {
        const hapax_message *message = &messages[i];
        if (source_len(message) > HAPAX_NAME_MAX)
            return fail_at(ret_error, i, HAPAX_ERR_TOO_LONG, "the source is longer than 1,024 bytes");
        if (!has_id(message))
            continue;
        if (message->id_len > HAPAX_ID_MAX)
            return fail_at(ret_error, i, HAPAX_ERR_TOO_LONG, "the id is longer than 4,096 bytes");
        bool is_given = message->time_ms != HAPAX_NOW;
        if (is_given && (message->time_ms < -HAPAX_TIME_MAX_MS || message->time_ms > HAPAX_TIME_MAX_MS))
            return fail_at(ret_error, i, HAPAX_ERR_INVALID, "the receive time is out of range");
        if (decided && is_given != given)
            return fail_at(ret_error, i, HAPAX_ERR_TIME_MODE,
                           given ? "no time is given, but the domain takes given times"
                                 : "a time is given, but the domain runs on its activity clock");
        decided = true;
        given = is_given;
    }
    return HAPAX_OK;
}

/* The names in the results of the last call need not be kept any longer. */
static void drop_receipts(hapax_domain *domain)
{
    for (size_t i = 0; i < domain->receipts_len; i++)
        hx_sources_unref(&domain->window.sources, domain->receipts[i]);
    domain->receipts_len = 0;
}

static hx_event *add_event(hapax_domain *domain, uint8_t type)
{
    assert(domain->events_len < domain->events_cap);
    hx_event *event = &domain->events[domain->events_len++];
    *event = (hx_event){.type = type, .domain = domain->number};
    return event;
}

/* The log learns a source's name before its number is used. *name_bytes counts the blobs. */
static int announce_source(hapax_domain *domain, uint32_t number, size_t *name_bytes)
{
    hx_source *source = &domain->window.sources.items[number];
    if (source->log_number != 0 || domain->store->wal.in_memory)
        return HAPAX_OK;
    if (domain->next_log_number == UINT32_MAX)
        return HAPAX_ERR_FULL;
    unsigned char *name = malloc(source->name_len + 1u);
    if (name == NULL)
        return HAPAX_ERR_MEMORY;
    memcpy(name, source->name, source->name_len);
    source->log_number = domain->next_log_number++;
    hx_event *event = add_event(domain, HX_EVENT_SOURCE);
    event->source = source->log_number;
    event->blob.data = name;
    event->blob.len = source->name_len;
    *name_bytes += source->name_len;
    return HAPAX_OK;
}

/* Hashes, finds the sources and makes room in their windows. */
static int prepare_messages(hapax_domain *domain, const hapax_message *messages, size_t n, size_t *name_bytes)
{
    const hapax_message *last = NULL; /* the message whose source was looked up last */
    uint32_t source = HX_SOURCE_NONE;
    for (size_t i = 0; i < n; i++) {
        const hapax_message *message = &messages[i];
        if (!has_id(message))
            continue;
        domain->prepared[i].hash = hash_of(domain, message);
        size_t len = source_len(message);
        bool same =
            last != NULL && source_len(last) == len && (len == 0 || memcmp(last->source, message->source, len) == 0);
        int rc = HAPAX_OK;
        if (!same) {
            rc = hx_sources_take(&domain->window.sources, message->source, len, &source);
            if (rc < 0)
                return rc;
            last = message;
        }
        domain->prepared[i].source = source;
        if (!same)
            rc = announce_source(domain, source, name_bytes);
        if (rc == HAPAX_OK)
            rc = hx_window_reserve_source(&domain->window, source);
        if (rc < 0)
            return rc;
    }
    return HAPAX_OK;
}

/* After a failure in preparing: what was announced did not reach the log, so those numbers stand for nothing. */
static void take_back(hapax_domain *domain, size_t n)
{
    for (size_t i = 0; i < domain->events_len; i++)
        free(domain->events[i].blob.data);
    if (domain->events_len > 0)
        domain->next_log_number = domain->events[0].source;
    for (size_t i = 0; i < n && domain->events_len > 0; i++) {
        uint32_t source = domain->prepared[i].source;
        if (source != HX_SOURCE_NONE && domain->window.sources.items[source].log_number >= domain->events[0].source)
            domain->window.sources.items[source].log_number = 0;
    }
    domain->events_len = 0;
    hx_domain_settle_sources(domain, n);
}

static int prepare(hapax_domain *domain, const hapax_message *messages, size_t n, judge_kind kind,
                   hx_wal_room *ret_room, hapax_error *ret_error)
{
    int rc = check_messages(domain, messages, n, ret_error);
    if (rc < 0)
        return rc;
    rc = hx_domain_reserve_scratch(domain, n);
    if (rc < 0)
        return hx_fail(ret_error, rc, "no memory for a batch of %zu messages", n);
    drop_receipts(domain);
    size_t name_bytes = 0;
    size_t promise = kind == JUDGE_CLAIM ? 2 * n : 0;
    rc = prepare_messages(domain, messages, n, &name_bytes);
    if (rc == HAPAX_OK)
        rc = hx_window_reserve(&domain->window, n);
    if (rc == HAPAX_OK && kind == JUDGE_CLAIM)
        rc = hx_claims_reserve(&domain->window.claims, n);
    if (rc < 0)
        (void)hx_fail(ret_error, rc,
                      rc == HAPAX_ERR_FULL ? "the memory budget of %llu bytes is reached"
                                           : "no memory for a batch beside %llu bytes",
                      (unsigned long long)(rc == HAPAX_ERR_FULL ? domain->store->memory.limit_bytes
                                                                : domain->store->memory.used_bytes));
    *ret_room = (hx_wal_room){domain->events_len + n + 2, name_bytes};
    if (rc == HAPAX_OK)
        rc = hx_wal_reserve(&domain->store->wal, ret_room, promise, ret_error);
    if (rc < 0)
        take_back(domain, n);
    return rc;
}

/* The receive time of a message: given or not, believed or not, never below the domain's last. */
static int64_t receive_time(const hx_window *window, hx_step_state *step, const hapax_message *message,
                            int64_t now_ms, uint32_t *steps)
{
    int64_t time_ms = now_ms;
    if (message->time_ms != HAPAX_NOW) {
        time_ms = message->time_ms;
        int64_t max_step_ms = window->settings.max_step_ms;
        bool ahead = max_step_ms != HAPAX_FOREVER && window->has_last && time_ms > window->last_ms + max_step_ms;
        bool again = step->has_previous && step->ahead && llabs(time_ms - step->previous_ms) <= max_step_ms;
        *step = (hx_step_state){true, ahead, time_ms};
        if (ahead && !again) {
            (*steps)++;
            return window->last_ms;
        }
    }
    return window->has_last && window->last_ms > time_ms ? window->last_ms : time_ms;
}

typedef struct first_held {
    uint64_t order;
    hx_entry entry;
} first_held;

static bool take_first(void *arg, uint64_t order, const hx_entry *entry)
{
    first_held *first = arg;
    first->order = order;
    first->entry = *entry;
    return false;
}

/* The earliest receipt that is still held, else that of the claim. */
static void fill_receipt(const hx_window *window, hx_hash hash, const hx_claim *claim, hapax_result *result)
{
    first_held first = {0};
    hx_window_each(window, hash, take_first, &first);
    if (first.order != 0) {
        int64_t age_ms;
        result->first_receive_ms = first.entry.time_ms;
        result->first_source = first.entry.source;
        hx_stamps_get(&window->stamps, first.order, first.entry.time_ms, &result->first_wall_ms, &age_ms);
    } else {
        assert(claim != NULL); /* a known id has an occurrence or a claim */
        result->first_receive_ms = claim->moment.time_ms;
        result->first_source = claim->source;
        result->first_wall_ms = claim->moment.wall_ms;
    }
}

static void fill_arrival(hx_event *event, const hx_moment *moment, hx_hash hash, uint32_t source, uint64_t seq)
{
    event->time_ms = moment->time_ms;
    event->activity_ms = moment->activity_ms;
    event->wall_ms = moment->wall_ms;
    event->hash = hash;
    event->source = source;
    event->seq = seq;
}

/* One message that has an id. */
static void judge_one(hapax_domain *domain, const hx_prepared *prepared, const hx_moment *moment, judge_kind kind,
                      hx_event_counts *counts, hapax_result *result)
{
    hx_window *window = &domain->window;
    bool too_old;
    uint64_t latest = hx_window_find(window, prepared->hash, moment->age_ms, &too_old);
    hx_claim *claim = hx_claims_find(&window->claims, prepared->hash);
    bool known = latest != 0 || claim != NULL;
    result->verdict = !known ? HAPAX_NEW : claim != NULL ? HAPAX_IN_FLIGHT : HAPAX_DUPLICATE;
    if (too_old)
        hx_window_forget(window, prepared->hash);
    if (known) {
        fill_receipt(window, prepared->hash, claim, result);
        hx_sources_ref(&window->sources, result->first_source);
        domain->receipts[domain->receipts_len++] = result->first_source;
    }
    if (known && !window->settings.refresh) {
        counts->in_flight += claim != NULL;
        counts->duplicate += claim == NULL;
        return;
    }
    uint64_t seq = domain->next_seq++;
    if ((known || kind == JUDGE_RECORD) && domain->store->wal.in_memory) {
        domain->events_len++; /* counted only: nothing will read it */
    } else if (known || kind == JUDGE_RECORD) {
        hx_event *event = add_event(domain, claim != NULL ? HX_EVENT_RENEW : HX_EVENT_ARRIVE);
        fill_arrival(event, moment, prepared->hash, window->sources.items[prepared->source].log_number, seq);
        event->flags = (uint8_t)((window->stamps.given_times ? HX_EVENT_GIVEN_TIME : 0) |
                                 (known && claim == NULL ? HX_EVENT_DUPLICATE : 0));
        event->claim_seq = claim != NULL ? claim->seq : 0;
    } else {
        hx_claim opened = {.hash = prepared->hash, .moment = *moment, .seq = seq, .source = prepared->source};
        result->claim = hx_claims_open(&window->claims, &opened);
        hx_sources_ref(&window->sources, prepared->source);
    }
    if (!hx_window_arrive(window, prepared->hash, prepared->source, moment, latest))
        counts->over_limit++;
}

/*
 * Silent sources were emptied. That is logged, because the message that came may leave no event; the activity does
 * not change within a call, so it happens once.
 */
static void add_emptied(hapax_domain *domain, const hx_moment *moment)
{
    hx_event *event = add_event(domain, HX_EVENT_IDLE);
    event->seq = domain->next_seq++;
    event->activity_ms = moment->activity_ms;
    event->wall_ms = moment->wall_ms;
}

static void count_verdict(hapax_domain *domain, hapax_verdict verdict)
{
    hx_counters *counters = &domain->counters;
    switch (verdict) {
    case HAPAX_NEW: counters->new_count++; break;
    case HAPAX_DUPLICATE: counters->duplicate++; break;
    case HAPAX_IN_FLIGHT: counters->in_flight++; break;
    default: counters->unchecked++; break;
    }
}

/* Stages what the call did that is no arrival. */
static void add_counts(hapax_domain *domain, const hx_event_counts *counts, bool given)
{
    domain->counters.over_limit += counts->over_limit;
    domain->counters.steps += counts->steps;
    bool step = given && domain->window.settings.max_step_ms != HAPAX_FOREVER;
    if (counts->duplicate + counts->in_flight + counts->unchecked + counts->over_limit + counts->steps == 0 && !step)
        return;
    hx_event *event = add_event(domain, HX_EVENT_COUNT);
    event->counts = *counts;
    if (step) {
        event->flags = (uint8_t)(HX_EVENT_HAS_STEP | (domain->step.ahead ? HX_EVENT_STEP_AHEAD : 0));
        event->time_ms = domain->step.previous_ms;
    }
}

/* Judges the prepared messages and stages the events. Returns the position to wait for, or 0. */
static uint64_t judge(hapax_domain *domain, const hapax_message *messages, size_t n, judge_kind kind,
                      const hx_wal_room *room, hapax_result *results)
{
    hx_window *window = &domain->window;
    hx_moment moment = hx_domain_moment(domain);
    int64_t now_ms = moment.time_ms;
    hx_event_counts counts = {0};
    bool given = false;
    size_t arrivals = 0;
    size_t opened = 0;
    for (size_t i = 0; i < n; i++) {
        if (i + PREFETCH_AHEAD < n && has_id(&messages[i + PREFETCH_AHEAD]))
            hx_index_prefetch(&window->index, domain->prepared[i + PREFETCH_AHEAD].hash);
        hapax_result *result = &results[i];
        *result = (hapax_result){.verdict = HAPAX_UNCHECKED, .first_source = HX_SOURCE_NONE};
        if (has_id(&messages[i])) {
            given = messages[i].time_ms != HAPAX_NOW;
            if (!window->has_time_mode)
                hx_domain_set_time_mode(domain, given);
            if (hx_window_empty_idle(window, moment.activity_ms))
                add_emptied(domain, &moment);
            moment.time_ms = receive_time(window, &domain->step, &messages[i], now_ms, &counts.steps);
            result->receive_ms = moment.time_ms;
            size_t events_before = domain->events_len;
            judge_one(domain, &domain->prepared[i], &moment, kind, &counts, result);
            arrivals += domain->events_len - events_before;
            opened += result->claim != 0;
        } else {
            counts.unchecked++;
        }
        count_verdict(domain, result->verdict);
        result->position = domain->events_len; /* made whole below */
    }
    add_counts(domain, &counts, given);
    uint64_t before;
    uint64_t last = domain->store->wal.in_memory
                        ? hx_wal_count(&domain->store->wal, room, domain->events_len, &before)
                        : hx_wal_append(&domain->store->wal, room, domain->events, domain->events_len, &before);
    for (size_t i = 0; i < n; i++)
        results[i].position = results[i].position + before < last ? results[i].position + before : last;
    if (kind == JUDGE_CLAIM)
        hx_wal_unpromise(&domain->store->wal, 2 * (n - opened));
    domain->events_len = 0;
    /* A DUPLICATE that left no event waits all the same for what made the id known: until then it may be lost. */
    return arrivals > 0 ? last : counts.duplicate > 0 ? before : 0;
}

static int check_call(const hapax_domain *domain, const hapax_message *messages, size_t n,
                      const hapax_result *results, hapax_error *ret_error)
{
    if (domain == NULL || (n > 0 && (messages == NULL || results == NULL)))
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "a domain, messages and a place for the results are needed");
    if (n > HAPAX_BATCH_MAX)
        return hx_fail(ret_error, HAPAX_ERR_TOO_LONG, "a batch of %zu messages; at most %d are taken", n,
                       HAPAX_BATCH_MAX);
    return HAPAX_OK;
}

static int prepare_and_judge(hapax_domain *domain, const hapax_message *messages, size_t n, judge_kind kind,
                             hapax_result *ret_results, hapax_error *ret_error)
{
    int rc = check_call(domain, messages, n, ret_results, ret_error);
    if (rc < 0)
        return rc;
    if (domain->store->read_only)
        return hx_fail(ret_error, HAPAX_ERR_READ_ONLY, "the store is open for reading");
    uint64_t position = 0;
    pthread_mutex_lock(&domain->lock);
    hx_wal_room room;
    rc = prepare(domain, messages, n, kind, &room, ret_error);
    if (rc == HAPAX_OK) {
        position = judge(domain, messages, n, kind, &room, ret_results);
        hx_domain_settle_sources(domain, n);
    }
    pthread_mutex_unlock(&domain->lock);
    return rc < 0 ? rc : hx_wal_finish(&domain->store->wal, position, ret_error);
}

int hapax_record(hapax_domain *domain, const hapax_message *messages, size_t n, hapax_result *ret_results,
                 hapax_error *ret_error)
{
    return prepare_and_judge(domain, messages, n, JUDGE_RECORD, ret_results, ret_error);
}

int hapax_claim(hapax_domain *domain, const hapax_message *messages, size_t n, hapax_result *ret_results,
                hapax_error *ret_error)
{
    return prepare_and_judge(domain, messages, n, JUDGE_CLAIM, ret_results, ret_error);
}

static void peek_one(const hapax_domain *domain, const hapax_message *message, const hx_moment *moment,
                     hapax_result *result)
{
    const hx_window *window = &domain->window;
    *result = (hapax_result){.verdict = HAPAX_UNCHECKED, .first_source = HX_SOURCE_NONE};
    if (!has_id(message))
        return;
    hx_hash hash = hash_of(domain, message);
    hx_step_state step = domain->step;
    uint32_t steps = 0;
    result->receive_ms = receive_time(window, &step, message, moment->time_ms, &steps);
    uint64_t latest = hx_window_peek(window, hash, moment->age_ms);
    const hx_claim *claim = hx_claims_find(&window->claims, hash);
    result->verdict = claim != NULL ? HAPAX_IN_FLIGHT : latest != 0 ? HAPAX_DUPLICATE : HAPAX_NEW;
    if (result->verdict != HAPAX_NEW)
        fill_receipt(window, hash, claim, result);
}

int hapax_peek(hapax_domain *domain, const hapax_message *messages, size_t n, hapax_result *ret_results,
               hapax_error *ret_error)
{
    int rc = check_call(domain, messages, n, ret_results, ret_error);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&domain->lock);
    rc = check_messages(domain, messages, n, ret_error);
    if (rc == HAPAX_OK)
        rc = hx_wal_failed(&domain->store->wal, ret_error);
    hx_moment moment = hx_domain_moment(domain);
    bool duplicates = false;
    for (size_t i = 0; i < n && rc == HAPAX_OK; i++) {
        peek_one(domain, &messages[i], &moment, &ret_results[i]);
        duplicates |= ret_results[i].verdict == HAPAX_DUPLICATE;
    }
    uint64_t position = duplicates ? hx_wal_staged(&domain->store->wal) : 0;
    pthread_mutex_unlock(&domain->lock);
    return rc < 0 ? rc : hx_wal_settle(&domain->store->wal, position, ret_error);
}
