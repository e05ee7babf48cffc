/*
 * fail.c - filling in a caller's hapax_error.
 *
 * The one idea: every error passes through here, so that each has a status, a sentence, and no stale rest of an
 * earlier one.
 */
#define HX_FAIL_IS_DEFINED_HERE
#include "core/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(hapax_error *error, int status, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static void fill(hapax_error *error, int status, const char *format, va_list args)
{
    char message[sizeof error->message];
    vsnprintf(message, sizeof message, format, args);
    memset(error, 0, sizeof *error);
    error->status = status;
    memcpy(error->message, message, sizeof message);
}

int hx_fail(hapax_error *ret_error, int status, const char *format, ...)
{
    if (ret_error == NULL)
        return status;
    va_list args;
    va_start(args, format);
    fill(ret_error, status, format, args);
    va_end(args);
    return status;
}

/* The message of an errno value, without the static buffer of strerror. */
static const char *os_message(int os_error, char *buf, size_t size)
{
    return strerror_r(os_error < 0 ? -os_error : os_error, buf, size);
}

int hx_fail_os(hapax_error *ret_error, int os_error, const char *what, const char *path)
{
    int code = os_error < 0 ? -os_error : os_error;
    int status = code == ENOSPC || code == EDQUOT || code == EFBIG ? HAPAX_ERR_FULL
                 : code == ENOMEM                                  ? HAPAX_ERR_MEMORY
                                                                   : HAPAX_ERR_IO;
    char text[128];
    hx_fail(ret_error, status, "%s %s: %s", what, path, os_message(code, text, sizeof text));
    if (ret_error != NULL) {
        ret_error->os_error = code;
        hx_fail_path(ret_error->path, path);
    }
    return status;
}

int hx_fail_damaged(hapax_error *ret_error, const char *path, uint64_t offset, const char *format, ...)
{
    if (ret_error == NULL)
        return HAPAX_ERR_DAMAGED;
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    hx_fail(ret_error, HAPAX_ERR_DAMAGED, "%s, offset %llu: %s", path, (unsigned long long)offset, what);
    hx_fail_path(ret_error->path, path);
    ret_error->offset = offset;
    return HAPAX_ERR_DAMAGED;
}

void hx_fail_path(char to[256], const char *path)
{
    size_t len = strlen(path);
    memcpy(to, len < 256 ? path : path + len - 255, len < 256 ? len + 1 : 256);
}
