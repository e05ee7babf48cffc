/*
 * log.c - messages to people, on stderr: one line, one write.
 *
 * A message that is longer than the buffer is cut and says so with "...". Errors of stderr itself are nobody's to
 * hear.
 */
#include "app/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/format.h"

#define TEXT_CAP 2048

void hx_log_init(hx_log *log, const char *verb)
{
    log->verb = verb;
    log->terminal = isatty(STDERR_FILENO) == 1;
}

static void write_all(const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDERR_FILENO, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        text += n;
        len -= (size_t)n;
    }
}

void hx_log_line(const hx_log *log, const char *format, ...)
{
    char text[TEXT_CAP];
    char line[64 + HX_FORMAT_SHOWN_CAP(TEXT_CAP)];
    size_t len = 0;
    va_list args;

    if (log->terminal) {
        memcpy(line, "\r\033[K", 4);
        len = 4;
    }
    len += (size_t)snprintf(line + len, 60, log->verb ? "hapax %s: " : "hapax: ", log->verb ? log->verb : "");
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0)
        return;
    if ((size_t)n >= sizeof text) {
        n = (int)sizeof text - 1;
        memcpy(text + n - 3, "...", 3);
    }
    len += hx_format_shown(text, (size_t)n, line + len, sizeof line - len - 1);
    line[len++] = '\n';
    write_all(line, len);
}

void hx_log_raw(const hx_log *log, const char *text, size_t len)
{
    if (log->terminal)
        write_all("\r\033[K", 4);
    write_all(text, len);
}
