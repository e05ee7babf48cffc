/*
 * sim_disk.c - the disk of the simulated machine; the picture is in sim_disk.h.
 *
 * The one idea: every sector and every name exists twice, as the running system sees it and as it would be found
 * after a power cut, and only a sync makes the two equal. A node is never freed before the disk is: names that a
 * power cut brings back find it still there. Memory runs out with abort(), a test has nothing better to do.
 *
 * Invariants: a sector whose `now` differs from `stable` is either dirty or was lost by a failed sync; bytes of a
 * chunk beyond the size are zero in `now`.
 */
#include "sim/sim_disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATH_CAP = 256,
    SECTORS = SIM_CHUNK / SIM_SECTOR,
};

typedef struct chunk {
    unsigned char now[SIM_CHUNK];
    unsigned char stable[SIM_CHUNK];
    unsigned char dirty; /* one bit a sector */
} chunk;

struct sim_node {
    sim_node *next;
    bool folder;
    int lock_holder;
    uint64_t size;
    uint64_t stable_size;
    chunk **chunks; /* NULL where nothing was written: reads as zero */
    size_t chunk_count;
};

typedef struct name {
    char path[PATH_CAP];
    sim_node *node;
} name;

/* What a folder's journal holds: a name appears (node set), or goes (node NULL), or both for a rename. */
typedef struct step {
    char folder[PATH_CAP];
    char gone[PATH_CAP];
    char made[PATH_CAP];
    sim_node *node;
} step;

typedef struct names {
    name *items;
    size_t count, cap;
} names;

struct sim_disk {
    sim_node *nodes;
    names now;
    names stable;
    step *steps;
    size_t step_count, step_cap;
};

static void *must(void *pointer)
{
    if (pointer == NULL) {
        abort();
    }
    return pointer;
}

/* ---- names ---- */

static int copy_path(char out[PATH_CAP], const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') {
        len--;
    }
    if (len == 0) {
        return -ENOENT;
    }
    if (len >= PATH_CAP) {
        return -ENAMETOOLONG;
    }
    memcpy(out, path, len);
    out[len] = '\0';
    return 0;
}

static void folder_of(char out[PATH_CAP], const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        strcpy(out, ".");
        return;
    }
    size_t len = slash == path ? 1 : (size_t)(slash - path);
    memcpy(out, path, len);
    out[len] = '\0';
}

static bool is_root(const char *path)
{
    return strcmp(path, "/") == 0 || strcmp(path, ".") == 0;
}

static name *names_find(const names *list, const char *path)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].path, path) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

static void names_put(names *list, const char *path, sim_node *node)
{
    name *there = names_find(list, path);
    if (there == NULL) {
        if (list->count == list->cap) {
            list->cap = list->cap == 0 ? 16 : list->cap * 2;
            list->items = must(realloc(list->items, list->cap * sizeof *list->items));
        }
        there = &list->items[list->count++];
        strcpy(there->path, path);
    }
    there->node = node;
}

static void names_drop(names *list, const char *path)
{
    name *there = names_find(list, path);
    if (there != NULL) {
        *there = list->items[--list->count];
    }
}

static void names_apply(names *list, const step *s)
{
    if (s->gone[0] != '\0') {
        names_drop(list, s->gone);
    }
    if (s->made[0] != '\0') {
        names_put(list, s->made, s->node);
    }
}

/* A name whose folder is not there cannot be reached: it is dropped, level by level. */
static void names_drop_orphans(names *list)
{
    bool again = true;
    while (again) {
        again = false;
        for (size_t i = 0; i < list->count; i++) {
            char folder[PATH_CAP];
            folder_of(folder, list->items[i].path);
            if (!is_root(folder) && names_find(list, folder) == NULL) {
                list->items[i] = list->items[--list->count];
                again = true;
                break;
            }
        }
    }
}

static int folder_there(sim_disk *disk, const char *path)
{
    if (is_root(path)) {
        return 0;
    }
    name *there = names_find(&disk->now, path);
    if (there == NULL) {
        return -ENOENT;
    }
    return there->node->folder ? 0 : -ENOTDIR;
}

static void add_step(sim_disk *disk, const char *gone, const char *made, sim_node *node)
{
    if (disk->step_count == disk->step_cap) {
        disk->step_cap = disk->step_cap == 0 ? 16 : disk->step_cap * 2;
        disk->steps = must(realloc(disk->steps, disk->step_cap * sizeof *disk->steps));
    }
    step *s = &disk->steps[disk->step_count++];
    memset(s, 0, sizeof *s);
    strcpy(s->gone, gone);
    strcpy(s->made, made);
    s->node = node;
    folder_of(s->folder, made[0] != '\0' ? made : gone);
    names_apply(&disk->now, s);
}

