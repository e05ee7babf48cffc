/*
 * wal.c - the write-ahead log of an open store. The picture is in wal.h, the bytes are in format.h.
 *
 * The one idea: natural batching. While one thread writes and syncs, the others stage; the next writer takes it all.
 * The batch is encoded under the lock and written without it.
 * Invariants: one batch is in flight at a time, and it is synced before the next is written, so only the last batch
 * of a log can be torn; write_at is a multiple of HX_BLOCK; a batch never grows the file beyond what was reserved, so
 * a full disk shows before anything changed.
 */
#include "core/wal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "core/fail.h"

#define FILE_BYTES (UINT64_C(64) << 20) /* a file that is longer is followed by a new one */
#define GROW_FIRST (UINT64_C(256) << 10)
#define OPEN_ROOM (UINT64_C(4) * HX_BLOCK) /* for the events of an opening and a close */
#define GROW_LAST (UINT64_C(8) << 20)
#define BATCH_EVENTS_MAX HAPAX_HELD_MAX
#define PROMISED_BATCHES 256 /* open claims that may each be ended by a call of its own on a full disk */
#define UNWAITED_MAX 4096    /* staged events nobody waits for: more are written by the next caller */

void hx_wal_path(char path[HX_PATH_MAX], const char *folder, uint64_t seq, bool temporary)
{
    /* Folder names are held to HX_PATH_MAX - 64 when a store is opened. */
    int n =
        snprintf(path, HX_PATH_MAX, "%s/W-%010llu.%s", folder, (unsigned long long)seq, temporary ? "tmp" : "wal");
    assert(n > 0 && n < HX_PATH_MAX);
    (void)n;
}

int hx_wal_init(hx_wal *wal, const hx_os *os, const hx_clock *clock)
{
    *wal = (hx_wal){.os = os, .clock = clock, .file = -1, .max_disk_bytes = UINT64_MAX, .grow_step = GROW_FIRST};
    if (pthread_mutex_init(&wal->lock, NULL) != 0)
        return HAPAX_ERR_MEMORY;
    if (pthread_cond_init(&wal->changed, NULL) != 0) {
        pthread_mutex_destroy(&wal->lock);
        return HAPAX_ERR_MEMORY;
    }
    return HAPAX_OK;
}

static void free_blobs(hx_event *events, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hx_event_has_blob(events[i].type))
            free(events[i].blob.data);
}

void hx_wal_free(hx_wal *wal)
{
    if (wal->file >= 0)
        (void)wal->os->close(wal->os->ctx, wal->file);
    free_blobs(wal->events, wal->events_len);
    free(wal->events);
    hx_buf_free(&wal->payload);
    hx_buf_free(&wal->next_payload);
    pthread_cond_destroy(&wal->changed);
    pthread_mutex_destroy(&wal->lock);
}

/* The bytes of a batch of n events with blobs: an upper bound, header and padding included. */
static uint64_t batch_bound(uint64_t n, uint64_t blob_bytes)
{
    return HX_BATCH_HEADER + n * HX_EVENT_BYTES_MAX + blob_bytes + HX_BLOCK;
}

/* Carried batches get the new file's salt and their chain anew; their records stay. What the next carries as chain.
 */
static uint64_t resalt(const hx_wal *wal, const hx_wal_resume *resume)
{
    uint64_t chain = resume->chain;
    for (size_t at = 0; at < resume->carry.len;) {
        hx_batch_header header;
        unsigned char *bytes = resume->carry.data + at;
        hx_format_check check = hx_format_read_batch(bytes, &header);
        assert(check == HX_FORMAT_GOOD);
        (void)check;
        header.salt = wal->salt;
        header.chain = chain;
        hx_format_write_batch(bytes, &header);
        chain = hx_format_chain(wal->key, bytes);
        at += (size_t)hx_format_batch_span(header.len);
    }
    return chain;
}

