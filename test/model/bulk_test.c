/*
 * bulk_test.c - a hundred thousand messages at a time against a second, faster naive implementation.
 *
 * The model test (model_test.c) is thorough and small: a dozen ids. What only shows with many ids - chunks that fill
 * and thin out, an index that grows, sweeping, long logs - is met here. The implementation is arrays by id and
 * source:
 *
 *     window[source][id]  the order of the occurrence in that window, or 0      queued[id]  newest time in the queue
 *     line[source]        (id, order) as they came; an entry counts while window[source][id] is that order
 *
 * Verdicts are compared one by one; what is known, id by id, and the statistics now and then and after every
 * reopening. Seeds come from the clock and are printed; `bulk_test N` runs the one seed N.
 */
#include "core/store.h"
#include "sim/random.h"
#include "sim/sim_os.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SOURCES_MAX = 8,
    BATCH = 500,
    NEVER = 0,
};

typedef struct place {
    uint32_t id;
    uint64_t order;
} place;

typedef struct line {
    place *items;
    size_t first, count, cap;
    size_t live;
} line;

typedef struct bulk {
    uint64_t seed;
    sim_random random;
    uint32_t ids;
    int sources;
    bool given;
    enum { PLENTY, SCARCE_DISK, SCARCE_MEMORY } want;
    int64_t max_memory_bytes;
    unsigned refused;
    bool releases; /* a crash would undo what they pushed out: then only clean reopenings */
    hapax_domain_options settings;
    uint64_t *window[SOURCES_MAX];
    int64_t *queued;
    bool *is_queued;
    bool *in_flight;
    line lines[SOURCES_MAX];
    uint64_t next_order;
    int64_t newest_ms;
    bool has_newest;
    int64_t now_ms;
    int64_t last_ms; /* the domain's last receive time */
    sim_os *sim;
    hapax_store *store;
    hapax_domain *domain;
} bulk;

static void *must(void *pointer)
{
    if (pointer == NULL) {
        abort();
    }
    return pointer;
}

/* ---- the rules ---- */

static bool queue_holds(const bulk *b, uint32_t id)
{
    int64_t expiry = b->settings.expiry_ms;
    return b->is_queued[id] && (expiry == HAPAX_FOREVER || b->newest_ms - b->queued[id] <= expiry);
}

static bool is_held(const bulk *b, uint32_t id)
{
    for (int s = 0; s < b->sources; s++) {
        if (b->window[s][id] != NEVER) {
            return true;
        }
    }
    return queue_holds(b, id);
}

static void enter_queue(bulk *b, uint32_t id, int64_t time_ms)
{
    if (!b->has_newest || time_ms > b->newest_ms) {
        b->has_newest = true;
        b->newest_ms = time_ms;
    }
    if (b->settings.expiry_ms == 0) {
        return;
    }
    if (!b->is_queued[id] || time_ms > b->queued[id]) {
        b->is_queued[id] = true;
        b->queued[id] = time_ms;
    }
}

/* The times of the occurrences, by order. */
typedef struct times {
    int64_t *items;
    size_t cap;
} times;

static void note_time(times *t, uint64_t order, int64_t time_ms)
{
    if (order >= t->cap) {
        t->cap = t->cap == 0 ? 4096 : t->cap * 2;
        t->items = must(realloc(t->items, t->cap * sizeof *t->items));
    }
    t->items[order] = time_ms;
}

static void push_line(line *l, uint32_t id, uint64_t order)
{
    if (l->first + l->count == l->cap) {
        l->cap = l->cap == 0 ? 1024 : l->cap * 2;
        l->items = must(realloc(l->items, l->cap * sizeof *l->items));
    }
    l->items[l->first + l->count++] = (place){id, order};
    l->live++;
}

/* The oldest that still counts; the line has one. */
static place pop_line(bulk *b, int source)
{
    line *l = &b->lines[source];
    for (;;) {
        place p = l->items[l->first++];
        l->count--;
        if (b->window[source][p.id] == p.order) {
            return p;
        }
    }
}

