/*
 * test_scenarios.c - how duplicate detection fails in the field, one test a row, at the level of the library.
 *
 * The numbers are those of docs/scenarios.md, which tells for every row where it is tested. Rows that damage or fail
 * the disk are in test_scenarios_disk.c.
 */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t scaled(uint64_t count)
{
    const char *scale = getenv("HAPAX_TEST_SCALE");
    unsigned long percent = scale == NULL ? 100 : strtoul(scale, NULL, 10);
    uint64_t result = count * (percent == 0 ? 1 : percent) / 100;
    return result == 0 ? 1 : result;
}

static uint64_t memory_of(const rig *r)
{
    hapax_store_stats stats;
    hapax_store_stat(r->store, &stats);
    return stats.memory_bytes;
}

/* ---- remembered too early ---- */

static void s004_released_id_is_new_again(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 10, 1000);
    uint64_t claim = rig_claim_one(&r, "order-1@0");
    rig_release(&r, claim); /* the handler failed */
    claim = rig_claim_one(&r, "order-1@1");
    rig_confirm(&r, claim, 2);
    assert_string_equal(rig_claim(&r, "order-1@3"), "DUP");
    rig_end(&r);
}

/* "Nothing was done" is the third outcome beside done and still in work: the id is forgotten, durably. */
static void s006_nothing_done_forgets_the_id(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 10, 1000);
    rig_release(&r, rig_claim_one(&r, "a@0"));
    assert_int_equal(rig_stat(&r).ids_held, 0);
    rig_crash(&r);
    assert_string_equal(rig_claim(&r, "a@1"), "NEW");
    rig_end(&r);
}

static void s008_released_id_comes_by_another_path(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 10, 1000);
    uint64_t claim = rig_claim_one(&r, "a/queue@0");
    assert_string_equal(rig_claim(&r, "a/topic@1"), "FLIGHT");
    rig_release(&r, claim);
    assert_string_equal(rig_claim(&r, "a/topic@2"), "NEW");
    rig_end(&r);
}

/* ---- window and clock ---- */

static void s022_idle_sources_are_gone_and_stay_gone(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o;
    rig_options(&o, 5, 10);
    o.source_idle_ms = 60000;
    rig_start_with(&r, &o);
    for (int i = 0; i < 1000; i++) {
        char text[32];
        snprintf(text, sizeof text, "a%d/s%d", i % 50, i);
        rig_record(&r, text);
        assert_int_equal(r.results[0].verdict, i < 50 ? HAPAX_NEW : HAPAX_DUPLICATE);
    }
    assert_int_equal(rig_stat(&r).sources, 1000);
    uint64_t memory = memory_of(&r);
    sim_os_turn(r.sim, 60000);
    assert_string_equal(rig_record(&r, "z1/live"), "NEW");
    sim_os_turn(r.sim, 59999);
    assert_string_equal(rig_record(&r, "z2/live"), "NEW");
    assert_int_equal(rig_stat(&r).sources, 1);
    assert_true(memory_of(&r) < memory);
    rig_reopen(&r);
    assert_int_equal(rig_stat(&r).sources, 1);
    rig_crash(&r);
    assert_int_equal(rig_stat(&r).sources, 1);
    rig_end(&r);
}

static void s031_same_id_from_another_source(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    assert_string_equal(rig_record(&r, "m/A@0 m/B@1 m@2"), "NEW DUP DUP");
    rig_end(&r);
}

static void s038_silence_ages_nothing(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 120000);
    assert_string_equal(rig_record(&r, "a b c d"), "NEW NEW NEW NEW");
    sim_os_turn(r.sim, 10 * 120000);
    assert_string_equal(rig_record(&r, "d"), "DUP");
    assert_string_equal(rig_peek(&r, "a b c"), "DUP DUP DUP");
    rig_close(&r);
    sim_os_turn(r.sim, 86400000);
    rig_open(&r);
    assert_string_equal(rig_record(&r, "d"), "DUP");
    rig_end(&r);
}

