/*
 * random.h - small seeded generator for tests: the same seed gives the same run on every machine.
 *
 * splitmix64: one 64-bit state, one addition and three mixing steps a number. Not for anything secret.
 */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_random {
    uint64_t state;
} sim_random;

static inline uint64_t sim_random_next(sim_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/* 0 <= result < bound; bound 0 gives 0. The bias of the remainder does not matter here. */
static inline uint64_t sim_random_below(sim_random *random, uint64_t bound)
{
    return bound == 0 ? 0 : sim_random_next(random) % bound;
}

/* True in percent of a hundred cases. */
static inline bool sim_random_chance(sim_random *random, unsigned percent)
{
    return sim_random_below(random, 100) < percent;
}

#endif
