/*
 * fuzz_store.c - opening a store whose log holds any records at all.
 *
 * CRCs keep a plain fuzzer out of everything behind them. So this target makes a store whose superblock, file header
 * and batch headers are sound, and takes only the records of its batches from the input:
 *
 *     input:  [ length of records, 2 bytes | records ] ...   one batch each; the last takes what is left
 *
 * What must hold: the open ends, with HAPAX_OK or an error; a store that opens can be looked at, closed and opened
 * again, and then holds the same. The decoder alone: what it reads, written again, reads the same.
 */
#include <hapax.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "core/event.h"
#include "core/format.h"
#include "core/store.h"
#include "sim/sim_os.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BATCHES_MAX = 8, EVENTS_MAX = 512 };

static const unsigned char key[16] = "a key of 16 byte";

static void must(bool holds)
{
    if (!holds)
        abort();
}

static int count_event(void *arg, const hx_event *event)
{
    uint32_t *count = arg;

    (void)event;
    return ++*count > EVENTS_MAX ? 1 : 0;
}

/* ---- The decoder alone ------------------------------------------------------------------------------------------
 */

typedef struct events {
    hx_event list[EVENTS_MAX];
    size_t len;
    bool skip; /* more than fit */
} events;

static int keep_event(void *arg, const hx_event *event)
{
    events *kept = arg;

    if (kept->len == EVENTS_MAX) {
        kept->skip = true;
        return 1;
    }
    kept->list[kept->len] = *event;
    kept->len++;
    return 0;
}

static bool same_event(const hx_event *a, const hx_event *b)
{
    if (a->type != b->type || a->flags != b->flags || a->domain != b->domain || a->seq != b->seq)
        return false;
    if (hx_event_has_blob(a->type))
        return a->blob.len == b->blob.len &&
               (a->blob.len == 0 || memcmp(a->blob.data, b->blob.data, a->blob.len) == 0);
    return true;
}

static void check_decoder(const uint8_t *data, size_t size)
{
    static const hx_event_base base = {.activity_ms = 1000, .wall_ms = 1700000000000};
    events *first = calloc(1, sizeof *first), *second = calloc(1, sizeof *second);
    hx_buf buf = {0};
    size_t at = 0, blobs = 0;

    must(first != NULL && second != NULL);
    if (hx_event_decode(data, size, &base, keep_event, first, &at) == 0) {
        for (size_t i = 0; i < first->len; i++)
            blobs += hx_event_has_blob(first->list[i].type) ? first->list[i].blob.len : 0;
        must(hx_buf_reserve(&buf, first->len * HX_EVENT_BYTES_MAX + blobs + 1) == 0);
        hx_event_encode(&buf, &base, first->list, first->len);
        must(hx_event_decode(buf.data, buf.len, &base, keep_event, second, &at) == 0);
        must(first->len == second->len);
        for (size_t i = 0; i < first->len; i++)
            must(same_event(&first->list[i], &second->list[i]));
    } else {
        must(at <= size);
    }
    hx_buf_free(&buf);
    free(first);
    free(second);
}

/* ---- A store around the records ---------------------------------------------------------------------------------
 */

static void write_file(const hx_os *os, const char *path, const void *data, size_t len)
{
    int file = os->open(os->ctx, path, HX_OS_WRITE | HX_OS_CREATE);

    must(file >= 0);
    must(os->write(os->ctx, file, data, len, 0) == 0 && os->sync(os->ctx, file) == 0);
    must(os->close(os->ctx, file) == 0);
}

/* Appends one batch with sound header; false where its records are more events than this test wants. */
static bool add_batch(hx_buf *file, const uint8_t *records, size_t len, hx_batch_header *header, unsigned char *last)
{
    static const hx_event_base base = {.activity_ms = 1000, .wall_ms = 1700000000000};
    unsigned char bytes[HX_BATCH_HEADER];
    size_t at = 0, span = hx_format_batch_span((uint32_t)len);
    uint32_t count = 0;

    hx_event_decode(records, len, &base, count_event, &count, &at);
    if (count > EVENTS_MAX)
        return false;
    header->first_lsn += header->count;
    header->len = (uint32_t)len;
    header->count = count;
    header->chain = last[0] == 0 ? header->chain : hx_format_chain(key, last);
    header->payload_crc = hx_crc32c(0, records, len);
    header->activity_ms = base.activity_ms;
    header->wall_ms = base.wall_ms;
    hx_format_write_batch(bytes, header);
    memcpy(last, bytes, sizeof bytes);
    must(hx_buf_reserve(file, span) == 0);
    memset(file->data + file->len, 0, span);
    memcpy(file->data + file->len, bytes, sizeof bytes);
    memcpy(file->data + file->len + sizeof bytes, records, len);
    file->len += span;
    return true;
}

