/* store.h - what the verbs that look into a store share: their common options, and opening it without changing it. */
#ifndef HX_CLI_STORE_H
#define HX_CLI_STORE_H

#include <stdbool.h>

#include <hapax.h>

#include "app/log.h"
#include "app/options.h"
#include "base/buf.h"

/* Rows that the tables of these verbs begin with, in this order. */
enum { HX_STORE_OPT_STORE, HX_STORE_OPT_DOMAIN, HX_STORE_OPT_JSON, HX_STORE_OPT_HELP, HX_STORE_OPT_COUNT };

#define HX_STORE_ROW_STORE                                                                                           \
    {                                                                                                                \
        "store", 0, "DIR", "the store's folder", NULL                                                                \
    }
#define HX_STORE_ROW_JSON                                                                                            \
    {                                                                                                                \
        "json", 0, NULL, "the answer as JSON", NULL                                                                  \
    }
#define HX_STORE_ROW_HELP                                                                                            \
    {                                                                                                                \
        "help", 'h', NULL, "this text", NULL                                                                         \
    }

typedef struct hx_store_options {
    const char *path;
    const char *domain; /* NULL: not given */
    const char *id;     /* explain: the operand */
    bool json, help, gaps;
} hx_store_options;

/*
 * Reads the words of a verb; `takes_id`: it has one operand, else none. false: the verb is done (help was shown, or
 * an error said) and *ret_exit is its exit code.
 */
bool hx_store_options_read(const hx_command *command, const hx_log *log, int argc, char **argv, bool takes_id,
                           hx_store_options *options, int *ret_exit);

/*
 * Runs a verb that looks into a store: reads its words, opens the store read-only, calls `look`, closes. `takes_id`
 * as above. Returns the exit code, which is what `look` returns where it is called.
 */
int hx_store_look(const hx_command *command, int argc, char **argv, bool takes_id,
                  int (*look)(const hx_log *log, hapax_store *store, const hx_store_options *options));

/* Finds a domain by name, or says which there are. 0 or an exit code. */
int hx_store_find_domain(const hx_log *log, hapax_store *store, const char *name, hapax_domain **ret_domain);

/* Writes buf to stdout. 0 or an exit code. */
int hx_store_put(const hx_log *log, const hx_buf *buf);

#endif