/* Makes a file under its temporary name, with the header and `carry`, synced; then gives it its name. */
static int make_file(hx_wal *wal, const hx_wal_header *header, const hx_buf *carry, uint64_t grown_to, int *ret_file,
                     hapax_error *ret_error)
{
    const hx_os *os = wal->os;
    char temporary[HX_PATH_MAX];
    char path[HX_PATH_MAX];
    hx_wal_path(temporary, wal->folder, header->seq, true);
    hx_wal_path(path, wal->folder, header->seq, false);
    unsigned char block[HX_BLOCK];
    hx_format_write_wal_header(block, header);
    int file = os->open(os->ctx, temporary, HX_OS_WRITE | HX_OS_CREATE);
    if (file < 0)
        return hx_fail_os(ret_error, file, "cannot make", temporary);
    int rc = os->truncate(os->ctx, file, 0);
    if (rc == 0)
        rc = os->grow(os->ctx, file, 0, grown_to);
    if (rc == 0)
        rc = os->write(os->ctx, file, block, sizeof block, 0);
    if (rc == 0 && carry != NULL && carry->len > 0)
        rc = os->write(os->ctx, file, carry->data, carry->len, HX_BLOCK);
    if (rc == 0 && wal->syncs)
        rc = os->sync(os->ctx, file);
    if (rc == 0)
        rc = os->rename(os->ctx, temporary, path);
    if (rc == 0 && wal->syncs)
        rc = os->sync_dir(os->ctx, wal->folder);
    if (rc < 0) {
        (void)os->close(os->ctx, file);
        (void)os->unlink(os->ctx, temporary);
        return hx_fail_os(ret_error, rc, "cannot make", temporary);
    }
    *ret_file = file;
    return HAPAX_OK;
}

/* The first file of an opening, with room ahead, or where there is none with just enough to open and close. */
static int make_first_file(hx_wal *wal, const hx_wal_header *header, const hx_wal_resume *resume,
                           uint64_t *ret_grown_to, hapax_error *ret_error)
{
    static const uint64_t rooms[] = {GROW_FIRST, OPEN_ROOM};
    int rc = HAPAX_ERR_FULL;
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms && rc == HAPAX_ERR_FULL; i++) {
        uint64_t grown_to = HX_BLOCK + resume->carry.len + rooms[i];
        if (resume->older_bytes + grown_to > wal->max_disk_bytes) {
            (void)hx_fail(ret_error, HAPAX_ERR_FULL,
                          "the disk budget of %llu bytes does not even hold the store's files",
                          (unsigned long long)wal->max_disk_bytes);
            continue;
        }
        rc = make_file(wal, header, &resume->carry, grown_to, &wal->file, ret_error);
        if (rc == HAPAX_OK)
            *ret_grown_to = grown_to;
    }
    return rc;
}

int hx_wal_begin(hx_wal *wal, const hx_wal_resume *resume, hapax_error *ret_error)
{
    int rc = wal->os->entropy(wal->os->ctx, &wal->salt, sizeof wal->salt);
    if (rc < 0)
        return hx_fail_os(ret_error, rc, "cannot read", "entropy");
    wal->chain = resalt(wal, resume);
    hx_wal_header header = {.version = HX_FORMAT_VERSION,
                            .seq = resume->seq,
                            .prev_seq = resume->prev_seq,
                            .prev_end = resume->prev_end,
                            .first_lsn = resume->first_lsn,
                            .chain = resume->chain,
                            .salt = wal->salt,
                            .wall_ms = hx_clock_wall(wal->clock)};
    memcpy(header.uuid, wal->uuid, 16);
    memcpy(header.key, wal->key, 16);
    uint64_t grown_to = 0;
    rc = make_first_file(wal, &header, resume, &grown_to, ret_error);
    if (rc < 0)
        return rc;
    wal->seq = resume->seq;
    wal->write_at = HX_BLOCK + resume->carry.len;
    wal->grown_to = grown_to;
    wal->older_bytes = resume->older_bytes;
    wal->staged = resume->next_lsn;
    wal->durable = resume->next_lsn;
    return HAPAX_OK;
}

static int poisoned(const hx_wal *wal, hapax_error *ret_error)
{
    return hx_fail(ret_error, HAPAX_ERR_POISONED,
                   "the store takes no more writes after an I/O error (%s); open it again to see what it holds",
                   hapax_status_name(wal->failed));
}

