/*
 * filter_output.c - the files that are written to.
 *
 *     mode       which                             opened                       at the end
 *     STREAM     stdout; anything not regular      as it is                     -
 *     REPLACED   a file, without a store           a new file beside it         takes its place, or is removed
 *     APPENDED   a side file, store and stdout     behind what is there         -
 *     KEPT       all files, store and --output     behind its recorded length   length and "ended" in the store
 *
 * APPENDED and KEPT are locked (flock) as long as they are open, and so is the file that REPLACED will replace. A
 * KEPT file is only ever cut to a length that the store vouches for and only where the last run did not end;
 * everything else is refused. It is written with O_APPEND and its size is compared before each commit: what somebody
 * else wrote into it is noticed, never overwritten.
 */
#include "cli/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/format.h"
#include "cli/exit.h"

static int trouble(const hx_filter_run *run, const hx_filter_output *output, int error)
{
    hx_log_line(&run->log, "%s: %s", output->shown, strerror(error));
    return HX_EXIT_TROUBLE;
}

static int sync_folder(const char *path)
{
    char *copy = strdup(path);
    if (copy == NULL)
        return -ENOMEM;
    char *slash = strrchr(copy, '/');
    slash[slash == copy ? 1 : 0] = '\0'; /* the path is absolute */
    int fd = open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    if (fd < 0)
        return -errno;
    int rc = fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
    close(fd);
    return rc;
}

static int lock(hx_filter_run *run, hx_filter_output *output, int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return trouble(run, output, errno);
    hx_log_line(&run->log, "%s is in use by another process", output->shown);
    return HX_EXIT_LOCKED;
}

/* The file is there after this, open for appending and ours alone. */
static int open_locked(hx_filter_run *run, hx_filter_output *output, bool may_create, struct stat *st)
{
    int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOCTTY;
    output->fd = open(output->path, flags);
    if (output->fd < 0 && errno == ENOENT && may_create) {
        output->fd = open(output->path, flags | O_CREAT | O_EXCL, 0666);
        output->created = output->fd >= 0;
        if (output->fd < 0 && errno == EEXIST) /* somebody was quicker */
            output->fd = open(output->path, flags);
        int rc = output->fd >= 0 ? sync_folder(output->path) : 0;
        if (rc < 0)
            return trouble(run, output, -rc);
    }
    if (output->fd < 0 && errno == ENOENT)
        return 0;
    if (output->fd < 0) {
        trouble(run, output, errno);
        return errno == ENOSPC || errno == EDQUOT || errno == EIO ? HX_EXIT_TROUBLE : HX_EXIT_USAGE;
    }
    output->owned_fd = true;
    int rc = lock(run, output, output->fd);
    if (rc != 0)
        return rc;
    if (fstat(output->fd, st) < 0)
        return trouble(run, output, errno);
    return 0;
}

/* Length and last byte of what is there. */
static int look_at_end(hx_filter_run *run, hx_filter_output *output, uint64_t length)
{
    unsigned char last;
    output->length = output->written = length;
    output->regular = true;
    if (length == 0)
        return 0;
    if (pread(output->fd, &last, 1, (off_t)(length - 1)) != 1)
        return trouble(run, output, EIO);
    output->separator_due = last != run->input.end;
    return 0;
}

static int cut(hx_filter_run *run, hx_filter_output *output, uint64_t size, uint64_t length)
{
    hx_format_buf a, b;
    hx_log_line(&run->log, "%s is cut from %s to %s bytes: the last run did not end", output->shown,
                hx_format_count(size, &a), hx_format_count(length, &b));
    if (ftruncate(output->fd, (off_t)length) < 0 || fdatasync(output->fd) < 0)
        return trouble(run, output, errno);
    return 0;
}

