/*
 * test_api.c - what hapax.h says about arguments: NULL, nothing, too much, nonsense; and that a refused call changed
 * nothing and left its outputs alone.
 */
#include "rig.h"

#include <string.h>

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(hapax_verdict_name(HAPAX_NEW), "new");
    assert_string_equal(hapax_verdict_name(HAPAX_DUPLICATE), "duplicate");
    assert_non_null(hapax_verdict_name(HAPAX_IN_FLIGHT));
    assert_string_equal(hapax_verdict_name(HAPAX_UNCHECKED), "unchecked");
    assert_string_equal(hapax_verdict_name(HAPAX_STALE), "stale");
    assert_non_null(hapax_verdict_name((hapax_verdict)0));
    assert_non_null(hapax_verdict_name((hapax_verdict)77));
    for (int status = HAPAX_ERR_HELD; status <= HAPAX_OK; status++) {
        assert_non_null(hapax_status_name(status));
        assert_int_equal(strncmp(hapax_status_name(status), status == 0 ? "HAPAX_OK" : "HAPAX_ERR_", 8), 0);
        for (int other = status + 1; other <= HAPAX_OK; other++) {
            assert_string_not_equal(hapax_status_name(status), hapax_status_name(other));
        }
    }
    assert_string_equal(hapax_status_name(HAPAX_ERR_FULL), "HAPAX_ERR_FULL");
    assert_non_null(hapax_status_name(1));
    assert_non_null(hapax_status_name(-1000));
    assert_string_equal(hapax_version(), HAPAX_VERSION);
}

static void test_initialisers(void **state)
{
    (void)state;
    hapax_store_options so;
    memset(&so, 0x55, sizeof so);
    hapax_store_options_init(&so);
    assert_int_equal(so.size, sizeof so);
    assert_null(so.path);
    assert_int_equal(so.flags, 0);
    assert_int_equal(so.durability, HAPAX_DURABILITY_FULL);
    assert_true(so.max_memory_bytes == HAPAX_UNSET && so.max_disk_bytes == HAPAX_UNSET && so.progress == NULL);
    hapax_domain_options o;
    memset(&o, 0x55, sizeof o);
    hapax_domain_options_init(&o);
    assert_int_equal(o.size, sizeof o);
    assert_true(o.window == HAPAX_UNSET && o.expiry_ms == HAPAX_UNSET && o.refresh == HAPAX_UNSET);
    assert_true(o.max_age_ms == HAPAX_UNSET && o.source_idle_ms == HAPAX_UNSET && o.max_sources == HAPAX_UNSET);
    assert_true(o.max_step_ms == HAPAX_UNSET && !o.change_settings);
}

static void test_store_open_arguments(void **state)
{
    (void)state;
    sim_os *sim = sim_os_new(1);
    const hx_os *os = sim_os_table(sim);
    hapax_store *const marker = (hapax_store *)(void *)&sim;
    hapax_store *store = marker;
    hapax_store_options so;
    hapax_error err;
    hapax_store_options_init(&so);
    so.path = "store";
    so.flags = 0x8000;
    assert_int_equal(hx_store_open_os(os, &so, &store, &err), HAPAX_ERR_INVALID);
    so.flags = 0;
    so.durability = (hapax_durability)9;
    assert_int_equal(hx_store_open_os(os, &so, &store, &err), HAPAX_ERR_INVALID);
    hapax_store_options_init(&so);
    so.path = "";
    assert_int_equal(hx_store_open_os(os, &so, &store, &err), HAPAX_ERR_INVALID);
    hapax_store_options_init(&so);
    so.path = "store";
    so.size = 0; /* the initialiser was forgotten */
    assert_int_equal(hx_store_open_os(os, &so, &store, &err), HAPAX_ERR_INVALID);
    hapax_store_options_init(&so);
    so.path = "store";
    so.max_memory_bytes = -1;
    assert_int_equal(hx_store_open_os(os, &so, &store, &err), HAPAX_ERR_INVALID);
    hapax_store_options_init(&so);
    so.flags = HAPAX_OPEN_READ_ONLY; /* in memory */
    assert_int_equal(hx_store_open_os(os, &so, &store, &err), HAPAX_ERR_INVALID);
    assert_int_equal(err.status, HAPAX_ERR_INVALID);
    assert_true(err.message[0] != '\0');
    assert_ptr_equal(store, marker);
    assert_int_equal(hx_store_open_os(os, &so, &store, NULL), HAPAX_ERR_INVALID); /* nobody wants the details */
    assert_int_equal(sim_os_calls(sim, SIM_MKDIR), 0);
    sim_os_free(sim);
}

