/*
 * filter_options.c - the options of `hapax filter`: one table, and from its words to hx_filter_options.
 *
 * What only makes sense together, or not together, is checked once at the end, so that the order of the options does
 * not matter. What concerns the selection (is this a JSON Pointer?) is left to src/select, which knows.
 */
#include "cli/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "app/value.h"
#include "cli/exit.h"
#include "cli/verbs.h"

enum {
    OPT_FORMAT,
    OPT_ID,
    OPT_ID_PATTERN,
    OPT_DELIMITER,
    OPT_SOURCE,
    OPT_TIME,
    OPT_TIME_UNIT,
    OPT_HEADER,
    OPT_NUL,
    OPT_WINDOW,
    OPT_EXPIRY,
    OPT_REFRESH,
    OPT_MAX_AGE,
    OPT_SOURCE_IDLE,
    OPT_MAX_SOURCES,
    OPT_MAX_STEP,
    OPT_POLICY,
    OPT_NUMBER,
    OPT_STALE,
    OPT_STORE,
    OPT_DOMAIN,
    OPT_CHANGE_SETTINGS,
    OPT_DURABILITY,
    OPT_MAX_MEMORY,
    OPT_MAX_DISK,
    OPT_MAX_RECORD,
    OPT_OUTPUT,
    OPT_AGAIN,
    OPT_ACK_FD,
    OPT_DUPLICATES,
    OPT_VERDICTS,
    OPT_OBSERVE,
    OPT_MISSING,
    OPT_INVALID,
    OPT_JSON,
    OPT_HELP,
    OPT_COUNT,
};

static const hx_option table[OPT_COUNT] = {
    [OPT_FORMAT] = {"format", 0, "FORMAT", "record format: ndjson, csv, tsv or lines",
                    "by the file's suffix, else ndjson"},
    [OPT_ID] = {"id", 0, "SEL",
                "where the id is: a JSON Pointer (/order/id); a column name or 1-based number; with lines a field "
                "number, see --delimiter. More than once: an id of several parts",
                "/id; the first column; the whole line"},
    [OPT_ID_PATTERN] = {"id-pattern", 0, "REGEX",
                        "lines: the id is the first group, or else the whole match, of this PCRE2 pattern", NULL},
    [OPT_DELIMITER] = {"delimiter", 0, "CHAR", "lines: what parts the fields; csv: instead of the comma", NULL},
    [OPT_SOURCE] = {"source", 0, "SEL", "where the source is; selected as the id is", "no source"},
    [OPT_TIME] = {"time", 0, "SEL", "where the receive time is: a number, or RFC 3339", "the activity clock"},
    [OPT_TIME_UNIT] = {"time-unit", 0, "UNIT", "a number under --time counts ms or s since 1970", "ms"},
    [OPT_HEADER] = {"header", 0, "YES|NO", "csv and tsv files begin with a header: yes or no", "yes"},
    [OPT_NUL] = {NULL, 'z', NULL, "records end in NUL, not in a line end", NULL},
    [OPT_WINDOW] = {"window", 0, "N", "ids of each source that never expire: its last N", "2000"},
    [OPT_EXPIRY] = {"expiry", 0, "DURATION",
                    "how long an id pushed out of its window stays known, in receive time; or forever",
                    "with a store 120s, without one forever"},
    [OPT_REFRESH] = {"refresh", 0, "ON|OFF", "a duplicate renews its id's place in the window: on or off", "on"},
    [OPT_MAX_AGE] = {"max-age", 0, "DURATION", "forget an id this long after its receipt, downtime included; or off",
                     "off"},
    [OPT_SOURCE_IDLE] = {"source-idle", 0, "DURATION", "empty the window of a source silent for this long; or off",
                         "off"},
    [OPT_MAX_SOURCES] = {"max-sources", 0, "N", "sources that get a window of their own", "65536"},
    [OPT_MAX_STEP] = {"max-step", 0, "DURATION",
                      "a time under --time further ahead than this is not believed at once; or off", "off"},
    [OPT_POLICY] = {"policy", 0, "POLICY", "how ids are judged: window", "window"},
    [OPT_NUMBER] = {"number", 0, "PLACE", "comes with the sequence policy", NULL},
    [OPT_STALE] = {"stale", 0, "RULE", "comes with the sequence policy", NULL},
    [OPT_STORE] = {"store", 0, "DIR", "remember across runs, in this folder; made where missing", "memory only"},
    [OPT_DOMAIN] = {"domain", 0, "NAME", "the name space of the ids in the store", "default"},
    [OPT_CHANGE_SETTINGS] = {"change-settings", 0, NULL,
                             "allow a setting that differs from the store's to push ids out", NULL},
    [OPT_DURABILITY] = {"durability", 0, "MODE",
                        "full: survives power loss, refused where the file system cannot give it; process: survives "
                        "only the end of the process",
                        "full"},
    [OPT_MAX_MEMORY] = {"max-memory", 0, "SIZE",
                        "budget for what is remembered; at the budget an error, nothing is forgotten", "none"},
    [OPT_MAX_DISK] = {"max-disk", 0, "SIZE",
                      "budget for the store's files; at the budget an error, nothing is forgotten", "none"},
    [OPT_MAX_RECORD] = {"max-record", 0, "SIZE", "a longer record is invalid", "16MiB"},
    [OPT_OUTPUT] = {"output", 0, "FILE",
                    "instead of stdout; with --store each message is in it exactly once, also after a crash and a "
                    "re-run; without one it is replaced at the end of the run",
                    NULL},
    [OPT_AGAIN] = {"again", 0, NULL, "judge the input from its start although the store knows it", NULL},
    [OPT_ACK_FD] =
        {"ack-fd", 0, "N",
         "read from file descriptor N how many lines the reader of stdout has dealt with so far, one number "
         "a line; only their ids become durable",
         NULL},
    [OPT_DUPLICATES] = {"duplicates", 0, "FILE", "the dropped records, byte for byte", NULL},
    [OPT_VERDICTS] = {"verdicts", 0, "FILE", "one JSON object per input record", NULL},
    [OPT_OBSERVE] = {"observe", 0, NULL, "drop nothing, only count; ids are remembered all the same", NULL},
    [OPT_MISSING] = {"missing", 0, "RULE", "a record without an id: pass, drop or fail", "pass"},
    [OPT_INVALID] = {"invalid", 0, "RULE", "a record that does not parse: fail, pass or drop", "fail"},
    [OPT_JSON] = {"json", 0, NULL, "the summary as one JSON object on stderr", NULL},
    [OPT_HELP] = {"help", 'h', NULL, "this text", NULL},
};