static bool make_store(const hx_os *os, const uint8_t *data, size_t size)
{
    hx_superblock superblock = {
        .version = HX_FORMAT_VERSION, .generation = 1, .uuid = "a uuid, 16 byte", .first_wal = 1};
    hx_wal_header wal = {.version = HX_FORMAT_VERSION, .uuid = "a uuid, 16 byte", .seq = 1, .salt = 77, .chain = 5};
    hx_batch_header header = {.salt = 77, .chain = 5};
    unsigned char block[HX_BLOCK] = {0}, last[HX_BATCH_HEADER] = {0};
    hx_buf file = {0};
    bool made = true;

    memcpy(superblock.key, key, sizeof key);
    memcpy(wal.key, key, sizeof key);
    must(os->mkdir(os->ctx, "store") == 0 && os->mkdir(os->ctx, "store/wal") == 0);
    hx_format_write_superblock(block, &superblock);
    write_file(os, "store/SUPER.0", block, sizeof block);
    write_file(os, "store/SUPER.1", block, sizeof block);
    memset(block, 0, sizeof block);
    hx_format_write_wal_header(block, &wal);
    must(hx_buf_append(&file, block, sizeof block) == 0);
    for (int i = 0; i < BATCHES_MAX && size > 2 && made; i++) {
        size_t len = (size_t)data[0] | (size_t)data[1] << 8;
        data += 2;
        size -= 2;
        if (len > size || i == BATCHES_MAX - 1)
            len = size;
        made = len == 0 || add_batch(&file, data, len, &header, last);
        data += len;
        size -= len;
    }
    write_file(os, "store/wal/W-0000000001.wal", file.data, file.len);
    must(os->sync_dir(os->ctx, "store") == 0 && os->sync_dir(os->ctx, "store/wal") == 0);
    hx_buf_free(&file);
    return made;
}

/* ---- Opening it -------------------------------------------------------------------------------------------------
 */

typedef struct content {
    uint64_t domains, held, occurrences;
    unsigned char mix[16]; /* of all hashes */
} content;

static int mix_occurrence(void *arg, const hapax_occurrence *occurrence)
{
    content *found = arg;

    found->occurrences++;
    for (size_t i = 0; i < sizeof found->mix; i++)
        found->mix[i] ^= (unsigned char)(occurrence->hash[i] + occurrence->held_by);
    return 0;
}

static void look(hapax_store *store, content *found)
{
    hapax_domain *domain;

    memset(found, 0, sizeof *found);
    for (size_t i = 0; (domain = hapax_domain_at(store, i)) != NULL; i++) {
        hapax_domain_stats stats;

        hapax_domain_stat(domain, &stats);
        found->domains++;
        found->held += stats.ids_held;
        must(hapax_dump(domain, mix_occurrence, found) == 0);
    }
}

static bool open_and_look(const hx_os *os, content *found)
{
    hapax_store_options options;
    hapax_store *store = NULL;
    hapax_error error;

    hapax_store_options_init(&options);
    options.path = "store";
    options.flags = HAPAX_OPEN_EXISTING;
    options.max_memory_bytes = 256 << 20;
    memset(&error, 0, sizeof error);
    int rc = hx_store_open_os(os, &options, &store, &error);
    must(rc <= 0 && (rc == 0) == (store != NULL));
    if (rc < 0) {
        must(error.status == rc && error.message[0] != '\0');
        return false;
    }
    look(store, found);
    must(hapax_store_close(store, &error) == 0);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sim_os *sim;
    content before, after;

    check_decoder(data, size);
    sim = sim_os_new(1);
    must(sim != NULL);
    if (make_store(sim_os_table(sim), data, size) && open_and_look(sim_os_table(sim), &before)) {
        must(open_and_look(sim_os_table(sim), &after));
        must(memcmp(&before, &after, sizeof before) == 0);
    }
    sim_os_free(sim);
    return 0;
}
