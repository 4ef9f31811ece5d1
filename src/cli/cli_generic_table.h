/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_generic_table.h - documents whose keys are not known beforehand, as people read them.
 */
#ifndef SW_CLI_GENERIC_TABLE_H
#define SW_CLI_GENERIC_TABLE_H

#include "cli/cli.h"

/* "gpus_free" -> "gpus free"; of "memory_bytes" and "started_at" the ending goes, since the value
 * shows it. Owned. */
char *cli_generic_title(const char *key);
/* A value in a few words: "yes", "23.5 GiB", "a, b". Owned. */
char *cli_generic_value(const char *key, const json_t *value);

bool cli_is_list_of_objects(const json_t *value);          /* an array of objects */
/* A table of such a list, as wide as the terminal allows. */
void cli_generic_table(struct sw_buf *out, const struct cli *cli, const json_t *things);

#endif