static void s040_the_wall_clock_cap(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o;
    rig_options(&o, 2, 120000);
    o.max_age_ms = 3600000;
    rig_start_with(&r, &o);
    assert_string_equal(rig_record(&r, "a"), "NEW");
    hapax_explanation e;
    assert_int_equal(hapax_explain(r.domain, "a", 1, &e, &r.err), 0);
    assert_true(e.known && e.max_age_left_ms == 3600000);
    sim_os_turn(r.sim, 2 * 3600000);
    assert_int_equal(hapax_explain(r.domain, "a", 1, &e, &r.err), 0);
    assert_false(e.known);
    assert_string_equal(rig_record(&r, "a"), "NEW");
    rig_end(&r);
}

/* The same id every second, other ids turning the window over: how often it is NEW in a minute. */
static int new_of_a_repeated_id(int64_t refresh, int others_a_second)
{
    rig r;
    hapax_domain_options o;
    rig_options(&o, 10, 1);
    o.refresh = refresh;
    rig_start_with(&r, &o);
    int fresh = 0;
    for (int second = 0; second < 60; second++) {
        rig_record(&r, "again");
        fresh += r.results[0].verdict == HAPAX_NEW;
        for (int i = 0; i < others_a_second; i++) {
            char id[16];
            int len = snprintf(id, sizeof id, "%d-%d", second, i);
            hapax_message m = {.id = id, .id_len = (size_t)len, .time_ms = HAPAX_NOW};
            assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), 0);
        }
        sim_os_turn(r.sim, 1000);
    }
    rig_end(&r);
    return fresh;
}

static void s041_repeats_while_the_window_turns_over(void **state)
{
    (void)state;
    assert_int_equal(new_of_a_repeated_id(1, 4), 1);
    /* Off: with 4 others a second a window of 10 turns over in less than 3 s, and the time queue holds 1 ms. */
    assert_in_range(new_of_a_repeated_id(0, 4), 15, 30);
}

static void s042_repeats_at_every_half_of_the_window(void **state)
{
    (void)state;
    assert_int_equal(new_of_a_repeated_id(1, 5), 1);
    /* Off: it leaves the window two seconds later, and the queue when what came a second after it enters: four
     * seconds. */
    assert_int_equal(new_of_a_repeated_id(0, 5), 15);
}

static void s051_an_idle_source_comes_back(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o;
    rig_options(&o, 2, 10);
    o.source_idle_ms = 1000;
    rig_start_with(&r, &o);
    assert_string_equal(rig_record(&r, "a/A"), "NEW");
    sim_os_turn(r.sim, 5000);
    assert_string_equal(rig_record(&r, "b/A"), "NEW");
    assert_string_equal(rig_window(&r, "A"), "b@5000");
    rig_end(&r);
}

static void s052_a_stepped_wall_clock(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o;
    rig_options(&o, 2, 120000);
    o.max_age_ms = 3600000;
    rig_start_with(&r, &o);
    static const int64_t hour = 3600000;
    const int64_t steps[] = {-hour, hour, 87600 * hour, -87600 * hour};
    assert_string_equal(rig_record(&r, "a b c"), "NEW NEW NEW");
    for (size_t i = 0; i < 4; i++) {
        sim_os_step_wall(r.sim, steps[i]);
        sim_os_turn(r.sim, 1000);
        assert_string_equal(rig_record(&r, "a"), "DUP");
        assert_string_equal(rig_peek(&r, "b c"), "DUP DUP");
        assert_true(r.results[0].receive_ms == (int64_t)(i + 1) * 1000);
    }
    rig_reopen(&r); /* and none of it was downtime */
    assert_true(r.report.downtime_ms == 0);
    assert_string_equal(rig_peek(&r, "a b c"), "DUP DUP DUP");
    rig_close(&r);
    sim_os_step_wall(r.sim, -hour); /* back while it was down: as no time at all */
    rig_open(&r);
    assert_true(r.report.downtime_ms == 0);
    assert_string_equal(rig_peek(&r, "a b c"), "DUP DUP DUP");
    rig_close(&r);
    sim_os_step_wall(r.sim, hour + 1); /* elapsed wall time over a downtime counts, and is told */
    rig_open(&r);
    assert_true(r.report.downtime_ms == hour + 1);
    assert_string_equal(rig_peek(&r, "a b c"), "NEW NEW NEW");
    rig_end(&r);
}

