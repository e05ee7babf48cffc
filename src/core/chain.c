/*
 * chain.c - reading the log files of a store that nobody writes. The picture is in chain.h.
 *
 * The one idea: a scan is one walk over all bytes that count, the same for recovery, verify and dump, so what
 * recovery believes is what verify checks.
 */
#include "core/chain.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "core/fail.h"

#define READ_BYTES ((size_t)1 << 20)
#define FILES_MAX 10000000u

/* A window over a file that is read in order, kept on block boundaries for reading around the page cache. */
typedef struct file_reader {
    const hx_os *os;
    int file;
    char path[HX_PATH_MAX];
    unsigned char *data; /* aligned to HX_BLOCK */
    size_t cap;
    uint64_t at; /* offset of data[0] */
    size_t len;  /* bytes there */
} file_reader;

static int reader_open(file_reader *reader, const hx_chain *chain, const hx_chain_file *file, bool uncached,
                       hapax_error *ret_error)
{
    *reader = (file_reader){.os = chain->os, .file = -1};
    hx_wal_path(reader->path, chain->folder, file->header.seq, false);
    int rc = chain->os->open(chain->os->ctx, reader->path, HX_OS_READ | (uncached ? HX_OS_UNCACHED : 0));
    if (rc < 0)
        return hx_fail_os(ret_error, rc, "cannot open", reader->path);
    reader->file = rc;
    return HAPAX_OK;
}

static void reader_close(file_reader *reader)
{
    if (reader->file >= 0)
        (void)reader->os->close(reader->os->ctx, reader->file);
    free(reader->data);
    reader->file = -1;
    reader->data = NULL;
}

/* Makes bytes [offset, offset + len) available; *ret_data is NULL where the file ends before. */
static int reader_get(file_reader *reader, uint64_t offset, size_t len, const unsigned char **ret_data,
                      hapax_error *ret_error)
{
    if (offset < reader->at || offset + len > reader->at + reader->len) {
        uint64_t from = offset / HX_BLOCK * HX_BLOCK;
        size_t want = (size_t)(offset - from) + len;
        want = want < READ_BYTES ? READ_BYTES : (want + HX_BLOCK - 1) / HX_BLOCK * HX_BLOCK;
        if (want > reader->cap) {
            free(reader->data);
            reader->cap = 0;
            reader->len = 0;
            reader->data = aligned_alloc(HX_BLOCK, want);
            if (reader->data == NULL)
                return hx_fail(ret_error, HAPAX_ERR_MEMORY, "no memory to read %s", reader->path);
            reader->cap = want;
        }
        int64_t n = reader->os->read(reader->os->ctx, reader->file, reader->data, want, from);
        if (n < 0)
            return hx_fail_os(ret_error, (int)n, "cannot read", reader->path);
        reader->at = from;
        reader->len = (size_t)n;
    }
    bool there = offset + len <= reader->at + reader->len;
    *ret_data = there ? reader->data + (offset - reader->at) : NULL;
    return HAPAX_OK;
}

typedef struct name_list {
    uint64_t *seqs;
    size_t len, cap;
    bool no_memory;
} name_list;

/* The seq of a name like W-0000000012.wal, or 0. */
static uint64_t seq_of_name(const char *name)
{
    if (strncmp(name, "W-", 2) != 0)
        return 0;
    char *end;
    errno = 0;
    unsigned long long seq = strtoull(name + 2, &end, 10);
    return errno == 0 && end - name == 12 && strcmp(end, ".wal") == 0 ? seq : 0;
}

static int note_name(void *arg, const char *name)
{
    name_list *list = arg;
    uint64_t seq = seq_of_name(name);
    if (seq == 0)
        return 0;
    if (list->len == list->cap) {
        size_t cap = list->cap == 0 ? 16 : list->cap * 2;
        uint64_t *seqs = cap > FILES_MAX ? NULL : realloc(list->seqs, cap * sizeof *seqs);
        if (seqs == NULL) {
            list->no_memory = true;
            return 1;
        }
        list->seqs = seqs;
        list->cap = cap;
    }
    list->seqs[list->len++] = seq;
    return 0;
}

