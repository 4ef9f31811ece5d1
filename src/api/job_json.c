/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_json.c - a job as the outside sees it.
 *
 * The first fields are the seed's (id, status, message, backend_type, backend_job_id,
 * backend_details, results_dir, timestamps), so that scripts written for the Python SDK read on.
 * Times are texts in the contract's form; "not yet" is null. "version" of the enclosing document
 * changes only when a field changes its meaning.
 */
#include "api/api_internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/shown.h"
#include "base/text.h"
#include "core/command.h"
#include "core/id.h"
#include "core/reason.h"

enum { BRIEF_COMMAND = 400 };        /* columns of a command that a row of a list keeps */

/* A clock that was set back makes nothing younger than new. */
static int64_t age(int64_t now_ms, int64_t then_ms)
{
    return now_ms > then_ms ? now_ms - then_ms : 0;
}

/* How far it is; null before anything was read. What else watchers keep there is not for show. */
static json_t *progress_json(const json_t *stored)
{
    static const char *const shown[] = { "epoch", "epochs", "step", "steps", "fraction", "rate",
                                         "fraction_of_epoch", "seen_ms" };
    sw_auto(json) json_t *progress = json_object();

    if (sw_json_int(stored, "seen_ms", 0) <= 0)
        return json_null();
    for (size_t i = 0; i < SW_COUNT(shown); i++)
        if (json_object_get(stored, shown[i]))
            json_object_set(progress, shown[i], json_object_get(stored, shown[i]));
    return api_shaped(api_shape_progress, progress);
}

/* As people and scp name it: a path of this machine, or "ann@login:/path"; owned. "": on an engine elsewhere,
 * until it is brought. */
static char *results_place(const struct sw_job *job)
{
    static const char ssh[] = "ssh://";
    const char *path = job->results_dir ? job->results_dir : "", *host, *bracket;

    if (!*path || !job->address || !sw_text_starts(job->address, ssh))
        return sw_strdup(path);
    host = job->address + strlen(ssh);
    bracket = strchr(host, ']');                      /* "[::1]:22" */
    return sw_format("%.*s:%s", (int)(bracket ? bracket + 1 - host : (ptrdiff_t)strcspn(host, ",:/")), host,
                     path);
}

/* Where the outputs that name a destination go: [{"path","to"}]. */
static json_t *outputs_sent(const struct sw_job *job)
{
    json_t *sent = job->plan ? json_array() : NULL, *entry;
    size_t i;

    json_array_foreach(json_object_get(job->plan, "outputs"), i, entry) {
        const char *said = sw_json_str(entry, "to");
        sw_autofree char *to = said ? sw_fill_destination(said, job->id) : NULL;

        if (to)
            json_array_append_new(sent, sw_json_object(SW_STR("path", sw_json_str(entry, "path")),
                                                       SW_STR("to", to)));
    }
    return sent;
}

/* {"group","id","count"}; null: it is in no group of splits. */
static json_t *split_json(const struct sw_job *job)
{
    const char *group = sw_json_str(job->labels, SW_LABEL_GROUP);

    if (!job->plan)
        return NULL;
    return !group ? json_null() : sw_json_object(
        SW_STR("group", group), SW_INT("id", sw_json_int(job->plan, "split_id", 0)),
        SW_INT("count", sw_json_int(job->plan, "splits", 0)));
}

bool api_awaits_attempt(const struct sw_job *job)
{
    return job->phase == SW_PHASE_SUBMITTING ||
           (job->phase == SW_PHASE_ACTIVE && job->state == SW_PENDING &&
            sw_text_same(job->reason, SW_REASON_RETRY));
}

/* How long until a retry is sent or a waiting job is expected to start; -1: not known. Counted here
 * and not in the message: nothing happens while it is counted down. */
static int64_t starts_in(const struct sw_job *job, int64_t now_ms)
{
    bool waits = job->phase == SW_PHASE_SUBMITTING ||
                 (job->phase == SW_PHASE_ACTIVE && job->state == SW_PENDING);

    return waits && job->not_before_ms > now_ms ? job->not_before_ms - now_ms : -1;
}

static json_t *or_null(json_t *value)                    /* shares it */
{
    return value ? json_incref(value) : json_null();
}

static json_t *unless(int64_t none, int64_t value)       /* null where the value means "none" */
{
    return value == none ? json_null() : json_integer(value);
}

