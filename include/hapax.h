/*
 * hapax.h - act on every message once: the whole contract of libhapax.
 *
 * hapax remembers message ids durably and answers one question: "I have this message, is it new?"
 * This header is the manual; read it from the top.
 *
 *   1. Words and limits          5. Claims: claim, confirm, release
 *   2. Errors                    6. Holding writes back: commit, bookmarks
 *   3. Stores and domains        7. Looking inside: stat, explain, dump, verify
 *   4. Record: the short way
 *
 * The shortest useful program:
 *
 *     hapax_store_options so;
 *     hapax_store_options_init(&so);
 *     so.path = "./state";
 *     hapax_store *store = NULL;
 *     hapax_error err;
 *     if (hapax_store_open(&so, &store, &err) < 0) { fprintf(stderr, "%s\n", err.message); return 1; }
 *
 *     hapax_domain *orders = NULL;
 *     if (hapax_domain_open(store, "orders", 6, NULL, &orders, &err) < 0) ...
 *
 *     hapax_message m = {.id = id, .id_len = strlen(id), .time_ms = HAPAX_NOW};
 *     hapax_result r;
 *     if (hapax_claim(orders, &m, 1, &r, &err) < 0) ...
 *     if (r.verdict == HAPAX_NEW) {
 *         if (do_the_work() == 0) hapax_confirm(orders, &r.claim, 1, HAPAX_NOW, &err);
 *         else                    hapax_release(orders, &r.claim, 1, &err);
 *     }
 *     hapax_store_close(store, &err);
 *
 * Thread rule, unless a function says otherwise: every function may be called from any thread, on the same
 * handle, at the same time; a handle must not be closed while another call uses it.
 * Pointer rule: every pointer that is passed in is borrowed for the time of the call and copied where it is kept.
 * Failure rule: a call that fails leaves the state as it was and its `ret_` outputs untouched.
 * The library prints nothing, never exits, reads no environment and installs no signal handler.
 */
#ifndef HAPAX_H
#define HAPAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HAPAX_API __attribute__((visibility("default")))
#else
#define HAPAX_API
#endif

/* ---- 1. Words and limits ------------------------------------------------------------------------------------
 *
 * store        a folder (or memory) that holds what is remembered; one process has it open for writing
 * domain       the name space in which ids are unique, for instance one per queue
 * source       who sent a message; chooses the window, is not part of the identity; none given: the source ""
 * id           raw bytes, compared exactly
 * window       per source, the last `window` ids of that source; they are never forgotten because time passes
 * time queue   per domain, the ids pushed out of a window, in the order of their receive time; an id in it is
 *              forgotten once the newest receive time that ever entered the queue is more than `expiry_ms` ahead
 * receive time milliseconds, per domain, never goes back. By default the activity clock: it runs while the store
 *              is open, so downtime and a stepped wall clock age nothing. A caller may give its own times instead
 * claim        a message that was NEW and whose work has not been confirmed yet
 */

#define HAPAX_ID_MAX 4096          /* bytes of an id; a longer one is HAPAX_ERR_TOO_LONG, never cut */
#define HAPAX_NAME_MAX 1024        /* bytes of a source, domain or bookmark name */
#define HAPAX_BATCH_MAX 65536      /* messages in one call */
#define HAPAX_HELD_MAX 262144      /* events held back before hapax_commit has to be called */
#define HAPAX_BOOKMARK_MAX 65536   /* bytes of a bookmark's data */
#define HAPAX_DOMAINS_MAX 65535    /* domains in a store */
#define HAPAX_WINDOW_MAX (1 << 30) /* ids of a per-source window */

#define HAPAX_TIME_MAX_MS (INT64_C(1) << 51) /* a given time lies from -this to this: 71,000 years around 1970 */

#define HAPAX_FOREVER INT64_MAX /* an expiry: never forget */
#define HAPAX_UNSET INT64_MIN   /* a setting: the stored one, or the default where none is stored */
#define HAPAX_NOW INT64_MIN     /* a time: the domain's activity clock */

