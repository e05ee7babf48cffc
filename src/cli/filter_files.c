/*
 * filter_files.c - which files a run would write to, and whether it may: all of it before any of them is touched.
 *
 *     stdout, stderr, --output, --duplicates, --verdicts      no two of them one file, by device and inode; of those
 *                                                             that are not there yet by the path, links followed
 *     any of them                                             not in the store's folder, and no input; only --output
 *                                                             without a store may be, it is replaced at the end
 *
 * What has to be refused is refused here, so that a refusal leaves no store and no empty file behind. It fills in of
 * every hx_filter_output what filter_output.c opens then: mode, shown, path.
 */
#include "cli/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/exit.h"

#define LINKS_MAX 40
#define TARGETS 5

/* A file that would be written to. */
typedef struct target {
    const char *option; /* NULL: stdout or stderr */
    const char *shown;
    hx_filter_output *output; /* NULL: stderr */
    char *path;               /* absolute, links followed; NULL: nothing in a folder. Borrowed of output, see owned */
    char *owned;
    bool exists;
    struct stat st;
} target;

/* ---- paths ------------------------------------------------------------------------------------------------------
 */

/* The folder of path, links resolved, and its last name behind it. NULL with errno set. */
static char *join_folder(const char *path)
{
    char *copy = strdup(path);
    if (copy == NULL)
        return NULL;
    char *slash = strrchr(copy, '/');
    const char *name = slash != NULL ? slash + 1 : copy;
    const char *folder = slash == NULL ? "." : slash == copy ? "/" : copy;
    if (slash != NULL)
        *slash = '\0';
    char *base = realpath(folder[0] != '\0' ? folder : "/", NULL);
    char *joined = NULL;
    if (base != NULL && *name == '\0')
        errno = EISDIR;
    else if (base != NULL && asprintf(&joined, "%s/%s", strcmp(base, "/") == 0 ? "" : base, name) < 0)
        joined = NULL;
    int error = errno;
    free(base);
    free(copy);
    errno = error;
    return joined;
}

/* What the link at `path` (absolute) points to, as a path; NULL: it is none, or no memory (errno). */
static char *follow(const char *path)
{
    char text[4096];
    ssize_t n = readlink(path, text, sizeof text - 1);
    if (n < 0)
        return NULL;
    text[n] = '\0';
    if (text[0] == '/')
        return strdup(text);
    char *next = NULL;
    int folder = (int)(strrchr(path, '/') - path);
    return asprintf(&next, "%.*s/%s", folder, path, text) < 0 ? NULL : next;
}

/* Where the file is or will be, also behind links to a file that is not there yet. NULL with errno set. */
static char *resolve(const char *path)
{
    char *found = realpath(path, NULL);
    if (found != NULL || errno != ENOENT)
        return found;
    char *at = join_folder(path);
    for (int links = 0; at != NULL; links++) {
        char *next = follow(at);
        if (next == NULL && errno != ENOMEM)
            return at;
        free(at);
        at = next != NULL && links < LINKS_MAX ? join_folder(next) : NULL;
        if (next != NULL && links >= LINKS_MAX)
            errno = ELOOP;
        free(next);
    }
    return NULL;
}

/* ---- looking ----------------------------------------------------------------------------------------------------
 */

static int unusable(const hx_filter_run *run, const target *t, int error)
{
    hx_log_line(&run->log, "%s: %s", t->shown, strerror(error));
    return error == ENOMEM || error == EIO ? HX_EXIT_TROUBLE : HX_EXIT_USAGE;
}

/* What stands at the end of an option. */
static int look_at_option(hx_filter_run *run, target *t, hx_filter_output *output, const char *option,
                          const char *path)
{
    t->option = option;
    t->shown = path;
    t->output = output;
    output->shown = path;
    output->fd = output->lock_fd = -1;
    t->exists = stat(path, &t->st) == 0;
    if (t->exists && S_ISDIR(t->st.st_mode))
        return unusable(run, t, EISDIR);
    if (t->exists && !S_ISREG(t->st.st_mode)) {
        output->mode = HX_FILTER_OUTPUT_STREAM;
        if (output != &run->outputs.kept || !run->bookmarked)
            return 0;
        hx_log_line(&run->log,
                    "--output %s with a store has to be a regular file: only there can a message be in it "
                    "exactly once. For others use stdout with --ack-fd",
                    path);
        return HX_EXIT_USAGE;
    }
    output->mode = run->bookmarked ? HX_FILTER_OUTPUT_KEPT
                   : run->durable  ? HX_FILTER_OUTPUT_APPENDED
                                   : HX_FILTER_OUTPUT_REPLACED;
    t->path = output->path = resolve(path);
    return t->path != NULL ? 0 : unusable(run, t, errno);
}

/* stdout or stderr. Only where it is a regular file does it matter which. */
static void look_at_standard(target *t, const char *name, int fd)
{
    char link[32];
    t->shown = name;
    t->exists = fstat(fd, &t->st) == 0 && S_ISREG(t->st.st_mode);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (t->exists)
        t->path = t->owned = realpath(link, NULL); /* NULL where it was removed: then it is in no folder */
}

