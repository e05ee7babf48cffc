/*
 * test_settings.c - rule 9: what a domain's settings are on a later open, and what may change them.
 */
#include "rig.h"

#include <string.h>

static hapax_domain_options unset(void)
{
    hapax_domain_options o;
    hapax_domain_options_init(&o);
    return o;
}

/* Closes and opens with these options; the status. */
static int reopen_with(rig *r, const hapax_domain_options *options)
{
    rig_close(r);
    r->options = *options;
    int rc = rig_try_open(r);
    r->options = unset();
    return rc;
}

static hapax_domain_options in_force(rig *r, unsigned *ret_changed)
{
    hapax_domain_options o = unset();
    hapax_domain_settings(r->domain, &o, ret_changed);
    return o;
}

static void test_defaults_of_a_new_domain(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o = unset();
    rig_start_with(&r, &o);
    unsigned changed = 99;
    o = in_force(&r, &changed);
    assert_int_equal(changed, 0);
    assert_true(o.window == 2000 && o.expiry_ms == 120000 && o.refresh == 1 && o.max_sources == 65536);
    assert_true(o.max_age_ms == HAPAX_FOREVER && o.source_idle_ms == HAPAX_FOREVER && o.max_step_ms == HAPAX_FOREVER);
    rig_end(&r);
}

static void test_a_setting_that_is_not_given_is_the_stored_one(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o = unset();
    o.window = 7;
    o.expiry_ms = 70;
    o.refresh = 0;
    o.max_age_ms = 700;
    o.source_idle_ms = 7000;
    o.max_sources = 77;
    o.max_step_ms = 777;
    rig_start_with(&r, &o);
    rig_reopen(&r);
    unsigned changed = 99;
    o = in_force(&r, &changed);
    assert_int_equal(changed, 0);
    assert_true(o.window == 7 && o.expiry_ms == 70 && o.refresh == 0 && o.max_age_ms == 700);
    assert_true(o.source_idle_ms == 7000 && o.max_sources == 77 && o.max_step_ms == 777);
    rig_end(&r);
}

static void test_a_given_one_that_differs_is_applied_and_told(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    hapax_domain_options o = unset();
    o.window = 3;
    o.expiry_ms = 10; /* the same */
    o.refresh = 0;
    o.max_step_ms = 5;
    assert_int_equal(reopen_with(&r, &o), 0);
    unsigned changed = 0;
    o = in_force(&r, &changed);
    assert_int_equal(changed, 1U << 0 | 1U << 2 | 1U << 6);
    assert_true(o.window == 3 && o.expiry_ms == 10 && o.refresh == 0 && o.max_step_ms == 5);
    rig_crash(&r); /* the change was durable */
    o = in_force(&r, &changed);
    assert_int_equal(changed, 0);
    assert_true(o.window == 3 && o.refresh == 0);
    rig_end(&r);
}

static void test_shrinking_the_window_needs_change_settings(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 3, 10);
    assert_string_equal(rig_record(&r, "a@0 b@1 c@2"), "NEW NEW NEW");
    hapax_domain_options o = unset();
    o.window = 1;
    assert_int_equal(reopen_with(&r, &o), HAPAX_ERR_SETTINGS);
    assert_non_null(strstr(r.err.message, "window"));
    assert_non_null(strstr(r.err.message, "3"));
    assert_non_null(strstr(r.err.message, "1"));
    o.change_settings = true;
    assert_int_equal(reopen_with(&r, &o), 0);
    assert_string_equal(rig_window(&r, ""), "c@2"); /* the oldest were pushed out on load */
    assert_string_equal(rig_queue(&r), "a@0 b@1");
    rig_crash(&r);
    assert_string_equal(rig_window(&r, ""), "c@2");
    assert_string_equal(rig_queue(&r), "a@0 b@1");
    rig_end(&r);
}

static void test_shrinking_that_pushes_nothing_out_needs_nothing(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 3, 10);
    assert_string_equal(rig_record(&r, "a@0 b@1"), "NEW NEW");
    hapax_domain_options o = unset();
    o.window = 2;
    o.expiry_ms = 5;
    assert_int_equal(reopen_with(&r, &o), 0);
    assert_string_equal(rig_window(&r, ""), "a@0 b@1");
    rig_end(&r);
}

static void test_a_shorter_expiry_forgets_on_load(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 0, 100);
    assert_string_equal(rig_record(&r, "a@0 b@90 c@100"), "NEW NEW NEW");
    hapax_domain_options o = unset();
    o.expiry_ms = 10;
    assert_int_equal(reopen_with(&r, &o), HAPAX_ERR_SETTINGS);
    assert_non_null(strstr(r.err.message, "expiry"));
    o.change_settings = true;
    assert_int_equal(reopen_with(&r, &o), 0);
    assert_string_equal(rig_queue(&r), "b@90 c@100");
    assert_string_equal(rig_peek(&r, "a@100"), "NEW");
    rig_end(&r);
}

