/*
 * model.h - the rules of the windowed policy, followed word by word with plain lists: what the library must agree
 * with.
 *
 * This is the second opinion of the random test. It shares nothing with the engine: ids and sources are small
 * numbers, everything that is held stands in one list in the order of arrival, every question is answered by walking
 * it. A whole domain is a plain struct, so a look that changes nothing is a judgement on a copy, and a crash is the
 * events that survive it judged again from the copy made at the open.
 */
#ifndef MODEL_H
#define MODEL_H

#include <hapax.h>

#include <stdbool.h>
#include <stdint.h>

enum {
    MODEL_DOMAINS = 3,
    MODEL_SOURCES = 6, /* source 0 is the source "" */
    MODEL_IDS = 16,
    MODEL_HELD = 128,    /* occurrences in a domain */
    MODEL_CLAIMS = 16,   /* open claims in a domain: at most one an id */
    MODEL_EVENTS = 2048, /* between two opens */
    MODEL_NO_ID = -1,
};

typedef struct model_message {
    int id; /* or MODEL_NO_ID */
    int source;
    int64_t time_ms; /* or HAPAX_NOW */
} model_message;

/* One occurrence of an id. */
typedef struct model_held {
    int id;
    int source;
    bool in_window; /* else in the time queue */
    uint64_t order;
    int64_t receive_ms;
    int64_t wall_ms;
    int64_t age_stamp_ms;
} model_held;

typedef struct model_claim {
    uint64_t number; /* 1, 2, ... in the order in which they were given out */
    model_held receipt;
} model_claim;

/* What max_step remembers of the previous given time. */
typedef struct model_step {
    bool there;
    int64_t given_ms;
    bool ahead; /* it was further ahead than max_step */
} model_step;

typedef struct model_domain {
    bool exists;
    bool is_open;
    hapax_domain_options settings;
    enum { MODEL_UNDECIDED, MODEL_ACTIVITY, MODEL_GIVEN } mode;
    int64_t clock_base_ms; /* the activity clock is this ... */
    int64_t clock_from_ms; /* ... and what the monotonic clock did since then */
    bool has_last;
    int64_t last_ms;
    bool has_newest;
    int64_t newest_ms; /* the largest receive time that has ever entered the time queue */
    model_step step;
    model_held held[MODEL_HELD];
    int held_count;
    model_claim claims[MODEL_CLAIMS];
    int claim_count;
    int64_t active_ms[MODEL_SOURCES]; /* activity time of the source's last change */
    uint64_t new_count, duplicate_count, in_flight_count, unchecked_count, over_limit, not_believed;
} model_domain;

typedef struct model_answer {
    hapax_verdict verdict;
    int64_t receive_ms;
    bool changed;
    uint64_t claim;   /* NEW of a claim: its number; IN_FLIGHT: that of the claim it met */
    model_held first; /* DUPLICATE, IN_FLIGHT: the receipt */
    size_t position;  /* events up to and including this message */
} model_answer;

/* When something happens, by every clock that a rule looks at. */
typedef struct model_moment {
    int64_t clock_ms; /* the domain's activity clock */
    int64_t activity_ms;
    int64_t age_ms;
    int64_t wall_ms;
    uint64_t order;
    bool settled;       /* judged again after a crash: the receive time is the one of the first judgement, */
    int64_t settled_ms; /* this one, raised to the domain's last where that is later */
} model_moment;

typedef struct model_event {
    enum { MODEL_OPEN, MODEL_MESSAGE, MODEL_CONFIRM, MODEL_RELEASE, MODEL_BOOKMARK } kind;
    int domain;
    model_moment moment;
    model_message message; /* MESSAGE */
    bool record;
    bool changed;
    hapax_verdict verdict;         /* as it was given */
    uint64_t claim;                /* NEW: the claim; IN_FLIGHT: the claim it met; CONFIRM, RELEASE: which */
    hapax_domain_options settings; /* OPEN: in full */
    int bookmark;                  /* BOOKMARK: the value */
} model_event;

typedef struct model_store {
    bool hold;
    /* Clocks: the runner sets these two before every call. */
    int64_t monotonic_ms;
    int64_t wall_ms;
    /* Since the open. */
    int64_t opened_monotonic_ms;
    int64_t opened_activity_ms;
    int64_t age_ahead_ms; /* age clock = activity time + the downtimes so far */
    uint64_t next_order;
    uint64_t next_claim;
    model_domain domains[MODEL_DOMAINS];
    int bookmark; /* the value of the one bookmark; 0: none */
    /* What a crash goes back to, and what is judged again from there. */
    model_domain base[MODEL_DOMAINS];
    int base_bookmark;
    model_event events[MODEL_EVENTS];
    size_t event_count;
    size_t durable_count; /* events that a crash leaves; without hold: all */
} model_store;

/* A new, empty store that is open now. */
void model_create(model_store *store, bool hold, int64_t monotonic_ms, int64_t wall_ms);
int64_t model_activity(const model_store *store);

/* The store goes down, cleanly or by a crash; model_open brings it back with what was read from the disk. */
void model_close(model_store *store);
void model_crash(model_store *store);
void model_open(model_store *store, bool hold, int64_t activity_ms, int64_t downtime_ms);

/* The calls of hapax.h; a negative result is the hapax_status that the library must give, with *ret_index. */
int model_domain_open(model_store *store, int domain, const hapax_domain_options *options, unsigned *ret_changed);
int model_judge(model_store *store, int domain, const model_message *messages, size_t n, bool record,
                model_answer *ret_answers, size_t *ret_index);
int model_peek(model_store *store, int domain, const model_message *messages, size_t n, model_answer *ret_answers,
               size_t *ret_index);
int model_confirm(model_store *store, int domain, const uint64_t *claims, size_t n, int64_t time_ms,
                  size_t *ret_index);
int model_release(model_store *store, int domain, const uint64_t *claims, size_t n, size_t *ret_index);
size_t model_bookmark(model_store *store, int value);
void model_commit(model_store *store, size_t position);

/* Questions about what is held. */
int model_window_count(const model_domain *domain, int source);
int model_source_count(const model_domain *domain);
const model_held *model_first(const model_domain *domain, int id);
const model_held *model_last(const model_domain *domain, int id);
const model_claim *model_open_claim(const model_domain *domain, int id);
bool model_over_age(const model_domain *domain, int id, int64_t age_ms);

#endif