static json_t *identity_json(const struct sw_job *job)
{
    sw_autofree char *place = results_place(job);

    return sw_json_object(
        SW_STR("id", job->id),
        SW_STR("name", job->name),
        SW_STR("status", sw_state_name(job->state)),
        SW_STR("reason", job->reason ? job->reason : ""),
        SW_STR("message", job->message ? job->message : ""),
        SW_STR("backend_type", job->platform),
        SW_STR("place", sw_text_empty(job->address) ? NULL : job->address),
        SW_STR("backend_job_id", job->remote_id ? job->remote_id : ""),
        SW_SUB("backend_details", job->details ? json_incref(job->details) : json_object()),
        SW_STR("results_dir", job->results_dir ? job->results_dir : ""),
        SW_STR("results_place", place),
        SW_SUB("outputs", outputs_sent(job)),
        SW_SUB("split", split_json(job)),
        SW_SUB("replicas", job->plan ? json_integer(api_replicas(job)) : NULL),
        SW_STR("phase", sw_phase_name(job->phase)),
        SW_BOOL("canceling", job->canceling),
        SW_INT("attempt", job->attempt),
        SW_SUB("exit_code", unless(SW_NO_EXIT_CODE, job->exit_code)),
        SW_SUB("signal", unless(0, job->signal)),
        SW_SUB("failed_replica", unless(-1, job->failed_replica)),
        SW_STR("node", job->node),
        SW_STR("err_class", job->err_class),
        SW_STR("cause", job->cause),
        SW_STR("suggestion", job->suggestion));
}

char *api_command(const json_t *plan)
{
    const json_t *argv = json_object_get(plan, "argv"), *python = json_object_get(plan, "python");
    const char *command = sw_json_str(plan, "command");

    if (argv)
        return sw_words_line(argv);
    if (python)
        return sw_format("python %s", sw_json_str(python, "script"));
    return command ? sw_strdup(command) : NULL;
}

/* As it may be shown, owned; NULL: not known. An adopted job's was never cleaned. */
static char *shown_command(const json_t *plan, const json_t *origin)
{
    const char *clean = sw_json_str(origin, "command");
    char *command = clean ? sw_strdup(clean) : api_command(plan);

    if (command && !clean)
        sw_uris_hide(command);
    return command;
}

/* What a row of a list shows of it; `command` in full, or as long as a row keeps it. Without a plan all is
 * null. */
static json_t *brief_json(const json_t *plan, const json_t *origin, const char *command)
{
    return sw_json_object(
        SW_STR("command", command),
        SW_SUB("gpus", plan ? json_integer(sw_json_int(plan, "gpus", 0)) : json_null()),
        SW_STR("gpu_type", sw_json_str(plan, "gpu_type")),
        SW_SUB("nodes", plan ? json_integer(sw_json_int(plan, "nodes", 1)) : json_null()),
        SW_STR("user", sw_json_str(origin, "user")));
}

json_t *api_brief(const json_t *plan, const json_t *origin)
{
    sw_autofree char *command = shown_command(plan, origin);
    sw_autofree char *fits = command ? sw_text_fit(command, BRIEF_COMMAND) : NULL;

    return plan ? brief_json(plan, origin, fits) : NULL;
}

/* Of all attempts; null: it has no GPU, or nothing ran. */
static json_t *gpu_hours(const struct sw_job *job, const json_t *attempts)
{
    int64_t gpus = sw_json_int(job->plan, "gpus", 0) * sw_json_int(job->plan, "nodes", 1), now = sw_now_ms();
    int64_t ran = 0;
    json_t *each;
    size_t i;

    json_array_foreach(attempts, i, each) {
        int64_t from = sw_json_int(each, "started_ms", 0), to = sw_json_int(each, "ended_ms", 0);

        ran += from ? age(to ? to : now, from) : 0;
    }
    return gpus > 0 && ran > 0 ? json_real((double)(gpus * (ran / 1000)) / 3600) : json_null();
}

