/* SPDX-License-Identifier: Apache-2.0 */
/*
 * models.c - `slipway models`: what `model:` and `action:` of a job file may say.
 */
#include "base/table.h"
#include "base/text.h"
#include "cli/cli.h"

struct models_options {
    bool automl;
};

static const struct cli_flag models_flags[] = {
    { "automl", 0, NULL, "only models whose training AutoML can search", cli_apply_bool,
      offsetof(struct models_options, automl) },
    { 0 }
};

static const struct sw_column columns[] = {
    { "MODEL" }, { "ARCHITECTURE" }, { "AUTOML" }, { "ACTIONS", .least = 20 },
};

static void print_models(const struct cli *cli, const json_t *models)
{
    sw_auto(sw_table) struct sw_table *table = sw_table_new(columns, SW_COUNT(columns));
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const json_t *each;
    size_t i;

    json_array_foreach(models, i, each) {
        sw_autofree char *actions = sw_json_joined(json_object_get(each, "actions"), ", ");
        const char *problem = sw_json_str(each, "problem"), *arch = sw_json_str(each, "network_arch");

        sw_table_cell(table, sw_json_str(each, "name"), NULL);
        sw_table_cell(table, arch ? arch : "-", NULL);
        sw_table_cell(table, sw_json_bool(each, "automl", false) ? "yes" : "no", NULL);
        sw_table_cell(table, problem ? problem : actions, problem ? "33" : NULL);
    }
    sw_table_write(table, cli->screen.width, cli->screen.out_color, &out);
    cli_print(sw_buf_text(&out));
}

static int models_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct models_options *options = args->options;
    sw_auto(json) json_t *found = NULL;
    const json_t *models;

    if (!cli_session(cli, err))
        return -1;
    found = cli_document(sw_models(cli->session, options->automl, err), err);
    if (!found)
        return -1;
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, found, err);
    models = json_object_get(found, "models");
    print_models(cli, models);
    cli_say(cli, "%zu model%s in %s", json_array_size(models),
            sw_text_plural((double)json_array_size(models)),
            sw_json_str(found, "bank"));
    return 0;
}

const struct command command_models = {
    .name = "models",
    .args = "",
    .summary = "list the models of a skill bank and their actions",
    .description =
        "List what `model` and `action` of a job file may say: the models of the skill bank that "
        "TAO_SKILL_BANK_PATH names (~/tao-skills-external without it), their actions, and whether AutoML can "
        "search their training (automl_enabled, and a train schema that can be read; -o json says why not).",
    .example = "slipway models\nslipway models --automl -o json",
    .flags = models_flags,
    .shared = { cli_output_document },
    .options_size = sizeof(struct models_options),
    .run = models_run,
};
