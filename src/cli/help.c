/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.c - `slipway help [COMMAND|TOPIC|agents|job [KEY]]`, and --json for the tools that make the manual.
 */
#include <string.h>

#include "cli/cli.h"

struct help_options {
    bool json;
};

static const struct cli_flag help_flags[] = {
    { "json", 0, NULL, NULL, cli_apply_bool, offsetof(struct help_options, json) },
    { 0 }
};

static int help_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct help_options *options = args->options;
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    (void)cli;
    if (options->json) {
        sw_auto(json) json_t *tables = cli_help_json();
        sw_autofree char *text = sw_json_dump_pretty(tables);

        sw_buf_add(&out, text);
    } else if (args->word_count == 0) {
        cli_help_overview(&out);
    } else if (strcmp(args->words[0], "job") == 0) {
        if (cli_help_job(args->word_count > 1 ? args->words[1] : NULL, &out, err) < 0)
            return -1;
    } else if (args->word_count == 1 && strcmp(args->words[0], "agents") == 0) {
        cli_help_agents(&out);
    } else if (args->word_count > 1) {
        return sw_fail(err, SW_E_USAGE, "unexpected argument '%s'", args->words[1]);
    } else if (cli_help_topic(args->words[0], &out, err) < 0) {
        return -1;
    }
    cli_print(sw_buf_text(&out));
    return 0;
}

const struct command command_help = {
    .name = "help",
    .args = "[COMMAND|TOPIC|job [KEY]]",
    .summary = "explain a command or a topic",
    .description =
        "Explain what a command does, with an example and its flags; show a page about exit-codes, "
        "selectors, columns, config or environment, or agents, the page for programs that drive slipway; or, "
        "with job, list the keys of a job file or explain one of them.",
    .example = "slipway help run\nslipway help agents\nslipway help exit-codes\nslipway help job gpus",
    .flags = help_flags,
    .options_size = sizeof(struct help_options),
    .max_args = 2,
    .without_defaults = true,
    .run = help_run,
};
