/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp_job.h - the places of `slipway cp` that are in a running job: JOB:PATH.
 */
#ifndef SW_CLI_CP_JOB_H
#define SW_CLI_CP_JOB_H

#include "cli/cli.h"

/* "JOB:PATH"; a local path with a colon begins with "./" or "/". Pure. */
bool cli_cp_is_job(const char *word);
/* Copies one word to the other, of which one is in a job. NULL + err, else the report. */
json_t *cli_cp_job(struct cli *cli, const char *from, const char *to, int rank, struct sw_error *err);

#endif
