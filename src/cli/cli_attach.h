/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_attach.h - follow a job to its end: states on stderr, its log on stdout, its exit code as ours.
 */
#ifndef SW_CLI_ATTACH_H
#define SW_CLI_ATTACH_H

#include "cli/cli.h"

/* Follow until the job is over, or until Ctrl-C leaves it alone. Sets cli->exit_status. Without a
 * terminal a line tells every `status_every_ms` how it goes; 0: never. A job that can never be scheduled is
 * canceled, and SW_E_REFUSED says why, unless `wait_for_capacity`. */
int cli_attach(struct cli *cli, const char *id, int64_t status_every_ms, bool wait_for_capacity,
               struct sw_error *err);

/* The job is left alone: a watcher looks after it where that is needed. `id` NULL: after all that need it. */
void cli_attend(struct cli *cli, const char *id);
/* Whether a watcher looks after the jobs that need one; nothing where none does. */
void cli_say_watcher(struct cli *cli);

/* The same for the splits of a group: says how each ended, and shows no log. */
int cli_attach_splits(struct cli *cli, const char *group, const json_t *ids, struct sw_error *err);

/* wait.c: until these are over; each end is said, and the first status that is not 0, in their order, is the
 * program's. timeout_ms < 0: for ever. */
int cli_wait(struct cli *cli, const json_t *ids, int64_t timeout_ms, struct sw_error *err);

#endif
