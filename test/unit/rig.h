/*
 * rig.h - a store on the simulated machine and short words to drive it, for unit tests that read like the rules.
 *
 *     rig r;
 *     rig_start(&r, 2, 10);                                      window 2, expiry 10 ms, a domain "d"
 *     assert_string_equal(rig_record(&r, "a/A@0 b/B@1 a/B@2"), "NEW NEW DUP");
 *     assert_string_equal(rig_window(&r, "B"), "b@1 a@2");
 *     assert_string_equal(rig_queue(&r), "");
 *     rig_end(&r);
 *
 * Messages are written id/source@time; without /source the source is "", without @time it is HAPAX_NOW; "-" is no id.
 * The words of an answer: NEW DUP FLIGHT UNCHECKED. A call that fails answers with the name of its status.
 * Not one of these functions is meant for more than some dozens of messages.
 */
#ifndef RIG_H
#define RIG_H

#include "core/store.h"
#include "sim/sim_os.h"

#include <hapax.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum {
    RIG_IDS = 64,
    RIG_TEXT = 4096,
};

typedef struct rig {
    sim_os *sim;
    hapax_store *store;
    hapax_domain *domain;
    unsigned flags; /* HAPAX_OPEN_* of the next open */
    hapax_domain_options options;
    hapax_open_report report;
    hapax_error err;               /* of the last call */
    hapax_result results[RIG_IDS]; /* of the last record, claim or peek */
    char ids[RIG_IDS][32];         /* every id that was ever written, to tell them from their hashes */
    size_t id_count;
    char text[RIG_TEXT]; /* what the last word answered */
} rig;

/* A new machine, store and domain. _with: with these settings, size and all. */
void rig_start(rig *r, int64_t window, int64_t expiry_ms);
void rig_start_with(rig *r, const hapax_domain_options *options);
void rig_options(hapax_domain_options *options, int64_t window, int64_t expiry_ms);
void rig_end(rig *r);

/* The store goes down and comes up again on the same machine, its domain as it is stored. */
void rig_reopen(rig *r); /* closed properly */
void rig_crash(rig *r);  /* the process died */
void rig_cut_power(rig *r);
/* The halves of it. */
void rig_close(rig *r);
void rig_open(rig *r); /* with r->flags and r->options */
/* Opens without asserting success; the status. */
int rig_try_open(rig *r);

/* Messages in one batch; the verdicts in words. */
const char *rig_record(rig *r, const char *messages);
const char *rig_claim(rig *r, const char *messages);
const char *rig_peek(rig *r, const char *messages);
/* Claims one message that has to be NEW; its handle. */
uint64_t rig_claim_one(rig *r, const char *message);
void rig_confirm(rig *r, uint64_t claim, int64_t time_ms);
void rig_release(rig *r, uint64_t claim);

/* What is held, oldest first: "a@0 b@5". */
const char *rig_window(rig *r, const char *source);
const char *rig_queue(rig *r);
const char *rig_claims(rig *r); /* those of which nothing is held */
hapax_domain_stats rig_stat(rig *r);

#endif
