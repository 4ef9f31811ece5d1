/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell.h - shell texts run for real: a folder of the test's own, stand-ins on the PATH, shells that
 * end before a deadline or are ended.
 */
#ifndef TEST_SLURM_SHELL_H
#define TEST_SLURM_SHELL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"

struct stage {
    char folder[64];          /* removed at the end, with all in it */
    pid_t started[32];        /* ended at the end, with their children */
    size_t count;
};

int stage_set(void **state);
int stage_clear(void **state);

char *stage_path(const struct stage *stage, const char *name);        /* owned */
void stage_write(const struct stage *stage, const char *name, const char *text);
char *stage_read(const struct stage *stage, const char *name);        /* owned; "" when missing */
/* An executable bin/NAME that is found before all others. */
void stage_program(const struct stage *stage, const char *name, const char *text);
size_t stage_lines(const struct stage *stage, const char *name);

/* Run a text with bash or dash; stdout and stderr go to NAME.out and NAME.err. */
pid_t stage_start(struct stage *stage, const char *shell, const char *name, const char *text);
int stage_wait(struct stage *stage, pid_t pid);       /* exit code, 128+n; fails after a minute */
int stage_run(struct stage *stage, const char *shell, const char *name, const char *text);
void stage_kill(struct stage *stage, pid_t pid);      /* KILL, the whole group */
void stage_until(const struct stage *stage, const char *name);        /* a file is there */

extern const char *const stage_shells[2];
void expect_golden(const char *name, const char *text);

#endif