static void arrive(bulk *b, times *t, uint32_t id, int source, int64_t time_ms)
{
    uint64_t order = b->next_order++;
    note_time(t, order, time_ms);
    b->last_ms = time_ms;
    uint64_t before = b->window[source][id];
    if (before != NEVER) {
        b->lines[source].live--;
        enter_queue(b, id, t->items[before]);
    }
    b->window[source][id] = order;
    push_line(&b->lines[source], id, order);
    while ((int64_t)b->lines[source].live > b->settings.window) {
        place p = pop_line(b, source);
        b->window[source][p.id] = NEVER;
        b->lines[source].live--;
        enter_queue(b, p.id, t->items[p.order]);
    }
}

static hapax_verdict judge(bulk *b, times *t, uint32_t id, int source, int64_t time_ms)
{
    hapax_verdict verdict = b->in_flight[id] ? HAPAX_IN_FLIGHT : is_held(b, id) ? HAPAX_DUPLICATE : HAPAX_NEW;
    if (verdict == HAPAX_NEW || b->settings.refresh == 1) {
        arrive(b, t, id, source, time_ms);
    }
    return verdict;
}

static void forget(bulk *b, uint32_t id)
{
    for (int s = 0; s < b->sources; s++) {
        if (b->window[s][id] != NEVER) {
            b->window[s][id] = NEVER;
            b->lines[s].live--;
        }
    }
    b->is_queued[id] = false;
}

/* ---- both sides ---- */

static bool differ(const bulk *b, const char *what, uint64_t want, uint64_t got)
{
    if (want != got) {
        printf("seed %" PRIu64 ": %s: expected %" PRIu64 ", got %" PRIu64 "\n", b->seed, what, want, got);
    }
    return want != got;
}

static bool open_store(bulk *b)
{
    hapax_store_options so;
    hapax_error err;
    hapax_store_options_init(&so);
    so.path = "store";
    so.max_memory_bytes = b->max_memory_bytes;
    if (hx_store_open_os(sim_os_table(b->sim), &so, &b->store, &err) < 0 ||
        hapax_domain_open(b->store, "bulk", 4, &b->settings, &b->domain, &err) < 0) {
        printf("seed %" PRIu64 ": open: %s\n", b->seed, err.message);
        return false;
    }
    return true;
}

static bool reopen(bulk *b)
{
    hapax_error err;
    if (b->releases || sim_random_chance(&b->random, 50)) {
        if (hapax_store_close(b->store, &err) < 0) {
            printf("seed %" PRIu64 ": close: %s\n", b->seed, err.message);
            return false;
        }
    } else {
        hapax_store_abandon(b->store);
        sim_os_cut_power(b->sim);
    }
    b->store = NULL;
    /* The activity clock goes on from the last receive time; a caller's clock does what it wants. */
    b->now_ms = b->given ? b->now_ms : b->last_ms;
    return open_store(b);
}

/* Every id there is: known or not; and the figures. */
static bool check(bulk *b)
{
    static hapax_message messages[BATCH];
    static hapax_result results[BATCH];
    static uint32_t ids[BATCH];
    hapax_domain_stats stats;
    hapax_error err;
    uint64_t held = 0;
    uint64_t windows = 0;
    uint64_t queue = 0;
    uint64_t sources = 0;
    for (uint32_t first = 0; first < b->ids; first += BATCH) {
        uint32_t n = b->ids - first < BATCH ? b->ids - first : BATCH;
        for (uint32_t i = 0; i < n; i++) {
            ids[i] = first + i;
            messages[i] = (hapax_message){.id = &ids[i], .id_len = 4, .time_ms = b->given ? b->now_ms : HAPAX_NOW};
        }
        if (hapax_peek(b->domain, messages, n, results, &err) < 0) {
            printf("seed %" PRIu64 ": peek: %s\n", b->seed, err.message);
            return false;
        }
        for (uint32_t i = 0; i < n; i++) {
            bool in_window = false;
            for (int s = 0; s < b->sources; s++) {
                in_window = in_window || b->window[s][ids[i]] != NEVER;
            }
            bool in_queue = queue_holds(b, ids[i]);
            windows += in_window;
            queue += in_queue;
            held += in_window || in_queue;
            hapax_verdict want = in_window || in_queue ? HAPAX_DUPLICATE : HAPAX_NEW;
            if (differ(b, "peek", want, results[i].verdict)) {
                return false;
            }
        }
    }
    for (int s = 0; s < b->sources; s++) {
        sources += b->lines[s].live > 0;
    }
    hapax_domain_stat(b->domain, &stats);
    bool bad = differ(b, "ids_held", held, stats.ids_held);
    bad |= differ(b, "ids_in_windows", windows, stats.ids_in_windows);
    bad |= differ(b, "ids_in_time_queue", queue, stats.ids_in_time_queue);
    bad |= differ(b, "sources", sources, stats.sources);
    bad |= differ(b, "in_flight", 0, stats.in_flight);
    return !bad;
}

