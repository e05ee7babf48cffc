/*
 * test_claims.c - rule 12: claims, confirm, release, record, and what a crash makes of them.
 */
#include "rig.h"

#include <string.h>

static void test_the_windows_see_arrivals_only(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    assert_string_equal(rig_claim(&r, "a@0 b@1 c@2"), "NEW NEW NEW");
    uint64_t a = r.results[0].claim;
    uint64_t b = r.results[1].claim;
    uint64_t c = r.results[2].claim;
    assert_string_equal(rig_window(&r, ""), "b@1 c@2");
    rig_confirm(&r, c, 3); /* in another order: nothing moves */
    rig_confirm(&r, a, 3);
    rig_confirm(&r, b, 3);
    assert_string_equal(rig_window(&r, ""), "b@1 c@2");
    assert_string_equal(rig_queue(&r), "a@0");
    assert_int_equal(rig_stat(&r).in_flight, 0);
    assert_true(rig_stat(&r).last_receive_ms == 2);
    rig_end(&r);
}

static void test_an_id_in_flight_is_never_forgotten(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 1, 0);
    rig_claim_one(&r, "a@0");
    assert_string_equal(rig_record(&r, "b@1000 c@2000"), "NEW NEW");
    assert_string_equal(rig_claims(&r), "a@0");
    assert_int_equal(rig_stat(&r).ids_held, 2); /* a and c */
    assert_string_equal(rig_peek(&r, "a@3000"), "FLIGHT");
    assert_string_equal(rig_record(&r, "a@3000"), "FLIGHT");
    rig_end(&r);
}

/* Of an id in flight of which nothing is held the receipt is that of its claim. */
static void test_in_flight_receipt_is_that_of_the_claim(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 1, 0);
    rig_claim_one(&r, "a/A@7");
    assert_string_equal(rig_record(&r, "b/A@1000"), "NEW");
    assert_string_equal(rig_claim(&r, "a/B@2000"), "FLIGHT");
    assert_true(r.results[0].first_receive_ms == 7 && r.results[0].claim == 0);
    char name[4];
    assert_int_equal(hapax_source_name(r.domain, r.results[0].first_source, name, sizeof name), 1);
    assert_int_equal(name[0], 'A');
    rig_end(&r);
}

/* b: rule 3 applies to IN_FLIGHT in the same way. */
static void test_in_flight_refreshes(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    uint64_t a = rig_claim_one(&r, "a@0");
    assert_string_equal(rig_record(&r, "b@1"), "NEW");
    assert_string_equal(rig_claim(&r, "a@2"), "FLIGHT");
    assert_string_equal(rig_window(&r, ""), "b@1 a@2");
    assert_string_equal(rig_queue(&r), "a@0");
    assert_true(rig_stat(&r).last_receive_ms == 2);
    rig_confirm(&r, a, 3);
    assert_string_equal(rig_window(&r, ""), "b@1 a@2");
    rig_end(&r);
}

/* c: the append at the confirm obeys rules 4 and 5, in the window of the claim's source. */
static void test_confirm_appends_to_the_window_of_the_claim(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 1, 10);
    uint64_t a = rig_claim_one(&r, "a/A@0");
    assert_string_equal(rig_record(&r, "b/A@20 c/A@40 d/B@41"), "NEW NEW NEW");
    assert_string_equal(rig_claims(&r), "a@0");
    rig_confirm(&r, a, 50);
    assert_string_equal(rig_window(&r, "A"), "a@50");
    assert_string_equal(rig_window(&r, "B"), "d@41");
    assert_string_equal(rig_queue(&r), "c@40"); /* c entered, and 40 - 20 > 10 */
    assert_true(rig_stat(&r).last_receive_ms == 50);
    assert_string_equal(rig_record(&r, "e/B@45"), "NEW"); /* raised to 50 */
    assert_true(r.results[0].receive_ms == 50);
    rig_end(&r);
}

static void test_confirm_time(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 1, 0);
    uint64_t a = rig_claim_one(&r, "a@0");
    assert_string_equal(rig_record(&r, "b@20"), "NEW");
    rig_confirm(&r, a, 10); /* raised to the domain's last */
    assert_string_equal(rig_window(&r, ""), "a@20");
    uint64_t c = rig_claim_one(&r, "c@30");
    assert_string_equal(rig_record(&r, "d@40"), "NEW");
    rig_confirm(&r, c, HAPAX_NOW); /* given times: the last receive time */
    assert_string_equal(rig_window(&r, ""), "c@40");
    rig_end(&r);
    rig_start(&r, 1, 0);
    a = rig_claim_one(&r, "a");
    assert_string_equal(rig_record(&r, "b"), "NEW");
    sim_os_turn(r.sim, 700);
    uint64_t claims[1] = {a};
    assert_int_equal(hapax_confirm(r.domain, claims, 1, 5, &r.err), HAPAX_ERR_TIME_MODE);
    assert_int_equal(rig_stat(&r).in_flight, 1);
    rig_confirm(&r, a, HAPAX_NOW); /* the activity clock */
    assert_string_equal(rig_window(&r, ""), "a@700");
    rig_end(&r);
}

