/*
 * exit.c - which exit code a failure of the library is.
 *
 * 2 is what another command line, another path or another setting would mend; 3 is trouble with the store or the
 * disk; 4 is a matter of waiting.
 */
#include "cli/exit.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int hx_exit_code(const hapax_error *error)
{
    switch (error->status) {
    case HAPAX_ERR_LOCKED: return HX_EXIT_LOCKED;
    case HAPAX_ERR_INVALID:
    case HAPAX_ERR_TOO_LONG:
    case HAPAX_ERR_NOT_FOUND:
    case HAPAX_ERR_SETTINGS:
    case HAPAX_ERR_TIME_MODE:
    case HAPAX_ERR_READ_ONLY:
    case HAPAX_ERR_DURABILITY: return HX_EXIT_USAGE;
    case HAPAX_ERR_IO:
        /* the path is wrong, not the disk */
        if (error->os_error == ENOTDIR || error->os_error == ENOENT || error->os_error == EACCES ||
            error->os_error == EROFS || error->os_error == EPERM)
            return HX_EXIT_USAGE;
        return HX_EXIT_TROUBLE;
    default: return HX_EXIT_TROUBLE;
    }
}

/* The library knows budgets; who set one typed an option. "" where it is none of them. */
static const char *budget(const hapax_error *error)
{
    if (error->status != HAPAX_ERR_FULL)
        return "";
    return strstr(error->message, "memory budget") != NULL ? "; it is set by --max-memory, nothing was forgotten"
           : strstr(error->message, "disk budget") != NULL ? "; it is set by --max-disk, nothing was forgotten"
                                                           : "";
}

int hx_exit_report(const hx_log *log, const hapax_error *error)
{
    /* "... (HAPAX_ERR_FULL while reading FILE)": a person is helped by the first part only */
    const char *name = strstr(error->message, " (HAPAX_ERR_FULL");
    if (*budget(error) != '\0')
        hx_log_line(log, "%.*s%s", name != NULL ? (int)(name - error->message) : (int)strlen(error->message),
                    error->message, budget(error));
    else if (error->message[0] != '\0')
        hx_log_line(log, "%s", error->message);
    else if (error->path[0] != '\0')
        hx_log_line(log, "%s: %s", error->path, hapax_status_name(error->status));
    else
        hx_log_line(log, "%s", hapax_status_name(error->status));
    return hx_exit_code(error);
}
