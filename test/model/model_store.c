/*
 * model_store.c - the store around the domains: clocks, settings, batches, and what a crash leaves.
 *
 * The one idea: beside the live state stands a copy of what was there at the open, and the list of everything that
 * happened since, numbered by arrival. A clean close releases the open claims and the live state stays. A crash
 * throws the live state away and judges again, from the copy and in the order of arrival:
 *   - the opens of domains with their settings,
 *   - claims that were confirmed later, each at its own place, and the confirm at its place (12c judged again),
 *   - recorded messages,
 *   - answers DUPLICATE and IN_FLIGHT that changed state, the latter only where their claim was confirmed later.
 * Claims never confirmed, released ones and everything these had pushed out are as if they had never been. The
 * receive times are those of the first judgement, raised where the new last one is later. With a hold only the first
 * durable_count events are there, and a confirm behind them is none.
 */
#include "model/model.h"
#include "model/model_rules.h"

#include <stdlib.h>
#include <string.h>

static const int64_t TIME_LIMIT = INT64_C(1) << 51;

/* ---- clocks ---- */

int64_t model_activity(const model_store *store)
{
    return store->opened_activity_ms + (store->monotonic_ms - store->opened_monotonic_ms);
}

static model_moment moment_now(const model_store *store, const model_domain *domain)
{
    return (model_moment){
        .clock_ms = domain->clock_base_ms + (store->monotonic_ms - domain->clock_from_ms),
        .activity_ms = model_activity(store),
        .age_ms = model_activity(store) + store->age_ahead_ms,
        .wall_ms = store->wall_ms,
        .order = store->next_order,
    };
}

/* ---- events ---- */

static model_event *add_event(model_store *store, int kind, int domain, const model_moment *at)
{
    if (store->event_count == MODEL_EVENTS) {
        abort();
    }
    model_event *event = &store->events[store->event_count++];
    memset(event, 0, sizeof *event);
    event->kind = kind;
    event->domain = domain;
    if (at != NULL) {
        event->moment = *at;
    }
    store->next_order++;
    return event;
}

/* The call waits for the disk: all events so far are durable, unless writes are held. */
static void wait_for_disk(model_store *store)
{
    if (!store->hold) {
        store->durable_count = store->event_count;
    }
}

/* Whether the claim is confirmed by an event that the crash leaves. */
static bool confirmed_later(const model_store *store, int domain, uint64_t claim)
{
    for (size_t i = 0; i < store->durable_count; i++) {
        const model_event *event = &store->events[i];
        if (event->kind == MODEL_CONFIRM && event->domain == domain && event->claim == claim) {
            return true;
        }
    }
    return false;
}

static void replay_message(model_store *store, model_domain *domain, const model_event *event)
{
    bool record = event->record || event->verdict != HAPAX_NEW;
    if (event->verdict == HAPAX_NEW && !event->record && !confirmed_later(store, event->domain, event->claim)) {
        return;
    }
    if (event->verdict == HAPAX_IN_FLIGHT && !confirmed_later(store, event->domain, event->claim)) {
        return;
    }
    if (event->verdict == HAPAX_UNCHECKED || !event->changed) {
        return;
    }
    model_answer answer;
    model_rules_judge(domain, &event->message, &event->moment, true, 0, &answer);
    if (!record) {
        model_rules_open_claim(domain, event->claim, &event->message, &event->moment);
    }
}

static void replay(model_store *store)
{
    for (size_t i = 0; i < store->durable_count; i++) {
        const model_event *event = &store->events[i];
        model_domain *domain = event->kind == MODEL_BOOKMARK ? NULL : &store->domains[event->domain];
        switch (event->kind) {
        case MODEL_OPEN:
            domain->exists = true;
            model_rules_apply_settings(domain, &event->settings);
            break;
        case MODEL_MESSAGE: replay_message(store, domain, event); break;
        case MODEL_CONFIRM:
            model_rules_confirm(domain, event->claim, event->moment.settled_ms, &event->moment);
            break;
        case MODEL_RELEASE: break;
        case MODEL_BOOKMARK: store->bookmark = event->bookmark; break;
        }
    }
}

/* ---- down and up ---- */

void model_create(model_store *store, bool hold, int64_t monotonic_ms, int64_t wall_ms)
{
    memset(store->domains, 0, sizeof store->domains);
    store->bookmark = 0;
    store->age_ahead_ms = 0;
    store->next_order = 1;
    store->next_claim = 1;
    store->monotonic_ms = monotonic_ms;
    store->wall_ms = wall_ms;
    model_open(store, hold, 0, 0);
}

void model_close(model_store *store)
{
    for (int i = 0; i < MODEL_DOMAINS; i++) {
        while (store->domains[i].claim_count > 0) {
            model_rules_release(&store->domains[i], store->domains[i].claims[0].number);
        }
    }
}

