/*
 * test_sim_os.c - the simulated machine keeps what a real one keeps and loses what a real one may lose.
 *
 * A simulator that forgives a missing sync makes every test above it worthless, so what is tested first is that it
 * does not.
 */
#include "sim/sim_os.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int make_file(const hx_os *os, const char *path)
{
    int file = os->open(os->ctx, path, HX_OS_WRITE | HX_OS_CREATE);
    assert_true(file >= 0);
    return file;
}

static void put(const hx_os *os, int file, const char *text, uint64_t offset)
{
    assert_int_equal(os->write(os->ctx, file, text, strlen(text), offset), 0);
}

/* How many of 200 power cuts leave the 5 bytes that were written, with the file and its folder synced or not. */
static int cuts_survived(bool sync_file, bool sync_folder)
{
    int survived = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        sim_os *sim = sim_os_new(seed);
        const hx_os *os = sim_os_table(sim);
        int file = make_file(os, "f");
        put(os, file, "hello", 3000);
        if (sync_file) {
            assert_int_equal(os->sync(os->ctx, file), 0);
        }
        if (sync_folder) {
            assert_int_equal(os->sync_dir(os->ctx, "."), 0);
        }
        sim_os_cut_power(sim);
        char buf[5] = {0};
        int64_t len = sim_os_file_read(sim, "f", buf, sizeof buf, 3000);
        survived += len == 5 && memcmp(buf, "hello", 5) == 0;
        sim_os_free(sim);
    }
    return survived;
}

static void test_a_sync_is_needed(void **state)
{
    (void)state;
    assert_int_equal(cuts_survived(true, true), 200);
    int without = cuts_survived(false, true);
    assert_in_range(without, 20, 180);
    without = cuts_survived(true, false);
    assert_in_range(without, 20, 180);
}

static void test_a_crash_of_the_process_keeps_what_was_written(void **state)
{
    (void)state;
    sim_os *sim = sim_os_new(1);
    const hx_os *os = sim_os_table(sim);
    int file = make_file(os, "f");
    put(os, file, "hello", 0);
    assert_int_equal(os->lock(os->ctx, file), 0);
    sim_os_crash(sim);
    assert_int_equal(os->sync(os->ctx, file), -EBADF);
    char buf[8];
    file = make_file(os, "f");
    assert_int_equal(os->read(os->ctx, file, buf, sizeof buf, 0), 5);
    assert_int_equal(os->lock(os->ctx, file), 0); /* the lock died with the process */
    sim_os_free(sim);
}

static void test_a_torn_write_mixes_old_and_new(void **state)
{
    (void)state;
    int whole = 0;
    int old = 0;
    int mixed = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        sim_os *sim = sim_os_new(seed);
        const hx_os *os = sim_os_table(sim);
        int file = make_file(os, "f");
        unsigned char buf[8192];
        memset(buf, 'o', sizeof buf);
        assert_int_equal(os->write(os->ctx, file, buf, sizeof buf, 0), 0);
        assert_int_equal(os->sync(os->ctx, file), 0);
        assert_int_equal(os->sync_dir(os->ctx, "."), 0);
        memset(buf, 'n', sizeof buf);
        assert_int_equal(os->write(os->ctx, file, buf, sizeof buf, 0), 0);
        sim_os_cut_power(sim);
        assert_int_equal(sim_os_file_read(sim, "f", buf, sizeof buf, 0), sizeof buf);
        size_t fresh = 0;
        for (size_t i = 0; i < sizeof buf; i++) {
            fresh += buf[i] == 'n';
        }
        whole += fresh == sizeof buf;
        old += fresh == 0;
        mixed += fresh > 0 && fresh < sizeof buf;
        sim_os_free(sim);
    }
    assert_true(mixed > 150);
    assert_true(whole + old < 50);
}

static void test_a_failed_sync_leaves_the_cache_and_loses_the_platter(void **state)
{
    (void)state;
    int lost = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        sim_os *sim = sim_os_new(seed);
        const hx_os *os = sim_os_table(sim);
        int file = make_file(os, "f");
        put(os, file, "hello", 0);
        sim_os_fail(sim, SIM_SYNC, 1, EIO, false);
        assert_int_equal(os->sync(os->ctx, file), -EIO);
        assert_int_equal(os->sync(os->ctx, file), 0); /* and that is the trap */
        char buf[5];
        assert_int_equal(os->read(os->ctx, file, buf, 5, 0), 5);
        assert_memory_equal(buf, "hello", 5);
        int around = os->open(os->ctx, "f", HX_OS_READ | HX_OS_UNCACHED);
        assert_true(around >= 0);
        assert_int_equal(os->read(os->ctx, around, buf, 5, 0), 5);
        lost += memcmp(buf, "hello", 5) != 0;
        sim_os_free(sim);
    }
    assert_in_range(lost, 5, 45);
}

