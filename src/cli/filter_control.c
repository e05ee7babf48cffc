/*
 * filter_control.c - the main thread while the others work: signals and the progress bar.
 *
 * Signals are blocked in every thread and read from a signalfd, so no handler runs anywhere and nothing is global.
 * INT, TERM and HUP: the first one stops the reading, what was judged is finished and committed; the second one ends
 * the program on the spot, which the store survives as it survives a crash. PIPE and XFSZ are ignored and come as
 * errors of the write instead.
 */
#include "cli/filter.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "app/format.h"

#define TICK_MS 200
#define LOOK_MS 60000

/* Those that are ours to take: what was ignored at the start (nohup, a script's background job) stays ignored. */
static void signal_set(sigset_t *set)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) < 0 || before.sa_handler != SIG_IGN)
            sigaddset(set, numbers[i]);
    }
}

void hx_filter_signals_block(void)
{
    sigset_t set;
    signal_set(&set);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void hx_filter_die(int signal_number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal_number);
    signal(signal_number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    kill(getpid(), signal_number);
    _exit(128 + signal_number);
}

void hx_filter_signals_check(void)
{
    const struct timespec now = {0};
    sigset_t set;
    signal_set(&set);
    int number = sigtimedwait(&set, NULL, &now);
    if (number > 0)
        hx_filter_die(number);
}

static void take_signal(hx_filter_run *run, int signal_fd)
{
    struct signalfd_siginfo info;
    if (read(signal_fd, &info, sizeof info) != sizeof info)
        return;
    if (run->signal != 0) {
        hx_progress_end(&run->progress);
        hx_filter_die((int)info.ssi_signo);
    }
    run->signal = (int)info.ssi_signo;
    hx_filter_stop(run);
    hx_log_line(&run->log, "stopping: what was judged is finished; a second signal ends at once");
}

/* What goes wrong quietly while a long run looks fine: said once a minute, as long as it grows. */
static void warn(hx_filter_run *run, uint64_t *sources_over_limit)
{
    hapax_domain_stats stats;
    hx_format_buf count;
    hapax_domain_stat(run->domain, &stats);
    if (stats.sources_over_limit > *sources_over_limit)
        hx_log_line(&run->log, "%s messages were judged without a window: there are more sources than --max-sources",
                    hx_format_count(stats.sources_over_limit - *sources_over_limit, &count));
    *sources_over_limit = stats.sources_over_limit;
}

void hx_filter_done(hx_filter_run *run)
{
    uint64_t one = 1;
    if (write(run->done_fd, &one, sizeof one) < 0)
        hx_log_line(&run->log, "cannot tell that a thread has ended: %s", strerror(errno));
}

/* How many threads have said that they are done since it was last asked. */
static uint64_t take_done(const hx_filter_run *run)
{
    uint64_t count = 0;
    return read(run->done_fd, &count, sizeof count) == sizeof count ? count : 0;
}

void hx_filter_control(hx_filter_run *run)
{
    uint64_t running = run->ack.started ? 2 : 1; /* the writer is the last of its three */
    uint64_t sources_over_limit = run->sources_over_limit;
    int64_t look_ms = hx_progress_now_ms() + LOOK_MS;
    sigset_t set;
    signal_set(&set);
    int signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    struct pollfd waits[2] = {{.fd = run->done_fd, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};
    while (running > 0) {
        int rc = poll(waits, 2, run->progress.on ? TICK_MS : LOOK_MS);
        if (rc < 0 && errno != EINTR)
            break;
        if (rc <= 0)
            waits[0].revents = waits[1].revents = 0;
        if ((waits[0].revents & POLLIN) != 0)
            running -= take_done(run);
        if ((waits[1].revents & POLLIN) != 0)
            take_signal(run, signal_fd);
        if (hx_progress_now_ms() >= look_ms) {
            warn(run, &sources_over_limit);
            look_ms += LOOK_MS;
        }
        hx_progress_draw(&run->progress, "", run->input.read_bytes, run->input.total_bytes, run->counts.in);
    }
    hx_progress_end(&run->progress);
    if (signal_fd >= 0)
        close(signal_fd);
}
