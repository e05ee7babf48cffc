/*
 * shrink.c - makes a failing script small.
 *
 * The one idea: try a smaller script, keep it if it still fails, until nothing smaller fails. First runs of
 * operations of halving length go, then single ones, then messages of batches, then settings that are not needed.
 * Every try is a process of its own, which ends after a few seconds at the latest.
 */
#include "model/shrink.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUN_SECONDS = 10 };

bool shrink_run(const script *s, runner_failure *ret_failure)
{
    runner_failure *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return true;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        runner_coverage coverage = {0};
        alarm(RUN_SECONDS);
        _exit(runner_run(s, &coverage, shared) ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    bool agrees = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!agrees && ret_failure != NULL) {
        *ret_failure = *shared;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 1) {
            ret_failure->op = s->op_count - 1;
            snprintf(ret_failure->text, sizeof ret_failure->text, "the process ended with wait status 0x%x (%s)\n",
                     (unsigned)status, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "a sanitizer?");
        }
    }
    munmap(shared, sizeof *shared);
    return agrees;
}

/* Keeps the try where it fails too. */
static bool keep(script *s, const script *smaller, runner_failure *failure)
{
    if (shrink_run(smaller, failure)) {
        return false;
    }
    *s = *smaller;
    return true;
}

static bool drop_ops(script *s, runner_failure *failure)
{
    bool dropped = false;
    for (int len = s->op_count / 2 > 0 ? s->op_count / 2 : 1; len > 0; len /= 2) {
        for (int at = s->op_count - len; at >= 0;) {
            script smaller = *s;
            memmove(&smaller.ops[at], &smaller.ops[at + len],
                    (size_t)(smaller.op_count - at - len) * sizeof smaller.ops[0]);
            smaller.op_count -= len;
            if (keep(s, &smaller, failure)) {
                dropped = true;
            }
            at -= len;
            at = at + len > s->op_count ? s->op_count - len : at;
        }
    }
    return dropped;
}

static bool drop_messages(script *s, runner_failure *failure)
{
    bool dropped = false;
    for (int i = 0; i < s->op_count; i++) {
        for (int at = s->ops[i].n - 1; at >= 0 && s->ops[i].n > 1; at--) {
            script smaller = *s;
            script_op *op = &smaller.ops[i];
            op->n--;
            for (int j = at; j < op->n; j++) {
                op->messages[j] = op->messages[j + 1];
                op->picks[j] = op->picks[j + 1];
            }
            dropped = keep(s, &smaller, failure) || dropped;
        }
    }
    return dropped;
}

static bool set_plain(script *s, int64_t *setting, int64_t plain, const script *before, runner_failure *failure)
{
    if (*setting == plain) {
        return false;
    }
    *setting = plain;
    if (shrink_run(s, failure)) {
        *s = *before;
        return false;
    }
    return true;
}

static bool plainer(script *s, runner_failure *failure)
{
    bool changed = false;
    for (int i = 0; i < MODEL_DOMAINS; i++) {
        script before = *s;
        changed |= set_plain(s, &s->first[i].max_age_ms, HAPAX_FOREVER, &before, failure);
        before = *s;
        changed |= set_plain(s, &s->first[i].source_idle_ms, HAPAX_FOREVER, &before, failure);
        before = *s;
        changed |= set_plain(s, &s->first[i].max_sources, 65536, &before, failure);
        before = *s;
        changed |= set_plain(s, &s->first[i].max_step_ms, HAPAX_FOREVER, &before, failure);
    }
    for (int i = 0; i < s->op_count; i++) {
        for (int j = 0; j < s->ops[i].n; j++) {
            script smaller = *s;
            if (smaller.ops[i].messages[j].source != 0) {
                smaller.ops[i].messages[j].source = 0;
                changed = keep(s, &smaller, failure) || changed;
            }
        }
    }
    script smaller = *s;
    smaller.hold = false;
    changed = (s->hold && keep(s, &smaller, failure)) || changed;
    smaller = *s;
    smaller.in_memory = true;
    changed = (!s->in_memory && keep(s, &smaller, failure)) || changed;
    return changed;
}

void shrink(script *s, runner_failure *ret_failure)
{
    bool again = true;
    while (again) {
        again = drop_ops(s, ret_failure);
        again = drop_messages(s, ret_failure) || again;
        again = plainer(s, ret_failure) || again;
    }
}
