/*
 * explain.c - `hapax explain`: one id, and why the next copy of it would be dropped or passed, in words that help a
 * person at three in the morning.
 *
 * Exit 0: known; 1: not known (as grep does); so a script can ask.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/format.h"
#include "app/json.h"
#include "cli/exit.h"
#include "cli/store.h"
#include "cli/verbs.h"

static const hx_option table[] = {
    HX_STORE_ROW_STORE,
    {"domain", 0, "NAME", "the domain to look in", "default"},
    HX_STORE_ROW_JSON,
    HX_STORE_ROW_HELP,
};

static int run(const hx_command *command, int argc, char **argv);

const hx_command hx_explain_command = {
    .name = "explain",
    .arguments = "--store DIR [OPTION...] ID",
    .summary = "Tells whether an id is known, since when, and what would make it forgotten.",
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .run = run,
};

typedef struct subject {
    const hx_store_options *options;
    hapax_domain *domain;
    hapax_domain_options settings;
    hapax_domain_stats stats;
    hapax_explanation why;
    unsigned char hash[16];
    char first_source[HAPAX_NAME_MAX], last_source[HAPAX_NAME_MAX];
    int first_source_len, last_source_len; /* negative: the name is not kept */
} subject;

/* Which rule gave (or would give) the verdict, in the words of the guarantees. */
static const char *rule(const subject *s)
{
    if (!s->why.known)
        return "not known: nothing of this id is held, the next copy is NEW";
    if (s->why.in_flight)
        return "in flight: it was claimed and its work is not done; another copy is IN_FLIGHT, never treated as done";
    if ((s->why.held_by & HAPAX_HELD_BY_WINDOW) != 0)
        return "in a window: it is among the last ids of a source, another copy is DUPLICATE";
    return "in the time queue: it left its source's window and has not expired, another copy is DUPLICATE";
}

static void what_ends_it(const subject *s, char *text, size_t cap)
{
    const hapax_explanation *why = &s->why;
    hx_format_buf a, b;
    if (why->in_flight)
        snprintf(text, cap, "nothing, as long as its work is neither confirmed nor released");
    else if ((why->held_by & HAPAX_HELD_BY_WINDOW) != 0 && s->settings.expiry_ms == HAPAX_FOREVER)
        snprintf(text, cap, "nothing: after %s further ids of its source it leaves the window, and expiry is forever",
                 hx_format_count(why->window_ahead, &a));
    else if ((why->held_by & HAPAX_HELD_BY_WINDOW) != 0)
        snprintf(
            text, cap,
            "time alone does not; after %s further ids of its source it leaves the window, and is then forgotten "
            "once an id with a receive time more than %s later leaves one too",
            hx_format_count(why->window_ahead, &a), hx_format_duration(s->settings.expiry_ms, "forever", &b));
    else if (why->expires_after_ms == HAPAX_FOREVER)
        snprintf(text, cap, "nothing: expiry is forever");
    else
        snprintf(text, cap,
                 "an id that leaves a window with a receive time later than %s ms (this one has %s, expiry is %s)",
                 hx_format_signed(why->expires_after_ms, &a), hx_format_signed(why->last.receive_ms, &b),
                 hx_format_duration(s->settings.expiry_ms, "forever", &(hx_format_buf){{0}}));
}

static void print_bytes(const char *data, int len)
{
    if (len < 0) {
        printf("(its name is not kept any more)");
        return;
    }
    if (len == 0)
        printf("(none given)");
    while (len > 0) { /* in bits: it may be long, and a control character of two bytes is not parted */
        char text[HX_FORMAT_SHOWN_CAP(512)];
        int some = len < 512 ? len : 512;
        if (some < len && (unsigned char)data[some - 1] == 0xc2)
            some--;
        hx_format_shown(data, (size_t)some, text, sizeof text);
        fputs(text, stdout);
        data += some;
        len -= some;
    }
}

static void put_words(const subject *s)
{
    const hapax_explanation *why = &s->why;
    hx_format_buf a;
    char text[400];
    printf("%s id ", why->known ? "known:" : "not known:");
    print_bytes(s->options->id, (int)strlen(s->options->id));
    printf(" in domain ");
    print_bytes(s->stats.name, (int)s->stats.name_len);
    putchar('\n');
    if (why->known) {
        printf("  first seen    %s", hx_format_wall(why->first.wall_ms, &a));
        printf(" (receive time %s ms)\n", hx_format_signed(why->first.receive_ms, &a));
        if (why->occurrences > 1) {
            printf("  last seen     %s", hx_format_wall(why->last.wall_ms, &a));
            printf(" (receive time %s ms)", hx_format_signed(why->last.receive_ms, &a));
            printf(", %s copies are remembered\n", hx_format_count(why->occurrences, &a));
        }
        printf("  source        ");
        print_bytes(s->first_source, s->first_source_len);
        printf("\n  state         %s\n", why->in_flight ? "in flight: its work is not done" : "done");
        printf("  held by       %s%s%s%s%s\n", (why->held_by & HAPAX_HELD_BY_WINDOW) ? "window" : "",
               (why->held_by & HAPAX_HELD_BY_WINDOW) && (why->held_by & HAPAX_HELD_BY_TIME_QUEUE) ? " and " : "",
               (why->held_by & HAPAX_HELD_BY_TIME_QUEUE) ? "time queue" : "",
               (why->held_by & ~HAPAX_HELD_BY_CLAIM) && (why->held_by & HAPAX_HELD_BY_CLAIM) ? " and " : "",
               (why->held_by & HAPAX_HELD_BY_CLAIM) ? "claim" : "");
        what_ends_it(s, text, sizeof text);
        printf("  forgotten by  %s\n", text);
        if (why->max_age_left_ms != HAPAX_FOREVER)
            printf("  or by age     in %s (--max-age, wall clock)\n", hx_format_span(why->max_age_left_ms, &a));
    }
    printf("  rule          %s\n", rule(s));
    printf("  settings      window %s per source, ", hx_format_count((uint64_t)s->settings.window, &a));
    printf("expiry %s, ", hx_format_duration(s->settings.expiry_ms, "forever", &a));
    printf("refresh %s, ", s->settings.refresh != 0 ? "on" : "off");
    printf("max-age %s; time is %s\n", hx_format_duration(s->settings.max_age_ms, "off", &a),
           s->stats.given_times ? "that of the messages" : "the activity clock");
}

