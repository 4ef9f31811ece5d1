/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why.c - `slipway why JOB...`: why it failed, or what it waits for, and what to do.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

#define INDENT 2
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

    if (sw_text_empty(text))
        return;
    clean = sw_text_printable(text, strlen(text));
    cli_wrap(&folded, clean, indent, width ? width - 1 : 1000);
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
        sw_autofree char *clean = NULL, *cut = NULL;

        if (!text)
            text = sw_json_str(line, "line");
        if (sw_text_empty(text) || (strlen(text) >= SAID_LEAST && strstr(headline, text)))
            continue;
        clean = sw_text_printable(text, strcspn(text, "\n"));
        cut = sw_text_fit(clean, width > INDENT + 12 ? width - INDENT - 12 : 1000);
        sw_buf_addf(out, "%*s%-10s%s\n", INDENT, "", label, cut);
        label = "";
    }
}

/* When it is tried again, or why it is not. */
static void add_retry(struct sw_buf *out, const json_t *retry, size_t width)
{
    const char *at = sw_json_str(retry, "at");
    sw_autofree char *when = NULL;

    if (sw_json_bool(retry, "again", false) && at && strlen(at) > 19)
        when = sw_format("not before %.10s %.8s UTC", at, at + 11);
    add_part(out, "retry", when ? when : sw_json_str(retry, "why"), width);
}

static void add_card(struct sw_buf *out, const struct cli *cli, const json_t *why)
{
    enum sw_state state = cli_state_called(sw_json_str(why, "status"));
    const char *headline = sw_json_str(why, "headline");
    sw_autofree char *clean = sw_text_printable(headline ? headline : "",
                                                headline ? strcspn(headline, "\n") : 0);
    size_t width = cli->screen.width;

    cli_job_head(out, cli, sw_json_str(why, "id"), state);
    if (sw_text_starts(clean, sw_state_name(state)))          /* "Complete (exit code 0)" */
        sw_buf_addf(out, "%s\n", clean + strlen(sw_state_name(state)));
    else
        sw_buf_addf(out, ": %s\n", clean);
    add_evidence(out, json_object_get(why, "evidence"), clean, width);
    add_part(out, "cause", sw_json_str(why, "cause"), width);
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
        add_card(&out, cli, why);
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

static int print_all(struct cli *cli, const json_t *all, bool one, struct sw_error *err)
{
    sw_auto(json) json_t *document = NULL;

    if (cli->format == CLI_TABLE)
        return print_cards(cli, all);
    if (one)
        return cli_document_print(cli, json_array_get(all, 0), err);
    document = sw_json_object(SW_INT("version", 1), SW_SUB("jobs", json_deep_copy(all)));
    return cli_document_print(cli, document, err);
}

static int why_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_auto(json) json_t *ids = cli_select(cli, args, err);
    sw_auto(json) json_t *all = json_array();
    bool one = cli_names_one(args, ids);
    int rc;

    if (!ids)
        return -1;
    rc = cli_each(cli, ids, explain, all, err);
    if ((json_array_size(all) || !json_array_size(ids)) && print_all(cli, all, one, err) < 0)
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
