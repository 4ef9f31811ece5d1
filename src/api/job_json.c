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
#include "base/text.h"
#include "core/command.h"
#include "core/id.h"
#include "core/reason.h"

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
    json_t *progress;

    if (sw_json_int(stored, "seen_ms", 0) <= 0)
        return NULL;
    progress = json_object();
    for (size_t i = 0; i < SW_COUNT(shown); i++)
        if (json_object_get(stored, shown[i]))
            json_object_set(progress, shown[i], json_object_get(stored, shown[i]));
    return progress;
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

/* "2026-05-21T22:50:54.123Z"; null: not yet. */
static json_t *time_json(int64_t at_ms)
{
    char text[40];

    if (at_ms == 0)
        return json_null();
    sw_time_format(at_ms, text);
    return json_string(text);
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
        SW_STR("place", job->address),
        SW_STR("backend_job_id", job->remote_id ? job->remote_id : ""),
        SW_SUB("backend_details", job->details ? json_incref(job->details) : json_object()),
        SW_STR("results_dir", job->results_dir ? job->results_dir : ""),
        SW_STR("results_place", place),
        SW_SUB("outputs", outputs_sent(job)),
        SW_SUB("split", split_json(job)),
        SW_SUB("nodes", job->plan ? json_integer(sw_json_int(job->plan, "nodes", 1)) : NULL),
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

static json_t *times_json(const struct sw_job *job)
{
    int64_t now = sw_now_ms(), end = job->ended_ms ? job->ended_ms : now;
    int64_t started = job->state == SW_PENDING ? 0 : job->started_ms;    /* put back: it begins anew */
    bool again = api_awaits_attempt(job);
    bool waits = job->phase == SW_PHASE_ACTIVE && job->state == SW_PENDING && !again;
    json_t *progress = progress_json(job->progress);

    return sw_json_object(
        SW_SUB("created_at", time_json(job->created_ms)),
        SW_SUB("submitted_at", time_json(job->submitted_ms)),
        SW_SUB("started_at", time_json(started)),
        SW_SUB("ended_at", time_json(job->ended_ms)),
        SW_SUB("updated_at", time_json(job->updated_ms)),
        SW_SUB("seen_at", time_json(job->seen_ms)),
        SW_SUB("next_attempt_at", time_json(again ? job->not_before_ms : 0)),
        SW_SUB("expected_start_at", time_json(waits ? job->not_before_ms : 0)),
        SW_SUB("starts_in_ms", unless(-1, starts_in(job, now))),
        SW_SUB("progress", progress ? progress : json_null()),
        SW_SUB_COPY("last_line", json_object_get(job->progress, "last_line")),
        SW_SUB("last_output_at", time_json(sw_json_int(job->progress, "last_output_ms", 0))),
        SW_SUB_COPY("live", json_object_get(job->progress, "live")),
        SW_SUB_COPY("runner", json_object_get(job->progress, "runner")),
        SW_INT("age_ms", age(now, job->created_ms)),
        SW_SUB("seen_age_ms", unless(-1, job->seen_ms ? age(now, job->seen_ms) : -1)),
        SW_SUB("duration_ms", unless(-1, started ? age(end, started) : -1)),
        SW_SUB_COPY("labels", job->labels));
}

void api_job_put(struct sw_buf *out, const struct sw_job *job, json_t *attempts, json_t *unreachable)
{
    sw_auto(json) json_t *document = identity_json(job), *times = times_json(job);

    json_object_update(document, times);
    if (attempts)
        json_object_set(document, "attempts", attempts);
    if (unreachable)
        json_object_set(document, "unreachable", unreachable);
    sw_json_put(out, document);
}
