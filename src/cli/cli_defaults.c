/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_defaults.c - the user's defaults (config.toml, SLIPWAY_... variables) for what the program prints.
 */
#include "cli/cli.h"
#include "cli/cli_zone.h"
#include "cli/ps_columns.h"

int cli_defaults_read(struct cli *cli, struct sw_error *err)
{
    sw_auto(json) json_t *document = cli_document(sw_user_defaults(err), err);
    const json_t *values = json_object_get(document, "values");
    const json_t *sources = json_object_get(document, "sources");
    const struct cli_flag words = { .name = "color", .arg = CLI_COLOR_WORDS };
    sw_autofree char *columns = NULL;
    struct ps_layout layout;

    if (!document)
        return -1;
    if (cli_apply_choice(&cli->color, &words, sw_json_str(values, "color"), err) < 0)
        return -1;
    if (cli_zone_use(sw_json_str(values, "time_zone"), err) < 0)
        return sw_wrap(err, "%s", sw_json_str(sources, "time_zone"));
    columns = sw_json_joined(json_object_get(values, "columns"), ",");
    if (*columns && ps_layout_named(columns, &layout, err) < 0) {
        if (err)
            err->code = SW_E_SPEC;
        return sw_wrap(err, "%s", sw_json_str(sources, "columns"));
    }
    cli->columns = *columns ? sw_take(columns) : NULL;
    return 0;
}
