/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenes.c - `scenes SLIPWAY [CLAIM]`: play the scenes, then print the list of them with the result of each.
 */
#include "scenes.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct scene *const acts[] = {
    scenes_status, scenes_truth, scenes_logs, scenes_keeping, scenes_watching, scenes_opaque,
};

enum { MOST_SCENES = 100 };

static struct scene *current;

static int begin(void **state)
{
    current = *state;
    return stage_begin(current->fixture, state);
}

/* A failed assertion jumps over the last line. */
static void play(void **state)
{
    current->prove(state);
    current->passed = true;
}

static int end(void **state)
{
    int result = stage_end(state);

    current->passed = current->passed && result == 0;
    return result;
}

static bool is_wanted(const struct scene *scene, const char *only)
{
    return !only || strcmp(only, scene->claim) == 0;
}

static void print_list(const char *only)
{
    printf("\nWhat people suffered from elsewhere:\n");
    for (size_t i = 0; i < SW_COUNT(acts); i++)
        for (const struct scene *scene = acts[i]; scene->claim; scene++)
            if (is_wanted(scene, only))
                printf("%-36s %-76s %s\n", scene->issue, scene->claim,
                       scene->prove ? scene->passed ? "PASS" : "FAIL" : scene->instead);
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[MOST_SCENES];
    const char *only = argc > 2 ? argv[2] : NULL;
    size_t count = 0;
    int failed;

    if (argc < 2) {
        fprintf(stderr, "usage: scenes SLIPWAY [CLAIM]\n");
        return 64;
    }
    slipway_program = realpath(argv[1], NULL);      /* scenes change the folder */
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < SW_COUNT(acts); i++)
        for (struct scene *scene = acts[i]; scene->claim && count < MOST_SCENES; scene++)
            if (scene->prove && is_wanted(scene, only))
                tests[count++] = (struct CMUnitTest){
                    .name = scene->claim, .test_func = play, .setup_func = begin,
                    .teardown_func = end, .initial_state = scene,
                };
    failed = _cmocka_run_group_tests("scenes", tests, count, NULL, NULL);
    print_list(only);
    return failed;
}