static void s052b_another_boot(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 0, 1000);
    assert_string_equal(rig_record(&r, "a"), "NEW");
    sim_os_turn(r.sim, 500);
    rig_close(&r);
    sim_os_set_monotonic(r.sim, 3);
    rig_open(&r);
    assert_string_equal(rig_record(&r, "a"), "DUP");
    sim_os_turn(r.sim, 1001);
    assert_string_equal(rig_record(&r, "b"), "NEW"); /* and none is kept beyond its window */
    assert_string_equal(rig_record(&r, "a"), "NEW");
    rig_end(&r);
}

/* ---- identity ---- */

static void s055_missing_empty_and_blank_ids(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 10, 1000);
    const hapax_message pairs[] = {
        {.id = NULL, .id_len = 0, .time_ms = 0},  {.id = NULL, .id_len = 0, .time_ms = 0},
        {.id = "", .id_len = 0, .time_ms = 0},    {.id = "x", .id_len = 0, .time_ms = 0},
        {.id = "   ", .id_len = 3, .time_ms = 0}, {.id = "   ", .id_len = 3, .time_ms = 0},
        {.id = "\0", .id_len = 1, .time_ms = 0},  {.id = "\0", .id_len = 1, .time_ms = 0},
        {.id = "  ", .id_len = 2, .time_ms = 0},  {.id = "\0\0", .id_len = 2, .time_ms = 0},
    };
    const hapax_verdict want[] = {
        HAPAX_UNCHECKED, HAPAX_UNCHECKED, HAPAX_UNCHECKED, HAPAX_UNCHECKED, HAPAX_NEW,
        HAPAX_DUPLICATE, HAPAX_NEW,       HAPAX_DUPLICATE, HAPAX_NEW,       HAPAX_NEW,
    };
    assert_int_equal(hapax_record(r.domain, pairs, 10, r.results, &r.err), 0);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(r.results[i].verdict, want[i]);
    }
    assert_int_equal(rig_stat(&r).unchecked_count, 4);
    assert_int_equal(rig_stat(&r).ids_held, 4);
    rig_end(&r);
}

static void s056_ids_are_bytes(void **state)
{
    (void)state;
    static const char *const ids[] = {"a", "a\n", "a\r", "a\r\n", "\xff", "\xfe\xff", "\xc3\x28", "\xf0\x9f\x98\x80",
                                      "A"};
    rig r;
    rig_start(&r, 100, 1000);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
            hapax_message m = {
                .id = ids[i], .id_len = strlen(ids[i]), .source = ids[i], .source_len = strlen(ids[i])};
            m.time_ms = 0;
            assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), 0);
            assert_int_equal(r.results[0].verdict, round == 0 ? HAPAX_NEW : HAPAX_DUPLICATE);
            if (round > 0) { /* the source comes back byte for byte */
                char name[8];
                int len = hapax_source_name(r.domain, r.results[0].first_source, name, sizeof name);
                assert_int_equal(len, strlen(ids[i]));
                assert_memory_equal(name, ids[i], (size_t)len);
            }
        }
        if (round == 0) {
            rig_crash(&r);
        } else {
            rig_reopen(&r);
        }
    }
    rig_end(&r);
}

