/*
 * test_durable.c - what is there after the store went down: holds, commits, bookmarks, and closing badly.
 */
#include "rig.h"

#include <errno.h>
#include <string.h>

static void start_held(rig *r)
{
    rig_start(r, 5, 100);
    rig_close(r);
    r->flags = HAPAX_OPEN_HOLD;
    rig_open(r);
}

static uint64_t held(rig *r)
{
    hapax_store_stats stats;
    hapax_store_stat(r->store, &stats);
    return stats.held_events;
}

static void commit(rig *r, uint64_t position)
{
    assert_int_equal(hapax_commit(r->store, position, &r->err), 0);
}

static void test_a_hold_writes_nothing_until_commit(void **state)
{
    (void)state;
    rig r;
    start_held(&r);
    uint64_t writes = sim_os_calls(r.sim, SIM_WRITE);
    assert_string_equal(rig_record(&r, "a@0 b@1 a@2"), "NEW NEW DUP");
    rig_confirm(&r, rig_claim_one(&r, "c@3"), 4);
    assert_true(held(&r) > 0);
    assert_int_equal(sim_os_calls(r.sim, SIM_WRITE), writes);
    rig_crash(&r);
    assert_string_equal(rig_window(&r, ""), "");
    assert_string_equal(rig_record(&r, "a@0"), "NEW");
    commit(&r, UINT64_MAX);
    assert_int_equal(held(&r), 0);
    assert_true(sim_os_calls(r.sim, SIM_WRITE) > writes);
    rig_cut_power(&r);
    assert_string_equal(rig_record(&r, "a@5"), "DUP");
    rig_end(&r);
}

static void test_a_commit_takes_a_prefix(void **state)
{
    (void)state;
    rig r;
    start_held(&r);
    assert_string_equal(rig_record(&r, "a@0 b@1 c@2 d@3"), "NEW NEW NEW NEW");
    uint64_t position[4];
    for (int i = 0; i < 4; i++) {
        position[i] = r.results[i].position;
        assert_true(i == 0 || position[i] > position[i - 1]);
    }
    commit(&r, position[2]);
    commit(&r, position[1]); /* it is durable already */
    rig_cut_power(&r);
    assert_string_equal(rig_window(&r, ""), "a@0 b@1 c@2");
    rig_end(&r);
}

/* Verdicts see what is judged, committed or not; a position behind a message that changed nothing is that before it.
 */
static void test_positions_of_messages_that_change_nothing(void **state)
{
    (void)state;
    rig r;
    start_held(&r);
    assert_string_equal(rig_record(&r, "a@0 -@0"), "NEW UNCHECKED");
    uint64_t behind_nothing = r.results[1].position;
    assert_true(behind_nothing >= r.results[0].position);
    assert_string_equal(rig_record(&r, "b@1"), "NEW");
    commit(&r, behind_nothing);
    rig_crash(&r);
    assert_string_equal(rig_window(&r, ""), "a@0");
    rig_end(&r);
}

static void test_a_claim_is_durable_with_its_confirm(void **state)
{
    (void)state;
    rig r;
    start_held(&r);
    uint64_t a = rig_claim_one(&r, "a@0");
    assert_string_equal(rig_record(&r, "b@1"), "NEW");
    uint64_t behind_b = r.results[0].position;
    rig_confirm(&r, a, 2);
    assert_string_equal(rig_record(&r, "c@3"), "NEW");
    uint64_t behind_c = r.results[0].position;
    commit(&r, behind_b); /* the confirm comes behind it */
    rig_crash(&r);
    assert_string_equal(rig_window(&r, ""), "b@1");
    a = rig_claim_one(&r, "a@4");
    rig_confirm(&r, a, 5);
    assert_string_equal(rig_record(&r, "c@6"), "NEW");
    behind_c = r.results[0].position;
    commit(&r, behind_c);
    rig_crash(&r);
    assert_string_equal(rig_window(&r, ""), "b@1 a@4 c@6");
    rig_end(&r);
}

