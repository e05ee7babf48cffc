/*
 * test_scenarios_disk.c - rows of docs/scenarios.md in which the disk fails, fills up, loses power or is damaged.
 *
 * The log is damaged from outside, at places found by watching where it ends after each message.
 */
#include "rig.h"

#include "core/format.h"
#include "sim/random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- S1: the id is remembered too early ---- */

/* A failed write may have reached the disk all the same; then nobody can tell it from one that succeeded. The bytes
 * of all log files tell whether it did. */
static uint64_t log_sum(rig *r);

static void s001_failed_write_then_new(void **state)
{
    (void)state;
    int untouched = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        rig r;
        memset(&r, 0, sizeof r);
        r.sim = sim_os_new(seed);
        rig_options(&r.options, 10, 1000);
        rig_open(&r);
        assert_string_equal(rig_record(&r, "a@0"), "NEW");
        uint64_t before = log_sum(&r);
        sim_os_fail(r.sim, SIM_WRITE, 1, EIO, seed % 2 == 0);
        assert_string_equal(rig_record(&r, "b@1"), "HAPAX_ERR_IO");
        assert_string_equal(rig_record(&r, "b@1"), "HAPAX_ERR_POISONED");
        assert_string_equal(rig_claim(&r, "c@1"), "HAPAX_ERR_POISONED");
        assert_string_equal(rig_peek(&r, "b@1"), "HAPAX_ERR_POISONED"); /* and not DUPLICATE */
        bool nothing_written = log_sum(&r) == before;
        assert_int_equal(hapax_store_close(r.store, &r.err), HAPAX_ERR_POISONED);
        r.store = NULL;
        sim_os_heal(r.sim);
        rig_open(&r);
        assert_false(r.report.clean);
        assert_string_equal(rig_record(&r, "a@2"), "DUP");
        if (nothing_written) {
            assert_string_equal(rig_record(&r, "b@2"), "NEW");
            untouched++;
        }
        rig_end(&r);
    }
    assert_in_range(untouched, 2, 18);
}

/* After a failed sync nothing is written any more, and it is never tried again. */
static void s001_failed_sync_poisons(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 10, 1000);
    uint64_t a = rig_claim_one(&r, "a@0");
    assert_string_equal(rig_record(&r, "k@0"), "NEW");
    sim_os_fail(r.sim, SIM_SYNC, 1, EIO, false);
    assert_int_equal(hapax_confirm(r.domain, &a, 1, 1, &r.err), HAPAX_ERR_IO);
    assert_int_equal(r.err.os_error, EIO);
    assert_true(r.err.path[0] != '\0');
    uint64_t syncs = sim_os_calls(r.sim, SIM_SYNC);
    uint64_t writes = sim_os_calls(r.sim, SIM_WRITE);
    assert_int_equal(hapax_confirm(r.domain, &a, 1, 1, &r.err), HAPAX_ERR_POISONED);
    assert_int_equal(hapax_release(r.domain, &a, 1, &r.err), HAPAX_ERR_POISONED);
    assert_string_equal(rig_record(&r, "b@1"), "HAPAX_ERR_POISONED");
    assert_int_equal(hapax_commit(r.store, UINT64_MAX, &r.err), HAPAX_ERR_POISONED);
    assert_int_equal(hapax_store_close(r.store, &r.err), HAPAX_ERR_POISONED);
    r.store = NULL;
    assert_int_equal(sim_os_calls(r.sim, SIM_SYNC), syncs);
    assert_int_equal(sim_os_calls(r.sim, SIM_WRITE), writes);
    rig_open(&r);
    assert_string_equal(rig_record(&r, "k@2 b@2"), "DUP NEW");
    rig_end(&r);
}

/* A record whose sync failed, or whose process died before it, is there after the reopening or not, but what is there
 * is then as durable as all else. Few records: the whole log is written anew; many: its end is. */
