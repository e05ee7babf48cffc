/*
 * make_golden.c - writes the store that test_golden.c expects, in the format of the library it is built with.
 *
 * Run once per format version, by hand: `build/test/golden/make_golden test/golden/format-N`. What it wrote is
 * committed and never made anew: it stands for the stores that are out there.
 *
 * Three openings: one closed properly (with a claim confirmed, one released, one left open), one abandoned (with a
 * confirmed and an open claim and a held-back line), one closed properly.
 */
#include <hapax.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hapax_error err;

static void need(int rc, const char *what)
{
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", what, err.message);
        exit(1);
    }
}

static hapax_store *open_store(const char *path, unsigned flags)
{
    hapax_store_options options;
    hapax_store *store = NULL;
    hapax_store_options_init(&options);
    options.path = path;
    options.flags = flags;
    need(hapax_store_open(&options, &store, &err), "open");
    return store;
}

static hapax_domain *open_domain(hapax_store *store, const char *name, int64_t window, int64_t expiry_ms)
{
    hapax_domain_options options;
    hapax_domain *domain = NULL;
    hapax_domain_options_init(&options);
    options.window = window;
    options.expiry_ms = expiry_ms;
    need(hapax_domain_open(store, name, strlen(name), &options, &domain, &err), "domain");
    return domain;
}

static hapax_message message(const char *id, const char *source, int64_t time_ms)
{
    return (hapax_message){
        .id = id, .id_len = strlen(id), .source = source, .source_len = strlen(source), .time_ms = time_ms};
}

static void record(hapax_domain *domain, const char *id, const char *source, int64_t time_ms)
{
    hapax_message m = message(id, source, time_ms);
    hapax_result r;
    need(hapax_record(domain, &m, 1, &r, &err), "record");
}

static uint64_t claim(hapax_domain *domain, const char *id, const char *source, int64_t time_ms)
{
    hapax_message m = message(id, source, time_ms);
    hapax_result r;
    need(hapax_claim(domain, &m, 1, &r, &err), "claim");
    return r.claim;
}

/* Many ids in one batch, some of them twice and with different sources: a run with every column. */
static void record_many(hapax_domain *domain, int from, int n)
{
    enum { MAX = 500 };
    static char ids[MAX][16];
    static hapax_message m[MAX];
    static hapax_result r[MAX];
    for (int i = 0; i < n; i++) {
        snprintf(ids[i], sizeof ids[i], "bulk-%d", from + (i % 10 == 9 ? i - 5 : i));
        m[i] = message(ids[i], i % 3 == 0 ? "left" : "right", from + i);
    }
    need(hapax_record(domain, m, (size_t)n, r, &err), "record");
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    hapax_store *store = open_store(argv[1], 0);
    hapax_domain *given = open_domain(store, "given times", 2, 100);
    hapax_domain *clocked = open_domain(store, "activity clock", 2000, HAPAX_FOREVER);
    record(given, "forgotten", "a", 0);
    record(given, "pushed-1", "a", 150);
    record(given, "kept-1", "a", 200);
    record(given, "kept-2", "a", 201);
    record(given, "kept-2", "b", 202);
    uint64_t confirmed = claim(clocked, "confirmed", "s", HAPAX_NOW);
    uint64_t released = claim(clocked, "released", "s", HAPAX_NOW);
    (void)claim(clocked, "left-open", "s", HAPAX_NOW);
    (void)claim(clocked, "confirmed", "t", HAPAX_NOW); /* IN_FLIGHT */
    record(clocked, "", "s", HAPAX_NOW);               /* UNCHECKED */
    need(hapax_confirm(clocked, &confirmed, 1, HAPAX_NOW, &err), "confirm");
    need(hapax_release(clocked, &released, 1, &err), "release");
    need(hapax_bookmark_set(store, "mark", 4, "first", 5, NULL, &err), "bookmark");
    need(hapax_store_close(store, &err), "close");

    store = open_store(argv[1], HAPAX_OPEN_HOLD);
    given = open_domain(store, "given times", HAPAX_UNSET, HAPAX_UNSET);
    clocked = open_domain(store, "activity clock", HAPAX_UNSET, HAPAX_UNSET);
    hapax_domain *bulk = open_domain(store, "bulk", 1000, HAPAX_FOREVER);
    record_many(bulk, 1000, 500);
    confirmed = claim(clocked, "confirmed-2", "u", HAPAX_NOW);
    (void)claim(clocked, "open-at-crash", "u", HAPAX_NOW);
    need(hapax_confirm(clocked, &confirmed, 1, HAPAX_NOW, &err), "confirm");
    need(hapax_bookmark_set(store, "mark", 4, "second", 6, NULL, &err), "bookmark");
    need(hapax_commit(store, UINT64_MAX, &err), "commit");
    record(given, "held-back", "a", 300);
    hapax_store_abandon(store);

    store = open_store(argv[1], 0);
    bulk = open_domain(store, "bulk", 900, HAPAX_UNSET);
    record_many(bulk, 2000, 300);
    need(hapax_store_close(store, &err), "close");
    return 0;
}