static void s059_two_domains_share_nothing(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 10, 1000);
    hapax_domain *other = NULL;
    hapax_message m = {.id = "a", .id_len = 1, .time_ms = HAPAX_NOW};
    assert_int_equal(hapax_domain_open(r.store, "other", 5, NULL, &other, &r.err), 0);
    assert_string_equal(rig_record(&r, "a@0"), "NEW");
    assert_int_equal(hapax_record(other, &m, 1, r.results, &r.err), 0);
    assert_int_equal(r.results[0].verdict, HAPAX_NEW);
    assert_string_equal(rig_record(&r, "a@1"), "DUP");
    rig_reopen(&r);
    other = hapax_domain_at(r.store, 1);
    assert_int_equal(hapax_record(other, &m, 1, r.results, &r.err), 0);
    assert_int_equal(r.results[0].verdict, HAPAX_DUPLICATE);
    rig_end(&r);
}

/* ---- in progress ---- */

static void s067_a_verdict_for_each_of_a_mixed_batch(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 10, 1000);
    assert_string_equal(rig_record(&r, "a@0 b@0"), "NEW NEW");
    rig_claim_one(&r, "c@0");
    assert_string_equal(rig_claim(&r, "x@1 a@1 -@1 c@1 y@1 b@1 x@1"), "NEW DUP UNCHECKED FLIGHT NEW DUP FLIGHT");
    rig_end(&r);
}

static void s070_late_but_unseen_is_new(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 2, 10);
    assert_string_equal(rig_record(&r, "a@1000 b@2000 c@3000 late@5"), "NEW NEW NEW NEW");
    rig_end(&r);
}

static void s073_in_flight_ids_are_redelivered(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 10, 0); /* most of them are held by their claim alone */
    enum { COUNT = 1000 };
    static uint64_t claims[COUNT];
    static hapax_message messages[COUNT];
    static hapax_result results[COUNT];
    static int ids[COUNT];
    for (int i = 0; i < COUNT; i++) {
        ids[i] = i;
        messages[i] = (hapax_message){.id = &ids[i], .id_len = sizeof ids[i], .time_ms = i};
    }
    assert_int_equal(hapax_claim(r.domain, messages, COUNT, results, &r.err), 0);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(results[i].verdict, HAPAX_NEW);
        claims[i] = results[i].claim;
    }
    assert_int_equal(hapax_claim(r.domain, messages, COUNT, results, &r.err), 0);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(results[i].verdict, HAPAX_IN_FLIGHT);
    }
    assert_int_equal(rig_stat(&r).in_flight, COUNT);
    assert_int_equal(hapax_confirm(r.domain, claims, COUNT, HAPAX_NOW, &r.err), 0);
    assert_int_equal(rig_stat(&r).in_flight, 0);
    assert_int_equal(rig_stat(&r).in_flight_count, COUNT);
    rig_end(&r);
}

static void s074_in_flight_returns_to_0_after_a_million(void **state)
{
    (void)state;
    enum { BATCH = 1000 };
    static hapax_message messages[BATCH];
    static hapax_result results[BATCH];
    static uint64_t claims[BATCH];
    static uint64_t ids[BATCH];
    hapax_store_options so;
    hapax_store_options_init(&so);
    hapax_store *store = NULL;
    hapax_domain *domain = NULL;
    hapax_error err;
    uint64_t batches = scaled(1000);
    uint64_t memory = 0;
    assert_int_equal(hapax_store_open(&so, &store, &err), 0);
    hapax_domain_options o;
    rig_options(&o, 100, 10);
    assert_int_equal(hapax_domain_open(store, "d", 1, &o, &domain, &err), 0);
    for (uint64_t b = 0; b < batches; b++) {
        for (uint64_t i = 0; i < BATCH; i++) {
            ids[i] = b * BATCH + i;
            messages[i] = (hapax_message){.id = &ids[i], .id_len = 8, .time_ms = (int64_t)b * 100};
        }
        assert_int_equal(hapax_claim(domain, messages, BATCH, results, &err), 0);
        for (size_t i = 0; i < BATCH; i++) {
            assert_int_equal(results[i].verdict, HAPAX_NEW);
            claims[(i * 7 + 3) % BATCH] = results[i].claim; /* closed in another order */
        }
        assert_int_equal(hapax_confirm(domain, claims, BATCH / 2, HAPAX_NOW, &err), 0);
        assert_int_equal(hapax_release(domain, claims + BATCH / 2, BATCH / 2, &err), 0);
        hapax_domain_stats stats;
        hapax_domain_stat(domain, &stats);
        assert_int_equal(stats.in_flight, 0);
        assert_true(stats.ids_held <= 2 * BATCH);
        if (b == batches / 10) {
            memory = stats.memory_bytes;
        }
        assert_true(memory == 0 || stats.memory_bytes <= 2 * memory); /* nothing piles up */
    }
    assert_int_equal(hapax_store_close(store, &err), 0);
}