static void test_a_file_where_the_store_should_be(void **state)
{
    (void)state;
    sim_os *sim = sim_os_new(1);
    const hx_os *os = sim_os_table(sim);
    assert_true(os->open(os->ctx, "store", HX_OS_WRITE | HX_OS_CREATE) >= 0);
    hapax_store_options so;
    hapax_store_options_init(&so);
    so.path = "store";
    hapax_store *store = NULL;
    hapax_error err;
    int rc = hx_store_open_os(os, &so, &store, &err);
    assert_true(rc < 0);
    assert_non_null(strstr(err.message, "store"));
    so.path = "no/such/parent";
    rc = hx_store_open_os(os, &so, &store, &err);
    assert_true(rc < 0);
    assert_null(store);
    sim_os_free(sim);
}

static void test_null_handles(void **state)
{
    (void)state;
    hapax_error err;
    assert_int_equal(hapax_store_close(NULL, &err), 0);
    assert_int_equal(hapax_store_close(NULL, NULL), 0);
    hapax_store_abandon(NULL);
}

static void test_domain_open_arguments(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    hapax_domain *const marker = (hapax_domain *)(void *)&r;
    hapax_domain *domain = marker;
    assert_int_equal(hapax_domain_open(r.store, "", 0, NULL, &domain, &r.err), HAPAX_ERR_INVALID);
    assert_int_equal(hapax_domain_open(r.store, NULL, 0, NULL, &domain, &r.err), HAPAX_ERR_INVALID);
    hapax_domain_options o;
    hapax_domain_options_init(&o);
    o.size = 0;
    assert_int_equal(hapax_domain_open(r.store, "e", 1, &o, &domain, &r.err), HAPAX_ERR_INVALID);
    assert_ptr_equal(domain, marker);
    rig_end(&r);
}

typedef int judge(hapax_domain *domain, const hapax_message *messages, size_t n, hapax_result *ret_results,
                  hapax_error *ret_error);
static judge *const judges[] = {hapax_record, hapax_claim, hapax_peek};

static void test_an_empty_batch(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(judges[i](r.domain, NULL, 0, NULL, &r.err), 0);
    }
    rig_end(&r);
}

static void test_a_batch_above_the_limit(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    static hapax_message messages[HAPAX_BATCH_MAX + 1];
    static hapax_result results[HAPAX_BATCH_MAX + 1];
    static uint32_t ids[HAPAX_BATCH_MAX + 1];
    static uint64_t claims[HAPAX_BATCH_MAX + 1];
    for (uint32_t i = 0; i <= HAPAX_BATCH_MAX; i++) {
        ids[i] = i;
        messages[i] = (hapax_message){.id = &ids[i], .id_len = 4, .time_ms = 0};
    }
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(judges[i](r.domain, messages, HAPAX_BATCH_MAX + 1, results, &r.err), HAPAX_ERR_TOO_LONG);
    }
    assert_int_equal(rig_stat(&r).ids_held, 0);
    assert_int_equal(hapax_claim(r.domain, messages, HAPAX_BATCH_MAX, results, &r.err), 0);
    for (size_t i = 0; i < HAPAX_BATCH_MAX; i++) {
        assert_int_equal(results[i].verdict, HAPAX_NEW);
        claims[i] = results[i].claim;
    }
    assert_int_equal(hapax_confirm(r.domain, claims, HAPAX_BATCH_MAX + 1, 0, &r.err), HAPAX_ERR_TOO_LONG);
    assert_int_equal(hapax_release(r.domain, claims, HAPAX_BATCH_MAX + 1, &r.err), HAPAX_ERR_TOO_LONG);
    assert_int_equal(hapax_confirm(r.domain, claims, HAPAX_BATCH_MAX, 0, &r.err), 0);
    assert_int_equal(rig_stat(&r).in_flight, 0);
    rig_end(&r);
}

