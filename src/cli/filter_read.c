/*
 * filter_read.c - the reader: bytes to records to messages.
 *
 *     one block:   | rest of the last block | what this read gave                 |
 *                  | record | record | record | ...        | unfinished: the rest |
 *
 * Whatever a read returns goes on at once, as soon as one record is complete: nothing waits for a block to fill. The
 * bytes are not copied again except the rest, which is less than a record (or, where a block is full of tiny records,
 * what did not fit its table).
 *
 * A record that is longer than --max-record is handed on in pieces, so that a line of any length passes through the
 * memory of a block; its end comes as an INVALID record that says how long it may be.
 *
 * Under `fail` the reader ends in front of the record: what is before it goes the usual way.
 */
#include "cli/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/format.h"
#include "cli/exit.h"

#define SCRATCH 512  /* records looked at in one go */
#define NAMED_MAX 10 /* invalid records that are named one by one */
#define ROOM_MIN ((size_t)32 << 10)

typedef struct reader {
    hx_filter_run *run;
    hx_split split;
    const unsigned char *rest; /* unfinished bytes in the block before */
    size_t rest_len;
    bool file_ended;
    bool header_due;             /* the file's first record is its header */
    bool any_header;             /* one was taken */
    uint64_t line_base;          /* lines of this file that an earlier run judged */
    uint64_t records;            /* of the whole input, invalid ones included */
    uint64_t skip_len;           /* the first record is known if it has this length */
    uint64_t named;              /* invalid records so far */
    hx_filter_position position; /* behind the last whole record */
    uint64_t last_len;           /* content of the block's last record where it has no end */
    bool position_void;          /* the block's last record is a header without an end: nothing to go on behind */
    hx_split_record found[SCRATCH];
    hx_selected selected[SCRATCH];
} reader;

static void begin_file(reader *r)
{
    hx_select_split(r->run->plan, &r->split);
    r->header_due = hx_select_has_header(r->run->plan);
    r->line_base = 0;
    r->file_ended = false;
}

static int no_memory(reader *r)
{
    hx_log_line(&r->run->log, "no memory");
    hx_filter_fail(r->run, HX_EXIT_TROUBLE);
    return -1;
}

/* ---- one record ------------------------------------------------------------------------------------------------ */

static void append(hx_filter_block *block, size_t end, hx_filter_kind kind)
{
    block->ends[block->count] = end;
    block->kinds[block->count] = (uint8_t)kind;
    block->count++;
}

static void say_place(reader *r, uint64_t line, uint64_t column, const char *message)
{
    const char *name = hx_filter_input_name(&r->run->input);
    line += r->line_base;
    if (column > 0)
        hx_log_line(&r->run->log, "%s:%" PRIu64 ":%" PRIu64 ": %s", name, line, column, message);
    else
        hx_log_line(&r->run->log, "%s:%" PRIu64 ": %s", name, line, message);
}

/* Says what is wrong, within reason. Returns -1 where the run ends here. */
static int invalid(reader *r, uint64_t line, uint64_t column, const char *message)
{
    bool fail = r->run->options->invalid == HX_FILTER_FAIL;
    r->named++;
    if (fail || r->named <= NAMED_MAX)
        say_place(r, line, column, message);
    else if (r->named == NAMED_MAX + 1)
        hx_log_line(&r->run->log, "further invalid records are counted, not named");
    if (!fail)
        return 0;
    hx_filter_fail(r->run, HX_EXIT_RECORDS);
    return -1;
}

static int too_long(reader *r, uint64_t line)
{
    hx_format_buf size;
    char text[160];
    uint64_t quote_line, quote_column;
    size_t len = (size_t)snprintf(text, sizeof text, "longer than --max-record, %s",
                                  hx_format_bytes((uint64_t)r->run->options->max_record_bytes, &size));
    if (hx_split_open_quote(&r->split, &quote_line, &quote_column))
        snprintf(text + len, sizeof text - len, "; the quote at %" PRIu64 ":%" PRIu64 " is not closed",
                 quote_line + r->line_base, quote_column);
    return invalid(r, line, 0, text);
}

