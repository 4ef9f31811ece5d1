/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_checks.c - see cli_checks.h. For `doctor` and `preflight`.
 */
#include "cli/cli_checks.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define EXIT_SOMETHING_WRONG 1

enum { BEFORE = 8 };        /* "FAIL", and two spaces on both sides of the name */

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

enum verdict { FINE, WRONG, OPEN };

static const struct {
    const char *word, *style;
} verdicts[] = {
    [FINE] = { "ok", "32" }, [WRONG] = { "FAIL", "31" }, [OPEN] = { "-", "2" },
};

static enum verdict verdict_of(const json_t *check)
{
    const json_t *ok = json_object_get(check, "ok");

    return json_is_true(ok) ? FINE : json_is_null(ok) ? OPEN : WRONG;
}

/* On a terminal folded under its own beginning; elsewhere one line, whatever its length. */
static void print_text(const struct cli *cli, const char *text, size_t indent)
{
    sw_auto(sw_buf) struct sw_buf folded = SW_BUF_INIT;

    if (cli->screen.width)
        cli_wrap(&folded, text, indent, cli->screen.width);
    else
        sw_buf_addf(&folded, "%*s%s\n", (int)indent, "", text);
    cli_print(sw_buf_text(&folded) + indent);
}

static void print_check(const struct cli *cli, const json_t *check, size_t width)
{
    enum verdict verdict = verdict_of(check);
    bool color = cli->screen.out_color;
    const char *name = sw_json_str(check, "check"), *message = sw_json_str(check, "message");
    const char *fix = sw_json_str(check, "fix"), *state = sw_json_str(check, "state");
    bool open = verdict == OPEN && state;
    sw_autofree char *text = sw_format("%s%s%s", open ? state : "", open ? ": " : "", message ? message : "");
    sw_autofree char *remedy = sw_format("fix: %s", sw_text_empty(fix) ? "" : fix);

    cli_printf("%s%s%s%-4s%s  %-*s  ", color ? "\033[" : "", color ? verdicts[verdict].style : "",
               color ? "m" : "", verdicts[verdict].word, color ? "\033[0m" : "", (int)width,
               name ? name : "");
    if (name && sw_text_columns(name) > width)
        cli_printf("\n%*s", (int)(width + BEFORE), "");
    print_text(cli, text, width + BEFORE);
    if (verdict == WRONG && !sw_text_empty(fix)) {
        cli_printf("%*s", (int)(width + BEFORE), "");
        print_text(cli, remedy, width + BEFORE);
    }
}

/* On a terminal a third of it is for names, and a longer one has a line of its own. */
static size_t name_column(const struct cli *cli, const json_t *checks)
{
    size_t longest = longest_name(checks), most = cli->screen.width / 3;

    return most && longest > most ? most : longest;
}

int cli_checks_show(struct cli *cli, const json_t *checks, const json_t *document,
                    struct sw_error *err)
{
    size_t i, counts[SW_COUNT(verdicts)] = { 0 }, width = name_column(cli, checks);
    const json_t *each;

    json_array_foreach(checks, i, each) {
        counts[verdict_of(each)]++;
        if (cli->format == CLI_TABLE)
            print_check(cli, each, width);
    }
    cli->exit_status = counts[WRONG] ? EXIT_SOMETHING_WRONG : 0;
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, document, err);
    if (counts[WRONG])
        cli_say(cli, "%zu of %zu checks failed", counts[WRONG], json_array_size(checks));
    else if (counts[OPEN])
        cli_say(cli, "no check failed; %zu of %zu concern what is not set up or cannot be checked from here",
                counts[OPEN], json_array_size(checks));
    else
        cli_say(cli, "everything is in order");
    return 0;
}
