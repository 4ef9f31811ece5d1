/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brev_observe.c - all jobs of a connection: at most one list of instances in a few seconds, and one list of
 * containers on each instance that has jobs.
 *
 * An instance that is stopped or does not answer says nothing about its jobs: they keep their state. Only the
 * list itself decides that a job ended with its instance: it failed, or it is gone from two lists in a row.
 */
#include "platform/brev/brev_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/reason.h"

struct brev_poll {
    struct brev_connection *conn;
    json_t *list, *again;            /* of instances; the second is asked for when one is missing */
    size_t silent;                   /* jobs whose engine does not answer */
    struct sw_error why;             /* and why; both under the connection's lock */
};

static void say(struct sw_observation *seen, enum sw_state state, const char *reason, const char *name,
                const char *words)
{
    seen->presence = SW_PRESENT;
    seen->state = state;
    snprintf(seen->reason, sizeof seen->reason, "%s", reason);
    snprintf(seen->message, sizeof seen->message, "instance %.63s %.180s", name, words);
}

/* It cannot be seen now: its state stays, and says why. */
static void keep(struct sw_observation *seen, const char *name, const char *words)
{
    seen->presence = SW_UNSEEN;
    if (seen->job.state != SW_UNKNOWN && !sw_text_empty(seen->job.remote_id))
        say(seen, seen->job.state, SW_REASON_UNREACHABLE, name, words);
}

static bool is_confirmed(const struct sw_jobref *job)
{
    return !sw_text_empty(sw_json_str(job->details, "instance_id"));
}

/* The list has no instance for it: a new one decides. -1: that one does not come. */
static int judge_missing(struct brev_poll *poll, struct sw_observation *seen, struct sw_error *err)
{
    const char *name = sw_json_str(seen->job.details, "instance");
    struct sw_error why = { 0 };

    if (!poll->again && !(poll->again = brev_list(poll->conn, BREV_NOW, err)))
        return -1;
    if (brev_instance_of(poll->conn, poll->again, &seen->job, &why) || why.code)
        return 0;                                   /* presence stays SW_UNSEEN */
    if (!is_confirmed(&seen->job)) {
        seen->presence = SW_ABSENT;
        return 0;
    }
    say(seen, SW_ERROR, SW_REASON_NODE_LOST, name ? name : "?", "was deleted, and its job with it");
    seen->by_absence = true;
    return 0;
}

/* What can be told from the list alone; for what cannot, *docker is its engine. */
static int place_job(struct brev_poll *poll, struct sw_observation *seen, struct sw_connection **docker,
                     struct sw_error *err)
{
    struct sw_error why = { 0 };
    const json_t *instance = brev_instance_of(poll->conn, poll->list, &seen->job, &why);
    const char *name = sw_json_str(instance, "name"), *note = NULL;

    if (!instance && why.code)
        return 0;                                   /* a member of its pool does not answer */
    if (!instance)
        return judge_missing(poll, seen, err);
    snprintf(seen->node, sizeof seen->node, "%s", name);
    switch (brev_use(instance, &note)) {
    case BREV_FAILED:
        if (is_confirmed(&seen->job))
            say(seen, SW_ERROR, SW_REASON_NODE_LOST, name, note);
        else
            seen->presence = SW_ABSENT;
        return 0;
    case BREV_USABLE:
    case BREV_UNCLEAR:
        *docker = brev_engine_at(poll->conn, instance, &why);
        if (!*docker)
            keep(seen, name, why.message);
        return 0;
    default:
        keep(seen, name, note);
        return 0;
    }
}

/* An engine that does not answer may have a new address. */
static int ask_engine(struct brev_connection *conn, struct sw_connection *docker, struct sw_observation *jobs,
                      size_t count, struct sw_error *why)
{
    if (docker_observe(docker, jobs, count, why) == 0)
        return 0;
    if (why->code != SW_E_UNREACHABLE || brev_refresh(conn, false, NULL) < 0)
        return -1;
    *why = (struct sw_error){ 0 };
    return docker_observe(docker, jobs, count, why);
}

static void observe_some(struct sw_connection *docker, void *elements, size_t count, void *context)
{
    struct sw_observation *jobs = elements;
    struct brev_poll *poll = context;
    char name[sizeof jobs[0].node];
    struct sw_error why = { 0 };

    snprintf(name, sizeof name, "%s", jobs[0].node);
    if (ask_engine(poll->conn, docker, jobs, count, &why) == 0)
        return;
    for (size_t i = 0; i < count; i++)
        keep(&jobs[i], name, why.message);
    pthread_mutex_lock(&poll->conn->lock);
    poll->silent += count;
    poll->why = why;
    pthread_mutex_unlock(&poll->conn->lock);
}

int brev_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count, struct sw_error *err)
{
    struct brev_poll poll = { .conn = brev_of(conn) };
    sw_autofree struct sw_connection **engines = sw_alloc((count + 1) * sizeof *engines);
    int result = 0;

    poll.list = brev_list(poll.conn, BREV_RECENT_MS, err);
    if (!poll.list)
        return -1;
    for (size_t i = 0; i < count && result == 0; i++)
        result = place_job(&poll, &jobs[i], &engines[i], err);
    if (result == 0)
        brev_by_engine(engines, jobs, sizeof *jobs, count, observe_some, &poll);
    if (result == 0 && count > 0 && poll.silent == count)
        result = sw_pass(err, &poll.why);           /* of none: the platform does not answer */
    json_decref(poll.list);
    json_decref(poll.again);
    return result;
}

static void reconcile_some(struct sw_connection *docker, void *elements, size_t count, void *context)
{
    (void)context;
    docker_reconcile(docker, elements, count);
}

void brev_reconcile(struct sw_connection *conn, const struct sw_observation *jobs, size_t count)
{
    sw_autofree struct sw_connection **engines = sw_alloc((count + 1) * sizeof *engines);
    sw_autofree struct sw_observation *seen = sw_alloc((count + 1) * sizeof *seen);

    for (size_t i = 0; i < count; i++) {
        bool acts = jobs[i].needs_reconcile || sw_text_same(jobs[i].reason, SW_REASON_ENDING) ||
                    sw_text_same(jobs[i].reason, SW_REASON_GPU_WAIT);

        seen[i] = jobs[i];
        engines[i] = acts ? brev_engine_of(brev_of(conn), &jobs[i].job, NULL) : NULL;
    }
    brev_by_engine(engines, seen, sizeof *seen, count, reconcile_some, NULL);
}
