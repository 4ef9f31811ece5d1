/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_run.h - submit a request and follow it, for `run` and `rerun`.
 */
#ifndef SW_CLI_RUN_H
#define SW_CLI_RUN_H

#include "cli/cli.h"

struct cli_run_options {
    bool detach;
    bool interactive;
    bool dry_run;
    bool wait_for_capacity;
    int64_t status_every_ms;
};
extern const struct cli_flag cli_run_flags[];

/* To its end, or as the flags say. The exit code is the job's. */
int cli_run_request(struct cli *cli, const struct cli_args *args, struct sw_request *request,
                    struct sw_error *err);

#endif
