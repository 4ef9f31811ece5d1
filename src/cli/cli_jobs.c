/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_jobs.c - what the verbs about jobs have in common: choosing them, reading their
 * documents, doing something to each.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/cli_interrupt.h"
#include "core/selector.h"

bool cli_names_each(const struct cli_args *args, const json_t *ids)
{
    for (size_t i = 0; i < args->word_count; i++)
        if (sw_selector_group(args->words[i]))
            return false;
    return args->word_count > 0 && !cli_given_value(args, "label") &&
           json_array_size(ids) <= args->word_count;
}

bool cli_names_one(const struct cli_args *args, const json_t *ids)
{
    return args->word_count == 1 && cli_names_each(args, ids);
}

json_t *cli_ids_in_state(struct cli *cli, const char *state, struct sw_error *err)
{
    const struct sw_list_options options = { .size = sizeof options, .look = SW_LOOK_STORED,
                                             .state = state, .limit = SIZE_MAX };
    sw_auto(json) json_t *list = cli_document(sw_list(cli->session, &options, err), err);
    json_t *ids = list ? json_object() : NULL;
    const json_t *job;
    size_t i;

    json_array_foreach(json_object_get(list, "jobs"), i, job)
        json_object_set_new(ids, sw_json_str(job, "id"), json_true());
    return ids;
}

/* Is it a flag that chooses among the jobs? */
static bool chooses(const struct cli_flag *flag)
{
    static const char *const names[] = { "label", "state", "platform", "since" };

    for (size_t i = 0; i < SW_COUNT(names); i++)
        if (strcmp(names[i], flag->name) == 0)
            return true;
    return false;
}

void cli_say_no_match(const struct cli *cli, const struct cli_args *args, int64_t all)
{
    sw_auto(sw_buf) struct sw_buf what = SW_BUF_INIT;

    for (size_t i = 0; i < args->word_count; i++)
        sw_buf_addf(&what, " %s", args->words[i]);
    for (size_t i = 0; i < args->given_count; i++)
        if (chooses(args->given[i].flag))
            sw_buf_addf(&what, " --%s %s", args->given[i].flag->name, args->given[i].value);
    cli_say(cli, "no job matches%s; %lld in all", sw_buf_text(&what), (long long)all);
}

static void say_nothing_chosen(const struct cli *cli, const struct cli_args *args)
{
    const struct sw_list_options one = { .size = sizeof one, .look = SW_LOOK_STORED, .limit = 1 };
    sw_auto(json) json_t *list = cli_document(sw_list(cli->session, &one, NULL), NULL);

    cli_say_no_match(cli, args, sw_json_int(list, "all", 0));
}

json_t *cli_select(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    size_t label_count;
    sw_autofree const char **labels = cli_given_values(args, "label", &label_count);
    struct sw_session *session;
    json_t *ids;

    if (args->word_count == 0 && !label_count) {
        sw_fail(err, SW_E_USAGE, "no job given");
        return sw_null(sw_hint(err,
                               "name one (an id, a name, 'last', ...) or choose by label with -l; "
                               "see 'slipway help selectors'"));
    }
    session = cli_session(cli, err);
    if (!session)
        return NULL;
    ids = cli_document(sw_select(session, args->words, args->word_count, labels, label_count, err),
                       err);
    if (ids && json_array_size(ids) == 0)
        say_nothing_chosen(cli, args);
    return ids;
}

char *cli_select_one(struct cli *cli, const char *selector, struct sw_error *err)
{
    struct sw_session *session = cli_session(cli, err);
    sw_auto(json) json_t *ids = NULL;

    if (!session)
        return NULL;
    ids = cli_document(sw_select(session, &selector, 1, NULL, 0, err), err);
    if (!ids)
        return NULL;
    if (json_array_size(ids) == 0)
        return sw_null(sw_fail(err, SW_E_NOT_FOUND, "no job matches '%s'", selector));
    if (json_array_size(ids) != 1) {
        sw_fail(err, SW_E_USAGE, "'%s' matches %zu jobs; this command takes one", selector,
                json_array_size(ids));
        return sw_null(sw_hint(err, "'slipway status %s -o name' lists them", selector));
    }
    return sw_strdup(json_string_value(json_array_get(ids, 0)));
}

json_t *cli_status(struct cli *cli, const json_t *ids, enum sw_look look, struct sw_error *err)
{
    size_t count = json_array_size(ids);
    sw_autofree const char **list = cli_list(ids);

    return cli_document(sw_status_many(cli->session, list, count, look, err), err);
}

json_t *cli_one_or_many(const struct cli_args *args, const json_t *ids, const json_t *answers)
{
    json_t *jobs, *each;
    size_t i;

    if (cli_names_one(args, ids) && json_array_size(answers) == 1)
        return cli_versioned(json_array_get(answers, 0));
    jobs = json_deep_copy(answers);
    json_array_foreach(jobs, i, each)
        json_object_del(each, "version");
    return sw_json_object(SW_INT("version", 1), SW_SUB("jobs", jobs));
}

