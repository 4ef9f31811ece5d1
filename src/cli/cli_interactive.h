/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_interactive.h - `slipway run -i`: a job whose command is a program on this terminal.
 */
#ifndef SW_CLI_INTERACTIVE_H
#define SW_CLI_INTERACTIVE_H

#include "cli/cli.h"

/* The request becomes one for a job that waits for its terminal. Fails where there is none. */
int cli_interactive_prepare(struct cli *cli, struct sw_request *request, struct sw_error *err);
/* Wait for the job to start, run the command of `args` (none: a shell) on the terminal, and end with the
 * job. What ends this program earlier cancels the job. */
int cli_interactive_attach(struct cli *cli, const char *id, const struct cli_args *args,
                           struct sw_error *err);

#endif