static int record_until_error(rig *r)
{
    for (int i = 0; i < 1000; i++) {
        hapax_message m = {.id = &i, .id_len = sizeof i, .time_ms = i};
        int rc = hapax_record(r->domain, &m, 1, r->results, &r->err);
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

/* Want of room is no I/O error and passes; anything else that keeps the log from growing is one. */
static void s001_failed_growth(void **state)
{
    (void)state;
    static const int full[] = {ENOSPC, EDQUOT, EFBIG};
    for (size_t i = 0; i < sizeof full / sizeof *full; i++) {
        rig r;
        rig_start(&r, 10, 1000);
        sim_os_fail(r.sim, SIM_GROW, 1, full[i], true);
        assert_int_equal(record_until_error(&r), HAPAX_ERR_FULL);
        sim_os_heal(r.sim);
        assert_string_equal(rig_record(&r, "after@5000"), "NEW");
        rig_crash(&r);
        assert_string_equal(rig_peek(&r, "after@5000"), "DUP");
        rig_end(&r);
    }
    rig r;
    rig_start(&r, 10, 1000);
    sim_os_fail(r.sim, SIM_GROW, 1, EIO, false);
    assert_int_equal(record_until_error(&r), HAPAX_ERR_IO);
    assert_int_equal(sim_os_calls(r.sim, SIM_GROW), 2); /* the first made the file; it is not tried again */
    assert_string_equal(rig_record(&r, "after@5000"), "HAPAX_ERR_POISONED");
    rig_crash(&r);
    assert_string_equal(rig_record(&r, "after@5000"), "NEW");
    rig_end(&r);
}

static void s001_failed_sync_is_settled_by_the_reopening(void **state)
{
    (void)state;
    static const int errors[] = {EIO, ECANCELED};
    int found = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        rig r;
        memset(&r, 0, sizeof r);
        r.sim = sim_os_new(seed);
        rig_options(&r.options, 1000, 1000);
        rig_open(&r);
        for (int i = 0; i < (seed % 4 == 0 ? 40 : 1); i++) {
            hapax_message m = {.id = &i, .id_len = sizeof i, .time_ms = 0};
            assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), 0);
        }
        sim_os_fail(r.sim, SIM_SYNC, 1, errors[seed % 2], false);
        assert_string_equal(rig_record(&r, "b@1"), "HAPAX_ERR_IO");
        hapax_store_abandon(r.store);
        sim_os_crash(r.sim);
        rig_open(&r);
        bool known = strcmp(rig_peek(&r, "b@2"), "DUP") == 0;
        found += known;
        rig_cut_power(&r);
        assert_string_equal(rig_record(&r, "b@3"), known ? "DUP" : "NEW");
        rig_end(&r);
    }
    assert_in_range(found, 10, 39);
}

static void s001_full_disk_then_new(void **state)
{
    (void)state;
    rig r;
    hapax_domain_options o;
    rig_options(&o, 10, HAPAX_FOREVER);
    rig_start_with(&r, &o);
    uint64_t claim = rig_claim_one(&r, "open@0");
    sim_os_limit_space(r.sim, sim_os_used(r.sim));
    static uint64_t ids[1000];
    static hapax_message batch[1000];
    static hapax_result results[1000];
    uint64_t known = 0;
    int rc = 0;
    while (rc == 0 && known < 10000000) {
        for (size_t i = 0; i < 1000; i++) {
            ids[i] = known + i;
            batch[i] = (hapax_message){.id = &ids[i], .id_len = 8, .time_ms = 1};
        }
        rc = hapax_record(r.domain, batch, 1000, results, &r.err);
        known += rc == 0 ? 1000 : 0;
    }
    assert_int_equal(rc, HAPAX_ERR_FULL);
    assert_int_equal(rig_stat(&r).new_count, known + 1);
    assert_int_equal(hapax_peek(r.domain, batch, 1000, results, &r.err), 0);
    assert_int_equal(results[0].verdict, HAPAX_NEW); /* the refused ones are not known */
    assert_int_equal(results[999].verdict, HAPAX_NEW);
    rig_confirm(&r, claim, 2); /* goes on from a reserve */
    sim_os_limit_space(r.sim, UINT64_MAX);
    assert_int_equal(hapax_record(r.domain, batch, 1000, results, &r.err), 0); /* recovers by itself */
    assert_int_equal(results[0].verdict, HAPAX_NEW);
    rig_cut_power(&r);
    assert_int_equal(rig_stat(&r).ids_held, known + 1001);
    assert_string_equal(rig_peek(&r, "open@3"), "DUP");
    rig_end(&r);
}