/* What it runs, and with what; null where that is not said. A row of a list has the brief alone. */
static json_t *what_json(const struct sw_job *job)
{
    const json_t *plan = job->plan, *git = json_object_get(job->origin, "git");
    int64_t memory = sw_json_int(plan, "memory_bytes", 0), time = sw_json_int(plan, "time_ms", 0);
    sw_autofree char *command = NULL;
    sw_auto(json) json_t *brief = NULL;
    json_t *what;

    if (!plan)
        return job->brief ? json_incref(job->brief) : brief_json(NULL, NULL, NULL);
    command = shown_command(plan, job->origin);
    brief = brief_json(plan, job->origin, command);
    what = sw_json_object(
        SW_STR("image", sw_json_str(plan, "image")),
        SW_STR("image_digest", sw_json_str(job->details, "image_digest")),
        SW_SUB("cpus", json_number_value(json_object_get(plan, "cpus")) > 0
                           ? json_incref(json_object_get(plan, "cpus")) : json_null()),
        SW_SUB("memory_bytes", unless(0, memory)), SW_SUB("time_limit_ms", unless(0, time)),
        SW_STR("workdir", sw_json_str(plan, "workdir")),
        SW_STR("file", sw_json_str(job->origin, "file")),
        SW_STR("host", sw_json_str(job->origin, "host")),
        SW_STR("folder", sw_json_str(job->origin, "folder")),
        SW_SUB("git", git ? json_incref((json_t *)git) : json_null()));
    json_object_update(what, brief);
    return what;
}

/* What is shown of the times: a job is created, submitted, started and ended in this order. A platform
 * starts it before its answer is written down, and where its clock is late, start and end move together. */
struct api_times {
    int64_t submitted, started, ended;
};

static struct api_times in_order(const struct sw_job *job)
{
    int64_t started = job->state == SW_PENDING ? 0 : job->started_ms;    /* put back: it begins anew */
    int64_t submitted = started && started < job->submitted_ms ? started : job->submitted_ms;
    int64_t late;

    if (submitted && submitted < job->created_ms)
        submitted = job->created_ms;
    late = started && started < submitted ? submitted - started : 0;
    return (struct api_times){ .submitted = submitted, .started = started + late,
                               .ended = job->ended_ms ? job->ended_ms + late : 0 };
}

static json_t *times_json(const struct sw_job *job)
{
    const struct api_times times = in_order(job);
    int64_t now = sw_now_ms(), end = times.ended ? times.ended : now, started = times.started;
    bool again = api_awaits_attempt(job);
    bool waits = job->phase == SW_PHASE_ACTIVE && job->state == SW_PENDING && !again;

    return sw_json_object(
        SW_SUB("created_at", api_time(job->created_ms)),
        SW_SUB("submitted_at", api_time(times.submitted)),
        SW_SUB("started_at", api_time(started)),
        SW_SUB("ended_at", api_time(times.ended)),
        SW_SUB("updated_at", api_time(job->updated_ms)),
        SW_SUB("seen_at", api_time(job->seen_ms)),
        SW_SUB("next_attempt_at", api_time(again ? job->not_before_ms : 0)),
        SW_SUB("expected_start_at", api_time(waits ? job->not_before_ms : 0)),
        SW_SUB("starts_in_ms", unless(-1, starts_in(job, now))),
        SW_SUB("progress", progress_json(job->progress)),
        SW_SUB("last_line", or_null(json_object_get(job->progress, "last_line"))),
        SW_SUB("last_output_at", api_time(sw_json_int(job->progress, "last_output_ms", 0))),
        SW_SUB("live", or_null(json_object_get(job->progress, "live"))),
        SW_SUB("runner", or_null(json_object_get(job->progress, "runner"))),
        SW_INT("age_ms", age(now, job->created_ms)),
        SW_SUB("seen_age_ms", unless(-1, job->seen_ms ? age(now, job->seen_ms) : -1)),
        SW_SUB("duration_ms", unless(-1, started ? age(end, started) : -1)),
        SW_SUB("labels", or_null(job->labels)));
}

/* What is known with these columns of the store. */
static json_t *job_json(const struct sw_job *job)
{
    sw_auto(json) json_t *times = times_json(job), *what = what_json(job);
    json_t *document = identity_json(job);

    json_object_update(document, times);
    json_object_update(document, what);
    return document;
}

/* A row of a list is written in its shape already: there may be very many. */
void api_job_put(struct sw_buf *out, const struct sw_job *job)
{
    sw_auto(json) json_t *row = job_json(job);

    sw_json_put(out, row);
}

json_t *api_job_whole(const struct sw_job *job, json_t *attempts)
{
    sw_auto(json) json_t *document = job_json(job);

    json_object_set(document, "attempts", attempts);
    if (job->plan)
        json_object_set_new(document, "gpu_hours", gpu_hours(job, attempts));
    return api_shaped(api_shape_job, document);
}
