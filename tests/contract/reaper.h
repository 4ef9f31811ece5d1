/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reaper.h - a test that is killed cannot tidy up: a process beside it does.
 */
#ifndef SW_TESTS_CONTRACT_WARDEN_H
#define SW_TESTS_CONTRACT_WARDEN_H

#include <sys/types.h>

struct reaper {
    pid_t pid;
    int line;                  /* of a pipe; it hears when the test lets go of it */
};

/* From now on: when this process ends, however it does, the processes that mention `dir` and the folder
 * itself go too. 0, or -1. */
int reaper_start(struct reaper *reaper, const char *dir);

/* The folder was tidied up already. */
void reaper_end(struct reaper *reaper);

#endif
