/*
 * test_tables.c - the tables under the window against naive ones: occurrences by number, the index, the small map,
 * and shared ids. Random operations, seeds fixed; what they check most is that nothing is lost while a table grows,
 * shrinks or moves its slots.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hapax.h>
#include <stdlib.h>
#include <string.h>

#include "core/entries.h"
#include "core/index.h"
#include "core/map.h"
#include "core/older.h"

#define N 60000u

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

static hx_hash hash_of(uint64_t number)
{
    static const unsigned char key[16] = {3, 1, 4, 1, 5, 9};
    return hx_siphash_id(key, &number, sizeof number);
}

static uint64_t append(hx_entries *entries, uint64_t number, int64_t time_ms)
{
    hx_entry entry = {hash_of(number), time_ms, (uint32_t)(number % 7), HX_ENTRY_IN_WINDOW};
    assert_int_equal(hx_entries_reserve(entries, 1), HAPAX_OK);
    return hx_entries_append(entries, &entry);
}

static void check_entry(const hx_entries *entries, uint64_t order, uint64_t number, int64_t time_ms)
{
    hx_entry entry;
    assert_true(hx_entries_get(entries, order, &entry));
    hx_hash hash = hash_of(number);
    assert_true(entry.hash.lo == hash.lo && entry.hash.hi == hash.hi);
    assert_true(entry.time_ms == time_ms);
    assert_int_equal(entry.source, number % 7);
    assert_true(hx_entries_is(entries, order, hash));
    assert_false(hx_entries_is(entries, order, hash_of(number + 1)));
}

/* Occurrences die in random order until none is left; what lives is whole, what is gone says so, memory comes back.
 */
static void occurrences_live_and_die_by_number(void **state)
{
    (void)state;
    hx_memory memory;
    hx_memory_init(&memory, NULL, UINT64_MAX);
    hx_entries entries;
    hx_entries_init(&entries, &memory);
    uint64_t x = 42;
    for (uint64_t i = 1; i <= N; i++)
        assert_int_equal(append(&entries, i, (int64_t)i * 1000003), i);
    uint64_t full = memory.used_bytes;
    bool *dead = calloc(N + 1, 1);
    uint64_t *deck = malloc(N * sizeof *deck);
    for (uint64_t i = 0; i < N; i++)
        deck[i] = i + 1;
    for (uint64_t i = N; i-- > 1;) {
        uint64_t j = next_random(&x) % (i + 1);
        uint64_t swap = deck[i];
        deck[i] = deck[j];
        deck[j] = swap;
    }
    for (uint64_t i = 0; i < N; i++) {
        hx_entries_set_state(&entries, deck[i], HX_ENTRY_DEAD);
        dead[deck[i]] = true;
        if (i % 5000 != 0)
            continue;
        uint64_t seen = 0;
        for (uint64_t order = hx_entries_next(&entries, 1); order != 0;
             order = hx_entries_next(&entries, order + 1)) {
            assert_false(dead[order]);
            check_entry(&entries, order, order, (int64_t)order * 1000003);
            seen++;
        }
        assert_int_equal(seen, N - i - 1);
        hx_entry entry;
        assert_false(hx_entries_get(&entries, deck[i], &entry));
    }
    assert_true(memory.used_bytes < full / 10); /* the chunk that is still filling stays */
    assert_true(append(&entries, N + 1, INT64_C(1) << 50) == N + 1);
    check_entry(&entries, N + 1, N + 1, INT64_C(1) << 50);
    hx_entries_free(&entries);
    assert_int_equal(memory.used_bytes, 0);
    free(dead);
    free(deck);
}

static void times_keep_all_their_bits(void **state)
{
    (void)state;
    hx_memory memory;
    hx_memory_init(&memory, NULL, UINT64_MAX);
    hx_entries entries;
    hx_entries_init(&entries, &memory);
    static const int64_t times[] = {-(INT64_C(1) << 51), -5, 0, 1, INT64_C(1) << 32, (INT64_C(1) << 48) + 7,
                                    INT64_C(1) << 51};
    for (uint64_t i = 0; i < sizeof times / sizeof *times; i++)
        append(&entries, i, times[i]);
    for (uint64_t i = 0; i < sizeof times / sizeof *times; i++)
        check_entry(&entries, i + 1, i, times[i]);
    hx_entries_set_state(&entries, 3, HX_ENTRY_IN_QUEUE | HX_ENTRY_SHARED);
    hx_entry entry;
    assert_true(hx_entries_get(&entries, 3, &entry));
    assert_int_equal(entry.state, HX_ENTRY_IN_QUEUE | HX_ENTRY_SHARED);
    assert_true(entry.time_ms == times[2]);
    hx_entries_free(&entries);
}

