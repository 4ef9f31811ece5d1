/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_transfer.h - a bar with rate and time left, on a terminal only; Ctrl-C cancels the copy.
 */
#ifndef SW_CLI_TRANSFER_H
#define SW_CLI_TRANSFER_H

#include "cli/cli.h"

/* For sw_copy(): context is a struct cli. */
int cli_transfer(void *context, const struct sw_copy_progress *progress);
/* Take the bar away again. */
void cli_transfer_end(const struct cli *cli);
/* A warning for each name that a copy left out. */
void cli_say_left_out(const struct cli *cli, const json_t *report);

/* The same for what travels before a job starts: `what` is "pulling NAME", its parts are layers. */
int cli_transfer_named(const struct cli *cli, const char *what,
                       const struct sw_copy_progress *progress);

/* The lines themselves, pure; for tests. */
void cli_transfer_line(const struct sw_copy_progress *progress, size_t width, struct sw_buf *out);
void cli_transfer_named_line(const char *what, const struct sw_copy_progress *progress,
                             size_t width, struct sw_buf *out);

#endif