static void test_names(void **state)
{
    (void)state;
    sim_os *sim = sim_os_new(1);
    const hx_os *os = sim_os_table(sim);
    assert_int_equal(os->open(os->ctx, "d/f", HX_OS_WRITE | HX_OS_CREATE), -ENOENT);
    assert_int_equal(os->open(os->ctx, "f", HX_OS_WRITE), -ENOENT);
    assert_int_equal(os->mkdir(os->ctx, "d"), 0);
    assert_int_equal(os->mkdir(os->ctx, "d/"), 0);
    int file = make_file(os, "d/f");
    assert_int_equal(os->open(os->ctx, "d/f", HX_OS_WRITE | HX_OS_CREATE | HX_OS_EXCLUSIVE), -EEXIST);
    assert_int_equal(os->open(os->ctx, "d/f/g", HX_OS_WRITE | HX_OS_CREATE), -ENOTDIR);
    assert_int_equal(os->mkdir(os->ctx, "d/f"), -ENOTDIR);
    put(os, file, "one", 0);
    put(os, make_file(os, "d/g"), "other", 0);
    assert_int_equal(os->rename(os->ctx, "d/f", "d/g"), 0);
    assert_int_equal(sim_os_file_size(sim, "d/f"), -ENOENT);
    assert_int_equal(sim_os_file_size(sim, "d/g"), 3);
    assert_int_equal(os->unlink(os->ctx, "d/g"), 0);
    assert_int_equal(os->unlink(os->ctx, "d/g"), -ENOENT);
    put(os, file, "still open", 0);
    assert_int_equal(os->size(os->ctx, file), 10);
    sim_os_free(sim);
}

/* A rename that replaces a file is seen whole or not at all after a power cut. */
static void test_a_rename_is_all_or_nothing(void **state)
{
    (void)state;
    int replaced = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        sim_os *sim = sim_os_new(seed);
        const hx_os *os = sim_os_table(sim);
        int old = make_file(os, "f");
        put(os, old, "old", 0);
        assert_int_equal(os->sync(os->ctx, old), 0);
        assert_int_equal(os->sync_dir(os->ctx, "."), 0);
        int fresh = make_file(os, "f.new");
        put(os, fresh, "fresh", 0);
        assert_int_equal(os->sync(os->ctx, fresh), 0);
        assert_int_equal(os->rename(os->ctx, "f.new", "f"), 0);
        sim_os_cut_power(sim);
        int64_t size = sim_os_file_size(sim, "f");
        assert_true(size == 3 || size == 5);
        replaced += size == 5;
        sim_os_free(sim);
    }
    assert_in_range(replaced, 10, 90);
}

static int count_name(void *arg, const char *name)
{
    int *count = arg;
    assert_true(strcmp(name, "a") == 0 || strcmp(name, "b") == 0 || strcmp(name, "sub") == 0);
    (*count)++;
    return 0;
}

static void test_list(void **state)
{
    (void)state;
    sim_os *sim = sim_os_new(1);
    const hx_os *os = sim_os_table(sim);
    int count = 0;
    assert_int_equal(os->list(os->ctx, "d", count_name, &count), -ENOENT);
    assert_int_equal(os->mkdir(os->ctx, "d"), 0);
    assert_int_equal(os->mkdir(os->ctx, "d/sub"), 0);
    make_file(os, "d/a");
    make_file(os, "d/b");
    make_file(os, "d/sub/c");
    assert_int_equal(os->list(os->ctx, "d", count_name, &count), 0);
    assert_int_equal(count, 3);
    sim_os_free(sim);
}

static void test_grow_and_truncate(void **state)
{
    (void)state;
    sim_os *sim = sim_os_new(1);
    const hx_os *os = sim_os_table(sim);
    int file = make_file(os, "f");
    put(os, file, "hello", 0);
    assert_int_equal(os->grow(os->ctx, file, 0, 100000), 0);
    assert_int_equal(os->size(os->ctx, file), 100000);
    char buf[8] = "xxxxxxxx";
    assert_int_equal(os->read(os->ctx, file, buf, 8, 4), 8);
    assert_memory_equal(buf, "o\0\0\0\0\0\0\0", 8);
    assert_int_equal(os->truncate(os->ctx, file, 2), 0);
    assert_int_equal(os->grow(os->ctx, file, 0, 8), 0);
    assert_int_equal(os->read(os->ctx, file, buf, 8, 0), 8);
    assert_memory_equal(buf, "he\0\0\0\0\0\0", 8); /* what was cut does not come back */
    assert_int_equal(os->read(os->ctx, file, buf, 8, 8), 0);
    sim_os_free(sim);
}

