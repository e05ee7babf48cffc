/*
 * test_rules.c - the rules of the windowed policy, sentence by sentence, where no vector shows them (rules 1 to 8,
 * 10).
 *
 * Rule 9 is in test_settings.c, receive times are in test_times.c, rule 12 in test_claims.c, what survives in
 * test_durable.c.
 */
#include "rig.h"

#include <string.h>

static hapax_domain_options settings(int64_t window, int64_t expiry_ms)
{
    hapax_domain_options o;
    rig_options(&o, window, expiry_ms);
    return o;
}

/* ---- rules 1 to 3 ---- */

static void test_an_unchecked_message_changes_nothing(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 1, 10);
    assert_string_equal(rig_record(&r, "a@5 -@500 b@6"), "NEW UNCHECKED NEW");
    assert_string_equal(rig_window(&r, ""), "b@6"); /* not @500 */
    assert_string_equal(rig_queue(&r), "a@5");
    assert_true(rig_stat(&r).last_receive_ms == 6);
    rig_end(&r);
}

static void test_refresh_moves_the_older_occurrence_to_the_time_queue(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    assert_string_equal(rig_record(&r, "a@0 b@1 a@2"), "NEW NEW DUP");
    assert_string_equal(rig_window(&r, ""), "b@1 a@2");
    assert_string_equal(rig_queue(&r), "a@0"); /* with its own receive time */
    assert_string_equal(rig_record(&r, "c@3"), "NEW");
    assert_string_equal(rig_window(&r, ""), "a@2 c@3");
    rig_end(&r);
}

static void test_refresh_leaves_occurrences_elsewhere_where_they_are(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    assert_string_equal(rig_record(&r, "a/A@0 a/B@1"), "NEW DUP");
    assert_string_equal(rig_window(&r, "A"), "a@0");
    assert_string_equal(rig_window(&r, "B"), "a@1");
    assert_string_equal(rig_queue(&r), "");
    assert_int_equal(rig_stat(&r).ids_held, 1);
    assert_int_equal(rig_stat(&r).sources, 2);
    rig_end(&r);
}

static void test_an_id_is_known_as_long_as_any_occurrence_is_held(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 1, 0);
    assert_string_equal(rig_record(&r, "a/A@0 a/B@1 x/A@2"), "NEW DUP NEW"); /* A's a is forgotten, B's is there */
    assert_string_equal(rig_record(&r, "a/A@3"), "DUP");
    assert_string_equal(rig_record(&r, "y/B@4 z/A@5 a/C@6"), "NEW NEW NEW");
    rig_end(&r);
}

static void test_refresh_off_changes_nothing(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o = settings(2, 10);
    o.refresh = 0;
    rig_start_with(&r, &o);
    assert_string_equal(rig_record(&r, "a@0 b@1 a@7 a/B@8"), "NEW NEW DUP DUP");
    assert_string_equal(rig_window(&r, ""), "a@0 b@1");
    assert_string_equal(rig_window(&r, "B"), "");
    assert_true(rig_stat(&r).last_receive_ms == 1);
    assert_string_equal(rig_record(&r, "c@2"), "NEW"); /* at 2: the duplicates did not move the clock */
    assert_string_equal(rig_window(&r, ""), "b@1 c@2");
    rig_end(&r);
}

/* The receipt is that of the earliest occurrence held, before the claim acts. */
static void test_duplicate_carries_the_first_receipt(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 100);
    int64_t wall = sim_os_wall(r.sim);
    assert_string_equal(rig_record(&r, "a/A@0"), "NEW");
    assert_true(r.results[0].receive_ms == 0 && r.results[0].claim == 0);
    sim_os_turn(r.sim, 60000);
    assert_string_equal(rig_record(&r, "a/B@5 a/A@6"), "DUP DUP");
    for (int i = 0; i < 2; i++) {
        char name[8];
        assert_true(r.results[i].first_receive_ms == 0);
        assert_true(r.results[i].first_wall_ms - wall <= 1000 && wall - r.results[i].first_wall_ms <= 1000);
        assert_int_equal(hapax_source_name(r.domain, r.results[i].first_source, name, sizeof name), 1);
        assert_int_equal(name[0], 'A');
    }
    assert_true(r.results[0].receive_ms == 5);
    rig_end(&r);
}

/* ---- rules 4 to 7 ---- */

