/*
 * log.h - messages to people, on stderr.
 *
 * Every message is one whole line and one write(2), so that lines of several threads never mix and a progress bar on
 * the same terminal is wiped first. Thread rule: any thread, at the same time.
 */
#ifndef HX_APP_LOG_H
#define HX_APP_LOG_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hx_log {
    const char *verb; /* "filter"; NULL for the program itself */
    bool terminal;    /* stderr is one: a bar may stand on its last line */
} hx_log;

void hx_log_init(hx_log *log, const char *verb);

/* "hapax VERB: MESSAGE\n". Control characters in the message are shown as \x1b: it may quote input. */
void hx_log_line(const hx_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes text as it is, all of it; for the summary. */
void hx_log_raw(const hx_log *log, const char *text, size_t len);

#endif