const hx_command hx_filter_command = {
    .name = "filter",
    .arguments = "[OPTION...] [FILE...]",
    .summary =
        "Reads messages from the files or stdin and writes the first copy of each to stdout, byte for byte as it "
        "came, in order.",
    .options = table,
    .option_count = OPT_COUNT,
    .run = hx_filter_main,
};

static const char *const rule_words[] = {"pass", "drop", "fail"};
static const char *const switch_words[] = {"off", "on"};
static const char *const header_words[] = {"no", "yes"};
static const char *const unit_words[] = {"ms", "s"};
static const char *const durability_words[] = {"full", "process"};
static const char *const policy_words[] = {"window", "sequence"};
static const char *const format_words[] = {"ndjson", "csv", "tsv", "lines"};

#define WORDS(list) (list), sizeof(list) / sizeof *(list)

static int set_policy(const hx_log *log, int opt, const char *value)
{
    int word;
    if (opt == OPT_POLICY) {
        int rc = hx_value_word(log, "--policy", value, WORDS(policy_words), &word);
        if (rc < 0 || word == 0)
            return rc;
        hx_log_line(log, "--policy sequence is not there yet: it comes with the sequence policy");
        return -EINVAL;
    }
    hx_log_line(log, "--%s comes with the sequence policy, which is not there yet", table[opt].name);
    return -EINVAL;
}

static int set_domain(const hx_log *log, hx_filter_options *options, int opt, const char *value)
{
    hapax_domain_options *domain = &options->domain;
    int word, rc;
    switch (opt) {
    case OPT_WINDOW: return hx_value_number(log, "--window", value, 0, HAPAX_WINDOW_MAX, &domain->window);
    case OPT_EXPIRY: return hx_value_duration(log, "--expiry", value, "forever", 0, &domain->expiry_ms);
    case OPT_REFRESH:
        rc = hx_value_word(log, "--refresh", value, WORDS(switch_words), &word);
        if (rc == 0)
            domain->refresh = word;
        return rc;
    case OPT_MAX_AGE: return hx_value_duration(log, "--max-age", value, "off", 1, &domain->max_age_ms);
    case OPT_SOURCE_IDLE: return hx_value_duration(log, "--source-idle", value, "off", 1, &domain->source_idle_ms);
    case OPT_MAX_SOURCES: return hx_value_number(log, "--max-sources", value, 1, 16777216, &domain->max_sources);
    case OPT_MAX_STEP: return hx_value_duration(log, "--max-step", value, "off", 0, &domain->max_step_ms);
    case OPT_CHANGE_SETTINGS: domain->change_settings = true; return 0;
    default: return set_policy(log, opt, value);
    }
}