void model_crash(model_store *store)
{
    memcpy(store->domains, store->base, sizeof store->domains);
    store->bookmark = store->base_bookmark;
    replay(store);
    for (int i = 0; i < MODEL_DOMAINS; i++) {
        store->domains[i].step.there = false;
    }
}

void model_open(model_store *store, bool hold, int64_t activity_ms, int64_t downtime_ms)
{
    store->hold = hold;
    store->opened_monotonic_ms = store->monotonic_ms;
    store->opened_activity_ms = activity_ms;
    store->age_ahead_ms += downtime_ms;
    store->event_count = 0;
    store->durable_count = 0;
    for (int i = 0; i < MODEL_DOMAINS; i++) {
        model_domain *domain = &store->domains[i];
        domain->is_open = false;
        domain->clock_base_ms = domain->has_last ? domain->last_ms : 0;
        domain->clock_from_ms = store->monotonic_ms;
    }
    memcpy(store->base, store->domains, sizeof store->base);
    store->base_bookmark = store->bookmark;
}

/* ---- domains ---- */

static void settle(int64_t *setting, int64_t wanted, unsigned bit, unsigned *changed)
{
    if (wanted != HAPAX_UNSET && wanted != *setting) {
        *setting = wanted;
        *changed |= 1U << bit;
    }
}

static unsigned merge_settings(hapax_domain_options *settings, const hapax_domain_options *wanted)
{
    unsigned changed = 0;
    settle(&settings->window, wanted->window, 0, &changed);
    settle(&settings->expiry_ms, wanted->expiry_ms, 1, &changed);
    settle(&settings->refresh, wanted->refresh, 2, &changed);
    settle(&settings->max_age_ms, wanted->max_age_ms, 3, &changed);
    settle(&settings->source_idle_ms, wanted->source_idle_ms, 4, &changed);
    settle(&settings->max_sources, wanted->max_sources, 5, &changed);
    settle(&settings->max_step_ms, wanted->max_step_ms, 6, &changed);
    return changed;
}

static hapax_domain_options default_settings(void)
{
    hapax_domain_options settings = {
        .size = sizeof settings,
        .window = 2000,
        .expiry_ms = 120000,
        .refresh = 1,
        .max_age_ms = HAPAX_FOREVER,
        .source_idle_ms = HAPAX_FOREVER,
        .max_sources = 65536,
        .max_step_ms = HAPAX_FOREVER,
    };
    return settings;
}

/* Whether these settings move something out of a window or forget something, at once or at the next look-up. */
static bool pushes_out(const model_store *store, const model_domain *domain, const hapax_domain_options *settings)
{
    int64_t activity_ms = model_activity(store);
    model_domain copy = *domain;
    model_rules_apply_settings(&copy, settings);
    if (copy.held_count != domain->held_count) {
        return true;
    }
    for (int i = 0; i < copy.held_count; i++) {
        const model_held *held = &copy.held[i];
        bool idle = held->in_window && settings->source_idle_ms < domain->settings.source_idle_ms &&
                    activity_ms - copy.active_ms[held->source] >= settings->source_idle_ms;
        bool old = settings->max_age_ms < domain->settings.max_age_ms &&
                   model_over_age(&copy, held->id, activity_ms + store->age_ahead_ms);
        if (held->in_window != domain->held[i].in_window || idle || old) {
            return true;
        }
    }
    return false;
}

int model_domain_open(model_store *store, int number, const hapax_domain_options *options, unsigned *ret_changed)
{
    model_domain *domain = &store->domains[number];
    hapax_domain_options settings = domain->exists ? domain->settings : default_settings();
    unsigned changed = merge_settings(&settings, options);
    if (settings.window == 0 && settings.expiry_ms == 0) {
        return HAPAX_ERR_INVALID;
    }
    if (domain->is_open && changed != 0) {
        return HAPAX_ERR_SETTINGS;
    }
    if (domain->exists && !options->change_settings && pushes_out(store, domain, &settings)) {
        return HAPAX_ERR_SETTINGS;
    }
    if (!domain->exists || changed != 0) {
        model_moment at = moment_now(store, domain);
        add_event(store, MODEL_OPEN, number, &at)->settings = settings;
        wait_for_disk(store);
    }
    if (!domain->exists) {
        memset(domain, 0, sizeof *domain);
        domain->exists = true;
        domain->clock_from_ms = store->monotonic_ms;
        changed = 0;
    }
    if (!domain->is_open) {
        *ret_changed = changed;
    }
    domain->is_open = true;
    model_rules_apply_settings(domain, &settings);
    return 0;
}

/* ---- messages ---- */

