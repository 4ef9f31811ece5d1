/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - `slipway events [JOB]`: what happened, in order, and with -f what happens next.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/cli_interrupt.h"
#include "cli/cli_zone.h"

#define EVERY_MS 500

struct events_options {
    bool follow, stored;
};

static const struct cli_flag events_flags[] = {
    { "follow", 'f', NULL, "follow new events until the job finishes",
      cli_apply_bool, offsetof(struct events_options, follow) },
    { "stored", 0, NULL, "show stored data without asking the platforms", cli_apply_bool,
      offsetof(struct events_options, stored) },
    { 0 }
};

static const struct cli_flag events_output[] = {
    { "format", 'o', "table|json", "how to print it; json: one event per line",
      cli_apply_choice, offsetof(struct cli, format) },
    { 0 }
};

/* {"state":"Error","exit_code":3} -> "state=Error exit_code=3"; what is empty is left out. */
static void add_data(struct sw_buf *out, const json_t *data)
{
    const char *key;
    const json_t *value;

    json_object_foreach((json_t *)data, key, value) {
        sw_autofree char *text = json_is_string(value) ? sw_strdup(json_string_value(value))
                                                       : sw_json_dump(value);

        if (json_is_null(value) || !*text)
            continue;
        if (strchr(text, ' ') && json_is_string(value))
            sw_buf_addf(out, "  %s=\"%s\"", key, text);
        else
            sw_buf_addf(out, "  %s=%s", key, text);
    }
}

static void print_event(const struct cli *cli, const json_t *event)
{
    sw_auto(sw_buf) struct sw_buf line = SW_BUF_INIT;
    sw_autofree char *clean = NULL, *cut = NULL;
    char at[CLI_TIME_SIZE];

    if (cli->format == CLI_JSON) {
        cli_document_line(event);
        return;
    }
    cli_time_line(cli_time_ms(sw_json_str(event, "at")), 0, at);
    sw_buf_addf(&line, "%s  %s  %-10s", at, sw_json_str(event, "job"),
                sw_json_str(event, "kind"));
    add_data(&line, json_object_get(event, "data"));
    while (line.length && line.data[line.length - 1] == ' ')
        line.data[--line.length] = '\0';
    for (char *c = line.data; c && *c; c++)
        if (*c == '\n')
            *c = ' ';
    clean = sw_text_printable(sw_buf_text(&line), line.length);
    cut = cli->screen.width ? sw_text_fit(clean, cli->screen.width) : sw_strdup(clean);
    cli_printf("%s\n", cut);
}

/* Print what is new; *after moves on. */
static int print_new(struct cli *cli, const char *id, int64_t *after, struct sw_error *err)
{
    sw_auto(json) json_t *document = cli_document(sw_events(cli->session, id, *after, err), err);
    const json_t *event;
    size_t i;

    if (!document)
        return -1;
    json_array_foreach(json_object_get(document, "events"), i, event) {
        print_event(cli, event);
        *after = sw_json_int(event, "seq", *after);
    }
    cli_flush();
    return 0;
}

static int hear_nothing(void *context, const char *document)
{
    (void)context, (void)document;
    return cli_interrupt_count() > 0;
}

/* Ask the platforms once, so that what happened becomes an event. */
static int look(struct cli *cli, const char *id, struct sw_error *err)
{
    struct sw_watch_options once = { .size = sizeof once, .rounds = 1 };
    struct sw_error trouble = { 0 };

    if (sw_watch(cli->session, id ? &id : NULL, id ? 1 : 0, &once, hear_nothing, NULL,
                 &trouble) == 0 || trouble.code == SW_E_INTERRUPTED)
        return 0;
    return sw_pass(err, &trouble);
}

/* Asked before the last reading, so that the last event is printed too. */
static bool is_over(struct cli *cli, const char *id)
{
    sw_auto(json) json_t *job = NULL;

    if (!id)
        return false;
    job = cli_document(sw_status(cli->session, id, SW_LOOK_STORED, NULL), NULL);
    return job && sw_text_same(sw_json_str(job, "phase"), "over");
}

static int follow(struct cli *cli, const char *id, int64_t *after, struct sw_error *err)
{
    bool over = false;

    cli_interrupt_catch();
    while (!over && cli_interrupt_count() == 0) {
        if (look(cli, id, err) < 0)
            return -1;
        over = is_over(cli, id);
        if (print_new(cli, id, after, err) < 0)
            return -1;
        if (cli_flush() < 0)               /* the reader went away: reported at the end */
            return 0;
        if (!over)
            cli_interrupt_wait(0, EVERY_MS);
    }
    return cli_interrupt_count() && !over ? cli_leave(cli, id, err) : 0;
}

static int events_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct events_options *options = args->options;
    sw_autofree char *id = NULL;
    int64_t after = 0;

    if (!cli_session(cli, err))
        return -1;
    if (args->word_count && !(id = cli_select_one(cli, args->words[0], err)))
        return -1;
    if (!options->stored && look(cli, id, err) < 0)
        return -1;
    if (print_new(cli, id, &after, err) < 0)
        return -1;
    return options->follow ? follow(cli, id, &after, err) : 0;
}

const struct command command_events = {
    .name = "events",
    .args = "[JOB]",
    .summary = "show what happened to a job, in order",
    .description =
        "Print one line per event, oldest first: submitted, each change of state and its reason, "
        "attempts, cancels, milestones. Without JOB, print the events of all jobs. With -f, continue "
        "until the job finishes, or until Ctrl-C.",
    .example = "slipway events last\nslipway events -f -o json",
    .flags = events_flags,
    .shared = { events_output },
    .options_size = sizeof(struct events_options),
    .max_args = 1,
    .run = events_run,
};
