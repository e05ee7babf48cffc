/*
 * compare.c - the library's answers, dump, statistics and explanations beside those of the model.
 *
 * The one idea: both sides are made into the same plain rows and walked together; where they differ both are printed
 * whole. The name of a source may be missing only where the contract lets it go: where max_sources is that low that
 * sources come above it, or nothing of the source is held. A name that is there has to be the right one.
 */
#include "model/compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = MODEL_HELD + MODEL_CLAIMS,
    LONG_ID = 300,
};

typedef struct row {
    int id;
    int source; /* -1: its name is not kept */
    unsigned held_by;
    int64_t receive_ms;
    int64_t wall_ms;
    uint64_t order;
} row;

typedef struct rows {
    row items[ROWS];
    int count;
    const compare_domain *c;
} rows;

const void *compare_id(int id, size_t *ret_len)
{
    static const char *const short_ids[MODEL_IDS] = {
        "a", "b", "order-c", "\0", "e\0e", "f\n", NULL, "\xff\xfe", "  ", "\xf0\x9f\x98\x80",
        "k", "l", "m",       "n",  "o",    "p",
    };
    static const size_t lens[MODEL_IDS] = {1, 1, 7, 1, 3, 2, LONG_ID, 2, 2, 4, 1, 1, 1, 1, 1, 1};
    static const char long_id[LONG_ID] = "a long id, the rest of it is zero";
    *ret_len = lens[id];
    return short_ids[id] == NULL ? long_id : short_ids[id];
}

const char *compare_source(int source)
{
    static const char *const sources[MODEL_SOURCES] = {"", "A", "B", "C", "D", "E"};
    return sources[source];
}

const char *compare_domain_name(int domain)
{
    static const char *const domains[MODEL_DOMAINS] = {"orders", "payments", "x"};
    return domains[domain];
}

/* ---- rows ---- */

static int find_id(const compare_domain *c, const unsigned char hash[16])
{
    for (int id = 0; id < MODEL_IDS; id++) {
        if (memcmp(c->hashes[id], hash, 16) == 0) {
            return id;
        }
    }
    return -1;
}

/* The number of the source, -1 where its name is not kept, -2 where it is none of ours. */
static int find_source(const compare_domain *c, uint32_t reference)
{
    char name[HAPAX_NAME_MAX];
    int len = hapax_source_name(c->library, reference, name, sizeof name);
    if (len < 0) {
        return len == HAPAX_ERR_NOT_FOUND ? -1 : -2;
    }
    for (int source = 0; source < MODEL_SOURCES; source++) {
        const char *wanted = compare_source(source);
        if (strlen(wanted) == (size_t)len && memcmp(wanted, name, (size_t)len) == 0) {
            return source;
        }
    }
    return -2;
}

static int take_row(void *arg, const hapax_occurrence *o)
{
    rows *all = arg;
    if (all->count == ROWS) {
        return 1;
    }
    all->items[all->count++] = (row){
        .id = find_id(all->c, o->hash),
        .source = find_source(all->c, o->source),
        .held_by = o->held_by,
        .receive_ms = o->receive_ms,
        .wall_ms = o->wall_ms,
        .order = o->order,
    };
    return 0;
}

/* Whether the name of a source need not be kept: it may have come above max_sources, or nothing of it is held. */
static bool name_may_go(const compare_domain *c, int source)
{
    const model_domain *m = c->model;
    bool held = false;
    for (int i = 0; i < m->held_count; i++) {
        held = held || m->held[i].source == source;
    }
    for (int i = 0; i < m->claim_count; i++) {
        held = held || m->claims[i].receipt.source == source;
    }
    return !held || m->settings.max_sources < MODEL_SOURCES;
}

static void add_model_row(rows *all, const model_held *held, unsigned held_by)
{
    all->items[all->count++] = (row){
        .id = held->id,
        .source = held->source,
        .held_by = held_by,
        .receive_ms = held->receive_ms,
        .wall_ms = held->wall_ms,
        .order = held->order,
    };
}

static void take_model_rows(const compare_domain *c, rows *all)
{
    const model_domain *domain = c->model;
    for (int i = 0; i < domain->held_count; i++) {
        const model_held *held = &domain->held[i];
        unsigned held_by = held->in_window ? HAPAX_HELD_BY_WINDOW : HAPAX_HELD_BY_TIME_QUEUE;
        held_by |= model_open_claim(domain, held->id) != NULL ? HAPAX_HELD_BY_CLAIM : 0;
        add_model_row(all, held, held_by);
    }
    for (int i = 0; i < domain->claim_count; i++) {
        if (model_first(domain, domain->claims[i].receipt.id) == NULL) {
            add_model_row(all, &domain->claims[i].receipt, HAPAX_HELD_BY_CLAIM);
        }
    }
}