/* Ids come, are renewed, removed and forgotten; the index always leads to the latest occurrence and to no other. */
static void the_index_finds_what_is_there_and_nothing_else(void **state)
{
    (void)state;
    hx_memory memory;
    hx_memory_init(&memory, NULL, UINT64_MAX);
    hx_entries entries;
    hx_entries_init(&entries, &memory);
    hx_index index;
    hx_index_init(&index, &memory, &entries);
    uint64_t *orders = calloc(N, sizeof *orders); /* by id; 0: not there */
    uint64_t x = 7;
    uint64_t held = 0;
    for (int step = 0; step < 400000; step++) {
        uint64_t id = next_random(&x) % N;
        hx_index_slot slot = NULL;
        uint64_t found = hx_index_find(&index, hash_of(id), &slot);
        assert_int_equal(found, orders[id]);
        uint64_t what = next_random(&x) % 10;
        if (found == 0) {
            assert_int_equal(hx_index_reserve(&index, 1), HAPAX_OK);
            orders[id] = append(&entries, id, step);
            hx_index_insert(&index, hash_of(id), orders[id]);
            held++;
        } else if (what < 3) { /* forgotten without its slot being touched */
            hx_entries_set_state(&entries, found, HX_ENTRY_DEAD);
            hx_index_forgot(&index);
            orders[id] = 0;
            held--;
        } else if (what < 4) {
            hx_entries_set_state(&entries, found, HX_ENTRY_DEAD);
            hx_index_remove(&index, slot);
            orders[id] = 0;
            held--;
        } else {
            orders[id] = append(&entries, id, step);
            hx_index_update(slot, orders[id]);
            hx_entries_set_state(&entries, found, HX_ENTRY_DEAD);
        }
        hx_index_sweep(&index, 2);
        assert_int_equal(index.live, held);
        assert_true(index.used >= index.live);
    }
    for (uint64_t id = 0; id < N; id++)
        assert_int_equal(hx_index_find(&index, hash_of(id), NULL), orders[id]);
    hx_index_free(&index);
    hx_entries_free(&entries);
    assert_int_equal(memory.used_bytes, 0);
    free(orders);
}

/* Growing to a million, past several levels and pages, in batches. */
static void the_index_grows_without_losing_a_slot(void **state)
{
    (void)state;
    enum { IDS = 1000000, BATCH = 1000 };
    hx_memory memory;
    hx_memory_init(&memory, NULL, UINT64_MAX);
    hx_entries entries;
    hx_entries_init(&entries, &memory);
    hx_index index;
    hx_index_init(&index, &memory, &entries);
    for (uint64_t i = 1; i <= IDS; i++) {
        if (i % BATCH == 1)
            assert_int_equal(hx_index_reserve(&index, BATCH), HAPAX_OK);
        assert_int_equal(append(&entries, i, 0), i);
        hx_index_insert(&index, hash_of(i), i);
    }
    for (uint64_t i = 1; i <= IDS; i++)
        assert_int_equal(hx_index_find(&index, hash_of(i), NULL), i);
    for (uint64_t i = IDS + 1; i <= 2 * IDS; i++)
        assert_int_equal(hx_index_find(&index, hash_of(i), NULL), 0);
    assert_int_equal(index.used, IDS);
    assert_true(index.kicks < IDS / 5);
    hx_index_free(&index);
    hx_entries_free(&entries);
}

static bool is_value(const void *ctx, uint32_t value)
{
    return *(const uint32_t *)ctx == value;
}

