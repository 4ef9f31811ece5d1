/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brev_observe.c - all jobs of a connection: one list of instances, and one list of containers on each
 * instance that has jobs.
 *
 * An instance that is stopped or does not answer says nothing about its jobs: they keep their state. Only the
 * list itself decides that a job ended with its instance: it failed, or it is gone from two lists in a row.
 */
#include "platform/brev/brev_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/parallel.h"
#include "base/text.h"
#include "core/reason.h"

enum { INSTANCES_AT_ONCE = 8 };

struct brev_poll {
    struct brev_connection *conn;
    struct sw_observation *jobs;
    json_t *list, *again;            /* of instances; the second is asked for when one is missing */
    struct brev_groups groups;
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

/* The list has no instance for it. -1: a second list does not come. */
static int judge_missing(struct brev_poll *poll, struct sw_observation *seen, struct sw_error *err)
{
    const char *name = sw_json_str(seen->job.details, "instance");

    if (!is_confirmed(&seen->job)) {
        seen->presence = SW_ABSENT;
        return 0;
    }
    if (!poll->again && !(poll->again = brev_list(poll->conn, err)))
        return -1;
    if (brev_find(poll->again, sw_json_str(seen->job.details, "instance_id")))
        return 0;                                   /* presence stays SW_UNSEEN */
    say(seen, SW_ERROR, SW_REASON_NODE_LOST, name ? name : "?", "was deleted, and its job with it");
    seen->by_absence = true;
    return 0;
}

/* What can be told from the list alone; what cannot joins the group of its engine. */
static int place_job(struct brev_poll *poll, size_t index, struct sw_error *err)
{
    struct sw_observation *seen = &poll->jobs[index];
    struct sw_error why = { 0 };
    const json_t *instance = brev_instance_of(poll->conn, poll->list, &seen->job, &why);
    const char *name = sw_json_str(instance, "name"), *note = NULL;
    struct sw_connection *docker;

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
        docker = brev_engine(poll->conn, name, sw_json_str(instance, "id"), &why);
        if (docker)
            brev_groups_add(&poll->groups, docker, instance, index);
        else
            keep(seen, name, why.message);
        return 0;
    default:
        keep(seen, name, note);
        return 0;
    }
}

/* "It is not there" counts only on the engine that the job was sent to. */
static void doubt_absence(struct brev_connection *conn, const struct brev_group *group,
                          struct sw_observation *jobs)
{
    const char *name = sw_json_str(group->instance, "name");
    sw_auto(sw_buf) struct sw_buf identity = SW_BUF_INIT;
    bool asked = false;

    for (size_t i = 0; i < group->count; i++) {
        struct sw_observation *seen = &jobs[i];
        const char *was = sw_json_str(seen->job.details, "engine_id");

        if ((seen->presence == SW_PRESENT && !seen->by_absence) || !was)
            continue;
        if (!asked &&
            brev_engine_identity(conn, name, sw_json_str(group->instance, "id"), &identity, NULL) < 0)
            sw_buf_clear(&identity);
        asked = true;
        if (!identity.length || !sw_identity_same(was, sw_buf_text(&identity))) {
            seen->by_absence = false;
            keep(seen, name, "has another Docker engine than the one the job was sent to");
        }
    }
}

static int ask_engine(struct brev_connection *conn, struct brev_group *group, struct sw_observation *jobs)
{
    if (docker_observe(group->docker, jobs, group->count, &group->why) == 0)
        return 0;
    if (group->why.code != SW_E_UNREACHABLE || brev_refresh(conn, false, NULL) < 0)
        return -1;
    group->why = (struct sw_error){ 0 };            /* its address may have changed */
    return docker_observe(group->docker, jobs, group->count, &group->why);
}

static void observe_group(void *context, size_t index)
{
    struct brev_poll *poll = context;
    struct brev_group *group = &poll->groups.all[index];
    sw_autofree struct sw_observation *jobs = sw_alloc((group->count + 1) * sizeof *jobs);
    const char *name = sw_json_str(group->instance, "name");

    for (size_t i = 0; i < group->count; i++)
        jobs[i] = poll->jobs[group->which[i]];
    if (ask_engine(poll->conn, group, jobs) < 0)
        for (size_t i = 0; i < group->count; i++)
            keep(&jobs[i], name, group->why.message);
    else
        doubt_absence(poll->conn, group, jobs);
    for (size_t i = 0; i < group->count; i++)
        poll->jobs[group->which[i]] = jobs[i];
}

static void poll_done(struct brev_poll *poll)
{
    brev_groups_done(&poll->groups);
    json_decref(poll->list);
    json_decref(poll->again);
}

/* Every engine that was asked is silent, and nothing else is known: the platform does not answer. */
static int all_silent(const struct brev_poll *poll, size_t count, struct sw_error *err)
{
    size_t silent = 0;

    for (size_t i = 0; i < poll->groups.count; i++)
        silent += poll->groups.all[i].why.code ? poll->groups.all[i].count : 0;
    return count > 0 && silent == count ? sw_pass(err, &poll->groups.all[0].why) : 0;
}

int brev_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count, struct sw_error *err)
{
    struct brev_poll poll = { .conn = brev_of(conn), .jobs = jobs };
    int result = 0;

    poll.list = brev_list(poll.conn, err);
    if (!poll.list)
        return -1;
    for (size_t i = 0; i < count && result == 0; i++)
        result = place_job(&poll, i, err);
    if (result == 0) {
        sw_parallel(poll.groups.count, INSTANCES_AT_ONCE, observe_group, &poll);
        result = all_silent(&poll, count, err);
    }
    poll_done(&poll);
    return result;
}

void brev_reconcile(struct sw_connection *conn, const struct sw_observation *jobs, size_t count)
{
    sw_auto(brev_groups) struct brev_groups groups = { 0 };

    for (size_t i = 0; i < count; i++) {
        bool acts = jobs[i].needs_reconcile || sw_text_same(jobs[i].reason, SW_REASON_ENDING) ||
                    sw_text_same(jobs[i].reason, SW_REASON_GPU_WAIT);
        struct sw_connection *docker = acts ? brev_engine_of(brev_of(conn), &jobs[i].job, NULL) : NULL;

        if (docker)
            brev_groups_add(&groups, docker, NULL, i);
    }
    for (size_t g = 0; g < groups.count; g++) {
        const struct brev_group *group = &groups.all[g];
        sw_autofree struct sw_observation *some = sw_alloc(group->count * sizeof *some);

        for (size_t i = 0; i < group->count; i++)
            some[i] = jobs[group->which[i]];
        docker_reconcile(group->docker, some, group->count);
    }
}
