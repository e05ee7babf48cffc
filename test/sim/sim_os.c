/*
 * sim_os.c - the table of os.h over the simulated disk; the manual is sim_os.h.
 *
 * The one idea: nothing here decides anything by itself. Clocks stand until they are turned, calls work until a plan
 * says that the nth one fails, and all dice are thrown from one seed, so a failing run can be had again.
 *
 * Invariants: a handle belongs to the process run (epoch) that opened it; after a crash it is -EBADF for good.
 * One mutex guards everything; it is recursive, so the visit of list may call back.
 */
#include "sim/sim_os.h"
#include "sim/sim_disk.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct handle {
    sim_node *node; /* NULL: closed */
    int flags;
} handle;

typedef struct plan {
    uint64_t at; /* the count at which the call fails; 0: never */
    int error;
    bool for_ever;
} plan;

struct sim_os {
    hx_os table;
    pthread_mutex_t mutex;
    sim_disk *disk;
    handle *handles;
    size_t handle_count, handle_cap;
    int64_t monotonic_ms;
    int64_t wall_ms;
    sim_random entropy;
    sim_random dice;
    uint64_t calls[SIM_CALL_COUNT];
    plan plans[SIM_CALL_COUNT];
    bool blocked[SIM_CALL_COUNT];
    unsigned waiting[SIM_CALL_COUNT];
    pthread_cond_t unblocked;
    uint64_t space_limit;
    bool durable;
};

static sim_os *enter(void *ctx)
{
    sim_os *sim = ctx;
    pthread_mutex_lock(&sim->mutex);
    return sim;
}

static void leave(sim_os *sim)
{
    pthread_mutex_unlock(&sim->mutex);
}

/* Counts the call, lets it wait where it is to; 0, or the planned error. */
static int count_call(sim_os *sim, sim_call call)
{
    sim->waiting[call]++;
    while (sim->blocked[call]) {
        pthread_cond_wait(&sim->unblocked, &sim->mutex);
    }
    sim->waiting[call]--;
    uint64_t count = ++sim->calls[call];
    plan *p = &sim->plans[call];
    bool fails = p->at != 0 && (count == p->at || (p->for_ever && count > p->at));
    return fails ? -p->error : 0;
}

static int handle_of(sim_os *sim, int file, int flags, handle **ret_handle)
{
    if (file < 0 || (size_t)file >= sim->handle_count || sim->handles[file].node == NULL) {
        return -EBADF;
    }
    if ((sim->handles[file].flags & flags) != flags) {
        return -EBADF;
    }
    *ret_handle = &sim->handles[file];
    return 0;
}

static int add_handle(sim_os *sim, sim_node *node, int flags)
{
    if (sim->handle_count == sim->handle_cap) {
        sim->handle_cap = sim->handle_cap == 0 ? 16 : sim->handle_cap * 2;
        sim->handles = realloc(sim->handles, sim->handle_cap * sizeof *sim->handles);
        if (sim->handles == NULL) {
            abort();
        }
    }
    sim->handles[sim->handle_count] = (handle){.node = node, .flags = flags};
    return (int)sim->handle_count++;
}

/* ---- the table ---- */

static int do_open(sim_os *sim, const char *path, int flags)
{
    int rc = count_call(sim, SIM_OPEN);
    if (rc < 0) {
        return rc;
    }
    sim_node *node = NULL;
    rc = sim_disk_find(sim->disk, path, &node);
    if (rc == 0 && (flags & HX_OS_CREATE) && (flags & HX_OS_EXCLUSIVE)) {
        return -EEXIST;
    }
    if (rc == -ENOENT && (flags & HX_OS_CREATE)) {
        rc = sim_disk_create(sim->disk, path, false, &node);
    }
    if (rc < 0) {
        return rc;
    }
    if (sim_node_is_folder(node) != ((flags & HX_OS_FOLDER) != 0)) {
        return sim_node_is_folder(node) ? -EISDIR : -ENOTDIR;
    }
    return add_handle(sim, node, flags);
}

static int table_open(void *ctx, const char *path, int flags)
{
    sim_os *sim = enter(ctx);
    int rc = do_open(sim, path, flags);
    leave(sim);
    return rc;
}

static int table_close(void *ctx, int file)
{
    sim_os *sim = enter(ctx);
    int error = count_call(sim, SIM_CLOSE);
    handle *h = NULL;
    int rc = handle_of(sim, file, 0, &h);
    if (rc == 0) {
        if (sim_node_lock_holder(h->node) == file) {
            sim_node_set_lock_holder(h->node, -1);
        }
        h->node = NULL;
        rc = error;
    }
    leave(sim);
    return rc;
}

