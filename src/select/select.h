/*
 * select.h - where a record's id, source and time come from. Bytes in, values out; no I/O.
 *
 *     options --hx_select_plan_new--> plan (immutable, shared by threads)
 *                                       |
 *     data + records (split.h) --hx_select_block(state)--> one hx_selected per record
 *                                       |
 *                                     state (one per thread: scratch, counters of the JSON reader, match data)
 *
 * Order of calls: hx_select_plan_new; where hx_select_has_header says so, hx_select_header with the first record of
 * each file, in the order of the files (the first call resolves the column names); hx_select_state_new per thread,
 * after the first header; then per block hx_select_reset and hx_select_block.
 *
 * Thread rule: hx_select_plan_new and the first hx_select_header come before any other use of the plan; from then on
 * the plan is read only and any number of threads may use it, each with its own state. A state belongs to one
 * thread at a time. A plan outlives its states.
 *
 * Pointer rule: what hx_selected points to lies in the data of the block or in the state, and lives until the next
 * hx_select_reset of that state, as long as the caller keeps the block's data. So: reset once per block, not per
 * record. Error texts are in the same place.
 *
 * Reading rule: no byte outside data[0, data_len) is ever read, so the block may end at the end of a page.
 *
 * ---- What an id is (cli.md, Identity) ----
 *
 * ndjson  A record is one JSON text, RFC 8259, and is validated as a whole, whatever is selected: grammar, numbers,
 *         escapes, UTF-8, control characters, nothing behind it. Depth is limited by the record's length alone.
 *         Selectors are JSON Pointers (RFC 6901; "~0" is "~", "~1" is "/"; "" is the whole document; array indices
 *         are decimal without leading zeros). A string selects its content with the escapes resolved; a number, true
 *         and false their text; null, or nothing there, is missing; an object or array makes the record invalid.
 *         A lone surrogate escape anywhere makes it invalid, as does a name that the pointer goes through and that
 *         stands twice in its object (names compare with escapes resolved).
 *         A blank line (nothing, or only space, tab, CR) is a record without an id: it holds no message, but it is
 *         part of what the user gave, so it is counted and passes like anything else that cannot be judged.
 *         That goes for an empty record of any format, also under --time: its time_ms is 0 then, so that a domain
 *         with given times can take it.
 * csv tsv Selectors are column names or 1-based numbers; where a column has a name that looks like a number, the
 *         name wins. A field's content is what its quotes enclose, "" being one quote. A record with too few fields
 *         has no such field; otherwise the number of fields does not matter.
 * lines   The whole line; or fields by 1-based number between single delimiter bytes (no quoting, none merged); or
 *         --id-pattern: the first group, or the whole match where the pattern has no group. No match, or a group
 *         that took no part, is missing. A pattern of ASCII only works on bytes; one with other characters on UTF-8.
 *
 * A missing id and an empty id are the same: id_len 0. With several id selectors the id is
 *         LEN ':' part ... ':' last part
 * with LEN the decimal length in bytes of each part but the last: ("ab", "7") gives "2:ab:7", ("a", "", "x")
 * gives "1:a0::x". No two lists of parts, of any number, give the same id; a number as the last part stays at the
 * end behind a constant prefix; and the id can be typed. All parts missing or empty: no id; else missing is empty.
 *
 * A source is selected by the same rules; missing or null is "". A time is a JSON string or number, a field, read as
 * a number of ms (or s, `time_unit`; fractions allowed) or else as RFC 3339; a record whose time is missing or
 * unreadable is invalid. An id above HAPAX_ID_MAX or a source above HAPAX_NAME_MAX bytes is invalid, never cut.
 */
#ifndef HX_SELECT_SELECT_H
#define HX_SELECT_SELECT_H

#include "select/split.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hx_select_format {
    HX_SELECT_NDJSON = 0,
    HX_SELECT_CSV,
    HX_SELECT_TSV,
    HX_SELECT_LINES,
} hx_select_format;

typedef enum hx_select_time_unit { HX_SELECT_MS = 0, HX_SELECT_S } hx_select_time_unit;

