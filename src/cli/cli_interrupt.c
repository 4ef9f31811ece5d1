/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_interrupt.c - counting the signals that ask the program to end.
 *
 * The handler is not restarting (no SA_RESTART), so that a question on the terminal ends when
 * it is answered by Ctrl-C. It is the only state of the command line outside struct cli: a
 * signal handler cannot be given a context.
 */
#include "cli/cli_interrupt.h"

#include <signal.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/text.h"

static const int caught[] = { SIGINT, SIGTERM, SIGHUP };

static volatile sig_atomic_t count, first;

static void end_by(int signal_number)
{
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

void cli_interrupt_note(int signal_number)
{
    count++;
    if (count > 1)
        end_by(signal_number);
    else
        first = signal_number;
}

bool cli_interrupt_ignored(int signal_number)
{
    struct sigaction now;

    return sigaction(signal_number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

void cli_interrupt_catch(void)
{
    struct sigaction action = { .sa_handler = cli_interrupt_note };

    for (size_t i = 0; i < SW_COUNT(caught); i++)
        if (!cli_interrupt_ignored(caught[i]))
            sigaction(caught[i], &action, NULL);
}

int cli_interrupt_count(void)
{
    return count;
}

void cli_interrupt_forget(void)
{
    count = first = 0;
}

bool cli_interrupt_wait(int seen, int64_t timeout_ms)
{
    int64_t deadline_ms = sw_monotonic_ms() + timeout_ms;

    while (count <= seen && sw_monotonic_ms() < deadline_ms)
        sw_sleep_ms(20);
    return count > seen;
}

void cli_interrupt_end(void)
{
    if (first)
        end_by(first);
}
