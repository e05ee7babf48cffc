/*
 * runner.c - one script on both sides.
 *
 * Every operation is done on the model and on the library; results, answers and then everything that is held are
 * compared. The library runs on the simulated machine, whose clocks only the script turns.
 *
 * After a crash two things cannot be told beforehand: which write was the last that carried the clocks, and how far
 * the counters of verdicts had been written. The moments at which it may have been are kept; what the reopened
 * library says has to be one of them, and counters may not have risen.
 */
#include "model/runner.h"
#include "core/store.h"
#include "model/compare.h"
#include "sim/sim_os.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLAIMS = SCRIPT_OPS * SCRIPT_BATCH + 1,
    POSITIONS = SCRIPT_OPS * (SCRIPT_BATCH + 1),
    MOMENTS = 8 * SCRIPT_OPS,
};

/* A point at which the clocks may have been written. */
typedef struct moment {
    int64_t activity_ms;
    int64_t age_ahead_ms;
    int64_t wall_ms;
} moment;

typedef struct position {
    uint64_t library;
    size_t model;
} position;

typedef struct runner {
    const script *script;
    runner_coverage *coverage;
    sim_os *sim;
    hapax_store *store;
    compare_domain domains[MODEL_DOMAINS]; /* .library NULL: not open */
    model_store *model;
    uint64_t handles[CLAIMS]; /* by the model's number */
    position positions[POSITIONS];
    size_t position_count;
    moment moments[MOMENTS];
    size_t moment_count;
    FILE *out; /* what differs goes here */
} runner;