/* The answer to "is it new?". */
typedef enum hapax_verdict {
    HAPAX_NEW = 1,       /* never seen, or forgotten: do the work */
    HAPAX_DUPLICATE = 2, /* known, and its work is done: drop it */
    HAPAX_IN_FLIGHT = 3, /* known, but its work is not done yet: never treat it as done */
    HAPAX_UNCHECKED = 4, /* no id, or an empty one: cannot be judged, is never remembered */
    HAPAX_CONFLICT = 5,  /* reserved: known id with another body */
    HAPAX_STALE = 6,     /* reserved: sequence policy, a number below the floor */
} hapax_verdict;

/* "new", "duplicate", ...; never NULL. The string lives as long as the library. */
HAPAX_API const char *hapax_verdict_name(hapax_verdict verdict);

/* The version of the library that is linked, "MAJOR.MINOR.PATCH". */
HAPAX_API const char *hapax_version(void);

/* ---- 2. Errors ----------------------------------------------------------------------------------------------
 *
 * Functions return 0 or a positive value on success and one of these, all negative, on failure. An error is not
 * a verdict: it changes nothing, and a later identical call is judged as if the failed one had not been.
 */
typedef enum hapax_status {
    HAPAX_OK = 0,
    HAPAX_ERR_INVALID = -1,     /* an argument or a setting that makes no sense */
    HAPAX_ERR_TOO_LONG = -2,    /* an id, a name or a batch above its limit */
    HAPAX_ERR_MEMORY = -3,      /* no memory left */
    HAPAX_ERR_FULL = -4,        /* disk full, or a budget reached; goes away by itself once there is room */
    HAPAX_ERR_IO = -5,          /* an I/O error; the store takes no more writes until it is opened again */
    HAPAX_ERR_POISONED = -6,    /* an earlier I/O error, see above */
    HAPAX_ERR_DAMAGED = -7,     /* the store's files are damaged in a way that a crash cannot explain */
    HAPAX_ERR_LOCKED = -8,      /* another process has the store open; the message names its pid */
    HAPAX_ERR_VERSION = -9,     /* the store was written in a format this library does not know */
    HAPAX_ERR_NOT_FOUND = -10,  /* no store, domain, bookmark or claim by that name */
    HAPAX_ERR_SETTINGS = -11,   /* a setting differs from the one in force */
    HAPAX_ERR_TIME_MODE = -12,  /* a given time in a domain on the activity clock, or the other way round */
    HAPAX_ERR_READ_ONLY = -13,  /* the store was opened for reading */
    HAPAX_ERR_DURABILITY = -14, /* the file system cannot give the durability that was asked for */
    HAPAX_ERR_HELD = -15,       /* HAPAX_HELD_MAX events are held back: call hapax_commit first */
} hapax_status;

/* Details of a failure, in the caller's memory. Every function takes NULL where nobody wants them. */
typedef struct hapax_error {
    int status;        /* one of hapax_status */
    int os_error;      /* an errno value, or 0 */
    size_t index;      /* the message of a batch that is to blame, or 0 */
    uint64_t offset;   /* the byte in `path` where damage was found, or 0 */
    char path[256];    /* the file concerned, or "" */
    char message[512]; /* one plain sentence, NUL-terminated */
} hapax_error;

/* The name of a status, for instance "HAPAX_ERR_FULL"; never NULL. */
HAPAX_API const char *hapax_status_name(int status);

/* ---- 3. Stores and domains -----------------------------------------------------------------------------------*/

typedef struct hapax_store hapax_store;   /* an open store */
typedef struct hapax_domain hapax_domain; /* a domain of an open store; closed with it */

typedef enum hapax_durability {
    /* What was answered survives power loss; refused where the file system cannot give it. */
    HAPAX_DURABILITY_FULL = 0,
    /* It survives the end of the process, however it comes, but not power loss: no syncs. */
    HAPAX_DURABILITY_PROCESS = 1,
} hapax_durability;

