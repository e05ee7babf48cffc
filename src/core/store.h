/*
 * store.h - an open store and its domains, as the files of this room see them.
 *
 * Lock order: store.lock, then one domain.lock, then log.lock. A domain's lock is held while messages are judged and
 * their events are staged, so the log has them in the order in which they were judged; it is not held while somebody
 * waits for the disk.
 */
#ifndef HX_STORE_H
#define HX_STORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <hapax.h>

#include "core/bookmarks.h"
#include "core/clock.h"
#include "core/format.h"
#include "core/memory.h"
#include "core/wal.h"
#include "core/window.h"
#include "os/os.h"

/* Verdicts given, and what max_step saw. A function of the log: recovery counts them again. */
typedef struct hx_counters {
    uint64_t new_count, duplicate, in_flight, unchecked, over_limit, steps;
} hx_counters;

/* What max_step remembers of the previous given time. */
typedef struct hx_step_state {
    bool has_previous;
    bool ahead; /* it was further ahead than max_step */
    int64_t previous_ms;
} hx_step_state;

/* One message of a batch, prepared. */
typedef struct hx_prepared {
    hx_hash hash;
    uint32_t source; /* referenced, once a run, until the batch is judged; HX_SOURCE_NONE: the message has no id */
} hx_prepared;

struct hapax_domain {
    hapax_store *store;
    uint32_t number; /* place in store->domains */
    char *name;      /* owned */
    size_t name_len;
    bool opened;      /* by hapax_domain_open of this process */
    unsigned changed; /* settings that this process changed, see hapax_domain_settings */

    hx_memory memory;     /* what the window takes; counted in the store's as well */
    pthread_mutex_t lock; /* covers all below */
    hx_window window;
    hx_counters counters;
    hx_step_state step;
    uint64_t next_seq;
    uint32_t next_log_number; /* of the next source that the log is told of */
    int64_t time_base_ms;     /* activity clock: receive time at monotonic_base_ms */
    int64_t monotonic_base_ms;

    /* Scratch of the batch that is being judged; kept between calls. */
    hx_prepared *prepared;
    size_t prepared_cap;
    hx_event *events;
    size_t events_cap, events_len;
    uint32_t *receipts; /* sources named in the last results, referenced until the next call judges */
    size_t receipts_cap, receipts_len;
};

/* What recovery read. */
typedef struct hx_scanned {
    uint64_t files, batches, events;
    uint64_t bytes; /* that count */
} hx_scanned;

struct hapax_store {
    const hx_os *os;
    hx_memory memory;
    hx_clock clock;
    hx_wal wal;
    hx_superblock superblock;
    hapax_open_report report;
    char *path;    /* owned; NULL: in memory */
    int lock_file; /* the folder, locked; -1: none */
    bool read_only;
    hapax_durability durability;
    hx_scanned scanned;

    pthread_mutex_t lock;   /* covers the three below */
    hapax_domain **domains; /* owned */
    size_t domains_len, domains_cap;
    hx_map domains_by_name; /* name to place in domains */
    hx_bookmarks bookmarks;
};

/* hapax_store_open over a given os table, which must outlive the store. */
int hx_store_open_os(const hx_os *os, const hapax_store_options *options, hapax_store **ret_store,
                     hapax_error *ret_error);

/* Adds a domain that is not there. */
int hx_store_add_domain(hapax_store *store, const char *name, size_t name_len, const hx_settings *settings,
                        hapax_domain **ret_domain, hapax_error *ret_error);
/* Takes the domain that was added last away again. */
void hx_store_drop_last_domain(hapax_store *store);
/* The domain of a name, or NULL. */
hapax_domain *hx_store_domain_named(hapax_store *store, const char *name, size_t name_len);

/* Reads the log back into the store, which is empty. */
int hx_recover(hapax_store *store, const hapax_store_options *options, hx_wal_resume *ret_resume,
               hapax_error *ret_error);

/* settings.c: the settings a domain gets, from what is stored (or NULL) and what is asked for (or NULL). */
int hx_settings_merge(const hx_settings *stored, const hapax_domain_options *options, hx_settings *ret_settings,
                      unsigned *ret_changed, hapax_error *ret_error);
bool hx_settings_valid(const hx_settings *settings);
/* Names the first setting in which two differ, for messages; false where they are the same. */
bool hx_settings_differ(const hx_settings *a, const hx_settings *b, const char **ret_name, int64_t *ret_a,
                        int64_t *ret_b);

/* domain.c */
hapax_domain *hx_domain_new(hapax_store *store, uint32_t number, const char *name, size_t name_len,
                            const hx_settings *settings, hapax_error *ret_error);
void hx_domain_free(hapax_domain *domain);
/* Starts the domain's activity clock at its last receive time. */
void hx_domain_start_clock(hapax_domain *domain);
/* Now, by every clock; time_ms is the domain's activity clock. Lock held. */
hx_moment hx_domain_moment(const hapax_domain *domain);
/* Makes the scratch of a batch of n messages or claims; no source is referenced in it yet. Lock held. */
int hx_domain_reserve_scratch(hapax_domain *domain, size_t n);
/* Ends what preparing a batch promised to its sources, and lets them go; also after a failure. Lock held. */
void hx_domain_settle_sources(hapax_domain *domain, size_t n);
/* Notes what the first claim decides: whether the domain takes given times. Lock held. */
void hx_domain_set_time_mode(hapax_domain *domain, bool given);

/* Releases the open claims of a domain for a clean close and stages what the log has to know. */
int hx_domain_close_claims(hapax_domain *domain, hapax_error *ret_error);

#endif