static int compare_seqs(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Reads and checks the header of log file seq. */
static int read_header(const hx_chain *chain, uint64_t seq, hx_chain_file *ret_file, hapax_error *ret_error)
{
    char path[HX_PATH_MAX];
    hx_wal_path(path, chain->folder, seq, false);
    int file = chain->os->open(chain->os->ctx, path, HX_OS_READ);
    if (file == -ENOENT)
        return hx_fail_damaged(ret_error, path, 0, "this log file is missing, and later ones build on it");
    if (file < 0)
        return hx_fail_os(ret_error, file, "cannot open", path);
    unsigned char block[HX_BLOCK];
    int64_t n = chain->os->read(chain->os->ctx, file, block, sizeof block, 0);
    int64_t size = chain->os->size(chain->os->ctx, file);
    (void)chain->os->close(chain->os->ctx, file);
    if (n < 0 || size < 0)
        return hx_fail_os(ret_error, n < 0 ? (int)n : (int)size, "cannot read", path);
    hx_format_check check =
        n < (int64_t)sizeof block ? HX_FORMAT_BAD : hx_format_read_wal_header(block, &ret_file->header);
    if (check == HX_FORMAT_NEWER)
        return hx_fail(ret_error, HAPAX_ERR_VERSION, "%s is of format version %u; this hapax knows up to %u", path,
                       ret_file->header.version, HX_FORMAT_VERSION);
    if (check != HX_FORMAT_GOOD)
        return hx_fail_damaged(ret_error, path, 0, "the header of this log file is damaged");
    if (memcmp(ret_file->header.uuid, chain->uuid, 16) != 0 || memcmp(ret_file->header.key, chain->key, 16) != 0)
        return hx_fail_damaged(ret_error, path, 16, "this log file is of another store");
    if (ret_file->header.seq != seq || ret_file->header.prev_seq >= seq)
        return hx_fail_damaged(ret_error, path, 48, "this log file says that its number is %llu",
                               (unsigned long long)ret_file->header.seq);
    ret_file->size = (uint64_t)size;
    ret_file->end = (uint64_t)size;
    return HAPAX_OK;
}

static void reverse(hx_chain_file *files, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        hx_chain_file swap = files[i];
        files[i] = files[n - 1 - i];
        files[n - 1 - i] = swap;
    }
}

/* Follows the headers from the newest file back; what is not met is unused. */
static int follow(hx_chain *chain, const name_list *names, uint64_t first_wal, hapax_error *ret_error)
{
    chain->files =
        calloc(names->len + 1, sizeof *chain->files); /* one more: a missing file is met before it is told */
    chain->unused = calloc(names->len, sizeof *chain->unused);
    if (chain->files == NULL || chain->unused == NULL)
        return hx_fail(ret_error, HAPAX_ERR_MEMORY, "no memory for %zu log files", names->len);
    uint64_t seq = names->seqs[names->len - 1];
    uint64_t end = 0;
    while (seq != 0 && seq >= first_wal) {
        /* Each step goes down, and a missing file is refused, so at most one is met that has no name here. */
        assert(chain->files_len <= names->len);
        hx_chain_file *file = &chain->files[chain->files_len];
        int rc = read_header(chain, seq, file, ret_error);
        if (rc < 0)
            return rc;
        if (chain->files_len > 0) {
            char path[HX_PATH_MAX];
            hx_wal_path(path, chain->folder, seq, false);
            if (end < HX_BLOCK || end > file->size)
                return hx_fail_damaged(ret_error, path, file->size,
                                       "the file ends here, but %llu bytes of it are needed",
                                       (unsigned long long)end);
            file->end = end;
        }
        chain->files_len++;
        end = file->header.prev_end;
        seq = file->header.prev_seq;
    }
    if (seq == 0 && first_wal > chain->files[chain->files_len - 1].header.seq) {
        char path[HX_PATH_MAX];
        hx_wal_path(path, chain->folder, first_wal, false);
        return hx_fail_damaged(ret_error, path, 0, "this log file is missing, and the store needs it");
    }
    reverse(chain->files, chain->files_len);
    for (size_t i = 0, in_chain = 0; i < names->len; i++) {
        if (in_chain < chain->files_len && chain->files[in_chain].header.seq == names->seqs[i])
            in_chain++;
        else
            chain->unused[chain->unused_len++] = names->seqs[i];
    }
    return HAPAX_OK;
}

int hx_chain_open(hx_chain *chain, const hx_os *os, const char *folder, const hx_superblock *superblock,
                  hapax_error *ret_error)
{
    *chain = (hx_chain){.os = os};
    snprintf(chain->folder, sizeof chain->folder, "%s", folder);
    memcpy(chain->key, superblock->key, 16);
    memcpy(chain->uuid, superblock->uuid, 16);
    name_list names = {0};
    int rc = os->list(os->ctx, folder, note_name, &names);
    if (names.no_memory)
        rc = hx_fail(ret_error, HAPAX_ERR_MEMORY, "no memory for the names of the log files in %s", folder);
    else if (rc == -ENOENT)
        rc = hx_fail_damaged(ret_error, folder, 0, "the folder of the log is missing");
    else if (rc < 0)
        rc = hx_fail_os(ret_error, rc, "cannot read the folder", folder);
    if (rc == HAPAX_OK && names.len > 0) {
        qsort(names.seqs, names.len, sizeof *names.seqs, compare_seqs);
        rc = follow(chain, &names, superblock->first_wal, ret_error);
    } else if (rc == HAPAX_OK && superblock->first_wal > 0) {
        rc = hx_fail_damaged(ret_error, folder, 0, "the log files are missing");
    }
    free(names.seqs);
    return rc;
}

