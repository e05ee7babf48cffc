/*
 * filter_judge.c - the judge: messages to verdicts to runs of bytes that are kept.
 *
 *     records   | new | new | dup | new | dup | dup | new |
 *     kept      [---------]     [---]           [---]            runs of neighbours, not lines
 *     dropped             [---]     [---------]
 *
 * The store judges a whole block in one call. Nothing is copied: a run points into the block, which stays until the
 * writer is done with it. Only the judge knows what the files will hold once everything is out, so it is the judge
 * that sets the bookmark, right behind the ids it is true for.
 */
#include "cli/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "app/json.h"
#include "cli/exit.h"

typedef struct tally {
    uint64_t in, new, duplicate, unchecked, stale, invalid;
} tally;

/* The line on which a message of the block begins: the line ends before it are counted. */
static uint64_t line_of(const hx_filter_run *run, const hx_filter_block *block, size_t message)
{
    uint64_t line = block->first_line;
    size_t i = 0;
    for (; i < block->count; i++)
        if (block->kinds[i] == HX_FILTER_MESSAGE && message-- == 0)
            break;
    size_t start = i > 0 ? block->ends[i - 1] : 0;
    for (size_t at = 0; at < start; at++)
        line += block->data[at] == run->input.end;
    return line;
}

static int refuse(const hx_filter_run *run, const hx_filter_block *block, const hapax_error *error)
{
    const char *domain = run->options->domain_name;
    if (error->status != HAPAX_ERR_TIME_MODE)
        return hx_exit_report(&run->log, error);
    uint64_t line = line_of(run, block, error->index);
    if (run->options->select.time != NULL)
        hx_log_line(&run->log,
                    "%s:%" PRIu64
                    ": --time gives this record a time, but domain %s goes by its activity clock: it was "
                    "begun without --time",
                    block->name, line, domain);
    else
        hx_log_line(&run->log,
                    "%s:%" PRIu64
                    ": no time is given with this record, but domain %s goes by the messages' times: it "
                    "was begun with --time",
                    block->name, line, domain);
    return hx_exit_code(error);
}

/* HELD: the writer has to commit first. Returns 0, or -1 where the run ends (said on stderr). */
static int record(hx_filter_run *run, const hx_filter_block *block)
{
    hapax_error error;
    for (;;) {
        uint64_t seen = hx_filter_queue_commits(&run->queue);
        int rc = hapax_record(run->domain, block->messages, block->message_count, run->results, &error);
        if (rc >= 0)
            return 0;
        if (rc != HAPAX_ERR_HELD) {
            hx_filter_fail(run, refuse(run, block, &error));
            return -1;
        }
        if (!hx_filter_ack_await(run, seen)) {
            atomic_store(&run->ack.closed_early, run->options->ack_fd >= 0);
            return -1;
        }
    }
}

static int bookmark(hx_filter_run *run, hx_filter_block *block)
{
    hapax_error error;
    for (;;) {
        uint64_t seen = hx_filter_queue_commits(&run->queue);
        int rc = hx_filter_bookmark_set(run, &block->position, false, &block->commit_position, &error);
        if (rc >= 0)
            return 0;
        if (rc != HAPAX_ERR_HELD) {
            hx_filter_fail(run, hx_exit_report(&run->log, &error));
            return -1;
        }
        if (!hx_filter_queue_await_commit(&run->queue, seen))
            return -1;
    }
}

static void add_run(hx_filter_runs *runs, unsigned char *data, size_t len)
{
    if (runs->runs == NULL || len == 0)
        return;
    runs->bytes += len;
    if (runs->count > 0) {
        struct iovec *last = &runs->runs[runs->count - 1];
        if ((unsigned char *)last->iov_base + last->iov_len == data) {
            last->iov_len += len;
            return;
        }
    }
    runs->runs[runs->count++] = (struct iovec){.iov_base = data, .iov_len = len};
}

/* A file that is appended to and has no end: one comes between. */
static void add_separator(hx_filter_run *run, hx_filter_output *output, hx_filter_runs *runs)
{
    if (!output->separator_due || runs->bytes == 0)
        return;
    memmove(runs->runs + 1, runs->runs, runs->count * sizeof *runs->runs);
    runs->runs[0] = (struct iovec){.iov_base = &run->input.end, .iov_len = 1};
    runs->count++;
    runs->bytes++;
    output->separator_due = false;
}

static int describe(const hx_filter_run *run, hx_filter_block *block, uint64_t number, const hapax_message *message,
                    const hapax_result *result)
{
    hx_buf *out = &block->verdicts;
    if (run->outputs.verdicts.mode == HX_FILTER_OUTPUT_NONE)
        return 0;
    int rc = hx_json_open(out, '{');
    if (rc == 0)
        rc = hx_json_member_u64(out, "n", number);
    if (rc == 0)
        rc = hx_json_member_text(out, "verdict", result != NULL ? hapax_verdict_name(result->verdict) : "invalid");
    if (rc == 0 && message != NULL && message->id_len > 0) {
        rc = hx_json_member_bytes(out, "id", message->id, message->id_len);
        bool known = result->verdict == HAPAX_DUPLICATE || result->verdict == HAPAX_IN_FLIGHT;
        if (rc == 0)
            rc = hx_json_member_i64(out, "age_ms", known ? result->receive_ms - result->first_receive_ms : 0);
    }
    if (rc == 0)
        rc = hx_json_close(out, '}');
    if (rc == 0)
        rc = hx_buf_append(out, "\n", 1);
    return rc;
}

