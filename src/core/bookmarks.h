/*
 * bookmarks.h - small named pieces of data, the latest of each name.
 *
 * Not thread-safe: the store's lock covers it.
 */
#ifndef HX_BOOKMARKS_H
#define HX_BOOKMARKS_H

#include <stddef.h>
#include <stdint.h>

#include "core/map.h"
#include "core/memory.h"

typedef struct hx_bookmark {
    char *name; /* owned */
    size_t name_len;
    unsigned char *data; /* owned; NULL where data_len is 0 */
    size_t data_len;
} hx_bookmark;

typedef struct hx_bookmarks {
    hx_memory *memory;
    hx_map by_name;
    hx_bookmark *items;
    size_t len, cap;
    unsigned char key[16];
} hx_bookmarks;

void hx_bookmarks_init(hx_bookmarks *bookmarks, hx_memory *memory, const unsigned char key[16]);
void hx_bookmarks_free(hx_bookmarks *bookmarks);
/* The bookmark, or NULL. Valid until the next set. */
const hx_bookmark *hx_bookmarks_get(const hx_bookmarks *bookmarks, const char *name, size_t name_len);
/* Sets it. HAPAX_OK, or an error with the old one as it was. */
int hx_bookmarks_set(hx_bookmarks *bookmarks, const char *name, size_t name_len, const void *data, size_t data_len);

#endif