static void test_a_close_writes_what_is_held(void **state)
{
    (void)state;
    rig r;
    start_held(&r);
    assert_string_equal(rig_record(&r, "a@0"), "NEW");
    rig_claim_one(&r, "b@1");
    rig_reopen(&r);
    assert_true(r.report.clean);
    assert_string_equal(rig_window(&r, ""), "a@0");
    assert_string_equal(rig_record(&r, "b@2"), "NEW");
    rig_end(&r);
}

static void test_a_new_domain_of_a_held_store(void **state)
{
    (void)state;
    rig r;
    start_held(&r);
    hapax_domain *e = NULL;
    assert_int_equal(hapax_domain_open(r.store, "e", 1, NULL, &e, &r.err), 0);
    hapax_message m = {.id = "a", .id_len = 1, .time_ms = HAPAX_NOW};
    assert_int_equal(hapax_record(e, &m, 1, r.results, &r.err), 0);
    commit(&r, r.results[0].position);
    rig_crash(&r);
    e = hapax_domain_at(r.store, 1);
    assert_non_null(e);
    assert_int_equal(hapax_peek(e, &m, 1, r.results, &r.err), 0);
    assert_int_equal(r.results[0].verdict, HAPAX_DUPLICATE);
    rig_end(&r);
}

/* HAPAX_HELD_MAX events, and not one more until a commit; the refused call changed nothing. */
static void test_too_much_held(void **state)
{
    (void)state;
    rig r;
    start_held(&r);
    static hapax_message batch[4096];
    static hapax_result results[4096];
    static uint32_t ids[4096];
    uint32_t next = 0;
    int rc = 0;
    uint64_t done = 0;
    while (done < 2 * HAPAX_HELD_MAX) {
        for (size_t i = 0; i < 4096; i++) {
            ids[i] = next++;
            batch[i] = (hapax_message){.id = &ids[i], .id_len = sizeof ids[i], .time_ms = 0};
        }
        rc = hapax_record(r.domain, batch, 4096, results, &r.err);
        if (rc < 0) {
            break;
        }
        done += 4096;
    }
    assert_int_equal(rc, HAPAX_ERR_HELD);
    assert_true(done <= HAPAX_HELD_MAX && done > HAPAX_HELD_MAX / 2);
    hapax_domain_stats stats = rig_stat(&r);
    assert_int_equal(stats.new_count, done);
    commit(&r, UINT64_MAX);
    assert_int_equal(hapax_record(r.domain, batch, 4096, results, &r.err), 0);
    assert_int_equal(results[0].verdict, HAPAX_NEW);
    rig_end(&r);
}

/* ---- bookmarks ---- */

static void set_bookmark(rig *r, const char *name, const char *data, uint64_t *ret_position)
{
    int rc = hapax_bookmark_set(r->store, name, strlen(name), data, strlen(data), ret_position, &r->err);
    assert_int_equal(rc, 0);
}

static const char *get_bookmark(rig *r, const char *name)
{
    static char buf[64];
    size_t len = 99;
    int rc = hapax_bookmark_get(r->store, name, strlen(name), buf, sizeof buf - 1, &len, &r->err);
    if (rc < 0) {
        return hapax_status_name(rc);
    }
    assert_true(len < sizeof buf);
    buf[len] = '\0';
    return buf;
}

static void test_a_bookmark_goes_with_the_ids_before_it(void **state)
{
    (void)state;
    rig r;
    start_held(&r);
    uint64_t position = 0;
    assert_string_equal(get_bookmark(&r, "in"), "HAPAX_ERR_NOT_FOUND");
    assert_string_equal(rig_record(&r, "a@0"), "NEW");
    set_bookmark(&r, "in", "1 line", &position);
    assert_true(position > r.results[0].position);
    assert_string_equal(rig_record(&r, "b@1"), "NEW");
    assert_string_equal(get_bookmark(&r, "in"), "1 line");
    commit(&r, position);
    set_bookmark(&r, "in", "2 lines", NULL);
    assert_string_equal(get_bookmark(&r, "in"), "2 lines");
    rig_cut_power(&r);
    assert_string_equal(rig_window(&r, ""), "a@0");
    assert_string_equal(get_bookmark(&r, "in"), "1 line");
    rig_end(&r);
}