static void test_the_time_queue_takes_inserts_in_the_middle(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 1, 100);
    assert_string_equal(rig_record(&r, "quiet/A@0 b1/B@50 b2/B@60 b3/B@70"), "NEW NEW NEW NEW");
    assert_string_equal(rig_queue(&r), "b1@50 b2@60");
    assert_string_equal(rig_record(&r, "next/A@80"), "NEW"); /* quiet@0 enters behind younger ones */
    assert_string_equal(rig_queue(&r), "quiet@0 b1@50 b2@60");
    assert_string_equal(rig_record(&r, "b4/B@150 b5/B@151"), "NEW NEW"); /* newest 150: quiet is over */
    assert_string_equal(rig_queue(&r), "b1@50 b2@60 b3@70 b4@150");
    rig_end(&r);
}

static void test_an_insert_in_the_middle_can_be_forgotten_at_once(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 1, 10);
    assert_string_equal(rig_record(&r, "quiet/A@0 b1/B@50 b2/B@51"), "NEW NEW NEW");
    assert_string_equal(rig_peek(&r, "quiet@51"), "DUP");
    assert_string_equal(rig_record(&r, "next/A@52"), "NEW");
    assert_string_equal(rig_queue(&r), "b1@50");
    assert_string_equal(rig_peek(&r, "quiet@52"), "NEW");
    rig_end(&r);
}

/* "Has ever entered": newest stays although the entry that set it is gone. */
static void test_newest_outlives_its_entry(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 1, 10);
    assert_string_equal(rig_record(&r, "q/Q@0"), "NEW");
    uint64_t claim = rig_claim_one(&r, "a/A@50");
    assert_string_equal(rig_record(&r, "b/A@51"), "NEW"); /* a enters the queue: newest 50 */
    rig_release(&r, claim);
    assert_string_equal(rig_queue(&r), "");
    assert_string_equal(rig_record(&r, "p/Q@52"), "NEW"); /* q@0 enters, and 50 - 0 > 10 */
    assert_string_equal(rig_queue(&r), "");
    rig_end(&r);
}

static void test_expiry_is_strict(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 0, 10);
    assert_string_equal(rig_record(&r, "a@0 b@10"), "NEW NEW");
    assert_string_equal(rig_peek(&r, "a@10"), "DUP");
    assert_string_equal(rig_record(&r, "c@11"), "NEW");
    assert_string_equal(rig_peek(&r, "a@11 b@11"), "NEW DUP");
    rig_end(&r);
}

static void test_nothing_is_forgotten_because_time_passes(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 1, 10);
    assert_string_equal(rig_record(&r, "a b"), "NEW NEW");
    sim_os_turn(r.sim, 1000000);
    assert_string_equal(rig_peek(&r, "a b"), "DUP DUP");
    assert_string_equal(rig_record(&r, "c"), "NEW"); /* b enters with its own old time: newest is still old */
    assert_string_equal(rig_peek(&r, "a b c"), "DUP DUP DUP");
    assert_string_equal(rig_record(&r, "d"), "NEW"); /* c enters: now */
    assert_string_equal(rig_peek(&r, "a b c d"), "NEW NEW DUP DUP");
    rig_end(&r);
}

static void test_only_the_newest_occurrence_in_the_time_queue_is_kept(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 0, 100);
    assert_string_equal(rig_record(&r, "a@0 a@50 b@60 a@70"), "NEW DUP NEW DUP");
    assert_string_equal(rig_queue(&r), "b@60 a@70");
    assert_int_equal(rig_stat(&r).ids_in_time_queue, 2);
    rig_end(&r);
}

static void test_expiry_forever(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 0, HAPAX_FOREVER);
    assert_string_equal(rig_record(&r, "a@-2251799813685248 b@0 c@2251799813685248"), "NEW NEW NEW");
    assert_string_equal(rig_record(&r, "a@0 b@0"), "DUP DUP");
    assert_string_equal(rig_queue(&r), "c@2251799813685248 a@2251799813685248 b@2251799813685248");
    rig_end(&r);
}

static void test_the_widest_times_do_not_overflow(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 1, INT64_C(1) << 50); /* the longest expiry there is, but for forever */
    assert_string_equal(rig_record(&r, "a@-2251799813685248 b@2251799813685248 c@2251799813685248"), "NEW NEW NEW");
    assert_string_equal(rig_queue(&r), "b@2251799813685248");
    rig_end(&r);
}

