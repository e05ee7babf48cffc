/*
 * os_posix.c - the os table over the real machine.
 *
 * The one idea: each function is one system call, made whole: interrupted calls are repeated, short reads and writes
 * are continued, errors come back as negative errno. Nothing is decided here; a sync that failed is reported once
 * and never repeated (the kernel may have dropped the pages and would say yes the second time).
 */
#include "os/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define DIRECT_ALIGN 4096

/* Gives the file back if it is of the kind that was asked for: a FIFO or a device is no file of a store. */
static int only_kind(int fd, int flags)
{
    struct stat st;
    int rc = fd;
    if (fstat(fd, &st) < 0)
        rc = -errno;
    else if (!(flags & HX_OS_FOLDER) && S_ISDIR(st.st_mode))
        rc = -EISDIR;
    else if (!(flags & HX_OS_FOLDER) && !S_ISREG(st.st_mode))
        rc = -EINVAL;
    if (rc < 0)
        close(fd);
    return rc;
}

static int posix_open(void *ctx, const char *path, int flags)
{
    (void)ctx;
    /* Without waiting: a FIFO of the file's name must not hang an opening. A regular file does not care. */
    int open_flags = O_CLOEXEC | O_NONBLOCK | ((flags & HX_OS_WRITE) ? O_RDWR : O_RDONLY);
    if (flags & HX_OS_CREATE)
        open_flags |= O_CREAT;
    if (flags & HX_OS_EXCLUSIVE)
        open_flags |= O_EXCL;
    if (flags & HX_OS_FOLDER)
        open_flags |= O_DIRECTORY;
    if (flags & HX_OS_UNCACHED) {
        int fd = open(path, open_flags | O_DIRECT, 0600);
        if (fd >= 0 || errno != EINVAL)
            return fd >= 0 ? only_kind(fd, flags) : -errno;
    }
    int fd = open(path, open_flags, 0600);
    return fd >= 0 ? only_kind(fd, flags) : -errno;
}

static int posix_close(void *ctx, int file)
{
    (void)ctx;
    /* On Linux the descriptor is gone also after EINTR, and nothing was lost by it. */
    if (close(file) < 0 && errno != EINTR)
        return -errno;
    return 0;
}

