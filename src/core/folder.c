/*
 * folder.c - the folder of a store: its place, its lock, its superblock.
 *
 *     LOCK               the pid of who has the store open; the folder itself is what is locked
 *     SUPER.0 SUPER.1    one block each: who the store is
 *     wal/               the log
 *
 * The one idea: a store exists from the moment its superblock has its name, so a making that was cut off leaves
 * nothing that would be taken for a store. And nothing is touched in a folder that is not ours: looking comes first.
 */
#include "core/folder.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fail.h"

static void store_path(const hapax_store *store, const char *name, char path[HX_PATH_MAX])
{
    int n = snprintf(path, HX_PATH_MAX, "%s/%s", store->path, name);
    assert(n > 0 && n < HX_PATH_MAX); /* the folder's path was checked when the store was opened */
    (void)n;
}

/* ---- The lock ---------------------------------------------------------------------------------------------------
 */

/* Who has the store open, from the file that tells; 0 where that cannot be told. */
static long lock_holder(const hapax_store *store)
{
    char path[HX_PATH_MAX];
    store_path(store, "LOCK", path);
    int file = store->os->open(store->os->ctx, path, HX_OS_READ);
    if (file < 0)
        return 0;
    char text[32] = {0};
    int64_t n = store->os->read(store->os->ctx, file, text, sizeof text - 1, 0);
    (void)store->os->close(store->os->ctx, file);
    return n > 0 ? strtol(text, NULL, 10) : 0;
}

/* Writes the pid to the file that tells who has the store. */
static int write_holder(const hapax_store *store, hapax_error *ret_error)
{
    const hx_os *os = store->os;
    char path[HX_PATH_MAX];
    char text[32];
    store_path(store, "LOCK", path);
    int file = os->open(os->ctx, path, HX_OS_WRITE | HX_OS_CREATE);
    if (file == -EACCES || file == -EROFS || file == -EPERM)
        return hx_fail(ret_error, HAPAX_ERR_READ_ONLY, "%s may not be written", store->path);
    if (file < 0)
        return hx_fail_os(ret_error, file, "cannot open", path);
    int len = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    int rc = os->truncate(os->ctx, file, 0);
    if (rc == 0)
        rc = os->write(os->ctx, file, text, (size_t)len, 0);
    int close_rc = os->close(os->ctx, file);
    if (rc == 0)
        rc = close_rc;
    return rc < 0 ? hx_fail_os(ret_error, rc, "cannot write", path) : HAPAX_OK;
}

/*
 * Locks the folder itself: a lock file could be taken for a leftover and removed, and then two would have the store.
 */
static int take_lock(hapax_store *store, hapax_error *ret_error)
{
    const hx_os *os = store->os;
    int folder = os->open(os->ctx, store->path, HX_OS_READ | HX_OS_FOLDER);
    if (folder == -EACCES || folder == -EPERM)
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "%s may not be read", store->path);
    if (folder < 0)
        return hx_fail_os(ret_error, folder, "cannot open", store->path);
    store->lock_file = folder;
    int rc = os->lock(os->ctx, folder);
    if (rc == -EWOULDBLOCK) {
        long pid = lock_holder(store);
        if (pid > 0)
            return hx_fail(ret_error, HAPAX_ERR_LOCKED, "%s is in use by process %ld", store->path, pid);
        return hx_fail(ret_error, HAPAX_ERR_LOCKED, "%s is in use by another process", store->path);
    }
    if (rc < 0)
        return hx_fail_os(ret_error, rc, "cannot lock", store->path);
    return store->read_only ? HAPAX_OK : write_holder(store, ret_error);
}

/* ---- The superblock ---------------------------------------------------------------------------------------------
 */

static int read_superblock(const hapax_store *store, const char *name, hx_format_check *ret_check,
                           hx_superblock *ret_superblock, hapax_error *ret_error)
{
    const hx_os *os = store->os;
    char path[HX_PATH_MAX];
    store_path(store, name, path);
    *ret_check = HX_FORMAT_BLANK;
    int file = os->open(os->ctx, path, HX_OS_READ);
    if (file == -ENOENT || file == -ENOTDIR)
        return HAPAX_OK;
    if (file == -EACCES || file == -EPERM)
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "%s may not be read", path);
    if (file < 0)
        return hx_fail_os(ret_error, file, "cannot open", path);
    unsigned char block[HX_BLOCK];
    int64_t n = os->read(os->ctx, file, block, sizeof block, 0);
    (void)os->close(os->ctx, file);
    if (n < 0)
        return hx_fail_os(ret_error, (int)n, "cannot read", path);
    *ret_check = n < (int64_t)sizeof block ? HX_FORMAT_BAD : hx_format_read_superblock(block, ret_superblock);
    return HAPAX_OK;
}

