/*
 * measure.c - runs one command and tells what it cost: measure REPORT COMMAND [ARGUMENT...]
 *
 * The one idea: the kernel counts a process's peak memory from the largest of the processes it was forked from and
 * the program it runs now. A script interpreter as parent would put its own 10 to 20 MiB under every small program,
 * so this tiny parent stands between: its own peak is below 2 MiB.
 * Written to REPORT when the command has ended, as one line of JSON: user and system time in microseconds, peak
 * resident memory in KiB, voluntary and involuntary switches, and the exit status as a shell would give it.
 * The exit status of measure itself is 0 whenever the command could be run and waited for.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long long microseconds(struct timeval time)
{
    return (long long)time.tv_sec * 1000000 + time.tv_usec;
}

static int write_report(const char *path, int status, const struct rusage *usage)
{
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    FILE *report = fopen(path, "w");

    if (report == NULL)
        return -errno;
    fprintf(report,
            "{\"status\":%d,\"user_us\":%lld,\"sys_us\":%lld,\"peak_kib\":%ld,\"waits\":%ld,\"preempted\":%ld}\n",
            code, microseconds(usage->ru_utime), microseconds(usage->ru_stime), usage->ru_maxrss, usage->ru_nvcsw,
            usage->ru_nivcsw);
    return fclose(report) == 0 ? 0 : -errno;
}

int main(int argc, char **argv)
{
    struct rusage usage;
    int status = 0;
    int rc;
    pid_t child;

    if (argc < 3) {
        fprintf(stderr, "usage: measure REPORT COMMAND [ARGUMENT...]\n");
        return 2;
    }
    child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        fprintf(stderr, "measure: %s: %s\n", argv[2], strerror(errno));
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) < 0) {
        fprintf(stderr, "measure: %s: %s\n", argv[2], strerror(errno));
        return 3;
    }
    rc = write_report(argv[1], status, &usage);
    if (rc < 0) {
        fprintf(stderr, "measure: %s: %s\n", argv[1], strerror(-rc));
        return 3;
    }
    return 0;
}
