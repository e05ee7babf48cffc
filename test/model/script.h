/*
 * script.h - a sequence of operations: made from a seed, shrunk by dropping from it, printed for people.
 *
 * An operation names claims by "the nth of those open", positions by "the nth seen", so what is left of a script
 * after some operations were dropped still means something.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    SCRIPT_OPS = 96,
    SCRIPT_BATCH = 4,
};

typedef enum script_kind {
    SCRIPT_RECORD,
    SCRIPT_CLAIM,
    SCRIPT_PEEK,
    SCRIPT_CONFIRM,
    SCRIPT_RELEASE,
    SCRIPT_EXPLAIN,
    SCRIPT_TURN,     /* both clocks forward by ms */
    SCRIPT_WALL,     /* the wall clock by ms */
    SCRIPT_SETTINGS, /* open the domain with these options */
    SCRIPT_REOPEN,   /* close, ms pass on the wall clock, open */
    SCRIPT_CRASH,    /* abandon, the same */
    SCRIPT_POWER,    /* abandon, power cut, another boot, the same */
    SCRIPT_BOOKMARK,
    SCRIPT_COMMIT, /* up to the pick-th position seen, or all where it is 0 */
} script_kind;

typedef struct script_op {
    script_kind kind;
    int domain;
    int n;
    model_message messages[SCRIPT_BATCH];
    int picks[SCRIPT_BATCH]; /* CONFIRM, RELEASE: which of the open claims; -1: a claim that never was */
    int pick;                /* COMMIT, EXPLAIN (the id) */
    int64_t ms;              /* also the time of a CONFIRM */
    hapax_domain_options options;
} script_op;

typedef struct script {
    uint64_t seed;
    bool in_memory;
    bool hold;
    hapax_domain_options first[MODEL_DOMAINS]; /* with which a domain is made */
    bool given[MODEL_DOMAINS];
    script_op ops[SCRIPT_OPS];
    int op_count;
} script;

void script_make(script *s, uint64_t seed);
void script_print(const script *s, FILE *out);
void script_print_op(const script_op *op, FILE *out);
void script_print_settings(const hapax_domain_options *options, FILE *out);

#endif