static void json_source(hx_buf *buf, const char *key, const char *name, int len)
{
    if (len >= 0)
        (void)hx_json_member_bytes(buf, key, name, (size_t)len);
}

static void json_known(const subject *s, hx_buf *buf)
{
    static const char *const names[] = {"window", "time queue", "claim"};
    const hapax_explanation *why = &s->why;
    hx_format_buf a;
    char text[400];
    (void)hx_json_member_text(buf, "first_seen", hx_format_wall(why->first.wall_ms, &a));
    (void)hx_json_member_i64(buf, "first_wall_ms", why->first.wall_ms);
    (void)hx_json_member_i64(buf, "first_receive_ms", why->first.receive_ms);
    json_source(buf, "source", s->first_source, s->first_source_len);
    (void)hx_json_member_text(buf, "last_seen", hx_format_wall(why->last.wall_ms, &a));
    (void)hx_json_member_i64(buf, "last_receive_ms", why->last.receive_ms);
    json_source(buf, "last_source", s->last_source, s->last_source_len);
    (void)hx_json_member_u64(buf, "occurrences", why->occurrences);
    (void)hx_json_member_text(buf, "state", why->in_flight ? "in_flight" : "done");
    (void)hx_json_key(buf, "held_by");
    (void)hx_buf_append(buf, "[", 1);
    for (size_t i = 0, n = 0; i < 3; i++) {
        if ((why->held_by & 1u << i) == 0)
            continue;
        (void)hx_buf_append(buf, ",", n++ > 0 ? 1 : 0);
        (void)hx_json_string(buf, names[i], strlen(names[i]));
    }
    (void)hx_json_close(buf, ']');
    if ((why->held_by & HAPAX_HELD_BY_WINDOW) != 0)
        (void)hx_json_member_u64(buf, "window_ahead", why->window_ahead);
    else if (why->expires_after_ms != HAPAX_FOREVER)
        (void)hx_json_member_i64(buf, "expires_after_ms", why->expires_after_ms);
    if (why->max_age_left_ms != HAPAX_FOREVER)
        (void)hx_json_member_i64(buf, "max_age_left_ms", why->max_age_left_ms);
    what_ends_it(s, text, sizeof text);
    (void)hx_json_member_text(buf, "forgotten_by", text);
}

static int put_json(const hx_log *log, const subject *s)
{
    hx_buf buf = {0};
    (void)hx_json_open(&buf, '{');
    (void)hx_json_member_bytes(&buf, "domain", s->stats.name, s->stats.name_len);
    (void)hx_json_member_bytes(&buf, "id", s->options->id, strlen(s->options->id));
    (void)hx_json_member_hex(&buf, "hash", s->hash, sizeof s->hash);
    (void)hx_json_member_bool(&buf, "known", s->why.known);
    if (s->why.known)
        json_known(s, &buf);
    (void)hx_json_member_text(&buf, "rule", rule(s));
    (void)hx_json_close(&buf, '}');
    (void)hx_buf_append(&buf, "\n", 1);
    int rc = hx_store_put(log, &buf);
    hx_buf_free(&buf);
    return rc;
}

static int look(const hx_log *log, hapax_store *store, const hx_store_options *options)
{
    subject s = {.options = options};
    hapax_error error;
    const char *name = options->domain != NULL ? options->domain : "default";
    int rc = hx_store_find_domain(log, store, name, &s.domain);
    if (rc != 0)
        return rc;
    if (hapax_explain(s.domain, options->id, strlen(options->id), &s.why, &error) < 0)
        return hx_exit_report(log, &error);
    hapax_domain_settings(s.domain, &s.settings, NULL);
    hapax_domain_stat(s.domain, &s.stats);
    hapax_id_hash(s.domain, options->id, strlen(options->id), s.hash);
    if (s.why.known) {
        s.first_source_len = hapax_source_name(s.domain, s.why.first.source, s.first_source, sizeof s.first_source);
        s.last_source_len = hapax_source_name(s.domain, s.why.last.source, s.last_source, sizeof s.last_source);
    }
    if (options->json)
        rc = put_json(log, &s);
    else
        put_words(&s);
    if (rc != 0)
        return rc;
    return s.why.known ? HX_EXIT_FINE : HX_EXIT_RECORDS;
}

static int run(const hx_command *command, int argc, char **argv)
{
    return hx_store_look(command, argc, argv, true, look);
}
