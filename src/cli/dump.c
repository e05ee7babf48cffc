/*
 * dump.c - `hapax dump`: everything a store holds, one JSON object a line, oldest first within a domain.
 *
 * Ids are kept as keyed hashes only, so that is what is shown; `hapax explain` finds an id by its text.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/format.h"
#include "app/json.h"
#include "cli/exit.h"
#include "cli/store.h"
#include "cli/verbs.h"

static const hx_option table[] = {
    HX_STORE_ROW_STORE,
    {"domain", 0, "NAME", "only this domain", "all of them"},
    {"json", 0, NULL, "the answer is JSON anyway; taken so that every verb takes it", NULL},
    HX_STORE_ROW_HELP,
};

static int run(const hx_command *command, int argc, char **argv);

const hx_command hx_dump_command = {
    .name = "dump",
    .arguments = "--store DIR [OPTION...]",
    .summary = "Writes everything that a store holds, one JSON object a line.",
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .run = run,
};

typedef struct dump {
    hapax_domain *domain;
    hapax_domain_stats stats;
    hx_buf line;
} dump;

static int held_by(hx_buf *buf, unsigned bits)
{
    static const char *const names[] = {"window", "time queue", "claim"};
    int rc = hx_json_key(buf, "held_by");
    if (rc == 0)
        rc = hx_json_open(buf, '[');
    for (size_t i = 0; rc == 0 && i < 3; i++) {
        if ((bits & 1u << i) == 0)
            continue;
        if (buf->data[buf->len - 1] != '[')
            rc = hx_buf_append(buf, ",", 1);
        if (rc == 0)
            rc = hx_json_string(buf, names[i], strlen(names[i]));
    }
    return rc < 0 ? rc : hx_json_close(buf, ']');
}

static int put_occurrence(void *arg, const hapax_occurrence *occurrence)
{
    dump *d = arg;
    char source[HAPAX_NAME_MAX];
    hx_format_buf wall;
    hx_buf *buf = &d->line;
    buf->len = 0;
    int len = hapax_source_name(d->domain, occurrence->source, source, sizeof source);
    int rc = hx_json_open(buf, '{');
    if (rc == 0)
        rc = hx_json_member_bytes(buf, "domain", d->stats.name, d->stats.name_len);
    if (rc == 0)
        rc = hx_json_member_hex(buf, "hash", occurrence->hash, sizeof occurrence->hash);
    if (rc == 0 && len >= 0) /* else its name is not kept */
        rc = hx_json_member_bytes(buf, "source", source, (size_t)len < sizeof source ? (size_t)len : sizeof source);
    if (rc == 0)
        rc = hx_json_member_i64(buf, "receive_ms", occurrence->receive_ms);
    if (rc == 0)
        rc = hx_json_member_i64(buf, "wall_ms", occurrence->wall_ms);
    if (rc == 0)
        rc = hx_json_member_text(buf, "wall_time", hx_format_wall(occurrence->wall_ms, &wall));
    if (rc == 0)
        rc = hx_json_member_text(buf, "state", (occurrence->held_by & HAPAX_HELD_BY_CLAIM) ? "in_flight" : "done");
    if (rc == 0)
        rc = held_by(buf, occurrence->held_by);
    if (rc == 0)
        rc = hx_json_close(buf, '}');
    if (rc == 0)
        rc = hx_buf_append(buf, "\n", 1);
    if (rc < 0)
        return rc;
    return fwrite(buf->data, 1, buf->len, stdout) == buf->len ? 0 : -errno;
}

static int look(const hx_log *log, hapax_store *store, const hx_store_options *options)
{
    dump d = {0};
    hapax_domain *only = NULL;
    int rc = options->domain == NULL ? 0 : hx_store_find_domain(log, store, options->domain, &only);
    if (rc != 0)
        return rc;
    for (size_t i = 0; rc == 0 && (d.domain = hapax_domain_at(store, i)) != NULL; i++) {
        if (only != NULL && d.domain != only)
            continue;
        hapax_domain_stat(d.domain, &d.stats);
        rc = hapax_dump(d.domain, put_occurrence, &d);
    }
    hx_buf_free(&d.line);
    if (rc == 0 && fflush(stdout) != 0)
        rc = -errno;
    if (rc == 0)
        return HX_EXIT_FINE;
    hx_log_line(log, "stdout: %s", strerror(-rc));
    return HX_EXIT_TROUBLE;
}

static int run(const hx_command *command, int argc, char **argv)
{
    return hx_store_look(command, argc, argv, false, look);
}