static int64_t step_time(bulk *b)
{
    if (sim_random_chance(&b->random, 30)) {
        int64_t ms = (int64_t)sim_random_below(&b->random, 8);
        b->now_ms += ms;
        if (!b->given) {
            sim_os_turn(b->sim, ms);
        }
    }
    return b->now_ms;
}

/* Confirms some of the claims, releases the others; on both sides. */
static bool end_claims(bulk *b, times *t, const uint64_t *claims, const uint32_t *ids, const int *sources, size_t n)
{
    size_t confirmed = b->releases ? (size_t)sim_random_below(&b->random, n + 1) : n;
    /* All in one call, or each in one of its own; room is kept for 256 of those (docs/guarantees.md). */
    size_t step = n <= 256 && sim_random_chance(&b->random, 50) ? 1 : BATCH;
    hapax_error err;
    int rc = 0;
    for (size_t i = 0; i < confirmed && rc == 0; i += step) {
        rc = hapax_confirm(b->domain, claims + i, confirmed - i < step ? confirmed - i : step, HAPAX_NOW, &err);
    }
    bool ended = rc == 0;
    for (size_t i = confirmed; i < n && rc == 0; i += step) {
        rc = hapax_release(b->domain, claims + i, n - i < step ? n - i : step, &err);
    }
    if (rc < 0) {
        printf("seed %" PRIu64 ": %s: %s\n", b->seed, ended ? "release" : "confirm", err.message);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        b->in_flight[ids[i]] = false;
        if (i >= confirmed) {
            forget(b, ids[i]);
        } else if (!is_held(b, ids[i])) {
            arrive(b, t, ids[i], sources[i], b->given ? b->last_ms : b->now_ms);
        }
    }
    return true;
}

/* A call was refused for want of something: nothing has changed, and with more of it things go on. */
static bool refused(bulk *b)
{
    b->refused++;
    if (!check(b)) {
        return false;
    }
    if (b->want == SCARCE_DISK) {
        sim_os_limit_space(b->sim, UINT64_MAX);
        return true;
    }
    b->max_memory_bytes = HAPAX_UNSET;
    return reopen(b) && check(b);
}

static bool run_batch(bulk *b, times *t)
{
    static const char *const names[SOURCES_MAX] = {"", "A", "B", "C", "D", "E", "F", "G"};
    hapax_message messages[BATCH];
    hapax_result results[BATCH];
    uint32_t ids[BATCH];
    uint32_t claimed[BATCH];
    uint64_t claims[BATCH];
    int sources[BATCH];
    int claim_sources[BATCH];
    hapax_error err;
    size_t open = 0;
    size_t n = 1 + (size_t)sim_random_below(&b->random, BATCH);
    bool record = sim_random_chance(&b->random, b->want == SCARCE_MEMORY ? 100 : 70);
    int64_t time_ms = step_time(b);
    for (size_t i = 0; i < n; i++) {
        /* Half of them near what came last, so that windows are met, half from anywhere. */
        uint64_t span = sim_random_chance(&b->random, 50) ? b->ids : b->ids / 50 + 1;
        ids[i] = (uint32_t)((b->next_order + sim_random_below(&b->random, span)) % b->ids);
        sources[i] = (int)sim_random_below(&b->random, (uint64_t)b->sources);
        messages[i] = (hapax_message){.id = &ids[i], .id_len = 4, .time_ms = b->given ? time_ms : HAPAX_NOW};
        messages[i].source = names[sources[i]];
        messages[i].source_len = strlen(names[sources[i]]);
    }
    int rc = record ? hapax_record(b->domain, messages, n, results, &err)
                    : hapax_claim(b->domain, messages, n, results, &err);
    if (rc == HAPAX_ERR_FULL && b->want != PLENTY) {
        return refused(b);
    }
    if (rc < 0) {
        printf("seed %" PRIu64 ": %s\n", b->seed, err.message);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        hapax_verdict want = judge(b, t, ids[i], sources[i], time_ms);
        if (differ(b, "verdict", want, results[i].verdict)) {
            return false;
        }
        if (want == HAPAX_NEW && !record) {
            b->in_flight[ids[i]] = true;
            claimed[open] = ids[i];
            claim_sources[open] = sources[i];
            claims[open++] = results[i].claim;
        }
    }
    return open == 0 || end_claims(b, t, claims, claimed, claim_sources, open);
}