enum {
    HAPAX_OPEN_EXISTING = 1,  /* do not create: a missing store is HAPAX_ERR_NOT_FOUND */
    HAPAX_OPEN_READ_ONLY = 2, /* change nothing on disk; implies HAPAX_OPEN_EXISTING; still takes the lock */
    HAPAX_OPEN_HOLD = 4,      /* writes wait for hapax_commit, see section 6 */
};

typedef struct hapax_store_options {
    size_t size;      /* set by the initialiser */
    const char *path; /* the store's folder; NULL: in memory only, nothing is written */
    unsigned flags;   /* HAPAX_OPEN_* */
    hapax_durability durability;
    int64_t max_memory_bytes; /* budget for what is held in memory; HAPAX_UNSET: none */
    int64_t max_disk_bytes;   /* budget for the store's files; HAPAX_UNSET: none */
    /* Called a few times a second during recovery; or NULL. */
    void (*progress)(void *arg, uint64_t done_bytes, uint64_t total_bytes);
    void *progress_arg;
} hapax_store_options;

/* Fills in the defaults: in memory, created where missing, full durability, no budgets. */
HAPAX_API void hapax_store_options_init(hapax_store_options *options);

/* What was found when a store was opened. */
typedef struct hapax_open_report {
    size_t size;               /* set by the library */
    bool created;              /* the store is new */
    bool clean;                /* it had been closed properly */
    uint64_t recovered_events; /* events read back from the log */
    uint64_t torn_bytes;       /* bytes of a torn tail that were cut */
    uint64_t torn_offset;      /* where, in the last log file */
    char torn_path[256];       /* that file, or "" */
    int64_t downtime_ms;       /* wall time since the last write; 0 where the wall clock went back */
} hapax_open_report;

/*
 * Opens a store and recovers what it remembers. Time: a fraction of a second per million events in the log.
 * The caller owns *ret_store and gives it back with hapax_store_close.
 * Errors: LOCKED (the message names the holder), NOT_FOUND, VERSION, DAMAGED (path and offset are set),
 * DURABILITY, READ_ONLY (a folder that cannot be written), IO, FULL, MEMORY, INVALID.
 */
HAPAX_API int hapax_store_open(const hapax_store_options *options, hapax_store **ret_store, hapax_error *ret_error);

/* Copies the report of the open. Cannot fail. */
HAPAX_API void hapax_store_open_report(const hapax_store *store, hapax_open_report *ret_report);

/*
 * Releases the claims that are still open, writes what is held back and unlocks. The handle and its domains are
 * gone afterwards, whatever the result. NULL is fine. Errors: IO, POISONED, FULL: then the store stands as after a
 * crash.
 */
HAPAX_API int hapax_store_close(hapax_store *store, hapax_error *ret_error);

/*
 * Closes the handle without writing anything more, as a crash would: what is held back and the open claims are as
 * if they had never been. NULL is fine.
 */
HAPAX_API void hapax_store_abandon(hapax_store *store);

/*
 * Settings of a domain. A field left at HAPAX_UNSET takes the stored value, or the default for a new domain. One
 * that differs from the stored value is applied; where that would push ids out it needs change_settings.
 */
typedef struct hapax_domain_options {
    size_t size;        /* set by the initialiser */
    int64_t window;     /* ids per source, 0 to HAPAX_WINDOW_MAX; default 2000 */
    int64_t expiry_ms;  /* of the time queue; 0 is allowed, HAPAX_FOREVER; default 120000. Not both 0 */
    int64_t refresh;    /* 1: a duplicate renews its place in the window; 0: it changes nothing; default 1 */
    int64_t max_age_ms; /* forget an id this long after its receipt, downtime included; default HAPAX_FOREVER: off */
    int64_t source_idle_ms; /* empty the window of a source silent this long; HAPAX_FOREVER: off (default) */
    int64_t max_sources;    /* sources that get a window of their own, 1 to 16777216; default 65536 */
    int64_t max_step_ms;    /* a given time further ahead than this is not believed at once; default: off */
    bool change_settings;   /* allow a changed setting to push ids out */
} hapax_domain_options;

