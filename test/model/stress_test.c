/*
 * stress_test.c - many threads on one store: exactly one NEW for an id, nothing lost, nothing left open.
 *
 * The one idea: beside the store stands an atomic counter for each id, raised when a thread is told NEW and lowered
 * just before that thread releases the id. While the library is right no raise ever gives more than 1. What the
 * threads were told is summed up and has to be what the store counts. Run under TSan these are also the race tests.
 * Windows are for ever, so an id that was confirmed may never be NEW again.
 */
#include "core/store.h"
#include "sim/random.h"
#include "sim/sim_os.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    THREADS = 16,
    DOMAINS = 3,
    IDS = 400,
    BATCH = 8,
};

typedef struct shared {
    hapax_store *store;
    hapax_domain *domains[DOMAINS];
    atomic_int open[DOMAINS][IDS]; /* NEW told and not taken back by a release */
    atomic_int done[DOMAINS][IDS]; /* confirmed, and that was answered */
    atomic_uint verdicts[DOMAINS][7];
    atomic_uint wrong;
    int rounds;
} shared;

typedef struct worker {
    shared *s;
    int number;
} worker;

static int rounds(int count)
{
    const char *scale = getenv("HAPAX_TEST_SCALE");
    int percent = scale == NULL ? 100 : atoi(scale);
    int result = count * (percent < 1 ? 1 : percent) / 100;
    return result < 1 ? 1 : result;
}

/* Judges a batch and checks every verdict against the counters; the claims that are NEW go to ret_claims. */
static size_t judge(shared *s, int d, const int *ids, size_t n, bool record, uint64_t *ret_claims, int *ret_ids)
{
    hapax_message messages[BATCH];
    hapax_result results[BATCH];
    int was_done[BATCH];
    hapax_error err;
    size_t claims = 0;
    for (size_t i = 0; i < n; i++) {
        static const char *const sources[] = {"", "A", "B", "C"};
        const char *source = sources[ids[i] % 4];
        was_done[i] = atomic_load(&s->done[d][ids[i]]);
        messages[i] = (hapax_message){.id = &ids[i], .id_len = sizeof ids[i], .time_ms = HAPAX_NOW};
        messages[i].source = source;
        messages[i].source_len = strlen(source);
    }
    int rc = record ? hapax_record(s->domains[d], messages, n, results, &err)
                    : hapax_claim(s->domains[d], messages, n, results, &err);
    if (rc < 0) {
        atomic_fetch_add(&s->wrong, 1);
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        atomic_fetch_add(&s->verdicts[d][results[i].verdict], 1);
        if (results[i].verdict != HAPAX_NEW) {
            /* Known and done before the call: no word of it being in work. */
            atomic_fetch_add(&s->wrong, was_done[i] && results[i].verdict != HAPAX_DUPLICATE ? 1 : 0);
            continue;
        }
        bool second = atomic_fetch_add(&s->open[d][ids[i]], 1) != 0;
        atomic_fetch_add(&s->wrong, second || was_done[i] ? 1 : 0);
        if (record) {
            atomic_store(&s->done[d][ids[i]], 1);
        } else {
            ret_ids[claims] = ids[i];
            ret_claims[claims++] = results[i].claim;
        }
    }
    return claims;
}

static void close_claims(shared *s, int d, const uint64_t *claims, const int *ids, size_t n, bool confirm)
{
    hapax_error err;
    if (!confirm) {
        for (size_t i = 0; i < n; i++) {
            atomic_fetch_sub(&s->open[d][ids[i]], 1);
        }
    }
    int rc = confirm ? hapax_confirm(s->domains[d], claims, n, HAPAX_NOW, &err)
                     : hapax_release(s->domains[d], claims, n, &err);
    atomic_fetch_add(&s->wrong, rc < 0 ? 1 : 0);
    for (size_t i = 0; i < n && confirm; i++) {
        atomic_store(&s->done[d][ids[i]], 1);
    }
}

static int count_held(void *arg, const hapax_occurrence *o)
{
    (void)o;
    ++*(int *)arg;
    return 0;
}

