/*
 * test_folder.c - the folder of a store: who has it, what is missing in it, and that a folder that was refused is
 * left alone.
 */
#include "rig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int open_second(rig *r, unsigned flags, hapax_store **ret_store)
{
    hapax_store_options o;
    hapax_store_options_init(&o);
    o.path = "store";
    o.flags = flags;
    return hx_store_open_os(sim_os_table(r->sim), &o, ret_store, &r->err);
}

/* The file that tells who has the store looks like something one may remove. The store is locked all the same. */
static void s036_the_lock_does_not_hang_on_a_file(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 10, 1000);
    const hx_os *os = sim_os_table(r.sim);
    hapax_store *second = NULL;
    assert_int_equal(open_second(&r, 0, &second), HAPAX_ERR_LOCKED);
    assert_int_equal(os->unlink(os->ctx, "store/LOCK"), 0);
    assert_int_equal(open_second(&r, 0, &second), HAPAX_ERR_LOCKED);
    assert_int_equal(open_second(&r, HAPAX_OPEN_READ_ONLY, &second), HAPAX_ERR_LOCKED);
    assert_null(second);
    assert_string_equal(rig_record(&r, "a@0"), "NEW");
    rig_close(&r);
    assert_int_equal(os->unlink(os->ctx, "store/LOCK"), -ENOENT);
    assert_int_equal(open_second(&r, HAPAX_OPEN_READ_ONLY, &second), 0);
    assert_int_equal(hapax_store_close(second, &r.err), 0);
    rig_end(&r);
}

/* A log that is too long to be carried over stays behind as a file of its own; without it the store is refused. */
static void a_missing_log_file_is_named(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 10, HAPAX_FOREVER);
    const hx_os *os = sim_os_table(r.sim);
    for (int opening = 0; opening < 4; opening++) {
        for (int i = 0; i < 40; i++) { /* a block each: more than is carried over */
            hapax_message m = {.id = &i, .id_len = sizeof i, .time_ms = opening * 100 + i};
            assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), 0);
        }
        rig_reopen(&r);
    }
    rig_close(&r);
    for (int seq = 1; seq <= 4; seq++) {
        char path[64];
        snprintf(path, sizeof path, "store/wal/W-%010d.wal", seq);
        assert_int_equal(os->rename(os->ctx, path, "store/wal/elsewhere"), 0);
        hapax_domain_options_init(&r.options);
        assert_int_equal(rig_try_open(&r), HAPAX_ERR_DAMAGED);
        assert_string_equal(r.err.path, path);
        assert_int_equal(os->rename(os->ctx, "store/wal/elsewhere", path), 0);
    }
    assert_int_equal(rig_try_open(&r), 0);
    rig_end(&r);
}

static void a_folder_that_was_refused_is_left_as_it_was(void **state)
{
    (void)state;
    rig r = {.sim = sim_os_new(1)};
    const hx_os *os = sim_os_table(r.sim);
    assert_int_equal(os->mkdir(os->ctx, "store"), 0);
    int file = os->open(os->ctx, "store/letter", HX_OS_WRITE | HX_OS_CREATE);
    assert_true(file >= 0);
    assert_int_equal(os->close(os->ctx, file), 0);
    hapax_domain_options_init(&r.options);
    assert_int_equal(rig_try_open(&r), HAPAX_ERR_INVALID);
    assert_int_equal(os->open(os->ctx, "store/LOCK", HX_OS_READ), -ENOENT);
    assert_int_equal(os->unlink(os->ctx, "store/letter"), 0);
    sim_os_set_durable(r.sim, false);
    assert_int_equal(rig_try_open(&r), HAPAX_ERR_DURABILITY);
    assert_int_equal(os->open(os->ctx, "store/LOCK", HX_OS_READ), -ENOENT);
    rig_end(&r);
}

static void a_store_that_lost_its_log_or_superblocks_is_damaged(void **state)
{
    (void)state;
    static const unsigned flags[] = {0, HAPAX_OPEN_EXISTING, HAPAX_OPEN_READ_ONLY};
    rig r;
    rig_start(&r, 10, 1000);
    rig_close(&r);
    const hx_os *os = sim_os_table(r.sim);
    hapax_store *store = NULL;
    assert_int_equal(os->unlink(os->ctx, "store/SUPER.0"), 0);
    assert_int_equal(open_second(&r, 0, &store), 0); /* one is enough */
    assert_int_equal(hapax_store_close(store, &r.err), 0);
    assert_int_equal(os->unlink(os->ctx, "store/SUPER.1"), 0);
    store = NULL;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        assert_int_equal(open_second(&r, flags[i], &store), HAPAX_ERR_DAMAGED);
        assert_null(store);
    }
    rig_end(&r);
}

static void s092_the_first_file_is_in_the_budget(void **state)
{
    (void)state;
    rig r = {.sim = sim_os_new(1)};
    hapax_store_options o;
    hapax_store_options_init(&o);
    o.path = "store";
    o.max_disk_bytes = 1;
    assert_int_equal(hx_store_open_os(sim_os_table(r.sim), &o, &r.store, &r.err), HAPAX_ERR_FULL);
    assert_non_null(strstr(r.err.message, "budget"));
    o.max_disk_bytes = 64 << 10;
    assert_int_equal(hx_store_open_os(sim_os_table(r.sim), &o, &r.store, &r.err), 0);
    hapax_store_stats stats;
    hapax_store_stat(r.store, &stats);
    assert_true(stats.disk_bytes <= 64 << 10);
    rig_end(&r);
}

/* What a crashed run had reserved ahead is no reason to refuse the next one on a full disk. */
static void a_full_disk_can_be_opened_after_a_crash(void **state)
{
    (void)state;
    for (uint64_t spare = 64 << 10; spare <= 512 << 10; spare += 64 << 10) {
        rig r;
        rig_start(&r, 10, 1000);
        assert_string_equal(rig_record(&r, "a@0"), "NEW");
        sim_os_limit_space(r.sim, sim_os_used(r.sim) + spare);
        rig_crash(&r);
        assert_string_equal(rig_record(&r, "a@1 b@1"), "DUP NEW");
        rig_crash(&r);
        assert_string_equal(rig_peek(&r, "a@1 b@1"), "DUP DUP");
        rig_end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s036_the_lock_does_not_hang_on_a_file),
        cmocka_unit_test(a_missing_log_file_is_named),
        cmocka_unit_test(a_folder_that_was_refused_is_left_as_it_was),
        cmocka_unit_test(a_store_that_lost_its_log_or_superblocks_is_damaged),
        cmocka_unit_test(s092_the_first_file_is_in_the_budget),
        cmocka_unit_test(a_full_disk_can_be_opened_after_a_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
