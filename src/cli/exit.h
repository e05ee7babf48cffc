/* exit.h - how the program ends: the exit codes, and which of them a failure of the library is. */
#ifndef HX_CLI_EXIT_H
#define HX_CLI_EXIT_H

#include <hapax.h>

#include "app/log.h"

enum {
    HX_EXIT_FINE = 0,
    HX_EXIT_RECORDS = 1, /* records were invalid or had no id; explain: not known */
    HX_EXIT_USAGE = 2,   /* usage, configuration, or an input that cannot be read */
    HX_EXIT_TROUBLE = 3, /* store damaged, an I/O error, a full disk or budget */
    HX_EXIT_LOCKED = 4,  /* somebody else has the store, or the output file */
};

/* The exit code that fits a failure of the library. */
int hx_exit_code(const hapax_error *error);

/* Says it on stderr and returns the exit code that fits. */
int hx_exit_report(const hx_log *log, const hapax_error *error);

#endif
