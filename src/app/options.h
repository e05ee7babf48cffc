/*
 * options.h - one table of options per verb: parsing, --help and the check of the man page all come from it.
 *
 * How to add an option: a row in the verb's table, a case in the verb's loop, then man/sync-options.py.
 * How to add a verb: a file in src/cli with an hx_command, a line in the verb table of src/cli/main.c, a man page.
 */
#ifndef HX_APP_OPTIONS_H
#define HX_APP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "app/log.h"

typedef struct hx_option {
    const char *name;         /* long name without the dashes; NULL for -z and the like */
    char letter;              /* short name, or 0 */
    const char *argument;     /* how the argument is called, NULL where there is none */
    const char *help;         /* one or two plain sentences without an end mark */
    const char *default_text; /* what holds where it is not given; NULL: nothing to say */
} hx_option;

typedef struct hx_command {
    const char *name;      /* the verb */
    const char *arguments; /* what follows it, for the usage line */
    const char *summary;   /* one line, for the list of verbs */
    const hx_option *options;
    size_t option_count;
    int (*run)(const struct hx_command *command, int argc,
               char **argv); /* argv[0] is the verb; returns the exit code */
} hx_command;

typedef struct hx_options {
    const hx_command *command;
    const hx_log *log;
    int argc;
    char **argv;
    int at;              /* next word */
    const char *letters; /* rest of a word of short options, or NULL */
    bool operands_only;  /* "--" was seen */
    char shown[64];      /* the option as it was written, for messages */
} hx_options;

enum {
    HX_OPTIONS_END = -1,     /* no more words */
    HX_OPTIONS_OPERAND = -2, /* a word that is no option, in *ret_value */
    HX_OPTIONS_BAD = -3,     /* said on stderr; exit 2 */
};

void hx_options_init(hx_options *options, const hx_command *command, const hx_log *log, int argc, char **argv);

/*
 * The next option or operand. Returns its index in the table, with its argument in *ret_value (NULL for a switch), or
 * one of the above. `--name=value`, `--name value`, `-n value`, `-nvalue` and joined switches are taken.
 */
int hx_options_next(hx_options *options, const char **ret_value);

/* The help text of a verb, on stdout. */
void hx_options_help(const hx_command *command);

#endif
