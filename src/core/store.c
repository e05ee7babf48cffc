/*
 * store.c - opening and closing a store: lock, superblock, recovery, log.
 *
 *     LOCK               locked while the store is open; holds the pid of who has it
 *     SUPER.0 SUPER.1    one block each: who the store is
 *     wal/               the log
 *
 * The one idea: a store exists from the moment its superblock has its name, so a making that was cut off leaves
 * nothing that would be taken for a store.
 */
#include "core/store.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/chain.h"
#include "core/fail.h"

void hapax_store_options_init(hapax_store_options *options)
{
    *options = (hapax_store_options){
        .size = sizeof *options, .max_memory_bytes = HAPAX_UNSET, .max_disk_bytes = HAPAX_UNSET};
}

static void store_path(const hapax_store *store, const char *name, char path[HX_PATH_MAX])
{
    int n = snprintf(path, HX_PATH_MAX, "%s/%s", store->path, name);
    assert(n > 0 && n < HX_PATH_MAX); /* the folder's path was checked when the store was opened */
    (void)n;
}

static void free_store(hapax_store *store)
{
    for (size_t i = 0; i < store->domains_len; i++)
        hx_domain_free(store->domains[i]);
    free(store->domains);
    hx_bookmarks_free(&store->bookmarks);
    hx_wal_free(&store->wal);
    if (store->lock_file >= 0)
        (void)store->os->close(store->os->ctx, store->lock_file);
    pthread_mutex_destroy(&store->lock);
    free(store->path);
    free(store);
}

/* ---- The lock ---------------------------------------------------------------------------------------------------
 */

/* Who has the lock, from its file; 0 where that cannot be told. */
static long lock_holder(const hapax_store *store, int file)
{
    char text[32] = {0};
    int64_t n = store->os->read(store->os->ctx, file, text, sizeof text - 1, 0);
    return n > 0 ? strtol(text, NULL, 10) : 0;
}