static void s092_the_disk_budget_is_kept(void **state)
{
    (void)state;
    sim_os *sim = sim_os_new(1);
    hapax_store_options so;
    hapax_store_options_init(&so);
    so.path = "store";
    so.max_disk_bytes = 4 << 20;
    hapax_store *store = NULL;
    hapax_domain *domain = NULL;
    hapax_error err;
    hapax_domain_options o;
    rig_options(&o, 10, HAPAX_FOREVER);
    assert_int_equal(hx_store_open_os(sim_os_table(sim), &so, &store, &err), 0);
    assert_int_equal(hapax_domain_open(store, "d", 1, &o, &domain, &err), 0);
    static uint64_t ids[1000];
    static hapax_message batch[1000];
    static hapax_result results[1000];
    uint64_t known = 0;
    int rc = 0;
    while (rc == 0 && known < 10000000) {
        for (size_t i = 0; i < 1000; i++) {
            ids[i] = known + i;
            batch[i] = (hapax_message){.id = &ids[i], .id_len = 8, .time_ms = 1};
        }
        rc = hapax_record(domain, batch, 1000, results, &err);
        known += rc == 0 ? 1000 : 0;
        assert_true(sim_os_used(sim) <= 4 << 20);
    }
    assert_int_equal(rc, HAPAX_ERR_FULL);
    assert_true(known >= 50000); /* at some 20 bytes an id */
    assert_int_equal(hapax_peek(domain, batch, 1000, results, &err), 0);
    assert_int_equal(results[0].verdict, HAPAX_NEW);
    hapax_store_close(store, &err);
    sim_os_free(sim);
}

/* ---- S14: what was acknowledged is found after a power cut ---- */

static void s014_power_cut_after_the_answer(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        rig r;
        memset(&r, 0, sizeof r);
        r.sim = sim_os_new(seed);
        rig_options(&r.options, 1000, 1000);
        rig_open(&r);
        sim_random random = {seed};
        int count = 1 + (int)sim_random_below(&random, 40);
        for (int i = 0; i < count; i++) {
            hapax_message m = {.id = &i, .id_len = sizeof i, .time_ms = i};
            if (sim_random_chance(&random, 50)) {
                assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), 0);
            } else {
                assert_int_equal(hapax_claim(r.domain, &m, 1, r.results, &r.err), 0);
                rig_confirm(&r, r.results[0].claim, i);
            }
        }
        int open = 1000;
        hapax_message m = {.id = &open, .id_len = sizeof open, .time_ms = count};
        assert_int_equal(hapax_claim(r.domain, &m, 1, r.results, &r.err), 0); /* never confirmed */
        rig_cut_power(&r);
        if (seed % 2 == 0) {
            rig_cut_power(&r); /* and again, before anything else was done */
        }
        for (int i = 0; i < count; i++) {
            m = (hapax_message){.id = &i, .id_len = sizeof i, .time_ms = count};
            assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), 0);
            assert_int_equal(r.results[0].verdict, HAPAX_DUPLICATE);
        }
        m = (hapax_message){.id = &open, .id_len = sizeof open, .time_ms = count};
        assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), 0);
        assert_int_equal(r.results[0].verdict, HAPAX_NEW);
        rig_end(&r);
    }
}