/* "NULL or id_len 0: UNCHECKED", "NULL or source_len 0: the source """: a NULL is never read, whatever the length. */
static void test_null_with_a_length(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    hapax_message batch[2] = {{.id = NULL, .id_len = 5, .time_ms = 0},
                              {.id = "b", .id_len = 1, .source = NULL, .source_len = 3, .time_ms = 0}};
    assert_int_equal(hapax_record(r.domain, batch, 2, r.results, &r.err), 0);
    assert_int_equal(r.results[0].verdict, HAPAX_UNCHECKED);
    assert_int_equal(r.results[1].verdict, HAPAX_NEW);
    assert_string_equal(rig_record(&r, "b@1"), "DUP");
    assert_string_equal(rig_window(&r, ""), "b@1"); /* both were of the source "" */
    rig_end(&r);
}

/* Results of a refused batch are untouched, err.index names the message, and an identical good one is judged afresh.
 */
static void test_errors_change_nothing(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    static char long_id[HAPAX_ID_MAX + 1];
    for (size_t i = 0; i < 3; i++) {
        for (size_t bad = 0; bad < 3; bad++) {
            hapax_message batch[3] = {{.id = "a", .id_len = 1, .time_ms = 5},
                                      {.id = "b", .id_len = 1, .time_ms = 6},
                                      {.id = "c", .id_len = 1, .time_ms = 7}};
            hapax_result results[3];
            hapax_result before[3];
            memset(results, 0x55, sizeof results);
            memcpy(before, results, sizeof before);
            batch[bad].id = long_id;
            batch[bad].id_len = sizeof long_id;
            assert_int_equal(judges[i](r.domain, batch, 3, results, &r.err), HAPAX_ERR_TOO_LONG);
            assert_int_equal(r.err.status, HAPAX_ERR_TOO_LONG);
            assert_int_equal(r.err.index, bad);
            assert_true(r.err.message[0] != '\0');
            assert_memory_equal(results, before, sizeof before);
            assert_int_equal(judges[i](r.domain, batch, 3, results, NULL), HAPAX_ERR_TOO_LONG);
        }
    }
    hapax_domain_stats s = rig_stat(&r);
    assert_int_equal(s.ids_held + s.new_count + s.unchecked_count + s.in_flight, 0);
    assert_true(s.last_receive_ms == HAPAX_UNSET);
    assert_string_equal(rig_record(&r, "a@5 b@6 c@7"), "NEW NEW NEW");
    rig_end(&r);
}

static void test_peek_changes_nothing(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    assert_string_equal(rig_record(&r, "a/A@0 b/A@1"), "NEW NEW");
    hapax_domain_stats before = rig_stat(&r);
    assert_string_equal(rig_peek(&r, "c/A@2 c/A@2 a/A@3 -@4 a/Q@5"), "NEW NEW DUP UNCHECKED DUP");
    assert_true(r.results[0].claim == 0);
    assert_true(r.results[2].first_receive_ms == 0);
    hapax_domain_stats after = rig_stat(&r);
    after.memory_bytes = before.memory_bytes;
    assert_memory_equal(&before, &after, sizeof before);
    assert_string_equal(rig_window(&r, "A"), "a@0 b@1");
    rig_end(&r);
}

static void test_explain(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    hapax_explanation e;
    memset(&e, 0x55, sizeof e);
    assert_int_equal(hapax_explain(r.domain, "a", 0, &e, &r.err), HAPAX_ERR_INVALID);
    assert_int_equal(hapax_explain(r.domain, "a", 1, &e, &r.err), 0);
    assert_int_equal(e.size, sizeof e);
    assert_false(e.known);
    assert_string_equal(rig_record(&r, "a/A@0 b/A@1"), "NEW NEW");
    assert_int_equal(hapax_explain(r.domain, "a", 1, &e, &r.err), 0);
    assert_true(e.known && !e.in_flight && e.held_by == HAPAX_HELD_BY_WINDOW && e.occurrences == 1);
    assert_int_equal(e.window_ahead, 1); /* one further id, and it leaves */
    assert_true(e.first.receive_ms == 0 && e.last.receive_ms == 0);
    assert_string_equal(rig_record(&r, "c/A@2"), "NEW");
    assert_int_equal(hapax_explain(r.domain, "a", 1, &e, &r.err), 0);
    assert_int_equal(e.held_by, HAPAX_HELD_BY_TIME_QUEUE);
    assert_true(e.expires_after_ms == 10);
    assert_true(e.max_age_left_ms == HAPAX_FOREVER);
    rig_claim_one(&r, "d/B@3");
    assert_string_equal(rig_record(&r, "d/A@4"), "FLIGHT");
    assert_int_equal(hapax_explain(r.domain, "d", 1, &e, &r.err), 0);
    assert_true(e.known && e.in_flight && e.occurrences == 2);
    assert_int_equal(e.held_by, HAPAX_HELD_BY_WINDOW | HAPAX_HELD_BY_CLAIM);
    assert_true(e.first.receive_ms == 3 && e.last.receive_ms == 4);
    unsigned char hash[16];
    hapax_id_hash(r.domain, "d", 1, hash);
    assert_memory_equal(e.first.hash, hash, 16);
    rig_end(&r);
}