static int set_select(const hx_log *log, hx_filter_options *options, int opt, const char *value)
{
    hx_select_options *select = &options->select;
    int word = 0, rc;
    switch (opt) {
    case OPT_FORMAT:
        rc = hx_value_word(log, "--format", value, WORDS(format_words), &word);
        if (rc == 0)
            rc = hx_select_format_parse(format_words[word], &select->format);
        options->format_given = rc == 0;
        return rc;
    case OPT_ID:
        if (select->id_count == HX_SELECT_IDS_MAX) {
            hx_log_line(log, "--id is given more than %d times", HX_SELECT_IDS_MAX);
            return -EINVAL;
        }
        options->ids[select->id_count++] = value;
        return 0;
    case OPT_ID_PATTERN: select->id_pattern = value; return 0;
    case OPT_DELIMITER: select->delimiter = value; return 0;
    case OPT_SOURCE: select->source = value; return 0;
    case OPT_TIME: select->time = value; return 0;
    case OPT_TIME_UNIT:
        rc = hx_value_word(log, "--time-unit", value, WORDS(unit_words), &word);
        select->time_unit = word == 1 ? HX_SELECT_S : HX_SELECT_MS;
        return rc;
    case OPT_HEADER:
        rc = hx_value_word(log, "--header", value, WORDS(header_words), &word);
        select->no_header = word == 0;
        return rc;
    default: select->nul = true; return 0; /* OPT_NUL */
    }
}

static int set_rest(const hx_log *log, hx_filter_options *options, int opt, const char *value)
{
    int64_t number;
    int word = 0, rc;
    switch (opt) {
    case OPT_STORE: options->store.path = value; return 0;
    case OPT_DOMAIN: options->domain_name = value; return 0;
    case OPT_DURABILITY:
        rc = hx_value_word(log, "--durability", value, WORDS(durability_words), &word);
        options->store.durability = word == 1 ? HAPAX_DURABILITY_PROCESS : HAPAX_DURABILITY_FULL;
        return rc;
    case OPT_MAX_MEMORY: return hx_value_size(log, "--max-memory", value, 1, &options->store.max_memory_bytes);
    case OPT_MAX_DISK: return hx_value_size(log, "--max-disk", value, 1, &options->store.max_disk_bytes);
    case OPT_MAX_RECORD: return hx_value_size(log, "--max-record", value, 1, &options->max_record_bytes);
    case OPT_OUTPUT: options->output = value; return 0;
    case OPT_ACK_FD:
        rc = hx_value_number(log, "--ack-fd", value, 0, INT32_MAX, &number);
        if (rc == 0)
            options->ack_fd = (int)number;
        return rc;
    case OPT_DUPLICATES: options->duplicates = value; return 0;
    case OPT_VERDICTS: options->verdicts = value; return 0;
    case OPT_AGAIN: options->again = true; return 0;
    case OPT_OBSERVE: options->observe = true; return 0;
    case OPT_JSON: options->json = true; return 0;
    case OPT_HELP: options->help = true; return 0;
    case OPT_MISSING:
        rc = hx_value_word(log, "--missing", value, WORDS(rule_words), &word);
        options->missing = (hx_filter_rule)word;
        return rc;
    default: /* OPT_INVALID */
        rc = hx_value_word(log, "--invalid", value, WORDS(rule_words), &word);
        options->invalid = (hx_filter_rule)word;
        return rc;
    }
}

static int set(const hx_log *log, hx_filter_options *options, int opt, const char *value)
{
    if (opt <= OPT_NUL)
        return set_select(log, options, opt, value);
    if (opt <= OPT_STALE || opt == OPT_CHANGE_SETTINGS)
        return set_domain(log, options, opt, value);
    return set_rest(log, options, opt, value);
}

