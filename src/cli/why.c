/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why.c - `slipway why JOB...`: why it failed, or what it waits for, and what to do.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/cli_zone.h"

#define INDENT 2
#define UNFOLDED 1000000    /* columns of what is not a terminal */
#define SAID_LEAST 8        /* bytes that are in the headline by no chance: said already */

static const struct cli_flag why_flags[] = {
    CLI_LABEL_FLAG,
    { 0 }
};

/* Text from elsewhere, folded under its label. */
static void add_part(struct sw_buf *out, const char *label, const char *text, size_t width)
{
    sw_autofree char *clean = NULL;
    sw_auto(sw_buf) struct sw_buf folded = SW_BUF_INIT;
    size_t indent = INDENT + 10;

    while (text && *text == ' ')               /* a line that begins with a space would not be folded */
        text++;
    if (sw_text_empty(text))
        return;
    clean = sw_text_printable(text, strlen(text));
    cli_wrap(&folded, clean, indent, width ? width - 1 : UNFOLDED);
    sw_buf_addf(out, "%*s%-10s%s", INDENT, "", label, sw_buf_text(&folded) + indent);
}

/* An evidence line is a text, or an object that tells where it was found. */
static void add_evidence(struct sw_buf *out, const json_t *lines, const char *headline, size_t width)
{
    const char *label = "evidence";
    const json_t *line;
    size_t i;

    json_array_foreach(lines, i, line) {
        const char *text = json_is_string(line) ? json_string_value(line)
                                                : sw_json_str(line, "text");
        sw_autofree char *first = NULL;

        if (!text)
            text = sw_json_str(line, "line");
        if (sw_text_empty(text) || (strlen(text) >= SAID_LEAST && strstr(headline, text)))
            continue;
        first = sw_strndup(text, strcspn(text, "\n"));
        add_part(out, label, first, width);
        label = "";
    }
}

/* When it is tried again, or why it is not. */
static void add_retry(struct sw_buf *out, const json_t *retry, size_t width)
{
    char at[CLI_TIME_SIZE];
    sw_autofree char *when = NULL;

    cli_time_shown(sw_json_str(retry, "at"), at);
    if (sw_json_bool(retry, "again", false) && *at)
        when = sw_format("not before %s", at);
    add_part(out, "retry", when ? when : sw_json_str(retry, "why"), width);
}

/* "ID  Error: why", folded: what decides is never cut. */
static void add_headline(struct sw_buf *out, const json_t *why, const char *text, size_t width, bool color)
{
    enum sw_state state = cli_state_called(sw_json_str(why, "status"));
    const char *id = sw_json_str(why, "id"), *name = sw_state_name(state);
    bool named = sw_text_starts(text, name);          /* "Complete (exit code 0)" */
    sw_autofree char *head = sw_format("%s  %s", id, name);
    sw_autofree char *line = sw_format("%s%s%s", head, named ? "" : ": ", named ? text + strlen(name) : text);
    sw_auto(sw_buf) struct sw_buf folded = SW_BUF_INIT;
    const char *rest;

    cli_wrap(&folded, line, INDENT, width ? width - 1 : UNFOLDED);
    rest = sw_buf_text(&folded) + INDENT;
    if (sw_text_starts(rest, head)) {
        cli_job_head(out, color, id, state);
        rest += strlen(head);
    }
    sw_buf_add(out, rest);
}

void cli_why_card(struct sw_buf *out, const json_t *why, size_t width, bool color)
{
    const char *headline = sw_json_str(why, "headline");
    sw_autofree char *clean = sw_text_printable(headline ? headline : "",
                                                headline ? strcspn(headline, "\n") : 0);

    add_headline(out, why, clean, width, color);
    add_evidence(out, json_object_get(why, "evidence"), clean, width);
    add_part(out, "cause", cli_cause(why), width);
    add_part(out, "advice", sw_json_str(why, "suggestion"), width);
    add_retry(out, json_object_get(why, "retry"), width);
}

static int print_cards(const struct cli *cli, const json_t *all)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const json_t *why;
    size_t i;

    json_array_foreach(all, i, why) {
        if (i)
            sw_buf_add_char(&out, '\n');
        cli_why_card(&out, why, cli->screen.width, cli->screen.out_color);
    }
    cli_print(sw_buf_text(&out));
    return 0;
}

static int explain(struct cli *cli, const char *id, const void *all, struct sw_error *err)
{
    json_t *why = cli_document(sw_why(cli->session, id, err), err);

    if (!why)
        return sw_wrap(err, "cannot explain '%s'", id);
    json_array_append_new((json_t *)all, why);
    return 0;
}

static int print_all(struct cli *cli, const json_t *all, const json_t *document, struct sw_error *err)
{
    return cli->format == CLI_TABLE ? print_cards(cli, all) : cli_document_print(cli, document, err);
}

static int why_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_auto(json) json_t *ids = cli_select(cli, args, err);
    sw_auto(json) json_t *all = json_array(), *document = NULL;
    int rc;

    if (!ids)
        return -1;
    rc = cli_each(cli, ids, explain, all, err);
    document = cli_one_or_many(args, ids, all);
    if ((json_array_size(all) || !json_array_size(ids)) && print_all(cli, all, document, err) < 0)
        return -1;
    return rc;
}

const struct command command_why = {
    .name = "why",
    .args = "[JOB...]",
    .summary = "explain why a job failed or is waiting, and what to do",
    .description =
        "Explain in one line why a job failed or is waiting, followed by the evidence (exit code, "
        "messages from the platform, lines of the log), the cause and the remedy; for a job that will "
        "be retried, also when. Without JOB, the newest job is explained. A failure that no rule "
        "recognises is called unknown. With -o json, one named job is one object; several are "
        "{\"version\", \"jobs\"}.",
    .example = "slipway why last\nslipway why failed -o json",
    .flags = why_flags,
    .shared = { cli_output_document },
    .max_args = CLI_MANY,
    .last_job = true,
    .run = why_run,
};
