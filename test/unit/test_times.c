/*
 * test_times.c - receive times: the activity clock, given times, max_step, and the mode a domain takes.
 */
#include "rig.h"

/* ---- the activity clock ---- */

static void test_the_activity_clock_runs_with_the_monotonic_one(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 5, 10);
    sim_os_turn(r.sim, 250);
    assert_string_equal(rig_record(&r, "a"), "NEW");
    assert_true(r.results[0].receive_ms == 250); /* a new domain starts at 0 at the moment it is made */
    sim_os_step_wall(r.sim, 3600000);
    sim_os_turn(r.sim, 5);
    assert_string_equal(rig_record(&r, "b"), "NEW");
    assert_true(r.results[0].receive_ms == 255);
    rig_end(&r);
}

static void test_the_activity_clock_goes_on_over_a_restart(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 5, 10);
    sim_os_turn(r.sim, 250);
    assert_string_equal(rig_record(&r, "a"), "NEW");
    sim_os_turn(r.sim, 1000000); /* idle at the end: the domain goes on from its last receive time */
    rig_close(&r);
    sim_os_turn(r.sim, 86400000);
    sim_os_set_monotonic(r.sim, 17); /* another boot */
    rig_open(&r);
    sim_os_turn(r.sim, 3);
    assert_string_equal(rig_record(&r, "b"), "NEW");
    assert_true(r.results[0].receive_ms == 253);
    rig_crash(&r);
    sim_os_turn(r.sim, 4);
    assert_string_equal(rig_record(&r, "c"), "NEW");
    assert_true(r.results[0].receive_ms == 257);
    assert_string_equal(rig_window(&r, ""), "a@250 b@253 c@257");
    rig_end(&r);
}

static void test_activity_time_sums_up_over_the_opens(void **state)
{
    (void)state;
    rig r;
    hapax_store_stats stats;
    rig_start(&r, 5, 10);
    sim_os_turn(r.sim, 100);
    rig_close(&r);
    sim_os_turn(r.sim, 5000);
    rig_open(&r);
    hapax_store_stat(r.store, &stats);
    assert_true(stats.activity_ms == 100);
    sim_os_turn(r.sim, 20);
    assert_string_equal(rig_record(&r, "a"), "NEW");
    sim_os_turn(r.sim, 7); /* not stored by any batch */
    rig_crash(&r);
    hapax_store_stat(r.store, &stats);
    assert_true(stats.activity_ms == 120);
    rig_end(&r);
}

/* ---- given times ---- */

static void test_a_given_time_below_the_last_is_raised_to_it(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 5, 10);
    assert_string_equal(rig_record(&r, "a@100 b@50 c@-7"), "NEW NEW NEW");
    assert_true(r.results[1].receive_ms == 100 && r.results[2].receive_ms == 100);
    assert_string_equal(rig_window(&r, ""), "a@100 b@100 c@100");
    rig_reopen(&r);
    assert_string_equal(rig_record(&r, "d@99"), "NEW");
    assert_true(r.results[0].receive_ms == 100);
    rig_end(&r);
}

static void test_given_times_may_be_negative(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 0, 10);
    assert_string_equal(rig_record(&r, "a@-100 b@-95 c@-89"), "NEW NEW NEW");
    assert_string_equal(rig_queue(&r), "b@-95 c@-89");
    rig_end(&r);
}

static void test_only_a_claim_that_changes_state_moves_the_last(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 5, 10);
    assert_string_equal(rig_record(&r, "a@0 a@10"), "NEW DUP"); /* with refresh a duplicate does */
    assert_true(rig_stat(&r).last_receive_ms == 10);
    assert_string_equal(rig_peek(&r, "b@99"), "NEW");
    assert_string_equal(rig_record(&r, "-@500"), "UNCHECKED");
    assert_true(rig_stat(&r).last_receive_ms == 10);
    uint64_t claim = rig_claim_one(&r, "b@20");
    rig_confirm(&r, claim, 300); /* an occurrence is held: nothing is appended */
    assert_true(rig_stat(&r).last_receive_ms == 20);
    rig_end(&r);
}

