/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.c - `slipway schema`: the JSON Schema of job files, for editors, and of what `-o json` prints.
 */
#include "cli/cli.h"

struct schema_options {
    const char *output;
};

static const struct cli_flag schema_flags[] = {
    { "output", 0, "VERB", "the schema of what VERB prints with -o json; 'error': of errors", cli_apply_text,
      offsetof(struct schema_options, output) },
    { 0 }
};

static int schema_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct schema_options *options = args->options;
    sw_auto(json) json_t *schema =
        cli_document(options->output ? sw_output_schema(options->output, err) : sw_schema(err), err);

    return schema ? cli_document_print(cli, schema, err) : -1;
}

const struct command command_schema = {
    .name = "schema",
    .args = "",
    .summary = "print the JSON Schema of job files, or of a command's JSON",
    .description =
        "Print a schema with which an editor completes and checks job files as you type. It is "
        "generated from the tables that slipway itself checks files with. For a person, 'slipway help "
        "job KEY' is the better answer. With --output, print the schema of what another command prints "
        "with -o json; where \"x-lines\" is true, of each line.",
    .example = "slipway schema > slipway.schema.json\nslipway schema --output status",
    .flags = schema_flags,
    .options_size = sizeof(struct schema_options),
    .without_defaults = true,
    .run = schema_run,
};