/* Is a judged message kept? Counts it. */
static bool keep(const hx_filter_options *options, hapax_verdict verdict, tally *counts)
{
    switch (verdict) {
    case HAPAX_NEW: counts->new ++; return true;
    case HAPAX_DUPLICATE: counts->duplicate++; return options->observe;
    case HAPAX_UNCHECKED: counts->unchecked++; return options->observe || options->missing != HX_FILTER_DROP;
    case HAPAX_STALE: counts->stale++; return true;
    default: return true; /* IN_FLIGHT, CONFLICT: not known to be done, so it is passed on */
    }
}

/* A line goes out; `before` is where the log stood in front of its record. */
static void add_line(hx_filter_block *block, uint64_t before)
{
    if (block->line_positions != NULL)
        block->line_positions[block->line_count++] = before;
}

/* From verdicts to runs. Returns 0 or -ENOMEM. */
static int compose(hx_filter_run *run, hx_filter_block *block, tally *counts)
{
    const hx_filter_options *options = run->options;
    bool pass_invalid = options->observe || options->invalid != HX_FILTER_DROP;
    size_t from = 0, message = 0;
    int rc = 0;
    for (size_t i = 0; i < block->count && rc == 0; i++) {
        size_t end = block->ends[i];
        uint64_t before = run->last_position;
        bool kept = pass_invalid;
        block->out[i] = false;
        hx_filter_kind kind = (hx_filter_kind)block->kinds[i];
        if (kind == HX_FILTER_MESSAGE) {
            const hapax_result *result = &run->results[message];
            run->last_position = result->position;
            kept = keep(options, result->verdict, counts);
            counts->in++;
            rc = describe(run, block, run->start_records + counts->in, &block->messages[message], result);
            message++;
        } else if (kind == HX_FILTER_INVALID) {
            counts->invalid++;
            counts->in++;
            rc = describe(run, block, run->start_records + counts->in, NULL, NULL);
        }
        if (kind == HX_FILTER_HEADER)
            kept = run->write_header;
        if (kind != HX_FILTER_SKIP && (kept || kind != HX_FILTER_HEADER))
            add_run(kept ? &block->kept : &block->dropped, block->data + from, end - from);
        if (kept && kind != HX_FILTER_SKIP && kind != HX_FILTER_PIECE) {
            block->out[i] = kind != HX_FILTER_HEADER;
            block->out_count += block->out[i];
            add_line(block, before);
        }
        from = end;
    }
    return rc;
}

static void add_up(hx_filter_counts *counts, const tally *more)
{
    counts->in += more->in;
    counts->new += more->new;
    counts->duplicate += more->duplicate;
    counts->unchecked += more->unchecked;
    counts->stale += more->stale;
    counts->invalid += more->invalid;
}

/* Returns false where the run ends in front of this block. */
static bool judge_block(hx_filter_run *run, hx_filter_block *block)
{
    hx_filter_outputs *outputs = &run->outputs;
    tally counts = {.in = run->counts.in};
    uint64_t in_before = counts.in;

    block->kept.count = block->dropped.count = 0;
    block->kept.bytes = block->dropped.bytes = 0;
    block->verdicts.len = 0;
    block->line_count = block->out_count = 0;
    block->commit_position = 0;
    if (block->message_count > 0 && record(run, block) < 0)
        return false;
    atomic_store(&run->judge_failed, true); /* until the block is ready: its ids are held back in the store now */
    if (compose(run, block, &counts) < 0) {
        hx_log_line(&run->log, "no memory");
        hx_filter_fail(run, HX_EXIT_TROUBLE);
        return false;
    }
    add_separator(run, &outputs->kept, &block->kept);
    add_separator(run, &outputs->dropped, &block->dropped);
    outputs->kept.length += block->kept.bytes;
    outputs->dropped.length += block->dropped.bytes;
    outputs->verdicts.length += block->verdicts.len;
    run->judged_inside = block->inside_record;
    if (run->bookmarked && !block->inside_record) {
        if (bookmark(run, block) < 0)
            return false;
        run->judged = block->position;
    } else if (run->durable && !run->bookmarked) {
        block->commit_position = run->last_position;
    }
    atomic_store(&run->judge_failed, false);
    counts.in -= in_before;
    add_up(&run->counts, &counts);
    return true;
}

void *hx_filter_judge(void *arg)
{
    hx_filter_run *run = arg;
    hx_filter_block *block;
    while ((block = hx_filter_queue_judge(&run->queue)) != NULL) {
        if (!judge_block(run, block))
            break;
        hx_filter_queue_advance(&run->queue, &run->queue.judged);
    }
    hx_filter_queue_flag(&run->queue, &run->queue.judge_ended);
    hx_filter_stop(run);
    return NULL;
}
