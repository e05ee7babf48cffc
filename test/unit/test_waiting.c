/*
 * test_waiting.c - no answer before the disk has what the answer stands on, whoever wrote it.
 *
 * The one idea: the machine's syncs are made to wait. Thread one records an id and is stuck in its sync; thread two
 * asks about the same id. It may not be told DUPLICATE while the first write can still fail. That thread two is not
 * back can only be seen by waiting a moment; a library that waits is never failed by a slow machine.
 */
#include "rig.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

typedef enum ask_kind { ASK_RECORD, ASK_CLAIM, ASK_PEEK, ASK_EXPLAIN, ASK_CONFIRM, ASK_RELEASE } ask_kind;

typedef struct asker {
    hapax_domain *domain;
    ask_kind kind;
    uint64_t claim;
    pthread_t thread;
    atomic_bool back;
    int rc;
    hapax_result result;
    hapax_explanation explanation;
} asker;

static void *ask(void *arg)
{
    asker *a = arg;
    hapax_error err;
    hapax_message m = {.id = "a", .id_len = 1, .time_ms = 5};
    switch (a->kind) {
    case ASK_RECORD: a->rc = hapax_record(a->domain, &m, 1, &a->result, &err); break;
    case ASK_CLAIM: a->rc = hapax_claim(a->domain, &m, 1, &a->result, &err); break;
    case ASK_PEEK: a->rc = hapax_peek(a->domain, &m, 1, &a->result, &err); break;
    case ASK_EXPLAIN: a->rc = hapax_explain(a->domain, "a", 1, &a->explanation, &err); break;
    case ASK_CONFIRM: a->rc = hapax_confirm(a->domain, &a->claim, 1, HAPAX_NOW, &err); break;
    case ASK_RELEASE: a->rc = hapax_release(a->domain, &a->claim, 1, &err); break;
    }
    atomic_store(&a->back, true);
    return NULL;
}

static void start(asker *a, hapax_domain *domain, ask_kind kind, uint64_t claim)
{
    memset(a, 0, sizeof *a);
    a->domain = domain;
    a->kind = kind;
    a->claim = claim;
    assert_int_equal(pthread_create(&a->thread, NULL, ask, a), 0);
}

static void nap(void)
{
    struct timespec ms = {.tv_nsec = 1000000};
    nanosleep(&ms, NULL);
}

/* Waits until it is back or, as it should, for a moment. */
static bool is_back(asker *a)
{
    for (int i = 0; i < 40 && !atomic_load(&a->back); i++) {
        nap();
    }
    return atomic_load(&a->back);
}

static void start_rig(rig *r, int64_t refresh)
{
    hapax_domain_options o;
    rig_options(&o, 10, 1000);
    o.refresh = refresh;
    rig_start_with(r, &o);
    assert_string_equal(rig_record(r, "first@0"), "NEW");
}

/* The first asker gets stuck in a sync that will fail or not; the second asks in another way. */
static void race(int64_t refresh, ask_kind first, ask_kind second, bool fails)
{
    rig r;
    asker one;
    asker two;
    start_rig(&r, refresh);
    uint64_t claim = first == ASK_CONFIRM ? rig_claim_one(&r, "a@1") : 0;
    sim_os_block(r.sim, SIM_SYNC);
    if (fails) {
        sim_os_fail(r.sim, SIM_SYNC, 1, EIO, true);
    }
    start(&one, r.domain, first, claim);
    while (sim_os_waiting(r.sim, SIM_SYNC) == 0) {
        nap();
    }
    start(&two, r.domain, second, 0);
    bool early = is_back(&two);
    if (early && two.rc == 0) {
        assert_int_not_equal(two.result.verdict, HAPAX_DUPLICATE);
        assert_false(second == ASK_EXPLAIN && two.explanation.known && !two.explanation.in_flight);
    }
    assert_false(atomic_load(&one.back));
    sim_os_unblock(r.sim, SIM_SYNC);
    pthread_join(one.thread, NULL);
    pthread_join(two.thread, NULL);
    if (fails) {
        assert_int_equal(one.rc, HAPAX_ERR_IO);
        assert_true(two.rc < 0 || (early && two.result.verdict != HAPAX_DUPLICATE));
    } else {
        assert_int_equal(one.rc, 0);
        assert_int_equal(two.rc, 0);
    }
    rig_end(&r);
}

