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

#define LINE_CAP 2048

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
    char line[LINE_CAP];
    size_t head = 0, len;
    va_list args;

    if (log->terminal) {
        memcpy(line, "\r\033[K", 4);
        head = 4;
    }
    len = head;
    len += (size_t)snprintf(line + len, sizeof line - len,
                            log->verb ? "hapax %s: " : "hapax: ", log->verb ? log->verb : "");
    va_start(args, format);
    int n = vsnprintf(line + len, sizeof line - len - 1, format, args);
    va_end(args);
    if (n < 0)
        return;
    if ((size_t)n >= sizeof line - len - 1) {
        len = sizeof line - 2;
        memcpy(line + len - 3, "...", 3);
    } else {
        len += (size_t)n;
    }
    for (size_t i = head; i < len; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    line[len++] = '\n';
    write_all(line, len);
}

void hx_log_raw(const hx_log *log, const char *text, size_t len)
{
    if (log->terminal)
        write_all("\r\033[K", 4);
    write_all(text, len);
}
