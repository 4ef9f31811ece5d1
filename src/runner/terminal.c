/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.c - the command has the terminal while it runs, as if we were not there.
 *
 * The command is a process group of its own, and the kernel stops a process that reads from a terminal
 * without being its foreground group. So the terminal is handed over and taken back; Ctrl-C and the
 * size of the window then reach the command directly. When Ctrl-Z stops it, we stop, too, so that
 * the shell that called us gets its turn; as the first process of a container, which cannot stop,
 * we let it go on.
 *
 * One process has one terminal: its descriptor is kept here.
 */
#include "runner/runner.h"

#include <signal.h>
#include <unistd.h>

static int terminal = -1;             /* of which we are the foreground group; -1: none */

void runner_terminal_find(void)
{
    terminal = -1;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && terminal < 0; fd++)
        if (tcgetpgrp(fd) == getpgrp())
            terminal = fd;
}

/* A process that is not in front may do this only while TTOU is ignored. */
void runner_terminal_hand_to(pid_t group)
{
    void (*before)(int);

    if (terminal < 0)
        return;
    before = signal(SIGTTOU, SIG_IGN);
    tcsetpgrp(terminal, group);
    signal(SIGTTOU, before);
}

void runner_terminal_stopped(pid_t group, int by)
{
    if (terminal < 0 || by == SIGSTOP)
        return;                       /* that stop was meant for the command alone */
    if (getpid() != 1)
        kill(getpid(), SIGSTOP);      /* and here we go on when the shell says so */
    if (getpid() == 1 || tcgetpgrp(terminal) == getpgrp())
        runner_terminal_hand_to(group);
    kill(-group, SIGCONT);
}