static void race_all(ask_kind first, ask_kind second)
{
    for (int64_t refresh = 0; refresh < 2; refresh++) {
        race(refresh, first, second, false);
        race(refresh, first, second, true);
    }
}

static void test_record_of_an_id_that_is_being_recorded(void **state)
{
    (void)state;
    race_all(ASK_RECORD, ASK_RECORD);
}

static void test_claim_of_an_id_that_is_being_recorded(void **state)
{
    (void)state;
    race_all(ASK_RECORD, ASK_CLAIM);
}

static void test_claim_of_an_id_that_is_being_confirmed(void **state)
{
    (void)state;
    race_all(ASK_CONFIRM, ASK_CLAIM);
}

static void test_a_look_at_an_id_that_is_being_recorded(void **state)
{
    (void)state;
    race_all(ASK_RECORD, ASK_PEEK);
    race_all(ASK_CONFIRM, ASK_PEEK);
    race_all(ASK_RECORD, ASK_EXPLAIN);
}

/* A NEW claim stands on nothing: it need not wait for somebody else's write. */
static void test_a_new_claim_is_answered_at_once(void **state)
{
    (void)state;
    rig r;
    asker one;
    start_rig(&r, 1);
    sim_os_block(r.sim, SIM_SYNC);
    start(&one, r.domain, ASK_RECORD, 0);
    while (sim_os_waiting(r.sim, SIM_SYNC) == 0) {
        nap();
    }
    assert_string_equal(rig_claim(&r, "other@6"), "NEW");
    assert_false(atomic_load(&one.back));
    sim_os_unblock(r.sim, SIM_SYNC);
    pthread_join(one.thread, NULL);
    assert_int_equal(one.rc, 0);
    rig_end(&r);
}

/* Many wait for one sync: group commit. */
static void test_one_sync_answers_all_who_wait(void **state)
{
    (void)state;
    enum { ASKERS = 20 };
    rig r;
    static asker askers[ASKERS];
    start_rig(&r, 1);
    asker first;
    sim_os_block(r.sim, SIM_SYNC);
    start(&first, r.domain, ASK_RECORD, 0);
    while (sim_os_waiting(r.sim, SIM_SYNC) == 0) {
        nap();
    }
    for (int i = 0; i < ASKERS; i++) {
        start(&askers[i], r.domain, ASK_RECORD, 0);
    }
    for (int i = 0; i < 200; i++) {
        hapax_domain_stats stats = rig_stat(&r);
        if (stats.duplicate_count == ASKERS) {
            break;
        }
        nap();
    }
    assert_int_equal(rig_stat(&r).duplicate_count, ASKERS);
    uint64_t before = sim_os_calls(r.sim, SIM_SYNC);
    sim_os_unblock(r.sim, SIM_SYNC);
    pthread_join(first.thread, NULL);
    for (int i = 0; i < ASKERS; i++) {
        pthread_join(askers[i].thread, NULL);
        assert_int_equal(askers[i].rc, 0);
        assert_int_equal(askers[i].result.verdict, HAPAX_DUPLICATE);
    }
    assert_true(sim_os_calls(r.sim, SIM_SYNC) - before <= 3);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record_of_an_id_that_is_being_recorded),
        cmocka_unit_test(test_claim_of_an_id_that_is_being_recorded),
        cmocka_unit_test(test_claim_of_an_id_that_is_being_confirmed),
        cmocka_unit_test(test_a_look_at_an_id_that_is_being_recorded),
        cmocka_unit_test(test_a_new_claim_is_answered_at_once),
        cmocka_unit_test(test_one_sync_answers_all_who_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
