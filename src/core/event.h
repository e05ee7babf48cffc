/*
 * event.h - what the log holds: one event for each thing that changes what is remembered.
 *
 * In memory an event is a struct; on disk events are records, and many arrivals in a row are one record (a run), so
 * that an id costs 16 bytes and little more. docs/format.md describes the bytes.
 *
 * `seq` numbers the arrivals and confirms of a domain within one opening of the store (an epoch). A claim is logged
 * when it is confirmed or released, with the seq of its arrival: recovery sorts by seq, and so judges everything in
 * the order in which it came.
 */
#ifndef HX_EVENT_H
#define HX_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/codec.h"
#include "base/siphash.h"
#include "core/stamps.h"
#include "core/window.h"

/* Record types. Numbers are part of the format; never reuse one. */
typedef enum hx_event_type {
    HX_EVENT_ARRIVE = 1, /* a recorded message or a renewing duplicate: its work is done */
    HX_EVENT_CLAIM = 2,  /* the arrival of a claim; stands directly before its CONFIRM or RELEASE */
    HX_EVENT_CONFIRM = 3,
    HX_EVENT_RELEASE = 4, /* counts for the windows only where the epoch ended with CLEAN */
    HX_EVENT_RENEW = 5,   /* a renewing IN_FLIGHT; counts only where its claim does */
    HX_EVENT_COUNT = 6,   /* verdicts that changed nothing else */
    HX_EVENT_IDLE = 7,    /* silent sources were emptied; counts only where the epoch ended with CLEAN */
    HX_EVENT_SOURCE = 8,  /* in this epoch this number stands for this source name */
    HX_EVENT_DOMAIN = 9,  /* a domain is made, or its settings are changed */
    HX_EVENT_BOOKMARK = 10,
    HX_EVENT_OPEN = 11,  /* a new epoch */
    HX_EVENT_CLEAN = 12, /* the store was closed properly */
} hx_event_type;

enum {
    HX_EVENT_GIVEN_TIME = 1, /* flag: the receive time was given by the caller */
    HX_EVENT_DUPLICATE = 2,  /* flag of ARRIVE: it was a duplicate that renewed its place */
    HX_EVENT_NO_SYNCS = 1,   /* flag of OPEN: durability is that of the process */
    HX_EVENT_STEP_AHEAD = 4, /* flag of COUNT: the previous given time was ahead by more than max_step */
    HX_EVENT_HAS_STEP = 8,   /* flag of COUNT: time_ms is the previous given time */
};

/* Verdicts that changed nothing else, of one call. */
typedef struct hx_event_counts {
    uint32_t duplicate, in_flight, unchecked, over_limit, steps;
} hx_event_counts;

typedef struct hx_event {
    uint8_t type;  /* hx_event_type */
    uint8_t flags; /* HX_EVENT_* flags */
    uint32_t domain;
    uint32_t source; /* the log's number for it, never used twice in an epoch; 0: a name that is not kept */
    uint64_t seq;
    uint64_t claim_seq; /* RENEW: seq of the arrival of its claim */
    int64_t time_ms;
    int64_t activity_ms; /* OPEN: downtime before it in claim_seq */
    int64_t wall_ms;
    union {
        hx_hash hash;
        hx_event_counts counts;
        struct {
            unsigned char *data; /* SOURCE, DOMAIN, BOOKMARK; who owns it says the function that passes it */
            size_t len;
        } blob;
    };
} hx_event;

/* The most bytes an event takes in the log, but for its blob; arrivals in a run take far less. */
#define HX_EVENT_BYTES_MAX 128

/* True for the types that carry a blob. */
bool hx_event_has_blob(uint8_t type);

/* What a batch says about its clock: events are stored relative to it. */
typedef struct hx_event_base {
    int64_t activity_ms;
    int64_t wall_ms;
} hx_event_base;

/* Appends n events as records. The room (n * HX_EVENT_BYTES_MAX and the blobs) was made before. */
void hx_event_encode(hx_buf *buf, const hx_event_base *base, const hx_event *events, size_t n);

/*
 * Reads the records of a batch and calls visit for every event, in order; a blob is borrowed from `data`. Returns 0,
 * what visit returned if that is not 0, or HAPAX_ERR_DAMAGED, with *ret_at the place of the record in both cases.
 */
int hx_event_decode(const unsigned char *data, size_t len, const hx_event_base *base,
                    int (*visit)(void *arg, const hx_event *event), void *arg, size_t *ret_at);

/* The blob of a DOMAIN: settings and name. Room for HX_DOMAIN_BLOB_MAX bytes was made before. */
#define HX_DOMAIN_BLOB_MAX (1024 + 96)
void hx_event_write_domain(hx_buf *buf, const hx_settings *settings, const char *name, size_t name_len);
bool hx_event_read_domain(const unsigned char *data, size_t len, hx_settings *ret_settings, const char **ret_name,
                          size_t *ret_name_len);

/* The blob of a BOOKMARK: name and data. Room for both and 10 bytes was made before. */
void hx_event_write_bookmark(hx_buf *buf, const char *name, size_t name_len, const void *data, size_t data_len);
bool hx_event_read_bookmark(const unsigned char *data, size_t len, const char **ret_name, size_t *ret_name_len,
                            const unsigned char **ret_data, size_t *ret_data_len);

#endif
