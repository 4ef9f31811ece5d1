/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c - `slipway check URI...`: is it there, and may we read it?
 */
#include <stdio.h>

#include "base/units.h"
#include "cli/cli.h"

static int check_one(struct cli *cli, const char *uri, struct sw_error *err)
{
    sw_auto(json) json_t *found = cli_document(sw_check_uri(NULL, uri, err), err);
    char size[32] = "";

    if (!found)
        return sw_wrap(err, "cannot look at '%s'", uri);
    if (cli->format != CLI_TABLE && cli_document_print(cli, found, err) < 0)
        return -1;
    if (!sw_json_bool(found, "exists", false))
        return sw_fail(err, SW_E_NOT_FOUND, "there is nothing at '%s'", uri);
    if (cli->format != CLI_TABLE)
        return 0;
    if (json_is_integer(json_object_get(found, "size")))
        sw_size_format(sw_json_int(found, "size", 0), size);
    printf("%s\t%s%s%s\n", uri, sw_json_str(found, "kind"), *size ? "\t" : "", size);
    return 0;
}

static int check_run(struct cli *cli, const void *options, const struct cli_args *args,
                     struct sw_error *err)
{
    (void)options;
    for (size_t i = 0; i < args->word_count; i++)
        if (check_one(cli, args->words[i], err) < 0)
            return -1;
    return 0;
}

const struct command command_check = {
    .name = "check",
    .args = "URI...",
    .summary = "see whether data is there and can be read",
    .description = "You get the kind and size of each URI, and exit status 0 when all are there. "
                   "66 means that one is not, 77 that a credential is missing or refused (the "
                   "message names the variable), 69 that a server does not answer. Nothing is "
                   "copied.",
    .example = "slipway check s3://bucket/coco/ hf_model://org/name",
    .shared = { cli_output_document },
    .min_args = 1,
    .max_args = CLI_MANY,
    .run = check_run,
};