static void test_bookmarks_over_a_restart(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    set_bookmark(&r, "in", "one", NULL);
    set_bookmark(&r, "out", "", NULL);
    set_bookmark(&r, "in", "three", NULL);
    rig_reopen(&r);
    assert_string_equal(get_bookmark(&r, "in"), "three");
    assert_string_equal(get_bookmark(&r, "out"), "");
    assert_string_equal(get_bookmark(&r, "i"), "HAPAX_ERR_NOT_FOUND");
    rig_end(&r);
}

static void test_limits_of_bookmarks(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    static char data[HAPAX_BOOKMARK_MAX + 1];
    static char back[HAPAX_BOOKMARK_MAX];
    static char name[HAPAX_NAME_MAX + 1];
    memset(data, 'x', sizeof data);
    memset(name, 'n', sizeof name);
    size_t len = 0;
    hapax_store *s = r.store;
    assert_int_equal(hapax_bookmark_set(s, name, HAPAX_NAME_MAX, data, HAPAX_BOOKMARK_MAX, NULL, &r.err), 0);
    assert_int_equal(hapax_bookmark_set(s, name, sizeof name, data, 1, NULL, &r.err), HAPAX_ERR_TOO_LONG);
    assert_int_equal(hapax_bookmark_set(s, "b", 1, data, sizeof data, NULL, &r.err), HAPAX_ERR_TOO_LONG);
    assert_int_equal(hapax_bookmark_set(s, name, 0, data, 1, NULL, &r.err), HAPAX_ERR_INVALID);
    commit(&r, UINT64_MAX);
    rig_crash(&r);
    assert_int_equal(hapax_bookmark_get(r.store, name, HAPAX_NAME_MAX, back, 10, &len, &r.err), 0);
    assert_int_equal(len, HAPAX_BOOKMARK_MAX); /* the whole length, 10 bytes of it copied */
    assert_int_equal(back[9], 'x');
    assert_int_equal(back[10], 0);
    assert_int_equal(hapax_bookmark_get(r.store, name, HAPAX_NAME_MAX, back, sizeof back, &len, &r.err), 0);
    assert_memory_equal(back, data, sizeof back);
    rig_end(&r);
}

/* ---- opens ---- */

static void test_an_abandon_is_a_crash(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    assert_true(r.report.created);
    assert_string_equal(rig_record(&r, "a@0"), "NEW");
    rig_claim_one(&r, "b@1");
    rig_crash(&r);
    assert_false(r.report.created);
    assert_false(r.report.clean);
    assert_true(r.report.recovered_events > 0);
    assert_int_equal(r.report.torn_bytes, 0);
    assert_string_equal(rig_peek(&r, "a@2 b@2"), "DUP NEW");
    rig_end(&r);
}

static void test_a_second_opener_is_locked_out(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    hapax_store_options o;
    hapax_store_options_init(&o);
    o.path = "store";
    hapax_store *second = NULL;
    assert_int_equal(hx_store_open_os(sim_os_table(r.sim), &o, &second, &r.err), HAPAX_ERR_LOCKED);
    o.flags = HAPAX_OPEN_READ_ONLY;
    assert_int_equal(hx_store_open_os(sim_os_table(r.sim), &o, &second, &r.err), HAPAX_ERR_LOCKED);
    assert_null(second);
    assert_true(r.err.message[0] != '\0');
    assert_string_equal(rig_record(&r, "a@0"), "NEW"); /* the first does not mind */
    rig_end(&r);
}