/* Fills every setting with HAPAX_UNSET. */
HAPAX_API void hapax_domain_options_init(hapax_domain_options *options);

/*
 * Opens a domain, making it where it is missing. `name` is name_len bytes, 1 to HAPAX_NAME_MAX. options NULL: all
 * unset. Opening a domain that is open gives the same handle. The handle belongs to the store.
 * Errors: SETTINGS (the message names the setting and both values: it would push ids out without change_settings, or
 * the domain is open with other ones), INVALID, TOO_LONG, READ_ONLY, NOT_FOUND (read-only stores), MEMORY, FULL, IO.
 */
HAPAX_API int hapax_domain_open(hapax_store *store, const char *name, size_t name_len,
                                const hapax_domain_options *options, hapax_domain **ret_domain,
                                hapax_error *ret_error);

/* The settings in force; every field is set. `ret_changed`, or NULL: bit n is set when field n (window = 0, in the
 * order of the struct) was changed from a stored value by the open of this domain. */
HAPAX_API void hapax_domain_settings(hapax_domain *domain, hapax_domain_options *ret_options, unsigned *ret_changed);

/* ---- 4. Record: the short way ---------------------------------------------------------------------------------*/

typedef struct hapax_message {
    const void *id; /* NULL or id_len 0: UNCHECKED */
    size_t id_len;
    const unsigned char *hash; /* NULL, or what hapax_id_hash gave for this id: then it is not hashed again */
    const void *source;        /* NULL or source_len 0: the source "" */
    size_t source_len;
    int64_t time_ms; /* HAPAX_NOW, or a given time from -HAPAX_TIME_MAX_MS to HAPAX_TIME_MAX_MS; the first claim of a
                        domain decides which of the two it takes */
} hapax_message;

typedef struct hapax_result {
    hapax_verdict verdict;
    uint32_t first_source; /* DUPLICATE, IN_FLIGHT: source of the receipt, for hapax_source_name; good until the next
                              claim or record in the domain */
    uint64_t claim;        /* NEW from hapax_claim: the handle for confirm and release; else 0 */
    uint64_t position;     /* log position after this message, for hapax_commit */
    int64_t receive_ms;    /* receive time at which the message was judged */
    int64_t first_receive_ms; /* DUPLICATE, IN_FLIGHT: receive time of the earliest receipt still held */
    int64_t first_wall_ms;    /* and its wall time, ms since 1970, within a second */
} hapax_result;

/*
 * Judges n messages (at most HAPAX_BATCH_MAX), one after the other, and remembers the new ones for good: claim and
 * confirm in one. A second copy within the batch is DUPLICATE. Returns 0 when everything that changed is on stable
 * storage (with HAPAX_OPEN_HOLD: once it is judged), with ret_results[0..n-1] filled.
 * Errors concern the whole call: nothing is judged, nothing is remembered; error.index names the message.
 * TOO_LONG, TIME_MODE, INVALID (a time out of range), FULL, MEMORY, HELD, READ_ONLY. After IO or POISONED the store
 * must be opened again: only then is it known what was remembered.
 */
HAPAX_API int hapax_record(hapax_domain *domain, const hapax_message *messages, size_t n, hapax_result *ret_results,
                           hapax_error *ret_error);

/*
 * Judges n messages as they stand and changes nothing: what hapax_claim would say to each of them alone (but silent
 * sources are not emptied first).
 */
HAPAX_API int hapax_peek(hapax_domain *domain, const hapax_message *messages, size_t n, hapax_result *ret_results,
                         hapax_error *ret_error);

/* ---- 5. Claims ------------------------------------------------------------------------------------------------
 *
 * A claim that was answered NEW stays open until it is confirmed or released. Its id becomes known for good only at
 * the confirm: after a crash in between a retry is NEW. While it is open every other claim of the id is IN_FLIGHT.
 */

