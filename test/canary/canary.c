/*
 * canary.c - a test program that fails on purpose, in the way its argument names.
 *
 * The runner must see each of these as one failure. With HAPAX_CANARY=healthy it behaves like a good test instead, so
 * that the runner can be seen to tell the two apart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *way; /* of failing */
static bool healthy;

static void fails(void **state)
{
    (void)state;
    if (healthy)
        return;
    if (strcmp(way, "crash") == 0)
        abort();
    if (strcmp(way, "hang") == 0)
        for (;;)
            pause();
    if (strcmp(way, "assert") == 0)
        assert_int_equal(1, 2);
}

int main(int argc, char **argv)
{
    const char *mood = getenv("HAPAX_CANARY");

    if (argc != 2) {
        fprintf(stderr, "usage: canary assert|crash|exit|hang|nothing|count\n");
        return 2;
    }
    way = argv[1];
    healthy = mood != NULL && strcmp(mood, "healthy") == 0;
    if (strcmp(way, "count") == 0) {
        printf("%s\n", healthy ? "1 passed, 0 failed" : "0 passed, 1 failed");
        return 0;
    }
    if (strcmp(way, "nothing") == 0 && !healthy)
        return 0;

    const struct CMUnitTest tests[] = {cmocka_unit_test(fails)};
    int failed = cmocka_run_group_tests_name("canary", tests, NULL, NULL);
    if (strcmp(way, "exit") == 0 && !healthy)
        return 3;
    return failed;
}