static void test_open_existing(void **state)
{
    (void)state;
    rig r = {.sim = sim_os_new(1)};
    hapax_domain_options_init(&r.options);
    r.flags = HAPAX_OPEN_EXISTING;
    assert_int_equal(rig_try_open(&r), HAPAX_ERR_NOT_FOUND);
    r.flags = HAPAX_OPEN_READ_ONLY;
    assert_int_equal(rig_try_open(&r), HAPAX_ERR_NOT_FOUND);
    assert_int_equal(sim_os_file_size(r.sim, "store"), -ENOENT); /* nothing was made */
    r.flags = 0;
    rig_open(&r);
    rig_close(&r);
    r.flags = HAPAX_OPEN_EXISTING;
    rig_open(&r);
    rig_end(&r);
}

static void test_read_only(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    assert_string_equal(rig_record(&r, "a@0"), "NEW");
    rig_claim_one(&r, "b@1");
    hapax_store_abandon(r.store);
    sim_os_crash(r.sim);
    uint64_t writes = sim_os_calls(r.sim, SIM_WRITE);
    uint64_t grows = sim_os_calls(r.sim, SIM_GROW);
    r.flags = HAPAX_OPEN_READ_ONLY;
    rig_open(&r);
    assert_string_equal(rig_peek(&r, "a@2 b@2"), "DUP NEW");
    assert_string_equal(rig_record(&r, "c@2"), "HAPAX_ERR_READ_ONLY");
    assert_string_equal(rig_claim(&r, "c@2"), "HAPAX_ERR_READ_ONLY");
    assert_int_equal(hapax_bookmark_set(r.store, "b", 1, "x", 1, NULL, &r.err), HAPAX_ERR_READ_ONLY);
    hapax_domain *none = NULL;
    assert_int_equal(hapax_domain_open(r.store, "none", 4, NULL, &none, &r.err), HAPAX_ERR_NOT_FOUND);
    hapax_domain_options o;
    rig_options(&o, 9, 10);
    rig_close(&r);
    r.options = o;
    assert_int_equal(rig_try_open(&r), HAPAX_ERR_READ_ONLY); /* a setting to change */
    rig_close(&r);
    assert_int_equal(sim_os_calls(r.sim, SIM_WRITE), writes);
    assert_int_equal(sim_os_calls(r.sim, SIM_GROW), grows);
    r.flags = 0;
    hapax_domain_options_init(&r.options);
    rig_open(&r);
    assert_string_equal(rig_record(&r, "a@2 b@2"), "DUP NEW");
    rig_end(&r);
}

static void test_durability_that_cannot_be_had(void **state)
{
    (void)state;
    rig r = {.sim = sim_os_new(1)};
    hapax_domain_options_init(&r.options);
    sim_os_set_durable(r.sim, false);
    assert_int_equal(rig_try_open(&r), HAPAX_ERR_DURABILITY);
    assert_non_null(strstr(r.err.message, "simulated disk")); /* the reason */
    hapax_store_options o;
    hapax_store_options_init(&o);
    o.path = "store";
    o.durability = HAPAX_DURABILITY_PROCESS;
    assert_int_equal(hx_store_open_os(sim_os_table(r.sim), &o, &r.store, &r.err), 0);
    hapax_store_stats stats;
    hapax_store_stat(r.store, &stats);
    assert_int_equal(stats.durability, HAPAX_DURABILITY_PROCESS);
    rig_close(&r);
    /* Who only looks is told how the last one wrote. */
    sim_os_set_durable(r.sim, true);
    for (int full = 0; full < 2; full++) {
        o.flags = HAPAX_OPEN_READ_ONLY;
        o.durability = HAPAX_DURABILITY_FULL;
        assert_int_equal(hx_store_open_os(sim_os_table(r.sim), &o, &r.store, &r.err), 0);
        hapax_store_stat(r.store, &stats);
        assert_int_equal(stats.durability, full ? HAPAX_DURABILITY_FULL : HAPAX_DURABILITY_PROCESS);
        rig_close(&r);
        o.flags = 0;
        assert_int_equal(hx_store_open_os(sim_os_table(r.sim), &o, &r.store, &r.err), 0);
        rig_close(&r);
    }
    rig_end(&r);
}