void cli_say_unreachable(const struct cli *cli, const json_t *document)
{
    const json_t *list = json_object_get(document, "unreachable");
    const json_t *each;
    size_t i;

    json_array_foreach(list, i, each)
        cli_warn(cli, "%s did not answer, its jobs are shown as last seen: %s",
                 sw_json_str(each, "platform"), sw_json_str(each, "message"));
}

enum sw_state cli_state_called(const char *name)
{
    for (int state = SW_PENDING; name && state <= SW_CANCELED; state++)
        if (strcmp(sw_state_name(state), name) == 0)
            return state;
    return SW_UNKNOWN;
}

enum sw_state cli_job_state(const json_t *job)
{
    return cli_state_called(sw_json_str(job, "status"));
}

const char *cli_state_style(enum sw_state state)
{
    static const char *const styles[] = {
        [SW_UNKNOWN] = "35", [SW_PENDING] = "33",  [SW_RUNNING] = "36",  [SW_PAUSED] = "33",
        [SW_COMPLETE] = "32", [SW_ERROR] = "31",   [SW_CANCELED] = "2",
    };

    return (size_t)state < SW_COUNT(styles) ? styles[state] : NULL;
}

void cli_job_head(struct sw_buf *out, bool color, const char *id, enum sw_state state)
{
    if (color)
        sw_buf_addf(out, "\033[1m%s\033[0m  \033[%sm%s\033[0m", id, cli_state_style(state),
                    sw_state_name(state));
    else
        sw_buf_addf(out, "%s  %s", id, sw_state_name(state));
}

void cli_job_age(const json_t *job, const char *key, char out[24])
{
    int64_t age_ms = sw_json_int(job, key, -1);

    if (age_ms >= 0)
        sw_age_format(age_ms, out);
    else
        snprintf(out, 24, "-");
}

void cli_duration(int64_t ms, char out[32])
{
    out[0] = '\0';
    if (ms >= 10000)
        sw_duration_format(ms / 1000 * 1000, out);
    else if (ms >= 0)
        snprintf(out, 32, "%lld.%llds", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
}

char *cli_job_message(const json_t *job)
{
    const char *message = sw_json_str(job, "message");
    bool retry = sw_json_str(job, "next_attempt_at") != NULL;
    int64_t ms = sw_json_int(job, "starts_in_ms", -1);
    char until[32];

    if (ms < 0)
        return sw_strdup(message ? message : "");
    sw_age_format(ms, until);
    return sw_format("%s%s in %s", message ? message : "", retry ? "" : "; expected to start", until);
}

const char *cli_cause(const json_t *job)
{
    const char *cause = sw_json_str(job, "cause");

    return sw_text_same(cause, "user") ? "your program" : cause;
}

static bool is_over(const struct cli *cli, const char *id)
{
    sw_auto(json) json_t *job =
        cli_document(sw_status(cli->session, id, SW_LOOK_STORED, NULL), NULL);

    return job && sw_state_is_final(cli_job_state(job));
}

int cli_leave(struct cli *cli, const char *id, struct sw_error *err)
{
    cli->left = true;
    if (cli->screen.err_terminal)
        fputc('\n', stderr);                    /* after the "^C" that the terminal shows */
    if (!id)
        cli_say(cli, "detached: the jobs continue");
    else if (!is_over(cli, id))
        cli_say_job(cli, id, "detached: the job continues");
    return sw_fail(err, SW_E_INTERRUPTED, "stopped by a signal");
}

/* Something to read, or Ctrl-C. Looked for again and again: one that is pressed just before we
 * begin to wait interrupts nothing. */
static bool wait_for_answer(int fd, int interrupts_seen)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };

    while (cli_interrupt_count() == interrupts_seen)
        if (poll(&ready, 1, 100) > 0)
            return true;
    return false;
}

/* Where we can ask: stdin may be the job file. -1: nowhere. */
static int open_terminal(const struct cli *cli)
{
    return cli->screen.err_terminal ? open("/dev/tty", O_RDONLY | O_CLOEXEC) : -1;
}

bool cli_can_ask(const struct cli *cli)
{
    sw_autofd int fd = open_terminal(cli);

    return fd >= 0;
}

bool cli_confirm(const struct cli *cli, const char *question)
{
    return !cli_can_ask(cli) || cli_agree(cli, question);
}

bool cli_agree(const struct cli *cli, const char *question)
{
    int interrupts_seen = cli_interrupt_count();
    sw_autofd int fd = open_terminal(cli);
    char answer[16] = "";
    ssize_t length = 0;

    if (fd < 0)
        return false;
    fprintf(stderr, "%s [y/N] ", question);
    if (wait_for_answer(fd, interrupts_seen))
        length = read(fd, answer, sizeof answer - 1);
    if (length <= 0)
        fputs("\n", stderr);
    return length > 0 && (answer[0] == 'y' || answer[0] == 'Y');
}

int cli_each(struct cli *cli, const json_t *ids, cli_each_fn *fn, const void *context,
             struct sw_error *err)
{
    const json_t *each;
    size_t i;
    int rc = 0;

    json_array_foreach(ids, i, each) {
        struct sw_error failed = { 0 };

        if (fn(cli, json_string_value(each), context, &failed) == 0)
            continue;
        if (rc < 0)
            cli_complain(cli, &failed);
        else if (err)
            *err = failed;
        rc = -1;
    }
    return rc;
}
