/*
 * filter.c - `hapax filter`: messages in, the first copy of each out, remembered.
 *
 * This file opens everything in the order in which it can fail without a trace (options, selection, inputs, a look
 * at the outputs, store, outputs), starts the threads, waits, and closes. How it is closed is the point:
 *
 *     all that was judged is out               bookmark "ended", commit, close
 *     lines were not written (EPIPE, ENOSPC)   abandon: what is held back is as if it had never been
 *     --ack-fd and lines not acknowledged      abandon, for the same reason
 */
#include "cli/filter.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "app/format.h"
#include "cli/exit.h"
#include "cli/verbs.h"

void hx_filter_stop(hx_filter_run *run)
{
    uint64_t one = 1;
    atomic_store(&run->stop, true);
    if (write(run->wake_fd, &one, sizeof one) < 0 && errno != EAGAIN)
        hx_log_line(&run->log, "cannot wake the reading: %s", strerror(errno));
}

void hx_filter_fail(hx_filter_run *run, int exit_code)
{
    int fine = HX_EXIT_FINE;
    atomic_compare_exchange_strong(&run->exit_code, &fine, exit_code);
}

/* ---- opening -----------------------------------------------------------------------------------------------------
 */

static void recovery_progress(void *arg, uint64_t done_bytes, uint64_t total_bytes)
{
    hx_filter_run *run = arg;
    hx_filter_signals_check();
    hx_progress_draw(&run->progress, "reading back the store ", done_bytes, total_bytes, UINT64_MAX);
}

static void say_opened(hx_filter_run *run)
{
    hapax_open_report *report = &run->open_report;
    hx_format_buf a, b;
    hapax_store_open_report(run->store, report);
    if (report->torn_bytes > 0)
        hx_log_line(&run->log, "%s: the last write was cut short by a crash; %s behind byte %s were taken off",
                    report->torn_path, hx_format_bytes(report->torn_bytes, &a),
                    hx_format_count(report->torn_offset, &b));
}

/* Who asked for less than full durability is told what that means, each time. */
static void say_durability(const hx_filter_run *run)
{
    if (run->durable && run->options->store.durability == HAPAX_DURABILITY_PROCESS)
        hx_log_line(&run->log,
                    "durability is 'process': what is remembered survives the end of this process, however "
                    "it comes, but not power loss");
}

static int open_store(hx_filter_run *run)
{
    const hx_filter_options *options = run->options;
    hapax_store_options store = options->store;
    hapax_error error;
    if (run->durable) {
        store.flags |= HAPAX_OPEN_HOLD;
        store.progress = recovery_progress;
        store.progress_arg = run;
    }
    if (hapax_store_open(&store, &run->store, &error) < 0) {
        hx_progress_end(&run->progress);
        return hx_exit_report(&run->log, &error);
    }
    hx_progress_end(&run->progress);
    say_opened(run);
    say_durability(run);
    return hx_filter_domain_open(run);
}

static int open_plan(hx_filter_run *run)
{
    hx_select_error error;
    int rc = hx_select_plan_new(&run->options->select, &run->plan, &error);
    if (rc == 0)
        return 0;
    hx_log_line(&run->log, "%s", rc == -ENOMEM ? "no memory" : error.message);
    return rc == -ENOMEM ? HX_EXIT_TROUBLE : HX_EXIT_USAGE;
}

static int open_memory(hx_filter_run *run)
{
    const hx_filter_options *options = run->options;
    run->results = malloc(HX_FILTER_BLOCK_RECORDS * sizeof *run->results);
    int rc = hx_filter_queue_init(&run->queue, options->ack_fd >= 0, options->duplicates != NULL);
    if (rc == 0)
        rc = hx_filter_ack_init(run);
    if (rc == 0 && run->results != NULL)
        return 0;
    hx_log_line(&run->log, "no memory");
    return HX_EXIT_TROUBLE;
}

static int open_all(hx_filter_run *run)
{
    const hx_filter_options *options = run->options;
    run->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    run->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    run->ack.wake_fd = eventfd(0, EFD_CLOEXEC);
    if (run->wake_fd < 0 || run->done_fd < 0 || run->ack.wake_fd < 0) {
        hx_log_line(&run->log, "no file descriptors left: %s", strerror(errno));
        return HX_EXIT_TROUBLE;
    }
    int rc = open_plan(run);
    if (rc == 0)
        rc = hx_filter_input_init(&run->input, &run->log, options->files, options->file_count, options->select.nul,
                                  &run->stop, run->wake_fd);
    if (rc == 0)
        rc = hx_filter_files_check(run);
    if (rc == 0)
        rc = open_memory(run);
    if (rc == 0)
        rc = open_store(run);
    if (rc == 0)
        rc = hx_filter_outputs_open(run);
    run->write_header = run->outputs.kept.length == 0;
    return rc;
}

/* ---- the threads --------------------------------------------------------------------------------------------------
 */

