/*
 * store.c - opening a store to look into it: read-only, nothing is created, nothing is changed.
 *
 * The lock is taken all the same: a store that is in use is refused with the pid of its owner (exit 4).
 */
#include "cli/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/progress.h"
#include "app/suggest.h"
#include "cli/exit.h"

static bool finish(int *ret_exit, int code)
{
    *ret_exit = code;
    return false;
}

static bool check(const hx_command *command, const hx_log *log, bool takes_id, hx_store_options *options,
                  int *ret_exit)
{
    if (options->help) {
        hx_options_help(command);
        return finish(ret_exit, HX_EXIT_FINE);
    }
    if (options->path == NULL) {
        hx_log_line(log, "--store DIR is missing: which store?");
        return finish(ret_exit, HX_EXIT_USAGE);
    }
    if (options->path[0] == '\0') {
        hx_log_line(log, "--store needs the name of a folder");
        return finish(ret_exit, HX_EXIT_USAGE);
    }
    if (options->domain != NULL && options->domain[0] == '\0') {
        hx_log_line(log, "--domain needs a name");
        return finish(ret_exit, HX_EXIT_USAGE);
    }
    if (takes_id && options->id != NULL && options->id[0] == '\0') {
        hx_log_line(log, "the id is empty: that is no id, and nothing is remembered of a record without one");
        return finish(ret_exit, HX_EXIT_USAGE);
    }
    if (takes_id && options->id == NULL) {
        hx_log_line(log, "which id? usage: hapax %s %s", command->name, command->arguments);
        return finish(ret_exit, HX_EXIT_USAGE);
    }
    if (options->gaps) {
        hx_log_line(log, "--gaps comes with the sequence policy, which is not there yet");
        return finish(ret_exit, HX_EXIT_USAGE);
    }
    return true;
}

bool hx_store_options_read(const hx_command *command, const hx_log *log, int argc, char **argv, bool takes_id,
                           hx_store_options *options, int *ret_exit)
{
    hx_options reader;
    const char *value = NULL;
    int opt;
    memset(options, 0, sizeof *options);
    hx_options_init(&reader, command, log, argc, argv);
    while ((opt = hx_options_next(&reader, &value)) != HX_OPTIONS_END) {
        if (opt == HX_OPTIONS_BAD)
            return finish(ret_exit, HX_EXIT_USAGE);
        if (opt == HX_OPTIONS_OPERAND) {
            if (!takes_id || options->id != NULL) {
                hx_log_line(log, "%s is one word too many; see hapax %s --help", value, command->name);
                return finish(ret_exit, HX_EXIT_USAGE);
            }
            options->id = value;
            continue;
        }
        const char *name = command->options[opt].name;
        if (strcmp(name, "store") == 0)
            options->path = value;
        else if (strcmp(name, "domain") == 0)
            options->domain = value;
        else if (strcmp(name, "json") == 0)
            options->json = true;
        else if (strcmp(name, "gaps") == 0)
            options->gaps = true;
        else
            options->help = true;
    }
    return check(command, log, takes_id, options, ret_exit);
}

static void show_recovery(void *arg, uint64_t done_bytes, uint64_t total_bytes)
{
    hx_progress_draw(arg, "reading the store ", done_bytes, total_bytes, UINT64_MAX);
}

static int open_to_look(const hx_log *log, const char *path, hapax_store **ret_store)
{
    hapax_store_options options;
    hapax_error error;
    hx_progress progress;
    hapax_store_options_init(&options);
    hx_progress_init(&progress, log);
    options.path = path;
    options.flags = HAPAX_OPEN_READ_ONLY | HAPAX_OPEN_EXISTING;
    options.progress = show_recovery;
    options.progress_arg = &progress;
    int rc = hapax_store_open(&options, ret_store, &error);
    hx_progress_end(&progress);
    return rc < 0 ? hx_exit_report(log, &error) : 0;
}

int hx_store_look(const hx_command *command, int argc, char **argv, bool takes_id,
                  int (*look)(const hx_log *log, hapax_store *store, const hx_store_options *options))
{
    hx_store_options options;
    hapax_store *store = NULL;
    hx_log log;
    int rc;
    hx_log_init(&log, command->name);
    if (!hx_store_options_read(command, &log, argc, argv, takes_id, &options, &rc))
        return rc;
    rc = open_to_look(&log, options.path, &store);
    if (rc == 0)
        rc = look(&log, store, &options);
    hapax_store_close(store, NULL);
    return rc;
}

int hx_store_find_domain(const hx_log *log, hapax_store *store, const char *name, hapax_domain **ret_domain)
{
    enum { NAMES_MAX = 256 };
    static const char *const none = "there is none yet";
    char list[512] = "";
    size_t len = 0, name_len = strlen(name);
    hapax_domain_stats stats;
    hapax_domain *domain;
    for (size_t i = 0; (domain = hapax_domain_at(store, i)) != NULL; i++) {
        hapax_domain_stat(domain, &stats);
        if (stats.name_len == name_len && memcmp(stats.name, name, name_len) == 0) {
            *ret_domain = domain;
            return 0;
        }
        if (i < NAMES_MAX && len < sizeof list)
            len += (size_t)snprintf(list + len, sizeof list - len, "%s%.*s", i > 0 ? ", " : "", (int)stats.name_len,
                                    stats.name);
    }
    hx_log_line(log, "no domain %s in this store; its domains: %s", name, list[0] != '\0' ? list : none);
    return HX_EXIT_USAGE;
}

int hx_store_put(const hx_log *log, const hx_buf *buf)
{
    if (buf->len == 0 || (fwrite(buf->data, 1, buf->len, stdout) == buf->len && fflush(stdout) == 0))
        return 0;
    hx_log_line(log, "stdout: %s", strerror(errno));
    return HX_EXIT_TROUBLE;
}
