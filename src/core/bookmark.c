/*
 * bookmark.c - hapax_commit, hapax_bookmark_set and hapax_bookmark_get.
 *
 * The one idea: a bookmark is an event like any other, so it is durable exactly with what was judged before it.
 */
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/store.h"

int hapax_commit(hapax_store *store, uint64_t position, hapax_error *ret_error)
{
    if (store == NULL)
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "a store is needed");
    if (store->read_only)
        return hx_fail(ret_error, HAPAX_ERR_READ_ONLY, "the store is open for reading");
    return hx_wal_commit(&store->wal, position, ret_error);
}

static int check_name(const hapax_store *store, const char *name, size_t name_len, hapax_error *ret_error)
{
    if (store == NULL || name == NULL || name_len == 0)
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "a store and a name are needed");
    if (name_len > HAPAX_NAME_MAX)
        return hx_fail(ret_error, HAPAX_ERR_TOO_LONG, "a name of %zu bytes; at most %d are taken", name_len,
                       HAPAX_NAME_MAX);
    return HAPAX_OK;
}

int hapax_bookmark_set(hapax_store *store, const char *name, size_t name_len, const void *data, size_t data_len,
                       uint64_t *ret_position, hapax_error *ret_error)
{
    int rc = check_name(store, name, name_len, ret_error);
    if (rc < 0)
        return rc;
    if (data == NULL && data_len > 0)
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "data is NULL, but data_len is not 0");
    if (data_len > HAPAX_BOOKMARK_MAX)
        return hx_fail(ret_error, HAPAX_ERR_TOO_LONG, "a bookmark of %zu bytes; at most %d are taken", data_len,
                       HAPAX_BOOKMARK_MAX);
    if (store->read_only)
        return hx_fail(ret_error, HAPAX_ERR_READ_ONLY, "the store is open for reading");
    hx_buf blob = {0};
    if (hx_buf_reserve(&blob, name_len + data_len + HX_VARINT_MAX) < 0)
        return hx_fail(ret_error, HAPAX_ERR_MEMORY, "no memory for a bookmark");
    hx_event_write_bookmark(&blob, name, name_len, data, data_len);
    pthread_mutex_lock(&store->lock);
    hx_wal_room room = {1, blob.len};
    rc = hx_wal_reserve(&store->wal, &room, 0, ret_error);
    if (rc == HAPAX_OK) {
        rc = hx_bookmarks_set(&store->bookmarks, name, name_len, data, data_len);
        if (rc < 0) {
            hx_wal_cancel(&store->wal, &room);
            (void)hx_fail(ret_error, rc, "no memory for a bookmark");
        }
    }
    if (rc == HAPAX_OK) {
        hx_event event = {.type = HX_EVENT_BOOKMARK};
        event.blob.data = blob.data;
        event.blob.len = blob.len;
        uint64_t position = hx_wal_append(&store->wal, &room, &event, 1, NULL);
        if (ret_position != NULL)
            *ret_position = position;
    }
    pthread_mutex_unlock(&store->lock);
    if (rc < 0)
        hx_buf_free(&blob);
    return rc;
}

int hapax_bookmark_get(hapax_store *store, const char *name, size_t name_len, void *buffer, size_t capacity,
                       size_t *ret_len, hapax_error *ret_error)
{
    int rc = check_name(store, name, name_len, ret_error);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&store->lock);
    const hx_bookmark *bookmark = hx_bookmarks_get(&store->bookmarks, name, name_len);
    if (bookmark == NULL) {
        rc = hx_fail(ret_error, HAPAX_ERR_NOT_FOUND, "the store has no bookmark of that name");
    } else {
        size_t len = bookmark->data_len < capacity ? bookmark->data_len : capacity;
        if (len > 0)
            memcpy(buffer, bookmark->data, len);
        if (ret_len != NULL)
            *ret_len = bookmark->data_len;
    }
    pthread_mutex_unlock(&store->lock);
    return rc;
}