static void print_rows(const rows *all, FILE *out)
{
    for (int i = 0; i < all->count; i++) {
        const row *r = &all->items[i];
        fprintf(out, "  %c/%s@%" PRId64 "%s%s%s wall %" PRId64 "\n", r->id < 0 ? '?' : 'a' + r->id,
                r->source < 0 ? "?" : compare_source(r->source), r->receive_ms,
                r->held_by & HAPAX_HELD_BY_WINDOW ? " window" : "",
                r->held_by & HAPAX_HELD_BY_TIME_QUEUE ? " queue" : "",
                r->held_by & HAPAX_HELD_BY_CLAIM ? " claim" : "", r->wall_ms);
    }
}

static bool same_wall(int64_t a, int64_t b)
{
    return a - b <= 1000 && b - a <= 1000;
}

static bool same_row(const compare_domain *c, const row *want, const row *got)
{
    bool source = want->source == got->source || (got->source == -1 && name_may_go(c, want->source));
    return want->id == got->id && source && want->held_by == got->held_by && want->receive_ms == got->receive_ms &&
           same_wall(want->wall_ms, got->wall_ms);
}

/* Claims without an occurrence may come in any order: sorted by id, of which there is only one such claim each. */
static int by_id(const void *a, const void *b)
{
    return ((const row *)a)->id - ((const row *)b)->id;
}

static void sort_tail(rows *all)
{
    int first = all->count;
    while (first > 0 && all->items[first - 1].held_by == HAPAX_HELD_BY_CLAIM) {
        first--;
    }
    qsort(all->items + first, (size_t)(all->count - first), sizeof(row), by_id);
}

static bool compare_rows(const compare_domain *c, FILE *out)
{
    rows want = {.c = c};
    rows got = {.c = c};
    take_model_rows(c, &want);
    hapax_dump(c->library, take_row, &got);
    sort_tail(&want);
    sort_tail(&got);
    bool same = want.count == got.count;
    for (int i = 0; same && i < want.count; i++) {
        same = same_row(c, &want.items[i], &got.items[i]);
        if (i > 0 && got.items[i].held_by != HAPAX_HELD_BY_CLAIM && got.items[i].order <= got.items[i - 1].order) {
            fprintf(out, "dump: the order of row %d does not rise\n", i);
            same = false;
        }
    }
    if (!same) {
        fprintf(out, "held, expected:\n");
        print_rows(&want, out);
        fprintf(out, "got:\n");
        print_rows(&got, out);
    }
    return same;
}

/* ---- statistics ---- */

static uint64_t distinct(const model_domain *domain, bool windows, bool queue)
{
    uint64_t count = 0;
    for (int id = 0; id < MODEL_IDS; id++) {
        bool there = windows && queue && model_open_claim(domain, id) != NULL;
        for (int i = 0; i < domain->held_count; i++) {
            const model_held *held = &domain->held[i];
            there = there || (held->id == id && (held->in_window ? windows : queue));
        }
        count += there ? 1 : 0;
    }
    return count;
}

static bool same_figure(const char *name, int64_t want, int64_t got, FILE *out)
{
    if (want != got) {
        fprintf(out, "stat %s: expected %" PRId64 ", got %" PRId64 "\n", name, want, got);
    }
    return want == got;
}

static bool compare_stat(const compare_domain *c, FILE *out)
{
    const model_domain *m = c->model;
    hapax_domain_stats s;
    hapax_domain_stat(c->library, &s);
    bool same = same_figure("ids_held", (int64_t)distinct(m, true, true), (int64_t)s.ids_held, out);
    same &= same_figure("ids_in_windows", (int64_t)distinct(m, true, false), (int64_t)s.ids_in_windows, out);
    same &= same_figure("ids_in_time_queue", (int64_t)distinct(m, false, true), (int64_t)s.ids_in_time_queue, out);
    same &= same_figure("sources", model_source_count(m), (int64_t)s.sources, out);
    same &= same_figure("in_flight", m->claim_count, (int64_t)s.in_flight, out);
    same &= same_figure("new", (int64_t)m->new_count, (int64_t)s.new_count, out);
    same &= same_figure("duplicate", (int64_t)m->duplicate_count, (int64_t)s.duplicate_count, out);
    same &= same_figure("in_flight verdicts", (int64_t)m->in_flight_count, (int64_t)s.in_flight_count, out);
    same &= same_figure("unchecked", (int64_t)m->unchecked_count, (int64_t)s.unchecked_count, out);
    same &= same_figure("over_limit", (int64_t)m->over_limit, (int64_t)s.sources_over_limit, out);
    same &= same_figure("not_believed", (int64_t)m->not_believed, (int64_t)s.steps_not_believed, out);
    same &= same_figure("last_receive_ms", m->has_last ? m->last_ms : HAPAX_UNSET, s.last_receive_ms, out);
    same &= same_figure("given_times", m->mode == MODEL_GIVEN, s.given_times, out);
    same &= same_figure("window", m->settings.window, s.window, out);
    same &= same_figure("expiry_ms", m->settings.expiry_ms, s.expiry_ms, out);
    return same;
}

