/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.c - `slipway image resolve`: the image that a model's action runs in.
 */
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

struct image_options {
    const char *model, *action;
};

static const struct cli_flag image_flags[] = {
    { "model", 0, "MODEL", "model of the skill bank, by any of its names", cli_apply_text,
      offsetof(struct image_options, model) },
    { "action", 0, "ACTION", "what to do with it: train, evaluate, ...", cli_apply_text,
      offsetof(struct image_options, action) },
    { 0 }
};

static int image_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct image_options *options = args->options;
    sw_auto(json) json_t *found = NULL;

    if (strcmp(args->words[0], "resolve") != 0)
        return sw_fail(err, SW_E_USAGE, "image knows 'resolve', not '%s'", args->words[0]);
    if (sw_text_empty(options->model) || sw_text_empty(options->action)) {
        sw_fail(err, SW_E_USAGE, "--model and --action are needed");
        return sw_hint(err, "`slipway models` lists both");
    }
    if (!cli_session(cli, err))
        return -1;
    found = cli_document(sw_image_resolve(cli->session, options->model, options->action, err), err);
    if (!found)
        return -1;
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, found, err);
    cli_printf("%s\n", sw_json_str(found, "image"));
    cli_say(cli, "from %s", sw_json_str(found, "from"));
    return 0;
}

const struct command command_image = {
    .name = "image",
    .args = "resolve --model MODEL --action ACTION",
    .summary = "show which image a model's action runs in",
    .description =
        "Print the image that a skill bank names for this action, or for the model where the action has "
        "none. A "
        "key such as tao_toolkit.pyt is looked up in versions.yaml: TAO_VERSIONS_FILE, else the skill "
        "bank's. A job "
        "file with the same `model` and `action` runs in this image unless it names another, or the folder "
        "that "
        "it is submitted from has a versions.yaml of its own.",
    .example = "slipway image resolve --model dino --action train",
    .flags = image_flags,
    .shared = { cli_output_document },
    .options_size = sizeof(struct image_options),
    .min_args = 1,
    .max_args = 1,
    .run = image_run,
};
