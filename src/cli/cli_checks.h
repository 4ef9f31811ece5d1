/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_checks.h - a list of checks as people read it: what is in order, what is not, what fixes it.
 */
#ifndef SW_CLI_CHECKS_H
#define SW_CLI_CHECKS_H

#include "cli/cli.h"

/* `checks` is an array of {"check","ok","message","fix"}; with -o json or yaml the whole document is
 * printed. The program ends with 1 when something is wrong. */
int cli_checks_show(struct cli *cli, const json_t *checks, const json_t *document,
                    struct sw_error *err);

#endif
