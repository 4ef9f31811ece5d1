/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.c - `slipway schema`: the JSON Schema of job files, for editors.
 */
#include "cli/cli.h"

static int schema_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_auto(json) json_t *schema = cli_document(sw_schema(err), err);

    (void)args;
    return schema ? cli_document_print(cli, schema, err) : -1;
}

const struct command command_schema = {
    .name = "schema",
    .args = "",
    .summary = "print the JSON Schema of job files, for editors",
    .description =
        "Print a schema with which an editor completes and checks job files as you type. It is "
        "generated from the tables that slipway itself checks files with. For a person, 'slipway help "
        "job KEY' is the better answer.",
    .example = "slipway schema > slipway.schema.json",
    .run = schema_run,
};