static void test_window_and_expiry_0_is_refused(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 1, 10);
    hapax_domain *domain = NULL;
    hapax_domain_options o = settings(0, 0);
    assert_int_equal(hapax_domain_open(r.store, "e", 1, &o, &domain, &r.err), HAPAX_ERR_INVALID);
    o = settings(-1, 10);
    assert_int_equal(hapax_domain_open(r.store, "e", 1, &o, &domain, &r.err), HAPAX_ERR_INVALID);
    o = settings(1, -1);
    assert_int_equal(hapax_domain_open(r.store, "e", 1, &o, &domain, &r.err), HAPAX_ERR_INVALID);
    assert_null(domain);
    assert_null(hapax_domain_at(r.store, 1)); /* a refused open makes no domain */
    rig_end(&r);
}

/* ---- rule 6: max_age ---- */

static void test_max_age_forgets_at_the_look_up(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o = settings(5, HAPAX_FOREVER);
    o.max_age_ms = 10000;
    rig_start_with(&r, &o);
    assert_string_equal(rig_record(&r, "a b"), "NEW NEW");
    sim_os_turn(r.sim, 10000);
    assert_string_equal(rig_peek(&r, "a"), "DUP"); /* older than, strictly */
    sim_os_turn(r.sim, 1);
    assert_string_equal(rig_peek(&r, "a"), "NEW");
    assert_int_equal(rig_stat(&r).ids_held, 2); /* a peek changes nothing */
    assert_string_equal(rig_record(&r, "a"), "NEW");
    assert_string_equal(rig_window(&r, ""), "b@0 a@10001");
    rig_end(&r);
}

static void test_max_age_goes_by_the_latest_receipt(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o = settings(5, HAPAX_FOREVER);
    o.max_age_ms = 1000;
    rig_start_with(&r, &o);
    assert_string_equal(rig_record(&r, "a"), "NEW");
    for (int i = 0; i < 10; i++) {
        sim_os_turn(r.sim, 900);
        assert_string_equal(rig_record(&r, "a"), "DUP");
    }
    rig_end(&r);
}

static void test_max_age_never_forgets_what_is_in_flight(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o = settings(5, HAPAX_FOREVER);
    o.max_age_ms = 1000;
    rig_start_with(&r, &o);
    uint64_t claim = rig_claim_one(&r, "a");
    sim_os_turn(r.sim, 100000);
    assert_string_equal(rig_claim(&r, "a"), "FLIGHT");
    rig_confirm(&r, claim, HAPAX_NOW);
    assert_string_equal(rig_claim(&r, "a"), "DUP"); /* the IN_FLIGHT answer renewed it */
    rig_end(&r);
}

static void test_max_age_counts_downtime(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o = settings(5, HAPAX_FOREVER);
    o.max_age_ms = 10000;
    rig_start_with(&r, &o);
    assert_string_equal(rig_record(&r, "a"), "NEW");
    sim_os_turn(r.sim, 3000);
    rig_close(&r);
    sim_os_step_wall(r.sim, 6000);
    rig_open(&r);
    assert_true(r.report.downtime_ms == 6000);
    sim_os_turn(r.sim, 1000);
    assert_string_equal(rig_peek(&r, "a"), "DUP");
    sim_os_turn(r.sim, 1);
    assert_string_equal(rig_peek(&r, "a"), "NEW");
    rig_end(&r);
}

/* ---- rule 10 ---- */

static void test_ids_in_a_window_never_expire(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    assert_string_equal(rig_record(&r, "a/A@0 b/B@1000000000"), "NEW NEW");
    assert_string_equal(rig_record(&r, "c/B@2000000000 d/B@3000000000 a/A@3000000000"), "NEW NEW DUP");
    rig_end(&r);
}

static void test_source_idle_empties_into_the_time_queue(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o = settings(5, HAPAX_FOREVER);
    o.source_idle_ms = 100;
    rig_start_with(&r, &o);
    assert_string_equal(rig_record(&r, "a/A b/A c/B"), "NEW NEW NEW");
    sim_os_turn(r.sim, 99);
    assert_string_equal(rig_record(&r, "d/B"), "NEW");
    assert_string_equal(rig_window(&r, "A"), "a@0 b@0");
    sim_os_turn(r.sim, 1);
    assert_string_equal(rig_record(&r, "-"), "UNCHECKED"); /* no claim of an id: nothing happens */
    assert_string_equal(rig_window(&r, "A"), "a@0 b@0");
    assert_string_equal(rig_record(&r, "e/B"), "NEW");
    assert_string_equal(rig_window(&r, "A"), "");
    assert_string_equal(rig_queue(&r), "a@0 b@0");
    assert_string_equal(rig_window(&r, "B"), "c@0 d@99 e@100");
    assert_int_equal(rig_stat(&r).sources, 1);
    rig_end(&r);
}