static void set_up(bulk *b)
{
    static const int64_t windows[] = {0, 1, 10, 100, 1000, 5000};
    static const int64_t expiries[] = {0, 50, 1000, 20000, HAPAX_FOREVER};
    static const uint32_t ids[] = {500, 5000, 50000, 200000};
    b->random.state = b->seed;
    b->ids = ids[sim_random_below(&b->random, 4)];
    b->sources = 1 + (int)sim_random_below(&b->random, SOURCES_MAX);
    b->given = sim_random_chance(&b->random, 50);
    b->releases = sim_random_chance(&b->random, 50);
    hapax_domain_options_init(&b->settings);
    b->settings.window = windows[sim_random_below(&b->random, 6)];
    b->settings.expiry_ms = expiries[sim_random_below(&b->random, 5)];
    b->settings.refresh = sim_random_chance(&b->random, 75);
    if (b->settings.window == 0 && b->settings.expiry_ms == 0) {
        b->settings.window = 10;
    }
    for (int s = 0; s < b->sources; s++) {
        b->window[s] = must(calloc(b->ids, sizeof *b->window[s]));
    }
    b->queued = must(calloc(b->ids, sizeof *b->queued));
    b->is_queued = must(calloc(b->ids, sizeof *b->is_queued));
    b->in_flight = must(calloc(b->ids, sizeof *b->in_flight));
    b->next_order = 1;
    b->max_memory_bytes = HAPAX_UNSET;
    b->want = sim_random_chance(&b->random, 60)   ? PLENTY
              : sim_random_chance(&b->random, 50) ? SCARCE_DISK
                                                  : SCARCE_MEMORY;
    if (b->want == SCARCE_MEMORY) {
        b->max_memory_bytes = (int64_t)(200000 + sim_random_below(&b->random, 3000000));
    }
    b->sim = sim_os_new(b->seed);
}

static void tear_down(bulk *b, times *t)
{
    hapax_store_abandon(b->store);
    sim_os_free(b->sim);
    for (int s = 0; s < b->sources; s++) {
        free(b->window[s]);
        free(b->lines[s].items);
    }
    free(b->queued);
    free(b->is_queued);
    free(b->in_flight);
    free(t->items);
}

/* One seed: a few hundred batches. */
static bool run(uint64_t seed, unsigned *refusals)
{
    bulk b = {.seed = seed};
    times t = {0};
    set_up(&b);
    bool good = open_store(&b);
    for (int i = 0; i < 400 && good; i++) {
        if (b.want == SCARCE_DISK && i % 10 == 5) {
            sim_os_limit_space(b.sim, sim_os_used(b.sim));
        }
        good = run_batch(&b, &t);
        if (good && i % 40 == 39) {
            sim_os_limit_space(b.sim, UINT64_MAX);
            good = check(&b) && reopen(&b) && check(&b);
        }
    }
    *refusals += b.refused;
    tear_down(&b, &t);
    return good;
}

int main(int argc, char **argv)
{
    const char *scale = getenv("HAPAX_TEST_SCALE");
    unsigned long percent = scale == NULL ? 100 : strtoul(scale, NULL, 10);
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL) * 1000;
    uint64_t count = argc > 1 ? 1 : 30 * (percent == 0 ? 1 : percent) / 100;
    unsigned passed = 0;
    unsigned failed = 0;
    unsigned refusals = 0;
    count = count == 0 ? 1 : count;
    printf("bulk test: %" PRIu64 " runs from seed %" PRIu64 " on\n", count, seed);
    for (uint64_t i = 0; i < count; i++) {
        bool good = run(seed + i, &refusals);
        passed += good ? 1 : 0;
        failed += good ? 0 : 1;
        if (!good) {
            printf("again: %s %" PRIu64 "\n", argv[0], seed + i);
        }
    }
    printf("calls refused for want of disk or memory: %u\n", refusals);
    printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
