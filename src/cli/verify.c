/*
 * verify.c - `hapax verify`: reads every byte of a store and changes nothing.
 *
 * A torn tail is what a crash leaves and no damage: exit 0, and it is said. Damage is exit 3 with file and offset.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/format.h"
#include "app/json.h"
#include "cli/exit.h"
#include "cli/store.h"
#include "cli/verbs.h"

static const hx_option table[] = {
    HX_STORE_ROW_STORE,
    HX_STORE_ROW_JSON,
    HX_STORE_ROW_HELP,
};

static int run(const hx_command *command, int argc, char **argv);

const hx_command hx_verify_command = {
    .name = "verify",
    .arguments = "--store DIR [OPTION...]",
    .summary = "Reads all of a store, checks it and changes nothing.",
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .run = run,
};

static int put_json(const hx_log *log, const hapax_verify_report *report, const hapax_error *error)
{
    hx_buf buf = {0};
    (void)hx_json_open(&buf, '{');
    (void)hx_json_member_bool(&buf, "ok", error == NULL);
    if (error != NULL) {
        (void)hx_json_member_text(&buf, "status", hapax_status_name(error->status));
        (void)hx_json_member_bytes(&buf, "message", error->message, strlen(error->message));
        (void)hx_json_member_bytes(&buf, "path", error->path, strlen(error->path));
        (void)hx_json_member_u64(&buf, "offset", error->offset);
    } else {
        (void)hx_json_member_u64(&buf, "files", report->files);
        (void)hx_json_member_u64(&buf, "batches", report->batches);
        (void)hx_json_member_u64(&buf, "events", report->events);
        (void)hx_json_member_u64(&buf, "bytes", report->bytes);
        (void)hx_json_member_u64(&buf, "torn_bytes", report->torn_bytes);
        if (report->torn_bytes > 0) {
            (void)hx_json_member_bytes(&buf, "torn_path", report->torn_path, strlen(report->torn_path));
            (void)hx_json_member_u64(&buf, "torn_offset", report->torn_offset);
        }
    }
    (void)hx_json_close(&buf, '}');
    (void)hx_buf_append(&buf, "\n", 1);
    int rc = hx_store_put(log, &buf);
    hx_buf_free(&buf);
    return rc;
}

static void put_words(const char *path, const hapax_verify_report *report)
{
    hx_format_buf a, b, c, d;
    printf("%s: no damage; %s files, %s batches, %s events, %s read\n", path, hx_format_count(report->files, &a),
           hx_format_count(report->batches, &b), hx_format_count(report->events, &c),
           hx_format_bytes(report->bytes, &d));
    if (report->torn_bytes > 0)
        printf("%s: the last write was cut short by a crash at byte %s (%s); the next open takes that off\n",
               report->torn_path, hx_format_count(report->torn_offset, &a), hx_format_bytes(report->torn_bytes, &b));
}

static int run(const hx_command *command, int argc, char **argv)
{
    hx_store_options options;
    hapax_verify_report report;
    hapax_error error;
    hx_log log;
    int rc;
    hx_log_init(&log, command->name);
    if (!hx_store_options_read(command, &log, argc, argv, false, &options, &rc))
        return rc;
    memset(&report, 0, sizeof report);
    if (hapax_verify(options.path, &report, &error) < 0) {
        if (options.json && put_json(&log, NULL, &error) != 0)
            return HX_EXIT_TROUBLE;
        rc = hx_exit_report(&log, &error);
        if (error.status == HAPAX_ERR_DAMAGED && strstr(error.message, error.path) == NULL) /* not said yet */
            hx_log_line(&log, "%s: damaged at byte %" PRIu64, error.path, error.offset);
        return rc;
    }
    if (options.json)
        return put_json(&log, &report, NULL);
    put_words(options.path, &report);
    return HX_EXIT_FINE;
}
