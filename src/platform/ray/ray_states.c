/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_states.c - what Ray says about a job, in our words.
 *
 * Ray has five words for a state and, since 2.40, a type for each failure. A job that failed shows the last
 * ten lines of its log as its message: the runner's report is among them, so the list alone says how every
 * job ended. A word that is no row is SW_UNKNOWN, never an error.
 *
 * Pure: no I/O, no clock.
 */
#include "platform/ray/ray_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/reason.h"
#include "core/state.h"

static const struct sw_state_word words[] = {
    { "PENDING",   SW_PENDING,  NULL },
    { "RUNNING",   SW_RUNNING,  NULL },
    { "STOPPED",   SW_CANCELED, NULL },
    { "SUCCEEDED", SW_COMPLETE, NULL },
    { "FAILED",    SW_ERROR,    NULL },
};

/* Why it failed, where its command did not end by itself. The first row that matches counts: by type, and
 * for what old versions only write, by the message. */
static const struct failure {
    const char *type, *words;        /* NULL: any */
    const char *reason, *note;
} failures[] = {
    { "JOB_ENTRYPOINT_COMMAND_START_ERROR", NULL, SW_REASON_START, "Ray could not start the driver" },
    { "RUNTIME_ENV_SETUP_FAILURE", "_ray_pkg_", SW_REASON_LOST,
      "the cluster no longer has the job's package" },
    { "RUNTIME_ENV_SETUP_FAILURE", NULL, SW_REASON_PREPARE, "Ray could not make its runtime environment" },
    { "JOB_SUPERVISOR_ACTOR_START_TIMEOUT", "entrypoint's specified resources", SW_REASON_NOT_STARTED,
      "the cluster had no resources for the driver within its limit" },
    { "JOB_SUPERVISOR_ACTOR_START_TIMEOUT", NULL, SW_REASON_LOST,
      "the cluster did not start the driver within its limit" },
    { "JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE", NULL, SW_REASON_NOT_STARTED,
      "no node can run the driver now" },
    { "JOB_SUPERVISOR_ACTOR_START_FAILURE", NULL, SW_REASON_LOST, "Ray could not start its supervisor" },
    { "JOB_SUPERVISOR_ACTOR_DIED", "low on memory", SW_REASON_MEMORY,
      "the node ran out of memory, and Ray ended the job" },
    { "JOB_SUPERVISOR_ACTOR_DIED", NULL, SW_REASON_NODE_LOST, "the node that ran the driver failed" },
    { "JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE", NULL, SW_REASON_NODE_LOST, "Ray lost the driver's supervisor" },
    { NULL, "runtime_env setup failed", SW_REASON_PREPARE, "Ray could not make its runtime environment" },
    { NULL, "failed to start within", SW_REASON_NOT_STARTED,
      "the cluster did not start the driver within its limit" },
    { NULL, "actor died", SW_REASON_NODE_LOST, "the node that ran the driver failed" },
    { NULL, "Unexpected error occurred", SW_REASON_NODE_LOST, "Ray lost the driver's supervisor" },
};

/* A supervisor that never ran and was ended by name: that is how a job that waits is canceled. */
static bool was_taken_back(const json_t *job)
{
    const char *said = sw_json_str(job, "message");

    return !sw_json_str(job, "driver_agent_http_address") && said && strstr(said, "killed by `ray.kill`");
}

enum sw_state ray_state(const char *said)
{
    return sw_state_lookup(words, SW_COUNT(words), said, NULL);
}

bool ray_is_over(const json_t *job)
{
    return sw_state_is_final(ray_state(sw_json_str(job, "status")));
}

bool ray_is_stuck(const json_t *job, int64_t limit_ms, int64_t now_ms)
{
    return ray_state(sw_json_str(job, "status")) == SW_PENDING &&
           !sw_json_str(job, "driver_agent_http_address") &&
           now_ms - sw_json_int(job, "start_time", now_ms) > limit_ms + RAY_STUCK_SLACK_MS;
}

