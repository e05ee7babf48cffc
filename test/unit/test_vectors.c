/*
 * test_vectors.c - the vectors of the windowed policy, each as its own test through the public API.
 *
 * They are the examples that the contract gives for its rules, word by word. What they leave out is in test_rules.c
 * (rules 1 to 11) and test_claims.c (rule 12).
 */
#include "rig.h"

/* W=1 T=10: x1@0 x2@5 x3@10 x4@11 x5@12 all NEW; then known: x2 x3 x4 x5, not x1. */
static void test_window_1_expiry_10(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 1, 10);
    assert_string_equal(rig_record(&r, "x1@0"), "NEW");
    assert_string_equal(rig_record(&r, "x2@5"), "NEW");
    assert_string_equal(rig_record(&r, "x3@10"), "NEW");
    assert_string_equal(rig_record(&r, "x4@11"), "NEW");
    assert_string_equal(rig_peek(&r, "x1@11"), "DUP"); /* at t=11 newest was 10 and x1 stayed */
    assert_string_equal(rig_record(&r, "x5@12"), "NEW");
    assert_string_equal(rig_peek(&r, "x1@12 x2@12 x3@12 x4@12 x5@12"), "NEW DUP DUP DUP DUP");
    assert_string_equal(rig_window(&r, ""), "x5@12");
    assert_string_equal(rig_queue(&r), "x2@5 x3@10 x4@11");
    rig_end(&r);
}

/* W=2 T=10: a quiet source is protected from a busy one. */
static void test_quiet_source_is_protected(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    assert_string_equal(rig_record(&r, "a1/A@0 a2/A@1 b1/B@100 b2/B@101 b3/B@102 b4/B@103"),
                        "NEW NEW NEW NEW NEW NEW");
    assert_string_equal(rig_record(&r, "a1/A@104"), "DUP");
    assert_string_equal(rig_record(&r, "a3/A@105"), "NEW");
    rig_end(&r);
}

/* The same without sources: a1@104 is NEW (forgotten when b1 entered the time queue). */
static void test_without_sources_the_busy_one_pushes_out(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    assert_string_equal(rig_record(&r, "a1@0 a2@1 b1@100 b2@101"), "NEW NEW NEW NEW");
    assert_string_equal(rig_peek(&r, "a1@101"), "DUP"); /* newest in the queue is a2@1 */
    assert_string_equal(rig_record(&r, "b3@102 b4@103"), "NEW NEW");
    assert_string_equal(rig_record(&r, "a1@104"), "NEW");
    rig_end(&r);
}

/* W=2 T=10: the same id from source A then B: DUPLICATE. */
static void test_same_id_from_another_source_is_duplicate(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    assert_string_equal(rig_record(&r, "m/A@0"), "NEW");
    assert_string_equal(rig_record(&r, "m/B@1"), "DUP");
    rig_end(&r);
}

/* Any number of messages with id "": all UNCHECKED; ids held stays 0. */
static void test_empty_ids_are_unchecked(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    for (int i = 0; i < 100; i++) {
        assert_string_equal(rig_record(&r, "-@5 -/A@5"), "UNCHECKED UNCHECKED");
        assert_string_equal(rig_claim(&r, "-@5"), "UNCHECKED");
        assert_true(r.results[0].claim == 0);
    }
    assert_int_equal(rig_stat(&r).ids_held, 0);
    assert_int_equal(rig_stat(&r).unchecked_count, 300);
    rig_end(&r);
}

/* W=1 T=0: a@5 b@5 a@5: NEW NEW NEW. */
static void test_window_1_expiry_0(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 1, 0);
    assert_string_equal(rig_record(&r, "a@5 b@5 a@5"), "NEW NEW NEW");
    assert_string_equal(rig_queue(&r), "");
    rig_end(&r);
}

