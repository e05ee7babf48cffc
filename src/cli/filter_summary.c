/*
 * filter_summary.c - what is said at the end, in words or as one JSON object, on stderr.
 *
 * in = new + duplicate + unchecked + stale + invalid (and what is in flight elsewhere); out is what was written.
 * What an earlier run judged and this one skipped is not in `in`.
 */
#include "cli/filter.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app/format.h"
#include "app/json.h"

static void say(hx_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(hx_buf *buf, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0) /* a summary cut short by a lack of memory is no reason to fail */
        (void)hx_buf_append(buf, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void say_skipped(const hx_filter_run *run, hx_buf *buf)
{
    hx_format_buf a, b;
    if (run->other_input)
        say(buf, "  the input is not the one that was judged last for this file: judged from its start\n");
    if (run->resumed)
        say(buf, "  resumed: %s record%s (%s) of this input were judged before and skipped\n",
            hx_format_count(run->start_records, &a), plural(run->start_records),
            hx_format_bytes(run->start_bytes, &b));
}

static void say_memory(const hx_filter_run *run, const hapax_domain_stats *stats,
                       const hapax_domain_options *settings, hx_buf *buf)
{
    hx_format_buf a, b, c;
    char name[256];
    hx_format_shown(stats->name, stats->name_len, name, sizeof name);
    say(buf, "  held: %s id%s of %s source%s", hx_format_count(stats->ids_held, &a), plural(stats->ids_held),
        hx_format_count(stats->sources, &b), plural(stats->sources));
    if (run->durable)
        say(buf, ", domain %s; window %s, expiry %s\n", name, hx_format_count((uint64_t)settings->window, &a),
            hx_format_duration(settings->expiry_ms, "forever", &c));
    else if (settings->expiry_ms == HAPAX_FOREVER)
        say(buf, "; expiry forever: without --store nothing is forgotten before the end (--max-memory bounds it)\n");
    else
        say(buf, "; window %s, expiry %s; without --store all is forgotten at the end\n",
            hx_format_count((uint64_t)settings->window, &a), hx_format_duration(settings->expiry_ms, "forever", &c));
    uint64_t over = stats->sources_over_limit - run->sources_over_limit;
    if (over > 0)
        say(buf, "  %s message%s judged without a window: more sources than --max-sources\n",
            hx_format_count(over, &a), plural(over));
    if (stats->steps_not_believed > 0)
        say(buf, "  %s time%s further ahead than --max-step, judged at the last time before\n",
            hx_format_count(stats->steps_not_believed, &a), plural(stats->steps_not_believed));
}

static void say_words(hx_filter_run *run, const hapax_domain_stats *stats, const hapax_domain_options *settings,
                      int64_t run_ms, hx_buf *buf)
{
    const hx_filter_counts *counts = &run->counts;
    hx_format_buf a, b, c, d, e;
    uint64_t in = counts->in, out = counts->out;
    say(buf, "%s record%s in, %s out, %.2f s", hx_format_count(in, &a), plural(in), hx_format_count(out, &b),
        (double)run_ms / 1000);
    if (run_ms > 0)
        say(buf, " (%s records/s)", hx_format_count(in * 1000 / (uint64_t)run_ms, &a));
    say(buf, "%s\n", run->options->observe ? ", nothing dropped (--observe)" : "");
    say(buf, "  new %s, duplicate %s, unchecked (no id) %s, stale %s, invalid %s\n", hx_format_count(counts->new, &a),
        hx_format_count(counts->duplicate, &b), hx_format_count(counts->unchecked, &c),
        hx_format_count(counts->stale, &d), hx_format_count(counts->invalid, &e));
    say_skipped(run, buf);
    say_memory(run, stats, settings, buf);
    if (run->options->ack_fd >= 0 && run->ack.acknowledged < run->ack.offered) {
        uint64_t left = run->ack.offered - run->ack.acknowledged;
        say(buf, "  %s line%s not acknowledged: not remembered, they come again\n", hx_format_count(left, &a),
            plural(left));
    }
}

static void say_json(hx_filter_run *run, const hapax_domain_stats *stats, int64_t run_ms, hx_buf *buf)
{
    const hx_filter_counts *counts = &run->counts;
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%" PRId64 ".%03d", run_ms / 1000, (int)(run_ms % 1000));
    (void)hx_json_open(buf, '{');
    (void)hx_json_member_u64(buf, "in", counts->in);
    (void)hx_json_member_u64(buf, "out", counts->out);
    (void)hx_json_member_u64(buf, "new", counts->new);
    (void)hx_json_member_u64(buf, "duplicate", counts->duplicate);
    (void)hx_json_member_u64(buf, "unchecked", counts->unchecked);
    (void)hx_json_member_u64(buf, "stale", counts->stale);
    (void)hx_json_member_u64(buf, "invalid", counts->invalid);
    (void)hx_json_key(buf, "seconds");
    say(buf, "%s", seconds);
    (void)hx_json_member_u64(buf, "ids_held", stats->ids_held);
    (void)hx_json_member_u64(buf, "sources", stats->sources);
    if (run->resumed)
        (void)hx_json_member_u64(buf, "resumed_records", run->start_records);
    (void)hx_json_close(buf, '}');
    (void)hx_buf_append(buf, "\n", 1);
}

void hx_filter_summary(hx_filter_run *run, int64_t run_ms)
{
    hapax_domain_options settings;
    hapax_domain_stats stats;
    hx_buf buf = {0};
    hapax_domain_stat(run->domain, &stats);
    hapax_domain_settings(run->domain, &settings, NULL);
    if (run->options->json) {
        say_json(run, &stats, run_ms, &buf);
        hx_log_raw(&run->log, (const char *)buf.data, buf.len);
    } else {
        say(&buf, "hapax filter: ");
        say_words(run, &stats, &settings, run_ms, &buf);
        hx_log_raw(&run->log, (const char *)buf.data, buf.len);
    }
    hx_buf_free(&buf);
}
