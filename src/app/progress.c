/*
 * progress.c - one line that moves.
 *
 *     [==========>              ]  42 %  151.3 MiB of 360.0 MiB  4,200,000 records  2,100,000/s  0.9 s left
 *     4,200,000 records  2,100,000/s  151.3 MiB                              (where the total is not known)
 *
 * It is drawn in one write and wiped with the terminal's "erase to the end of the line".
 */
#include "app/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "app/format.h"

#define BAR_CELLS 24
#define DRAW_EVERY_MS 200
#define QUIET_MS 1000

int64_t hx_progress_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void hx_progress_init(hx_progress *progress, const hx_log *log)
{
    progress->on = log->terminal;
    progress->shown = false;
    progress->start_ms = hx_progress_now_ms();
    progress->last_ms = 0;
}

static size_t add(char *line, size_t cap, size_t len, const char *text)
{
    int n = snprintf(line + len, cap - len, "%s", text);
    return n < 0 || (size_t)n >= cap - len ? cap - 1 : len + (size_t)n;
}

static size_t add_bar(char *line, size_t cap, size_t len, uint64_t done, uint64_t total)
{
    char bar[BAR_CELLS + 16];
    double part = done >= total ? 1.0 : (double)done / (double)total;
    int cells = (int)(part * BAR_CELLS);
    bar[0] = '[';
    for (int i = 0; i < BAR_CELLS; i++)
        bar[1 + i] = i < cells ? '=' : i == cells ? '>' : ' ';
    snprintf(bar + 1 + BAR_CELLS, sizeof bar - 1 - BAR_CELLS, "] %3d %%  ", (int)(part * 100));
    return add(line, cap, len, bar);
}

void hx_progress_draw(hx_progress *progress, const char *what, uint64_t done_bytes, uint64_t total_bytes,
                      uint64_t records)
{
    char line[256] = "\r\033[K";
    size_t len = 4;
    hx_format_buf a, b;
    if (!progress->on)
        return;
    int64_t now_ms = hx_progress_now_ms();
    int64_t run_ms = now_ms - progress->start_ms;
    if (run_ms < QUIET_MS || now_ms - progress->last_ms < DRAW_EVERY_MS)
        return;
    progress->last_ms = now_ms;
    progress->shown = true;

    len = add(line, sizeof line, len, what);
    if (total_bytes > 0)
        len = add_bar(line, sizeof line, len, done_bytes, total_bytes);
    char text[160];
    if (total_bytes > 0)
        snprintf(text, sizeof text, "%s of %s", hx_format_bytes(done_bytes, &a), hx_format_bytes(total_bytes, &b));
    else
        snprintf(text, sizeof text, "%s", hx_format_bytes(done_bytes, &a));
    len = add(line, sizeof line, len, text);
    if (records != UINT64_MAX) {
        uint64_t rate = records * 1000 / (uint64_t)run_ms;
        snprintf(text, sizeof text, "  %s records  %s/s", hx_format_count(records, &a), hx_format_count(rate, &b));
        len = add(line, sizeof line, len, text);
    }
    if (total_bytes > done_bytes && done_bytes > 0) {
        double left_ms = (double)run_ms * (double)(total_bytes - done_bytes) / (double)done_bytes;
        if (left_ms < 1e15) {
            snprintf(text, sizeof text, "  %s left", hx_format_span((int64_t)left_ms, &a));
            len = add(line, sizeof line, len, text);
        }
    }
    hx_log bare = {.verb = NULL, .terminal = false};
    hx_log_raw(&bare, line, len);
}

void hx_progress_end(hx_progress *progress)
{
    hx_log bare = {.verb = NULL, .terminal = false};
    if (progress->shown)
        hx_log_raw(&bare, "\r\033[K", 4);
    progress->shown = false;
    progress->start_ms = hx_progress_now_ms();
    progress->last_ms = 0;
}
