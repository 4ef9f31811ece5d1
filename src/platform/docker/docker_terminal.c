/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_terminal.c - see docker_terminal.h.
 *
 * Signals come by a descriptor, beside the bytes: one that would end us must not leave a terminal
 * behind on which nobody sees what they type.
 */
#include "platform/docker/docker_terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"

static const int heard[] = { SIGWINCH, SIGTERM, SIGHUP, SIGINT, SIGQUIT };

bool docker_terminal_here(void)
{
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

json_t *docker_terminal_env(void)
{
    const char *kind = getenv("TERM");
    json_t *env = json_array();
    sw_autofree char *line = sw_format("TERM=%s", sw_text_empty(kind) ? "dumb" : kind);

    json_array_append_new(env, sw_json_text(line));
    return env;
}

int docker_terminal_take(struct docker_terminal *terminal, struct sw_error *err)
{
    struct termios raw;
    sigset_t wanted;

    sigemptyset(&wanted);
    for (size_t i = 0; i < SW_COUNT(heard); i++)
        sigaddset(&wanted, heard[i]);
    terminal->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    if (terminal->signals < 0 || tcgetattr(STDIN_FILENO, &terminal->before) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot use this terminal");
    sigprocmask(SIG_BLOCK, &wanted, &terminal->mask);
    raw = terminal->before;
    cfmakeraw(&raw);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    return 0;
}

void docker_terminal_give_back(struct docker_terminal *terminal)
{
    if (!terminal || terminal->signals < 0)
        return;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->before);
    sigprocmask(SIG_SETMASK, &terminal->mask, NULL);
    close(terminal->signals);
    terminal->signals = -1;
}

void docker_terminal_leave(struct docker_terminal *terminal)
{
    docker_terminal_give_back(terminal);
    if (terminal->ended_by)
        raise(terminal->ended_by);
}

bool docker_terminal_size(const struct docker_terminal *terminal, unsigned *rows, unsigned *columns)
{
    struct winsize size;

    (void)terminal;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
        return false;
    *rows = size.ws_row;
    *columns = size.ws_col;
    return true;
}

int docker_terminal_signals(const struct docker_terminal *terminal)
{
    return terminal ? terminal->signals : -1;
}

bool docker_terminal_changed(struct docker_terminal *terminal)
{
    struct signalfd_siginfo info;

    while (read(terminal->signals, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGWINCH)
            terminal->ended_by = (int)info.ssi_signo;
    return terminal->ended_by == 0;
}