/* The calls that only look, while others change. */
static void look(shared *s, int d, int id)
{
    hapax_explanation e;
    hapax_domain_stats ds;
    hapax_store_stats ss;
    hapax_error err;
    hapax_result result;
    hapax_message m = {.id = &id, .id_len = sizeof id, .time_ms = HAPAX_NOW};
    int held = 0;
    int was_done = atomic_load(&s->done[d][id]);
    int rc = hapax_explain(s->domains[d], &id, sizeof id, &e, &err);
    atomic_fetch_add(&s->wrong, rc < 0 || (was_done && !e.known) ? 1 : 0);
    rc = hapax_peek(s->domains[d], &m, 1, &result, &err);
    atomic_fetch_add(&s->wrong, rc < 0 || (was_done && result.verdict != HAPAX_DUPLICATE) ? 1 : 0);
    hapax_domain_stat(s->domains[d], &ds);
    hapax_store_stat(s->store, &ss);
    hapax_dump(s->domains[d], count_held, &held);
    atomic_fetch_add(&s->wrong, ds.ids_held > IDS ? 1 : 0);
}

static void *mix(void *arg)
{
    worker *w = arg;
    shared *s = w->s;
    sim_random random = {(uint64_t)w->number + 1};
    hapax_error err;
    for (int round = 0; round < s->rounds; round++) {
        int d = (int)sim_random_below(&random, DOMAINS);
        size_t n = 1 + (size_t)sim_random_below(&random, BATCH);
        int ids[BATCH];
        int claimed[BATCH];
        uint64_t claims[BATCH];
        for (size_t i = 0; i < n; i++) {
            ids[i] = (int)sim_random_below(&random, IDS);
        }
        uint64_t dice = sim_random_below(&random, 100);
        if (dice < 25) {
            judge(s, d, ids, n, true, NULL, NULL);
        } else if (dice < 90) {
            size_t count = judge(s, d, ids, n, false, claims, claimed);
            if (count > 0) {
                close_claims(s, d, claims, claimed, count, sim_random_chance(&random, 30));
            }
        } else if (dice < 97) {
            look(s, d, ids[0]);
        } else {
            uint64_t position = 0;
            int rc = hapax_bookmark_set(s->store, "b", 1, &round, sizeof round, &position, &err);
            atomic_fetch_add(&s->wrong, rc < 0 || hapax_commit(s->store, position, &err) < 0 ? 1 : 0);
        }
    }
    return NULL;
}