/* ---- memory ---- */

static void s087_a_new_source_with_every_message(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o;
    rig_options(&o, 10, 10);
    o.max_sources = 100;
    rig_start_with(&r, &o);
    assert_string_equal(rig_record(&r, "live/live@0"), "NEW");
    int count = (int)scaled(20000);
    uint64_t memory = 0;
    for (int i = 0; i < count; i++) {
        char id[16];
        char source[16];
        int id_len = snprintf(id, sizeof id, "%d", i);
        int source_len = snprintf(source, sizeof source, "s%d", i);
        hapax_message m = {.id = id, .id_len = (size_t)id_len, .source = source, .source_len = (size_t)source_len};
        m.time_ms = i;
        assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), 0);
        assert_int_equal(r.results[0].verdict, HAPAX_NEW);
        if (i == 8000) {
            memory = memory_of(&r);
        }
    }
    hapax_domain_stats stats = rig_stat(&r);
    assert_int_equal(stats.sources, count < 99 ? count + 1 : 100);
    assert_true(stats.sources_over_limit + 99 == (uint64_t)count || count < 99);
    assert_true(memory == 0 || memory_of(&r) < 2 * memory);          /* the table is bounded */
    assert_string_equal(rig_record(&r, "live/live@1000000"), "DUP"); /* the live source was not evicted */
    rig_end(&r);
}

static void s094_the_memory_cap_forgets_nothing(void **state)
{
    (void)state;
    hapax_store_options so;
    hapax_store_options_init(&so);
    so.max_memory_bytes = 4 << 20;
    hapax_store *store = NULL;
    hapax_domain *domain = NULL;
    hapax_error err;
    assert_int_equal(hapax_store_open(&so, &store, &err), 0);
    hapax_domain_options o;
    rig_options(&o, 100, HAPAX_FOREVER);
    assert_int_equal(hapax_domain_open(store, "d", 1, &o, &domain, &err), 0);
    uint64_t known = 0;
    int rc = 0;
    hapax_result result;
    for (uint64_t id = 0; id < 10000000 && rc == 0; id++) {
        hapax_message m = {.id = &id, .id_len = sizeof id, .time_ms = 0};
        rc = hapax_record(domain, &m, 1, &result, &err);
        known += rc == 0;
    }
    assert_int_equal(rc, HAPAX_ERR_FULL);
    assert_true(known > 10000);
    hapax_domain_stats stats;
    hapax_domain_stat(domain, &stats);
    assert_int_equal(stats.ids_held, known);
    assert_true(stats.memory_bytes <= 4 << 20);
    for (uint64_t id = 0; id <= known; id++) { /* every promised id is there, the refused one is not */
        hapax_message m = {.id = &id, .id_len = sizeof id, .time_ms = 0};
        assert_int_equal(hapax_peek(domain, &m, 1, &result, &err), 0);
        assert_int_equal(result.verdict, id < known ? HAPAX_DUPLICATE : HAPAX_NEW);
    }
    assert_int_equal(hapax_store_close(store, &err), 0);
}

/* ---- batches ---- */