/* W=0 T=10: a@0 b@10 NEW, a@10 DUPLICATE, c@21 NEW, a@21 NEW, b@21 NEW. */
static void test_window_0_expiry_10(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 0, 10);
    assert_string_equal(rig_record(&r, "a@0 b@10"), "NEW NEW");
    assert_string_equal(rig_record(&r, "a@10"), "DUP");
    assert_string_equal(rig_record(&r, "c@21"), "NEW");
    assert_string_equal(rig_record(&r, "a@21"), "NEW");
    assert_string_equal(rig_record(&r, "b@21"), "NEW");
    rig_end(&r);
}

static void claim_is_pushed_out(rig *r, uint64_t *ret_claim)
{
    rig_start(r, 1, 10);
    *ret_claim = rig_claim_one(r, "a@0");
    assert_string_equal(rig_record(r, "x1@1 x2@2 x3@20 x4@21"), "NEW NEW NEW NEW");
    assert_string_equal(rig_claims(r), "a@0"); /* no occurrence of it is held */
}

/* W=1 T=10, claim a@0 (left open), record x1@1 x2@2 x3@20 x4@21: confirm a@22, then Q = a@22 and a@23 is DUPLICATE.
 */
static void test_confirm_puts_back_what_was_pushed_out(void **state)
{
    (void)state;
    rig r;
    uint64_t claim = 0;
    claim_is_pushed_out(&r, &claim);
    rig_confirm(&r, claim, 22);
    assert_string_equal(rig_window(&r, ""), "a@22");
    assert_string_equal(rig_record(&r, "a@23"), "DUP");
    rig_end(&r);
}

/* Instead of the confirm: a@22 IN_FLIGHT; release; a@23 NEW. */
static void test_release_of_what_was_pushed_out(void **state)
{
    (void)state;
    rig r;
    uint64_t claim = 0;
    claim_is_pushed_out(&r, &claim);
    assert_string_equal(rig_claim(&r, "a@22"), "FLIGHT");
    rig_release(&r, claim);
    assert_string_equal(rig_claim(&r, "a@23"), "NEW");
    rig_end(&r);
}

/* W=2 T=10, claims a@0 b@1 c@2, left open (TQ: a); release b; d@4 NEW, Q = c d; b@5 NEW, Q = d b, TQ = a c. */
static void test_release_takes_out_of_the_window(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    assert_string_equal(rig_claim(&r, "a@0 b@1 c@2"), "NEW NEW NEW");
    assert_string_equal(rig_queue(&r), "a@0");
    rig_release(&r, r.results[1].claim);
    assert_string_equal(rig_claim(&r, "d@4"), "NEW");
    assert_string_equal(rig_window(&r, ""), "c@2 d@4");
    assert_string_equal(rig_claim(&r, "b@5"), "NEW");
    assert_string_equal(rig_window(&r, ""), "d@4 b@5");
    assert_string_equal(rig_queue(&r), "a@0 c@2");
    rig_end(&r);
}

/* Batch x@0 x@0: record NEW DUPLICATE; left open NEW IN_FLIGHT; both end with x in Q and x in TQ. */
static void test_twice_in_one_batch(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    assert_string_equal(rig_record(&r, "x@0 x@0"), "NEW DUP");
    assert_string_equal(rig_window(&r, ""), "x@0");
    assert_string_equal(rig_queue(&r), "x@0");
    rig_end(&r);
    rig_start(&r, 2, 10);
    assert_string_equal(rig_claim(&r, "x@0 x@0"), "NEW FLIGHT");
    assert_string_equal(rig_window(&r, ""), "x@0");
    assert_string_equal(rig_queue(&r), "x@0");
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window_1_expiry_10),
        cmocka_unit_test(test_quiet_source_is_protected),
        cmocka_unit_test(test_without_sources_the_busy_one_pushes_out),
        cmocka_unit_test(test_same_id_from_another_source_is_duplicate),
        cmocka_unit_test(test_empty_ids_are_unchecked),
        cmocka_unit_test(test_window_1_expiry_0),
        cmocka_unit_test(test_window_0_expiry_10),
        cmocka_unit_test(test_confirm_puts_back_what_was_pushed_out),
        cmocka_unit_test(test_release_of_what_was_pushed_out),
        cmocka_unit_test(test_release_takes_out_of_the_window),
        cmocka_unit_test(test_twice_in_one_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
