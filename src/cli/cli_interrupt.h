/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_interrupt.h - Ctrl-C as a question the program may ask, instead of its end.
 */
#ifndef SW_CLI_INTERRUPT_H
#define SW_CLI_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

/* From now on Ctrl-C is counted. Until cli_interrupt_attend() a second one still ends us: the
 * way out of something that hangs. */
void cli_interrupt_catch(void);
/* Somebody asks often enough now: no Ctrl-C ends the program any more. */
void cli_interrupt_attend(void);
/* Ctrl-C ends the program again. */
void cli_interrupt_release(void);
int cli_interrupt_count(void);
/* Wait for a count above `seen`; false when the time passed. */
bool cli_interrupt_wait(int seen, int64_t timeout_ms);

#endif