static int64_t table_read(void *ctx, int file, void *buf, size_t len, uint64_t offset)
{
    sim_os *sim = enter(ctx);
    int64_t rc = count_call(sim, SIM_READ);
    handle *h = NULL;
    if (rc == 0) {
        rc = handle_of(sim, file, 0, &h);
    }
    if (rc == 0) {
        rc = (int64_t)sim_node_read(h->node, buf, len, offset, (h->flags & HX_OS_UNCACHED) != 0);
    }
    leave(sim);
    return rc;
}

/* Whether the file may end at `end`. */
static int check_space(sim_os *sim, const sim_node *node, uint64_t end)
{
    if (end < sim_node_size(node) || sim->space_limit == UINT64_MAX) {
        return 0;
    }
    uint64_t more = end - sim_node_size(node);
    uint64_t used = sim_disk_used(sim->disk);
    return more > 0 && (used > sim->space_limit || more > sim->space_limit - used) ? -ENOSPC : 0;
}

static int table_write(void *ctx, int file, const void *buf, size_t len, uint64_t offset)
{
    sim_os *sim = enter(ctx);
    int error = count_call(sim, SIM_WRITE);
    handle *h = NULL;
    int rc = handle_of(sim, file, HX_OS_WRITE, &h);
    if (rc == 0 && error < 0) {
        /* A failed write may have written nothing, all of it or any part. */
        if (error != -ENOSPC && error != -ECANCELED) {
            uint64_t dice = sim_random_below(&sim->dice, 3);
            uint64_t part = dice == 0 ? 0 : dice == 1 ? len : sim_random_below(&sim->dice, len + 1);
            sim_node_write(h->node, buf, (size_t)part, offset);
        }
        rc = error;
    } else if (rc == 0) {
        rc = check_space(sim, h->node, offset + len);
        if (rc == 0) {
            sim_node_write(h->node, buf, len, offset);
        }
    }
    leave(sim);
    return rc;
}

static int table_sync(void *ctx, int file)
{
    sim_os *sim = enter(ctx);
    int error = count_call(sim, SIM_SYNC);
    handle *h = NULL;
    int rc = handle_of(sim, file, 0, &h);
    if (rc == 0 && error < 0) {
        if (error != -ECANCELED) {
            sim_node_fail_sync(h->node, &sim->dice);
        }
        rc = error;
    } else if (rc == 0) {
        sim_node_sync(h->node);
    }
    leave(sim);
    return rc;
}

static int table_grow(void *ctx, int file, uint64_t offset, uint64_t len)
{
    sim_os *sim = enter(ctx);
    int rc = count_call(sim, SIM_GROW);
    handle *h = NULL;
    if (rc == 0) {
        rc = handle_of(sim, file, HX_OS_WRITE, &h);
    }
    if (rc == 0) {
        rc = check_space(sim, h->node, offset + len);
    }
    if (rc == 0 && offset + len > sim_node_size(h->node)) {
        sim_node_resize(h->node, offset + len);
    }
    leave(sim);
    return rc;
}

static int table_truncate(void *ctx, int file, uint64_t size)
{
    sim_os *sim = enter(ctx);
    int rc = count_call(sim, SIM_TRUNCATE);
    handle *h = NULL;
    if (rc == 0) {
        rc = handle_of(sim, file, HX_OS_WRITE, &h);
    }
    if (rc == 0) {
        sim_node_resize(h->node, size);
    }
    leave(sim);
    return rc;
}

static int64_t table_size(void *ctx, int file)
{
    sim_os *sim = enter(ctx);
    handle *h = NULL;
    int64_t rc = handle_of(sim, file, 0, &h);
    if (rc == 0) {
        rc = (int64_t)sim_node_size(h->node);
    }
    leave(sim);
    return rc;
}

static int table_lock(void *ctx, int file)
{
    sim_os *sim = enter(ctx);
    int rc = count_call(sim, SIM_LOCK);
    handle *h = NULL;
    if (rc == 0) {
        rc = handle_of(sim, file, 0, &h);
    }
    if (rc == 0) {
        int holder = sim_node_lock_holder(h->node);
        rc = holder >= 0 && holder != file ? -EWOULDBLOCK : 0;
        if (rc == 0) {
            sim_node_set_lock_holder(h->node, file);
        }
    }
    leave(sim);
    return rc;
}

