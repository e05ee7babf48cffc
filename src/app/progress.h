/*
 * progress.h - one line that moves, for people at a terminal: only where stderr is one, only after a second.
 *
 * Not for several threads at once.
 */
#ifndef HX_APP_PROGRESS_H
#define HX_APP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "app/log.h"

typedef struct hx_progress {
    bool on;          /* stderr is a terminal */
    bool shown;       /* a bar stands on the last line */
    int64_t start_ms; /* monotonic */
    int64_t last_ms;  /* when it was drawn last */
} hx_progress;

void hx_progress_init(hx_progress *progress, const hx_log *log);

/*
 * Draws, at most five times a second. `what` begins the line ("reading back the store"). total_bytes 0: not known,
 * then there is no bar. records UINT64_MAX: not counted.
 */
void hx_progress_draw(hx_progress *progress, const char *what, uint64_t done_bytes, uint64_t total_bytes,
                      uint64_t records);

/* Wipes the line and starts the clock anew. */
void hx_progress_end(hx_progress *progress);

/* Milliseconds of the monotonic clock. */
int64_t hx_progress_now_ms(void);

#endif
