/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray.c - `slipway ray up|down|status|dashboard NAME`: a Ray cluster that outlives one job.
 *
 * On every platform it is a job like others, with `launcher: ray` and `ray_cluster.keep`: it has no command
 * and ends when it was idle for long enough, whether or not anything of ours runs then. Its label says whose
 * name it has. So up is a submit, under the id of the cluster that is up where there is one, which tells the
 * same shape from another; down is a cancel.
 */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli_attach.h"
#include "cli/cli_generic_table.h"
#include "cli/cli_interrupt.h"

#define LABEL "slipway.ray"

enum { NAME_MAX_LENGTH = 26, WATCH_EVERY_MS = 1000 };      /* an id adds nine characters to it */

struct ray_options {
    bool detach;
    const char *idle, *local;
};

static const struct cli_flag ray_flags[] = {
    { "detach", 'd', NULL, "up: do not wait until all nodes have joined", cli_apply_bool,
      offsetof(struct ray_options, detach) },
    { "idle", 0, "DURATION", "up: end the cluster when no Ray job ran for this long (default: 1h)",
      cli_apply_text, offsetof(struct ray_options, idle) },
    { "local", 0, "PORT", "dashboard: the port on this machine (default: the same, or a free one)",
      cli_apply_text, offsetof(struct ray_options, local) },
    { 0 }
};

/* ---- which cluster --------------------------------------------------------------------------------- */

static int check_name(const char *name, struct sw_error *err)
{
    size_t length = strlen(name);
    bool fits = islower((unsigned char)*name) && length <= NAME_MAX_LENGTH && name[length - 1] != '-';

    for (size_t i = 0; i < length; i++)
        fits = fits && (islower((unsigned char)name[i]) || isdigit((unsigned char)name[i]) || name[i] == '-');
    if (fits)
        return 0;
    sw_fail(err, SW_E_USAGE, "'%s' cannot be the name of a Ray cluster", name);
    return sw_hint(err, "use up to %d lower case letters, digits and '-', a letter first", NAME_MAX_LENGTH);
}

/* Newest first; `name` NULL: of all names; `state` NULL: also those that ended. Owned. */
static json_t *clusters(struct cli *cli, const char *name, const char *state, struct sw_error *err)
{
    sw_autofree char *label = name ? sw_format(LABEL "=%s", name) : sw_strdup(LABEL);
    const char *const labels[] = { label };
    const struct sw_list_options options = { .size = sizeof options, .state = state, .labels = labels,
                                             .label_count = 1 };

    return cli_session(cli, err) ? cli_document(sw_list(cli->session, &options, err), err) : NULL;
}

/* The id of the cluster that is up; owned; NULL without error: there is none. */
static char *find(struct cli *cli, const char *name, struct sw_error *err)
{
    sw_auto(json) json_t *list = clusters(cli, name, "active", err);
    const char *id = sw_json_str(json_array_get(json_object_get(list, "jobs"), 0), "id");

    return id ? sw_strdup(id) : NULL;
}

static char *find_one(struct cli *cli, const char *name, struct sw_error *err)
{
    struct sw_error why = { 0 };
    char *id = find(cli, name, &why);

    if (id)
        return id;
    if (why.code)
        return sw_null(sw_pass(err, &why));
    sw_fail(err, SW_E_NOT_FOUND, "no Ray cluster '%s' is up", name);
    return sw_null(sw_hint(err, "see 'slipway ray status', or start it with 'slipway ray up %s'", name));
}

/* ---- up -------------------------------------------------------------------------------------------- */

static struct sw_request *request_of(const struct cli_args *args, const char *name, struct sw_error *err)
{
    const struct ray_options *options = args->options;
    sw_auto(sw_request) struct sw_request *request = sw_request_new();
    sw_autofree char *label = sw_format(LABEL "=%s", name);
    const char *file = cli_given_value(args, "file");

    if (file && args->word_count > 2)
        return sw_null(sw_fail(err, SW_E_USAGE, "two job files given: '%s' and '%s'", file, args->words[2]));
    file = file ? file : args->word_count > 2 ? args->words[2] : NULL;
    if ((file && sw_request_file(request, file, err) < 0) || cli_request_change(request, args, err) < 0 ||
        sw_request_set(request, "name", name, err) < 0 ||
        sw_request_set(request, "launcher", "ray", err) < 0 ||
        sw_request_set(request, "ray_cluster.keep", "true", err) < 0 ||
        (options->idle && sw_request_set(request, "ray_cluster.idle", options->idle, err) < 0) ||
        sw_request_set(request, "labels", label, err) < 0)
        return NULL;
    return sw_take(request);
}

struct ray_waiting {
    json_t *job;                     /* as it was seen last; owned */
};

static int look(void *context, const char *document)
{
    struct ray_waiting *waiting = context;
    sw_auto(json) json_t *list = json_loads(document, 0, NULL);
    json_t *job = json_array_get(json_object_get(list, "jobs"), 0);
    enum sw_state state = job ? cli_job_state(job) : SW_UNKNOWN;

    if (job) {
        json_decref(waiting->job);
        waiting->job = json_incref(job);
    }
    return cli_interrupt_count() > 0 || state == SW_RUNNING || sw_state_is_final(state);
}