static void test_full_disk(void **state)
{
    (void)state;
    sim_os *sim = sim_os_new(1);
    const hx_os *os = sim_os_table(sim);
    int file = make_file(os, "f");
    assert_int_equal(os->grow(os->ctx, file, 0, 4096), 0);
    sim_os_limit_space(sim, 4096);
    assert_int_equal(os->grow(os->ctx, file, 4096, 1), -ENOSPC);
    put(os, file, "inside", 4000);
    assert_int_equal(os->write(os->ctx, file, "beyond", 6, 4095), -ENOSPC);
    assert_int_equal(os->size(os->ctx, file), 4096);
    sim_os_limit_space(sim, UINT64_MAX);
    put(os, file, "beyond", 4095);
    sim_os_free(sim);
}

static void test_planned_failures(void **state)
{
    (void)state;
    sim_os *sim = sim_os_new(1);
    const hx_os *os = sim_os_table(sim);
    int file = make_file(os, "f");
    sim_os_fail(sim, SIM_WRITE, 2, EIO, false);
    put(os, file, "1", 0);
    assert_int_equal(os->write(os->ctx, file, "2", 1, 0), -EIO);
    put(os, file, "3", 0);
    sim_os_fail(sim, SIM_WRITE, 1, ENOSPC, true);
    assert_int_equal(os->write(os->ctx, file, "4", 1, 0), -ENOSPC);
    assert_int_equal(os->write(os->ctx, file, "5", 1, 0), -ENOSPC);
    sim_os_heal(sim);
    put(os, file, "6", 0);
    assert_int_equal(sim_os_calls(sim, SIM_WRITE), 6);
    sim_os_fail(sim, SIM_OPEN, 1, EIO, false);
    assert_int_equal(os->open(os->ctx, "f", HX_OS_READ), -EIO);
    sim_os_free(sim);
}

static void test_locks(void **state)
{
    (void)state;
    sim_os *sim = sim_os_new(1);
    const hx_os *os = sim_os_table(sim);
    int one = make_file(os, "f");
    int two = make_file(os, "f");
    assert_int_equal(os->lock(os->ctx, one), 0);
    assert_int_equal(os->lock(os->ctx, two), -EWOULDBLOCK);
    assert_int_equal(os->close(os->ctx, one), 0);
    assert_int_equal(os->lock(os->ctx, two), 0);
    int reader = os->open(os->ctx, "f", HX_OS_READ);
    assert_int_equal(os->write(os->ctx, reader, "x", 1, 0), -EBADF);
    sim_os_free(sim);
}

static void test_clocks_and_entropy(void **state)
{
    (void)state;
    sim_os *sim = sim_os_new(7);
    sim_os *same = sim_os_new(7);
    sim_os *other = sim_os_new(8);
    const hx_os *os = sim_os_table(sim);
    int64_t monotonic = os->monotonic_ms(os->ctx);
    int64_t wall = os->wall_ms(os->ctx);
    sim_os_turn(sim, 5);
    sim_os_step_wall(sim, -3600000);
    assert_int_equal(os->monotonic_ms(os->ctx) - monotonic, 5);
    assert_int_equal(os->wall_ms(os->ctx) - wall, 5 - 3600000);
    unsigned char a[16];
    unsigned char b[16];
    unsigned char c[16];
    os->entropy(os->ctx, a, 16);
    sim_os_table(same)->entropy(same, b, 16);
    sim_os_table(other)->entropy(other, c, 16);
    assert_memory_equal(a, b, 16);
    assert_memory_not_equal(a, c, 16);
    sim_os_free(sim);
    sim_os_free(same);
    sim_os_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sync_is_needed),
        cmocka_unit_test(test_a_crash_of_the_process_keeps_what_was_written),
        cmocka_unit_test(test_a_torn_write_mixes_old_and_new),
        cmocka_unit_test(test_a_failed_sync_leaves_the_cache_and_loses_the_platter),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_a_rename_is_all_or_nothing),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_grow_and_truncate),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_planned_failures),
        cmocka_unit_test(test_locks),
        cmocka_unit_test(test_clocks_and_entropy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
