/*
 * filter_domain.c - the domain of a run: opened, and what is to be said about it in the words of the options.
 *
 * The library speaks of expiry_ms and change_settings; who typed --expiry 2m is answered with --expiry. So the stored
 * settings are looked at before the domain is opened, and compared with what was asked for.
 */
#include "cli/filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/format.h"
#include "cli/exit.h"

/* A setting as it is typed. The order of the rows is that of hapax_domain_options. */
typedef struct setting {
    const char *name;
    enum { COUNT, SWITCH, DURATION } kind;
    const char *endless; /* DURATION */
    size_t offset;
} setting;

static const setting settings[] = {
    {"window", COUNT, NULL, offsetof(hapax_domain_options, window)},
    {"expiry", DURATION, "forever", offsetof(hapax_domain_options, expiry_ms)},
    {"refresh", SWITCH, NULL, offsetof(hapax_domain_options, refresh)},
    {"max-age", DURATION, "off", offsetof(hapax_domain_options, max_age_ms)},
    {"source-idle", DURATION, "off", offsetof(hapax_domain_options, source_idle_ms)},
    {"max-sources", COUNT, NULL, offsetof(hapax_domain_options, max_sources)},
    {"max-step", DURATION, "off", offsetof(hapax_domain_options, max_step_ms)},
};

enum { SETTINGS = sizeof settings / sizeof *settings };

static int64_t value_of(const setting *row, const hapax_domain_options *options)
{
    return *(const int64_t *)((const char *)options + row->offset);
}

static const char *typed(const setting *row, const hapax_domain_options *options, hx_format_buf *buf)
{
    int64_t value = value_of(row, options);
    switch (row->kind) {
    case COUNT: snprintf(buf->text, sizeof buf->text, "%" PRId64, value); return buf->text;
    case SWITCH: return value != 0 ? "on" : "off";
    default: return hx_format_duration(value, row->endless, buf);
    }
}

/* The settings that are stored; false: there is no such domain yet. */
static bool stored_settings(hapax_store *store, const char *name, hapax_domain_options *ret)
{
    size_t len = strlen(name);
    hapax_domain_stats stats;
    hapax_domain *domain;
    for (size_t i = 0; (domain = hapax_domain_at(store, i)) != NULL; i++) {
        hapax_domain_stat(domain, &stats);
        if (stats.name_len != len || memcmp(stats.name, name, len) != 0)
            continue;
        hapax_domain_settings(domain, ret, NULL);
        return true;
    }
    return false;
}

/* Which of the settings would push ids out the library does not tell one by one: all that differ are named. */
static int refuse(const hx_filter_run *run, const hapax_domain_options *before, const hapax_domain_options *asked)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        hx_format_buf a, b;
        int64_t value = value_of(&settings[i], asked);
        if (value == HAPAX_UNSET || value == value_of(&settings[i], before))
            continue;
        hx_log_line(&run->log,
                    "domain %s has --%s %s, not %s: the change would push ids out; --change-settings allows it",
                    run->options->domain_name, settings[i].name, typed(&settings[i], before, &a),
                    typed(&settings[i], asked, &b));
    }
    return HX_EXIT_USAGE;
}

static void say_changes(const hx_filter_run *run, const hapax_domain_options *before)
{
    hapax_domain_options now;
    unsigned changed = 0;
    hapax_domain_settings(run->domain, &now, &changed);
    for (size_t i = 0; i < SETTINGS; i++) {
        hx_format_buf a, b;
        if ((changed & 1u << i) != 0)
            hx_log_line(&run->log, "domain %s: --%s is %s from now on; it was %s", run->options->domain_name,
                        settings[i].name, typed(&settings[i], &now, &a), typed(&settings[i], before, &b));
    }
}

/* max_age runs through downtime, so it is said how long that was. */
static void say_downtime(const hx_filter_run *run)
{
    hapax_domain_options now;
    hx_format_buf a;
    hapax_domain_settings(run->domain, &now, NULL);
    if (run->durable && !run->open_report.created && now.max_age_ms != HAPAX_FOREVER)
        hx_log_line(&run->log, "the store was closed for %s, which counts for --max-age",
                    hx_format_span(run->open_report.downtime_ms, &a));
}

int hx_filter_domain_open(hx_filter_run *run)
{
    const char *name = run->options->domain_name;
    hapax_domain_options asked = run->options->domain, before = {0};
    hapax_domain_stats stats;
    hapax_error error;
    if (!run->durable && asked.expiry_ms == HAPAX_UNSET)
        asked.expiry_ms = HAPAX_FOREVER;
    bool known = stored_settings(run->store, name, &before);
    int rc = hapax_domain_open(run->store, name, strlen(name), &asked, &run->domain, &error);
    if (rc == HAPAX_ERR_SETTINGS && known)
        return refuse(run, &before, &asked);
    if (rc < 0)
        return hx_exit_report(&run->log, &error);
    say_downtime(run);
    if (known)
        say_changes(run, &before);
    hapax_domain_stat(run->domain, &stats);
    run->sources_over_limit = stats.sources_over_limit;
    return 0;
}
