/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_follow.h - a log being followed: its bytes on stdout, states and progress on stderr.
 */
#ifndef SW_CLI_FOLLOW_H
#define SW_CLI_FOLLOW_H

#include "cli/cli.h"
#include "cli/cli_log.h"

struct cli_follow {
    struct cli *cli;
    const char *id;
    struct cli_log log;
    struct cli_status_lines live;               /* the status line, on a terminal */
    int64_t begun_ms, next_look_ms, next_read_ms, last_read_ms;       /* monotonic */
    int64_t every_ms, next_words_ms;    /* a line of words instead, when there is no terminal */
    char *printed;                         /* the last line, so that nothing is printed twice */
    bool tells_start;                   /* print "running" also when it did not wait */
    bool silent;                        /* a log that is only read: nothing but its bytes */
    bool log_begun;
    bool gives_up;                      /* stop when the job can never be scheduled */
    int64_t next_stuck_ms, stuck_ms;    /* when to ask for that; since when it is so, 0: it is not */
    bool stuck;                         /* and it was said long enough */
};

/* How often a line is printed without a terminal; --status-every. */
#define CLI_STATUS_EVERY_MS 300000
#define CLI_STATUS_EVERY_HELP \
    "when stdout is not a terminal, report progress this often (default: 5m; 0: never)"

/* `rank` as in cli_log_init(). `every_ms` 0: never say anything regularly. */
void cli_follow_init(struct cli_follow *follow, struct cli *cli, const char *id, int rank,
                     int64_t every_ms);
/* Callbacks for sw_logs() and sw_wait(): the context is a struct cli_follow. They stop when
 * Ctrl-C was counted, and when the job is stuck and `gives_up` is set. */
sw_log_fn cli_follow_bytes;
int cli_follow_idle(void *follow);
void cli_follow_attempt(void *follow, int attempt);
/* The log is over: what was held back is written, the status line goes. May be called twice. */
void cli_follow_end(struct cli_follow *follow);
void cli_follow_done(struct cli_follow *follow);

#endif