static void test_growing_just_grows(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 1, 10);
    assert_string_equal(rig_record(&r, "a@0 b@1"), "NEW NEW");
    hapax_domain_options o = unset();
    o.window = 3;
    o.expiry_ms = 100;
    assert_int_equal(reopen_with(&r, &o), 0);
    assert_string_equal(rig_record(&r, "c@50 d@51 e@52"), "NEW NEW NEW");
    assert_string_equal(rig_window(&r, ""), "c@50 d@51 e@52");
    assert_string_equal(rig_queue(&r), "a@0 b@1");
    rig_end(&r);
}

static void test_a_change_to_nothing_at_all_is_refused(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 0);
    hapax_domain_options o = unset();
    o.window = 0;
    o.change_settings = true;
    assert_int_equal(reopen_with(&r, &o), HAPAX_ERR_INVALID); /* the stored expiry is 0 */
    rig_end(&r);
}

static void test_different_settings_for_one_open_domain_are_refused(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    hapax_domain *again = NULL;
    hapax_domain_options o = unset();
    assert_int_equal(hapax_domain_open(r.store, "d", 1, &o, &again, &r.err), 0);
    assert_ptr_equal(again, r.domain);
    o.window = 2;
    assert_int_equal(hapax_domain_open(r.store, "d", 1, &o, &again, &r.err), 0);
    assert_int_equal(hapax_domain_open(r.store, "d", 1, NULL, &again, &r.err), 0);
    o.window = 5;
    o.change_settings = true;
    again = NULL;
    assert_int_equal(hapax_domain_open(r.store, "d", 1, &o, &again, &r.err), HAPAX_ERR_SETTINGS);
    assert_null(again);
    assert_non_null(strstr(r.err.message, "2"));
    assert_non_null(strstr(r.err.message, "5"));
    rig_end(&r);
}

static void test_settings_that_make_no_sense(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    static const struct {
        size_t offset;
        int64_t value;
    } wrong[] = {
        {offsetof(hapax_domain_options, window), -1},
        {offsetof(hapax_domain_options, window), (int64_t)HAPAX_WINDOW_MAX + 1},
        {offsetof(hapax_domain_options, window), HAPAX_FOREVER},
        {offsetof(hapax_domain_options, expiry_ms), -1},
        {offsetof(hapax_domain_options, refresh), 2},
        {offsetof(hapax_domain_options, refresh), -1},
        {offsetof(hapax_domain_options, max_age_ms), -1},
        {offsetof(hapax_domain_options, source_idle_ms), -1},
        {offsetof(hapax_domain_options, max_sources), 0},
        {offsetof(hapax_domain_options, max_sources), 16777217},
        {offsetof(hapax_domain_options, max_step_ms), -1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hapax_domain_options o = unset();
        hapax_domain *domain = NULL;
        memcpy((char *)&o + wrong[i].offset, &wrong[i].value, sizeof wrong[i].value);
        assert_int_equal(hapax_domain_open(r.store, "e", 1, &o, &domain, &r.err), HAPAX_ERR_INVALID);
        assert_null(domain);
        assert_true(r.err.message[0] != '\0');
    }
    rig_end(&r);
}

static void test_domains_in_order_of_creation(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    hapax_domain *e = NULL;
    hapax_domain_options o = unset();
    o.window = 9;
    assert_int_equal(hapax_domain_open(r.store, "e\0f", 3, &o, &e, &r.err), 0);
    assert_ptr_equal(hapax_domain_at(r.store, 0), r.domain);
    assert_ptr_equal(hapax_domain_at(r.store, 1), e);
    assert_null(hapax_domain_at(r.store, 2));
    rig_close(&r);
    rig_open(&r);
    hapax_domain *at = hapax_domain_at(r.store, 1); /* opened as it is stored */
    assert_non_null(at);
    hapax_domain_stats stats;
    hapax_domain_stat(at, &stats);
    assert_int_equal(stats.name_len, 3);
    assert_memory_equal(stats.name, "e\0f", 4);
    assert_int_equal(stats.window, 9);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_of_a_new_domain),
        cmocka_unit_test(test_a_setting_that_is_not_given_is_the_stored_one),
        cmocka_unit_test(test_a_given_one_that_differs_is_applied_and_told),
        cmocka_unit_test(test_shrinking_the_window_needs_change_settings),
        cmocka_unit_test(test_shrinking_that_pushes_nothing_out_needs_nothing),
        cmocka_unit_test(test_a_shorter_expiry_forgets_on_load),
        cmocka_unit_test(test_growing_just_grows),
        cmocka_unit_test(test_a_change_to_nothing_at_all_is_refused),
        cmocka_unit_test(test_different_settings_for_one_open_domain_are_refused),
        cmocka_unit_test(test_settings_that_make_no_sense),
        cmocka_unit_test(test_domains_in_order_of_creation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
