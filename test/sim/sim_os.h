/*
 * sim_os.h - a machine in memory behind the table of src/os/os.h: a disk that can fail, clocks turned by hand.
 *
 *     sim_os *sim = sim_os_new(seed);
 *     ... hx_store_open_os(sim_os_table(sim), &options, &store, &err) ...
 *     sim_os_turn(sim, 5000);                            five seconds later
 *     sim_os_fail(sim, SIM_SYNC, 3, EIO, true);          the third sync from now on fails, and all after it
 *     sim_os_cut_power(sim);                             what was not synced is gone, or not, or torn
 *
 * One seed gives one run: entropy and the dice of a power cut come from it. Every function may be called from any
 * thread. What the disk does is in sim_disk.h.
 */
#ifndef SIM_OS_H
#define SIM_OS_H

#include "os/os.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sim_os sim_os;

/* The calls that can be made to fail, and are counted. */
typedef enum sim_call {
    SIM_OPEN,
    SIM_CLOSE,
    SIM_READ,
    SIM_WRITE,
    SIM_SYNC,
    SIM_GROW,
    SIM_TRUNCATE,
    SIM_LOCK,
    SIM_RENAME,
    SIM_UNLINK,
    SIM_MKDIR,
    SIM_SYNC_DIR,
    SIM_LIST,
    SIM_ENTROPY,
    SIM_CALL_COUNT
} sim_call;

sim_os *sim_os_new(uint64_t seed);
void sim_os_free(sim_os *sim);
const hx_os *sim_os_table(sim_os *sim);

/* Clocks. They start at a monotonic 1,000,000 ms and on 2026-01-01 and stand still until they are turned. */
void sim_os_turn(sim_os *sim, int64_t ms);          /* both clocks forward */
void sim_os_step_wall(sim_os *sim, int64_t ms);     /* the wall clock alone, either way */
void sim_os_set_monotonic(sim_os *sim, int64_t ms); /* another boot: any number */
int64_t sim_os_monotonic(sim_os *sim);
int64_t sim_os_wall(sim_os *sim);

/* From now on the nth call of a kind (1 = the next) fails with -error; for_ever: all after it too. One plan a kind.
 */
void sim_os_fail(sim_os *sim, sim_call call, uint64_t nth, int error, bool for_ever);
/* No call fails any more. */
void sim_os_heal(sim_os *sim);
/* Calls of a kind wait from now on until they may go on; how many wait. For tests with threads. */
void sim_os_block(sim_os *sim, sim_call call);
void sim_os_unblock(sim_os *sim, sim_call call);
unsigned sim_os_waiting(sim_os *sim, sim_call call);
/* Calls of a kind so far. */
uint64_t sim_os_calls(sim_os *sim, sim_call call);
/* Writes and grows beyond this many bytes in all files together are -ENOSPC. UINT64_MAX: no limit (the start). */
void sim_os_limit_space(sim_os *sim, uint64_t bytes);
uint64_t sim_os_used(sim_os *sim);
/* What the durability call says. */
void sim_os_set_durable(sim_os *sim, bool durable);

/* The process dies: handles and locks are gone, all that was written is there. Old handles are -EBADF from then on.
 */
void sim_os_crash(sim_os *sim);
/* The power fails: as above, and of what was not synced some is there, some not, some torn. */
void sim_os_cut_power(sim_os *sim);

/* Looking at files from outside and damaging them; 0 or a negative errno. A size is < 0 where there is no file. */
int64_t sim_os_file_size(sim_os *sim, const char *path);
int64_t sim_os_file_read(sim_os *sim, const char *path, void *buf, size_t len, uint64_t offset);
int sim_os_file_overwrite(sim_os *sim, const char *path, const void *buf, size_t len, uint64_t offset);
int sim_os_file_cut(sim_os *sim, const char *path, uint64_t size);

#endif