int sim_disk_find(sim_disk *disk, const char *path, sim_node **ret_node)
{
    char clean[PATH_CAP];
    int rc = copy_path(clean, path);
    if (rc < 0) {
        return rc;
    }
    char folder[PATH_CAP];
    folder_of(folder, clean);
    rc = folder_there(disk, folder);
    if (rc < 0) {
        return rc;
    }
    name *there = names_find(&disk->now, clean);
    if (there == NULL) {
        return -ENOENT;
    }
    *ret_node = there->node;
    return 0;
}

int sim_disk_create(sim_disk *disk, const char *path, bool folder, sim_node **ret_node)
{
    char clean[PATH_CAP];
    int rc = copy_path(clean, path);
    if (rc < 0) {
        return rc;
    }
    char parent[PATH_CAP];
    folder_of(parent, clean);
    rc = folder_there(disk, parent);
    if (rc < 0) {
        return rc;
    }
    if (is_root(clean) || names_find(&disk->now, clean) != NULL) {
        return -EEXIST;
    }
    sim_node *node = must(calloc(1, sizeof *node));
    node->next = disk->nodes;
    disk->nodes = node;
    node->folder = folder;
    node->lock_holder = -1;
    add_step(disk, "", clean, node);
    if (ret_node != NULL) {
        *ret_node = node;
    }
    return 0;
}

int sim_disk_rename(sim_disk *disk, const char *from, const char *to)
{
    char clean_from[PATH_CAP];
    char clean_to[PATH_CAP];
    char folder[PATH_CAP];
    int rc = copy_path(clean_from, from);
    if (rc == 0) {
        rc = copy_path(clean_to, to);
    }
    if (rc < 0) {
        return rc;
    }
    name *there = names_find(&disk->now, clean_from);
    if (there == NULL) {
        return -ENOENT;
    }
    folder_of(folder, clean_to);
    rc = folder_there(disk, folder);
    if (rc < 0) {
        return rc;
    }
    if (there->node->folder) {
        return -EXDEV; /* nobody here needs it, and the names inside would have to follow */
    }
    add_step(disk, clean_from, clean_to, there->node);
    return 0;
}

int sim_disk_unlink(sim_disk *disk, const char *path)
{
    sim_node *node = NULL;
    int rc = sim_disk_find(disk, path, &node);
    if (rc < 0) {
        return rc;
    }
    if (node->folder) {
        return -EISDIR;
    }
    char clean[PATH_CAP];
    copy_path(clean, path);
    add_step(disk, clean, "", NULL);
    return 0;
}

int sim_disk_list(sim_disk *disk, const char *path, int (*visit)(void *arg, const char *name), void *arg)
{
    char clean[PATH_CAP];
    int rc = copy_path(clean, path);
    if (rc == 0) {
        rc = folder_there(disk, clean);
    }
    if (rc < 0) {
        return rc;
    }
    /* Over a copy, from the end: no caller may lean on an order, and visit may come back to the disk. */
    size_t count = disk->now.count;
    name *copy = must(malloc((count + 1) * sizeof *copy));
    if (count > 0) {
        memcpy(copy, disk->now.items, count * sizeof *copy);
    }
    for (size_t i = count; i > 0 && rc == 0; i--) {
        char folder[PATH_CAP];
        folder_of(folder, copy[i - 1].path);
        if (strcmp(folder, clean) == 0) {
            const char *slash = strrchr(copy[i - 1].path, '/');
            rc = visit(arg, slash == NULL ? copy[i - 1].path : slash + 1);
        }
    }
    free(copy);
    return rc;
}

int sim_disk_sync_folder(sim_disk *disk, const char *path)
{
    char clean[PATH_CAP];
    int rc = copy_path(clean, path);
    if (rc == 0) {
        rc = folder_there(disk, clean);
    }
    if (rc < 0) {
        return rc;
    }
    size_t kept = 0;
    for (size_t i = 0; i < disk->step_count; i++) {
        if (strcmp(disk->steps[i].folder, clean) == 0) {
            names_apply(&disk->stable, &disk->steps[i]);
        } else {
            disk->steps[kept++] = disk->steps[i];
        }
    }
    disk->step_count = kept;
    return 0;
}

/* ---- files ---- */