/* Whether a file did not grow because there is no room for it. Anything else is an I/O error. */
static bool is_full(int os_error)
{
    return os_error == -ENOSPC || os_error == -EDQUOT || os_error == -EFBIG;
}

/* Reserves disk space up to `need`; tries a whole step, then, for want of room, just what is needed. Lock held. */
static int grow_file(hx_wal *wal, uint64_t need, hapax_error *ret_error)
{
    uint64_t least = need - wal->grown_to;
    uint64_t steps[2] = {wal->grow_step > least ? wal->grow_step : least, least};
    int rc = 0;
    for (int i = 0; i < 2; i++) {
        bool in_budget = wal->older_bytes + wal->grown_to + steps[i] <= wal->max_disk_bytes;
        rc = in_budget ? wal->os->grow(wal->os->ctx, wal->file, wal->grown_to, steps[i]) : -EDQUOT;
        if (rc == 0) {
            wal->grown_to += steps[i];
            wal->grow_step = wal->grow_step * 2 < GROW_LAST ? wal->grow_step * 2 : GROW_LAST;
            return HAPAX_OK;
        }
        if (!in_budget && i == 1)
            return hx_fail(ret_error, HAPAX_ERR_FULL, "the disk budget of %llu bytes is reached",
                           (unsigned long long)wal->max_disk_bytes);
        if (!is_full(rc))
            break;
    }
    char path[HX_PATH_MAX];
    hx_wal_path(path, wal->folder, wal->seq, false);
    (void)hx_fail_os(ret_error, rc, "cannot grow", path);
    if (!is_full(rc))
        wal->failed = HAPAX_ERR_IO;
    return is_full(rc) ? HAPAX_ERR_FULL : HAPAX_ERR_IO;
}

/* Room in memory for staging and encoding. Lock held. */
static int reserve_memory(hx_wal *wal, size_t n, uint64_t bound)
{
    if (wal->events_len + n > wal->events_cap) {
        size_t cap = wal->events_cap == 0 ? 64 : wal->events_cap;
        while (cap < wal->events_len + n)
            cap *= 2;
        hx_event *events = realloc(wal->events, cap * sizeof *events);
        if (events == NULL)
            return HAPAX_ERR_MEMORY;
        wal->events = events;
        wal->events_cap = cap;
    }
    if (wal->in_memory)
        return HAPAX_OK;
    hx_buf *buf = wal->writing ? &wal->next_payload : &wal->payload;
    if (buf->cap >= bound)
        return HAPAX_OK;
    buf->len = 0;
    return hx_buf_reserve(buf, (size_t)bound) < 0 ? HAPAX_ERR_MEMORY : HAPAX_OK;
}

/* The bytes that the ends of open claims may take: two events each, and for a number of them a batch of its own. */
static uint64_t promised_bytes(uint64_t events)
{
    uint64_t batches = events / 2 < PROMISED_BATCHES ? events / 2 : PROMISED_BATCHES;
    return events * HX_EVENT_BYTES_MAX + batches * (HX_BLOCK + HX_BATCH_HEADER);
}

/* `kept`: events for which room has to be left besides. Lock held. */
static int reserve_locked(hx_wal *wal, const hx_wal_room *room, uint64_t kept, hapax_error *ret_error)
{
    if (wal->failed != 0)
        return poisoned(wal, ret_error);
    size_t n = wal->reserved.events + room->events;
    uint64_t bound = batch_bound(wal->events_len + n, wal->blob_bytes + wal->reserved.blob_bytes + room->blob_bytes);
    if (wal->hold && (wal->events_len + n > HAPAX_HELD_MAX || bound > HX_BATCH_MAX))
        return hx_fail(ret_error, HAPAX_ERR_HELD, "%zu events are held back: call hapax_commit first",
                       wal->events_len);
    int rc = reserve_memory(wal, n, bound);
    if (rc < 0)
        return hx_fail(ret_error, rc, "no memory for %zu events of the log", n);
    uint64_t need = wal->write_at + bound + promised_bytes(kept);
    if (!wal->in_memory && need > wal->grown_to) {
        rc = grow_file(wal, need, ret_error);
        if (rc < 0)
            return rc;
    }
    wal->reserved.events += room->events;
    wal->reserved.blob_bytes += room->blob_bytes;
    return HAPAX_OK;
}