static void test_a_new_domain_has_no_last_receive_time(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 5, 10);
    assert_true(rig_stat(&r).last_receive_ms == HAPAX_UNSET);
    assert_false(rig_stat(&r).given_times);
    assert_string_equal(rig_record(&r, "a@-5"), "NEW"); /* not raised to anything */
    assert_true(rig_stat(&r).last_receive_ms == -5);
    assert_true(rig_stat(&r).given_times);
    rig_end(&r);
}

static void test_a_time_out_of_range_is_refused(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 5, 10);
    assert_string_equal(rig_record(&r, "a@0 b@2251799813685249"), "HAPAX_ERR_INVALID");
    assert_int_equal(r.err.index, 1);
    assert_string_equal(rig_record(&r, "a@-2251799813685249"), "HAPAX_ERR_INVALID");
    assert_int_equal(rig_stat(&r).ids_held, 0);
    uint64_t claim = rig_claim_one(&r, "a@0");
    assert_int_equal(hapax_confirm(r.domain, &claim, 1, 2251799813685249, &r.err), HAPAX_ERR_INVALID);
    assert_int_equal(rig_stat(&r).in_flight, 1);
    rig_end(&r);
}

/* ---- the mode ---- */

static void test_the_first_claim_decides_the_mode(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 5, 10);
    assert_string_equal(rig_record(&r, "a@0 b"), "HAPAX_ERR_TIME_MODE");
    assert_int_equal(r.err.index, 1);
    assert_int_equal(rig_stat(&r).ids_held, 0); /* the refused batch decided nothing */
    assert_string_equal(rig_record(&r, "a"), "NEW");
    assert_string_equal(rig_record(&r, "b@0"), "HAPAX_ERR_TIME_MODE");
    assert_string_equal(rig_claim(&r, "b@0"), "HAPAX_ERR_TIME_MODE");
    assert_string_equal(rig_peek(&r, "b@0"), "HAPAX_ERR_TIME_MODE");
    rig_reopen(&r);
    assert_string_equal(rig_record(&r, "b@0"), "HAPAX_ERR_TIME_MODE");
    assert_string_equal(rig_record(&r, "b"), "NEW");
    rig_end(&r);
    rig_start(&r, 5, 10);
    assert_string_equal(rig_claim(&r, "a@0"), "NEW");
    assert_string_equal(rig_record(&r, "b"), "HAPAX_ERR_TIME_MODE");
    rig_crash(&r); /* the claim never was */
    assert_string_equal(rig_record(&r, "b"), "NEW");
    rig_end(&r);
}

/* ---- max_step ---- */

static void start_with_step(rig *r, int64_t max_step_ms)
{
    hapax_domain_options o;
    rig_options(&o, 10, 10);
    o.max_step_ms = max_step_ms;
    rig_start_with(r, &o);
}

static void test_max_step_does_not_believe_one_time_far_ahead(void **state)
{
    (void)state;
    rig r;
    start_with_step(&r, 100);
    assert_string_equal(rig_record(&r, "a@1000 b@1100 c@1201 d@1150"), "NEW NEW NEW NEW");
    assert_string_equal(rig_window(&r, ""), "a@1000 b@1100 c@1100 d@1150");
    assert_int_equal(rig_stat(&r).steps_not_believed, 1);
    rig_end(&r);
}

static void test_max_step_believes_two_times_that_lie_together(void **state)
{
    (void)state;
    rig r;
    start_with_step(&r, 100);
    assert_string_equal(rig_record(&r, "a@0 b@5000 c@5100 d@5101"), "NEW NEW NEW NEW");
    assert_string_equal(rig_window(&r, ""), "a@0 b@0 c@5100 d@5101");
    assert_int_equal(rig_stat(&r).steps_not_believed, 1);
    rig_end(&r);
}

