/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - asks a program of this machine: no input, its output bounded in size and time.
 *
 * Standard input is /dev/null, and the program has a session of its own, so it finds no terminal to ask
 * questions on. No shell is involved.
 */
#ifndef SW_PLATFORM_KIT_PROGRAM_H
#define SW_PLATFORM_KIT_PROGRAM_H

#include "base/buf.h"
#include "base/error.h"

struct sw_program_call {                      /* all borrowed */
    const char *const *argv;             /* NULL-ended; without a slash the first is looked for in PATH */
    char *const *added;                  /* "NAME=value", before this process's own; NULL-ended, or NULL */
    size_t output_max;
    int64_t patience_ms;
};

struct sw_program_reply {
    struct sw_buf output;                /* allocated once: growing leaves no copy of a secret behind */
    struct sw_buf complaint;             /* of its standard error the first 4 KiB */
    int exit_code;                       /* 128 + signal when one ended it */
};
void sw_program_reply_done(struct sw_program_reply *reply);     /* both are overwritten */
static inline void sw_program_reply_auto(struct sw_program_reply *reply) { sw_program_reply_done(reply); }

/* 0: it ran to its end, whatever exit_code says. -1: SW_E_UNSUPPORTED (it cannot be started), SW_E_TIMEOUT,
 * SW_E_REFUSED (it printed too much), SW_E_IO; it and all that it started are ended then. A process that it
 * leaves behind with its output open is not waited for. `reply` starts as { 0 }. */
int sw_program_run(const struct sw_program_call *program, struct sw_program_reply *reply,
                   struct sw_error *err);

/* The end of its complaint, at most 300 bytes, harmless on a terminal; owned; "": it said nothing. */
char *sw_program_words(const struct sw_program_reply *reply);

#endif