/* The power may go at any call into the machine: at every one, what was answered before it is there afterwards. */
static void s014_power_cut_at_every_call(void **state)
{
    (void)state;
    static const sim_call kinds[] = {SIM_OPEN,   SIM_WRITE,    SIM_SYNC,  SIM_GROW,
                                     SIM_RENAME, SIM_SYNC_DIR, SIM_MKDIR, SIM_TRUNCATE};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (uint64_t nth = 1; nth <= 12; nth++) {
            rig r;
            memset(&r, 0, sizeof r);
            r.sim = sim_os_new(nth * 31 + k);
            rig_options(&r.options, 100, 1000);
            /* From here on nothing of this kind works: the process sees errors, then the power goes. */
            sim_os_fail(r.sim, kinds[k], nth, EIO, true);
            int answered = -1;
            if (rig_try_open(&r) == 0) {
                for (int i = 0; i < 6; i++) {
                    hapax_message m = {.id = &i, .id_len = sizeof i, .time_ms = i};
                    if (hapax_record(r.domain, &m, 1, r.results, &r.err) < 0) {
                        break;
                    }
                    answered = i;
                }
            }
            hapax_store_abandon(r.store);
            sim_os_heal(r.sim);
            sim_os_cut_power(r.sim);
            rig_options(&r.options, 100, 1000);
            rig_open(&r);
            for (int i = 0; i <= answered; i++) {
                hapax_message m = {.id = &i, .id_len = sizeof i, .time_ms = 10};
                assert_int_equal(hapax_peek(r.domain, &m, 1, r.results, &r.err), 0);
                assert_int_equal(r.results[0].verdict, HAPAX_DUPLICATE);
            }
            rig_end(&r);
        }
    }
}

/* What an opening does to the files may be cut off anywhere as well, over and over: nothing that was there goes. */
static void s014_power_cut_at_every_call_of_an_opening(void **state)
{
    (void)state;
    static const sim_call kinds[] = {SIM_OPEN,   SIM_WRITE,    SIM_SYNC,     SIM_GROW,  SIM_CLOSE,
                                     SIM_RENAME, SIM_SYNC_DIR, SIM_TRUNCATE, SIM_UNLINK};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        rig r;
        memset(&r, 0, sizeof r);
        r.sim = sim_os_new(seed);
        sim_random random = {seed};
        rig_options(&r.options, 100, 1000);
        rig_open(&r);
        int known = 0;
        for (int turn = 0; turn < 12; turn++) {
            /* The store is up: some more is recorded, and it goes down cleanly or not. */
            int more = (int)sim_random_below(&random, 4);
            for (; more > 0; more--, known++) {
                hapax_message m = {.id = &known, .id_len = sizeof known, .time_ms = known};
                assert_int_equal(hapax_record(r.domain, &m, 1, r.results, &r.err), 0);
            }
            if (sim_random_chance(&random, 50)) {
                rig_close(&r);
            }
            hapax_store_abandon(r.store);
            sim_os_crash(r.sim);
            /* Two openings that get so far and no further. */
            for (int i = 0; i < 2; i++) {
                sim_call kind = kinds[sim_random_below(&random, sizeof kinds / sizeof *kinds)];
                sim_os_fail(r.sim, kind, 1 + sim_random_below(&random, 5), EIO, true);
                (void)rig_try_open(&r);
                hapax_store_abandon(r.store);
                r.store = NULL;
                sim_os_heal(r.sim);
                sim_os_cut_power(r.sim);
            }
            rig_open(&r);
            for (int i = 0; i < known; i++) {
                hapax_message m = {.id = &i, .id_len = sizeof i, .time_ms = known};
                assert_int_equal(hapax_peek(r.domain, &m, 1, r.results, &r.err), 0);
                assert_int_equal(r.results[0].verdict, HAPAX_DUPLICATE);
            }
        }
        rig_end(&r);
    }
}

/* ---- S23b: the end of the log is damaged, or its middle ---- */

enum {
    RECORDS = 8,
    LOG_CAP = 1 << 20,
};

typedef struct log_file {
    char path[128];
    unsigned char data[LOG_CAP];
    int64_t size;
    int64_t end[RECORDS + 1]; /* behind the last byte that is not zero, after so many messages */
} log_file;

static int last_name(void *arg, const char *name)
{
    char *path = arg;
    char full[128];
    snprintf(full, sizeof full, "store/wal/%s", name);
    if (strstr(name, ".wal") != NULL && strcmp(full, path) > 0) {
        strcpy(path, full);
    }
    return 0;
}

typedef struct file_sum {
    rig *r;
    uint64_t sum;
} file_sum;

static int add_file(void *arg, const char *name)
{
    static unsigned char data[LOG_CAP];
    file_sum *all = arg;
    char path[128];
    snprintf(path, sizeof path, "store/wal/%s", name);
    int64_t len = sim_os_file_read(all->r->sim, path, data, sizeof data, 0);
    for (int64_t i = 0; i < len; i++) {
        all->sum = all->sum * 31 + data[i];
    }
    return 0;
}

