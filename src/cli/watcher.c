/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watcher.c - `slipway watcher [start|stop|once]`: what looks after jobs while no command waits for them.
 */
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/cli_attach.h"

static void print_texts(const char *title, const json_t *list)
{
    const json_t *each;
    size_t i;

    cli_printf("%s", title);
    json_array_foreach(list, i, each)
        cli_printf("%s%s", i ? ", " : "", json_string_value(each));
    cli_printf("\n");
}

static void print_places(const json_t *places)
{
    const char *place;
    json_t *jobs;

    json_object_foreach((json_t *)places, place, jobs)
        cli_printf("watches:  %s: %lld job%s\n", place, (long long)json_integer_value(jobs),
                   sw_text_plural(json_integer_value(jobs)));
}

static void print_running(const json_t *status)
{
    const json_t *watcher = json_object_get(status, "watcher"), *each;
    int64_t interval_ms = sw_json_int(watcher, "interval_ms", 0);
    int64_t next_ms = cli_time_ms(sw_json_str(watcher, "looked_at")) + interval_ms - sw_now_ms();
    char age[24];
    size_t i;

    sw_age_format(sw_now_ms() - cli_time_ms(sw_json_str(watcher, "started_at")), age);
    cli_printf("running:  for %s, pid %lld, version %s\n", age, (long long)sw_json_int(watcher, "pid", 0),
               sw_json_str(watcher, "release"));
    print_texts("because:  ", json_object_get(status, "duties"));
    print_places(json_object_get(status, "places"));
    cli_printf("checks:   every %.0f s, next in %.0f s\n", (double)interval_ms / 1000,
               next_ms > 0 ? (double)next_ms / 1000 : 0.0);
    json_array_foreach(json_object_get(watcher, "unreachable"), i, each)
        cli_printf("error:    %s: %s\n", sw_json_str(each, "platform"), sw_json_str(each, "message"));
}

static void print_status(const json_t *status)
{
    long long jobs = (long long)sw_json_int(status, "jobs", 0);
    const char *problem = sw_json_str(status, "problem"), *missed = sw_json_str(status, "missed");

    if (sw_json_bool(status, "running", false)) {
        print_running(status);
    } else {
        cli_printf("not running; %lld job%s it\n", jobs, jobs == 1 ? " needs" : "s need");
        if (!sw_text_empty(problem))
            cli_printf("problem:  %s\n", problem);
        if (!sw_text_empty(missed))
            cli_printf("without:  %s\n", missed);
    }
    cli_printf("log:      %s\n", sw_json_str(status, "log"));
}

void cli_say_watcher(struct cli *cli)
{
    sw_auto(json) json_t *status = cli_document(sw_watcher(cli->session, NULL), NULL);
    long long jobs = sw_json_int(status, "jobs", 0), notices = sw_json_int(status, "notices", 0);
    const char *problem = sw_json_str(status, "problem");

    if (jobs + notices == 0)
        return;
    if (sw_json_bool(status, "running", false))
        cli_say(cli, "watcher: watching %lld job%s", jobs, sw_text_plural(jobs));
    else if (!sw_json_bool(status, "off", false))
        cli_say(cli, "watcher: not running: %s ('slipway watcher start')",
                sw_text_empty(problem) ? sw_json_str(status, "missed") : problem);
}

static int start(struct cli *cli, struct sw_error *err)
{
    bool started = false;

    if (sw_watcher_start(cli->session, &started, err) < 0)
        return -1;
    cli_say(cli, started ? "a watcher started" : "a watcher is already running");
    return 0;
}

static int stop(struct cli *cli, struct sw_error *err)
{
    bool ended = false;

    if (sw_watcher_end(cli->session, &ended, err) < 0)
        return -1;
    cli_say(cli, ended ? "the watcher stopped; its jobs continue" : "no watcher was running");
    return 0;
}

static int once(struct cli *cli, struct sw_error *err)
{
    return sw_watcher_once(cli->session, err);
}

static const struct {
    const char *word;
    int (*act)(struct cli *cli, struct sw_error *err);
} words[] = { { "start", start }, { "stop", stop }, { "once", once } };

static int watcher_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_auto(json) json_t *status = NULL;

    const char *word = args->word_count > 0 ? args->words[0] : NULL;

    for (size_t i = 0; word && i < SW_COUNT(words); i++)
        if (strcmp(word, words[i].word) == 0)
            return cli_session(cli, err) ? words[i].act(cli, err) : -1;
    if (word)
        return sw_fail(err, SW_E_USAGE, "unknown action '%s': use start, stop or once", word);
    if (!cli_session(cli, err))
        return -1;
    status = cli_document(sw_watcher(cli->session, err), err);
    if (!status)
        return -1;
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, status, err);
    print_status(status);
    return 0;
}

const struct command command_watcher = {
    .name = "watcher",
    .args = "[start|stop|once]",
    .summary = "show, start or stop the process that watches detached jobs",
    .description =
        "A small process retries failed jobs, runs hooks and starts queued jobs while no command is "
        "waiting for them. 'slipway run -d' and Ctrl-C start it when a job needs it; it exits a minute "
        "after the last such job. It does not start when SLIPWAY_WATCHER=off or CI is set in the "
        "environment. 'once' does what is due now and exits, for use from cron.",
    .example = "slipway watcher",
    .shared = { cli_output_document },
    .max_args = 1,
    .run = watcher_run,
};