static int take_lock(hapax_store *store, hapax_error *ret_error)
{
    const hx_os *os = store->os;
    char path[HX_PATH_MAX];
    store_path(store, "LOCK", path);
    int file = os->open(os->ctx, path, store->read_only ? HX_OS_READ : HX_OS_WRITE | HX_OS_CREATE);
    if (file == -ENOENT)
        return hx_fail(ret_error, HAPAX_ERR_NOT_FOUND, "there is no store at %s", store->path);
    if (file == -EACCES || file == -EROFS || file == -EPERM)
        return hx_fail(ret_error, store->read_only ? HAPAX_ERR_INVALID : HAPAX_ERR_READ_ONLY,
                       store->read_only ? "%s may not be read" : "%s may not be written", store->path);
    if (file < 0)
        return hx_fail_os(ret_error, file, "cannot open", path);
    int rc = os->lock(os->ctx, file);
    if (rc == -EWOULDBLOCK) {
        long pid = lock_holder(store, file);
        (void)os->close(os->ctx, file);
        if (pid > 0)
            return hx_fail(ret_error, HAPAX_ERR_LOCKED, "%s is in use by process %ld", store->path, pid);
        return hx_fail(ret_error, HAPAX_ERR_LOCKED, "%s is in use by another process", store->path);
    }
    if (rc < 0) {
        (void)os->close(os->ctx, file);
        return hx_fail_os(ret_error, rc, "cannot lock", path);
    }
    store->lock_file = file;
    if (store->read_only)
        return HAPAX_OK;
    char text[32];
    int len = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    rc = os->truncate(os->ctx, file, 0);
    if (rc == 0)
        rc = os->write(os->ctx, file, text, (size_t)len, 0);
    return rc < 0 ? hx_fail_os(ret_error, rc, "cannot write", path) : HAPAX_OK;
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
    if (file == -ENOENT)
        return HAPAX_OK;
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

/* A store is made only where none has been and nothing else is. */
static int check_empty(const hapax_store *store, hapax_error *ret_error)
{
    contents found = {false, false};
    char path[HX_PATH_MAX];
    int rc = store->os->list(store->os->ctx, store->path, note_entry, &found);
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

/* Makes the entry of a new folder durable: it stands in the folder above. */
static int sync_parent(const hapax_store *store, hapax_error *ret_error)
{
    char parent[HX_PATH_MAX];
    size_t len = strlen(store->path);
    while (len > 1 && store->path[len - 1] == '/')
        len--;
    while (len > 0 && store->path[len - 1] != '/')
        len--;
    while (len > 1 && store->path[len - 1] == '/')
        len--;
    snprintf(parent, sizeof parent, "%.*s", len == 0 ? 1 : (int)len, len == 0 ? "." : store->path);
    int rc = store->os->sync_dir(store->os->ctx, parent);
    return rc < 0 ? hx_fail_os(ret_error, rc, "cannot sync", parent) : HAPAX_OK;
}

static int make_identity(hapax_store *store, hapax_error *ret_error)
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
    rc = make_identity(store, ret_error);
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
    int rc = store->os->durability(store->os->ctx, store->path, reason);
    if (rc < 0)
        return hx_fail_os(ret_error, rc, "cannot examine", store->path);
    if (rc == HX_OS_NOT_DURABLE)
        return hx_fail(ret_error, HAPAX_ERR_DURABILITY,
                       "%s cannot survive power loss: %s; ask for durability 'process' to accept that", store->path,
                       reason);
    return HAPAX_OK;
}

/* Removes what recovery found to be replaced, and what a cut-off making left. It may come again: nothing is lost. */
static void remove_unused(const hapax_store *store, const hx_wal_resume *resume)
{
    char path[HX_PATH_MAX];
    if (resume->replaced_seq == 0)
        return;
    hx_wal_path(path, store->wal.folder, resume->replaced_seq, false);
    (void)store->os->unlink(store->os->ctx, path);
}

/* Starts the log of this opening: a file of its own, and the event that begins the epoch. */
static int begin_log(hapax_store *store, const hx_wal_resume *resume, hapax_error *ret_error)
{
    int rc = hx_wal_begin(&store->wal, resume, ret_error);
    if (rc < 0)
        return rc;
    remove_unused(store, resume);
    hx_event event = {.type = HX_EVENT_OPEN,
                      .flags = store->durability == HAPAX_DURABILITY_PROCESS ? HX_EVENT_NO_SYNCS : 0,
                      .claim_seq = (uint64_t)store->clock.downtime_ms,
                      .activity_ms = store->clock.activity_at_open_ms,
                      .wall_ms = hx_clock_wall(&store->clock)};
    hx_wal_room room = {1, 0};
    rc = hx_wal_reserve(&store->wal, &room, 0, ret_error);
    if (rc < 0)
        return rc;
    return hx_wal_commit(&store->wal, hx_wal_append(&store->wal, &room, &event, 1, NULL), ret_error);
}

static int open_folder(hapax_store *store, const hapax_store_options *options, hapax_error *ret_error)
{
    const hx_os *os = store->os;
    bool may_create = (options->flags & HAPAX_OPEN_EXISTING) == 0 && !store->read_only;
    if (may_create) {
        int rc = os->mkdir(os->ctx, store->path);
        if (rc == -ENOTDIR || rc == -ENOENT || rc == -EACCES || rc == -EROFS)
            return hx_fail(ret_error, rc == -EACCES || rc == -EROFS ? HAPAX_ERR_READ_ONLY : HAPAX_ERR_INVALID,
                           rc == -ENOTDIR  ? "%s is no folder"
                           : rc == -ENOENT ? "the folder above %s is missing"
                                           : "%s may not be made",
                           store->path);
        if (rc < 0)
            return hx_fail_os(ret_error, rc, "cannot make", store->path);
    }
    int rc = check_durability(store, ret_error);
    if (rc == HAPAX_OK)
        rc = take_lock(store, ret_error);
    if (rc < 0)
        return rc;
    bool found = false;
    rc = find_superblock(store, &found, ret_error);
    if (rc == HAPAX_OK && !found)
        rc = may_create ? create(store, ret_error)
                        : hx_fail(ret_error, HAPAX_ERR_NOT_FOUND, "there is no store at %s", store->path);
    return rc;
}

static int recover_and_begin(hapax_store *store, const hapax_store_options *options, hapax_error *ret_error)
{
    memcpy(store->wal.uuid, store->superblock.uuid, 16);
    memcpy(store->wal.key, store->superblock.key, 16);
    hx_bookmarks_init(&store->bookmarks, &store->memory, store->superblock.key);
    hx_wal_resume resume = {0};
    int rc = hx_recover(store, options, &resume, ret_error);
    if (rc == HAPAX_OK && !store->read_only)
        rc = begin_log(store, &resume, ret_error);
    hx_buf_free(&resume.carry);
    return rc;
}

static hapax_store *new_store(const hx_os *os, const hapax_store_options *options)
{
    hapax_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return NULL;
    store->os = os;
    store->lock_file = -1;
    store->read_only = options->flags & HAPAX_OPEN_READ_ONLY;
    store->durability = options->durability;
    store->clock = (hx_clock){.os = os, .monotonic_at_open_ms = os->monotonic_ms(os->ctx)};
    store->report = (hapax_open_report){.size = sizeof store->report};
    hx_memory_init(&store->memory, NULL,
                   options->max_memory_bytes == HAPAX_UNSET ? UINT64_MAX : (uint64_t)options->max_memory_bytes);
    hx_bookmarks_init(&store->bookmarks, &store->memory, store->superblock.key);
    if (pthread_mutex_init(&store->lock, NULL) != 0) {
        free(store);
        return NULL;
    }
    if (hx_wal_init(&store->wal, os, &store->clock) < 0) {
        pthread_mutex_destroy(&store->lock);
        free(store);
        return NULL;
    }
    if (options->max_disk_bytes != HAPAX_UNSET)
        store->wal.max_disk_bytes = (uint64_t)options->max_disk_bytes;
    store->wal.hold = options->flags & HAPAX_OPEN_HOLD;
    store->wal.syncs = options->durability == HAPAX_DURABILITY_FULL;
    return store;
}

static int open_in_memory(hapax_store *store, hapax_error *ret_error)
{
    store->wal.in_memory = true;
    store->report.created = true;
    store->report.clean = true;
    int rc = make_identity(store, ret_error);
    if (rc == HAPAX_OK)
        hx_bookmarks_init(&store->bookmarks, &store->memory, store->superblock.key);
    return rc;
}

static int check_options(const hapax_store_options *options, hapax_store **ret_store, hapax_error *ret_error)
{
    if (options == NULL || ret_store == NULL)
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "hapax_store_open needs options and a place for the store");
    if (options->size != sizeof *options)
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "hapax_store_options has not been initialised");
    if (options->flags & ~(unsigned)(HAPAX_OPEN_EXISTING | HAPAX_OPEN_READ_ONLY | HAPAX_OPEN_HOLD))
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "unknown flags: %#x", options->flags);
    if (options->durability != HAPAX_DURABILITY_FULL && options->durability != HAPAX_DURABILITY_PROCESS)
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "unknown durability: %d", (int)options->durability);
    if ((options->max_memory_bytes < 0 && options->max_memory_bytes != HAPAX_UNSET) ||
        (options->max_disk_bytes < 0 && options->max_disk_bytes != HAPAX_UNSET))
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "a budget is negative");
    if (options->path == NULL && options->flags & (HAPAX_OPEN_EXISTING | HAPAX_OPEN_READ_ONLY))
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "a store in memory is always new");
    if (options->path != NULL && (options->path[0] == '\0' || strlen(options->path) > HX_PATH_MAX - 64))
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "the path of a store must have 1 to %d bytes", HX_PATH_MAX - 64);
    return HAPAX_OK;
}