static int open_kept(hx_filter_run *run, hx_filter_output *output)
{
    hx_filter_bookmark bookmark;
    hx_format_buf a, b;
    struct stat st = {0};
    int rc = hx_filter_bookmark_get(run, output, &bookmark);
    if (rc != 0)
        return rc;
    rc = open_locked(run, output, !bookmark.known || bookmark.length == 0, &st);
    if (rc != 0)
        return rc;
    uint64_t size = output->fd >= 0 ? (uint64_t)st.st_size : 0;
    if (!bookmark.known)
        return look_at_end(run, output, size);
    if (size < bookmark.length) {
        hx_log_line(&run->log,
                    "%s has %s bytes, but the store knows of %s: it was cut or replaced. Nothing is done; "
                    "put it back, or write to a file of another name",
                    output->shown, hx_format_count(size, &a), hx_format_count(bookmark.length, &b));
        return HX_EXIT_TROUBLE;
    }
    if (size > bookmark.length && bookmark.ended) {
        hx_log_line(&run->log,
                    "%s has %s bytes, but the last run ended with %s: something else wrote to it. Nothing "
                    "is done; take that out, or write to a file of another name",
                    output->shown, hx_format_count(size, &a), hx_format_count(bookmark.length, &b));
        return HX_EXIT_TROUBLE;
    }
    if (size > bookmark.length) {
        rc = cut(run, output, size, bookmark.length);
        if (rc != 0)
            return rc;
    }
    return look_at_end(run, output, bookmark.length);
}

static int open_appended(hx_filter_run *run, hx_filter_output *output)
{
    struct stat st = {0};
    int rc = open_locked(run, output, true, &st);
    return rc != 0 ? rc : look_at_end(run, output, (uint64_t)st.st_size);
}

/* The old file must not be one that a run with a store writes to. What we may not open is no file of such a run. */
static int lock_old(hx_filter_run *run, hx_filter_output *output)
{
    int flags = O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    output->lock_fd = open(output->path, O_RDONLY | flags);
    if (output->lock_fd < 0 && errno == EACCES)
        output->lock_fd = open(output->path, O_WRONLY | flags);
    return output->lock_fd < 0 ? 0 : lock(run, output, output->lock_fd);
}

static int open_replaced(hx_filter_run *run, hx_filter_output *output)
{
    struct stat st;
    bool exists = stat(output->path, &st) == 0;
    mode_t mode = exists ? st.st_mode : 0;
    int rc = exists ? lock_old(run, output) : 0;
    if (rc != 0)
        return rc;
    if (asprintf(&output->temp_path, "%s.hapax-XXXXXX", output->path) < 0) {
        output->temp_path = NULL;
        return trouble(run, output, ENOMEM);
    }
    output->fd = mkostemp(output->temp_path, O_CLOEXEC);
    if (output->fd < 0) {
        free(output->temp_path);
        output->temp_path = NULL;
        trouble(run, output, errno);
        return HX_EXIT_USAGE;
    }
    output->owned_fd = true;
    output->regular = true;
    if (!exists) {
        mode_t mask = umask(0);
        umask(mask);
        mode = 0666 & ~mask;
    }
    return fchmod(output->fd, mode & 07777) < 0 ? trouble(run, output, errno) : 0;
}

/*
 * stdout is there already. Where it is a file that is written on behind something ("hapax ... >> f"), what a run that
 * was stopped left there may be no whole line: the first line of this one must not be glued to it.
 */
static int open_stdout(hx_filter_run *run, hx_filter_output *output)
{
    struct stat st;
    unsigned char last;
    output->regular = fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode);
    if (!output->regular)
        return 0;
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    off_t at = flags >= 0 && (flags & O_APPEND) != 0 ? st.st_size : lseek(STDOUT_FILENO, 0, SEEK_CUR);
    output->written = output->whole = at > 0 ? (uint64_t)at : 0;
    int fd = at > 0 ? open("/proc/self/fd/1", O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) /* at its beginning, or not ours to read */
        return 0;
    output->separator_due = pread(fd, &last, 1, at - 1) == 1 && last != run->input.end;
    close(fd);
    return 0;
}

static int open_stream(hx_filter_run *run, hx_filter_output *output)
{
    struct stat st;
    const char *path = output->shown;
    /* not waiting: a FIFO without a reader would hold us where no signal ends it */
    output->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (output->fd < 0 && errno == ENXIO && stat(path, &st) == 0 && S_ISFIFO(st.st_mode)) {
        hx_log_line(&run->log, "%s: nobody reads from it; start its reader first", path);
        return HX_EXIT_USAGE;
    }
    if (output->fd < 0) {
        trouble(run, output, errno);
        return HX_EXIT_USAGE;
    }
    output->owned_fd = true;
    return 0;
}

static int open_output(hx_filter_run *run, hx_filter_output *output)
{
    switch (output->mode) {
    case HX_FILTER_OUTPUT_STREAM: return output->fd >= 0 ? open_stdout(run, output) : open_stream(run, output);
    case HX_FILTER_OUTPUT_KEPT: return open_kept(run, output);
    case HX_FILTER_OUTPUT_APPENDED: return open_appended(run, output);
    case HX_FILTER_OUTPUT_REPLACED: return open_replaced(run, output);
    default: return 0;
    }
}

