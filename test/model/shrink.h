/*
 * shrink.h - makes a failing script small.
 */
#ifndef SHRINK_H
#define SHRINK_H

#include "model/runner.h"

/* Runs the script in a process of its own, so that a crash or a hang is a failure like any other. True: it agrees. */
bool shrink_run(const script *s, runner_failure *ret_failure);

/* Drops from *s and makes it plainer while it still fails; *ret_failure is that of the last failing run. */
void shrink(script *s, runner_failure *ret_failure);

#endif