/* As it is when it runs or is over; owned. NULL: it is gone, or (with an error) not known. */
static json_t *wait_until_running(struct cli *cli, const char *id, struct sw_error *err)
{
    const struct sw_watch_options options = { .size = sizeof options, .every_ms = WATCH_EVERY_MS };
    struct ray_waiting waiting = { 0 };
    struct sw_error why = { 0 };

    if (sw_watch(cli->session, &id, 1, &options, look, &waiting, &why) < 0 &&
        why.code != SW_E_INTERRUPTED)                    /* that is our own end */
        sw_pass(err, &why);
    return waiting.job;
}

/* A job runs before its nodes have joined. Where there is no way to ask it, that has to be enough. */
static bool has_joined(struct cli *cli, const char *id)
{
    struct sw_error why = { 0 };
    sw_autofree char *cluster = sw_ray_cluster(cli->session, id, &why);

    return cluster || why.code != SW_E_CONFLICT;
}

/* Until all nodes have joined. */
static int wait_until_up(struct cli *cli, const char *name, const char *id, struct sw_error *err)
{
    sw_auto(json) json_t *job = NULL;
    sw_autofree char *outcome = NULL;
    struct sw_error why = { 0 };

    cli_interrupt_catch();
    while ((job = wait_until_running(cli, id, &why)) && cli_job_state(job) == SW_RUNNING &&
           !cli_interrupt_count()) {
        if (has_joined(cli, id)) {
            cli_say_job(cli, id, "the Ray cluster '%s' is up", name);
            return 0;
        }
        json_decref(sw_take(job));
        cli_interrupt_wait(0, WATCH_EVERY_MS);
    }
    if (cli_interrupt_count())
        return cli_leave(cli, id, err);
    if (why.code)
        return sw_pass(err, &why);
    outcome = job ? cli_job_outcome(job) : NULL;
    sw_fail(err, SW_E_REFUSED, "the Ray cluster '%s' did not start: %s", name,
            outcome ? outcome : "it is gone");
    return sw_hint(err, "see 'slipway why %s'", id);
}

/* Under the id of the one that is up: the same shape is that one, another a conflict. */
static int submit(struct cli *cli, struct sw_request *request, const char *name, char id[SW_ID_SIZE],
                  bool *already, struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_autofree char *there = find(cli, name, &why);

    if (why.code)
        return sw_pass(err, &why);
    if (there && sw_request_id(request, there, err) < 0)
        return -1;
    cli->sending = true;
    if (sw_submit_once(cli->session, request, id, already, &why) == 0) {
        cli->sending = false;
        return 0;
    }
    cli->sending = false;
    sw_pass(err, &why);
    if (err->code != SW_E_CONFLICT)
        return sw_wrap(err, "cannot start the Ray cluster '%s'", name);
    sw_wrap(err, "the Ray cluster '%s' is already up, with other settings", name);
    return sw_hint(err, "end it with 'slipway ray down %s', or choose another name", name);
}

static int up(struct cli *cli, const struct cli_args *args, const char *name, struct sw_error *err)
{
    const struct ray_options *options = args->options;
    sw_auto(sw_request) struct sw_request *request = request_of(args, name, err);
    char id[SW_ID_SIZE] = "";
    bool already = false;

    if (!request || submit(cli, request, name, id, &already, err) < 0)
        return -1;
    cli_attend(cli, id);
    if (already)
        cli_say_job(cli, id, "the Ray cluster '%s' is already up", name);
    if (!options->detach && wait_until_up(cli, name, id, err) < 0)
        return -1;
    cli_printf("%s\n", id);
    return cli_flush();
}

/* ---- down, status, dashboard ------------------------------------------------------------------------- */

static int down(struct cli *cli, const struct cli_args *args, const char *name, struct sw_error *err)
{
    sw_autofree char *id = find_one(cli, name, err);

    (void)args;
    if (!id)
        return -1;
    if (sw_cancel(cli->session, id, err) < 0)
        return sw_wrap(err, "cannot end the Ray cluster '%s'", name);
    cli_say_job(cli, id, "the Ray cluster '%s' ended", name);
    return 0;
}

static int status(struct cli *cli, const struct cli_args *args, const char *name, struct sw_error *err)
{
    sw_auto(json) json_t *list = clusters(cli, name, name ? NULL : "active", err), *rows = json_array();
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    json_t *job;
    size_t i;

    (void)args;
    if (!list)
        return -1;
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, list, err);
    json_array_foreach(json_object_get(list, "jobs"), i, job)
        json_array_append_new(rows, sw_json_object(
            SW_STR("name", sw_json_str(json_object_get(job, "labels"), LABEL)),
            SW_STR("job", sw_json_str(job, "id")), SW_STR("status", sw_json_str(job, "status")),
            SW_STR("platform", sw_json_str(job, "backend_type")),
            SW_STR("message", sw_json_str(job, "message"))));
    if (json_array_size(rows) == 0 && name)
        return sw_fail(err, SW_E_NOT_FOUND, "there was no Ray cluster '%s'", name);
    if (json_array_size(rows) == 0)
        cli_say(cli, "no Ray cluster is up");
    else
        cli_generic_table(&out, cli, rows);
    cli_print(sw_buf_text(&out));
    return 0;
}