static void run_threads(shared *s, void *(*body)(void *arg))
{
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.s = s, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, body, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void open_shared(shared *s, const hx_os *os, const char *path)
{
    static const char *const names[DOMAINS] = {"one", "two", "three"};
    hapax_store_options so;
    hapax_error err;
    hapax_store_options_init(&so);
    so.path = path;
    assert_int_equal(hx_store_open_os(os, &so, &s->store, &err), 0);
    for (int d = 0; d < DOMAINS; d++) {
        hapax_domain_options o;
        hapax_domain_options_init(&o);
        o.window = 5;
        o.expiry_ms = HAPAX_FOREVER;
        assert_int_equal(hapax_domain_open(s->store, names[d], strlen(names[d]), &o, &s->domains[d], &err), 0);
    }
}

static void check_counters(shared *s)
{
    assert_int_equal(atomic_load(&s->wrong), 0);
    for (int d = 0; d < DOMAINS; d++) {
        hapax_domain_stats stats;
        hapax_domain_stat(s->domains[d], &stats);
        assert_int_equal(stats.in_flight, 0);
        assert_int_equal(stats.new_count, atomic_load(&s->verdicts[d][HAPAX_NEW]));
        assert_int_equal(stats.duplicate_count, atomic_load(&s->verdicts[d][HAPAX_DUPLICATE]));
        assert_int_equal(stats.in_flight_count, atomic_load(&s->verdicts[d][HAPAX_IN_FLIGHT]));
        uint64_t known = 0;
        for (int id = 0; id < IDS; id++) {
            known += (uint64_t)atomic_load(&s->done[d][id]);
            assert_int_equal(atomic_load(&s->open[d][id]), atomic_load(&s->done[d][id]));
        }
        assert_int_equal(stats.ids_held, known);
    }
}

/* Claims, confirms, releases, records, looks and commits on one store, then a crash: what was answered is there. */
static void s074_counters_add_up_and_nothing_stays_open(void **state)
{
    (void)state;
    static shared s;
    memset(&s, 0, sizeof s);
    s.rounds = rounds(3000);
    sim_os *sim = sim_os_new(1);
    open_shared(&s, sim_os_table(sim), "store");
    run_threads(&s, mix);
    check_counters(&s);
    hapax_store_abandon(s.store);
    sim_os_cut_power(sim);
    open_shared(&s, sim_os_table(sim), "store");
    for (int d = 0; d < DOMAINS; d++) {
        for (int id = 0; id < IDS; id++) {
            hapax_message m = {.id = &id, .id_len = sizeof id, .time_ms = HAPAX_NOW};
            hapax_result result;
            hapax_error err;
            hapax_verdict want = atomic_load(&s.done[d][id]) ? HAPAX_DUPLICATE : HAPAX_NEW;
            assert_int_equal(hapax_peek(s.domains[d], &m, 1, &result, &err), 0);
            assert_int_equal(result.verdict, want);
        }
    }
    hapax_error err;
    assert_int_equal(hapax_store_close(s.store, &err), 0);
    sim_os_free(sim);
}

static void *claim_one_id(void *arg)
{
    worker *w = arg;
    shared *s = w->s;
    for (int round = 0; round < s->rounds; round++) {
        int id = round % IDS;
        int claimed = 0;
        uint64_t claim = 0;
        if (judge(s, 0, &id, 1, false, &claim, &claimed) == 1) {
            /* Confirmed in the last turn over the ids only, so that they stay worth racing for. */
            close_claims(s, 0, &claim, &claimed, 1, round >= s->rounds - IDS);
        }
    }
    return NULL;
}

/* 16 threads, one id: a single winner each time, in memory and on disk. */
static void s064_many_claim_one_id(void **state)
{
    (void)state;
    for (int on_disk = 0; on_disk < 2; on_disk++) {
        static shared s;
        memset(&s, 0, sizeof s);
        s.rounds = IDS + rounds(on_disk ? 1000 : 5000);
        sim_os *sim = sim_os_new(1);
        open_shared(&s, sim_os_table(sim), on_disk ? "store" : NULL);
        run_threads(&s, claim_one_id);
        check_counters(&s);
        for (int id = 0; id < IDS; id++) {
            assert_int_equal(atomic_load(&s.done[0][id]), 1);
        }
        hapax_error err;
        assert_int_equal(hapax_store_close(s.store, &err), 0);
        sim_os_free(sim);
    }
}

/* Each thread waits for its own answer, but the disk is synced for many at once. */
static void *record_own_ids(void *arg)
{
    worker *w = arg;
    shared *s = w->s;
    hapax_error err;
    for (int round = 0; round < s->rounds; round++) {
        int id[2] = {w->number, round};
        hapax_message m = {.id = id, .id_len = sizeof id, .time_ms = HAPAX_NOW};
        hapax_result result;
        int rc = hapax_record(s->domains[0], &m, 1, &result, &err);
        atomic_fetch_add(&s->wrong, rc < 0 || result.verdict != HAPAX_NEW ? 1 : 0);
    }
    return NULL;
}

static void every_answer_is_durable_with_many_writers(void **state)
{
    (void)state;
    static shared s;
    memset(&s, 0, sizeof s);
    s.rounds = rounds(2000);
    sim_os *sim = sim_os_new(3);
    open_shared(&s, sim_os_table(sim), "store");
    uint64_t before = sim_os_calls(sim, SIM_SYNC);
    run_threads(&s, record_own_ids);
    assert_int_equal(atomic_load(&s.wrong), 0);
    assert_true(sim_os_calls(sim, SIM_SYNC) - before <= (uint64_t)s.rounds * THREADS + 64);
    hapax_store_abandon(s.store);
    sim_os_cut_power(sim);
    open_shared(&s, sim_os_table(sim), "store");
    hapax_domain_stats stats;
    hapax_domain_stat(s.domains[0], &stats);
    assert_int_equal(stats.ids_held, (uint64_t)s.rounds * THREADS);
    hapax_store_abandon(s.store);
    sim_os_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s064_many_claim_one_id),
        cmocka_unit_test(s074_counters_add_up_and_nothing_stays_open),
        cmocka_unit_test(every_answer_is_durable_with_many_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