void hx_chain_free(hx_chain *chain)
{
    free(chain->files);
    free(chain->unused);
    *chain = (hx_chain){0};
}

/* What a scan carries from batch to batch. */
typedef struct scan {
    hx_chain *chain;
    file_reader reader;
    uint64_t lsn;
    uint64_t chain_value;
    hx_chain_visit *visit;
    void *arg;
    uint64_t counted; /* events of the batch that is being visited */
} scan;

static int count_and_visit(void *arg, const hx_event *event)
{
    scan *s = arg;
    s->counted++;
    return s->visit == NULL ? 0 : s->visit(s->arg, event);
}

/* Looks at the batch at `at`: sets *ret_problem (NULL: sound) and, where it is sound, header and records. */
static int look_at_batch(scan *s, const hx_chain_file *file, uint64_t at, hx_batch_header *ret_header,
                         const unsigned char **ret_bytes, const char **ret_problem, hapax_error *ret_error)
{
    const unsigned char *bytes;
    int rc = reader_get(&s->reader, at, HX_BATCH_HEADER, &bytes, ret_error);
    if (rc < 0)
        return rc;
    *ret_problem = "a batch header is damaged";
    if (bytes == NULL || hx_format_read_batch(bytes, ret_header) != HX_FORMAT_GOOD)
        return HAPAX_OK;
    if (ret_header->salt != file->header.salt || ret_header->first_lsn != s->lsn ||
        ret_header->chain != s->chain_value) {
        *ret_problem = "a batch does not follow the one before it";
        return HAPAX_OK;
    }
    *ret_problem = "the records of a batch are damaged";
    /* The zeros that fill up the last block may be missing: they say nothing. */
    size_t len = (size_t)HX_BATCH_HEADER + ret_header->len;
    if (at + len > file->end)
        return HAPAX_OK;
    rc = reader_get(&s->reader, at, len, &bytes, ret_error);
    if (rc < 0)
        return rc;
    if (bytes == NULL || hx_crc32c(0, bytes + HX_BATCH_HEADER, ret_header->len) != ret_header->payload_crc)
        return HAPAX_OK;
    *ret_bytes = bytes;
    *ret_problem = NULL;
    return HAPAX_OK;
}

static int visit_batch(scan *s, uint64_t at, const hx_batch_header *header, const unsigned char *bytes,
                       hapax_error *ret_error)
{
    hx_event_base base = {header->activity_ms, header->wall_ms};
    size_t record_at = 0;
    s->counted = 0;
    /* The chain value is taken first: a visit may not keep the bytes, but the reader may move them. */
    uint64_t next_chain = hx_format_chain(s->chain->key, bytes);
    int rc = hx_event_decode(bytes + HX_BATCH_HEADER, header->len, &base, count_and_visit, s, &record_at);
    if (rc == HAPAX_ERR_DAMAGED || (rc == 0 && s->counted != header->count))
        return hx_fail_damaged(ret_error, s->reader.path, at + HX_BATCH_HEADER + record_at,
                               "a record in a sound batch makes no sense");
    if (rc != 0)
        return rc < 0 ? hx_fail(ret_error, rc, "%s while reading %s, offset %llu", hapax_status_name(rc),
                                s->reader.path, (unsigned long long)at)
                      : rc;
    hx_chain *chain = s->chain;
    chain->last_batch_at = at;
    chain->last_chain = header->chain;
    chain->last_first_lsn = header->first_lsn;
    chain->last_base = base;
    chain->batches++;
    chain->events += header->count;
    s->lsn += header->count;
    s->chain_value = next_chain;
    return HAPAX_OK;
}

/* Whether a sound, later batch of this file stands behind `from`: then what is at `from` was not torn by a crash. */
static int find_later_batch(scan *s, const hx_chain_file *file, uint64_t from, uint64_t *ret_at,
                            hapax_error *ret_error)
{
    *ret_at = 0;
    for (uint64_t at = from + HX_BLOCK; at + HX_BATCH_HEADER <= file->size; at += HX_BLOCK) {
        const unsigned char *bytes;
        hx_batch_header header;
        int rc = reader_get(&s->reader, at, HX_BATCH_HEADER, &bytes, ret_error);
        if (rc < 0)
            return rc;
        if (bytes != NULL && hx_format_read_batch(bytes, &header) == HX_FORMAT_GOOD &&
            header.salt == file->header.salt && header.first_lsn > s->lsn) {
            *ret_at = at;
            return HAPAX_OK;
        }
    }
    return HAPAX_OK;
}