/* Emptied before the claim: the claim of the silent source itself finds its window empty. */
static void test_source_idle_is_judged_before_the_claim(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o = settings(2, 10);
    o.source_idle_ms = 100;
    rig_start_with(&r, &o);
    assert_string_equal(rig_record(&r, "a/A"), "NEW");
    sim_os_turn(r.sim, 50);
    assert_string_equal(rig_record(&r, "b/A"), "NEW");
    sim_os_turn(r.sim, 100);
    assert_string_equal(rig_record(&r, "a/A"), "NEW"); /* a@0 and b@50 entered the queue, and 50 - 0 > 10 */
    assert_string_equal(rig_window(&r, "A"), "a@150");
    assert_string_equal(rig_queue(&r), "b@50");
    rig_end(&r);
}

static void test_max_sources_judges_further_ones_without_a_window(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o = settings(2, 10);
    o.max_sources = 2;
    rig_start_with(&r, &o);
    assert_string_equal(rig_record(&r, "a/A@0 b/B@0 c/C@0"), "NEW NEW NEW");
    assert_string_equal(rig_queue(&r), "c@0");
    assert_int_equal(rig_stat(&r).sources, 2);
    assert_int_equal(rig_stat(&r).sources_over_limit, 1);
    assert_string_equal(rig_record(&r, "c/C@1"), "DUP");
    assert_string_equal(rig_record(&r, "d/C@20"), "NEW"); /* d enters the queue: c is over */
    assert_string_equal(rig_peek(&r, "a@20 b@20 c@20 d@20"), "DUP DUP NEW DUP");
    assert_string_equal(rig_record(&r, "e/A@21"), "NEW"); /* sources that are there keep their windows */
    assert_string_equal(rig_window(&r, "A"), "a@0 e@21");
    rig_end(&r);
}

static void test_max_sources_has_room_again_when_a_window_is_empty(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o = settings(2, 10);
    o.max_sources = 1;
    rig_start_with(&r, &o);
    uint64_t claim = rig_claim_one(&r, "a/A@0");
    assert_string_equal(rig_record(&r, "b/B@1"), "NEW");
    assert_string_equal(rig_window(&r, "B"), "");
    rig_release(&r, claim);
    assert_string_equal(rig_record(&r, "c/B@2"), "NEW");
    assert_string_equal(rig_window(&r, "B"), "c@2");
    rig_end(&r);
}

static void test_names_of_1024_and_1025_bytes(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    static char name[HAPAX_NAME_MAX + 1];
    memset(name, 'n', sizeof name);
    hapax_message m = {.id = "a", .id_len = 1, .source = name, .source_len = HAPAX_NAME_MAX, .time_ms = 0};
    assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), 0);
    assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), 0);
    static char back[HAPAX_NAME_MAX];
    assert_int_equal(hapax_source_name(r.domain, r.results[0].first_source, back, sizeof back), HAPAX_NAME_MAX);
    assert_memory_equal(back, name, HAPAX_NAME_MAX);
    hapax_message batch[2] = {{.id = "b", .id_len = 1, .time_ms = 0}, m};
    batch[1].source_len = HAPAX_NAME_MAX + 1;
    assert_int_equal(hapax_record(r.domain, batch, 2, r.results, &r.err), HAPAX_ERR_TOO_LONG);
    assert_int_equal(r.err.index, 1);
    assert_int_equal(rig_stat(&r).ids_held, 1); /* b is not remembered either */
    hapax_domain *domain = NULL;
    assert_int_equal(hapax_domain_open(r.store, name, HAPAX_NAME_MAX, NULL, &domain, &r.err), 0);
    assert_int_equal(hapax_domain_open(r.store, name, HAPAX_NAME_MAX + 1, NULL, &domain, &r.err), HAPAX_ERR_TOO_LONG);
    hapax_domain_stats stats;
    hapax_domain_stat(domain, &stats);
    assert_int_equal(stats.name_len, HAPAX_NAME_MAX);
    assert_memory_equal(stats.name, name, HAPAX_NAME_MAX);
    rig_end(&r);
}

