/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenes.c - `scenes SLIPWAY [THREAD]`: play the scenes, then print the list of the forty threads
 * with what became of each.
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

static void print_list(int only)
{
    printf("\nThe forty threads:\n");
    for (size_t i = 0; i < SW_COUNT(acts); i++)
        for (const struct scene *scene = acts[i]; scene->claim; scene++)
            if (!only || only == scene->thread)
                printf("%2d  %-36s %-76s %s\n", scene->thread, scene->issue, scene->claim,
                       scene->prove ? scene->passed ? "PASS" : "FAIL" : scene->instead);
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[MOST_SCENES];
    int only = argc > 2 ? atoi(argv[2]) : 0;
    size_t count = 0;
    int failed;

    if (argc < 2) {
        fprintf(stderr, "usage: scenes SLIPWAY [THREAD]\n");
        return 64;
    }
    slipway_program = realpath(argv[1], NULL);      /* scenes change the folder */
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < SW_COUNT(acts); i++)
        for (struct scene *scene = acts[i]; scene->claim && count < MOST_SCENES; scene++)
            if (scene->prove && (!only || only == scene->thread))
                tests[count++] = (struct CMUnitTest){
                    .name = scene->claim, .test_func = play, .setup_func = begin,
                    .teardown_func = end, .initial_state = scene,
                };
    failed = _cmocka_run_group_tests("the forty threads", tests, count, NULL, NULL);
    print_list(only);
    return failed;
}