static void test_max_step_does_not_believe_two_that_lie_apart(void **state)
{
    (void)state;
    rig r;
    start_with_step(&r, 100);
    assert_string_equal(rig_record(&r, "a@0 b@5000 c@5101 d@900000 e@5101"), "NEW NEW NEW NEW NEW");
    assert_string_equal(rig_window(&r, ""), "a@0 b@0 c@0 d@0 e@0");
    assert_int_equal(rig_stat(&r).steps_not_believed, 4);
    rig_end(&r);
}

static void test_max_step_wants_the_previous_one_ahead_as_well(void **state)
{
    (void)state;
    rig r;
    start_with_step(&r, 100);
    assert_string_equal(rig_record(&r, "a@0 b@5000 c@50 d@5000"), "NEW NEW NEW NEW");
    assert_string_equal(rig_window(&r, ""), "a@0 b@0 c@50 d@50"); /* the previous was c, and it was not ahead */
    rig_end(&r);
}

static void test_max_step_counts_the_previous_message_with_an_id(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o;
    rig_options(&o, 10, 10);
    o.max_step_ms = 100;
    o.refresh = 0;
    rig_start_with(&r, &o);
    assert_string_equal(rig_record(&r, "a@0 a@5000 -@3 b@5001"), "NEW DUP UNCHECKED NEW");
    assert_string_equal(rig_window(&r, ""), "a@0 b@5001");
    assert_string_equal(rig_peek(&r, "x@90000"), "NEW");
    assert_string_equal(rig_record(&r, "c@90001"), "NEW"); /* a peek is no message */
    assert_true(r.results[0].receive_ms == 5001);
    rig_end(&r);
}

static void test_max_step_over_a_clean_restart(void **state)
{
    (void)state;
    rig r;
    start_with_step(&r, 100);
    assert_string_equal(rig_record(&r, "a@0 b@5000"), "NEW NEW");
    rig_reopen(&r);
    assert_string_equal(rig_record(&r, "c@5001"), "NEW");
    assert_true(r.results[0].receive_ms == 5001);
    rig_end(&r);
}

static void test_the_first_time_of_a_domain_is_no_step(void **state)
{
    (void)state;
    rig r;
    start_with_step(&r, 0);
    assert_string_equal(rig_record(&r, "a@1767225600000 b@1767225600000 c@1767225600001"), "NEW NEW NEW");
    assert_int_equal(rig_stat(&r).steps_not_believed, 1); /* a step of 0: not even 1 ms ahead */
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_activity_clock_runs_with_the_monotonic_one),
        cmocka_unit_test(test_the_activity_clock_goes_on_over_a_restart),
        cmocka_unit_test(test_activity_time_sums_up_over_the_opens),
        cmocka_unit_test(test_a_given_time_below_the_last_is_raised_to_it),
        cmocka_unit_test(test_given_times_may_be_negative),
        cmocka_unit_test(test_only_a_claim_that_changes_state_moves_the_last),
        cmocka_unit_test(test_a_new_domain_has_no_last_receive_time),
        cmocka_unit_test(test_a_time_out_of_range_is_refused),
        cmocka_unit_test(test_the_first_claim_decides_the_mode),
        cmocka_unit_test(test_max_step_does_not_believe_one_time_far_ahead),
        cmocka_unit_test(test_max_step_believes_two_times_that_lie_together),
        cmocka_unit_test(test_max_step_does_not_believe_two_that_lie_apart),
        cmocka_unit_test(test_max_step_wants_the_previous_one_ahead_as_well),
        cmocka_unit_test(test_max_step_counts_the_previous_message_with_an_id),
        cmocka_unit_test(test_max_step_over_a_clean_restart),
        cmocka_unit_test(test_the_first_time_of_a_domain_is_no_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