int hx_store_open_os(const hx_os *os, const hapax_store_options *options, hapax_store **ret_store,
                     hapax_error *ret_error)
{
    int rc = check_options(options, ret_store, ret_error);
    if (rc < 0)
        return rc;
    hapax_store *store = new_store(os, options);
    if (store == NULL)
        return hx_fail(ret_error, HAPAX_ERR_MEMORY, "no memory to open a store");
    if (options->path == NULL) {
        rc = open_in_memory(store, ret_error);
    } else {
        store->path = strdup(options->path);
        if (store->path == NULL) {
            rc = hx_fail(ret_error, HAPAX_ERR_MEMORY, "no memory to open a store");
        } else {
            store_path(store, "wal", store->wal.folder);
            rc = open_folder(store, options, ret_error);
        }
        if (rc == HAPAX_OK)
            rc = recover_and_begin(store, options, ret_error);
    }
    if (rc < 0) {
        free_store(store);
        return rc;
    }
    *ret_store = store;
    return HAPAX_OK;
}

int hapax_store_open(const hapax_store_options *options, hapax_store **ret_store, hapax_error *ret_error)
{
    return hx_store_open_os(hx_os_posix(), options, ret_store, ret_error);
}

void hapax_store_open_report(const hapax_store *store, hapax_open_report *ret_report)
{
    *ret_report = store->report;
}

