/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_log.h - where the bytes of a job's log go: exact into a pipe, harmless on a terminal.
 */
#ifndef SW_CLI_LOG_H
#define SW_CLI_LOG_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cli.h"
#include "cli/cli_clean.h"
#include "cli/cli_last_lines.h"

struct cli_log {
    bool terminal;         /* control sequences are not obeyed */
    bool prefix;           /* several ranks: each line says whose it is */
    bool timestamps;       /* each line says when it was written */
    bool json;             /* each line is an object */
    const char *id;
    const char *front;     /* several jobs: begins each line, as it is; NULL: one job alone */
    const regex_t *grep;   /* only lines that match; NULL: all */
    struct cli_last_lines last;    /* not more than the last of them, until cli_log_catch_up() */
    bool mid_line;         /* the last byte written was not a line end */
    int last_rank;
    struct cli_clean clean;
    int error;             /* errno of the write that failed; 0: none */
};

/* `rank` -1: all; a prefix is used when the job has more than one. */
void cli_log_init(struct cli_log *log, struct cli *cli, const char *id, int rank);
/* Does it need whole lines (sw_log_options)? `front`, `grep`, `json` and `last` do. */
bool cli_log_wants_lines(const struct cli_log *log);
/* A piece of log to stdout. Non-zero: it cannot be written, see `error`. */
int cli_log_write(struct cli_log *log, int rank, int64_t at_ms, const char *bytes,
                  size_t length);
/* What there was is read: write the last lines of it, and from now on every line. */
int cli_log_catch_up(struct cli_log *log);
/* Another log is written now: a line that has no end gets one. */
int cli_log_break(struct cli_log *log);
/* What was held back; on a terminal the line is ended too. */
void cli_log_end(struct cli_log *log);
/* After a failed write: quiet 141 when the reader went away, else an error. */
int cli_log_failed(const struct cli_log *log, struct cli *cli, struct sw_error *err);

#endif