static int stop_at_second(void *arg, const hapax_occurrence *o)
{
    (void)o;
    int *seen = arg;
    return ++*seen == 2 ? 42 : 0;
}

static void test_dump_stops_when_it_is_told_to(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 5, 10);
    assert_string_equal(rig_record(&r, "a@0 b@1 c@2"), "NEW NEW NEW");
    int seen = 0;
    assert_int_equal(hapax_dump(r.domain, stop_at_second, &seen), 42);
    assert_int_equal(seen, 2);
    rig_end(&r);
}

static void test_source_name(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 5, 10);
    assert_string_equal(rig_record(&r, "a/source@0 b@0"), "NEW NEW");
    assert_string_equal(rig_peek(&r, "a@0 b@0"), "DUP DUP");
    char name[8] = "xxxxxxx";
    assert_int_equal(hapax_source_name(r.domain, r.results[0].first_source, name, 3), 6); /* the whole length */
    assert_memory_equal(name, "souxxxx", 7);
    assert_int_equal(hapax_source_name(r.domain, r.results[1].first_source, name, 3), 0);
    assert_int_equal(hapax_source_name(r.domain, 0x7ffffff0, name, sizeof name), HAPAX_ERR_NOT_FOUND);
    rig_end(&r);
}

static void test_hashes_are_keyed_by_the_store(void **state)
{
    (void)state;
    rig one;
    rig two;
    rig_start(&one, 5, 10);
    memset(&two, 0, sizeof two);
    two.sim = sim_os_new(2);
    hapax_domain_options_init(&two.options);
    rig_open(&two);
    unsigned char a[16];
    unsigned char b[16];
    hapax_id_hash(one.domain, "a", 1, a);
    hapax_id_hash(two.domain, "a", 1, b);
    assert_memory_not_equal(a, b, 16);
    rig_reopen(&one);
    hapax_id_hash(one.domain, "a", 1, b);
    assert_memory_equal(a, b, 16);
    rig_end(&one);
    rig_end(&two);
}

static void test_store_stat(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 5, 10);
    assert_string_equal(rig_record(&r, "a@0"), "NEW");
    hapax_store_stats s;
    hapax_store_stat(r.store, &s);
    assert_int_equal(s.size, sizeof s);
    assert_int_equal(s.domains, 1);
    assert_true(s.disk_bytes > 0 && s.disk_bytes <= 2 << 20); /* a new store takes under 2 MiB */
    assert_true(s.memory_bytes > 0);
    assert_int_equal(s.held_events, 0);
    assert_int_equal(s.durability, HAPAX_DURABILITY_FULL);
    assert_false(s.in_memory);
    assert_true(s.format_version > 0);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_initialisers),
        cmocka_unit_test(test_store_open_arguments),
        cmocka_unit_test(test_a_file_where_the_store_should_be),
        cmocka_unit_test(test_null_handles),
        cmocka_unit_test(test_domain_open_arguments),
        cmocka_unit_test(test_an_empty_batch),
        cmocka_unit_test(test_a_batch_above_the_limit),
        cmocka_unit_test(test_null_with_a_length),
        cmocka_unit_test(test_errors_change_nothing),
        cmocka_unit_test(test_peek_changes_nothing),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_dump_stops_when_it_is_told_to),
        cmocka_unit_test(test_source_name),
        cmocka_unit_test(test_hashes_are_keyed_by_the_store),
        cmocka_unit_test(test_store_stat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