/* Few distinct hashes, so that runs are long and removals have to close gaps. */
static void the_map_keeps_runs_together(void **state)
{
    (void)state;
    hx_memory memory;
    hx_memory_init(&memory, NULL, UINT64_MAX);
    hx_map map;
    hx_map_init(&map, &memory);
    bool there[512] = {false};
    uint64_t x = 99;
    for (int step = 0; step < 100000; step++) {
        uint32_t value = (uint32_t)(next_random(&x) % 512);
        uint64_t hash = value % 37;
        uint32_t found = hx_map_find(&map, hash, is_value, &value);
        assert_int_equal(found, there[value] ? value : HX_MAP_NONE);
        if (there[value]) {
            hx_map_remove(&map, hash, value);
        } else {
            assert_int_equal(hx_map_reserve(&map, 1), HAPAX_OK);
            hx_map_put(&map, hash, value);
        }
        there[value] = !there[value];
    }
    hx_map_free(&map);
    assert_int_equal(memory.used_bytes, 0);
}

typedef struct seen {
    uint64_t orders[16];
    size_t len;
} seen;

static bool note(void *arg, uint64_t order)
{
    seen *s = arg;
    s->orders[s->len++] = order;
    return true;
}

static void shared_ids_keep_their_older_occurrences_by_age(void **state)
{
    (void)state;
    hx_memory memory;
    hx_memory_init(&memory, NULL, UINT64_MAX);
    hx_older older;
    hx_older_init(&older, &memory);
    hx_hash id = hash_of(1);
    assert_int_equal(hx_older_reserve(&older, 4), HAPAX_OK);
    hx_older_add(&older, id, 12, 100, true);
    hx_older_add(&older, id, 40, 200, true);
    hx_older_add(&older, id, 71, 300, true);
    hx_older_add(&older, hash_of(2), 72, 100, true);
    assert_int_equal(hx_older_in_window(&older, id, 200), 40);
    assert_int_equal(hx_older_in_window(&older, id, 201), 0);
    assert_int_equal(hx_older_in_window(&older, hash_of(2), 100), 72);
    assert_int_equal(hx_older_windows(&older, id), 3);
    hx_older_to_queue(&older, id, 200);
    assert_int_equal(hx_older_in_window(&older, id, 200), 0);
    assert_int_equal(hx_older_in_queue(&older, id), 40);
    assert_int_equal(hx_older_windows(&older, id), 2);
    seen s = {{0}, 0};
    hx_older_each(&older, id, note, &s);
    assert_int_equal(s.len, 3);
    assert_true(s.orders[0] == 12 && s.orders[1] == 40 && s.orders[2] == 71);
    bool last;
    assert_int_equal(hx_older_take_latest(&older, id, &last), 71);
    assert_false(last);
    assert_false(hx_older_remove(&older, id, 0, false)); /* the one in the queue */
    assert_int_equal(hx_older_in_queue(&older, id), 0);
    assert_true(hx_older_remove(&older, id, 100, true));
    assert_int_equal(hx_older_windows(&older, id), 0);
    assert_int_equal(hx_older_take_latest(&older, hash_of(2), &last), 72);
    assert_true(last);
    hx_older_free(&older);
    assert_int_equal(memory.used_bytes, 0);
}

static void a_budget_is_never_passed(void **state)
{
    (void)state;
    hx_memory store, domain;
    hx_memory_init(&store, NULL, 10000);
    hx_memory_init(&domain, &store, UINT64_MAX);
    void *a = hx_memory_alloc(&domain, 9000);
    assert_non_null(a);
    assert_null(hx_memory_alloc(&domain, 1001));
    assert_int_equal(hx_memory_failure(&domain), HAPAX_ERR_FULL);
    assert_int_equal(domain.used_bytes, 9000);
    assert_int_equal(store.used_bytes, 9000);
    assert_null(hx_memory_resize(&domain, a, 9000, 10001));
    a = hx_memory_resize(&domain, a, 9000, 10000);
    assert_non_null(a);
    hx_memory_free(&domain, a, 10000);
    assert_int_equal(store.used_bytes, 0);
    assert_null(hx_memory_alloc(&domain, SIZE_MAX));
    assert_int_equal(store.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(occurrences_live_and_die_by_number),
        cmocka_unit_test(times_keep_all_their_bits),
        cmocka_unit_test(the_index_finds_what_is_there_and_nothing_else),
        cmocka_unit_test(the_index_grows_without_losing_a_slot),
        cmocka_unit_test(the_map_keeps_runs_together),
        cmocka_unit_test(shared_ids_keep_their_older_occurrences_by_age),
        cmocka_unit_test(a_budget_is_never_passed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