/*
 * The input ends in CR: the first half of a CR LF, whose other half is still to come or is put there when another
 * file follows. So it is no part of the content, and what comes then is no other record.
 */
static void take_half_end(const unsigned char *base, hx_split_record *record)
{
    if (record->end_len > 0 || record->taken > 0 || record->len == 0 ||
        base[record->offset + record->len - 1] != '\r')
        return;
    record->len--;
    record->end_len = 1;
}

static bool ends_in_cr(const unsigned char *base, const hx_split_record *record)
{
    return record->taken == 0 && record->end_len > 0 && base[record->offset + record->len] == '\r';
}

/* How much of a record that has no end, or half of one, must be looked at again; else 0. */
static uint64_t open_len(const unsigned char *base, const hx_split_record *record)
{
    if (record->end_len == 0)
        return record->len;
    return record->end_len == 1 && ends_in_cr(base, record) ? record->len + 1 : 0;
}

/* Is this the record that the last run judged without its end? */
static bool is_known(const reader *r, const unsigned char *base, const hx_split_record *record)
{
    return record->len == r->skip_len || (record->len + 1 == r->skip_len && ends_in_cr(base, record));
}

static int take_header(reader *r, hx_filter_block *block, const unsigned char *base, size_t at)
{
    const hx_split_record *record = &r->found[0];
    hx_select_error error;
    int rc = hx_select_header(r->run->plan, base, record, &error);
    if (rc == -ENOMEM)
        return no_memory(r);
    if (rc < 0) {
        say_place(r, record->line, 0, error.message);
        hx_filter_fail(r->run, HX_EXIT_USAGE);
        return -1;
    }
    append(block, at + record->offset + record->len + record->end_len,
           r->any_header ? HX_FILTER_SKIP : HX_FILTER_HEADER);
    r->header_due = false;
    r->any_header = true;
    r->position_void = record->end_len == 0;
    return 0;
}

/*
 * A record becomes a message. The judge is the busier of the two threads, except with JSON: the hash of the id is
 * taken here then.
 */
static void add_message(reader *r, hx_filter_block *block, const hx_selected *selected)
{
    unsigned char *hash = block->hashes[block->message_count];
    bool hashed = selected->id_len > 0 && r->run->options->select.format != HX_SELECT_NDJSON;
    if (hashed)
        hapax_id_hash(r->run->domain, selected->id, selected->id_len, hash);
    block->messages[block->message_count++] = (hapax_message){
        .id = selected->id,
        .id_len = selected->id_len,
        .hash = hashed ? hash : NULL,
        .source = selected->source,
        .source_len = selected->source_len,
        .time_ms = selected->time_ms,
    };
}

/* Returns -1 where the run ends in front of this record. */
static int take_record(reader *r, hx_filter_block *block, const unsigned char *base, const hx_split_record *record,
                       const hx_selected *selected, size_t end)
{
    const hx_filter_options *options = r->run->options;
    hx_filter_kind kind = HX_FILTER_INVALID;
    int rc = 0;
    if (record->taken > 0)
        rc = 0; /* said when its first piece was taken */
    else if (record->len > (uint64_t)options->max_record_bytes)
        rc = too_long(r, record->line);
    else if (selected->status != HX_SELECT_OK)
        rc = invalid(r, selected->line, selected->column, selected->message);
    else if (selected->time_ms != HAPAX_NOW &&
             (selected->time_ms > HAPAX_TIME_MAX_MS || selected->time_ms < -HAPAX_TIME_MAX_MS))
        rc = invalid(r, record->line, 0, "the time is out of range");
    else
        kind = HX_FILTER_MESSAGE;
    if (rc < 0)
        return rc;
    if (kind == HX_FILTER_MESSAGE && selected->id_len == 0 && options->missing == HX_FILTER_FAIL) {
        say_place(r, record->line, 0, "no id");
        hx_filter_fail(r->run, HX_EXIT_RECORDS);
        return -1;
    }
    if (kind == HX_FILTER_MESSAGE)
        add_message(r, block, selected);
    append(block, end, kind);
    r->records++;
    r->last_len = open_len(base, record);
    r->position_void = false;
    return 0;
}

