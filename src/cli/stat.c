/*
 * stat.c - `hapax stat`: what a store holds, as a table or as JSON. Every figure is the library's.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app/format.h"
#include "app/json.h"
#include "cli/exit.h"
#include "cli/store.h"
#include "cli/verbs.h"
#include "os/os.h"

static const hx_option table[] = {
    HX_STORE_ROW_STORE,
    {"domain", 0, "NAME", "only this domain", "all of them"},
    {"gaps", 0, NULL, "list missing numbers; comes with the sequence policy", NULL},
    HX_STORE_ROW_JSON,
    HX_STORE_ROW_HELP,
};

static int run(const hx_command *command, int argc, char **argv);

const hx_command hx_stat_command = {
    .name = "stat",
    .arguments = "--store DIR [OPTION...]",
    .summary = "Shows what a store holds: domains, ids, sources, verdicts given, disk and memory.",
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .run = run,
};

/* A store opened for reading writes nothing and so may say full where writing could not be; the file system knows. */
static const char *durability_name(const char *path, hapax_durability durability)
{
    const hx_os *os = hx_os_posix();
    char reason[HX_OS_REASON_MAX];
    bool full = durability == HAPAX_DURABILITY_FULL && os->durability(os->ctx, path, reason) == HX_OS_DURABLE;
    return full ? "full" : "process";
}

static void json_duration(hx_buf *buf, const char *key, int64_t ms)
{
    if (ms == HAPAX_FOREVER)
        (void)hx_json_member_text(buf, key, "forever");
    else
        (void)hx_json_member_i64(buf, key, ms);
}

static void json_domain(hx_buf *buf, const hapax_domain_stats *stats)
{
    (void)hx_json_open(buf, '{');
    (void)hx_json_member_bytes(buf, "name", stats->name, stats->name_len);
    (void)hx_json_member_i64(buf, "window", stats->window);
    json_duration(buf, "expiry_ms", stats->expiry_ms);
    (void)hx_json_member_u64(buf, "ids_held", stats->ids_held);
    (void)hx_json_member_u64(buf, "ids_in_windows", stats->ids_in_windows);
    (void)hx_json_member_u64(buf, "ids_in_time_queue", stats->ids_in_time_queue);
    (void)hx_json_member_u64(buf, "sources", stats->sources);
    (void)hx_json_member_u64(buf, "in_flight", stats->in_flight);
    (void)hx_json_member_u64(buf, "new", stats->new_count);
    (void)hx_json_member_u64(buf, "duplicate", stats->duplicate_count);
    (void)hx_json_member_u64(buf, "unchecked", stats->unchecked_count);
    (void)hx_json_member_u64(buf, "sources_over_limit", stats->sources_over_limit);
    (void)hx_json_member_u64(buf, "steps_not_believed", stats->steps_not_believed);
    (void)hx_json_member_text(buf, "time", stats->given_times ? "given" : "activity clock");
    (void)hx_json_close(buf, '}');
}

static void say(hx_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(hx_buf *buf, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0)
        (void)hx_buf_append(buf, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static void words_domain(hx_buf *buf, const hapax_domain_stats *stats)
{
    hx_format_buf a;
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"ids held", stats->ids_held},
        {"  in windows", stats->ids_in_windows},
        {"  in the time queue", stats->ids_in_time_queue},
        {"  in flight, work not done", stats->in_flight},
        {"sources", stats->sources},
        {"judged new", stats->new_count},
        {"judged duplicate", stats->duplicate_count},
        {"unchecked, without id", stats->unchecked_count},
        {"judged without a window", stats->sources_over_limit},
        {"times not believed", stats->steps_not_believed},
    };
    char name[HX_FORMAT_SHOWN_CAP(HAPAX_NAME_MAX)];
    hx_format_shown(stats->name, stats->name_len, name, sizeof name);
    say(buf, "\ndomain ");
    (void)hx_buf_append(buf, name, strlen(name));
    say(buf, "\n");
    say(buf, "  %-28s %15s per source\n", "window, never expires", hx_format_count((uint64_t)stats->window, &a));
    say(buf, "  %-28s %15s%s\n", "expiry outside of it", hx_format_duration(stats->expiry_ms, "forever", &a),
        stats->expiry_ms == HAPAX_FOREVER ? ""
        : stats->given_times              ? " in the messages' times"
                                          : " in time with the store open");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        say(buf, "  %-28s %15s\n", rows[i].name, hx_format_count(rows[i].value, &a));
}

static int look(const hx_log *log, hapax_store *store, const hx_store_options *options)
{
    hapax_store_stats stats;
    hapax_domain *only = NULL, *domain;
    hx_format_buf a;
    hx_buf buf = {0};
    int rc = options->domain == NULL ? 0 : hx_store_find_domain(log, store, options->domain, &only);
    if (rc != 0)
        return rc;
    hapax_store_stat(store, &stats);
    if (options->json) {
        (void)hx_json_open(&buf, '{');
        (void)hx_json_key(&buf, "domains");
        (void)hx_json_open(&buf, '[');
    } else {
        char path[HX_FORMAT_SHOWN_CAP(480)];
        hx_format_shown(options->path, strlen(options->path), path, sizeof path);
        say(&buf, "store %s\n", path);
        say(&buf, "  %-28s %15s\n", "on disk", hx_format_bytes(stats.disk_bytes, &a));
        say(&buf, "  %-28s %15s\n", "in memory when open", hx_format_bytes(stats.memory_bytes, &a));
        say(&buf, "  %-28s %15s\n", "durability", durability_name(options->path, stats.durability));
        say(&buf, "  %-28s %15" PRIu32 "\n", "format version", stats.format_version);
        say(&buf, "  %-28s %15s\n", "open so far, all in all", hx_format_span(stats.activity_ms, &a));
    }
    for (size_t i = 0; (domain = hapax_domain_at(store, i)) != NULL; i++) {
        hapax_domain_stats domain_stats;
        if (only != NULL && domain != only)
            continue;
        hapax_domain_stat(domain, &domain_stats);
        if (options->json)
            json_domain(&buf, &domain_stats);
        else
            words_domain(&buf, &domain_stats);
    }
    if (options->json) {
        (void)hx_json_close(&buf, ']');
        (void)hx_json_member_u64(&buf, "disk_bytes", stats.disk_bytes);
        (void)hx_json_member_u64(&buf, "memory_bytes", stats.memory_bytes);
        (void)hx_json_member_text(&buf, "durability", durability_name(options->path, stats.durability));
        (void)hx_json_member_u64(&buf, "format_version", stats.format_version);
        (void)hx_json_member_i64(&buf, "activity_ms", stats.activity_ms);
        (void)hx_json_close(&buf, '}');
        say(&buf, "\n");
    }
    rc = hx_store_put(log, &buf);
    hx_buf_free(&buf);
    return rc;
}

static int run(const hx_command *command, int argc, char **argv)
{
    return hx_store_look(command, argc, argv, false, look);
}