static bool differs(runner *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool differs(runner *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(r->out, format, args);
    va_end(args);
    return false;
}

static bool same_status(runner *r, const char *call, int want, int got, const hapax_error *err)
{
    if (want == got) {
        return true;
    }
    return differs(r, "%s: expected %s, got %s (%s)\n", call, hapax_status_name(want), hapax_status_name(got),
                   got < 0 ? err->message : "");
}

/* ---- clocks and moments ---- */

static void set_clocks(runner *r)
{
    r->model->monotonic_ms = sim_os_monotonic(r->sim);
    r->model->wall_ms = sim_os_wall(r->sim);
}

/* The clocks may be written now; certain: they were, what came before cannot be the last. */
static void add_moment(runner *r, bool certain)
{
    if (certain) {
        r->moment_count = 0;
    }
    r->moments[r->moment_count++] = (moment){
        .activity_ms = model_activity(r->model),
        .age_ahead_ms = r->model->age_ahead_ms,
        .wall_ms = r->model->wall_ms,
    };
}

/* ---- open and down ---- */

static bool open_store(runner *r, hapax_open_report *ret_report)
{
    hapax_store_options options;
    hapax_store_options_init(&options);
    options.path = r->script->in_memory ? NULL : "store";
    options.flags = r->script->hold ? HAPAX_OPEN_HOLD : 0;
    hapax_error err;
    int rc = hx_store_open_os(sim_os_table(r->sim), &options, &r->store, &err);
    if (rc < 0) {
        r->store = NULL;
        return same_status(r, "open", 0, rc, &err);
    }
    hapax_store_open_report(r->store, ret_report);
    memset(r->domains, 0, sizeof r->domains);
    r->position_count = 0;
    return true;
}

/* Finds the moment that the library went back to, takes over its clocks, and opens the model at it. */
static bool open_model(runner *r, const hapax_open_report *report)
{
    hapax_store_stats stats;
    hapax_store_stat(r->store, &stats);
    set_clocks(r);
    for (size_t i = r->moment_count; i > 0; i--) {
        moment m = r->moments[i - 1];
        int64_t downtime = r->model->wall_ms > m.wall_ms ? r->model->wall_ms - m.wall_ms : 0;
        if (m.activity_ms == stats.activity_ms && downtime == report->downtime_ms) {
            r->model->age_ahead_ms = m.age_ahead_ms;
            model_open(r->model, r->script->hold, m.activity_ms, downtime);
            r->moments[0] = m;
            r->moment_count = 1;
            add_moment(r, false);
            return true;
        }
    }
    differs(r,
            "activity %" PRId64 " ms and downtime %" PRId64
            " ms after the open belong to no write; the wall is %" PRId64 ", possible are:\n",
            stats.activity_ms, report->downtime_ms, r->model->wall_ms);
    for (size_t i = 0; i < r->moment_count; i++) {
        differs(r, "  activity %" PRId64 " at wall %" PRId64 "\n", r->moments[i].activity_ms, r->moments[i].wall_ms);
    }
    return false;
}

static bool check_bookmark(runner *r)
{
    int value = 0;
    size_t len = 0;
    hapax_error err;
    int rc = hapax_bookmark_get(r->store, "read", 4, &value, sizeof value, &len, &err);
    int want = r->model->bookmark == 0 ? HAPAX_ERR_NOT_FOUND : 0;
    if (!same_status(r, "bookmark_get", want, rc, &err)) {
        return false;
    }
    if (rc == 0 && (len != sizeof value || value != r->model->bookmark)) {
        return differs(r, "bookmark: expected %d, got %d (%zu bytes)\n", r->model->bookmark, value, len);
    }
    return true;
}

/* Counters of verdicts that were not written are lost with a crash: taken over, but they cannot have risen. */
static bool adopt_counter(runner *r, const char *name, uint64_t *model, uint64_t library)
{
    if (library > *model) {
        return differs(r, "stat %s rose over a crash: %" PRIu64 " to %" PRIu64 "\n", name, *model, library);
    }
    *model = library;
    return true;
}

static bool adopt_counters(runner *r, int domain, const model_domain *before)
{
    model_domain *m = &r->model->domains[domain];
    m->new_count = before->new_count;
    m->duplicate_count = before->duplicate_count;
    m->in_flight_count = before->in_flight_count;
    m->unchecked_count = before->unchecked_count;
    m->over_limit = before->over_limit;
    m->not_believed = before->not_believed;
    hapax_domain_stats s;
    hapax_domain_stat(r->domains[domain].library, &s);
    return adopt_counter(r, "new", &m->new_count, s.new_count) &&
           adopt_counter(r, "duplicate", &m->duplicate_count, s.duplicate_count) &&
           adopt_counter(r, "in_flight verdicts", &m->in_flight_count, s.in_flight_count) &&
           adopt_counter(r, "unchecked", &m->unchecked_count, s.unchecked_count) &&
           adopt_counter(r, "over_limit", &m->over_limit, s.sources_over_limit) &&
           adopt_counter(r, "not_believed", &m->not_believed, s.steps_not_believed);
}

static bool open_domain(runner *r, int number, const hapax_domain_options *options)
{
    hapax_domain *domain = NULL;
    hapax_error err;
    unsigned want_changed = 0;
    unsigned got_changed = 0;
    const char *name = compare_domain_name(number);
    bool was_open = r->domains[number].library != NULL;
    set_clocks(r);
    int want = model_domain_open(r->model, number, options, &want_changed);
    int got = hapax_domain_open(r->store, name, strlen(name), options, &domain, &err);
    add_moment(r, false);
    if (!same_status(r, "domain_open", want, got, &err)) {
        return false;
    }
    if (got < 0) {
        r->coverage->refused_settings++;
        return true;
    }
    if (was_open && domain != r->domains[number].library) {
        return differs(r, "domain_open of an open domain gave another handle\n");
    }
    compare_domain *c = &r->domains[number];
    c->library = domain;
    c->model = &r->model->domains[number];
    c->store = r->model;
    for (int id = 0; id < MODEL_IDS && !was_open; id++) {
        size_t len = 0;
        const void *bytes = compare_id(id, &len);
        hapax_id_hash(domain, bytes, len, c->hashes[id]);
    }
    hapax_domain_options settings;
    hapax_domain_options_init(&settings);
    hapax_domain_settings(domain, &settings, &got_changed);
    const hapax_domain_options *m = &c->model->settings;
    if (settings.window != m->window || settings.expiry_ms != m->expiry_ms || settings.refresh != m->refresh ||
        settings.max_age_ms != m->max_age_ms || settings.source_idle_ms != m->source_idle_ms ||
        settings.max_sources != m->max_sources || settings.max_step_ms != m->max_step_ms) {
        fputs("settings in force, expected:", r->out);
        script_print_settings(m, r->out);
        fputs("got:", r->out);
        script_print_settings(&settings, r->out);
        return false;
    }
    if (!was_open && want_changed != got_changed) {
        return differs(r, "settings changed: expected bits %x, got %x\n", want_changed, got_changed);
    }
    return true;
}

static bool open_as_stored(runner *r, int number)
{
    hapax_domain_options options;
    hapax_domain_options_init(&options);
    return open_domain(r, number, &options);
}

static bool need_domain(runner *r, int number)
{
    if (r->domains[number].library != NULL) {
        return true;
    }
    if (r->model->domains[number].exists) {
        return open_as_stored(r, number);
    }
    return open_domain(r, number, &r->script->first[number]);
}

static bool down_and_up(runner *r, const script_op *op)
{
    model_domain before[MODEL_DOMAINS];
    memcpy(before, r->model->domains, sizeof before);
    hapax_error err;
    set_clocks(r);
    if (op->kind == SCRIPT_REOPEN) {
        r->coverage->reopens++;
        int rc = hapax_store_close(r->store, &err);
        r->store = NULL;
        if (!same_status(r, "close", 0, rc, &err)) {
            return false;
        }
        model_close(r->model);
        add_moment(r, true);
    } else {
        r->coverage->crashes++;
        hapax_store_abandon(r->store);
        r->store = NULL;
        sim_os_crash(r->sim);
        model_crash(r->model);
    }
    if (op->kind == SCRIPT_POWER) {
        r->coverage->power_cuts++;
        sim_os_cut_power(r->sim);
        sim_os_set_monotonic(r->sim, 5000 + op->ms % 977);
    }
    sim_os_step_wall(r->sim, op->ms);
    hapax_open_report report;
    if (!open_store(r, &report)) {
        return false;
    }
    if (r->script->in_memory) {
        model_create(r->model, r->script->hold, sim_os_monotonic(r->sim), sim_os_wall(r->sim));
        add_moment(r, true);
        return true;
    }
    if (report.created || (op->kind == SCRIPT_REOPEN && !report.clean)) {
        return differs(r, "open report: created %d, clean %d\n", report.created, report.clean);
    }
    if (op->kind != SCRIPT_POWER && report.torn_bytes != 0) {
        return differs(r, "open report: torn %" PRIu64 " bytes without a power cut\n", report.torn_bytes);
    }
    if (!open_model(r, &report) || !check_bookmark(r)) {
        return false;
    }
    /* What was just recovered is looked at before anything else happens to it. A crash of a library that was opened
     * and not asked anything may not have written the domain. */
    for (int i = 0; i < MODEL_DOMAINS; i++) {
        if (!r->model->domains[i].exists) {
            continue;
        }
        if (!open_as_stored(r, i)) {
            return false;
        }
        if (op->kind != SCRIPT_REOPEN && !adopt_counters(r, i, &before[i])) {
            return false;
        }
    }
    return true;
}

/* ---- messages ---- */

static void to_library(const script_op *op, hapax_message *messages)
{
    for (int i = 0; i < op->n; i++) {
        const model_message *m = &op->messages[i];
        messages[i] = (hapax_message){.time_ms = m->time_ms};
        if (m->id != MODEL_NO_ID) {
            messages[i].id = compare_id(m->id, &messages[i].id_len);
        }
        messages[i].source = compare_source(m->source);
        messages[i].source_len = strlen(compare_source(m->source));
    }
}

static void note_position(runner *r, uint64_t library, size_t model)
{
    r->positions[r->position_count++] = (position){.library = library, .model = model};
}

static bool take_answers(runner *r, const script_op *op, const model_answer *want, const hapax_result *got)
{
    for (int i = 0; i < op->n; i++) {
        if (!compare_answer(&r->domains[op->domain], &want[i], &got[i], op->kind == SCRIPT_CLAIM, r->out)) {
            return differs(r, "(message %d of the batch)\n", i + 1);
        }
        r->coverage->verdicts[want[i].verdict]++;
        if (op->kind == SCRIPT_PEEK) {
            continue;
        }
        if (op->kind == SCRIPT_CLAIM && want[i].verdict == HAPAX_NEW) {
            r->coverage->claims++;
            r->handles[want[i].claim] = got[i].claim;
        }
        uint64_t last = r->position_count > 0 ? r->positions[r->position_count - 1].library : 0;
        if (got[i].position < last) {
            return differs(r, "message %d: the position goes back from %" PRIu64 " to %" PRIu64 "\n", i + 1, last,
                           got[i].position);
        }
        note_position(r, got[i].position, want[i].position);
    }
    return true;
}

static bool run_messages(runner *r, const script_op *op)
{
    if (!need_domain(r, op->domain)) {
        return false;
    }
    hapax_domain *domain = r->domains[op->domain].library;
    hapax_message messages[SCRIPT_BATCH];
    hapax_result got[SCRIPT_BATCH] = {0};
    model_answer want[SCRIPT_BATCH];
    hapax_error err = {0};
    size_t index = 0;
    size_t n = (size_t)op->n;
    int want_rc;
    int rc;
    to_library(op, messages);
    set_clocks(r);
    if (op->kind == SCRIPT_PEEK) {
        want_rc = model_peek(r->model, op->domain, op->messages, n, want, &index);
        rc = hapax_peek(domain, messages, n, got, &err);
    } else if (op->kind == SCRIPT_RECORD) {
        want_rc = model_judge(r->model, op->domain, op->messages, n, true, want, &index);
        rc = hapax_record(domain, messages, n, got, &err);
    } else {
        want_rc = model_judge(r->model, op->domain, op->messages, n, false, want, &index);
        rc = hapax_claim(domain, messages, n, got, &err);
    }
    add_moment(r, false);
    if (!same_status(r, "messages", want_rc, rc, &err)) {
        return false;
    }
    if (rc < 0) {
        r->coverage->refused_batches++;
        return err.index == index || differs(r, "error.index: expected %zu, got %zu\n", index, err.index);
    }
    return take_answers(r, op, want, got);
}

/* ---- claims ---- */

/* The model's numbers of the claims that are meant; the number of them. */
static size_t pick_claims(const model_domain *domain, const script_op *op, uint64_t *ret_claims)
{
    size_t n = 0;
    for (int i = 0; i < op->n; i++) {
        if (op->picks[i] < 0) {
            ret_claims[n++] = 0; /* never given out */
            continue;
        }
        if (domain->claim_count == 0) {
            continue;
        }
        uint64_t claim = domain->claims[op->picks[i] % domain->claim_count].number;
        bool twice = false;
        for (size_t j = 0; j < n; j++) {
            twice = twice || ret_claims[j] == claim;
        }
        if (!twice) {
            ret_claims[n++] = claim;
        }
    }
    return n;
}

static bool run_claims(runner *r, const script_op *op)
{
    if (!need_domain(r, op->domain)) {
        return false;
    }
    model_domain *domain = &r->model->domains[op->domain];
    uint64_t claims[SCRIPT_BATCH];
    uint64_t handles[SCRIPT_BATCH];
    size_t n = pick_claims(domain, op, claims);
    for (size_t i = 0; i < n; i++) {
        handles[i] = claims[i] == 0 ? 0x123456789abcULL : r->handles[claims[i]];
    }
    hapax_error err = {0};
    size_t index = 0;
    int held = domain->held_count;
    int want;
    int got;
    set_clocks(r);
    if (op->kind == SCRIPT_CONFIRM) {
        want = model_confirm(r->model, op->domain, claims, n, op->ms, &index);
        got = hapax_confirm(r->domains[op->domain].library, handles, n, op->ms, &err);
    } else {
        want = model_release(r->model, op->domain, claims, n, &index);
        got = hapax_release(r->domains[op->domain].library, handles, n, &err);
    }
    add_moment(r, false);
    if (!same_status(r, op->kind == SCRIPT_CONFIRM ? "confirm" : "release", want, got, &err)) {
        return false;
    }
    if (got < 0) {
        r->coverage->refused_batches++;
        return err.index == index || differs(r, "error.index: expected %zu, got %zu\n", index, err.index);
    }
    r->coverage->confirms += op->kind == SCRIPT_CONFIRM ? n : 0;
    r->coverage->confirms_that_append += op->kind == SCRIPT_CONFIRM && domain->held_count > held ? 1 : 0;
    r->coverage->releases += op->kind == SCRIPT_RELEASE ? n : 0;
    return true;
}

/* ---- hold ---- */

static bool commit_to(runner *r, uint64_t library, size_t model)
{
    hapax_error err;
    set_clocks(r);
    int rc = hapax_commit(r->store, library, &err);
    model_commit(r->model, model);
    add_moment(r, false);
    r->coverage->commits++;
    return same_status(r, "commit", 0, rc, &err);
}

static bool run_commit(runner *r, const script_op *op)
{
    if (op->pick == 0 || r->position_count == 0) {
        hapax_store_stats stats;
        bool same = commit_to(r, UINT64_MAX, SIZE_MAX);
        hapax_store_stat(r->store, &stats);
        return same && (stats.held_events == 0 ||
                        differs(r, "held_events after a commit of all: %" PRIu64 "\n", stats.held_events));
    }
    size_t back = (size_t)op->pick;
    const position *p = &r->positions[back > r->position_count ? 0 : r->position_count - back];
    return commit_to(r, p->library, p->model);
}

static bool run_bookmark(runner *r, const script_op *op)
{
    uint64_t library = 0;
    hapax_error err;
    set_clocks(r);
    size_t model = model_bookmark(r->model, op->pick);
    int rc = hapax_bookmark_set(r->store, "read", 4, &op->pick, sizeof op->pick, &library, &err);
    add_moment(r, false);
    if (!same_status(r, "bookmark_set", 0, rc, &err)) {
        return false;
    }
    note_position(r, library, model);
    return (r->script->hold || commit_to(r, library, model)) && check_bookmark(r);
}

/* ---- the run ---- */

static bool run_op(runner *r, const script_op *op)
{
    switch (op->kind) {
    case SCRIPT_RECORD:
    case SCRIPT_CLAIM:
    case SCRIPT_PEEK: return run_messages(r, op);
    case SCRIPT_CONFIRM:
    case SCRIPT_RELEASE: return run_claims(r, op);
    case SCRIPT_EXPLAIN:
        if (!need_domain(r, op->domain)) {
            return false;
        }
        set_clocks(r);
        add_moment(r, false); /* it may wait for a write */
        return compare_explanation(&r->domains[op->domain], op->pick, r->out);
    case SCRIPT_TURN: sim_os_turn(r->sim, op->ms); return true;
    case SCRIPT_WALL: sim_os_step_wall(r->sim, op->ms); return true;
    case SCRIPT_SETTINGS: return open_domain(r, op->domain, &op->options);
    case SCRIPT_REOPEN:
    case SCRIPT_CRASH:
    case SCRIPT_POWER: return down_and_up(r, op);
    case SCRIPT_BOOKMARK: return run_bookmark(r, op);
    case SCRIPT_COMMIT: return run_commit(r, op);
    }
    return false;
}

static bool check_all(runner *r)
{
    for (int i = 0; i < MODEL_DOMAINS; i++) {
        if (r->domains[i].library != NULL && !compare_contents(&r->domains[i], r->out)) {
            return differs(r, "(in domain d%d)\n", i);
        }
    }
    return true;
}

static bool run_all(runner *r, int *ret_op)
{
    hapax_open_report report;
    *ret_op = 0;
    if (!open_store(r, &report)) {
        return false;
    }
    model_create(r->model, r->script->hold, sim_os_monotonic(r->sim), sim_os_wall(r->sim));
    add_moment(r, true);
    for (int i = 0; i < r->script->op_count; i++) {
        *ret_op = i;
        r->coverage->ops++;
        if (!run_op(r, &r->script->ops[i]) || !check_all(r)) {
            return false;
        }
    }
    return true;
}

bool runner_run(const script *s, runner_coverage *coverage, runner_failure *ret_failure)
{
    static const size_t text_cap = sizeof ret_failure->text;
    runner *r = calloc(1, sizeof *r);
    r->model = malloc(sizeof *r->model);
    r->script = s;
    r->coverage = coverage;
    r->sim = sim_os_new(s->seed);
    memset(ret_failure->text, 0, text_cap);
    r->out = fmemopen(ret_failure->text, text_cap - 1, "w");
    bool same = run_all(r, &ret_failure->op);
    fclose(r->out);
    hapax_store_abandon(r->store);
    sim_os_free(r->sim);
    free(r->model);
    free(r);
    return same;
}