/* ---- many records ---------------------------------------------------------------------------------------------- */

/* `count` records that were found from base on, which is `at` in the block. -1 where the run ends among them. */
static int take_records(reader *r, hx_filter_block *block, size_t at, size_t len, size_t count)
{
    const unsigned char *base = block->data + at;
    size_t first = 0;
    if (block->count == 0) {
        block->name = hx_filter_input_name(&r->run->input);
        block->first_line = r->found[0].line + r->line_base;
    }
    if (r->header_due) {
        if (take_header(r, block, base, at) < 0)
            return -1;
        first = 1;
    }
    if (first < count && r->file_ended && !r->run->options->select.nul)
        take_half_end(base, &r->found[count - 1]);
    if (first < count && r->skip_len > 0) {
        const hx_split_record *record = &r->found[first];
        if (is_known(r, base, record)) {
            append(block, at + record->offset + record->len + record->end_len, HX_FILTER_SKIP);
            r->last_len = open_len(base, record);
            r->records++;
            first++;
        }
        r->skip_len = 0;
    }
    if (first == count)
        return 0;
    if (block->state == NULL && hx_select_state_new(r->run->plan, &block->state) < 0)
        return no_memory(r);
    if (hx_select_block(block->state, base, len, r->found + first, count - first, r->selected + first) < 0)
        return no_memory(r);
    for (size_t i = first; i < count; i++) {
        const hx_split_record *record = &r->found[i];
        size_t end = at + record->offset + record->len + record->end_len;
        if (take_record(r, block, base, record, &r->selected[i], end) < 0)
            return -1;
    }
    return 0;
}

/* All complete records from *at on, as far as the block's table goes. */
static int split_some(reader *r, hx_filter_block *block, size_t *at)
{
    for (;;) {
        size_t room = HX_FILTER_BLOCK_RECORDS - block->count;
        size_t want = room < SCRATCH ? room : SCRATCH;
        size_t consumed = 0;
        if (want == 0)
            return 0;
        size_t count =
            hx_split_next(&r->split, block->data + *at, block->len - *at, r->file_ended, r->found, want, &consumed);
        if (count > 0 && take_records(r, block, *at, block->len - *at, count) < 0)
            return -1;
        *at += consumed;
        if (count < want)
            return 0;
    }
}

/* ---- one block ---------------------------------------------------------------------------------------------------
 */

static int make_room(reader *r, hx_filter_block *block, size_t at)
{
    if (at > 0) { /* no record was found behind what is gone: only an empty file or a header came before */
        memmove(block->data, block->data + at, block->len - at);
        block->len -= at;
    }
    if (block->cap - block->len >= ROOM_MIN)
        return 0;
    unsigned char *data = realloc(block->data, block->cap * 2);
    if (data == NULL)
        return no_memory(r);
    block->data = data;
    block->cap *= 2;
    return 0;
}

static int begin_block(reader *r, hx_filter_block *block)
{
    size_t cap = HX_FILTER_BLOCK_BYTES;
    while (cap < r->rest_len + ROOM_MIN)
        cap *= 2;
    if (block->cap < cap || block->cap > cap * 2) { /* grow; give back what one long record took */
        unsigned char *data = malloc(cap);
        if (data == NULL)
            return no_memory(r);
        free(block->data);
        block->data = data;
        block->cap = cap;
    }
    if (r->rest_len > 0)
        memcpy(block->data, r->rest, r->rest_len);
    block->len = r->rest_len;
    block->count = 0;
    block->message_count = 0;
    block->inside_record = false;
    if (block->state != NULL)
        hx_select_reset(block->state);
    r->rest_len = 0;
    return 0;
}

static void end_block(reader *r, hx_filter_block *block, size_t at)
{
    size_t end = block->count > 0 ? block->ends[block->count - 1] : 0;
    r->rest = block->data + at;
    r->rest_len = block->len - at;
    if (!r->run->bookmarked || block->count == 0)
        return;
    if (!r->position_void)
        hx_filter_hash_add(&r->run->hash, block->data, end);
    if (!block->inside_record && !r->position_void) {
        const hx_filter_hash *hash = &r->run->hash;
        r->position.bytes = hash->bytes;
        r->position.records = r->records;
        r->position.last_len = r->last_len;
        r->position.hash = hx_filter_hash_value(hash);
        r->position.mark_count = hash->mark_count;
        memcpy(r->position.marks, hash->marks, sizeof hash->marks);
    }
    block->position = r->position;
}

