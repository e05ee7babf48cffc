/*
 * model_rules.c - the rules of the windowed policy on one domain, as the text has them.
 *
 * Readings that the text leaves open, shared with the engine (docs/guarantees.md):
 *  - A source exists while its window holds something; max_sources counts those. One that is there when the message
 *    comes keeps its window, also while its only id moves.
 *  - A source's activity is that of its last claim that changed state, or append by a confirm.
 *  - The receipt of DUPLICATE and IN_FLIGHT is that of the earliest occurrence still held, before the claim acts; of
 *    an id in flight of which nothing is held, that of its claim.
 *  - Of several occurrences of an id in the time queue only the newest is kept.
 *  - max_age goes by the age clock (activity time + wall time between the opens) and by the latest occurrence of the
 *    id; an id in flight is never forgotten by it. A claim of an id that is too old forgets all of it, then it is
 * NEW.
 *  - The "previous given time" of max_step is that of the previous message with an id, believed or not.
 *  - A confirm that appends above max_sources is no message and is not counted as one.
 *  - A message without an id changes a counter and nothing else: no idle source is emptied for it.
 *  - Order within a claim: its time, idle sources, age, verdict, effect.
 */
#include "model/model_rules.h"

#include <stdlib.h>
#include <string.h>

/* ---- questions ---- */

int model_window_count(const model_domain *domain, int source)
{
    int count = 0;
    for (int i = 0; i < domain->held_count; i++) {
        if (domain->held[i].in_window && domain->held[i].source == source) {
            count++;
        }
    }
    return count;
}

int model_source_count(const model_domain *domain)
{
    int count = 0;
    for (int source = 0; source < MODEL_SOURCES; source++) {
        if (model_window_count(domain, source) > 0) {
            count++;
        }
    }
    return count;
}

const model_held *model_first(const model_domain *domain, int id)
{
    for (int i = 0; i < domain->held_count; i++) {
        if (domain->held[i].id == id) {
            return &domain->held[i];
        }
    }
    return NULL;
}

const model_held *model_last(const model_domain *domain, int id)
{
    for (int i = domain->held_count - 1; i >= 0; i--) {
        if (domain->held[i].id == id) {
            return &domain->held[i];
        }
    }
    return NULL;
}

const model_claim *model_open_claim(const model_domain *domain, int id)
{
    for (int i = 0; i < domain->claim_count; i++) {
        if (domain->claims[i].receipt.id == id) {
            return &domain->claims[i];
        }
    }
    return NULL;
}

bool model_over_age(const model_domain *domain, int id, int64_t age_ms)
{
    const model_held *last = model_last(domain, id);
    if (last == NULL || model_open_claim(domain, id) != NULL || domain->settings.max_age_ms == HAPAX_FOREVER) {
        return false;
    }
    return age_ms - last->age_stamp_ms > domain->settings.max_age_ms;
}

int model_rules_find_claim(const model_domain *domain, uint64_t claim)
{
    for (int i = 0; i < domain->claim_count; i++) {
        if (domain->claims[i].number == claim) {
            return i;
        }
    }
    return -1;
}

/* ---- the list ---- */

static void remove_at(model_domain *domain, int index)
{
    for (int i = index; i + 1 < domain->held_count; i++) {
        domain->held[i] = domain->held[i + 1];
    }
    domain->held_count--;
}

static void remove_id(model_domain *domain, int id)
{
    for (int i = domain->held_count - 1; i >= 0; i--) {
        if (domain->held[i].id == id) {
            remove_at(domain, i);
        }
    }
}

/* Rule 5, and rule 7 for T = 0. */
static void expire(model_domain *domain)
{
    int64_t expiry = domain->settings.expiry_ms;
    if (expiry == HAPAX_FOREVER) {
        return;
    }
    for (int i = domain->held_count - 1; i >= 0; i--) {
        const model_held *held = &domain->held[i];
        if (!held->in_window && (expiry == 0 || domain->newest_ms - held->receive_ms > expiry)) {
            remove_at(domain, i);
        }
    }
}