static const struct failure *failure_of(const json_t *job)
{
    const char *type = sw_json_str(job, "error_type"), *said = sw_json_str(job, "message");

    for (size_t i = 0; i < SW_COUNT(failures); i++)
        if ((!failures[i].type || sw_text_same(failures[i].type, type)) && (failures[i].type || !type) &&
            (!failures[i].words || (said && strstr(said, failures[i].words))))
            return &failures[i];
    return NULL;
}

/* A driver that a signal ended has a negative code. */
static int exit_code_of(const json_t *job)
{
    const json_t *code = json_object_get(job, "driver_exit_code");
    int value = (int)json_integer_value(code);

    return !json_is_integer(code) ? SW_NO_EXIT_CODE : value < 0 ? 128 - value : value;
}

/* Ray has it, and no driver of it was ever started. */
static void read_stuck(struct sw_observation *seen)
{
    sw_jobs_say(seen, SW_ERROR, SW_REASON_LOST, "Ray has the job and never started its driver: its submit "
                "was cut off inside the cluster");
}

static void read_end(const json_t *job, enum sw_state state, struct sw_observation *seen)
{
    const char *tail = sw_json_str(job, "tail");
    struct sw_jobs_rank rank = {
        .rank = { .presence = SW_PRESENT, .state = state, .started_ms = seen->started_ms,
                  .ended_ms = seen->ended_ms },
        .exit_code = exit_code_of(job), .log_tail = tail ? tail : sw_json_str(job, "message") };
    const struct failure *failure = state == SW_ERROR && rank.exit_code == SW_NO_EXIT_CODE ? failure_of(job)
                                                                                          : NULL;
    const char *said = sw_json_str(job, "message");

    if (state == SW_CANCELED)
        rank.exit_code = SW_NO_EXIT_CODE;
    sw_jobs_read_ranks(&rank, 1, state == SW_CANCELED, seen);
    if (failure) {
        sw_autofree char *message = sw_format("%s: %.180s", failure->note, said ? said : "");

        sw_jobs_say(seen, SW_ERROR, failure->reason, message);
    }
}

static void read_waiting(const json_t *job, struct sw_observation *seen)
{
    const char *missing = sw_json_str(job, "waits_for"), *said = sw_json_str(job, "message");
    bool resources = missing || (said && strstr(said, "waiting for resources"));

    sw_jobs_say(seen, SW_PENDING, resources ? SW_REASON_RESOURCES : SW_REASON_STARTING,
                missing ? missing : resources ? "it waits for free resources of the cluster"
                : "Ray prepares its runtime environment");
}

void ray_read(const json_t *job, struct sw_observation *seen)
{
    const char *said = sw_json_str(job, "status"), *missing = sw_json_str(job, "waits_for");
    const char *node = sw_at_text(job, "driver_info.node_ip_address");
    const char *agent = sw_json_str(job, "driver_agent_http_address");
    enum sw_state state = was_taken_back(job) ? SW_CANCELED : ray_state(said);

    seen->presence = SW_PRESENT;
    seen->exit_code = SW_NO_EXIT_CODE;
    seen->failed_replica = -1;
    seen->started_ms = agent ? sw_json_int(job, "start_time", 0) : 0;
    seen->ended_ms = sw_json_int(job, "end_time", 0);
    snprintf(seen->remote_id, sizeof seen->remote_id, "%s", sw_json_str(job, "submission_id"));
    if (node)
        snprintf(seen->node, sizeof seen->node, "%s", node);
    else if (agent && sw_text_starts(agent, "http://"))
        snprintf(seen->node, sizeof seen->node, "%.*s", (int)strcspn(agent + 7, ":"), agent + 7);
    seen->wants_secrets = sw_json_bool(job, "wants_secrets", false);
    if (sw_json_bool(job, "stuck", false))
        read_stuck(seen);
    else if (state == SW_PENDING)
        read_waiting(job, seen);
    else if (seen->wants_secrets)
        sw_jobs_say(seen, SW_RUNNING, SW_REASON_STARTING, "its runner waits for its secrets");
    else if (state == SW_RUNNING)
        sw_jobs_say(seen, SW_RUNNING, missing ? SW_REASON_RESOURCES : "", missing);
    else if (state == SW_UNKNOWN)
        sw_jobs_say(seen, SW_UNKNOWN, "", said ? said : "Ray gave no state");
    else
        read_end(job, state, seen);
}