static chunk *chunk_at(sim_node *node, size_t index)
{
    if (index >= node->chunk_count) {
        size_t count = node->chunk_count == 0 ? 8 : node->chunk_count * 2;
        count = count > index ? count : index + 1;
        node->chunks = must(realloc(node->chunks, count * sizeof *node->chunks));
        memset(node->chunks + node->chunk_count, 0, (count - node->chunk_count) * sizeof *node->chunks);
        node->chunk_count = count;
    }
    if (node->chunks[index] == NULL) {
        node->chunks[index] = must(calloc(1, sizeof **node->chunks));
    }
    return node->chunks[index];
}

bool sim_node_is_folder(const sim_node *node)
{
    return node->folder;
}

uint64_t sim_node_size(const sim_node *node)
{
    return node->size;
}

int sim_node_lock_holder(const sim_node *node)
{
    return node->lock_holder;
}

void sim_node_set_lock_holder(sim_node *node, int holder)
{
    node->lock_holder = holder;
}

/* An uncached read of a dirty sector sees what was written (the kernel writes it back first); of a clean one it sees
 * the platter, also where a failed sync left something else in the cache. */
static void read_uncached(const chunk *c, unsigned char *out, size_t at, size_t len)
{
    while (len > 0) {
        size_t sector = at / SIM_SECTOR;
        size_t part = SIM_SECTOR - at % SIM_SECTOR;
        part = part < len ? part : len;
        memcpy(out, ((c->dirty >> sector) & 1 ? c->now : c->stable) + at, part);
        out += part;
        at += part;
        len -= part;
    }
}

size_t sim_node_read(const sim_node *node, void *buf, size_t len, uint64_t offset, bool uncached)
{
    if (offset >= node->size) {
        return 0;
    }
    if (len > node->size - offset) {
        len = (size_t)(node->size - offset);
    }
    unsigned char *out = buf;
    for (size_t done = 0; done < len;) {
        size_t index = (size_t)((offset + done) / SIM_CHUNK);
        size_t at = (size_t)((offset + done) % SIM_CHUNK);
        size_t part = SIM_CHUNK - at < len - done ? SIM_CHUNK - at : len - done;
        const chunk *c = index < node->chunk_count ? node->chunks[index] : NULL;
        if (c == NULL) {
            memset(out + done, 0, part);
        } else if (!uncached) {
            memcpy(out + done, c->now + at, part);
        } else {
            read_uncached(c, out + done, at, part);
        }
        done += part;
    }
    return len;
}

static void mark_dirty(chunk *c, size_t at, size_t len)
{
    for (size_t sector = at / SIM_SECTOR; sector <= (at + len - 1) / SIM_SECTOR; sector++) {
        c->dirty |= (unsigned char)(1U << sector);
    }
}

void sim_node_write(sim_node *node, const void *buf, size_t len, uint64_t offset)
{
    const unsigned char *in = buf;
    for (size_t done = 0; done < len;) {
        chunk *c = chunk_at(node, (size_t)((offset + done) / SIM_CHUNK));
        size_t at = (size_t)((offset + done) % SIM_CHUNK);
        size_t part = SIM_CHUNK - at < len - done ? SIM_CHUNK - at : len - done;
        memcpy(c->now + at, in + done, part);
        mark_dirty(c, at, part);
        done += part;
    }
    if (len > 0 && offset + len > node->size) {
        node->size = offset + len;
    }
}

void sim_node_resize(sim_node *node, uint64_t size)
{
    for (size_t i = (size_t)(size / SIM_CHUNK); size < node->size && i < node->chunk_count; i++) {
        chunk *c = node->chunks[i];
        if (c != NULL) {
            size_t at = i == size / SIM_CHUNK ? (size_t)(size % SIM_CHUNK) : 0;
            memset(c->now + at, 0, SIM_CHUNK - at);
            mark_dirty(c, at, SIM_CHUNK - at);
        }
    }
    node->size = size;
}

void sim_node_sync(sim_node *node)
{
    for (size_t i = 0; i < node->chunk_count; i++) {
        chunk *c = node->chunks[i];
        for (size_t sector = 0; c != NULL && c->dirty != 0 && sector < SECTORS; sector++) {
            if ((c->dirty >> sector) & 1) {
                memcpy(c->stable + sector * SIM_SECTOR, c->now + sector * SIM_SECTOR, SIM_SECTOR);
            }
        }
        if (c != NULL) {
            c->dirty = 0;
        }
    }
    node->stable_size = node->size;
}