/* The format that the files' names suggest; they have to agree. */
static int guess_format(const hx_log *log, hx_filter_options *options)
{
    for (size_t i = 0; i < options->file_count; i++) {
        hx_select_format format = hx_select_format_by_name(options->files[i]);
        if (i > 0 && format != options->select.format) {
            hx_log_line(log, "%s looks like %s and %s like %s: say which with --format", options->files[0],
                        hx_select_format_name(options->select.format), options->files[i],
                        hx_select_format_name(format));
            return -EINVAL;
        }
        options->select.format = format;
    }
    return 0;
}

/* What only makes sense together. */
static int check_store_needed(const hx_log *log, const hx_filter_options *options)
{
    const char *alone = options->ack_fd >= 0                                 ? "--ack-fd"
                        : options->again                                     ? "--again"
                        : options->store.max_disk_bytes != HAPAX_UNSET       ? "--max-disk"
                        : options->store.durability != HAPAX_DURABILITY_FULL ? "--durability"
                                                                             : NULL;
    if (options->store.path == NULL && alone != NULL) {
        hx_log_line(log, "%s needs --store DIR", alone);
        return -EINVAL;
    }
    return 0;
}

static int check_names(const hx_log *log, const hx_filter_options *options)
{
    const struct {
        const char *option, *value, *what;
    } names[] = {
        {"store", options->store.path, "the name of a folder"},
        {"domain", options->domain_name, "a name"},
        {"output", options->output, "the name of a file"},
        {"duplicates", options->duplicates, "the name of a file"},
        {"verdicts", options->verdicts, "the name of a file"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].value != NULL && names[i].value[0] == '\0') {
            hx_log_line(log, "--%s needs %s", names[i].option, names[i].what);
            return -EINVAL;
        }
    if (strlen(options->domain_name) > HAPAX_NAME_MAX) {
        hx_log_line(log, "--domain takes a name of at most %d bytes, not of %zu", HAPAX_NAME_MAX,
                    strlen(options->domain_name));
        return -EINVAL;
    }
    return 0;
}

static int check(const hx_log *log, hx_filter_options *options)
{
    if (check_names(log, options) < 0 || check_store_needed(log, options) < 0)
        return -EINVAL;
    if (options->again && options->output == NULL) {
        hx_log_line(log, "--again needs --output FILE: only its input is known to the store");
        return -EINVAL;
    }
    if (options->ack_fd >= 0 && options->output != NULL) {
        hx_log_line(log, "--ack-fd is for the reader of stdout and cannot be used with --output");
        return -EINVAL;
    }
    if (options->ack_fd >= 0 && (options->ack_fd <= 2 || fcntl(options->ack_fd, F_GETFD) < 0)) {
        hx_log_line(log, "--ack-fd %d: no open file descriptor above 2", options->ack_fd);
        return -EINVAL;
    }
    if (options->domain.window == 0 && options->domain.expiry_ms == 0) {
        hx_log_line(log, "--window 0 and --expiry 0 together would remember nothing");
        return -EINVAL;
    }
    return options->format_given ? 0 : guess_format(log, options);
}

int hx_filter_options_read(const hx_command *command, const hx_log *log, int argc, char **argv,
                           hx_filter_options *options)
{
    memset(options, 0, sizeof *options);
    hapax_store_options_init(&options->store);
    hapax_domain_options_init(&options->domain);
    options->domain_name = "default";
    options->max_record_bytes = (int64_t)16 << 20;
    options->ack_fd = -1;
    options->invalid = HX_FILTER_FAIL;
    options->files = calloc((size_t)argc + 1, sizeof *options->files);
    if (options->files == NULL) {
        hx_log_line(log, "no memory");
        return HX_EXIT_TROUBLE;
    }
    hx_options reader;
    hx_options_init(&reader, command, log, argc, argv);
    const char *value = NULL;
    int opt;
    while ((opt = hx_options_next(&reader, &value)) != HX_OPTIONS_END) {
        if (opt == HX_OPTIONS_OPERAND) {
            options->files[options->file_count++] = value;
            continue;
        }
        if (opt < 0 || set(log, options, opt, value) < 0)
            return HX_EXIT_USAGE;
    }
    if (options->help)
        return 0;
    if (options->file_count == 0)
        options->files[options->file_count++] = "-";
    options->select.ids = options->ids;
    return check(log, options) < 0 ? HX_EXIT_USAGE : 0;
}

void hx_filter_options_free(hx_filter_options *options)
{
    free(options->files);
    options->files = NULL;
}