int hx_wal_reserve(hx_wal *wal, const hx_wal_room *room, size_t promise, hapax_error *ret_error)
{
    pthread_mutex_lock(&wal->lock);
    int rc = reserve_locked(wal, room, wal->promised + promise, ret_error);
    if (rc == HAPAX_OK)
        wal->promised += promise;
    pthread_mutex_unlock(&wal->lock);
    return rc;
}

int hx_wal_reserve_end(hx_wal *wal, const hx_wal_room *room, hapax_error *ret_error)
{
    pthread_mutex_lock(&wal->lock);
    int rc = reserve_locked(wal, room, 0, ret_error);
    pthread_mutex_unlock(&wal->lock);
    return rc;
}

static void give_back(hx_wal *wal, const hx_wal_room *room)
{
    wal->reserved.events -= room->events;
    wal->reserved.blob_bytes -= room->blob_bytes;
}

void hx_wal_cancel(hx_wal *wal, const hx_wal_room *room)
{
    pthread_mutex_lock(&wal->lock);
    give_back(wal, room);
    pthread_mutex_unlock(&wal->lock);
}

void hx_wal_unpromise(hx_wal *wal, size_t promise)
{
    pthread_mutex_lock(&wal->lock);
    assert(wal->promised >= promise);
    wal->promised -= promise;
    pthread_mutex_unlock(&wal->lock);
}

/* Adds the counts of an event to the one before it, where that is of the same kind, so that they do not pile up. */
static bool merge_count(hx_wal *wal, const hx_event *event)
{
    if (event->type != HX_EVENT_COUNT || wal->events_len == 0)
        return false;
    hx_event *last = &wal->events[wal->events_len - 1];
    if (last->type != HX_EVENT_COUNT || last->domain != event->domain || last->counts.unchecked > UINT32_MAX / 2 ||
        last->counts.duplicate > UINT32_MAX / 2 || last->counts.in_flight > UINT32_MAX / 2)
        return false;
    last->counts.duplicate += event->counts.duplicate;
    last->counts.in_flight += event->counts.in_flight;
    last->counts.unchecked += event->counts.unchecked;
    last->counts.over_limit += event->counts.over_limit;
    last->counts.steps += event->counts.steps;
    if (event->flags & HX_EVENT_HAS_STEP) {
        last->flags = event->flags;
        last->time_ms = event->time_ms;
    }
    return true;
}

uint64_t hx_wal_append(hx_wal *wal, const hx_wal_room *room, const hx_event *events, size_t n, uint64_t *ret_before)
{
    assert(n <= room->events);
    pthread_mutex_lock(&wal->lock);
    if (ret_before != NULL)
        *ret_before = wal->staged;
    give_back(wal, room);
    if (wal->in_memory) {
        for (size_t i = 0; i < n; i++)
            if (hx_event_has_blob(events[i].type))
                free(events[i].blob.data);
        wal->staged += n;
        wal->durable = wal->staged;
    } else if (n != 1 || !merge_count(wal, events)) {
        assert(wal->events_len + n <= wal->events_cap);
        if (n > 0)
            memcpy(wal->events + wal->events_len, events, n * sizeof *events);
        wal->events_len += n;
        wal->staged += n;
        for (size_t i = 0; i < n; i++)
            if (hx_event_has_blob(events[i].type))
                wal->blob_bytes += events[i].blob.len;
    }
    uint64_t position = wal->staged;
    pthread_mutex_unlock(&wal->lock);
    return position;
}

uint64_t hx_wal_count(hx_wal *wal, const hx_wal_room *room, size_t n, uint64_t *ret_before)
{
    pthread_mutex_lock(&wal->lock);
    give_back(wal, room);
    *ret_before = wal->staged;
    wal->staged += n;
    wal->durable = wal->staged;
    uint64_t position = wal->staged;
    pthread_mutex_unlock(&wal->lock);
    return position;
}