/* A run that is refused leaves no empty file behind. */
static void take_away(hx_filter_output *output)
{
    struct stat st;
    if (output->created && fstat(output->fd, &st) == 0 && st.st_size == 0)
        unlink(output->path);
}

int hx_filter_outputs_open(hx_filter_run *run)
{
    hx_filter_outputs *outputs = &run->outputs;
    hx_filter_output *all[] = {&outputs->kept, &outputs->dropped, &outputs->verdicts};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < 3; i++)
        rc = open_output(run, all[i]);
    for (size_t i = 0; rc != 0 && i < 3; i++)
        take_away(all[i]);
    outputs->verdicts.separator_due = false; /* whole objects only */
    return rc;
}

static int wait_writable(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    while (poll(&wait, 1, -1) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

int hx_filter_output_write(hx_filter_output *output, struct iovec *runs, size_t count, uint64_t bytes)
{
    if (output->mode == HX_FILTER_OUTPUT_NONE)
        return 0;
    size_t at = 0;
    uint64_t left = bytes;
    while (left > 0) {
        size_t some = count - at < IOV_MAX ? count - at : IOV_MAX;
        ssize_t n = writev(output->fd, runs + at, (int)some);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (wait_writable(output->fd) == 0)
                continue;
        }
        if (n < 0) {
            output->partial = bytes - left;
            output->stopped_at = runs[at].iov_base;
            return -errno;
        }
        left -= (uint64_t)n;
        size_t done = (size_t)n;
        while (at < count && done >= runs[at].iov_len)
            done -= runs[at++].iov_len;
        if (at < count) {
            runs[at].iov_base = (char *)runs[at].iov_base + done;
            runs[at].iov_len -= done;
        }
    }
    output->written += bytes;
    return 0;
}

static int sync_output(hx_filter_run *run, hx_filter_output *output)
{
    struct stat st;
    if (!output->regular || output->mode == HX_FILTER_OUTPUT_REPLACED)
        return 0;
    if (run->options->store.durability == HAPAX_DURABILITY_FULL && fdatasync(output->fd) < 0 && errno != EINVAL)
        return trouble(run, output, errno);
    if (output->mode != HX_FILTER_OUTPUT_KEPT)
        return 0;
    if (fstat(output->fd, &st) < 0)
        return trouble(run, output, errno);
    struct stat now;
    if (st.st_nlink == 0 || stat(output->path, &now) < 0 || now.st_dev != st.st_dev || now.st_ino != st.st_ino) {
        hx_log_line(&run->log, "%s was removed or replaced by another process while it was written", output->shown);
        return HX_EXIT_TROUBLE;
    }
    if ((uint64_t)st.st_size != output->written) {
        hx_log_line(&run->log, "%s was changed by another process while it was written", output->shown);
        return HX_EXIT_TROUBLE;
    }
    return 0;
}

int hx_filter_outputs_sync(hx_filter_run *run)
{
    int rc = sync_output(run, &run->outputs.kept);
    if (rc == 0)
        rc = sync_output(run, &run->outputs.dropped);
    if (rc == 0)
        rc = sync_output(run, &run->outputs.verdicts);
    return rc;
}

static int close_output(hx_filter_run *run, hx_filter_output *output, bool good)
{
    int rc = 0;
    if (output->temp_path != NULL) {
        if (good && (fdatasync(output->fd) < 0 || rename(output->temp_path, output->path) < 0)) {
            rc = trouble(run, output, errno);
            good = false;
        }
        if (!good)
            unlink(output->temp_path);
    }
    if (output->owned_fd && output->fd >= 0 && close(output->fd) < 0 && rc == 0)
        rc = trouble(run, output, errno);
    if (output->mode == HX_FILTER_OUTPUT_REPLACED && output->lock_fd >= 0)
        close(output->lock_fd);
    free(output->temp_path);
    free(output->path);
    memset(output, 0, sizeof *output);
    return rc;
}

int hx_filter_outputs_close(hx_filter_run *run, bool good)
{
    int kept = close_output(run, &run->outputs.kept, good);
    int dropped = close_output(run, &run->outputs.dropped, good);
    int verdicts = close_output(run, &run->outputs.verdicts, good);
    return kept != 0 ? kept : dropped != 0 ? dropped : verdicts;
}