/* A batch is refused as a whole for a time out of range or of the wrong mode. */
static int check_times(const model_domain *domain, const model_message *messages, size_t n, size_t *ret_index)
{
    int mode = domain->mode;
    for (size_t i = 0; i < n; i++) {
        int64_t time = messages[i].time_ms;
        int wants = time == HAPAX_NOW ? MODEL_ACTIVITY : MODEL_GIVEN;
        *ret_index = i;
        if (messages[i].id == MODEL_NO_ID) {
            continue;
        }
        if (wants == MODEL_GIVEN && (time < -TIME_LIMIT || time > TIME_LIMIT)) {
            return HAPAX_ERR_INVALID;
        }
        mode = mode == MODEL_UNDECIDED ? wants : mode;
        if (mode != wants) {
            return HAPAX_ERR_TIME_MODE;
        }
    }
    return 0;
}

int model_judge(model_store *store, int number, const model_message *messages, size_t n, bool record,
                model_answer *ret_answers, size_t *ret_index)
{
    model_domain *domain = &store->domains[number];
    int rc = check_times(domain, messages, n, ret_index);
    if (rc < 0) {
        return rc;
    }
    bool waits = false;
    for (size_t i = 0; i < n; i++) {
        model_moment at = moment_now(store, domain);
        model_rules_judge(domain, &messages[i], &at, record, store->next_claim, &ret_answers[i]);
        if (ret_answers[i].verdict == HAPAX_NEW && !record) {
            store->next_claim++;
        }
        if (ret_answers[i].changed) {
            at.settled = true;
            at.settled_ms = ret_answers[i].receive_ms;
            model_event *event = add_event(store, MODEL_MESSAGE, number, &at);
            event->message = messages[i];
            event->record = record;
            event->verdict = ret_answers[i].verdict;
            event->changed = true;
            event->claim = ret_answers[i].claim;
            waits = waits || record || event->verdict != HAPAX_NEW;
        }
        ret_answers[i].position = store->event_count;
    }
    if (waits) {
        wait_for_disk(store);
    }
    return 0;
}

int model_peek(model_store *store, int number, const model_message *messages, size_t n, model_answer *ret_answers,
               size_t *ret_index)
{
    const model_domain *domain = &store->domains[number];
    int rc = check_times(domain, messages, n, ret_index);
    for (size_t i = 0; i < n && rc == 0; i++) {
        model_domain copy = *domain;
        copy.settings.source_idle_ms = HAPAX_FOREVER; /* a look does not empty silent sources (hapax.h) */
        model_moment at = moment_now(store, domain);
        model_rules_judge(&copy, &messages[i], &at, true, 0, &ret_answers[i]);
    }
    return rc;
}

/* ---- claims ---- */

static int check_claims(const model_domain *domain, const uint64_t *claims, size_t n, size_t *ret_index)
{
    for (size_t i = 0; i < n; i++) {
        bool twice = false;
        for (size_t j = 0; j < i; j++) {
            twice = twice || claims[j] == claims[i];
        }
        if (twice || model_rules_find_claim(domain, claims[i]) < 0) {
            *ret_index = i;
            return HAPAX_ERR_NOT_FOUND;
        }
    }
    return 0;
}

int model_confirm(model_store *store, int number, const uint64_t *claims, size_t n, int64_t time_ms,
                  size_t *ret_index)
{
    model_domain *domain = &store->domains[number];
    int rc = check_claims(domain, claims, n, ret_index);
    if (rc < 0) {
        return rc;
    }
    *ret_index = 0;
    if (n > 0 && time_ms != HAPAX_NOW && domain->mode == MODEL_ACTIVITY) {
        return HAPAX_ERR_TIME_MODE;
    }
    if (n > 0 && time_ms != HAPAX_NOW && (time_ms < -TIME_LIMIT || time_ms > TIME_LIMIT)) {
        return HAPAX_ERR_INVALID;
    }
    for (size_t i = 0; i < n; i++) {
        model_moment at = moment_now(store, domain);
        at.settled_ms = model_rules_confirm_time(domain, time_ms, &at);
        model_event *event = add_event(store, MODEL_CONFIRM, number, &at);
        event->claim = claims[i];
        model_rules_confirm(domain, claims[i], time_ms, &at);
        wait_for_disk(store);
    }
    return 0;
}

int model_release(model_store *store, int number, const uint64_t *claims, size_t n, size_t *ret_index)
{
    model_domain *domain = &store->domains[number];
    int rc = check_claims(domain, claims, n, ret_index);
    for (size_t i = 0; i < n && rc == 0; i++) {
        model_moment at = moment_now(store, domain);
        add_event(store, MODEL_RELEASE, number, &at)->claim = claims[i];
        model_rules_release(domain, claims[i]);
    }
    return rc;
}

/* ---- hold ---- */

size_t model_bookmark(model_store *store, int value)
{
    store->bookmark = value;
    add_event(store, MODEL_BOOKMARK, 0, NULL)->bookmark = value;
    return store->event_count;
}

void model_commit(model_store *store, size_t position)
{
    position = position > store->event_count ? store->event_count : position;
    if (position > store->durable_count) {
        store->durable_count = position;
    }
}
