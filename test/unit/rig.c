/*
 * rig.c - see rig.h. Whatever the library refuses where a test did not ask for it fails the test at once.
 */
#include "rig.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char STORE_PATH[] = "store";

void rig_options(hapax_domain_options *options, int64_t window, int64_t expiry_ms)
{
    hapax_domain_options_init(options);
    options->window = window;
    options->expiry_ms = expiry_ms;
}

int rig_try_open(rig *r)
{
    hapax_store_options options;
    hapax_store_options_init(&options);
    options.path = STORE_PATH;
    options.flags = r->flags;
    int rc = hx_store_open_os(sim_os_table(r->sim), &options, &r->store, &r->err);
    if (rc < 0) {
        r->store = NULL;
        return rc;
    }
    hapax_store_open_report(r->store, &r->report);
    return hapax_domain_open(r->store, "d", 1, &r->options, &r->domain, &r->err);
}

void rig_open(rig *r)
{
    if (rig_try_open(r) < 0) {
        fail_msg("open: %s", r->err.message);
    }
    hapax_domain_options_init(&r->options);
}

void rig_start_with(rig *r, const hapax_domain_options *options)
{
    memset(r, 0, sizeof *r);
    r->sim = sim_os_new(1);
    r->options = *options;
    rig_open(r);
}

void rig_start(rig *r, int64_t window, int64_t expiry_ms)
{
    hapax_domain_options options;
    rig_options(&options, window, expiry_ms);
    rig_start_with(r, &options);
}

void rig_close(rig *r)
{
    int rc = hapax_store_close(r->store, &r->err);
    r->store = NULL;
    r->domain = NULL;
    if (rc < 0) {
        fail_msg("close: %s", r->err.message);
    }
}

void rig_end(rig *r)
{
    hapax_store_abandon(r->store);
    sim_os_free(r->sim);
    memset(r, 0, sizeof *r);
}

void rig_reopen(rig *r)
{
    rig_close(r);
    rig_open(r);
}

void rig_crash(rig *r)
{
    hapax_store_abandon(r->store);
    sim_os_crash(r->sim);
    rig_open(r);
}

void rig_cut_power(rig *r)
{
    hapax_store_abandon(r->store);
    sim_os_cut_power(r->sim);
    rig_open(r);
}

/* ---- messages ---- */

static void remember_id(rig *r, const char *id, size_t len)
{
    assert_true(len < sizeof r->ids[0]);
    for (size_t i = 0; i < r->id_count; i++) {
        if (strlen(r->ids[i]) == len && memcmp(r->ids[i], id, len) == 0) {
            return;
        }
    }
    assert_true(r->id_count < RIG_IDS);
    memcpy(r->ids[r->id_count], id, len);
    r->ids[r->id_count++][len] = '\0';
}

/* Takes one message off the text; its strings point into it. */
static const char *take_message(rig *r, const char *text, hapax_message *m)
{
    *m = (hapax_message){.id = text, .time_ms = HAPAX_NOW};
    m->id_len = strcspn(text, "/@ ");
    remember_id(r, text, m->id_len);
    if (m->id_len == 1 && *text == '-') {
        m->id = NULL;
        m->id_len = 0;
        text++;
    }
    text += m->id_len;
    if (*text == '/') {
        m->source = text + 1;
        m->source_len = strcspn(text + 1, "@ ");
        text += 1 + m->source_len;
    }
    if (*text == '@') {
        char *end = NULL;
        m->time_ms = strtoll(text + 1, &end, 10);
        text = end;
    }
    return text + strspn(text, " ");
}

static const char *word(hapax_verdict verdict)
{
    switch (verdict) {
    case HAPAX_NEW: return "NEW";
    case HAPAX_DUPLICATE: return "DUP";
    case HAPAX_IN_FLIGHT: return "FLIGHT";
    case HAPAX_UNCHECKED: return "UNCHECKED";
    default: return "?";
    }
}

