/*
 * filter_bookmark.c - what the store keeps about an output file, and how far the input of that file was judged.
 *
 *     name   "file:" and the absolute path, links resolved ("file#" and a hash of it, where it is too long for a
 * name) data   u8 version = 1 | u8 flags | varint length and in that of --output itself (flag 2): key[16] | le64
 * command | varint bytes | varint records | varint last_len | hash[16] | varint n | n x le64
 *
 * Flag 1: the run came to its end, so the file has exactly this length. `command` stands for the domain and the
 * selection: the same bytes judged by another field are another input. last_len: see filter_resume.c.
 * All bookmarks of a run are set one behind the other and committed together, so they are in one write.
 */
#include "cli/filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "cli/exit.h"

#define VERSION 1
#define FLAG_ENDED 1
#define FLAG_INPUT 2
#define DATA_MAX 1024

static size_t make_name(const char *path, char name[HAPAX_NAME_MAX])
{
    static const unsigned char key[HX_SIPHASH_KEY_LEN] = {0};
    size_t len = strlen(path);
    if (len + 5 <= HAPAX_NAME_MAX) {
        memcpy(name, "file:", 5);
        memcpy(name + 5, path, len);
        return len + 5;
    }
    hx_hash hash = hx_siphash_id(key, path, len);
    return (size_t)snprintf(name, HAPAX_NAME_MAX, "file#%016llx%016llx", (unsigned long long)hash.hi,
                            (unsigned long long)hash.lo);
}

static int add_text(hx_buf *buf, const char *text)
{
    size_t len = text != NULL ? strlen(text) : 0;
    int rc = hx_buf_reserve(buf, len + HX_VARINT_MAX);
    if (rc < 0)
        return rc;
    hx_write_varint(buf, text != NULL ? len + 1 : 0);
    if (len > 0)
        hx_write_bytes(buf, text, len);
    return 0;
}

/* What decides which ids the input has, and where they are known. */
static int hash_command(const hx_filter_options *options, uint64_t *ret)
{
    static const unsigned char key[HX_SIPHASH_KEY_LEN] = {0};
    const hx_select_options *select = &options->select;
    hx_buf buf = {0};
    char bits[32];
    snprintf(bits, sizeof bits, "%d %d %d %d", (int)select->format, (int)select->time_unit, (int)select->no_header,
             (int)select->nul);
    int rc = add_text(&buf, bits);
    const char *texts[] = {options->domain_name, select->id_pattern, select->source, select->time, select->delimiter};
    for (size_t i = 0; rc == 0 && i < sizeof texts / sizeof *texts; i++)
        rc = add_text(&buf, texts[i]);
    for (size_t i = 0; rc == 0 && i < select->id_count; i++)
        rc = add_text(&buf, select->ids[i]);
    if (rc == 0)
        *ret = hx_siphash64(key, buf.data, buf.len);
    hx_buf_free(&buf);
    return rc;
}

static void decode_input(hx_reader *in, hx_filter_bookmark *bookmark, uint64_t command)
{
    hx_filter_position *position = &bookmark->position;
    const unsigned char *key = hx_read_bytes(in, HX_SIPHASH_KEY_LEN);
    if (key != NULL)
        memcpy(bookmark->key, key, HX_SIPHASH_KEY_LEN);
    bookmark->same_command = hx_read_le64(in) == command;
    position->bytes = hx_read_varint(in);
    position->records = hx_read_varint(in);
    position->last_len = hx_read_varint(in);
    position->hash.lo = hx_read_le64(in);
    position->hash.hi = hx_read_le64(in);
    uint64_t marks = hx_read_varint(in);
    if (marks > HX_FILTER_MARKS || position->last_len > position->bytes) {
        in->bad = true;
        return;
    }
    position->mark_count = (size_t)marks;
    for (size_t i = 0; i < marks; i++)
        position->marks[i] = hx_read_le64(in);
}