/* The occurrence at index moves to the time queue with its own receive time. */
static void move_to_queue(model_domain *domain, int index)
{
    model_held *held = &domain->held[index];
    held->in_window = false;
    if (!domain->has_newest || held->receive_ms > domain->newest_ms) {
        domain->has_newest = true;
        domain->newest_ms = held->receive_ms;
    }
    /* Of this id the newest in the queue is kept. */
    int id = held->id;
    int keep = -1;
    for (int i = 0; i < domain->held_count; i++) {
        if (domain->held[i].id == id && !domain->held[i].in_window) {
            keep = i; /* the list is in the order of arrival */
        }
    }
    for (int i = keep - 1; i >= 0; i--) {
        if (domain->held[i].id == id && !domain->held[i].in_window) {
            remove_at(domain, i);
        }
    }
    expire(domain);
}

static int oldest_in_window(const model_domain *domain, int source)
{
    for (int i = 0; i < domain->held_count; i++) {
        if (domain->held[i].in_window && domain->held[i].source == source) {
            return i;
        }
    }
    return -1;
}

/* Rule 4. */
static void shrink_window(model_domain *domain, int source, int64_t capacity)
{
    while (model_window_count(domain, source) > capacity) {
        move_to_queue(domain, oldest_in_window(domain, source));
    }
}

static void append(model_domain *domain, const model_held *occurrence, bool has_window, const model_moment *at)
{
    if (domain->held_count == MODEL_HELD) {
        abort();
    }
    model_held *held = &domain->held[domain->held_count++];
    *held = *occurrence;
    held->in_window = true;
    domain->active_ms[held->source] = at->activity_ms;
    shrink_window(domain, occurrence->source, has_window ? domain->settings.window : 0);
}

/* Whether a message of this source gets a window now (rule 10). */
static bool has_window(const model_domain *domain, int source)
{
    return model_window_count(domain, source) > 0 || model_source_count(domain) < domain->settings.max_sources;
}

/* ---- a claim ---- */

static int64_t raise_to_last(const model_domain *domain, int64_t time)
{
    return domain->has_last && time < domain->last_ms ? domain->last_ms : time;
}

static int64_t decide_time(model_domain *domain, int64_t given, const model_moment *at)
{
    domain->mode = given == HAPAX_NOW ? MODEL_ACTIVITY : MODEL_GIVEN;
    if (at->settled) {
        return raise_to_last(domain, at->settled_ms);
    }
    if (given == HAPAX_NOW) {
        return raise_to_last(domain, at->clock_ms);
    }
    int64_t step = domain->settings.max_step_ms;
    bool ahead = domain->has_last && step != HAPAX_FOREVER && given - domain->last_ms > step;
    const model_step *before = &domain->step;
    bool near_previous =
        before->there && before->ahead && given - before->given_ms <= step && before->given_ms - given <= step;
    domain->step = (model_step){.there = true, .given_ms = given, .ahead = ahead};
    if (ahead && !near_previous) {
        domain->not_believed++;
        return domain->last_ms;
    }
    return raise_to_last(domain, given);
}

static void empty_idle_sources(model_domain *domain, const model_moment *at)
{
    int64_t idle = domain->settings.source_idle_ms;
    if (idle == HAPAX_FOREVER) {
        return;
    }
    for (int source = 0; source < MODEL_SOURCES; source++) {
        if (at->activity_ms - domain->active_ms[source] >= idle) {
            shrink_window(domain, source, 0);
        }
    }
}

static void count_verdict(model_domain *domain, hapax_verdict verdict)
{
    switch (verdict) {
    case HAPAX_NEW: domain->new_count++; break;
    case HAPAX_DUPLICATE: domain->duplicate_count++; break;
    case HAPAX_IN_FLIGHT: domain->in_flight_count++; break;
    default: domain->unchecked_count++; break;
    }
}

/* Rules 2 to 4 for a message whose verdict stands. */
static void act(model_domain *domain, const model_held *occurrence, bool window, const model_moment *at)
{
    for (int i = 0; i < domain->held_count; i++) {
        const model_held *held = &domain->held[i];
        if (held->id == occurrence->id && held->in_window && held->source == occurrence->source) {
            move_to_queue(domain, i);
            break;
        }
    }
    append(domain, occurrence, window, at);
    domain->has_last = true;
    domain->last_ms = occurrence->receive_ms;
}

