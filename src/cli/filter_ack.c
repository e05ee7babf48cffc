/*
 * filter_ack.c - --ack-fd: only what the reader of stdout has dealt with becomes durable.
 *
 *     log       | d d 1 | 2 | d 3 | 4 | d d d 5 | d d |       numbers: lines, d: duplicates before them
 *                             ^ 2 acknowledged: durable up to here, in front of line 3's record
 *                                                     ^ tail: durable once all that was offered is acknowledged
 *
 * One number a line comes in: how many lines have been dealt with so far. What is committed then reaches to the front
 * of the first line that is not: so duplicates, for which nobody is asked, never wait for longer than they must. Of
 * each line the position in front of it is noted before it is written, since its acknowledgement can come while the
 * rest of its block is still on its way. Where all is acknowledged the writer commits what brings no line.
 *
 * A line is a record that was written, the CSV header included. At most HX_FILTER_ACK_LINES can be unacknowledged;
 * then the writing waits. N may be closed: at the input's end that is an answer (the rest comes again next time);
 * before, the reader has gone and the run ends at the next line.
 */
#include "cli/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "app/format.h"
#include "base/text.h"
#include "cli/exit.h"

#define LINE_CAP 64
#define AFTER_SIGNAL_MS 5000 /* how long acknowledgements are still waited for */
#define TICK_MS 100
#define PATIENCE_S 10 /* until it is said that nothing goes on */

int hx_filter_ack_init(hx_filter_run *run)
{
    hx_filter_ack *ack = &run->ack;
    if (run->options->ack_fd < 0)
        return 0;
    ack->positions = malloc(HX_FILTER_ACK_LINES * sizeof *ack->positions);
    return ack->positions != NULL ? 0 : -ENOMEM;
}

bool hx_filter_ack_offer(hx_filter_run *run, const hx_filter_block *block)
{
    hx_filter_ack *ack = &run->ack;
    hx_filter_queue *queue = &run->queue;
    uint64_t count = block->line_count;
    pthread_mutex_lock(&queue->mutex);
    while (!queue->judge_cancelled && !queue->commits_over &&
           ack->offered + count - ack->acknowledged > HX_FILTER_ACK_LINES)
        pthread_cond_wait(&queue->changed, &queue->mutex);
    bool room = ack->offered + count - ack->acknowledged <= HX_FILTER_ACK_LINES;
    bool going = count == 0 || (!queue->commits_over && room);
    if (!going && queue->commits_over)
        atomic_store(&ack->closed_early, true);
    for (size_t i = 0; going && i < count; i++)
        ack->positions[ack->offered++ % HX_FILTER_ACK_LINES] = block->line_positions[i];
    if (going && block->commit_position > 0)
        ack->tail = block->commit_position;
    pthread_mutex_unlock(&queue->mutex);
    if (!going) /* these lines stay unwritten, so their ids must not be written either */
        atomic_store(&run->write_failed, true);
    return going;
}

bool hx_filter_ack_all(hx_filter_run *run)
{
    pthread_mutex_lock(&run->queue.mutex);
    bool all = run->ack.acknowledged == run->ack.offered;
    pthread_mutex_unlock(&run->queue.mutex);
    return all;
}

bool hx_filter_ack_await(hx_filter_run *run, uint64_t seen)
{
    bool late = false;
    if (run->options->ack_fd < 0)
        return hx_filter_queue_await_commit(&run->queue, seen);
    bool more = hx_filter_queue_await_commit_for(&run->queue, seen, PATIENCE_S, &late);
    if (late) {
        hx_log_line(&run->log, "waiting: too much is not acknowledged on --ack-fd %d to go on", run->options->ack_fd);
        more = hx_filter_queue_await_commit(&run->queue, seen);
    }
    return more;
}

typedef struct listener {
    hx_filter_run *run;
    char line[LINE_CAP];
    size_t len;
    bool any;        /* a number came since the last commit */
    uint64_t number; /* the last one */
    int waited_ms;   /* since the writing ended and a signal had come */
} listener;

static int misuse(const listener *l, const char *text)
{
    hx_log_line(&l->run->log, "--ack-fd %d: %s", l->run->options->ack_fd, text);
    hx_filter_fail(l->run, HX_EXIT_USAGE);
    return -1;
}

