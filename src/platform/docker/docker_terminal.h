/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_terminal.h - our terminal, lent to a command in a container: raw while it runs, and put right
 * again whatever ends it.
 */
#ifndef SW_PLATFORM_DOCKER_TERMINAL_H
#define SW_PLATFORM_DOCKER_TERMINAL_H

#include <signal.h>
#include <termios.h>

#include "base/error.h"
#include "base/json.h"

struct docker_terminal {
    struct termios before;
    sigset_t mask;
    int signals;                     /* a signalfd; -1: not taken */
    int ended_by;                    /* the signal that wants to end us; 0: none */
};
#define DOCKER_TERMINAL_INIT { .signals = -1 }

bool docker_terminal_here(void);     /* are input and output both one? */
json_t *docker_terminal_env(void);   /* ["TERM=..."]; owned */
int docker_terminal_take(struct docker_terminal *terminal, struct sw_error *err);
void docker_terminal_give_back(struct docker_terminal *terminal);         /* may be NULL */
/* The signal that ended it, passed on to ourselves; only after giving back. */
void docker_terminal_leave(struct docker_terminal *terminal);

bool docker_terminal_size(const struct docker_terminal *terminal, unsigned *rows, unsigned *columns);
int docker_terminal_signals(const struct docker_terminal *terminal);      /* to poll; -1: none */
/* Its descriptor is readable. true: only the window changed; false: we are to end. */
bool docker_terminal_changed(struct docker_terminal *terminal);

#endif