static void add_claim(model_domain *domain, uint64_t number, const model_held *receipt)
{
    if (domain->claim_count == MODEL_CLAIMS) {
        abort();
    }
    domain->claims[domain->claim_count++] = (model_claim){.number = number, .receipt = *receipt};
}

void model_rules_judge(model_domain *domain, const model_message *message, const model_moment *at, bool record,
                       uint64_t claim_number, model_answer *ret_answer)
{
    memset(ret_answer, 0, sizeof *ret_answer);
    if (message->id == MODEL_NO_ID) {
        ret_answer->verdict = HAPAX_UNCHECKED;
        count_verdict(domain, HAPAX_UNCHECKED);
        return;
    }
    model_held occurrence = {
        .id = message->id,
        .source = message->source,
        .order = at->order,
        .wall_ms = at->wall_ms,
        .age_stamp_ms = at->age_ms,
    };
    occurrence.receive_ms = decide_time(domain, message->time_ms, at);
    ret_answer->receive_ms = occurrence.receive_ms;
    empty_idle_sources(domain, at);
    if (model_over_age(domain, message->id, at->age_ms)) {
        remove_id(domain, message->id);
    }
    const model_claim *claim = model_open_claim(domain, message->id);
    const model_held *first = model_first(domain, message->id);
    if (claim == NULL && first == NULL) {
        ret_answer->verdict = HAPAX_NEW;
    } else {
        ret_answer->verdict = claim != NULL ? HAPAX_IN_FLIGHT : HAPAX_DUPLICATE;
        ret_answer->claim = claim != NULL ? claim->number : 0;
        ret_answer->first = first != NULL ? *first : claim->receipt;
    }
    count_verdict(domain, ret_answer->verdict);
    ret_answer->changed = ret_answer->verdict == HAPAX_NEW || domain->settings.refresh == 1;
    if (ret_answer->changed) {
        bool window = has_window(domain, occurrence.source);
        domain->over_limit += window ? 0 : 1;
        act(domain, &occurrence, window, at);
    }
    if (ret_answer->verdict == HAPAX_NEW && !record) {
        ret_answer->claim = claim_number;
        add_claim(domain, claim_number, &occurrence);
    }
}

void model_rules_open_claim(model_domain *domain, uint64_t claim, const model_message *message,
                            const model_moment *at)
{
    model_held receipt = {
        .id = message->id,
        .source = message->source,
        .order = at->order,
        .receive_ms = raise_to_last(domain, at->settled_ms),
        .wall_ms = at->wall_ms,
        .age_stamp_ms = at->age_ms,
    };
    add_claim(domain, claim, &receipt);
}

/* ---- the rest ---- */

static void drop_claim(model_domain *domain, int index)
{
    for (int i = index; i + 1 < domain->claim_count; i++) {
        domain->claims[i] = domain->claims[i + 1];
    }
    domain->claim_count--;
}

int64_t model_rules_confirm_time(const model_domain *domain, int64_t time_ms, const model_moment *at)
{
    if (time_ms == HAPAX_NOW) {
        time_ms = domain->mode == MODEL_GIVEN ? domain->last_ms : at->clock_ms;
    }
    return raise_to_last(domain, time_ms);
}

void model_rules_confirm(model_domain *domain, uint64_t claim, int64_t time_ms, const model_moment *at)
{
    int index = model_rules_find_claim(domain, claim);
    model_held receipt = domain->claims[index].receipt;
    drop_claim(domain, index);
    if (model_first(domain, receipt.id) != NULL) {
        return;
    }
    receipt.order = at->order;
    receipt.receive_ms = model_rules_confirm_time(domain, time_ms, at);
    receipt.wall_ms = at->wall_ms;
    receipt.age_stamp_ms = at->age_ms;
    act(domain, &receipt, has_window(domain, receipt.source), at);
}

void model_rules_release(model_domain *domain, uint64_t claim)
{
    int index = model_rules_find_claim(domain, claim);
    int id = domain->claims[index].receipt.id;
    drop_claim(domain, index);
    remove_id(domain, id);
}

void model_rules_apply_settings(model_domain *domain, const hapax_domain_options *settings)
{
    domain->settings = *settings;
    for (int source = 0; source < MODEL_SOURCES; source++) {
        shrink_window(domain, source, settings->window);
    }
    if (domain->has_newest) {
        expire(domain);
    }
}