struct ray_reporting {
    const struct cli *cli;
    const char *name;
    char *said;                      /* the last trouble: the same is said once */
};

static void tell(void *context, const struct sw_forward *port, const char *trouble)
{
    struct ray_reporting *to = context;

    if (!trouble) {
        cli_printf("http://127.0.0.1:%d\n", port->local);
        cli_flush();
    } else if (!sw_text_same(trouble, to->said)) {
        cli_warn(to->cli, "the dashboard of '%s': %s", to->name, trouble);
        free(to->said);
        to->said = sw_strdup(trouble);
    }
}

static int stop(void *context)
{
    (void)context;
    return cli_interrupt_count() > 0;
}

static int local_port(const char *said, int *port, struct sw_error *err)
{
    char *end = NULL;
    long number = said ? strtol(said, &end, 10) : SW_FORWARD_SAME;

    if (said && (end == said || *end || number < 0 || number > 65535))
        return sw_fail(err, SW_E_USAGE, "--local: '%s' is not a port", said);
    *port = (int)number;
    return 0;
}

static int dashboard(struct cli *cli, const struct cli_args *args, const char *name, struct sw_error *err)
{
    const struct ray_options *options = args->options;
    sw_autofree char *id = NULL;
    sw_auto(json) json_t *cluster = NULL;
    struct sw_forward port = { 0 };
    struct ray_reporting to = { .cli = cli, .name = name };
    const struct sw_forward_calls calls = { .size = sizeof calls, .tell = tell, .idle = stop,
                                            .context = &to };
    int result;

    if (local_port(options->local, &port.local, err) < 0 || !(id = find_one(cli, name, err)) ||
        !(cluster = cli_document(sw_ray_cluster(cli->session, id, err), err)))
        return -1;
    port.port = (int)sw_json_int(cluster, "dashboard_port", 0);
    cli_interrupt_catch();
    result = sw_forward(cli->session, id, 0, &port, 1, &calls, err);
    free(to.said);
    if (result < 0 && cli_interrupt_count())
        return cli_leave(cli, id, err);
    if (result < 0)
        return sw_wrap(err, "cannot reach the dashboard of '%s'", name);
    cli_say(cli, "the Ray cluster '%s' has ended", name);
    return 0;
}

/* ---- the verb --------------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    bool named;                      /* it needs a name */
    int (*act)(struct cli *cli, const struct cli_args *args, const char *name, struct sw_error *err);
} actions[] = { { "up", true, up }, { "down", true, down }, { "status", false, status },
                { "dashboard", true, dashboard } };

static int ray_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const char *name = args->word_count > 1 ? args->words[1] : NULL;

    for (size_t i = 0; i < SW_COUNT(actions); i++) {
        if (strcmp(args->words[0], actions[i].word) != 0)
            continue;
        if (!name && actions[i].named)
            return sw_fail(err, SW_E_USAGE, "which Ray cluster? 'slipway ray %s NAME'", actions[i].word);
        if (args->word_count > 2 && actions[i].act != up)
            return sw_fail(err, SW_E_USAGE, "unexpected argument '%s': 'slipway ray %s NAME'",
                           args->words[2], actions[i].word);
        return name && check_name(name, err) < 0 ? -1 : actions[i].act(cli, args, name, err);
    }
    return sw_fail(err, SW_E_USAGE, "unknown action '%s': use up, down, status or dashboard", args->words[0]);
}

const struct command command_ray = {
    .name = "ray",
    .args = "up|down|status|dashboard [NAME] [FILE]",
    .summary = "start, end and reach a Ray cluster that outlives one job",
    .description =
        "'up' starts a Ray cluster on the platform of your choice: image, nodes, GPUs and all else as for "
        "'slipway run', from a job file without a command, flags, or both. It waits until all nodes have "
        "joined and prints the id of the job that the cluster is; -d prints it at once. The cluster ends by "
        "itself when no Ray job ran for --idle. With a cluster of that name that is up, 'up' does nothing "
        "if it is the same, and exits with 68 if it is another.\n\n"
        "Run jobs on it with 'launcher: ray' and 'ray_cluster.name: NAME' (Kubernetes), or with "
        "'platform: ray' at the address that 'dashboard' prints.\n\n"
        "'down' ends the cluster. 'status' shows the clusters that are up, or with NAME also the ones of "
        "that name that ended. 'dashboard' holds a tunnel to the dashboard until Ctrl-C and prints its "
        "address; only programs of this machine can connect, and the dashboard asks for the token of the "
        "cluster.",
    .example = "slipway ray up tune -p kubernetes -f cluster.yaml --nodes 2\n"
               "slipway ray dashboard tune",
    .flags = ray_flags,
    .shared = { cli_job_flags, cli_output_document },
    .options_size = sizeof(struct ray_options),
    .min_args = 1,
    .max_args = 3,
    .run = ray_run,
};
