/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_copying.h - a bar with rate and time left, on a terminal only; Ctrl-C cancels the copy.
 */
#ifndef SW_CLI_COPYING_H
#define SW_CLI_COPYING_H

#include "cli/cli.h"

/* For sw_copy(): context is a struct cli. */
int cli_copying(void *context, const struct sw_progress *progress);
/* Take the bar away again. */
void cli_copying_end(const struct cli *cli);

/* The line itself, pure; for tests. */
void cli_copying_line(const struct sw_progress *progress, size_t width, struct sw_buf *out);

#endif