static int64_t posix_read(void *ctx, int file, void *buf, size_t len, uint64_t offset)
{
    (void)ctx;
    size_t done = 0;
    while (done < len) {
        ssize_t n = pread(file, (char *)buf + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
        /* An unaligned rest can only be the end of the file when it is read around the cache. */
        if (done < len && done % DIRECT_ALIGN != 0 && (fcntl(file, F_GETFL) & O_DIRECT))
            break;
    }
    return (int64_t)done;
}

static int posix_write(void *ctx, int file, const void *buf, size_t len, uint64_t offset)
{
    (void)ctx;
    size_t done = 0;
    while (done < len) {
        ssize_t n = pwrite(file, (const char *)buf + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -EIO;
        done += (size_t)n;
    }
    return 0;
}

static int posix_sync(void *ctx, int file)
{
    (void)ctx;
    return fdatasync(file) < 0 ? -errno : 0;
}

static int posix_grow(void *ctx, int file, uint64_t offset, uint64_t len)
{
    (void)ctx;
    int rc;
    do {
        rc = posix_fallocate(file, (off_t)offset, (off_t)len);
    } while (rc == EINTR);
    return -rc;
}

static int posix_truncate(void *ctx, int file, uint64_t size)
{
    (void)ctx;
    int rc;
    do {
        rc = ftruncate(file, (off_t)size);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 ? -errno : 0;
}

static int64_t posix_size(void *ctx, int file)
{
    (void)ctx;
    struct stat st;
    if (fstat(file, &st) < 0)
        return -errno;
    return st.st_size;
}

static int posix_lock(void *ctx, int file)
{
    (void)ctx;
    int rc;
    do {
        rc = flock(file, LOCK_EX | LOCK_NB);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 ? -errno : 0;
}

static int posix_rename(void *ctx, const char *from, const char *to)
{
    (void)ctx;
    return rename(from, to) < 0 ? -errno : 0;
}

static int posix_unlink(void *ctx, const char *path)
{
    (void)ctx;
    return unlink(path) < 0 ? -errno : 0;
}

static int posix_mkdir(void *ctx, const char *path)
{
    (void)ctx;
    if (mkdir(path, 0700) == 0)
        return 0;
    if (errno != EEXIST)
        return -errno;
    struct stat st;
    if (stat(path, &st) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

static int posix_sync_dir(void *ctx, const char *path)
{
    (void)ctx;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = fsync(fd) < 0 ? -errno : 0;
    close(fd);
    return rc;
}

static int posix_list(void *ctx, const char *path, int (*visit)(void *arg, const char *name), void *arg)
{
    (void)ctx;
    DIR *dir = opendir(path);
    if (dir == NULL)
        return -errno;
    int rc = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            rc = -errno;
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        rc = visit(arg, entry->d_name);
        if (rc != 0)
            break;
    }
    closedir(dir);
    return rc;
}

/*
 * Finds the mount options of the file system that holds device `dev`; super_options and options are the last and the
 * sixth field of its line in /proc/self/mountinfo. Returns false where the line is not found.
 */
static bool mount_has_option(dev_t dev, const char *const names[], size_t n, char found[32])
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    if (file == NULL)
        return false;
    char *line = NULL;
    size_t cap = 0;
    bool hit = false;
    char want[64];
    snprintf(want, sizeof want, "%u:%u", major(dev), minor(dev));
    while (!hit && getline(&line, &cap, file) > 0) {
        char device[64];
        if (sscanf(line, "%*d %*d %63s", device) != 1 || strcmp(device, want) != 0)
            continue;
        const char *options = strstr(line, " - ");
        if (options == NULL)
            continue;
        for (size_t i = 0; i < n && !hit; i++) {
            const char *at = strstr(options, names[i]);
            size_t len = strlen(names[i]);
            if (at != NULL && (at[-1] == ',' || at[-1] == ' ') && strchr(",\n ", at[len]) != NULL) {
                snprintf(found, 32, "%s", names[i]);
                hit = true;
            }
        }
    }
    free(line);
    fclose(file);
    return hit;
}

static int posix_durability(void *ctx, const char *path, char reason[HX_OS_REASON_MAX])
{
    (void)ctx;
    static const char *const lax_options[] = {"nobarrier", "barrier=0", "volatile"};
    struct statfs fs;
    struct stat st;
    if (statfs(path, &fs) < 0 || stat(path, &st) < 0)
        return -errno;
    if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC) {
        snprintf(reason, HX_OS_REASON_MAX, "it is a memory file system (tmpfs or ramfs)");
        return HX_OS_NOT_DURABLE;
    }
    char option[32];
    if (mount_has_option(st.st_dev, lax_options, sizeof lax_options / sizeof *lax_options, option)) {
        snprintf(reason, HX_OS_REASON_MAX, "it is mounted with '%s', which makes syncs do nothing", option);
        return HX_OS_NOT_DURABLE;
    }
    return HX_OS_DURABLE;
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int64_t posix_monotonic_ms(void *ctx)
{
    (void)ctx;
    return clock_ms(CLOCK_MONOTONIC);
}

static int64_t posix_wall_ms(void *ctx)
{
    (void)ctx;
    return clock_ms(CLOCK_REALTIME);
}

static int posix_entropy(void *ctx, void *buf, size_t len)
{
    (void)ctx;
    size_t done = 0;
    while (done < len) {
        ssize_t n = getrandom((char *)buf + done, len - done, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        done += (size_t)n;
    }
    return 0;
}

const hx_os *hx_os_posix(void)
{
    static const hx_os table = {
        .open = posix_open,
        .close = posix_close,
        .read = posix_read,
        .write = posix_write,
        .sync = posix_sync,
        .grow = posix_grow,
        .truncate = posix_truncate,
        .size = posix_size,
        .lock = posix_lock,
        .rename = posix_rename,
        .unlink = posix_unlink,
        .mkdir = posix_mkdir,
        .sync_dir = posix_sync_dir,
        .list = posix_list,
        .durability = posix_durability,
        .monotonic_ms = posix_monotonic_ms,
        .wall_ms = posix_wall_ms,
        .entropy = posix_entropy,
    };
    return &table;
}
