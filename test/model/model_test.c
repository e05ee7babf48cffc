/*
 * model_test.c - random operation sequences against the library and the naive model; they must agree on everything.
 *
 *     model_test [--seed N] [--sequences N] [--jobs N] [--print]
 *
 * The sequence number i of a run has the seed N + i and depends on nothing else, so a failing one is had again alone.
 * Two processes share the work. A sequence that fails, crashes or hangs is shrunk, printed with expected and got, and
 * the run is red. Without --seed the first seed comes from the clock and is printed.
 */
#include "model/runner.h"
#include "model/shrink.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    JOBS_MAX = 16,
    SEQUENCES = 100000,
    SEQUENCE_SECONDS = 30,
};

/* What a working process tells; the memory is shared. */
typedef struct worker {
    uint64_t seed; /* of the sequence that runs now, or that failed */
    uint64_t done;
    runner_coverage coverage;
} worker;

typedef struct options {
    uint64_t seed;
    uint64_t sequences;
    unsigned jobs;
    bool print;
} options;

static int work(worker *self, const options *o, unsigned number)
{
    script *s = calloc(1, sizeof *s);
    runner_failure *failure = calloc(1, sizeof *failure);
    int rc = 0;
    for (uint64_t i = number; i < o->sequences && rc == 0; i += o->jobs) {
        self->seed = o->seed + i;
        alarm(SEQUENCE_SECONDS);
        script_make(s, self->seed);
        rc = runner_run(s, &self->coverage, failure) ? 0 : 1;
        self->done += rc == 0 ? 1 : 0;
    }
    free(failure);
    free(s);
    return rc;
}

static void report(const char *program, uint64_t seed)
{
    script s;
    runner_failure failure = {0};
    script_make(&s, seed);
    if (shrink_run(&s, &failure)) {
        printf("seed %" PRIu64 " failed in the run and agrees when it runs alone\n", seed);
        return;
    }
    int before = s.op_count;
    shrink(&s, &failure);
    printf("\nlibrary and model disagree, the sequence shrunk from %d operations to %d:\n", before, s.op_count);
    script_print(&s, stdout);
    printf("after operation %d:\n%s", failure.op + 1, failure.text);
    printf("again: %s --seed %" PRIu64 " --sequences 1\n\n", program, seed);
}

static void print_coverage(const worker *workers, unsigned jobs)
{
    uint64_t sum[sizeof(runner_coverage) / sizeof(uint64_t)] = {0};
    for (unsigned i = 0; i < jobs; i++) {
        uint64_t part[sizeof sum / sizeof *sum];
        memcpy(part, &workers[i].coverage, sizeof part);
        for (size_t j = 0; j < sizeof sum / sizeof *sum; j++) {
            sum[j] += part[j];
        }
    }
    runner_coverage c;
    memcpy(&c, sum, sizeof c);
    printf("operations %" PRIu64 "; verdicts new %" PRIu64 " duplicate %" PRIu64 " in flight %" PRIu64
           " unchecked %" PRIu64 "\n",
           c.ops, c.verdicts[HAPAX_NEW], c.verdicts[HAPAX_DUPLICATE], c.verdicts[HAPAX_IN_FLIGHT],
           c.verdicts[HAPAX_UNCHECKED]);
    printf("claims %" PRIu64 " confirmed %" PRIu64 " (with an append %" PRIu64 ") released %" PRIu64
           "; reopens %" PRIu64 " crashes %" PRIu64 " (power cuts %" PRIu64 ") commits %" PRIu64
           "; refused: settings %" PRIu64 " calls %" PRIu64 "\n",
           c.claims, c.confirms, c.confirms_that_append, c.releases, c.reopens, c.crashes, c.power_cuts, c.commits,
           c.refused_settings, c.refused_batches);
}

static int run(const char *program, const options *o)
{
    worker *workers =
        mmap(NULL, sizeof(worker) * JOBS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (workers == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    pid_t pids[JOBS_MAX];
    fflush(NULL);
    for (unsigned i = 0; i < o->jobs; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            _exit(work(&workers[i], o, i));
        }
    }
    uint64_t done = 0;
    unsigned failed = 0;
    for (unsigned i = 0; i < o->jobs; i++) {
        int status = 0;
        waitpid(pids[i], &status, 0);
        done += workers[i].done;
        if (status != 0) {
            failed++;
            report(program, workers[i].seed);
        }
    }
    print_coverage(workers, o->jobs);
    printf("%" PRIu64 " passed, %u failed\n", done, failed);
    return failed > 0 || done != o->sequences ? 1 : 0;
}

static uint64_t scaled(uint64_t count)
{
    const char *scale = getenv("HAPAX_TEST_SCALE");
    unsigned long percent = scale == NULL ? 100 : strtoul(scale, NULL, 10);
    uint64_t result = count * (percent == 0 ? 1 : percent) / 100;
    return result == 0 ? 1 : result;
}

static bool take_number(const char *text, uint64_t *ret)
{
    char *end = NULL;
    *ret = strtoull(text, &end, 10);
    return *text != '\0' && *end == '\0';
}

int main(int argc, char **argv)
{
    options o = {.seed = (uint64_t)time(NULL) * 1000000, .sequences = scaled(SEQUENCES), .jobs = 2};
    for (int i = 1; i < argc; i++) {
        uint64_t jobs = 0;
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--print") == 0) {
            o.print = true;
        } else if (more && strcmp(argv[i], "--seed") == 0 && take_number(argv[i + 1], &o.seed)) {
            i++;
        } else if (more && strcmp(argv[i], "--sequences") == 0 && take_number(argv[i + 1], &o.sequences)) {
            i++;
        } else if (more && strcmp(argv[i], "--jobs") == 0 && take_number(argv[i + 1], &jobs) && jobs > 0 &&
                   jobs <= JOBS_MAX) {
            o.jobs = (unsigned)jobs;
            i++;
        } else {
            fprintf(stderr, "usage: %s [--seed N] [--sequences N] [--jobs 1..%d] [--print]\n", argv[0], JOBS_MAX);
            return 2;
        }
    }
    if (o.print) {
        script s;
        script_make(&s, o.seed);
        script_print(&s, stdout);
        return 0;
    }
    /* A store a millisecond: memory that goes back to the kernel each time costs more than the test. */
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    printf("model test: %" PRIu64 " sequences from seed %" PRIu64 " on, %u processes\n", o.sequences, o.seed, o.jobs);
    return run(argv[0], &o);
}
