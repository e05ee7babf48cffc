/*
 * folder.h - the folder of a store: its place, its lock, its superblock.
 */
#ifndef HX_FOLDER_H
#define HX_FOLDER_H

#include <stdbool.h>

#include "core/store.h"

/*
 * Finds the store at store->path, or makes it where may_create allows, and takes the lock: store->superblock and
 * lock_file are set. A folder that is not a store's, or that was refused, is left as it was.
 */
int hx_folder_open(hapax_store *store, bool may_create, hapax_error *ret_error);

/* A new uuid and a new key, in store->superblock. */
int hx_folder_make_identity(hapax_store *store, hapax_error *ret_error);

#endif
