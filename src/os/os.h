/*
 * os.h - the library's one seam to the platform: disk, clocks, entropy.
 *
 * The library reaches the machine through one table of functions, so that a test can stand in a
 * simulated disk and a clock it turns by hand. The real table is hx_os_posix().
 *
 * Results: 0 or a count on success, a negative errno on failure. Paths are NUL-terminated. Files are small integers
 * that only the table that made them understands. Reads and writes are whole: the table itself repeats interrupted
 * and short calls, so a short read means end of file and a short write does not exist.
 * Threads: every function may be called from several threads at once; calls on one file are the caller's to order.
 */
#ifndef HX_OS_H
#define HX_OS_H

#include <stddef.h>
#include <stdint.h>

enum {
    HX_OS_READ = 1,
    HX_OS_WRITE = 2,     /* implies HX_OS_READ */
    HX_OS_CREATE = 4,    /* make it where missing */
    HX_OS_EXCLUSIVE = 8, /* with CREATE: fail with -EEXIST where it exists */
    HX_OS_FOLDER = 32,   /* with READ alone: opens a folder, to lock it */
    HX_OS_UNCACHED = 16, /* read around the page cache where that can be done (O_DIRECT), else as usual */
};

enum {
    HX_OS_DURABLE = 0,     /* a sync of this file system reaches stable storage, as far as the kernel tells */
    HX_OS_NOT_DURABLE = 1, /* it does not (memory file system, volatile overlay, barriers off) */
};

#define HX_OS_REASON_MAX 128

typedef struct hx_os {
    void *ctx; /* passed to every function */

    /* Opens a regular file; returns it (>= 0). Anything else of that name is -EINVAL. */
    int (*open)(void *ctx, const char *path, int flags);
    /* Closes it; the file is gone even when an error is returned. */
    int (*close)(void *ctx, int file);
    /* Reads up to len bytes at offset; returns the count, less than len only at the end of the file. */
    int64_t (*read)(void *ctx, int file, void *buf, size_t len, uint64_t offset);
    /* Writes len bytes at offset; 0 or an error, after which any part of them may have been written. */
    int (*write)(void *ctx, int file, const void *buf, size_t len, uint64_t offset);
    /* Data and size are on stable storage when it returns 0. After an error: never sync again, see design.md. */
    int (*sync)(void *ctx, int file);
    /* Reserves disk space for [offset, offset + len) and extends the size to at least its end; new bytes read as
     * zero. */
    int (*grow)(void *ctx, int file, uint64_t offset, uint64_t len);
    /* Cuts the file to size. */
    int (*truncate)(void *ctx, int file, uint64_t size);
    /* The size of a file in bytes. */
    int64_t (*size)(void *ctx, int file);
    /* Takes an exclusive lock that ends with the file being closed or the process; -EWOULDBLOCK where it is taken. */
    int (*lock)(void *ctx, int file);
    int (*rename)(void *ctx, const char *from, const char *to);
    int (*unlink)(void *ctx, const char *path);
    /* Makes a folder; 0 also where it exists, -ENOTDIR where a file of that name does. */
    int (*mkdir)(void *ctx, const char *path);
    /* The entries of a folder are on stable storage when it returns 0. */
    int (*sync_dir)(void *ctx, const char *path);
    /* Calls visit with the name of every entry but . and .., in any order; a non-zero return stops and is returned.
     */
    int (*list)(void *ctx, const char *path, int (*visit)(void *arg, const char *name), void *arg);
    /* HX_OS_DURABLE or HX_OS_NOT_DURABLE with the reason in words, for the file system that holds path. */
    int (*durability)(void *ctx, const char *path, char reason[HX_OS_REASON_MAX]);
    /* Milliseconds from an arbitrary start; does not stop, step or go back while the process lives. */
    int64_t (*monotonic_ms)(void *ctx);
    /* Milliseconds since 1970 as the wall clock tells; may step. */
    int64_t (*wall_ms)(void *ctx);
    /* Fills buf with len unpredictable bytes. */
    int (*entropy)(void *ctx, void *buf, size_t len);
} hx_os;

/* The real machine. The table is constant and shared. */
const hx_os *hx_os_posix(void);

#endif
