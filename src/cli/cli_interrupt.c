/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_interrupt.c - counting Ctrl-C.
 *
 * The handler is not restarting (no SA_RESTART), so that a question on the terminal ends when
 * it is answered by Ctrl-C. It is the only state of the command line outside struct cli: a
 * signal handler cannot be given a context.
 */
#include "cli/cli_interrupt.h"

#include <signal.h>
#include <stddef.h>

#include "base/clock.h"

static volatile sig_atomic_t count, attended;

static void note(int signal_number)
{
    count++;
    if (count > 1 && !attended) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
}

void cli_interrupt_catch(void)
{
    struct sigaction action = { .sa_handler = note };

    sigaction(SIGINT, &action, NULL);
}

void cli_interrupt_attend(void)
{
    attended = 1;
}

void cli_interrupt_release(void)
{
    signal(SIGINT, SIG_DFL);
}

int cli_interrupt_count(void)
{
    return count;
}

bool cli_interrupt_wait(int seen, int64_t timeout_ms)
{
    int64_t deadline_ms = sw_monotonic_ms() + timeout_ms;

    while (count <= seen && sw_monotonic_ms() < deadline_ms)
        sw_sleep_ms(20);
    return count > seen;
}