static int look(hx_filter_run *run, target targets[TARGETS], size_t *ret_count)
{
    const hx_filter_options *options = run->options;
    hx_filter_outputs *outputs = &run->outputs;
    size_t count = 0;
    int rc = 0;
    look_at_standard(&targets[count++], "stderr", STDERR_FILENO);
    if (options->output != NULL) {
        rc = look_at_option(run, &targets[count++], &outputs->kept, "--output", options->output);
    } else { /* with --output nothing is written to stdout */
        outputs->kept.mode = HX_FILTER_OUTPUT_STREAM;
        outputs->kept.shown = "stdout";
        outputs->kept.fd = STDOUT_FILENO;
        outputs->kept.lock_fd = -1;
        look_at_standard(&targets[count], "stdout", STDOUT_FILENO);
        targets[count++].output = &outputs->kept;
    }
    if (rc == 0 && options->duplicates != NULL)
        rc = look_at_option(run, &targets[count++], &outputs->dropped, "--duplicates", options->duplicates);
    if (rc == 0 && options->verdicts != NULL)
        rc = look_at_option(run, &targets[count++], &outputs->verdicts, "--verdicts", options->verdicts);
    *ret_count = count;
    return rc;
}

/* ---- refusing ---------------------------------------------------------------------------------------------------
 */

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool same_target(const target *a, const target *b)
{
    if (a->exists != b->exists)
        return false;
    if (!a->exists)
        return a->path != NULL && b->path != NULL && strcmp(a->path, b->path) == 0;
    return same_file(&a->st, &b->st) && !S_ISCHR(a->st.st_mode); /* /dev/null takes everything */
}

static int refuse_same(const hx_filter_run *run, const target *targets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            const target *a = &targets[i], *b = &targets[j];
            if (!same_target(a, b))
                continue;
            hx_log_line(&run->log, "%s%s%s and %s%s%s are the same file; each needs one of its own",
                        a->option != NULL ? a->option : "", a->option != NULL ? " " : "", a->shown,
                        b->option != NULL ? b->option : "", b->option != NULL ? " " : "", b->shown);
            return HX_EXIT_USAGE;
        }
    return 0;
}

static int refuse_in_store(const hx_filter_run *run, const target *targets, size_t count)
{
    if (!run->durable)
        return 0;
    char *store = resolve(run->options->store.path);
    size_t len = store != NULL ? strlen(store) : 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && store != NULL && i < count; i++) {
        const char *path = targets[i].path;
        if (path == NULL || strncmp(path, store, len) != 0 || (path[len] != '/' && path[len] != '\0'))
            continue;
        hx_log_line(&run->log, "%s is in the folder of --store %s, where only the store writes", targets[i].shown,
                    run->options->store.path);
        rc = HX_EXIT_USAGE;
    }
    free(store);
    return rc;
}

/* Reading a file that grows by what we write to it would never end, and one that is replaced would be gone. */
static int refuse_inputs(const hx_filter_run *run, const target *t)
{
    struct stat in;
    bool is_kept = t->output == &run->outputs.kept;
    if (t->output == NULL || !t->exists || !S_ISREG(t->st.st_mode) ||
        (is_kept && t->output->mode == HX_FILTER_OUTPUT_REPLACED))
        return 0;
    for (size_t i = 0; i < run->input.count; i++) {
        const char *path = run->input.paths[i];
        int rc = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &in) : stat(path, &in);
        if (rc < 0 || !same_file(&in, &t->st))
            continue;
        hx_log_line(&run->log, "%s is input and output", t->shown);
        return HX_EXIT_USAGE;
    }
    return 0;
}

/* Can it be opened as it will be, and does nobody use it? Asked again when it is opened. */
static int refuse_unusable(const hx_filter_run *run, const target *t)
{
    if (t->output == NULL ||
        (t->output->mode != HX_FILTER_OUTPUT_KEPT && t->output->mode != HX_FILTER_OUTPUT_APPENDED))
        return 0;
    if (!t->exists) {
        char *folder = strndup(t->path, (size_t)(strrchr(t->path, '/') - t->path) + 1);
        int rc = folder == NULL ? -1 : access(folder, W_OK | X_OK);
        int error = errno;
        free(folder);
        return rc == 0 ? 0 : unusable(run, t, error);
    }
    int fd = open(t->path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return unusable(run, t, errno);
    bool in_use = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    close(fd);
    if (!in_use)
        return 0;
    hx_log_line(&run->log, "%s is in use by another process", t->shown);
    return HX_EXIT_LOCKED;
}

int hx_filter_files_check(hx_filter_run *run)
{
    target targets[TARGETS] = {0};
    size_t count = 0;
    int rc = look(run, targets, &count);
    if (rc == 0)
        rc = refuse_same(run, targets, count);
    if (rc == 0)
        rc = refuse_in_store(run, targets, count);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = refuse_inputs(run, &targets[i]);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = refuse_unusable(run, &targets[i]);
    for (size_t i = 0; i < TARGETS; i++)
        free(targets[i].owned);
    return rc;
}