int hx_filter_bookmark_get(hx_filter_run *run, const hx_filter_output *output, hx_filter_bookmark *ret)
{
    unsigned char data[DATA_MAX];
    char name[HAPAX_NAME_MAX];
    hapax_error error;
    size_t len;
    uint64_t command;
    memset(ret, 0, sizeof *ret);
    int rc = hapax_bookmark_get(run->store, name, make_name(output->path, name), data, sizeof data, &len, &error);
    if (rc == HAPAX_ERR_NOT_FOUND)
        return 0;
    if (rc < 0)
        return hx_exit_report(&run->log, &error);
    if (hash_command(run->options, &command) < 0) {
        hx_log_line(&run->log, "no memory");
        return HX_EXIT_TROUBLE;
    }
    hx_reader in = {.data = data, .len = len < sizeof data ? len : sizeof data};
    uint8_t version = hx_read_u8(&in);
    uint8_t flags = hx_read_u8(&in);
    ret->length = hx_read_varint(&in);
    ret->known = true;
    ret->ended = (flags & FLAG_ENDED) != 0;
    ret->has_input = (flags & FLAG_INPUT) != 0;
    if (ret->has_input)
        decode_input(&in, ret, command);
    if (version != VERSION || in.bad || in.at != in.len) {
        hx_log_line(&run->log, "%s: what the store keeps about it was written by another version", output->shown);
        return HX_EXIT_TROUBLE;
    }
    return 0;
}

static int encode_input(const hx_filter_run *run, const hx_filter_position *position, hx_buf *buf)
{
    uint64_t command;
    if (hash_command(run->options, &command) < 0 || hx_buf_reserve(buf, DATA_MAX) < 0)
        return -ENOMEM;
    hx_write_bytes(buf, run->hash.key, HX_SIPHASH_KEY_LEN);
    hx_write_le64(buf, command);
    hx_write_varint(buf, position->bytes);
    hx_write_varint(buf, position->records);
    hx_write_varint(buf, position->last_len);
    hx_write_le64(buf, position->hash.lo);
    hx_write_le64(buf, position->hash.hi);
    hx_write_varint(buf, position->mark_count);
    for (size_t i = 0; i < position->mark_count; i++)
        hx_write_le64(buf, position->marks[i]);
    return 0;
}

static int set_one(hx_filter_run *run, const hx_filter_output *output, const hx_filter_position *position, bool ended,
                   uint64_t *ret_position, hapax_error *ret_error)
{
    char name[HAPAX_NAME_MAX];
    hx_buf buf = {0};
    int rc = hx_buf_reserve(&buf, 2 + HX_VARINT_MAX);
    if (rc == 0) {
        hx_write_u8(&buf, VERSION);
        hx_write_u8(&buf, (uint8_t)((ended ? FLAG_ENDED : 0) | (position != NULL ? FLAG_INPUT : 0)));
        hx_write_varint(&buf, output->length);
    }
    if (rc == 0 && position != NULL)
        rc = encode_input(run, position, &buf);
    if (rc == 0) {
        rc = hapax_bookmark_set(run->store, name, make_name(output->path, name), buf.data, buf.len, ret_position,
                                ret_error);
    } else {
        memset(ret_error, 0, sizeof *ret_error);
        ret_error->status = HAPAX_ERR_MEMORY;
        rc = HAPAX_ERR_MEMORY;
    }
    hx_buf_free(&buf);
    return rc;
}

int hx_filter_bookmark_set(hx_filter_run *run, const hx_filter_position *position, bool ended, uint64_t *ret_position,
                           hapax_error *ret_error)
{
    hx_filter_output *side[] = {&run->outputs.dropped, &run->outputs.verdicts};
    uint64_t at = 0;
    for (size_t i = 0; i < 2; i++) {
        if (side[i]->mode != HX_FILTER_OUTPUT_KEPT)
            continue;
        int rc = set_one(run, side[i], NULL, ended, &at, ret_error);
        if (rc < 0)
            return rc;
    }
    int rc = set_one(run, &run->outputs.kept, position, ended, &at, ret_error);
    if (rc == 0)
        *ret_position = at;
    return rc;
}
