/*
 * wal.h - the write-ahead log of an open store: events in, one write and one sync for everybody who waits.
 *
 * Events are staged in order under one lock. Whoever waits for his event and finds nobody writing writes all that is
 * staged in one batch; the others wait for him. No thread of its own, no sleeping to gather.
 *
 *     staged events:   [ d | d | d | w | w | s | s | s ]        d durable (gone from memory), w in the batch that is
 * being position:          1   2   3   4   5   6   7   8          written, s staged behind it
 *
 * A position is the number of events up to and including one, over the life of the store: its lsn + 1.
 *
 * A call first reserves room, in memory and on disk, for what it will stage: only that can fail for want of room, and
 * at that time nothing has changed yet. A failed write or sync poisons the log for good.
 * Threads: all functions may be called from any thread, but init, begin, close and free.
 */
#ifndef HX_WAL_H
#define HX_WAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <hapax.h>

#include "base/buf.h"
#include "core/clock.h"
#include "core/event.h"
#include "core/format.h"
#include "os/os.h"

#define HX_PATH_MAX 4096

/* Room that a call has reserved: of n events and blob_bytes of blobs. */
typedef struct hx_wal_room {
    size_t events;
    size_t blob_bytes;
} hx_wal_room;

typedef struct hx_wal {
    const hx_os *os;
    const hx_clock *clock; /* borrowed from the store */
    bool in_memory;        /* nothing is written; staging only counts */
    bool hold;             /* nothing is written before hx_wal_commit asks for it */
    bool syncs;            /* durability is full */
    char folder[HX_PATH_MAX];
    unsigned char uuid[16];
    unsigned char key[16];
    uint64_t max_disk_bytes; /* UINT64_MAX: none */

    pthread_mutex_t lock; /* covers all below */
    pthread_cond_t changed;
    hx_event *events; /* staged, the first has position durable + 1 unless a batch is being written */
    size_t events_len, events_cap;
    uint64_t staged;  /* position of the last event */
    uint64_t durable; /* position of the last durable event */
    bool writing;
    int failed;           /* 0, or the status that poisoned the log */
    uint64_t blob_bytes;  /* of staged events */
    hx_wal_room reserved; /* by calls that have not staged yet */
    uint64_t promised;    /* events of open claims that are still to come */
    hx_buf payload;       /* of the batch that is being written */
    hx_buf next_payload;  /* a larger one, for the next */

    int file; /* -1: none */
    uint64_t seq;
    uint64_t write_at; /* end of the last batch */
    uint64_t grown_to; /* disk space is reserved up to here */
    uint64_t grow_step;
    uint64_t chain;
    uint64_t salt;
    uint64_t older_bytes; /* of the other files of the store */
} hx_wal;

/* Where a log goes on: what recovery found. */
typedef struct hx_wal_resume {
    uint64_t seq;      /* of the new file */
    uint64_t prev_seq; /* of the file it follows; 0: none */
    uint64_t prev_end;
    uint64_t newest_seq;   /* of the newest file there is; 0: none */
    uint64_t newest_end;   /* its bytes that count; what is reserved behind them can be given back */
    uint64_t replaced_seq; /* of the file that the new one replaces as a whole; 0: none */
    uint64_t first_lsn;    /* of the first event in the new file */
    uint64_t chain;        /* of the batch before it */
    uint64_t next_lsn;     /* after the carried batches */
    uint64_t older_bytes;
    hx_buf carry; /* whole batches that are written anew, re-salted by the log; owned by the caller */
} hx_wal_resume;

int hx_wal_init(hx_wal *wal, const hx_os *os, const hx_clock *clock);
void hx_wal_free(hx_wal *wal);

/* Makes the first file of this opening, durably. Not for logs in memory. */
int hx_wal_begin(hx_wal *wal, const hx_wal_resume *resume, hapax_error *ret_error);

/*
 * Makes the room. It is kept for the caller until hx_wal_append or hx_wal_cancel. Errors: FULL, MEMORY, HELD,
 * POISONED, IO. What begins something new must leave untouched what open claims were promised, and may have `promise`
 * events of later calls promised in turn; what ends something takes from the promises.
 */
int hx_wal_reserve(hx_wal *wal, const hx_wal_room *room, size_t promise, hapax_error *ret_error);
int hx_wal_reserve_end(hx_wal *wal, const hx_wal_room *room, hapax_error *ret_error);
/* Gives reserved room back. */
void hx_wal_cancel(hx_wal *wal, const hx_wal_room *room);
/* Takes promises back that were not or are no longer needed. */
void hx_wal_unpromise(hx_wal *wal, size_t promise);

/*
 * Stages n events in the reserved room, which is thereby given back; the log owns their blobs from here. Returns the
 * position of the last; *ret_before (or NULL) is the position before the first.
 */
uint64_t hx_wal_append(hx_wal *wal, const hx_wal_room *room, const hx_event *events, size_t n, uint64_t *ret_before);

/* As hx_wal_append in a log in memory, for n events without blobs: they are counted. */
uint64_t hx_wal_count(hx_wal *wal, const hx_wal_room *room, size_t n, uint64_t *ret_before);

/* Returns 0 once everything up to `position` is durable. Errors: IO, POISONED, FULL. */
int hx_wal_commit(hx_wal *wal, uint64_t position, hapax_error *ret_error);
/*
 * As a call ends: waits for the position of its last event, unless the log is one that holds back. 0: it staged
 * nothing that has to be waited for; but where much of that kind has gathered it is written now.
 */
int hx_wal_finish(hx_wal *wal, uint64_t position, hapax_error *ret_error);

/*
 * As a call ends that told what is known and changed nothing: it must not tell of what is still on its way to the
 * disk, and may be lost. Waits for `position`, taken with hx_wal_staged when it looked; 0: it told of nothing.
 * Errors: as commit.
 */
int hx_wal_settle(hx_wal *wal, uint64_t position, hapax_error *ret_error);
uint64_t hx_wal_staged(hx_wal *wal);

/* 0, or why the log takes nothing more. */
int hx_wal_failed(hx_wal *wal, hapax_error *ret_error);

/* Writes what is staged, gives back the space that was reserved ahead and closes the file. */
int hx_wal_close(hx_wal *wal, hapax_error *ret_error);

/* Bytes that the log's files take. */
uint64_t hx_wal_disk_bytes(hx_wal *wal);

/* The path of log file `seq`, or (temporary) of the one it is made as. */
void hx_wal_path(char path[HX_PATH_MAX], const char *folder, uint64_t seq, bool temporary);

#endif
