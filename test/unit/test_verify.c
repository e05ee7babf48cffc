/*
 * test_verify.c - hapax_verify and hapax_store_open on real files: the two calls that have no other door.
 *
 * Everything else about what is found and refused is tested on the simulated machine. The folder is made under
 * $TMPDIR.
 */
#include <hapax.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    RECORDS = 6,
    BLOCK = 4096,
};

typedef struct place {
    char folder[256];
    char store[300];
    char log[400];
    hapax_store *handle;
    hapax_error err;
} place;

static int open_store(place *p)
{
    hapax_store_options so;
    hapax_store_options_init(&so);
    so.path = p->store;
    so.durability = HAPAX_DURABILITY_PROCESS;
    return hapax_store_open(&so, &p->handle, &p->err);
}

/* A store with RECORDS messages, one a batch; open. */
static void make(place *p)
{
    const char *tmp = getenv("TMPDIR");
    memset(p, 0, sizeof *p);
    snprintf(p->folder, sizeof p->folder, "%s/hapax-verify-XXXXXX", tmp == NULL ? "/tmp" : tmp);
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->store, sizeof p->store, "%s/store", p->folder);
    snprintf(p->log, sizeof p->log, "%s/wal/W-0000000001.wal", p->store);
    assert_int_equal(open_store(p), 0);
    hapax_domain *domain = NULL;
    assert_int_equal(hapax_domain_open(p->handle, "d", 1, NULL, &domain, &p->err), 0);
    for (int i = 0; i < RECORDS; i++) {
        hapax_message m = {.id = &i, .id_len = sizeof i, .time_ms = HAPAX_NOW};
        hapax_result result;
        assert_int_equal(hapax_record(domain, &m, 1, &result, &p->err), 0);
    }
}

static void abandon(place *p)
{
    hapax_store_abandon(p->handle);
    p->handle = NULL;
}

static void end(place *p)
{
    char command[400];
    abandon(p);
    snprintf(command, sizeof command, "rm -rf '%s'", p->folder);
    assert_int_equal(system(command), 0);
}

static int verify(place *p, hapax_verify_report *report)
{
    memset(&p->err, 0, sizeof p->err);
    return hapax_verify(p->store, report, &p->err);
}

/* Flips one bit of the log and says what was there; again to undo it. */
static void flip(const place *p, long at)
{
    FILE *file = fopen(p->log, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 0x10, file), byte ^ 0x10);
    assert_int_equal(fclose(file), 0);
}

/* Where the last batch of the log begins. */
static long last_batch(const place *p)
{
    static unsigned char data[1 << 20];
    FILE *file = fopen(p->log, "rb");
    assert_non_null(file);
    size_t len = fread(data, 1, sizeof data, file);
    fclose(file);
    while (len > 0 && data[len - 1] == 0) {
        len--;
    }
    return (long)((len - 1) / BLOCK * BLOCK);
}

static void test_a_sound_store(void **state)
{
    (void)state;
    place p;
    hapax_verify_report report = {0};
    make(&p);
    abandon(&p);
    assert_int_equal(verify(&p, &report), 0);
    assert_int_equal(report.size, sizeof report);
    assert_true(report.files > 0 && report.batches >= RECORDS && report.events >= RECORDS);
    assert_true(report.bytes >= RECORDS * BLOCK);
    assert_int_equal(report.torn_bytes, 0);
    hapax_verify_report again = {0};
    assert_int_equal(verify(&p, &again), 0); /* and it changed nothing */
    assert_memory_equal(&report, &again, sizeof report);
    end(&p);
}

static void test_a_torn_tail_is_no_damage(void **state)
{
    (void)state;
    place p;
    hapax_verify_report report = {0};
    make(&p);
    abandon(&p);
    long at = last_batch(&p);
    flip(&p, at + 70);
    assert_int_equal(verify(&p, &report), 0);
    assert_true(report.torn_bytes > 0);
    assert_int_equal(report.torn_offset, at);
    assert_string_equal(report.torn_path, p.log);
    end(&p);
}

static void test_damage_is_named(void **state)
{
    (void)state;
    place p;
    hapax_verify_report report;
    hapax_verify_report before;
    memset(&report, 0x55, sizeof report);
    before = report;
    make(&p);
    abandon(&p);
    long at = last_batch(&p) - 2 * BLOCK;
    flip(&p, at + 70);
    assert_int_equal(verify(&p, &report), HAPAX_ERR_DAMAGED);
    assert_memory_equal(&report, &before, sizeof report);
    assert_string_equal(p.err.path, p.log);
    assert_true(p.err.offset >= (uint64_t)at && p.err.offset < (uint64_t)at + BLOCK);
    assert_int_equal(open_store(&p), HAPAX_ERR_DAMAGED);
    flip(&p, at + 70);
    assert_int_equal(verify(&p, &report), 0);
    end(&p);
}

static void test_a_store_in_use(void **state)
{
    (void)state;
    place p;
    hapax_verify_report report;
    char pid[32];
    make(&p);
    assert_int_equal(verify(&p, &report), HAPAX_ERR_LOCKED);
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    assert_non_null(strstr(p.err.message, pid)); /* it names the holder */
    hapax_store *mine = p.handle;
    assert_int_equal(open_store(&p), HAPAX_ERR_LOCKED);
    assert_non_null(strstr(p.err.message, pid));
    p.handle = mine;
    end(&p);
}

static void test_no_store(void **state)
{
    (void)state;
    place p;
    hapax_verify_report report;
    make(&p);
    abandon(&p);
    strcat(p.store, "-none");
    assert_int_equal(verify(&p, &report), HAPAX_ERR_NOT_FOUND);
    assert_int_equal(access(p.store, F_OK), -1); /* and none was made */
    assert_int_equal(hapax_verify(NULL, &report, &p.err), HAPAX_ERR_INVALID);
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sound_store),   cmocka_unit_test(test_a_torn_tail_is_no_damage),
        cmocka_unit_test(test_damage_is_named), cmocka_unit_test(test_a_store_in_use),
        cmocka_unit_test(test_no_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