/* As hapax_record, but the NEW ones are left open, and a second copy within the batch is IN_FLIGHT. */
HAPAX_API int hapax_claim(hapax_domain *domain, const hapax_message *messages, size_t n, hapax_result *ret_results,
                          hapax_error *ret_error);

/*
 * The work of n claims is done. Returns once that is on stable storage. time_ms is used where no occurrence of an id
 * is held any more: then the id enters its source's window anew at this time. HAPAX_NOW is the activity clock, or in
 * a domain with given times its last receive time.
 * Errors: NOT_FOUND (error.index: that claim is not open; none is confirmed), and those of hapax_record.
 */
HAPAX_API int hapax_confirm(hapax_domain *domain, const uint64_t *claims, size_t n, int64_t time_ms,
                            hapax_error *ret_error);

/* The work of n claims has failed: their ids are forgotten and a retry is NEW. Errors: NOT_FOUND, as above. */
HAPAX_API int hapax_release(hapax_domain *domain, const uint64_t *claims, size_t n, hapax_error *ret_error);

/* ---- 6. Holding writes back -----------------------------------------------------------------------------------
 *
 * With HAPAX_OPEN_HOLD the calls above judge at once but write nothing. An application that hands lines to a reader
 * writes them first and then calls hapax_commit, so that an id is never remembered without its line.
 * A bookmark is a small named piece of data that is made durable in the same atomic write as the ids before it:
 * "so far have I read".
 */

/*
 * Makes everything up to and including `position` (of a hapax_result, or UINT64_MAX for all) durable in one atomic
 * write. Also fine without HAPAX_OPEN_HOLD. Errors: IO, POISONED, FULL (nothing was written; may be called again).
 */
HAPAX_API int hapax_commit(hapax_store *store, uint64_t position, hapax_error *ret_error);

/*
 * Sets bookmark `name` (1 to HAPAX_NAME_MAX bytes) to data_len bytes (at most HAPAX_BOOKMARK_MAX), as one event
 * behind everything judged so far. *ret_position (or NULL) receives its position for hapax_commit. Not durable before
 * that.
 */
HAPAX_API int hapax_bookmark_set(hapax_store *store, const char *name, size_t name_len, const void *data,
                                 size_t data_len, uint64_t *ret_position, hapax_error *ret_error);

/* Copies at most capacity bytes of the bookmark to buffer and its whole length to *ret_len. Errors: NOT_FOUND. */
HAPAX_API int hapax_bookmark_get(hapax_store *store, const char *name, size_t name_len, void *buffer, size_t capacity,
                                 size_t *ret_len, hapax_error *ret_error);

/* ---- 7. Looking inside ----------------------------------------------------------------------------------------*/

typedef struct hapax_domain_stats {
    size_t size; /* set by the library */
    char name[HAPAX_NAME_MAX + 1];
    size_t name_len;
    int64_t window;
    int64_t expiry_ms;
    bool given_times;           /* the domain takes the caller's times */
    uint64_t ids_held;          /* distinct ids that are known */
    uint64_t ids_in_windows;    /* distinct ids with an occurrence in a window */
    uint64_t ids_in_time_queue; /* distinct ids with an occurrence in the time queue; may overlap */
    uint64_t sources;           /* sources whose window holds something */
    uint64_t in_flight;         /* open claims */
    uint64_t new_count, duplicate_count, in_flight_count, unchecked_count; /* verdicts given, over all opens */
    uint64_t sources_over_limit; /* messages judged without a window because max_sources was reached */
    uint64_t steps_not_believed; /* given times judged at the domain's last time because of max_step */
    int64_t last_receive_ms;     /* HAPAX_UNSET: none yet */
    uint64_t memory_bytes;
} hapax_domain_stats;

typedef struct hapax_store_stats {
    size_t size; /* set by the library */
    uint64_t domains;
    uint64_t disk_bytes;         /* allocated by the store's files */
    uint64_t memory_bytes;       /* held by the engine */
    uint64_t held_events;        /* waiting for hapax_commit */
    hapax_durability durability; /* the true one; of a store open for reading, that of its last opening for writing */
    bool in_memory;
    uint32_t format_version;
    int64_t activity_ms; /* how long the store has been open, over all opens */
} hapax_store_stats;

