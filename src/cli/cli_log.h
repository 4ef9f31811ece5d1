/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_log.h - where the bytes of a job's log go: exact into a pipe, harmless on a terminal.
 */
#ifndef SW_CLI_LOG_H
#define SW_CLI_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cli.h"

struct cli_log {
    bool terminal;         /* control sequences are shown instead of obeyed */
    bool prefix;           /* several ranks: each line says whose it is */
    bool timestamps;       /* each line says when it was written */
    bool mid_line;         /* the last byte written was not a line end */
    int last_rank;
    char held[4];          /* the beginning of a character whose end is still to come */
    size_t held_length;
    int error;             /* errno of the write that failed; 0: none */
};

/* `rank` -1: all; a prefix is used when the job has more than one. */
void cli_log_init(struct cli_log *log, struct cli *cli, const char *id, int rank);
/* A piece of log to stdout. Non-zero: it cannot be written, see `error`. */
int cli_log_write(struct cli_log *log, int rank, int64_t at_ms, const char *bytes,
                  size_t length);
/* What was held back; on a terminal the line is ended too. */
void cli_log_end(struct cli_log *log);
/* After a failed write: quiet 141 when the reader went away, else an error. */
int cli_log_failed(const struct cli_log *log, struct cli *cli, struct sw_error *err);

#endif