/* Follows a file that is long enough by a new one. Without room for that the old one goes on. Lock held. */
static int rotate(hx_wal *wal, hapax_error *ret_error)
{
    uint64_t ahead = wal->grown_to - wal->write_at; /* what was promised in the old file is kept in the new one */
    hx_wal_header header = {.version = HX_FORMAT_VERSION,
                            .seq = wal->seq + 1,
                            .prev_seq = wal->seq,
                            .prev_end = wal->write_at,
                            .first_lsn = wal->durable,
                            .chain = wal->chain,
                            .wall_ms = hx_clock_wall(wal->clock)};
    memcpy(header.uuid, wal->uuid, 16);
    memcpy(header.key, wal->key, 16);
    int rc = wal->os->entropy(wal->os->ctx, &header.salt, sizeof header.salt);
    if (rc < 0)
        return hx_fail_os(ret_error, rc, "cannot read", "entropy");
    if (wal->older_bytes + wal->write_at + HX_BLOCK + ahead > wal->max_disk_bytes)
        return HAPAX_OK;
    int file = -1;
    rc = make_file(wal, &header, NULL, HX_BLOCK + ahead, &file, ret_error);
    if (rc == HAPAX_ERR_FULL)
        return HAPAX_OK;
    if (rc < 0)
        return rc;
    rc = wal->os->truncate(wal->os->ctx, wal->file, wal->write_at);
    int close_rc = wal->os->close(wal->os->ctx, wal->file);
    wal->file = file;
    wal->older_bytes += wal->write_at;
    wal->seq = header.seq;
    wal->salt = header.salt;
    wal->write_at = HX_BLOCK;
    wal->grown_to = HX_BLOCK + ahead;
    if (rc == 0)
        rc = close_rc;
    return rc < 0 ? hx_fail_os(ret_error, rc, "cannot close a file of", wal->folder) : HAPAX_OK;
}

/* How many of the first n staged events fit a batch. */
static size_t batch_events(const hx_wal *wal, size_t n)
{
    uint64_t blob_bytes = 0;
    size_t fit = 0;
    for (; fit < n && fit < BATCH_EVENTS_MAX; fit++) {
        if (hx_event_has_blob(wal->events[fit].type))
            blob_bytes += wal->events[fit].blob.len;
        if (fit > 0 && batch_bound(fit + 1, blob_bytes) > HX_BATCH_MAX)
            break;
    }
    return fit;
}

/* Encodes the first n staged events as a batch into wal->payload and takes them off. Lock held. */
static void encode_batch(hx_wal *wal, size_t n)
{
    if (wal->next_payload.cap > wal->payload.cap) {
        hx_buf swap = wal->payload;
        wal->payload = wal->next_payload;
        wal->next_payload = swap;
    }
    hx_event_base base = {hx_clock_activity(wal->clock), hx_clock_wall(wal->clock)};
    hx_buf *payload = &wal->payload;
    payload->len = HX_BATCH_HEADER;
    hx_event_encode(payload, &base, wal->events, n);
    size_t len = payload->len - HX_BATCH_HEADER;
    hx_batch_header header = {.len = (uint32_t)len,
                              .count = (uint32_t)n,
                              .first_lsn = wal->durable,
                              .salt = wal->salt,
                              .chain = wal->chain,
                              .wall_ms = base.wall_ms,
                              .activity_ms = base.activity_ms,
                              .payload_crc = hx_crc32c(0, payload->data + HX_BATCH_HEADER, len)};
    hx_format_write_batch(payload->data, &header);
    size_t span = (size_t)hx_format_batch_span((uint32_t)len);
    assert(span <= payload->cap);
    memset(payload->data + payload->len, 0, span - payload->len);
    payload->len = span;
    for (size_t i = 0; i < n; i++) {
        if (hx_event_has_blob(wal->events[i].type)) {
            wal->blob_bytes -= wal->events[i].blob.len;
            free(wal->events[i].blob.data);
        }
    }
    wal->events_len -= n;
    memmove(wal->events, wal->events + n, wal->events_len * sizeof *wal->events);
}