/* Reads both; *ret_found says whether the store is there. */
static int find_superblock(hapax_store *store, bool *ret_found, hapax_error *ret_error)
{
    static const char *const names[2] = {"SUPER.0", "SUPER.1"};
    hx_superblock found[2] = {{0}, {0}};
    hx_format_check check[2];
    bool good = false;
    for (int i = 0; i < 2; i++) {
        int rc = read_superblock(store, names[i], &check[i], &found[i], ret_error);
        if (rc < 0)
            return rc;
        if (check[i] == HX_FORMAT_NEWER)
            return hx_fail(ret_error, HAPAX_ERR_VERSION, "%s is of format version %u; this hapax knows up to %u",
                           store->path, found[i].version, HX_FORMAT_VERSION);
        if (check[i] == HX_FORMAT_GOOD && (!good || found[i].generation > store->superblock.generation)) {
            store->superblock = found[i];
            good = true;
        }
    }
    if (!good && (check[0] == HX_FORMAT_BAD || check[1] == HX_FORMAT_BAD)) {
        char path[HX_PATH_MAX];
        store_path(store, names[check[0] == HX_FORMAT_BAD ? 0 : 1], path);
        return hx_fail_damaged(ret_error, path, 0, "the superblock is damaged, and so is its copy or there is none");
    }
    *ret_found = good;
    return HAPAX_OK;
}

/* Writes a small file as a whole: under another name, synced, renamed. */
static int write_whole(const hapax_store *store, const char *name, const void *data, size_t len,
                       hapax_error *ret_error)
{
    const hx_os *os = store->os;
    char path[HX_PATH_MAX];
    char temporary[HX_PATH_MAX];
    store_path(store, name, path);
    store_path(store, "SUPER.tmp", temporary);
    int file = os->open(os->ctx, temporary, HX_OS_WRITE | HX_OS_CREATE);
    if (file < 0)
        return hx_fail_os(ret_error, file, "cannot make", temporary);
    int rc = os->truncate(os->ctx, file, 0);
    if (rc == 0)
        rc = os->write(os->ctx, file, data, len, 0);
    if (rc == 0 && store->wal.syncs)
        rc = os->sync(os->ctx, file);
    int close_rc = os->close(os->ctx, file);
    if (rc == 0)
        rc = close_rc;
    if (rc == 0)
        rc = os->rename(os->ctx, temporary, path);
    if (rc < 0)
        (void)os->unlink(os->ctx, temporary);
    return rc < 0 ? hx_fail_os(ret_error, rc, "cannot write", path) : HAPAX_OK;
}

/* What a folder without a sound superblock holds. */
typedef struct contents {
    bool superblock;
    bool log;
} contents;

static int note_entry(void *arg, const char *name)
{
    static const char *const ours[] = {"LOCK", "SUPER.tmp", "wal"};
    contents *found = arg;
    if (strcmp(name, "SUPER.0") == 0 || strcmp(name, "SUPER.1") == 0) {
        found->superblock = true;
        return 0;
    }
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcmp(name, ours[i]) == 0)
            return 0;
    return 1;
}

static int note_log_file(void *arg, const char *name)
{
    contents *found = arg;
    size_t len = strlen(name);
    found->log = found->log || (len > 4 && strcmp(name + len - 4, ".wal") == 0);
    return 0;
}

/* A store is made only where none has been and nothing else is; a folder that is missing is fine. */
static int check_empty(const hapax_store *store, hapax_error *ret_error)
{
    contents found = {false, false};
    char path[HX_PATH_MAX];
    int rc = store->os->list(store->os->ctx, store->path, note_entry, &found);
    if (rc == -ENOENT)
        return HAPAX_OK;
    if (rc == -ENOTDIR)
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "%s is no folder", store->path);
    if (rc == -EACCES)
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "%s may not be read", store->path);
    if (rc > 0)
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "%s is not a store, and it is not empty", store->path);
    if (rc < 0)
        return hx_fail_os(ret_error, rc, "cannot read the folder", store->path);
    rc = store->os->list(store->os->ctx, store->wal.folder, note_log_file, &found);
    if (rc < 0 && rc != -ENOENT)
        return hx_fail_os(ret_error, rc, "cannot read the folder", store->wal.folder);
    if (!found.superblock && !found.log)
        return HAPAX_OK;
    store_path(store, "SUPER.0", path);
    return hx_fail_damaged(ret_error, path, 0,
                           "both superblocks are missing or blank, but there has been a store here");
}

/* The folder above the store's. */
static void parent_path(const hapax_store *store, char parent[HX_PATH_MAX])
{
    size_t len = strlen(store->path);
    while (len > 1 && store->path[len - 1] == '/')
        len--;
    while (len > 0 && store->path[len - 1] != '/')
        len--;
    while (len > 1 && store->path[len - 1] == '/')
        len--;
    snprintf(parent, HX_PATH_MAX, "%.*s", len == 0 ? 1 : (int)len, len == 0 ? "." : store->path);
}

