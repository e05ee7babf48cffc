/*
 * sim_disk.h - a disk in memory that knows what was synced and what was only written.
 *
 *      name ──► node ──► chunks of 4 KiB, each:  now[4096]     what a read through the cache sees
 *                                                stable[4096]  what is on the platter
 *                                                dirty         a bit for each 512-byte sector: written, not yet
 * synced size (now) and stable_size
 *
 * Three things can happen to a sector besides being read and written: a sync moves it from now to stable; a failed
 * sync may move it or not and marks it clean all the same (as Linux does, which is why one never syncs again); a
 * power cut keeps, drops or tears it by the dice. Names work the same way: creating, renaming and removing are a list
 * of steps for each folder, of which a sync of the folder makes all durable and a power cut keeps the first few.
 *
 * What this disk cannot do yet: keep an older unsynced version of a sector that was written twice; break a rename in
 * two; rot in a synced sector by itself (a test may do that by hand with sim_disk_overwrite).
 */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include "sim/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIM_SECTOR = 512,
    SIM_CHUNK = 4096,
};

typedef struct sim_disk sim_disk;
typedef struct sim_node sim_node;

sim_disk *sim_disk_new(void);
void sim_disk_free(sim_disk *disk);

/* Names. All return 0 or a negative errno. A folder has to be there before what is in it; "/" and "." always are. */
int sim_disk_find(sim_disk *disk, const char *path, sim_node **ret_node);
int sim_disk_create(sim_disk *disk, const char *path, bool folder, sim_node **ret_node);
int sim_disk_rename(sim_disk *disk, const char *from, const char *to);
int sim_disk_unlink(sim_disk *disk, const char *path);
int sim_disk_list(sim_disk *disk, const char *path, int (*visit)(void *arg, const char *name), void *arg);
int sim_disk_sync_folder(sim_disk *disk, const char *path);

/* Files. */
bool sim_node_is_folder(const sim_node *node);
uint64_t sim_node_size(const sim_node *node);
size_t sim_node_read(const sim_node *node, void *buf, size_t len, uint64_t offset, bool uncached);
void sim_node_write(sim_node *node, const void *buf, size_t len, uint64_t offset);
void sim_node_resize(sim_node *node, uint64_t size);
void sim_node_sync(sim_node *node);
void sim_node_fail_sync(sim_node *node, sim_random *random);
/* Who holds the lock: a handle's number, or -1. The disk only keeps it. */
int sim_node_lock_holder(const sim_node *node);
void sim_node_set_lock_holder(sim_node *node, int holder);

/* Sum of the sizes of all files that have a name. */
uint64_t sim_disk_used(const sim_disk *disk);
/* The process ended: locks are gone, everything written is still there. */
void sim_disk_drop_locks(sim_disk *disk);
/* The power failed: what was synced is there, of the rest some of it. */
void sim_disk_cut_power(sim_disk *disk, sim_random *random);
/* Damage by hand: now and stable both. */
void sim_disk_overwrite(sim_node *node, const void *buf, size_t len, uint64_t offset);
void sim_disk_cut_file(sim_node *node, uint64_t size);

#endif