static int table_rename(void *ctx, const char *from, const char *to)
{
    sim_os *sim = enter(ctx);
    int rc = count_call(sim, SIM_RENAME);
    if (rc == 0) {
        rc = sim_disk_rename(sim->disk, from, to);
    }
    leave(sim);
    return rc;
}

static int table_unlink(void *ctx, const char *path)
{
    sim_os *sim = enter(ctx);
    int rc = count_call(sim, SIM_UNLINK);
    if (rc == 0) {
        rc = sim_disk_unlink(sim->disk, path);
    }
    leave(sim);
    return rc;
}

static int table_mkdir(void *ctx, const char *path)
{
    sim_os *sim = enter(ctx);
    int rc = count_call(sim, SIM_MKDIR);
    if (rc == 0) {
        rc = sim_disk_create(sim->disk, path, true, NULL);
    }
    if (rc == -EEXIST) {
        sim_node *node = NULL;
        rc = sim_disk_find(sim->disk, path, &node);
        rc = rc == 0 && !sim_node_is_folder(node) ? -ENOTDIR : 0;
    }
    leave(sim);
    return rc;
}

static int table_sync_dir(void *ctx, const char *path)
{
    sim_os *sim = enter(ctx);
    int rc = count_call(sim, SIM_SYNC_DIR);
    if (rc == 0) {
        rc = sim_disk_sync_folder(sim->disk, path);
    }
    leave(sim);
    return rc;
}

static int table_list(void *ctx, const char *path, int (*visit)(void *arg, const char *name), void *arg)
{
    sim_os *sim = enter(ctx);
    int rc = count_call(sim, SIM_LIST);
    if (rc == 0) {
        rc = sim_disk_list(sim->disk, path, visit, arg);
    }
    leave(sim);
    return rc;
}

static int table_durability(void *ctx, const char *path, char reason[HX_OS_REASON_MAX])
{
    (void)path;
    sim_os *sim = enter(ctx);
    bool durable = sim->durable;
    leave(sim);
    strcpy(reason, durable ? "" : "the simulated disk is told to forget");
    return durable ? HX_OS_DURABLE : HX_OS_NOT_DURABLE;
}

static int64_t table_monotonic_ms(void *ctx)
{
    sim_os *sim = enter(ctx);
    int64_t now = sim->monotonic_ms;
    leave(sim);
    return now;
}

static int64_t table_wall_ms(void *ctx)
{
    sim_os *sim = enter(ctx);
    int64_t now = sim->wall_ms;
    leave(sim);
    return now;
}

static int table_entropy(void *ctx, void *buf, size_t len)
{
    sim_os *sim = enter(ctx);
    int rc = count_call(sim, SIM_ENTROPY);
    unsigned char *out = buf;
    for (size_t i = 0; rc == 0 && i < len; i++) {
        out[i] = (unsigned char)sim_random_next(&sim->entropy);
    }
    leave(sim);
    return rc;
}

/* ---- by hand ---- */

sim_os *sim_os_new(uint64_t seed)
{
    sim_os *sim = calloc(1, sizeof *sim);
    if (sim == NULL) {
        abort();
    }
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&sim->mutex, &attr);
    pthread_mutexattr_destroy(&attr);
    pthread_cond_init(&sim->unblocked, NULL);
    sim->disk = sim_disk_new();
    sim->monotonic_ms = 1000000;
    sim->wall_ms = 1767225600000;
    sim->entropy.state = seed;
    sim->dice.state = seed ^ 0x5851f42d4c957f2dULL;
    sim->space_limit = UINT64_MAX;
    sim->durable = true;
    sim->table = (hx_os){
        .ctx = sim,
        .open = table_open,
        .close = table_close,
        .read = table_read,
        .write = table_write,
        .sync = table_sync,
        .grow = table_grow,
        .truncate = table_truncate,
        .size = table_size,
        .lock = table_lock,
        .rename = table_rename,
        .unlink = table_unlink,
        .mkdir = table_mkdir,
        .sync_dir = table_sync_dir,
        .list = table_list,
        .durability = table_durability,
        .monotonic_ms = table_monotonic_ms,
        .wall_ms = table_wall_ms,
        .entropy = table_entropy,
    };
    return sim;
}

