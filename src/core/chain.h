/*
 * chain.h - reading the log files of a store that nobody writes: which files count, and every batch in them, checked.
 *
 * Each file's header names the file before it and how many bytes of that one count. So the newest file leads back to
 * the first, and a file that is in nobody's way was replaced by a later one and can go.
 *
 *     W-1 [.......]  <- prev_end -  W-2 [............|xx]  <-- prev_end -  W-3 [....|torn]
 *                                    x: replaced by the copy in W-3
 *
 * A batch counts when its header and records fit their CRCs, its salt is the file's, its number follows on, and it
 * carries the hash of the header before it. The first batch of the newest file that does not is the torn tail that a
 * crash leaves, unless a later sound batch stands behind it: one batch is written at a time, so then it is damage.
 */
#ifndef HX_CHAIN_H
#define HX_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hapax.h>

#include "core/event.h"
#include "core/format.h"
#include "core/wal.h"
#include "os/os.h"

typedef struct hx_chain_file {
    hx_wal_header header;
    uint64_t size; /* bytes on disk */
    uint64_t end;  /* bytes that count; of the newest file set by the scan */
} hx_chain_file;

typedef struct hx_chain {
    const hx_os *os;
    char folder[HX_PATH_MAX];
    hx_chain_file *files; /* oldest first */
    size_t files_len;
    uint64_t *unused; /* seqs of files that are not part of the chain */
    size_t unused_len;
    unsigned char key[16];
    unsigned char uuid[16];

    /* Set by hx_chain_scan. */
    uint64_t batches, events, bytes;
    uint64_t torn_bytes, torn_at;        /* of the newest file */
    uint64_t last_batch_at;              /* where its last sound batch begins; 0: none */
    uint64_t last_chain, last_first_lsn; /* what that batch carried, or the header's */
    uint64_t next_lsn;                   /* behind it */
    hx_event_base last_base;             /* clocks of the last batch */
} hx_chain;

/* What is done with each event: its place is the file and the offset of its batch. Non-zero stops. */
typedef int hx_chain_visit(void *arg, const hx_event *event);

typedef struct hx_chain_progress {
    void (*report)(void *arg, uint64_t done_bytes, uint64_t total_bytes); /* or NULL */
    void *arg;
    uint64_t done_bytes, total_bytes;
} hx_chain_progress;

/* Finds the files. `first_wal` is the superblock's. Errors: DAMAGED, VERSION, IO, MEMORY. */
int hx_chain_open(hx_chain *chain, const hx_os *os, const char *folder, const hx_superblock *superblock,
                  hapax_error *ret_error);
void hx_chain_free(hx_chain *chain);

/* Reads and checks everything, calling visit (or NULL). Errors: DAMAGED, IO, MEMORY, and what visit returns. */
int hx_chain_scan(hx_chain *chain, hx_chain_visit *visit, void *arg, hx_chain_progress *progress,
                  hapax_error *ret_error);

/* Copies bytes [from, to) of the newest file. */
int hx_chain_copy_tail(const hx_chain *chain, uint64_t from, uint64_t to, hx_buf *buf, hapax_error *ret_error);

#endif