/* d: every occurrence goes, what those had pushed out stays out. */
static void test_release_removes_every_occurrence(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 100);
    uint64_t a = rig_claim_one(&r, "a/A@0");
    assert_string_equal(rig_claim(&r, "b/A@1 c/A@2 a/B@3 a/A@4"), "NEW NEW FLIGHT FLIGHT");
    assert_string_equal(rig_window(&r, "A"), "c@2 a@4");
    assert_string_equal(rig_window(&r, "B"), "a@3");
    assert_string_equal(rig_queue(&r), "a@0 b@1");
    rig_release(&r, a);
    assert_string_equal(rig_window(&r, "A"), "c@2");
    assert_string_equal(rig_window(&r, "B"), "");
    assert_string_equal(rig_queue(&r), "b@1");
    assert_string_equal(rig_record(&r, "a/A@5"), "NEW");
    rig_end(&r);
}

/* e: a record of an id in flight is IN_FLIGHT and does not confirm it. */
static void test_record_of_an_id_in_flight(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    uint64_t a = rig_claim_one(&r, "a@0");
    assert_string_equal(rig_record(&r, "a@1"), "FLIGHT");
    assert_int_equal(rig_stat(&r).in_flight, 1);
    rig_release(&r, a);
    assert_string_equal(rig_record(&r, "a@2"), "NEW");
    rig_end(&r);
}

static void test_a_claim_is_closed_once(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    uint64_t a = rig_claim_one(&r, "a@0");
    uint64_t b = rig_claim_one(&r, "b@0");
    uint64_t twice[2] = {a, a};
    assert_int_equal(hapax_confirm(r.domain, twice, 2, 1, &r.err), HAPAX_ERR_NOT_FOUND);
    assert_int_equal(r.err.index, 1);
    assert_int_equal(hapax_release(r.domain, twice, 2, &r.err), HAPAX_ERR_NOT_FOUND);
    assert_int_equal(rig_stat(&r).in_flight, 2); /* none is confirmed */
    rig_confirm(&r, a, 1);
    uint64_t mixed[2] = {b, a};
    assert_int_equal(hapax_confirm(r.domain, mixed, 2, 1, &r.err), HAPAX_ERR_NOT_FOUND);
    assert_int_equal(r.err.index, 1);
    assert_int_equal(hapax_release(r.domain, mixed, 2, &r.err), HAPAX_ERR_NOT_FOUND);
    assert_int_equal(rig_stat(&r).in_flight, 1);
    rig_release(&r, b);
    uint64_t again = rig_claim_one(&r, "b@2");
    assert_true(again != b); /* an old handle never means a new claim */
    assert_int_equal(hapax_release(r.domain, &b, 1, &r.err), HAPAX_ERR_NOT_FOUND);
    uint64_t zero = 0;
    assert_int_equal(hapax_confirm(r.domain, &zero, 1, 1, &r.err), HAPAX_ERR_NOT_FOUND);
    rig_end(&r);
}

static void test_a_handle_of_an_earlier_open_is_not_found(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    uint64_t a = rig_claim_one(&r, "a@0");
    rig_crash(&r);
    uint64_t b = rig_claim_one(&r, "b@0");
    assert_true(a != b);
    assert_int_equal(hapax_confirm(r.domain, &a, 1, 1, &r.err), HAPAX_ERR_NOT_FOUND);
    rig_end(&r);
}

static void test_a_handle_belongs_to_its_domain(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    hapax_domain *other = NULL;
    assert_int_equal(hapax_domain_open(r.store, "other", 5, NULL, &other, &r.err), 0);
    uint64_t a = rig_claim_one(&r, "a@0");
    assert_int_equal(hapax_confirm(other, &a, 1, 0, &r.err), HAPAX_ERR_NOT_FOUND);
    assert_int_equal(rig_stat(&r).in_flight, 1);
    rig_end(&r);
}

/* ---- f and g ---- */

static void test_a_clean_stop_releases_open_claims(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 100);
    assert_string_equal(rig_record(&r, "a@0 b@1"), "NEW NEW");
    rig_claim_one(&r, "c@2");
    rig_reopen(&r);
    assert_string_equal(rig_window(&r, ""), "b@1");
    assert_string_equal(rig_queue(&r), "a@0"); /* what c had pushed out stays out */
    assert_string_equal(rig_record(&r, "c@3"), "NEW");
    rig_end(&r);
}

static void test_a_crash_undoes_open_claims_and_what_they_pushed_out(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 100);
    assert_string_equal(rig_record(&r, "a@0 b@1"), "NEW NEW");
    rig_claim_one(&r, "c@2");
    rig_crash(&r);
    assert_false(r.report.clean);
    assert_string_equal(rig_window(&r, ""), "a@0 b@1");
    assert_string_equal(rig_queue(&r), "");
    assert_string_equal(rig_record(&r, "c@3"), "NEW");
    rig_end(&r);
}