/* The newest file ends at `at`: what is behind is blank, torn, or damaged. */
static int end_newest(scan *s, hx_chain_file *file, uint64_t at, const char *problem, hapax_error *ret_error)
{
    uint64_t later;
    int rc = find_later_batch(s, file, at, &later, ret_error);
    if (rc < 0)
        return rc;
    if (later != 0)
        return hx_fail_damaged(ret_error, s->reader.path, at,
                               "%s, but a later one stands at %llu: this is no torn tail; what follows is at risk",
                               problem, (unsigned long long)later);
    const unsigned char *bytes;
    rc = reader_get(&s->reader, at, HX_BATCH_HEADER, &bytes, ret_error);
    if (rc < 0)
        return rc;
    hx_batch_header header;
    bool blank = bytes == NULL ? file->size <= at : hx_format_read_batch(bytes, &header) == HX_FORMAT_BLANK;
    s->chain->torn_at = blank ? 0 : at;
    s->chain->torn_bytes = blank ? 0 : file->size - at;
    file->end = at;
    return HAPAX_OK;
}

static int scan_file(scan *s, hx_chain_file *file, bool newest, hx_chain_progress *progress, hapax_error *ret_error)
{
    hx_chain *chain = s->chain;
    chain->last_batch_at = 0;
    chain->last_chain = s->chain_value;
    chain->last_first_lsn = s->lsn;
    uint64_t at = HX_BLOCK;
    while (at < file->end) {
        hx_batch_header header;
        const unsigned char *bytes = NULL;
        const char *problem;
        int rc = look_at_batch(s, file, at, &header, &bytes, &problem, ret_error);
        if (rc == HAPAX_OK && problem != NULL)
            return newest ? end_newest(s, file, at, problem, ret_error)
                          : hx_fail_damaged(ret_error, s->reader.path, at, "%s; what follows is at risk", problem);
        if (rc == HAPAX_OK)
            rc = visit_batch(s, at, &header, bytes, ret_error);
        if (rc != HAPAX_OK)
            return rc;
        at += hx_format_batch_span(header.len);
        if (progress != NULL && progress->report != NULL)
            progress->report(progress->arg, progress->done_bytes + at, progress->total_bytes);
    }
    file->end = at; /* past the size where the last batch lacks its filling */
    return HAPAX_OK;
}

int hx_chain_scan(hx_chain *chain, hx_chain_visit *visit, void *arg, hx_chain_progress *progress,
                  hapax_error *ret_error)
{
    scan s = {.chain = chain, .visit = visit, .arg = arg};
    chain->batches = chain->events = chain->bytes = 0;
    for (size_t i = 0; i < chain->files_len; i++) {
        hx_chain_file *file = &chain->files[i];
        bool newest = i + 1 == chain->files_len;
        if (i == 0) {
            s.lsn = file->header.first_lsn;
            s.chain_value = file->header.chain;
        }
        int rc = reader_open(&s.reader, chain, file, newest, ret_error);
        if (rc == HAPAX_OK && (s.lsn != file->header.first_lsn || s.chain_value != file->header.chain))
            rc = hx_fail_damaged(ret_error, s.reader.path, 72, "this log file does not follow the one before it");
        if (rc == HAPAX_OK)
            rc = scan_file(&s, file, newest, progress, ret_error);
        reader_close(&s.reader);
        if (rc != HAPAX_OK)
            return rc;
        chain->bytes += file->end;
        if (progress != NULL)
            progress->done_bytes += file->end;
    }
    chain->next_lsn = s.lsn;
    return HAPAX_OK;
}

int hx_chain_copy_tail(const hx_chain *chain, uint64_t from, uint64_t to, hx_buf *buf, hapax_error *ret_error)
{
    const hx_chain_file *newest = &chain->files[chain->files_len - 1];
    uint64_t there = to < newest->size ? to : newest->size; /* behind it only filling zeros can be missing */
    file_reader reader;
    const unsigned char *bytes;
    int rc = reader_open(&reader, chain, newest, true, ret_error);
    if (rc == HAPAX_OK)
        rc = reader_get(&reader, from, (size_t)(there - from), &bytes, ret_error);
    if (rc == HAPAX_OK && bytes == NULL)
        rc = hx_fail_damaged(ret_error, reader.path, from, "the file has become shorter");
    if (rc == HAPAX_OK && hx_buf_reserve(buf, (size_t)(to - from)) < 0)
        rc = hx_fail(ret_error, HAPAX_ERR_MEMORY, "no memory to copy the last batches");
    if (rc == HAPAX_OK) {
        memcpy(buf->data + buf->len, bytes, (size_t)(there - from));
        memset(buf->data + buf->len + (there - from), 0, (size_t)(to - there));
        buf->len += (size_t)(to - from);
    }
    reader_close(&reader);
    return rc;
}
