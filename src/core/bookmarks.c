/*
 * bookmarks.c - small named pieces of data.
 *
 * The one idea: there are few of them, so they stand in a plain array with a map over it.
 */
#include "core/bookmarks.h"

#include <hapax.h>
#include <stdbool.h>
#include <string.h>

#include "base/siphash.h"

void hx_bookmarks_init(hx_bookmarks *bookmarks, hx_memory *memory, const unsigned char key[16])
{
    *bookmarks = (hx_bookmarks){.memory = memory};
    memcpy(bookmarks->key, key, sizeof bookmarks->key);
    hx_map_init(&bookmarks->by_name, memory);
}

void hx_bookmarks_free(hx_bookmarks *bookmarks)
{
    for (size_t i = 0; i < bookmarks->len; i++) {
        hx_memory_free(bookmarks->memory, bookmarks->items[i].name, bookmarks->items[i].name_len);
        hx_memory_free(bookmarks->memory, bookmarks->items[i].data, bookmarks->items[i].data_len);
    }
    hx_memory_free(bookmarks->memory, bookmarks->items, bookmarks->cap * sizeof *bookmarks->items);
    hx_map_free(&bookmarks->by_name);
    *bookmarks = (hx_bookmarks){0};
}

typedef struct name_query {
    const hx_bookmarks *bookmarks;
    const char *name;
    size_t name_len;
} name_query;

static bool is_name(const void *ctx, uint32_t value)
{
    const name_query *query = ctx;
    const hx_bookmark *item = &query->bookmarks->items[value];
    return item->name_len == query->name_len && memcmp(item->name, query->name, query->name_len) == 0;
}

static uint32_t find(const hx_bookmarks *bookmarks, const char *name, size_t name_len)
{
    name_query query = {bookmarks, name, name_len};
    return hx_map_find(&bookmarks->by_name, hx_siphash64(bookmarks->key, name, name_len), is_name, &query);
}

const hx_bookmark *hx_bookmarks_get(const hx_bookmarks *bookmarks, const char *name, size_t name_len)
{
    uint32_t at = find(bookmarks, name, name_len);
    return at == HX_MAP_NONE ? NULL : &bookmarks->items[at];
}

/* Adds an empty bookmark. */
static int add(hx_bookmarks *bookmarks, const char *name, size_t name_len)
{
    int rc = hx_map_reserve(&bookmarks->by_name, 1);
    if (rc < 0)
        return rc;
    if (bookmarks->len == bookmarks->cap) {
        size_t cap = bookmarks->cap == 0 ? 4 : bookmarks->cap * 2;
        hx_bookmark *items = hx_memory_resize(bookmarks->memory, bookmarks->items, bookmarks->cap * sizeof *items,
                                              cap * sizeof *items);
        if (items == NULL)
            return hx_memory_failure(bookmarks->memory);
        bookmarks->items = items;
        bookmarks->cap = cap;
    }
    char *copy = hx_memory_alloc(bookmarks->memory, name_len);
    if (copy == NULL)
        return hx_memory_failure(bookmarks->memory);
    memcpy(copy, name, name_len);
    bookmarks->items[bookmarks->len] = (hx_bookmark){.name = copy, .name_len = name_len};
    hx_map_put(&bookmarks->by_name, hx_siphash64(bookmarks->key, name, name_len), (uint32_t)bookmarks->len);
    bookmarks->len++;
    return HAPAX_OK;
}

int hx_bookmarks_set(hx_bookmarks *bookmarks, const char *name, size_t name_len, const void *data, size_t data_len)
{
    unsigned char *copy = NULL;
    if (data_len > 0) {
        copy = hx_memory_alloc(bookmarks->memory, data_len);
        if (copy == NULL)
            return hx_memory_failure(bookmarks->memory);
        memcpy(copy, data, data_len);
    }
    uint32_t at = find(bookmarks, name, name_len);
    if (at == HX_MAP_NONE) {
        int rc = add(bookmarks, name, name_len);
        if (rc < 0) {
            hx_memory_free(bookmarks->memory, copy, data_len);
            return rc;
        }
        at = (uint32_t)bookmarks->len - 1;
    }
    hx_bookmark *item = &bookmarks->items[at];
    hx_memory_free(bookmarks->memory, item->data, item->data_len);
    item->data = copy;
    item->data_len = data_len;
    return HAPAX_OK;
}