void sim_node_fail_sync(sim_node *node, sim_random *random)
{
    for (size_t i = 0; i < node->chunk_count; i++) {
        chunk *c = node->chunks[i];
        for (size_t sector = 0; c != NULL && c->dirty != 0 && sector < SECTORS; sector++) {
            if (((c->dirty >> sector) & 1) && sim_random_chance(random, 50)) {
                memcpy(c->stable + sector * SIM_SECTOR, c->now + sector * SIM_SECTOR, SIM_SECTOR);
            }
        }
        if (c != NULL) {
            c->dirty = 0;
        }
    }
}

/* ---- what happens to the machine ---- */

uint64_t sim_disk_used(const sim_disk *disk)
{
    uint64_t used = 0;
    for (size_t i = 0; i < disk->now.count; i++) {
        used += disk->now.items[i].node->size;
    }
    return used;
}

void sim_disk_drop_locks(sim_disk *disk)
{
    for (sim_node *node = disk->nodes; node != NULL; node = node->next) {
        node->lock_holder = -1;
    }
}

/* Of a dirty sector: the new bytes, the old ones, a torn mix of both, or (rarely) noise. */
static void settle_sector(unsigned char *stable, const unsigned char *now, sim_random *random)
{
    uint64_t dice = sim_random_below(random, 100);
    if (dice < 45) {
        memcpy(stable, now, SIM_SECTOR);
    } else if (dice < 55) {
        memcpy(stable, now, (size_t)sim_random_below(random, SIM_SECTOR));
    } else if (dice < 60) {
        for (size_t i = 0; i < SIM_SECTOR; i++) {
            stable[i] = (unsigned char)sim_random_next(random);
        }
    }
}

static void settle_node(sim_node *node, sim_random *random)
{
    for (size_t i = 0; i < node->chunk_count; i++) {
        chunk *c = node->chunks[i];
        for (size_t sector = 0; c != NULL && sector < SECTORS; sector++) {
            if ((c->dirty >> sector) & 1) {
                settle_sector(c->stable + sector * SIM_SECTOR, c->now + sector * SIM_SECTOR, random);
            }
        }
        if (c != NULL) {
            c->dirty = 0;
            memcpy(c->now, c->stable, SIM_CHUNK);
        }
    }
    if (node->size != node->stable_size) {
        uint64_t low = node->size < node->stable_size ? node->size : node->stable_size;
        uint64_t high = node->size < node->stable_size ? node->stable_size : node->size;
        uint64_t dice = sim_random_below(random, 3);
        node->size = dice == 0 ? low : dice == 1 ? high : low + sim_random_below(random, high - low);
    }
    /* Bytes beyond the end do not come back when the file grows again. */
    uint64_t size = node->size;
    node->size = UINT64_MAX;
    sim_node_resize(node, size);
    sim_node_sync(node);
}

void sim_disk_cut_power(sim_disk *disk, sim_random *random)
{
    sim_disk_drop_locks(disk);
    for (sim_node *node = disk->nodes; node != NULL; node = node->next) {
        settle_node(node, random);
    }
    /* Every folder keeps the first few of its unsynced steps: a journal keeps their order. */
    while (disk->step_count > 0) {
        char folder[PATH_CAP];
        strcpy(folder, disk->steps[0].folder);
        size_t kept = 0;
        bool lost = false;
        for (size_t i = 0; i < disk->step_count; i++) {
            if (strcmp(disk->steps[i].folder, folder) != 0) {
                disk->steps[kept++] = disk->steps[i];
                continue;
            }
            lost = lost || sim_random_chance(random, 40);
            if (!lost) {
                names_apply(&disk->stable, &disk->steps[i]);
            }
        }
        disk->step_count = kept;
    }
    names_drop_orphans(&disk->stable);
    disk->now.count = 0;
    for (size_t i = 0; i < disk->stable.count; i++) {
        names_put(&disk->now, disk->stable.items[i].path, disk->stable.items[i].node);
    }
}

void sim_disk_overwrite(sim_node *node, const void *buf, size_t len, uint64_t offset)
{
    sim_node_write(node, buf, len, offset);
    sim_node_sync(node);
}

void sim_disk_cut_file(sim_node *node, uint64_t size)
{
    sim_node_resize(node, size);
    sim_node_sync(node);
}

sim_disk *sim_disk_new(void)
{
    return must(calloc(1, sizeof(sim_disk)));
}

void sim_disk_free(sim_disk *disk)
{
    if (disk == NULL) {
        return;
    }
    while (disk->nodes != NULL) {
        sim_node *node = disk->nodes;
        disk->nodes = node->next;
        for (size_t i = 0; i < node->chunk_count; i++) {
            free(node->chunks[i]);
        }
        free(node->chunks);
        free(node);
    }
    free(disk->now.items);
    free(disk->stable.items);
    free(disk->steps);
    free(disk);
}