static void s098_a_batch_of_only_duplicates(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 10, 1000);
    assert_string_equal(rig_record(&r, "a@0 b@0 c@0"), "NEW NEW NEW");
    assert_string_equal(rig_claim(&r, "a@1 b@1 c@1"), "DUP DUP DUP");
    assert_true(r.results[0].claim == 0 && r.results[1].claim == 0 && r.results[2].claim == 0);
    assert_int_equal(rig_stat(&r).in_flight, 0);
    rig_end(&r);
}

static void s100_a_duplicate_first_in_the_middle_and_last(void **state)
{
    (void)state;
    static const char *const batches[] = {"d@1 x@1 y@1", "x@1 d@1 y@1", "x@1 y@1 d@1"};
    static const char *const verdicts[] = {"DUP NEW NEW", "NEW DUP NEW", "NEW NEW DUP"};
    for (int i = 0; i < 3; i++) {
        rig r;
        rig_start(&r, 10, 1000);
        assert_string_equal(rig_record(&r, "d@0"), "NEW");
        assert_string_equal(rig_record(&r, batches[i]), verdicts[i]);
        rig_crash(&r);
        assert_string_equal(rig_peek(&r, "d@2 x@2 y@2"), "DUP DUP DUP");
        rig_end(&r);
    }
}

static void s102_the_loser_sees_the_first_receipt(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 10, 1000);
    uint64_t winner = rig_claim_one(&r, "a/one@7");
    assert_string_equal(rig_claim(&r, "a/two@9"), "FLIGHT");
    assert_true(r.results[0].first_receive_ms == 7);
    rig_confirm(&r, winner, 10);
    assert_string_equal(rig_claim(&r, "a/two@11"), "DUP");
    assert_true(r.results[0].first_receive_ms == 7);
    rig_end(&r);
}

static void s108_counters_of_a_thousand_duplicates_in_ten_thousand(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 10000, 1000);
    for (int i = 0; i < 10000; i++) {
        int id = i % 10 == 9 ? i - 5 : i;
        hapax_message m = {.id = &id, .id_len = sizeof id, .time_ms = i};
        assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), 0);
    }
    rig_reopen(&r);
    assert_int_equal(rig_stat(&r).new_count, 9000);
    assert_int_equal(rig_stat(&r).duplicate_count, 1000);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s004_released_id_is_new_again),
        cmocka_unit_test(s006_nothing_done_forgets_the_id),
        cmocka_unit_test(s008_released_id_comes_by_another_path),
        cmocka_unit_test(s022_idle_sources_are_gone_and_stay_gone),
        cmocka_unit_test(s031_same_id_from_another_source),
        cmocka_unit_test(s038_silence_ages_nothing),
        cmocka_unit_test(s040_the_wall_clock_cap),
        cmocka_unit_test(s041_repeats_while_the_window_turns_over),
        cmocka_unit_test(s042_repeats_at_every_half_of_the_window),
        cmocka_unit_test(s051_an_idle_source_comes_back),
        cmocka_unit_test(s052_a_stepped_wall_clock),
        cmocka_unit_test(s052b_another_boot),
        cmocka_unit_test(s055_missing_empty_and_blank_ids),
        cmocka_unit_test(s056_ids_are_bytes),
        cmocka_unit_test(s059_two_domains_share_nothing),
        cmocka_unit_test(s067_a_verdict_for_each_of_a_mixed_batch),
        cmocka_unit_test(s070_late_but_unseen_is_new),
        cmocka_unit_test(s073_in_flight_ids_are_redelivered),
        cmocka_unit_test(s074_in_flight_returns_to_0_after_a_million),
        cmocka_unit_test(s087_a_new_source_with_every_message),
        cmocka_unit_test(s094_the_memory_cap_forgets_nothing),
        cmocka_unit_test(s098_a_batch_of_only_duplicates),
        cmocka_unit_test(s100_a_duplicate_first_in_the_middle_and_last),
        cmocka_unit_test(s102_the_loser_sees_the_first_receipt),
        cmocka_unit_test(s108_counters_of_a_thousand_duplicates_in_ten_thousand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