void sim_os_free(sim_os *sim)
{
    if (sim == NULL) {
        return;
    }
    sim_disk_free(sim->disk);
    free(sim->handles);
    pthread_cond_destroy(&sim->unblocked);
    pthread_mutex_destroy(&sim->mutex);
    free(sim);
}

const hx_os *sim_os_table(sim_os *sim)
{
    return &sim->table;
}

void sim_os_turn(sim_os *sim, int64_t ms)
{
    enter(sim);
    sim->monotonic_ms += ms;
    sim->wall_ms += ms;
    leave(sim);
}

void sim_os_step_wall(sim_os *sim, int64_t ms)
{
    enter(sim);
    sim->wall_ms += ms;
    leave(sim);
}

void sim_os_set_monotonic(sim_os *sim, int64_t ms)
{
    enter(sim);
    sim->monotonic_ms = ms;
    leave(sim);
}

int64_t sim_os_monotonic(sim_os *sim)
{
    return table_monotonic_ms(sim);
}

int64_t sim_os_wall(sim_os *sim)
{
    return table_wall_ms(sim);
}

void sim_os_fail(sim_os *sim, sim_call call, uint64_t nth, int error, bool for_ever)
{
    enter(sim);
    sim->plans[call] = (plan){.at = sim->calls[call] + nth, .error = error, .for_ever = for_ever};
    leave(sim);
}

void sim_os_heal(sim_os *sim)
{
    enter(sim);
    memset(sim->plans, 0, sizeof sim->plans);
    leave(sim);
}

void sim_os_block(sim_os *sim, sim_call call)
{
    enter(sim);
    sim->blocked[call] = true;
    leave(sim);
}

void sim_os_unblock(sim_os *sim, sim_call call)
{
    enter(sim);
    sim->blocked[call] = false;
    pthread_cond_broadcast(&sim->unblocked);
    leave(sim);
}

unsigned sim_os_waiting(sim_os *sim, sim_call call)
{
    enter(sim);
    unsigned count = sim->waiting[call];
    leave(sim);
    return count;
}

uint64_t sim_os_calls(sim_os *sim, sim_call call)
{
    enter(sim);
    uint64_t count = sim->calls[call];
    leave(sim);
    return count;
}

void sim_os_limit_space(sim_os *sim, uint64_t bytes)
{
    enter(sim);
    sim->space_limit = bytes;
    leave(sim);
}

uint64_t sim_os_used(sim_os *sim)
{
    enter(sim);
    uint64_t used = sim_disk_used(sim->disk);
    leave(sim);
    return used;
}

void sim_os_set_durable(sim_os *sim, bool durable)
{
    enter(sim);
    sim->durable = durable;
    leave(sim);
}

void sim_os_crash(sim_os *sim)
{
    enter(sim);
    for (size_t i = 0; i < sim->handle_count; i++) {
        sim->handles[i].node = NULL;
    }
    sim_disk_drop_locks(sim->disk);
    leave(sim);
}

void sim_os_cut_power(sim_os *sim)
{
    sim_os_crash(sim);
    enter(sim);
    sim_disk_cut_power(sim->disk, &sim->dice);
    leave(sim);
}

int64_t sim_os_file_size(sim_os *sim, const char *path)
{
    enter(sim);
    sim_node *node = NULL;
    int64_t rc = sim_disk_find(sim->disk, path, &node);
    if (rc == 0) {
        rc = (int64_t)sim_node_size(node);
    }
    leave(sim);
    return rc;
}

int64_t sim_os_file_read(sim_os *sim, const char *path, void *buf, size_t len, uint64_t offset)
{
    enter(sim);
    sim_node *node = NULL;
    int64_t rc = sim_disk_find(sim->disk, path, &node);
    if (rc == 0) {
        rc = (int64_t)sim_node_read(node, buf, len, offset, false);
    }
    leave(sim);
    return rc;
}

int sim_os_file_overwrite(sim_os *sim, const char *path, const void *buf, size_t len, uint64_t offset)
{
    enter(sim);
    sim_node *node = NULL;
    int rc = sim_disk_find(sim->disk, path, &node);
    if (rc == 0) {
        sim_disk_overwrite(node, buf, len, offset);
    }
    leave(sim);
    return rc;
}

int sim_os_file_cut(sim_os *sim, const char *path, uint64_t size)
{
    enter(sim);
    sim_node *node = NULL;
    int rc = sim_disk_find(sim->disk, path, &node);
    if (rc == 0) {
        sim_disk_cut_file(node, size);
    }
    leave(sim);
    return rc;
}