/* ---- Domains ----------------------------------------------------------------------------------------------------
 */

hapax_domain *hx_store_domain_named(hapax_store *store, const char *name, size_t name_len)
{
    for (size_t i = 0; i < store->domains_len; i++) {
        hapax_domain *domain = store->domains[i];
        if (domain->name_len == name_len && memcmp(domain->name, name, name_len) == 0)
            return domain;
    }
    return NULL;
}

int hx_store_add_domain(hapax_store *store, const char *name, size_t name_len, const hx_settings *settings,
                        hapax_domain **ret_domain, hapax_error *ret_error)
{
    if (store->domains_len == HAPAX_DOMAINS_MAX)
        return hx_fail(ret_error, HAPAX_ERR_FULL, "the store has %d domains, and takes no more", HAPAX_DOMAINS_MAX);
    if (store->domains_len == store->domains_cap) {
        size_t cap = store->domains_cap == 0 ? 4 : store->domains_cap * 2;
        hapax_domain **domains = realloc(store->domains, cap * sizeof(hapax_domain *));
        if (domains == NULL)
            return hx_fail(ret_error, HAPAX_ERR_MEMORY, "no memory for a domain");
        store->domains = domains;
        store->domains_cap = cap;
    }
    hapax_domain *domain = hx_domain_new(store, (uint32_t)store->domains_len, name, name_len, settings, ret_error);
    if (domain == NULL)
        return ret_error != NULL ? ret_error->status : HAPAX_ERR_MEMORY;
    store->domains[store->domains_len++] = domain;
    *ret_domain = domain;
    return HAPAX_OK;
}

/* ---- Closing ----------------------------------------------------------------------------------------------------
 */

static int close_cleanly(hapax_store *store, hapax_error *ret_error)
{
    int rc = hx_wal_failed(&store->wal, ret_error);
    /* What is held back goes first, so that a close needs no more room than its own events. */
    if (rc == HAPAX_OK)
        rc = hx_wal_commit(&store->wal, UINT64_MAX, ret_error);
    for (size_t i = 0; i < store->domains_len && rc == HAPAX_OK; i++) {
        pthread_mutex_lock(&store->domains[i]->lock);
        rc = hx_domain_close_claims(store->domains[i], ret_error);
        pthread_mutex_unlock(&store->domains[i]->lock);
    }
    hx_wal_room room = {1, 0};
    if (rc == HAPAX_OK)
        rc = hx_wal_reserve_end(&store->wal, &room, ret_error);
    if (rc < 0)
        return rc;
    hx_event event = {.type = HX_EVENT_CLEAN,
                      .activity_ms = hx_clock_activity(&store->clock),
                      .wall_ms = hx_clock_wall(&store->clock)};
    (void)hx_wal_append(&store->wal, &room, &event, 1, NULL);
    return hx_wal_close(&store->wal, ret_error);
}

int hapax_store_close(hapax_store *store, hapax_error *ret_error)
{
    if (store == NULL)
        return HAPAX_OK;
    int rc = store->read_only || store->wal.in_memory ? HAPAX_OK : close_cleanly(store, ret_error);
    free_store(store);
    return rc;
}

void hapax_store_abandon(hapax_store *store)
{
    if (store != NULL)
        free_store(store);
}