static uint64_t log_sum(rig *r)
{
    file_sum all = {.r = r};
    const hx_os *os = sim_os_table(r->sim);
    assert_int_equal(os->list(os->ctx, "store/wal", add_file, &all), 0);
    return all.sum;
}

static int64_t find_end(rig *r, log_file *log)
{
    const hx_os *os = sim_os_table(r->sim);
    log->path[0] = '\0';
    assert_int_equal(os->list(os->ctx, "store/wal", last_name, log->path), 0);
    log->size = sim_os_file_size(r->sim, log->path);
    assert_in_range(log->size, 1, LOG_CAP);
    assert_int_equal(sim_os_file_read(r->sim, log->path, log->data, LOG_CAP, 0), log->size);
    int64_t end = log->size;
    while (end > 0 && log->data[end - 1] == 0) {
        end--;
    }
    return end;
}

/* A store with RECORDS messages, one a batch, left as by a crash. */
static log_file *make_log(rig *r)
{
    log_file *log = calloc(1, sizeof *log);
    rig_start(r, 100, 1000);
    log->end[0] = find_end(r, log);
    for (int i = 0; i < RECORDS; i++) {
        hapax_message m = {.id = &i, .id_len = sizeof i, .time_ms = i};
        assert_int_equal(hapax_record(r->domain, &m, 1, r->results, &r->err), 0);
        log->end[i + 1] = find_end(r, log);
        assert_true(log->end[i + 1] > log->end[i]);
    }
    hapax_store_abandon(r->store);
    r->store = NULL;
    sim_os_crash(r->sim);
    return log;
}

/* The first `whole` messages are known and no other. */
static void check_prefix(rig *r, int whole)
{
    for (int i = 0; i < RECORDS; i++) {
        hapax_message m = {.id = &i, .id_len = sizeof i, .time_ms = 100};
        assert_int_equal(hapax_peek(r->domain, &m, 1, r->results, &r->err), 0);
        assert_int_equal(r->results[0].verdict, i < whole ? HAPAX_DUPLICATE : HAPAX_NEW);
    }
}

/* kind 0: cut, 1: zeroed, 2: garbled. Damages the last n bytes that were written. */
static void damage_tail(int kind, int64_t n)
{
    rig r;
    log_file *log = make_log(&r);
    int64_t from = log->end[RECORDS] - n;
    int whole = 0;
    while (whole < RECORDS && log->end[whole + 1] <= from) {
        whole++;
    }
    unsigned char *noise = calloc(1, (size_t)n);
    sim_random random = {(uint64_t)n};
    for (int64_t i = 0; i < n && kind == 2; i++) {
        noise[i] = (unsigned char)(log->data[from + i] ^ (1 + sim_random_below(&random, 255)));
    }
    if (kind == 0) {
        assert_int_equal(sim_os_file_cut(r.sim, log->path, (uint64_t)from), 0);
    } else {
        assert_int_equal(sim_os_file_overwrite(r.sim, log->path, noise, (size_t)n, (uint64_t)from), 0);
    }
    rig_open(&r);
    check_prefix(&r, whole);
    if (kind == 2) {
        assert_true(r.report.torn_bytes > 0);
        assert_true(strstr(r.report.torn_path, "wal") != NULL);
        assert_in_range(r.report.torn_offset, log->end[whole], log->end[RECORDS] - 1);
    }
    assert_string_equal(rig_record(&r, "after@200"), "NEW");
    rig_cut_power(&r);
    assert_int_equal(r.report.torn_bytes, 0); /* cut once, reported once */
    check_prefix(&r, whole);
    assert_string_equal(rig_peek(&r, "after@200"), "DUP");
    rig_end(&r);
    free(noise);
    free(log);
}

static void s023b_the_tail_of_the_log_is_cut_zeroed_or_garbled(void **state)
{
    (void)state;
    static const int64_t lens[] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 60, 64, 70, 89, 100, 144};
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
            damage_tail(kind, lens[i]);
        }
    }
}