/* What the user asked for, as text. Zero-initialise; NULL or 0 is the default. Borrowed for the call only. */
typedef struct hx_select_options {
    hx_select_format format;
    const char *const *ids; /* --id, in order; none: "/id", the first column, the whole line */
    size_t id_count;        /* at most HX_SELECT_IDS_MAX */
    const char *id_pattern; /* --id-pattern, format lines only, not together with --id */
    const char *source;     /* --source */
    const char *time;       /* --time */
    hx_select_time_unit time_unit;
    const char *delimiter; /* --delimiter: one byte, or "\t" spelled out. lines: parts fields. csv: instead of "," */
    bool no_header;        /* --header no; csv and tsv only */
    bool nul;              /* -z */
} hx_select_options;

#define HX_SELECT_IDS_MAX 16

typedef struct hx_select_error {
    char message[512]; /* one line, names the option and the place in it; no newline at its end */
} hx_select_error;

typedef struct hx_select_plan hx_select_plan;
typedef struct hx_select_state hx_select_state;

typedef enum hx_select_status { HX_SELECT_OK = 0, HX_SELECT_INVALID = 1 } hx_select_status;

/* What one record gave. Strings are not terminated and may hold any byte, NUL included. */
typedef struct hx_selected {
    const unsigned char *id; /* never NULL when id_len > 0 */
    const unsigned char *source;
    size_t id_len;     /* 0: no id, the record is UNCHECKED; at most HAPAX_ID_MAX */
    size_t source_len; /* at most HAPAX_NAME_MAX */
    int64_t time_ms;   /* HAPAX_NOW where no --time was given */
    hx_select_status status;
    /* INVALID only; then the fields above are id NULL, id_len 0, source_len 0, time_ms HAPAX_NOW */
    uint64_t line;       /* 1-based line in the file */
    uint64_t column;     /* 1-based byte column on that line; 0 where the fault has no place (nothing there) */
    const char *message; /* plain words without place, file or newline */
} hx_selected;

/* The format that a file name suggests (.csv .tsv .tab .txt .lines .ndjson .jsonl .json); HX_SELECT_NDJSON else. */
hx_select_format hx_select_format_by_name(const char *path);

/* "ndjson", "csv", "tsv", "lines" <-> format. hx_select_format_parse returns -EINVAL for any other word. */
const char *hx_select_format_name(hx_select_format format);
int hx_select_format_parse(const char *text, hx_select_format *ret);

/* Check and compile. Returns 0, -EINVAL (err says which option is wrong, where and why) or -ENOMEM. */
int hx_select_plan_new(const hx_select_options *options, hx_select_plan **ret, hx_select_error *err);
void hx_select_plan_free(hx_select_plan *plan);

hx_select_format hx_select_plan_format(const hx_select_plan *plan);

/* Does each file of this plan begin with a header record that is no message? */
bool hx_select_has_header(const hx_select_plan *plan);

/* Set up `split` for the start of a file of this plan. */
void hx_select_split(const hx_select_plan *plan, hx_split *split);

/*
 * Take the header record of a file. The first one resolves the column names. A later one must have the same fields
 * (content, not quoting; a byte order mark and the line end do not count).
 * Returns 0, -EINVAL (an unknown or ambiguous column, with the nearest name; a header that differs, with the
 * column; a fault in its quotes) or -ENOMEM. err does not name the file: the caller does.
 */
int hx_select_header(hx_select_plan *plan, const unsigned char *data, const hx_split_record *record,
                     hx_select_error *err);

/* Returns 0 or -ENOMEM. For csv and tsv with a header, call it after the first hx_select_header. */
int hx_select_state_new(const hx_select_plan *plan, hx_select_state **ret);
void hx_select_state_free(hx_select_state *state);

/* Begin a new block: everything that the state handed out before is void. Keeps its memory for the next block. */
void hx_select_reset(hx_select_state *state);

/*
 * Select from `count` records that hx_split_next found in data[0, data_len). Fills ret[0, count). An invalid record
 * is an answer, not an error. A record with a fault, or with taken > 0, is INVALID.
 * Returns 0, or -ENOMEM: then ret is void and the block may be given again.
 */
int hx_select_block(hx_select_state *state, const unsigned char *data, size_t data_len,
                    const hx_split_record *records, size_t count, hx_selected *ret);

#endif
