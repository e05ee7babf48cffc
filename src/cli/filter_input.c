/*
 * filter_input.c - the input files one after the other, as one stream of bytes.
 *
 *     pushed back | spool (what a pipe gave before a rewind) | the file itself | LF where it had no end | next file
 *
 * read(2), not mmap: a file that is cut while we read it is then a short file, not a SIGBUS. Whatever a read returns
 * is given on at once. A file that cannot seek is waited for together with wake_fd, so that a signal ends the wait.
 *
 * Rewind is for `--output`: whether the input is that of the last run is known only after reading it. Files seek
 * back; what came out of a pipe meanwhile was copied to an unlinked temporary file (`spooling`).
 */
#include "cli/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/exit.h"

#define STDIN_WORD "-"

static bool is_stdin(const char *path)
{
    return strcmp(path, STDIN_WORD) == 0;
}

const char *hx_filter_input_name(const hx_filter_input *input)
{
    size_t index = input->index < input->count ? input->index : input->count - 1;
    return is_stdin(input->paths[index]) ? "stdin" : input->paths[index];
}

static int unreadable(const hx_filter_input *input, const char *path, int error)
{
    hx_log_line(input->log, "%s: %s", is_stdin(path) ? "stdin" : path, strerror(error));
    return HX_EXIT_USAGE;
}

/* A look at every file before anything is done: a misspelt name must not end a run half-way. */
static int check_file(hx_filter_input *input, size_t index, bool *sized)
{
    const char *path = input->paths[index];
    struct stat st;
    int rc = is_stdin(path) ? fstat(STDIN_FILENO, &st) : stat(path, &st);
    if (rc < 0)
        return unreadable(input, path, errno);
    if (S_ISDIR(st.st_mode))
        return unreadable(input, path, EISDIR);
    if (!is_stdin(path) && access(path, R_OK) < 0)
        return unreadable(input, path, errno);
    if (!S_ISREG(st.st_mode)) {
        *sized = false;
        return 0;
    }
    int64_t start = is_stdin(path) ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    if (start < st.st_size)
        input->total_bytes += (uint64_t)(st.st_size - start);
    return 0;
}

int hx_filter_input_init(hx_filter_input *input, const hx_log *log, const char *const *paths, size_t count, bool nul,
                         atomic_bool *stop, int wake_fd)
{
    bool sized = true;
    memset(input, 0, sizeof *input);
    input->log = log;
    input->paths = paths;
    input->count = count;
    input->end = nul ? '\0' : '\n';
    input->stop = stop;
    input->wake_fd = wake_fd;
    input->spool_fd = -1;
    input->files = calloc(count, sizeof *input->files);
    if (input->files == NULL) {
        hx_log_line(log, "no memory");
        return HX_EXIT_TROUBLE;
    }
    for (size_t i = 0; i < count; i++)
        input->files[i].fd = -1;
    for (size_t i = 0; i < count; i++) {
        int rc = check_file(input, i, &sized);
        if (rc != 0)
            return rc;
    }
    if (!sized)
        input->total_bytes = 0;
    return 0;
}

static void close_file(hx_filter_file *file)
{
    if (file->fd > STDIN_FILENO)
        close(file->fd);
    file->fd = -1;
}

void hx_filter_input_free(hx_filter_input *input)
{
    for (size_t i = 0; input->files != NULL && i < input->count; i++)
        close_file(&input->files[i]);
    free(input->files);
    input->files = NULL;
    if (input->spool_fd >= 0)
        close(input->spool_fd);
    input->spool_fd = -1;
    hx_buf_free(&input->pushed);
}