/* The unfinished record is too long to be held: hand on what there is of it. -1 where the run ends here. */
static int take_piece(reader *r, hx_filter_block *block, size_t *at)
{
    bool first = r->split.taken == 0;
    if (first && too_long(r, r->split.line) < 0)
        return -1;
    size_t taken = hx_split_take(&r->split);
    if (taken > 0) {
        *at += taken;
        append(block, *at, HX_FILTER_PIECE);
        block->inside_record = true;
    }
    return 0;
}

enum step { MORE, ENDED };

static enum step fill(reader *r, hx_filter_block *block)
{
    hx_filter_run *run = r->run;
    size_t at = 0;
    if (begin_block(r, block) < 0)
        return ENDED;
    for (;;) {
        if (split_some(r, block, &at) < 0) {
            end_block(r, block, block->len);
            return ENDED;
        }
        if (block->count == HX_FILTER_BLOCK_RECORDS)
            break;
        if (r->file_ended) {
            if (!hx_filter_input_next(&run->input)) {
                end_block(r, block, at);
                return ENDED;
            }
            begin_file(r);
            if (block->count > 0)
                break;
        }
        if (block->count > 0)
            break;
        if (block->len - at > (uint64_t)run->options->max_record_bytes + 2 || r->split.taken > 0) {
            if (take_piece(r, block, &at) < 0)
                return ENDED;
            if (block->count > 0)
                break;
        }
        if (make_room(r, block, at) < 0)
            return ENDED;
        at = 0;
        int64_t n = hx_filter_input_read(&run->input, block->data + block->len, block->cap - block->len);
        if (n == HX_FILTER_UNREADABLE)
            hx_filter_fail(run, HX_EXIT_USAGE);
        if (n < 0)
            return ENDED;
        block->len += (size_t)n;
        r->file_ended = n == HX_FILTER_FILE_END;
    }
    end_block(r, block, at);
    return MORE;
}

/* ---- the thread -------------------------------------------------------------------------------------------------
 */

/* Where does this run begin? The answer is in the store before the first line is out. */
static int begin(hx_filter_run *run)
{
    hx_filter_bookmark bookmark;
    hapax_error error;
    uint64_t position;
    if (!run->bookmarked)
        return 0;
    int rc = hx_filter_bookmark_get(run, &run->outputs.kept, &bookmark);
    if (rc == 0)
        rc = hx_filter_resume(run, &bookmark);
    if (rc != 0)
        return rc;
    if (hx_filter_bookmark_set(run, &run->judged, false, &position, &error) < 0)
        return hx_exit_report(&run->log, &error);
    rc = hx_filter_commit(run, position);
    run->begun = rc == 0;
    return rc;
}

void *hx_filter_reader(void *arg)
{
    hx_filter_run *run = arg;
    reader *r = calloc(1, sizeof *r);
    int rc = r != NULL ? begin(run) : HX_EXIT_TROUBLE;
    if (r == NULL)
        hx_log_line(&run->log, "no memory");
    if (rc > 0)
        hx_filter_fail(run, rc);
    if (r != NULL && rc == 0) {
        r->run = run;
        begin_file(r);
        r->records = run->start_records;
        r->skip_len = run->start_last_len;
        r->position = run->judged;
        if (run->start_in_file) {
            r->header_due = false;
            r->any_header = true;
            r->split.bom = false;
            r->line_base = run->start_line;
        }
        enum step step = MORE;
        hx_filter_block *block;
        while (step == MORE && (block = hx_filter_queue_fill(&run->queue)) != NULL) {
            step = fill(r, block);
            if (block->count > 0)
                hx_filter_queue_advance(&run->queue, &run->queue.filled);
        }
    }
    free(r);
    hx_filter_queue_flag(&run->queue, &run->queue.fill_ended);
    return NULL;
}