typedef int judge(hapax_domain *domain, const hapax_message *messages, size_t n, hapax_result *ret_results,
                  hapax_error *ret_error);

static const char *judge_text(rig *r, judge *call, const char *text)
{
    hapax_message messages[RIG_IDS] = {{0}};
    size_t n = 0;
    while (*text != '\0') {
        assert_true(n < RIG_IDS);
        text = take_message(r, text, &messages[n++]);
    }
    int rc = call(r->domain, messages, n, r->results, &r->err);
    if (rc < 0) {
        return hapax_status_name(rc);
    }
    size_t len = 0;
    r->text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        len +=
            (size_t)snprintf(r->text + len, RIG_TEXT - len, "%s%s", i == 0 ? "" : " ", word(r->results[i].verdict));
    }
    return r->text;
}

const char *rig_record(rig *r, const char *messages)
{
    return judge_text(r, hapax_record, messages);
}

const char *rig_claim(rig *r, const char *messages)
{
    return judge_text(r, hapax_claim, messages);
}

const char *rig_peek(rig *r, const char *messages)
{
    return judge_text(r, hapax_peek, messages);
}

uint64_t rig_claim_one(rig *r, const char *message)
{
    assert_string_equal(rig_claim(r, message), "NEW");
    assert_true(r->results[0].claim != 0);
    return r->results[0].claim;
}

void rig_confirm(rig *r, uint64_t claim, int64_t time_ms)
{
    if (hapax_confirm(r->domain, &claim, 1, time_ms, &r->err) < 0) {
        fail_msg("confirm: %s", r->err.message);
    }
}

void rig_release(rig *r, uint64_t claim)
{
    if (hapax_release(r->domain, &claim, 1, &r->err) < 0) {
        fail_msg("release: %s", r->err.message);
    }
}

/* ---- what is held ---- */

typedef struct listing {
    rig *r;
    unsigned held_by;
    const char *source; /* NULL: any */
    size_t len;
} listing;

static const char *name_of(rig *r, const unsigned char hash[16])
{
    for (size_t i = 0; i < r->id_count; i++) {
        unsigned char other[16];
        hapax_id_hash(r->domain, r->ids[i], strlen(r->ids[i]), other);
        if (memcmp(hash, other, 16) == 0) {
            return r->ids[i];
        }
    }
    return "?";
}

static int list_one(void *arg, const hapax_occurrence *o)
{
    listing *l = arg;
    char source[HAPAX_NAME_MAX + 1];
    int len = hapax_source_name(l->r->domain, o->source, source, HAPAX_NAME_MAX);
    source[len < 0 ? 0 : len] = '\0';
    bool fits =
        l->held_by == HAPAX_HELD_BY_CLAIM ? o->held_by == HAPAX_HELD_BY_CLAIM : (o->held_by & l->held_by) != 0;
    if (fits && (l->source == NULL || strcmp(source, l->source) == 0)) {
        l->len += (size_t)snprintf(l->r->text + l->len, RIG_TEXT - l->len, "%s%s@%" PRId64, l->len == 0 ? "" : " ",
                                   name_of(l->r, o->hash), o->receive_ms);
    }
    return 0;
}

static const char *list(rig *r, unsigned held_by, const char *source)
{
    listing l = {.r = r, .held_by = held_by, .source = source};
    r->text[0] = '\0';
    assert_int_equal(hapax_dump(r->domain, list_one, &l), 0);
    return r->text;
}

const char *rig_window(rig *r, const char *source)
{
    return list(r, HAPAX_HELD_BY_WINDOW, source);
}

const char *rig_queue(rig *r)
{
    return list(r, HAPAX_HELD_BY_TIME_QUEUE, NULL);
}

const char *rig_claims(rig *r)
{
    return list(r, HAPAX_HELD_BY_CLAIM, NULL);
}

hapax_domain_stats rig_stat(rig *r)
{
    hapax_domain_stats stats;
    hapax_domain_stat(r->domain, &stats);
    return stats;
}