/* Behind the damage lies a sound batch: no crash does that. Refused, with file and offset, and nothing is touched. */
static void s023b_damage_in_the_middle_is_refused(void **state)
{
    (void)state;
    for (int i = 1; i < RECORDS - 1; i++) {
        rig r;
        log_file *log = make_log(&r);
        int64_t at = log->end[i] - 3; /* within message i */
        unsigned char bad = log->data[at] ^ 0x40;
        assert_int_equal(sim_os_file_overwrite(r.sim, log->path, &bad, 1, (uint64_t)at), 0);
        hapax_domain_options_init(&r.options);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(rig_try_open(&r), HAPAX_ERR_DAMAGED);
            assert_non_null(strstr(r.err.path, strrchr(log->path, '/')));
            assert_true(r.err.offset <= (uint64_t)at && r.err.offset > (uint64_t)at - 8192);
            assert_null(r.store);
        }
        assert_int_equal(sim_os_file_overwrite(r.sim, log->path, &log->data[at], 1, (uint64_t)at), 0);
        rig_open(&r); /* the damage undone: all is there, the refusal had changed nothing */
        check_prefix(&r, RECORDS);
        rig_end(&r);
        free(log);
    }
}

/* One superblock of two may be lost at any time; a store that has lost both is refused, not made anew. */
static void s023b_superblocks(void **state)
{
    (void)state;
    static unsigned char zero[4096];
    for (int lost = 1; lost <= 3; lost++) {
        rig r;
        log_file *log = make_log(&r);
        if (lost & 1) {
            sim_os_file_overwrite(r.sim, "store/SUPER.0", zero, sizeof zero, 0);
        }
        if (lost & 2) {
            sim_os_file_overwrite(r.sim, "store/SUPER.1", zero, sizeof zero, 0);
        }
        hapax_domain_options_init(&r.options);
        if (lost == 3) {
            assert_int_equal(rig_try_open(&r), HAPAX_ERR_DAMAGED);
        } else {
            assert_int_equal(rig_try_open(&r), 0);
            check_prefix(&r, RECORDS);
        }
        rig_end(&r);
        free(log);
    }
}

static void s083b_a_newer_format_is_refused(void **state)
{
    (void)state;
    rig r;
    rig_start(&r, 100, 1000);
    assert_string_equal(rig_record(&r, "a@0"), "NEW");
    rig_close(&r);
    for (int i = 0; i < 2; i++) {
        const char *path = i == 0 ? "store/SUPER.0" : "store/SUPER.1";
        unsigned char block[HX_BLOCK];
        hx_superblock super;
        sim_os_file_read(r.sim, path, block, sizeof block, 0);
        if (hx_format_read_superblock(block, &super) == HX_FORMAT_GOOD) {
            super.version = HX_FORMAT_VERSION + 1;
            hx_format_write_superblock(block, &super);
            sim_os_file_overwrite(r.sim, path, block, sizeof block, 0);
        }
    }
    uint64_t grows = sim_os_calls(r.sim, SIM_GROW);
    uint64_t renames = sim_os_calls(r.sim, SIM_RENAME);
    assert_int_equal(rig_try_open(&r), HAPAX_ERR_VERSION);
    assert_non_null(strstr(r.err.message, "2")); /* by name */
    assert_int_equal(sim_os_calls(r.sim, SIM_GROW) + sim_os_calls(r.sim, SIM_RENAME), grows + renames);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s001_failed_write_then_new),
        cmocka_unit_test(s001_failed_sync_poisons),
        cmocka_unit_test(s001_failed_growth),
        cmocka_unit_test(s001_failed_sync_is_settled_by_the_reopening),
        cmocka_unit_test(s001_full_disk_then_new),
        cmocka_unit_test(s014_power_cut_after_the_answer),
        cmocka_unit_test(s014_power_cut_at_every_call),
        cmocka_unit_test(s014_power_cut_at_every_call_of_an_opening),
        cmocka_unit_test(s023b_the_tail_of_the_log_is_cut_zeroed_or_garbled),
        cmocka_unit_test(s023b_damage_in_the_middle_is_refused),
        cmocka_unit_test(s023b_superblocks),
        cmocka_unit_test(s083b_a_newer_format_is_refused),
        cmocka_unit_test(s092_the_disk_budget_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