static int open_file(hx_filter_input *input, hx_filter_file *file)
{
    const char *path = input->paths[input->index];
    struct stat st;
    /* A FIFO without a writer is opened at once and waited for by poll, which a signal ends. */
    int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY;
    if (!is_stdin(path) && stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        flags |= O_NONBLOCK;
    file->fd = is_stdin(path) ? STDIN_FILENO : open(path, flags);
    if (file->fd < 0 || fstat(file->fd, &st) < 0)
        return unreadable(input, path, errno);
    file->seekable = S_ISREG(st.st_mode);
    file->start = file->seekable ? lseek(file->fd, 0, SEEK_CUR) : 0;
    if (file->start < 0)
        file->seekable = false;
#ifdef POSIX_FADV_SEQUENTIAL
    if (file->seekable)
        posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
    return 0;
}

/* Waits until the file has something to say. */
static int64_t wait_readable(const hx_filter_input *input, int fd)
{
    struct pollfd waits[2] = {{.fd = fd, .events = POLLIN}, {.fd = input->wake_fd, .events = POLLIN}};
    for (;;) {
        int rc = poll(waits, 2, -1);
        if (atomic_load_explicit(input->stop, memory_order_relaxed) || (rc > 0 && waits[1].revents != 0))
            return HX_FILTER_STOPPED;
        if (rc > 0)
            return 0;
        if (rc < 0 && errno != EINTR)
            return 0; /* let the read say what is wrong */
    }
}

/* -ECANCELED: stop was set. */
static int64_t read_some(const hx_filter_input *input, const hx_filter_file *file, unsigned char *data, size_t cap)
{
    for (;;) {
        if (!file->seekable && wait_readable(input, file->fd) < 0)
            return -ECANCELED;
        ssize_t n = read(file->fd, data, cap);
        if (n >= 0)
            return n;
        if (errno != EINTR && (errno != EAGAIN || file->seekable)) /* EAGAIN: another reader was faster */
            return -errno;
    }
}

static int64_t spool_append(hx_filter_input *input, hx_filter_file *file, const unsigned char *data, size_t len)
{
    if (input->spool_fd < 0) {
        const char *folder = getenv("TMPDIR");
        input->spool_fd = open(folder != NULL ? folder : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (input->spool_fd < 0) {
            char name[] = "/tmp/hapax-input-XXXXXX";
            input->spool_fd = mkostemp(name, O_CLOEXEC);
            if (input->spool_fd < 0)
                return -errno;
            unlink(name);
        }
    }
    if (file->spool_len == 0)
        file->spool_from = input->spool_len;
    for (size_t at = 0; at < len;) {
        ssize_t n = pwrite(input->spool_fd, data + at, len - at, (off_t)(input->spool_len + at));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        at += (size_t)n;
    }
    file->spool_len += len;
    input->spool_len += len;
    return 0;
}

/* From the spool, then from the file. */
static int64_t read_file(hx_filter_input *input, hx_filter_file *file, unsigned char *data, size_t cap)
{
    if (!input->spooling && input->offset < file->spool_len) {
        uint64_t left = file->spool_len - input->offset;
        ssize_t n =
            pread(input->spool_fd, data, left < cap ? (size_t)left : cap, (off_t)(file->spool_from + input->offset));
        return n > 0 ? n : -EIO;
    }
    int64_t n = read_some(input, file, data, cap);
    if (n > 0 && input->spooling && !file->seekable) {
        int64_t rc = spool_append(input, file, data, (size_t)n);
        if (rc < 0) {
            hx_log_line(input->log, "cannot keep a copy of the input in a temporary file: %s", strerror((int)-rc));
            return -ENOSPC;
        }
    }
    return n;
}

static int64_t take_pushed(hx_filter_input *input, unsigned char *data, size_t cap)
{
    size_t n = input->pushed.len - input->pushed_at;
    if (n > cap)
        n = cap;
    memcpy(data, input->pushed.data + input->pushed_at, n);
    input->pushed_at += n;
    if (input->pushed_at == input->pushed.len) {
        hx_buf_free(&input->pushed);
        input->pushed_at = 0;
    }
    return (int64_t)n;
}

int64_t hx_filter_input_read(hx_filter_input *input, unsigned char *data, size_t cap)
{
    if (atomic_load_explicit(input->stop, memory_order_relaxed))
        return HX_FILTER_STOPPED;
    if (input->pushed.len > 0)
        return take_pushed(input, data, cap);
    if (input->index >= input->count)
        return HX_FILTER_FILE_END;
    hx_filter_file *file = &input->files[input->index];
    if (file->fd < 0 && open_file(input, file) != 0)
        return HX_FILTER_UNREADABLE;
    int64_t n = read_file(input, file, data, cap);
    if (n == -ECANCELED)
        return HX_FILTER_STOPPED;
    if (n < 0) {
        unreadable(input, input->paths[input->index], (int)-n);
        return HX_FILTER_UNREADABLE;
    }
    if (n == 0) {
        /* another file follows and this one had no end: put one between */
        if (input->offset == 0 || input->last_is_end || input->index + 1 == input->count)
            return HX_FILTER_FILE_END;
        data[0] = input->end;
        input->last_is_end = true;
        return 1;
    }
    input->offset += (uint64_t)n;
    input->last_is_end = data[n - 1] == input->end;
    atomic_fetch_add_explicit(&input->read_bytes, (uint64_t)n, memory_order_relaxed);
    return n;
}

bool hx_filter_input_next(hx_filter_input *input)
{
    if (input->index >= input->count)
        return false;
    hx_filter_file *file = &input->files[input->index];
    if (!input->spooling || file->seekable) /* what cannot seek stays open: there may be more behind the spool */
        close_file(file);
    input->index++;
    input->offset = 0;
    input->last_is_end = false;
    return input->index < input->count;
}

int hx_filter_input_rewind(hx_filter_input *input)
{
    for (size_t i = input->count; i-- > 0;) { /* backwards: where stdin is named twice its first start counts */
        hx_filter_file *file = &input->files[i];
        int fd = is_stdin(input->paths[i]) ? STDIN_FILENO : file->fd;
        if (fd < 0 || !file->seekable)
            continue; /* closed: it is opened at its start again */
        if (lseek(fd, file->start, SEEK_SET) < 0)
            return unreadable(input, input->paths[i], errno);
        file->fd = -1;
        if (fd != STDIN_FILENO)
            close(fd);
    }
    hx_buf_free(&input->pushed);
    input->pushed_at = 0;
    input->index = 0;
    input->offset = 0;
    input->last_is_end = false;
    input->spooling = false;
    atomic_store_explicit(&input->read_bytes, 0, memory_order_relaxed);
    return 0;
}
