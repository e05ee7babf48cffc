/*
 * filter_resume.c - is this the input of the last run? Then go on behind its judged part.
 *
 * The recorded number of bytes is read again and hashed. If the hash is the recorded one, that part is skipped; a
 * grown input so goes on with what is new. If it is not, or the input is shorter, it is another input: back to the
 * start, where a pipe is read again from a temporary copy.
 *
 * A last record without an end ("abc", end of input) was judged, but may since have grown to another one ("abcdef\n")
 * or only have got its end. So it is given out again: the reader finds its end and skips it if it has kept its length
 * (start_last_len), or else judges it as the new record that it is.
 *
 * CSV: the first header stands in the skipped part and is fed to the selection from there.
 */
#include "cli/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exit.h"
#include "os/os.h"

#define READ_BYTES ((size_t)256 << 10)

enum outcome { SAME, OTHER, STOPPED, UNREADABLE, NO_MEMORY };

typedef struct check {
    hx_filter_run *run;
    const hx_filter_bookmark *bookmark;
    unsigned char *data; /* READ_BYTES */
    hx_filter_hash hash;
    hx_buf head; /* the input's beginning, until its header is complete */
    hx_split split;
    hx_split_record header;
    bool header_due;
} check;

static enum outcome collect_header(check *c, const unsigned char *data, size_t len)
{
    size_t consumed;
    if (!c->header_due)
        return SAME;
    if (hx_buf_append(&c->head, data, len) < 0)
        return NO_MEMORY;
    if (hx_split_next(&c->split, c->head.data, c->head.len, false, &c->header, 1, &consumed) == 1)
        c->header_due = false;
    return SAME;
}

static bool marks_differ(const check *c)
{
    const hx_filter_position *old = &c->bookmark->position;
    size_t count = c->hash.mark_count < old->mark_count ? c->hash.mark_count : old->mark_count;
    return memcmp(c->hash.marks, old->marks, count * sizeof old->marks[0]) != 0;
}

static void count_lines(hx_filter_run *run, const unsigned char *data, size_t len)
{
    const unsigned char *at = data, *end = data + len;
    while ((at = memchr(at, run->input.end, (size_t)(end - at))) != NULL) {
        run->start_line++;
        at++;
    }
}

/* The next bytes, at most cap; *ret_len > 0 where SAME is returned. */
static enum outcome read_some(check *c, unsigned char *data, size_t cap, size_t *ret_len)
{
    hx_filter_run *run = c->run;
    for (;;) {
        int64_t n = hx_filter_input_read(&run->input, data, cap);
        if (n > 0) {
            *ret_len = (size_t)n;
            return SAME;
        }
        if (n == HX_FILTER_STOPPED)
            return STOPPED;
        if (n == HX_FILTER_UNREADABLE)
            return UNREADABLE;
        run->start_line = 0;
        if (!hx_filter_input_next(&run->input))
            return OTHER; /* shorter than what was judged */
    }
}

static enum outcome skip(check *c, uint64_t target)
{
    while (c->hash.bytes < target) {
        uint64_t left = target - c->hash.bytes;
        size_t len;
        enum outcome outcome = read_some(c, c->data, left < READ_BYTES ? (size_t)left : READ_BYTES, &len);
        if (outcome == SAME) {
            count_lines(c->run, c->data, len);
            hx_filter_hash_add(&c->hash, c->data, len);
            outcome = marks_differ(c) ? OTHER : collect_header(c, c->data, len);
        }
        if (outcome != SAME)
            return outcome;
    }
    return SAME;
}

/* The record without an end: hashed into a copy, and given out again. */
static enum outcome read_last(check *c, hx_filter_hash *whole)
{
    uint64_t left = c->bookmark->position.last_len;
    hx_buf last = {0};
    while (left > 0) {
        size_t len;
        enum outcome outcome = read_some(c, c->data, left < READ_BYTES ? (size_t)left : READ_BYTES, &len);
        if (outcome == SAME && hx_buf_append(&last, c->data, len) < 0)
            outcome = NO_MEMORY;
        if (outcome != SAME) {
            hx_buf_free(&last);
            return outcome;
        }
        hx_filter_hash_add(whole, c->data, len);
        left -= len;
    }
    c->run->input.pushed = last;
    c->run->input.pushed_at = 0;
    return SAME;
}

static enum outcome compare(check *c)
{
    const hx_filter_position *old = &c->bookmark->position;
    enum outcome outcome = skip(c, old->bytes - old->last_len);
    if (outcome != SAME)
        return outcome;
    hx_filter_hash whole = c->hash;
    outcome = read_last(c, &whole);
    if (outcome != SAME)
        return outcome;
    hx_hash value = hx_filter_hash_value(&whole);
    if (value.lo != old->hash.lo || value.hi != old->hash.hi || c->header_due)
        return OTHER;
    return SAME;
}

static int go_on(check *c)
{
    hx_filter_run *run = c->run;
    const hx_filter_position *old = &c->bookmark->position;
    hx_select_error error;
    if (hx_select_has_header(run->plan)) {
        int rc = hx_select_header(run->plan, c->head.data, &c->header, &error);
        if (rc < 0) {
            hx_log_line(&run->log, "%s: %s", hx_filter_input_name(&run->input), error.message);
            return rc == -ENOMEM ? HX_EXIT_TROUBLE : HX_EXIT_USAGE;
        }
    }
    run->input.spooling = false;
    run->hash = c->hash;
    run->judged = *old;
    run->start_bytes = old->bytes - old->last_len;
    run->start_records = old->records - (old->last_len > 0 ? 1 : 0);
    run->start_last_len = old->last_len;
    run->start_in_file = true;
    run->resumed = true;
    return 0;
}

static int begin_anew(hx_filter_run *run)
{
    const hx_os *os = hx_os_posix();
    unsigned char key[HX_SIPHASH_KEY_LEN];
    int rc = os->entropy(os->ctx, key, sizeof key);
    if (rc < 0) {
        hx_log_line(&run->log, "no random bytes: %s", strerror(-rc));
        return HX_EXIT_TROUBLE;
    }
    hx_filter_hash_init(&run->hash, key);
    memset(&run->judged, 0, sizeof run->judged);
    run->judged.hash = hx_filter_hash_value(&run->hash);
    run->start_line = 0;
    return 0;
}

int hx_filter_resume(hx_filter_run *run, const hx_filter_bookmark *bookmark)
{
    if (!bookmark->has_input || !bookmark->same_command || bookmark->position.bytes == 0 || run->options->again)
        return begin_anew(run);

    check *c = calloc(1, sizeof *c);
    if (c == NULL || (c->data = malloc(READ_BYTES)) == NULL) {
        free(c);
        hx_log_line(&run->log, "no memory");
        return HX_EXIT_TROUBLE;
    }
    c->run = run;
    c->bookmark = bookmark;
    c->header_due = hx_select_has_header(run->plan);
    hx_select_split(run->plan, &c->split);
    hx_filter_hash_init(&c->hash, bookmark->key);
    run->input.spooling = true;
    int rc = 0;
    switch (compare(c)) {
    case SAME: rc = go_on(c); break;
    case OTHER:
        run->other_input = true;
        rc = hx_filter_input_rewind(&run->input);
        if (rc == 0)
            rc = begin_anew(run);
        break;
    case STOPPED: rc = -1; break;
    case UNREADABLE: rc = HX_EXIT_USAGE; break;
    case NO_MEMORY:
        hx_log_line(&run->log, "no memory");
        rc = HX_EXIT_TROUBLE;
        break;
    }
    hx_buf_free(&c->head);
    free(c->data);
    free(c);
    return rc;
}
