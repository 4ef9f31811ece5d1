/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_checks.c - see cli_checks.h. For `doctor` and `preflight`.
 */
#include "cli/cli_checks.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define EXIT_SOMETHING_WRONG 1

static size_t longest_name(const json_t *checks)
{
    const json_t *each;
    size_t i, longest = 0;

    json_array_foreach(checks, i, each) {
        const char *name = sw_json_str(each, "check");

        if (name && strlen(name) > longest)
            longest = strlen(name);
    }
    return longest;
}

static bool print_check(const struct cli *cli, const json_t *check, size_t width)
{
    bool ok = sw_json_bool(check, "ok", false), color = cli->screen.out_color;
    const char *name = sw_json_str(check, "check"), *message = sw_json_str(check, "message");
    const char *fix = sw_json_str(check, "fix");

    cli_printf("%s%-5s%s  %-*s  %s\n", !color ? "" : ok ? "\033[32m" : "\033[31m",
           ok ? "ok" : "WRONG", color ? "\033[0m" : "", (int)width, name ? name : "",
           message ? message : "");
    if (!ok && !sw_text_empty(fix))
        cli_printf("%*s  fix: %s\n", (int)width + 7, "", fix);
    return ok;
}

int cli_checks_show(struct cli *cli, const json_t *checks, const json_t *document,
                    struct sw_error *err)
{
    size_t i, wrong = 0, width = longest_name(checks);
    const json_t *each;

    json_array_foreach(checks, i, each)
        wrong += cli->format == CLI_TABLE ? !print_check(cli, each, width)
                                          : !sw_json_bool(each, "ok", false);
    cli->exit_status = wrong ? EXIT_SOMETHING_WRONG : 0;
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, document, err);
    if (wrong)
        cli_say(cli, "%zu of %zu checks failed", wrong, json_array_size(checks));
    else
        cli_say(cli, "everything is in order");
    return 0;
}
