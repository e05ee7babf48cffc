/*
 * test_golden.c - stores written by every format version that ever landed still open and hold what they held.
 *
 * test/golden/format-N was made once by make_golden.c of its time. A copy is opened for reading, verified, opened for
 * writing, and opened again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hapax.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMATS 1 /* versions that have landed */

static hapax_error err;

static hapax_store *open_store(const char *path, unsigned flags)
{
    hapax_store_options options;
    hapax_store *store = NULL;
    hapax_store_options_init(&options);
    options.path = path;
    options.flags = flags;
    options.durability = HAPAX_DURABILITY_PROCESS; /* the copy may lie in memory */
    if (hapax_store_open(&options, &store, &err) < 0)
        fail_msg("%s: %s", path, err.message);
    return store;
}

static hapax_verdict peek(hapax_domain *domain, const char *id, int64_t time_ms)
{
    hapax_message m = {.id = id, .id_len = strlen(id), .time_ms = time_ms};
    hapax_result r;
    assert_int_equal(hapax_peek(domain, &m, 1, &r, &err), 0);
    return r.verdict;
}

static hapax_domain *domain_named(hapax_store *store, const char *name)
{
    hapax_domain *domain = NULL;
    assert_int_equal(hapax_domain_open(store, name, strlen(name), NULL, &domain, &err), 0);
    return domain;
}

static void check_contents(hapax_store *store)
{
    static const char *const clocked_known[] = {"confirmed", "confirmed-2"};
    static const char *const clocked_unknown[] = {"released", "left-open", "open-at-crash", "forgotten"};
    hapax_domain *given = domain_named(store, "given times");
    hapax_domain *clocked = domain_named(store, "activity clock");
    hapax_domain *bulk = domain_named(store, "bulk");
    assert_int_equal(peek(given, "forgotten", 300), HAPAX_NEW);
    assert_int_equal(peek(given, "pushed-1", 300), HAPAX_DUPLICATE);
    assert_int_equal(peek(given, "kept-1", 300), HAPAX_DUPLICATE);
    assert_int_equal(peek(given, "kept-2", 300), HAPAX_DUPLICATE);
    assert_int_equal(peek(given, "held-back", 300), HAPAX_NEW);
    for (size_t i = 0; i < sizeof clocked_known / sizeof *clocked_known; i++)
        assert_int_equal(peek(clocked, clocked_known[i], HAPAX_NOW), HAPAX_DUPLICATE);
    for (size_t i = 0; i < sizeof clocked_unknown / sizeof *clocked_unknown; i++)
        assert_int_equal(peek(clocked, clocked_unknown[i], HAPAX_NOW), HAPAX_NEW);
    for (int i = 0; i < 500; i++) {
        char id[16];
        snprintf(id, sizeof id, "bulk-%d", 1000 + i);
        assert_int_equal(peek(bulk, id, 9999), i % 10 == 9 ? HAPAX_NEW : HAPAX_DUPLICATE);
    }
    char mark[16];
    size_t len = 0;
    assert_int_equal(hapax_bookmark_get(store, "mark", 4, mark, sizeof mark, &len, &err), 0);
    assert_int_equal(len, 6);
    assert_memory_equal(mark, "second", 6);
    hapax_domain_stats stats;
    hapax_domain_stat(bulk, &stats);
    assert_int_equal(stats.window, 900);
    assert_int_equal(stats.ids_held, 450 + 270);
    assert_int_equal(stats.new_count, 450 + 270);
    assert_int_equal(stats.duplicate_count, 50 + 30);
    assert_int_equal(stats.sources, 2);
    hapax_domain_stat(clocked, &stats);
    assert_int_equal(stats.unchecked_count, 1);
    assert_int_equal(stats.in_flight_count, 1);
    assert_int_equal(stats.in_flight, 0);
}

static void check_format(int version)
{
    char folder[] = "/tmp/hapax-golden-XXXXXX";
    char path[128];
    char command[1024];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/store", folder);
    snprintf(command, sizeof command, "cp -r '%s/format-%d' '%s' && chmod -R u+rwX '%s'", GOLDEN_FOLDER, version,
             path, path);
    assert_int_equal(system(command), 0);
    hapax_verify_report report;
    if (hapax_verify(path, &report, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(report.torn_bytes, 0);
    static const unsigned flags[] = {HAPAX_OPEN_READ_ONLY, 0, HAPAX_OPEN_EXISTING, HAPAX_OPEN_READ_ONLY};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        hapax_store *store = open_store(path, flags[i]);
        check_contents(store);
        assert_int_equal(hapax_store_close(store, &err), 0);
    }
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void every_format_that_landed_still_opens(void **state)
{
    (void)state;
    for (int version = 1; version <= FORMATS; version++)
        check_format(version);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_format_that_landed_still_opens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