static void test_process_durability_survives_the_process(void **state)
{
    (void)state;
    sim_os *sim = sim_os_new(1);
    hapax_store_options o;
    hapax_store_options_init(&o);
    o.path = "store";
    o.durability = HAPAX_DURABILITY_PROCESS;
    hapax_store *store = NULL;
    hapax_domain *domain = NULL;
    hapax_error err;
    hapax_message m = {.id = "a", .id_len = 1, .time_ms = 0};
    hapax_result result;
    assert_int_equal(hx_store_open_os(sim_os_table(sim), &o, &store, &err), 0);
    assert_int_equal(hapax_domain_open(store, "d", 1, NULL, &domain, &err), 0);
    uint64_t syncs = sim_os_calls(sim, SIM_SYNC);
    assert_int_equal(hapax_record(domain, &m, 1, &result, &err), 0);
    assert_int_equal(sim_os_calls(sim, SIM_SYNC), syncs);
    hapax_store_abandon(store);
    sim_os_crash(sim);
    assert_int_equal(hx_store_open_os(sim_os_table(sim), &o, &store, &err), 0);
    assert_int_equal(hapax_domain_open(store, "d", 1, NULL, &domain, &err), 0);
    assert_int_equal(hapax_record(domain, &m, 1, &result, &err), 0);
    assert_int_equal(result.verdict, HAPAX_DUPLICATE);
    assert_int_equal(hapax_store_close(store, &err), 0);
    sim_os_free(sim);
}

static void test_a_store_in_memory(void **state)
{
    (void)state;
    sim_os *sim = sim_os_new(1);
    hapax_store_options o;
    hapax_store_options_init(&o);
    hapax_store *store = NULL;
    hapax_domain *domain = NULL;
    hapax_error err;
    assert_int_equal(hx_store_open_os(sim_os_table(sim), &o, &store, &err), 0);
    assert_int_equal(hapax_domain_open(store, "d", 1, NULL, &domain, &err), 0);
    hapax_message m[2] = {{.id = "a", .id_len = 1, .time_ms = 0}, {.id = "a", .id_len = 1, .time_ms = 0}};
    hapax_result results[2];
    assert_int_equal(hapax_record(domain, m, 2, results, &err), 0);
    assert_int_equal(results[0].verdict, HAPAX_NEW);
    assert_int_equal(results[1].verdict, HAPAX_DUPLICATE);
    assert_int_equal(hapax_commit(store, UINT64_MAX, &err), 0);
    hapax_store_stats stats;
    hapax_store_stat(store, &stats);
    assert_true(stats.in_memory);
    assert_int_equal(stats.disk_bytes, 0);
    assert_int_equal(hapax_store_close(store, &err), 0);
    assert_int_equal(sim_os_calls(sim, SIM_OPEN) + sim_os_calls(sim, SIM_MKDIR), 0);
    sim_os_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_hold_writes_nothing_until_commit),
        cmocka_unit_test(test_a_commit_takes_a_prefix),
        cmocka_unit_test(test_positions_of_messages_that_change_nothing),
        cmocka_unit_test(test_a_claim_is_durable_with_its_confirm),
        cmocka_unit_test(test_a_close_writes_what_is_held),
        cmocka_unit_test(test_a_new_domain_of_a_held_store),
        cmocka_unit_test(test_too_much_held),
        cmocka_unit_test(test_a_bookmark_goes_with_the_ids_before_it),
        cmocka_unit_test(test_bookmarks_over_a_restart),
        cmocka_unit_test(test_limits_of_bookmarks),
        cmocka_unit_test(test_an_abandon_is_a_crash),
        cmocka_unit_test(test_a_second_opener_is_locked_out),
        cmocka_unit_test(test_open_existing),
        cmocka_unit_test(test_read_only),
        cmocka_unit_test(test_durability_that_cannot_be_had),
        cmocka_unit_test(test_process_durability_survives_the_process),
        cmocka_unit_test(test_a_store_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
