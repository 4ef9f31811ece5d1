/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_help_agents.c - `slipway help agents`: the page docs/agents.md, put into the program when it is built.
 */
#include "cli/cli.h"

static const char page[] =
#include "cli/agents.md.inc"
    ;

void cli_help_agents(struct sw_buf *out)
{
    sw_buf_add(out, page);
}