/* Writes one batch of the staged events up to `position`. Lock held on entry and exit, not in between. */
static int write_batch(hx_wal *wal, uint64_t position, hapax_error *ret_error)
{
    if (wal->write_at >= FILE_BYTES) {
        int rc = rotate(wal, ret_error);
        if (rc < 0)
            return rc;
    }
    size_t n = batch_events(wal, (size_t)(position - wal->durable));
    encode_batch(wal, n);
    uint64_t at = wal->write_at;
    uint64_t chain = hx_format_chain(wal->key, wal->payload.data);
    wal->write_at += wal->payload.len; /* what is reserved meanwhile is reserved behind the batch */
    wal->writing = true;
    pthread_mutex_unlock(&wal->lock);

    int rc = wal->os->write(wal->os->ctx, wal->file, wal->payload.data, wal->payload.len, at);
    if (rc == 0 && wal->syncs)
        rc = wal->os->sync(wal->os->ctx, wal->file);

    pthread_mutex_lock(&wal->lock);
    wal->writing = false;
    if (rc < 0) {
        char path[HX_PATH_MAX];
        hx_wal_path(path, wal->folder, wal->seq, false);
        (void)hx_fail_os(ret_error, rc, "cannot write", path);
        return HAPAX_ERR_IO; /* also for a full disk: the space had been reserved */
    }
    wal->chain = chain;
    wal->durable += n;
    return HAPAX_OK;
}

int hx_wal_commit(hx_wal *wal, uint64_t position, hapax_error *ret_error)
{
    int rc = HAPAX_OK;
    pthread_mutex_lock(&wal->lock);
    if (position > wal->staged)
        position = wal->staged;
    while (rc == HAPAX_OK && wal->durable < position) {
        if (wal->failed != 0) {
            rc = poisoned(wal, ret_error);
        } else if (wal->writing) {
            pthread_cond_wait(&wal->changed, &wal->lock);
        } else {
            rc = write_batch(wal, wal->hold ? position : wal->staged, ret_error);
            if (rc < 0) {
                wal->failed = rc;
                if (ret_error != NULL)
                    ret_error->status = rc;
            }
            pthread_cond_broadcast(&wal->changed);
        }
    }
    pthread_mutex_unlock(&wal->lock);
    return rc;
}

int hx_wal_finish(hx_wal *wal, uint64_t position, hapax_error *ret_error)
{
    if (wal->hold)
        return HAPAX_OK;
    if (position == 0) {
        pthread_mutex_lock(&wal->lock);
        position = wal->events_len > UNWAITED_MAX ? wal->staged : 0;
        pthread_mutex_unlock(&wal->lock);
    }
    return hx_wal_commit(wal, position, ret_error);
}

int hx_wal_settle(hx_wal *wal, uint64_t position, hapax_error *ret_error)
{
    int rc = hx_wal_failed(wal, ret_error);
    return rc < 0 || wal->hold ? rc : hx_wal_commit(wal, position, ret_error);
}

uint64_t hx_wal_staged(hx_wal *wal)
{
    pthread_mutex_lock(&wal->lock);
    uint64_t staged = wal->staged;
    pthread_mutex_unlock(&wal->lock);
    return staged;
}

int hx_wal_failed(hx_wal *wal, hapax_error *ret_error)
{
    pthread_mutex_lock(&wal->lock);
    int rc = wal->failed == 0 ? HAPAX_OK : poisoned(wal, ret_error);
    pthread_mutex_unlock(&wal->lock);
    return rc;
}

int hx_wal_close(hx_wal *wal, hapax_error *ret_error)
{
    if (wal->in_memory)
        return HAPAX_OK;
    int rc = hx_wal_commit(wal, UINT64_MAX, ret_error);
    if (rc < 0)
        return rc;
    rc = wal->os->truncate(wal->os->ctx, wal->file, wal->write_at);
    int close_rc = wal->os->close(wal->os->ctx, wal->file);
    wal->file = -1;
    if (rc == 0)
        rc = close_rc;
    return rc < 0 ? hx_fail_os(ret_error, rc, "cannot close a file of", wal->folder) : HAPAX_OK;
}

uint64_t hx_wal_disk_bytes(hx_wal *wal)
{
    pthread_mutex_lock(&wal->lock);
    uint64_t bytes = wal->older_bytes + wal->grown_to;
    pthread_mutex_unlock(&wal->lock);
    return bytes;
}
