/*
 * runner.h - runs a script on the library and on the model and compares them after every operation.
 */
#ifndef RUNNER_H
#define RUNNER_H

#include "model/script.h"

#include <stdbool.h>

typedef struct runner_failure {
    int op; /* index of the operation after which the two disagreed */
    char text[4096];
} runner_failure;

/* How often a run met what it is there to meet, summed up over many runs. */
typedef struct runner_coverage {
    uint64_t ops, verdicts[7], claims, confirms, confirms_that_append, releases, reopens, crashes, power_cuts;
    uint64_t refused_settings, refused_batches, commits;
} runner_coverage;

/* True where library and model agree all the way; else *ret_failure says where they did not. Adds to *coverage. */
bool runner_run(const script *s, runner_coverage *coverage, runner_failure *ret_failure);

#endif
