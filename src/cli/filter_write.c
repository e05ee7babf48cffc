/*
 * filter_write.c - the writer: runs of bytes to the files, then sync, then commit.
 *
 *     write kept, dropped, verdicts  ->  more waiting? write that too  ->  fdatasync  ->  hapax_commit
 *
 * The order is the promise: an id is durable only after its line is out. While a commit runs the next blocks are
 * judged and wait, so the slower the disk the larger the batch, and a trickle is committed line by line.
 *
 * A write that fails ends the run. What was written whole before it is committed; what follows stays out of the store
 * (the store is closed as after a crash, see filter.c). After EPIPE not even that: the reader has gone, and lines
 * that stood in the pipe went with it, so it is better that they come again.
 */
#include "cli/filter.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/exit.h"

#define COMMIT_RECORDS 65536 /* out and not durable: commit although more is waiting */

int hx_filter_commit(hx_filter_run *run, uint64_t position)
{
    hapax_error error;
    int rc = hx_filter_outputs_sync(run);
    if (rc != 0)
        return rc;
    if (hapax_commit(run->store, position, &error) < 0)
        return hx_exit_report(&run->log, &error);
    hx_filter_queue_committed(&run->queue);
    return 0;
}

/* Back to whole blocks, so that what was written before can be committed. */
static void take_back(hx_filter_output *output, uint64_t length)
{
    if (output->mode != HX_FILTER_OUTPUT_KEPT)
        return;
    if (ftruncate(output->fd, (off_t)length) == 0) /* else the sizes differ and the commit is refused */
        output->written = length;
}

static int write_output(hx_filter_run *run, hx_filter_output *output, struct iovec *runs, size_t count,
                        uint64_t bytes)
{
    int rc = hx_filter_output_write(output, runs, count, bytes);
    if (rc >= 0)
        return 0;
    atomic_store(&run->write_failed, true);
    if (rc == -EPIPE && output == &run->outputs.kept && output->mode == HX_FILTER_OUTPUT_STREAM) {
        atomic_store(&run->broken_pipe, true);
        return -1;
    }
    hx_log_line(&run->log, "%s: %s", output->shown, strerror(-rc));
    hx_filter_fail(run, HX_EXIT_TROUBLE);
    return -1;
}

/* stdout failed inside a line that this run began: it is taken back, where the file ends with it and can be cut. */
static void take_back_line(hx_filter_output *output, uint64_t whole)
{
    uint64_t end = output->written + output->partial;
    struct stat st;
    if (!output->regular || end == whole || fstat(output->fd, &st) < 0 || (uint64_t)st.st_size != end ||
        lseek(output->fd, 0, SEEK_CUR) != (off_t)end)
        return; /* somebody else writes there too: the next run begins a line of its own */
    if (ftruncate(output->fd, (off_t)whole) == 0)
        (void)lseek(output->fd, (off_t)whole, SEEK_SET);
}

/*
 * The write of a block to stdout stopped half-way. Its whole lines are out, and count. A run of bytes holds whole
 * records, so the record in which it stopped was written from its beginning.
 */
static void end_inside(hx_filter_run *run, const hx_filter_block *block)
{
    hx_filter_output *output = &run->outputs.kept;
    const unsigned char *stop = output->stopped_at;
    uint64_t whole = output->whole, lines = 0;
    if (stop >= block->data && stop < block->data + block->len) { /* else it is the separator */
        size_t at = (size_t)(stop - block->data);
        for (size_t i = 0; i < block->count && block->ends[i] <= at; i++) {
            lines += block->out[i];
            whole = output->written + output->partial - (at - block->ends[i]);
        }
    }
    run->counts.out += lines;
    take_back_line(output, whole);
}

static void count_out(hx_filter_run *run, const hx_filter_block *block, bool failed)
{
    hx_filter_output *output = &run->outputs.kept;
    if (failed && output->mode == HX_FILTER_OUTPUT_STREAM)
        end_inside(run, block);
    if (failed)
        return;
    run->counts.out += block->out_count;
    if (!block->inside_record)
        output->whole = output->written;
}

static int write_block(hx_filter_run *run, hx_filter_block *block)
{
    hx_filter_outputs *outputs = &run->outputs;
    uint64_t kept = outputs->kept.written, dropped = outputs->dropped.written, verdicts = outputs->verdicts.written;
    struct iovec text = {.iov_base = block->verdicts.data, .iov_len = block->verdicts.len};
    int rc = write_output(run, &outputs->kept, block->kept.runs, block->kept.count, block->kept.bytes);
    count_out(run, block, rc < 0);
    if (rc == 0)
        rc = write_output(run, &outputs->dropped, block->dropped.runs, block->dropped.count, block->dropped.bytes);
    if (rc == 0)
        rc = write_output(run, &outputs->verdicts, &text, 1, block->verdicts.len);
    if (rc < 0) {
        take_back(&outputs->kept, kept);
        take_back(&outputs->dropped, dropped);
        take_back(&outputs->verdicts, verdicts);
    }
    return rc;
}

static int commit_pending(hx_filter_run *run)
{
    if (run->pending_position == 0)
        return 0;
    int rc = hx_filter_commit(run, run->pending_position);
    run->pending_position = 0; /* also where it failed: it is not tried twice */
    run->pending_records = 0;
    if (rc != 0) {
        atomic_store(&run->write_failed, true);
        hx_filter_fail(run, rc);
        return -1;
    }
    return 0;
}

static int write_all(hx_filter_run *run)
{
    bool acknowledged = run->options->ack_fd >= 0;
    hx_filter_block *block;
    while ((block = hx_filter_queue_write(&run->queue)) != NULL) {
        if (acknowledged && !hx_filter_ack_offer(run, block))
            return -1;
        if (write_block(run, block) < 0)
            return -1;
        bool free = !acknowledged || (block->line_count == 0 && hx_filter_ack_all(run));
        if (block->commit_position > 0 && free) {
            run->pending_position = block->commit_position;
            run->pending_records += block->message_count;
        }
        hx_filter_queue_advance(&run->queue, &run->queue.written);
        bool due = hx_filter_queue_writer_idle(&run->queue) || run->pending_records >= COMMIT_RECORDS;
        if (due && commit_pending(run) < 0)
            return -1;
    }
    return 0;
}

void *hx_filter_writer(void *arg)
{
    hx_filter_run *run = arg;
    if (write_all(run) < 0) {
        hx_filter_queue_flag(&run->queue, &run->queue.judge_cancelled);
        hx_filter_stop(run);
    }
    if (!atomic_load(&run->broken_pipe))
        commit_pending(run);
    hx_filter_queue_flag(&run->queue, &run->queue.write_ended);
    uint64_t one = 1;
    if (write(run->ack.wake_fd, &one, sizeof one) < 0)
        hx_log_line(&run->log, "cannot tell that the writing has ended: %s", strerror(errno));
    hx_filter_done(run);
    return NULL;
}
