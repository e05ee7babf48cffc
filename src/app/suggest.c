/*
 * suggest.c - the nearest known name to a misspelt one.
 *
 * The distance is the number of letters added, left out, exchanged or swapped with a neighbour (optimal string
 * alignment). A name is near enough when at most a third of the letters are wrong, or when it begins with what was
 * typed (at least two letters). Only names up to NAME_CAP letters are compared, so the table has a fixed size.
 */
#include "app/suggest.h"

#include <stdbool.h>
#include <string.h>

#define NAME_CAP 48

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][NAME_CAP + 1];
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *now = rows[i % 3];
        const size_t *before = rows[(i + 2) % 3];
        const size_t *second = rows[(i + 1) % 3]; /* two rows up, for swapped neighbours */
        now[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
            now[j] = least(least(before[j] + 1, now[j - 1] + 1), before[j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], second[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

int hx_suggest_nearest(const char *text, size_t len, const char *const *names, size_t count)
{
    int best = -1;
    size_t best_distance = NAME_CAP;
    if (len == 0 || len > NAME_CAP)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (names[i] == NULL)
            continue;
        size_t name_len = strlen(names[i]);
        if (name_len > NAME_CAP)
            continue;
        size_t d = distance(text, len, names[i], name_len);
        bool begins = len >= 2 && name_len > len && memcmp(names[i], text, len) == 0;
        if (d > (name_len > len ? name_len : len) / 3 + 1 && !begins)
            continue;
        if (d >= len && !begins)
            continue; /* nothing of what was typed is left */
        if (begins)
            d = 1;
        if (d < best_distance) {
            best = (int)i;
            best_distance = d;
        }
    }
    return best;
}