HAPAX_API void hapax_store_stat(hapax_store *store, hapax_store_stats *ret_stats);
HAPAX_API void hapax_domain_stat(hapax_domain *domain, hapax_domain_stats *ret_stats);

/* The domain number `index`, in order of creation, opened as it is stored; NULL when there are no more. */
HAPAX_API hapax_domain *hapax_domain_at(hapax_store *store, size_t index);

/*
 * Copies the name of a source (of a hapax_result or hapax_occurrence) to buffer, at most capacity bytes, and returns
 * its length, or HAPAX_ERR_NOT_FOUND where it is not kept: nothing of the source is held any more, or it came above
 * max_sources.
 */
HAPAX_API int hapax_source_name(hapax_domain *domain, uint32_t source, char *buffer, size_t capacity);

enum {
    HAPAX_HELD_BY_WINDOW = 1,
    HAPAX_HELD_BY_TIME_QUEUE = 2,
    HAPAX_HELD_BY_CLAIM = 4, /* in flight */
};

/* One occurrence of an id. Only hashes of ids are kept: see hapax_id_hash. */
typedef struct hapax_occurrence {
    unsigned char hash[16];
    uint64_t order; /* number of the claim or confirm it came with; rises by time */
    int64_t receive_ms;
    int64_t wall_ms;  /* within a second */
    uint32_t source;  /* for hapax_source_name */
    unsigned held_by; /* HAPAX_HELD_BY_*; a claim of which no occurrence is held has HELD_BY_CLAIM alone */
} hapax_occurrence;

typedef struct hapax_explanation {
    size_t size; /* set by the library */
    bool known;
    bool in_flight;
    unsigned held_by;       /* all occurrences together */
    uint64_t occurrences;   /* how many are held */
    hapax_occurrence first; /* the earliest one held */
    hapax_occurrence last;  /* the latest one held */
    uint64_t window_ahead; /* in a window: further ids of its source (that of `last`, if in one) until it leaves it */
    int64_t expires_after_ms; /* not in a window: it is forgotten when a receive time later than this enters the time
                                 queue; HAPAX_FOREVER: never */
    int64_t max_age_left_ms;  /* until max_age forgets it; HAPAX_FOREVER: max_age is off */
} hapax_explanation;

/* What is known of an id and why. Changes nothing. Errors: TOO_LONG, INVALID (an empty id). */
HAPAX_API int hapax_explain(hapax_domain *domain, const void *id, size_t id_len, hapax_explanation *ret_explanation,
                            hapax_error *ret_error);

/*
 * The keyed 128-bit hash under which the domain's store remembers an id. Takes no lock, so a thread that reads
 * messages can hash them for the one that claims them.
 */
HAPAX_API void hapax_id_hash(hapax_domain *domain, const void *id, size_t id_len, unsigned char ret_hash[16]);

/*
 * Calls visit for every occurrence held, oldest first, then for every claim without one. A non-zero return of visit
 * stops and is returned. The domain is locked meanwhile: visit must not call back into it, except hapax_source_name.
 */
HAPAX_API int hapax_dump(hapax_domain *domain, int (*visit)(void *arg, const hapax_occurrence *occurrence),
                         void *arg);

typedef struct hapax_verify_report {
    size_t size; /* set by the library */
    uint64_t files;
    uint64_t batches;
    uint64_t events;
    uint64_t bytes;
    uint64_t torn_bytes; /* a torn tail: what a crash leaves; the next open cuts it */
    char torn_path[256];
    uint64_t torn_offset;
} hapax_verify_report;

/* Reads every byte of the store at `path` and changes nothing. Errors: DAMAGED (with path and offset), LOCKED, ... */
HAPAX_API int hapax_verify(const char *path, hapax_verify_report *ret_report, hapax_error *ret_error);

#ifdef __cplusplus
}
#endif
#endif