static int take_line(listener *l)
{
    char text[160];
    uint64_t number;
    if (hx_text_parse_u64(l->line, l->len, &number) < 0) {
        snprintf(text, sizeof text, "\"%.*s\" is no number of lines", (int)l->len, l->line);
        return misuse(l, text);
    }
    if (number < l->number) {
        snprintf(text, sizeof text, "%" PRIu64 " after %" PRIu64 ": it is the total so far and cannot fall", number,
                 l->number);
        return misuse(l, text);
    }
    l->number = number;
    l->any = true;
    l->len = 0;
    return 0;
}

static int take_bytes(listener *l, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i] == '\n') {
            if (take_line(l) < 0)
                return -1;
        } else if (l->len == LINE_CAP) {
            return misuse(l, "a line of it is no number");
        } else {
            l->line[l->len++] = data[i];
        }
    }
    return 0;
}

/* Makes durable what was acknowledged. */
static int commit(listener *l)
{
    hx_filter_run *run = l->run;
    hx_filter_ack *ack = &run->ack;
    uint64_t position = 0;
    char text[160];
    if (!l->any)
        return 0;
    l->any = false;
    pthread_mutex_lock(&run->queue.mutex);
    uint64_t offered = ack->offered;
    bool more = l->number > ack->acknowledged;
    if (more && l->number == offered)
        position = ack->tail;
    else if (more && l->number < offered)
        position = ack->positions[l->number % HX_FILTER_ACK_LINES];
    pthread_mutex_unlock(&run->queue.mutex);
    if (l->number > offered) {
        snprintf(text, sizeof text, "%" PRIu64 " lines acknowledged, but only %" PRIu64 " were written", l->number,
                 offered);
        return misuse(l, text);
    }
    if (!more)
        return 0;
    if (position > 0) { /* 0: no id yet */
        int rc = hx_filter_commit(run, position);
        if (rc != 0) {
            hx_filter_fail(run, rc);
            return -1;
        }
    }
    pthread_mutex_lock(&run->queue.mutex);
    ack->acknowledged = l->number;
    pthread_cond_broadcast(&run->queue.changed);
    pthread_mutex_unlock(&run->queue.mutex);
    return 0;
}

static bool all_done(hx_filter_run *run, bool *ended)
{
    pthread_mutex_lock(&run->queue.mutex);
    *ended = run->queue.write_ended;
    bool done = *ended && run->ack.acknowledged == run->ack.offered;
    pthread_mutex_unlock(&run->queue.mutex);
    return done;
}

/* 1: something came, 0: closed, nothing more, or nobody to wait for; -1: said on stderr. */
static int listen_once(listener *l, bool ended)
{
    hx_filter_run *run = l->run;
    char data[4096];
    struct pollfd waits[2] = {{.fd = run->options->ack_fd, .events = POLLIN},
                              {.fd = ended ? -1 : run->ack.wake_fd, .events = POLLIN}};
    bool leaving = ended && atomic_load(&run->broken_pipe);
    int rc = poll(waits, 2, leaving ? 0 : ended ? TICK_MS : -1);
    if (rc < 0 && errno == EINTR)
        return 1;
    if (rc == 0) { /* nothing came while the writing is over */
        l->waited_ms += run->signal != 0 ? TICK_MS : 0;
        return leaving || l->waited_ms >= AFTER_SIGNAL_MS ? 0 : 1;
    }
    if ((waits[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0)
        return (waits[0].revents & POLLNVAL) != 0 ? 0 : 1;
    ssize_t n = read(run->options->ack_fd, data, sizeof data);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 1;
    if (n <= 0) {
        if (l->len > 0 && take_line(l) < 0) /* a last number without its line end */
            return -1;
        return commit(l) < 0 ? -1 : 0;
    }
    if (take_bytes(l, data, (size_t)n) < 0)
        return -1;
    return commit(l) < 0 ? -1 : 1;
}

void *hx_filter_acknowledger(void *arg)
{
    hx_filter_run *run = arg;
    listener l = {.run = run};
    bool ended = false;
    int rc = 1;
    while (rc == 1 && !all_done(run, &ended))
        rc = listen_once(&l, ended);
    hx_filter_queue_flag(&run->queue, &run->queue.commits_over);
    if (rc < 0) {
        hx_filter_queue_flag(&run->queue, &run->queue.judge_cancelled);
        hx_filter_stop(run);
    }
    hx_filter_done(run);
    return NULL;
}