/* Makes the entry of a new folder durable: it stands in the folder above. */
static int sync_parent(const hapax_store *store, hapax_error *ret_error)
{
    char parent[HX_PATH_MAX];
    parent_path(store, parent);
    int rc = store->os->sync_dir(store->os->ctx, parent);
    return rc < 0 ? hx_fail_os(ret_error, rc, "cannot sync", parent) : HAPAX_OK;
}

int hx_folder_make_identity(hapax_store *store, hapax_error *ret_error)
{
    hx_superblock *superblock = &store->superblock;
    *superblock = (hx_superblock){.version = HX_FORMAT_VERSION, .generation = 1};
    superblock->created_ms = hx_clock_wall(&store->clock);
    int rc = store->os->entropy(store->os->ctx, superblock->uuid, sizeof superblock->uuid);
    if (rc == 0)
        rc = store->os->entropy(store->os->ctx, superblock->key, sizeof superblock->key);
    return rc < 0 ? hx_fail_os(ret_error, rc, "cannot read", "entropy") : HAPAX_OK;
}

/* Makes a store in a folder that holds nothing else. */
static int create(hapax_store *store, hapax_error *ret_error)
{
    const hx_os *os = store->os;
    int rc = check_empty(store, ret_error);
    if (rc < 0)
        return rc;
    rc = os->mkdir(os->ctx, store->wal.folder);
    if (rc < 0)
        return hx_fail_os(ret_error, rc, "cannot make", store->wal.folder);
    rc = hx_folder_make_identity(store, ret_error);
    if (rc < 0)
        return rc;
    unsigned char block[HX_BLOCK];
    hx_format_write_superblock(block, &store->superblock);
    /* The copy first: the store is there once it has SUPER.0, and then it has both. */
    rc = write_whole(store, "SUPER.1", block, sizeof block, ret_error);
    if (rc == HAPAX_OK)
        rc = write_whole(store, "SUPER.0", block, sizeof block, ret_error);
    if (rc == HAPAX_OK && store->wal.syncs) {
        rc = os->sync_dir(os->ctx, store->path);
        if (rc < 0)
            return hx_fail_os(ret_error, rc, "cannot sync", store->path);
        rc = sync_parent(store, ret_error);
    }
    store->report.created = true;
    return rc;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------
 */

static int check_durability(hapax_store *store, hapax_error *ret_error)
{
    if (store->durability != HAPAX_DURABILITY_FULL || store->read_only)
        return HAPAX_OK;
    char reason[HX_OS_REASON_MAX];
    char parent[HX_PATH_MAX];
    const char *place = store->path;
    int rc = store->os->durability(store->os->ctx, place, reason);
    if (rc == -ENOENT) {
        parent_path(store, parent);
        place = parent;
        rc = store->os->durability(store->os->ctx, place, reason);
    }
    if (rc == -ENOENT || rc == -ENOTDIR)
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "the folder above %s is missing", store->path);
    if (rc < 0)
        return hx_fail_os(ret_error, rc, "cannot examine", place);
    if (rc == HX_OS_NOT_DURABLE)
        return hx_fail(ret_error, HAPAX_ERR_DURABILITY,
                       "%s cannot survive power loss: %s; ask for durability 'process' to accept that", store->path,
                       reason);
    return HAPAX_OK;
}

/* Makes the folder, where it is missing. */
static int make_folder(const hapax_store *store, hapax_error *ret_error)
{
    int rc = store->os->mkdir(store->os->ctx, store->path);
    if (rc == -ENOTDIR || rc == -ENOENT)
        return hx_fail(ret_error, HAPAX_ERR_INVALID,
                       rc == -ENOTDIR ? "%s is no folder" : "the folder above %s is missing", store->path);
    if (rc == -EACCES || rc == -EROFS)
        return hx_fail(ret_error, HAPAX_ERR_READ_ONLY, "%s may not be made", store->path);
    return rc < 0 ? hx_fail_os(ret_error, rc, "cannot make", store->path) : HAPAX_OK;
}

/* Everything that can be refused before something is touched. */
static int look_first(hapax_store *store, bool may_create, hapax_error *ret_error)
{
    bool found = false;
    int rc = find_superblock(store, &found, ret_error);
    if (rc == HAPAX_OK && !found)
        rc = check_empty(store, ret_error);
    if (rc == HAPAX_OK && !found && !may_create)
        rc = hx_fail(ret_error, HAPAX_ERR_NOT_FOUND, "there is no store at %s", store->path);
    return rc < 0 ? rc : check_durability(store, ret_error);
}

int hx_folder_open(hapax_store *store, bool may_create, hapax_error *ret_error)
{
    int rc = look_first(store, may_create, ret_error);
    if (rc == HAPAX_OK && may_create)
        rc = make_folder(store, ret_error);
    if (rc == HAPAX_OK)
        rc = take_lock(store, ret_error);
    bool found = false;
    if (rc == HAPAX_OK)
        rc = find_superblock(store, &found, ret_error); /* again: now nobody else changes it */
    if (rc == HAPAX_OK && !found)
        rc = create(store, ret_error);
    return rc;
}