static void test_ids_of_4096_and_4097_bytes(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    static char id[HAPAX_ID_MAX + 1];
    memset(id, 'i', sizeof id);
    hapax_message m = {.id = id, .id_len = HAPAX_ID_MAX, .time_ms = 0};
    assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), 0);
    assert_int_equal(r.results[0].verdict, HAPAX_NEW);
    m.id_len = HAPAX_ID_MAX - 1; /* another id */
    assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), 0);
    assert_int_equal(r.results[0].verdict, HAPAX_NEW);
    m.id_len = HAPAX_ID_MAX + 1;
    assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), HAPAX_ERR_TOO_LONG);
    assert_int_equal(hapax_claim(r.domain, &m, 1, r.results, &r.err), HAPAX_ERR_TOO_LONG);
    assert_int_equal(hapax_peek(r.domain, &m, 1, r.results, &r.err), HAPAX_ERR_TOO_LONG);
    hapax_explanation e;
    assert_int_equal(hapax_explain(r.domain, id, HAPAX_ID_MAX + 1, &e, &r.err), HAPAX_ERR_TOO_LONG);
    m.id_len = HAPAX_ID_MAX;
    assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), 0);
    assert_int_equal(r.results[0].verdict, HAPAX_DUPLICATE);
    rig_end(&r);
}

/* ---- rule 11 ---- */

static void test_equal_verdicts_over_a_clean_restart(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    assert_string_equal(rig_record(&r, "a/A@0 b/A@1 c/A@2 b/B@3 d/A@14 a/A@15"), "NEW NEW NEW DUP NEW DUP");
    rig_reopen(&r);
    assert_true(r.report.clean);
    assert_string_equal(rig_window(&r, "A"), "d@14 a@15");
    assert_string_equal(rig_window(&r, "B"), "b@3");
    assert_string_equal(rig_queue(&r), "a@0 b@1 c@2");
    assert_true(rig_stat(&r).last_receive_ms == 15);
    assert_int_equal(rig_stat(&r).new_count, 4);
    assert_int_equal(rig_stat(&r).duplicate_count, 2);
    assert_string_equal(rig_record(&r, "e/A@16"), "NEW"); /* d@14 enters: 14 - 2 > 10 */
    assert_string_equal(rig_queue(&r), "d@14");
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_unchecked_message_changes_nothing),
        cmocka_unit_test(test_refresh_moves_the_older_occurrence_to_the_time_queue),
        cmocka_unit_test(test_refresh_leaves_occurrences_elsewhere_where_they_are),
        cmocka_unit_test(test_an_id_is_known_as_long_as_any_occurrence_is_held),
        cmocka_unit_test(test_refresh_off_changes_nothing),
        cmocka_unit_test(test_duplicate_carries_the_first_receipt),
        cmocka_unit_test(test_the_time_queue_takes_inserts_in_the_middle),
        cmocka_unit_test(test_an_insert_in_the_middle_can_be_forgotten_at_once),
        cmocka_unit_test(test_newest_outlives_its_entry),
        cmocka_unit_test(test_expiry_is_strict),
        cmocka_unit_test(test_nothing_is_forgotten_because_time_passes),
        cmocka_unit_test(test_only_the_newest_occurrence_in_the_time_queue_is_kept),
        cmocka_unit_test(test_expiry_forever),
        cmocka_unit_test(test_the_widest_times_do_not_overflow),
        cmocka_unit_test(test_window_and_expiry_0_is_refused),
        cmocka_unit_test(test_max_age_forgets_at_the_look_up),
        cmocka_unit_test(test_max_age_goes_by_the_latest_receipt),
        cmocka_unit_test(test_max_age_never_forgets_what_is_in_flight),
        cmocka_unit_test(test_max_age_counts_downtime),
        cmocka_unit_test(test_ids_in_a_window_never_expire),
        cmocka_unit_test(test_source_idle_empties_into_the_time_queue),
        cmocka_unit_test(test_source_idle_is_judged_before_the_claim),
        cmocka_unit_test(test_max_sources_judges_further_ones_without_a_window),
        cmocka_unit_test(test_max_sources_has_room_again_when_a_window_is_empty),
        cmocka_unit_test(test_names_of_1024_and_1025_bytes),
        cmocka_unit_test(test_ids_of_4096_and_4097_bytes),
        cmocka_unit_test(test_equal_verdicts_over_a_clean_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