static void test_a_crash_keeps_the_order_of_claims(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 3, 100);
    assert_string_equal(rig_claim(&r, "a@0 b@1 c@2 d@3"), "NEW NEW NEW NEW");
    uint64_t claims[4];
    for (int i = 0; i < 4; i++) {
        claims[i] = r.results[i].claim;
    }
    assert_string_equal(rig_record(&r, "x@4"), "NEW");
    rig_confirm(&r, claims[3], 5);
    rig_confirm(&r, claims[1], 5);
    rig_crash(&r);
    assert_string_equal(rig_window(&r, ""), "b@1 d@3 x@4");
    assert_string_equal(rig_queue(&r), "");
    assert_string_equal(rig_peek(&r, "a@5 c@5"), "NEW NEW");
    rig_end(&r);
}

/* IN_FLIGHT answers to a claim that was never confirmed are as if they had never been. */
static void test_a_crash_undoes_answers_to_open_claims(void **state)
{
    (void)state;
    for (int confirmed = 0; confirmed < 2; confirmed++) {
        rig r;
        rig_start(&r, 2, 100);
        assert_string_equal(rig_record(&r, "a@0 b@1"), "NEW NEW");
        uint64_t c = rig_claim_one(&r, "c/S@2");
        assert_string_equal(rig_claim(&r, "c@3"), "FLIGHT");
        assert_string_equal(rig_window(&r, ""), "b@1 c@3");
        if (confirmed) {
            rig_confirm(&r, c, 4);
        }
        rig_crash(&r);
        assert_string_equal(rig_window(&r, ""), confirmed ? "b@1 c@3" : "a@0 b@1");
        assert_string_equal(rig_window(&r, "S"), confirmed ? "c@2" : "");
        rig_end(&r);
    }
}

static void test_a_crash_undoes_a_release(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 100);
    assert_string_equal(rig_record(&r, "a@0 b@1"), "NEW NEW");
    uint64_t c = rig_claim_one(&r, "c@2");
    rig_release(&r, c);
    assert_string_equal(rig_window(&r, ""), "b@1");
    rig_crash(&r);
    assert_string_equal(rig_window(&r, ""), "a@0 b@1"); /* as if c had never been */
    rig_end(&r);
}

/* 12c is judged again: without the unconfirmed x the id was not pushed out, and the confirm appends nothing. */
static void test_a_crash_judges_the_append_again(void **state)
{
    (void)state;
    for (int confirmed = 0; confirmed < 2; confirmed++) {
        rig r;
        rig_start(&r, 1, 0);
        uint64_t a = rig_claim_one(&r, "a@0");
        uint64_t x = rig_claim_one(&r, "x@1");
        rig_confirm(&r, a, 2);
        assert_string_equal(rig_window(&r, ""), "a@2");
        if (confirmed) {
            rig_confirm(&r, x, 3);
            assert_string_equal(rig_window(&r, ""), "x@3");
        }
        rig_crash(&r);
        assert_string_equal(rig_window(&r, ""), confirmed ? "x@3" : "a@0");
        rig_end(&r);
    }
}

static void test_a_batch_of_confirms_is_all_or_nothing(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 5, 100);
    assert_string_equal(rig_claim(&r, "a@0 b@1 c@2"), "NEW NEW NEW");
    uint64_t claims[3] = {r.results[2].claim, r.results[0].claim, r.results[1].claim};
    assert_int_equal(hapax_confirm(r.domain, claims, 3, 3, &r.err), 0);
    rig_cut_power(&r);
    assert_string_equal(rig_window(&r, ""), "a@0 b@1 c@2");
    assert_int_equal(hapax_confirm(r.domain, NULL, 0, HAPAX_NOW, &r.err), 0); /* none: fine */
    assert_int_equal(hapax_release(r.domain, NULL, 0, &r.err), 0);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_windows_see_arrivals_only),
        cmocka_unit_test(test_an_id_in_flight_is_never_forgotten),
        cmocka_unit_test(test_in_flight_receipt_is_that_of_the_claim),
        cmocka_unit_test(test_in_flight_refreshes),
        cmocka_unit_test(test_confirm_appends_to_the_window_of_the_claim),
        cmocka_unit_test(test_confirm_time),
        cmocka_unit_test(test_release_removes_every_occurrence),
        cmocka_unit_test(test_record_of_an_id_in_flight),
        cmocka_unit_test(test_a_claim_is_closed_once),
        cmocka_unit_test(test_a_handle_of_an_earlier_open_is_not_found),
        cmocka_unit_test(test_a_handle_belongs_to_its_domain),
        cmocka_unit_test(test_a_clean_stop_releases_open_claims),
        cmocka_unit_test(test_a_crash_undoes_open_claims_and_what_they_pushed_out),
        cmocka_unit_test(test_a_crash_keeps_the_order_of_claims),
        cmocka_unit_test(test_a_crash_undoes_answers_to_open_claims),
        cmocka_unit_test(test_a_crash_undoes_a_release),
        cmocka_unit_test(test_a_crash_judges_the_append_again),
        cmocka_unit_test(test_a_batch_of_confirms_is_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
