/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_interrupt.h - Ctrl-C, TERM and HUP: noticed by verbs that have words to say first, and still
 * the end of the program.
 *
 * A shell stops its loop only when its command was ended by the signal, not by an exit status of
 * 130. So a verb that notices one says what continues and returns SW_E_INTERRUPTED; main.c then
 * ends the program by that same signal.
 */
#ifndef SW_CLI_INTERRUPT_H
#define SW_CLI_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

/* From now on these signals are counted; a second one ends the program at once: the way out of
 * something that hangs. A signal that was ignored when the program started stays ignored. */
void cli_interrupt_catch(void);
/* Any other handler of such a signal: the same count. Safe inside a signal handler. */
void cli_interrupt_note(int signal_number);
/* Was this signal ignored when the program started? Then no handler is set for it. */
bool cli_interrupt_ignored(int signal_number);
int cli_interrupt_count(void);
void cli_interrupt_forget(void);                  /* those that came were meant for another program */
/* Wait for a count above `seen`; false when the time passed. */
bool cli_interrupt_wait(int seen, int64_t timeout_ms);
/* End by the signal that was counted. Returns when there was none. */
void cli_interrupt_end(void);

#endif
