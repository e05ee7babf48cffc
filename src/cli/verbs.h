/*
 * verbs.h - the verbs of the program, one file each.
 *
 * How to add one: VERB.c with an hx_command and its table of options, a line here, a line in main.c's table, a page
 * man/hapax-VERB.1.scd (the option section is kept by man/sync-options.py) and tests in test/cli.
 */
#ifndef HX_CLI_VERBS_H
#define HX_CLI_VERBS_H

#include "app/options.h"

extern const hx_command hx_filter_command;
extern const hx_command hx_stat_command;
extern const hx_command hx_explain_command;
extern const hx_command hx_dump_command;
extern const hx_command hx_verify_command;

#endif
