/*
 * store.c - opening and closing a store: folder, recovery, log; and the list of its domains.
 *
 * The one idea: opening is reading; only when all that is stored has been read and believed does the log begin a file
 * of its own, and with it a new epoch.
 */
#include "core/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/folder.h"

void hapax_store_options_init(hapax_store_options *options)
{
    *options = (hapax_store_options){
        .size = sizeof *options, .max_memory_bytes = HAPAX_UNSET, .max_disk_bytes = HAPAX_UNSET};
}

static void free_store(hapax_store *store)
{
    for (size_t i = 0; i < store->domains_len; i++)
        hx_domain_free(store->domains[i]);
    free(store->domains);
    hx_map_free(&store->domains_by_name);
    hx_bookmarks_free(&store->bookmarks);
    hx_wal_free(&store->wal);
    if (store->lock_file >= 0)
        (void)store->os->close(store->os->ctx, store->lock_file);
    pthread_mutex_destroy(&store->lock);
    free(store->path);
    free(store);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------
 */

/* A crash leaves the space that was reserved ahead behind; on a full disk the new file may need just that. */
static void give_back_reserved(const hapax_store *store, const hx_wal_resume *resume)
{
    char path[HX_PATH_MAX];
    if (resume->newest_seq == 0)
        return;
    hx_wal_path(path, store->wal.folder, resume->newest_seq, false);
    int file = store->os->open(store->os->ctx, path, HX_OS_WRITE);
    if (file < 0)
        return;
    /* Best effort: where it cannot be had, making the new file tells. */
    (void)store->os->truncate(store->os->ctx, file, resume->newest_end);
    (void)store->os->close(store->os->ctx, file);
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
    give_back_reserved(store, resume);
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
    hx_map_init(&store->domains_by_name, &store->memory);
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
    int rc = hx_folder_make_identity(store, ret_error);
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
            snprintf(store->wal.folder, sizeof store->wal.folder, "%s/wal", store->path);
            bool may_create = (options->flags & HAPAX_OPEN_EXISTING) == 0 && !store->read_only;
            rc = hx_folder_open(store, may_create, ret_error);
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

typedef struct name_query {
    const hapax_store *store;
    const char *name;
    size_t name_len;
} name_query;

static bool is_name(const void *ctx, uint32_t value)
{
    const name_query *query = ctx;
    const hapax_domain *domain = query->store->domains[value];
    return domain->name_len == query->name_len && memcmp(domain->name, query->name, query->name_len) == 0;
}

static uint64_t name_hash(const hapax_store *store, const char *name, size_t name_len)
{
    return hx_siphash64(store->superblock.key, name, name_len);
}

hapax_domain *hx_store_domain_named(hapax_store *store, const char *name, size_t name_len)
{
    name_query query = {store, name, name_len};
    uint32_t at = hx_map_find(&store->domains_by_name, name_hash(store, name, name_len), is_name, &query);
    return at == HX_MAP_NONE ? NULL : store->domains[at];
}

void hx_store_drop_last_domain(hapax_store *store)
{
    hapax_domain *domain = store->domains[--store->domains_len];
    hx_map_remove(&store->domains_by_name, name_hash(store, domain->name, domain->name_len), domain->number);
    hx_domain_free(domain);
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
    if (hx_map_reserve(&store->domains_by_name, 1) < 0)
        return hx_fail(ret_error, HAPAX_ERR_MEMORY, "no memory for a domain");
    hapax_domain *domain = hx_domain_new(store, (uint32_t)store->domains_len, name, name_len, settings, ret_error);
    if (domain == NULL)
        return ret_error != NULL ? ret_error->status : HAPAX_ERR_MEMORY;
    hx_map_put(&store->domains_by_name, name_hash(store, name, name_len), domain->number);
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