static int run_threads(hx_filter_run *run)
{
    void *(*const bodies[])(void *) = {hx_filter_writer, hx_filter_judge, hx_filter_reader};
    pthread_t threads[3];
    size_t started = 0;
    int rc = 0;
    if (run->options->ack_fd >= 0) {
        rc = pthread_create(&run->ack.thread, NULL, hx_filter_acknowledger, run);
        run->ack.started = rc == 0;
    }
    while (rc == 0 && started < 3) {
        rc = pthread_create(&threads[started], NULL, bodies[started], run);
        started += rc == 0;
    }
    if (rc != 0) { /* no thread: end those that run, as if the input were empty */
        hx_log_line(&run->log, "cannot start a thread: %s", strerror(rc));
        hx_filter_fail(run, HX_EXIT_TROUBLE);
        hx_filter_queue_flag(&run->queue, &run->queue.fill_ended);
        if (started < 2)
            hx_filter_queue_flag(&run->queue, &run->queue.judge_ended);
        if (started < 1)
            hx_filter_queue_flag(&run->queue, &run->queue.write_ended);
    }
    if (started > 0) /* the writer runs */
        hx_filter_control(run);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    if (run->ack.started)
        pthread_join(run->ack.thread, NULL);
    return rc;
}

/* ---- closing
 * ------------------------------------------------------------------------------------------------------- */

static bool all_out(const hx_filter_run *run)
{
    if (atomic_load(&run->write_failed) || atomic_load(&run->judge_failed))
        return false;
    return run->options->ack_fd < 0 || run->ack.acknowledged == run->ack.offered;
}

/* The last write: this run came to its end. */
static void end_bookmark(hx_filter_run *run)
{
    hapax_error error;
    uint64_t position;
    if (!run->begun || run->judged_inside)
        return;
    int rc = hx_filter_bookmark_set(run, &run->judged, true, &position, &error);
    rc = rc < 0 ? hx_exit_report(&run->log, &error) : hx_filter_commit(run, UINT64_MAX);
    if (rc != 0) {
        atomic_store(&run->write_failed, true);
        hx_filter_fail(run, rc);
    }
}

static void close_store(hx_filter_run *run)
{
    hapax_error error;
    bool out = all_out(run);
    if (out && run->bookmarked)
        end_bookmark(run);
    if (!out || atomic_load(&run->write_failed))
        hapax_store_abandon(run->store);
    else if (hapax_store_close(run->store, &error) < 0)
        hx_filter_fail(run, hx_exit_report(&run->log, &error));
    run->store = NULL;
}

static void free_all(hx_filter_run *run)
{
    hapax_store_abandon(run->store); /* still open only where the run did not begin */
    hx_filter_queue_free(&run->queue);
    hx_filter_input_free(&run->input);
    hx_select_plan_free(run->plan);
    free(run->results);
    free(run->ack.positions);
    int fds[] = {run->wake_fd, run->done_fd, run->ack.wake_fd};
    for (size_t i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* The side files and FILE are put in place when the run gave a result, also one that ended at a bad record. */
static bool is_result(const hx_filter_run *run)
{
    int code = run->exit_code;
    return run->signal == 0 && !run->broken_pipe && (code == HX_EXIT_FINE || code == HX_EXIT_RECORDS);
}

static int run_filter(hx_filter_run *run)
{
    int rc = open_all(run);
    if (rc != 0) {
        hx_filter_outputs_close(run, false);
        return rc;
    }
    int64_t start_ms = hx_progress_now_ms();
    run_threads(run);
    int64_t run_ms = hx_progress_now_ms() - start_ms;
    if (run->ack.closed_early && !run->broken_pipe && run->signal == 0 && run->exit_code == HX_EXIT_FINE) {
        hx_log_line(&run->log, "--ack-fd %d was closed before the end of the input", run->options->ack_fd);
        hx_filter_fail(run, HX_EXIT_TROUBLE);
    }
    if (!run->broken_pipe)
        hx_filter_summary(run, run_ms);
    close_store(run);
    rc = hx_filter_outputs_close(run, is_result(run));
    if (rc != 0)
        hx_filter_fail(run, rc);
    return run->exit_code;
}

int hx_filter_main(const hx_command *command, int argc, char **argv)
{
    hx_filter_options options;
    hx_log log;
    hx_log_init(&log, command->name);
    int rc = hx_filter_options_read(command, &log, argc, argv, &options);
    if (rc == 0 && options.help)
        hx_options_help(command);
    if (rc != 0 || options.help) {
        hx_filter_options_free(&options);
        return rc;
    }
    hx_filter_run *run = calloc(1, sizeof *run);
    if (run == NULL) {
        hx_log_line(&log, "no memory");
        hx_filter_options_free(&options);
        return HX_EXIT_TROUBLE;
    }
    run->options = &options;
    run->log = log;
    run->durable = options.store.path != NULL;
    run->bookmarked = run->durable && options.output != NULL;
    run->wake_fd = run->done_fd = run->ack.wake_fd = -1;
    hx_progress_init(&run->progress, &run->log);
    hx_filter_signals_block();
    rc = run_filter(run);
    int signal_number = run->broken_pipe ? SIGPIPE : run->signal;
    free_all(run);
    free(run);
    hx_filter_options_free(&options);
    if (signal_number != 0)
        hx_filter_die(signal_number);
    return rc;
}
