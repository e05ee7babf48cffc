/*
 * test_chain.c - batches that are sound by themselves but do not belong where they stand: each is refused, naming the
 * file and where.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/siphash.h"
#include "core/format.h"
#include "rig.h"

#define PATH "store/wal/W-0000000001.wal"

/* A store with messages a to h, each a batch, left as by a crash. *ret_at: where the batch of d begins. */
static void make_log(rig *r, uint64_t *ret_at)
{
    rig_start(r, 100, 1000);
    for (char id = 'a'; id <= 'h'; id++) {
        char word[] = {id, '@', '1', '\0'};
        assert_string_equal(rig_record(r, word), "NEW");
    }
    hapax_store_abandon(r->store);
    r->store = NULL;
    sim_os_crash(r->sim);
    /* One block each: header, OPEN, DOMAIN, a, b, c, d. */
    *ret_at = 6 * HX_BLOCK;
}

static hx_batch_header read_batch(rig *r, uint64_t at)
{
    unsigned char bytes[HX_BATCH_HEADER];
    hx_batch_header header;
    assert_int_equal(sim_os_file_read(r->sim, PATH, bytes, sizeof bytes, at), sizeof bytes);
    assert_int_equal(hx_format_read_batch(bytes, &header), HX_FORMAT_GOOD);
    return header;
}

static void write_batch(rig *r, uint64_t at, const hx_batch_header *header)
{
    unsigned char bytes[HX_BATCH_HEADER];
    hx_format_write_batch(bytes, header);
    assert_int_equal(sim_os_file_overwrite(r->sim, PATH, bytes, sizeof bytes, at), 0);
}

static void check_refused(rig *r, uint64_t at)
{
    hapax_domain_options_init(&r->options);
    assert_int_equal(rig_try_open(r), HAPAX_ERR_DAMAGED);
    assert_string_equal(r->err.path, PATH);
    assert_int_equal(r->err.offset, at);
    assert_non_null(strstr(r->err.message, PATH));
    rig_end(r);
}

/* Header and records are sound, the batches before and behind are there: only the chain tells. */
static void a_batch_of_another_history_is_refused(void **state)
{
    (void)state;
    rig r;
    uint64_t at;
    make_log(&r, &at);
    /* The batch behind must follow this one, so that nothing but this one's own link is wrong. */
    hx_batch_header header = read_batch(&r, at);
    header.chain ^= 1;
    write_batch(&r, at, &header);
    unsigned char bytes[HX_BATCH_HEADER];
    unsigned char block[HX_BLOCK];
    hx_wal_header file;
    assert_int_equal(sim_os_file_read(r.sim, PATH, block, sizeof block, 0), sizeof block);
    assert_int_equal(hx_format_read_wal_header(block, &file), HX_FORMAT_GOOD);
    for (uint64_t next = at + HX_BLOCK; next < 11 * HX_BLOCK; next += HX_BLOCK) {
        hx_format_write_batch(bytes, &header);
        hx_batch_header behind = read_batch(&r, next);
        behind.chain = hx_format_chain(file.key, bytes);
        write_batch(&r, next, &behind);
        header = behind;
    }
    check_refused(&r, at);
}

static void a_batch_of_another_file_is_refused(void **state)
{
    (void)state;
    rig r;
    uint64_t at;
    make_log(&r, &at);
    hx_batch_header header = read_batch(&r, at);
    header.salt ^= 1;
    write_batch(&r, at, &header);
    check_refused(&r, at);
}

static void a_missing_number_is_refused(void **state)
{
    (void)state;
    rig r;
    uint64_t at;
    make_log(&r, &at);
    hx_batch_header header = read_batch(&r, at);
    header.first_lsn++;
    write_batch(&r, at, &header);
    check_refused(&r, at);
}

static void a_count_that_the_records_deny_is_refused(void **state)
{
    (void)state;
    rig r;
    uint64_t at;
    make_log(&r, &at);
    hx_batch_header header = read_batch(&r, at);
    header.count++;
    write_batch(&r, at, &header);
    hapax_domain_options_init(&r.options);
    assert_int_equal(rig_try_open(&r), HAPAX_ERR_DAMAGED);
    assert_true(r.err.offset >= at && r.err.offset < at + HX_BLOCK);
    rig_end(&r);
}

/* The same store, its batches untouched, opens: what is refused above is refused for its flaw. */
static void the_log_itself_is_fine(void **state)
{
    (void)state;
    rig r;
    uint64_t at;
    make_log(&r, &at);
    hx_batch_header header = read_batch(&r, at);
    write_batch(&r, at, &header);
    rig_open(&r);
    assert_string_equal(rig_peek(&r, "a@1 d@1 h@1"), "DUP DUP DUP");
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_of_another_history_is_refused),
        cmocka_unit_test(a_batch_of_another_file_is_refused),
        cmocka_unit_test(a_missing_number_is_refused),
        cmocka_unit_test(a_count_that_the_records_deny_is_refused),
        cmocka_unit_test(the_log_itself_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