bool compare_contents(const compare_domain *c, FILE *out)
{
    return compare_rows(c, out) && compare_stat(c, out);
}

/* ---- answers ---- */

bool compare_answer(const compare_domain *c, const model_answer *want, const hapax_result *got, bool claim, FILE *out)
{
    if (want->verdict != got->verdict) {
        fprintf(out, "verdict: expected %s, got %s\n", hapax_verdict_name(want->verdict),
                hapax_verdict_name(got->verdict));
        return false;
    }
    if (want->verdict == HAPAX_UNCHECKED) {
        return same_figure("claim handle", 0, (int64_t)got->claim, out);
    }
    bool same = same_figure("receive_ms", want->receive_ms, got->receive_ms, out);
    if (want->verdict == HAPAX_NEW) {
        return same_figure("has a claim handle", claim, got->claim != 0, out) && same;
    }
    same &= same_figure("claim handle", 0, (int64_t)got->claim, out);
    same &= same_figure("first_receive_ms", want->first.receive_ms, got->first_receive_ms, out);
    if (!same_wall(want->first.wall_ms, got->first_wall_ms)) {
        same = same_figure("first_wall_ms, within a second,", want->first.wall_ms, got->first_wall_ms, out);
    }
    int source = find_source(c, got->first_source);
    if (source != want->first.source && !(source == -1 && name_may_go(c, want->first.source))) {
        same = same_figure("first_source", want->first.source, source, out);
    }
    return same;
}

/* ---- explanations ---- */

static bool compare_known(const compare_domain *c, int id, const hapax_explanation *got, FILE *out)
{
    const model_domain *m = c->model;
    const model_held *first = model_first(m, id);
    const model_held *last = model_last(m, id);
    unsigned held_by = model_open_claim(m, id) != NULL ? HAPAX_HELD_BY_CLAIM : 0;
    int64_t count = 0;
    for (int i = 0; i < m->held_count; i++) {
        if (m->held[i].id == id) {
            held_by |= m->held[i].in_window ? HAPAX_HELD_BY_WINDOW : HAPAX_HELD_BY_TIME_QUEUE;
            count++;
        }
    }
    bool same = same_figure("explain held_by", held_by, got->held_by, out);
    same &= same_figure("explain occurrences", count, (int64_t)got->occurrences, out);
    same &= same_figure("explain in_flight", (held_by & HAPAX_HELD_BY_CLAIM) != 0, got->in_flight, out);
    if (first == NULL) {
        return same;
    }
    same &= same_figure("explain first", first->receive_ms, got->first.receive_ms, out);
    same &= same_figure("explain last", last->receive_ms, got->last.receive_ms, out);
    if (last->in_window) {
        int64_t newer = 0;
        for (const model_held *held = last + 1; held < m->held + m->held_count; held++) {
            newer += held->in_window && held->source == last->source;
        }
        same &= same_figure("explain window_ahead", m->settings.window - newer, (int64_t)got->window_ahead, out);
    } else if ((held_by & HAPAX_HELD_BY_WINDOW) == 0) {
        bool for_ever = m->settings.expiry_ms == HAPAX_FOREVER;
        int64_t after = for_ever ? HAPAX_FOREVER : last->receive_ms + m->settings.expiry_ms;
        same &= same_figure("explain expires_after_ms", after, got->expires_after_ms, out);
    }
    return same;
}

static bool compare_age(const compare_domain *c, int id, const hapax_explanation *got, FILE *out)
{
    const model_domain *m = c->model;
    const model_held *last = model_last(m, id);
    if (last == NULL) {
        return true;
    }
    int64_t age = model_activity(c->store) + c->store->age_ahead_ms - last->age_stamp_ms;
    int64_t left = m->settings.max_age_ms == HAPAX_FOREVER ? HAPAX_FOREVER : m->settings.max_age_ms - age;
    bool within_a_second = got->max_age_left_ms <= left && got->max_age_left_ms > left - 1000;
    if (left < 0 || (m->mode == MODEL_GIVEN && within_a_second)) {
        return true; /* too old but in flight: nothing is said about it; given times: known within a second */
    }
    return same_figure("explain max_age_left_ms", left, got->max_age_left_ms, out);
}

bool compare_explanation(const compare_domain *c, int id, FILE *out)
{
    size_t len = 0;
    const void *bytes = compare_id(id, &len);
    hapax_explanation got;
    hapax_error err;
    int rc = hapax_explain(c->library, bytes, len, &got, &err);
    if (rc < 0) {
        return same_figure("explain", 0, rc, out);
    }
    int64_t age_ms = model_activity(c->store) + c->store->age_ahead_ms;
    bool known = model_open_claim(c->model, id) != NULL ||
                 (model_first(c->model, id) != NULL && !model_over_age(c->model, id, age_ms));
    if (!same_figure("explain known", known, got.known, out)) {
        return false;
    }
    return !known || (compare_known(c, id, &got, out) && compare_age(c, id, &got, out));
}
