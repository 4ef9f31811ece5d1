/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe_prober.c - a connection of the Kubernetes platform that obeys lines of JSON, for try-observe.
 *
 *     {"do": "observe", "jobs": [{"id", "remote_id", "attempt", "engine", "plan"}]}  ->  observations
 *     {"do": "reconcile", "jobs": [...]}      observes, and acts on it               ->  the same
 *     {"do": "replicas", "jobs": [one]}                                              ->  an array
 *     {"do": "watch"}                         starts the watch                       ->  true
 *     {"do": "wait", "ms": N}                 until the watch wakes its caller       ->  false: it did not
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "core/state.h"
#include "platform/platform.h"

extern const struct sw_platform sw_platform_kubernetes;

static void answer(json_t *document)
{
    char *text = sw_json_dump(document);

    puts(text);
    fflush(stdout);
    free(text);
    json_decref(document);
}

static json_t *shown(const struct sw_observation *seen)
{
    static const char *const presence[] = { "unseen", "present", "absent" };

    return sw_json_object(
        SW_STR("presence", presence[seen->presence]), SW_STR("state", sw_state_name(seen->state)),
        SW_STR("reason", seen->reason), SW_STR("message", seen->message),
        SW_INT("exit_code", seen->exit_code), SW_STR("node", seen->node),
        SW_STR("remote_id", seen->remote_id), SW_INT("attempt", seen->attempt),
        SW_INT("failed_replica", seen->failed_replica), SW_BOOL("needs_reconcile", seen->needs_reconcile),
        SW_INT("started_ms", seen->started_ms), SW_INT("ended_ms", seen->ended_ms),
        SW_SUB_COPY("before", seen->before), SW_SUB_COPY("facts", seen->facts));
}

static struct sw_observation asked(const json_t *job)
{
    return (struct sw_observation){ .job = {
        .id = sw_json_str(job, "id"), .remote_id = sw_json_str(job, "remote_id"),
        .attempt = (int)sw_json_int(job, "attempt", 1), .plan = json_object_get(job, "plan"),
        .details = job } };
}

static json_t *observe(struct sw_connection *conn, const json_t *jobs, bool acts)
{
    size_t count = json_array_size(jobs);
    struct sw_observation *seen = sw_alloc((count + 1) * sizeof *seen);
    struct sw_error err = { 0 };
    json_t *out = json_array();

    for (size_t i = 0; i < count; i++)
        seen[i] = asked(json_array_get(jobs, i));
    if (sw_platform_kubernetes.observe(conn, seen, count, &err) < 0) {
        json_decref(out);
        out = sw_json_object(SW_STR("error", err.message), SW_INT("code", err.code));
    } else if (acts) {
        sw_platform_kubernetes.reconcile(conn, seen, count);
    }
    for (size_t i = 0; i < count; i++) {
        if (json_is_array(out))
            json_array_append_new(out, shown(&seen[i]));
        sw_observation_done(&seen[i]);
    }
    free(seen);
    return out;
}

static json_t *wait_for(struct sw_connection *conn, int ms)
{
    struct pollfd one = { .fd = sw_platform_kubernetes.wake_fd(conn), .events = POLLIN };
    bool woke = poll(&one, 1, ms) == 1;
    uint64_t bytes;

    if (woke)
        (void)!read(one.fd, &bytes, sizeof bytes);
    return json_boolean(woke);
}

static json_t *obey(struct sw_connection *conn, const json_t *line)
{
    const char *what = sw_json_str(line, "do");
    const json_t *jobs = json_object_get(line, "jobs");
    struct sw_error err = { 0 };
    json_t *out;

    if (what && strcmp(what, "watch") == 0)
        return json_boolean(sw_platform_kubernetes.wake_fd(conn) >= 0);
    if (what && strcmp(what, "wait") == 0)
        return wait_for(conn, (int)sw_json_int(line, "ms", 0));
    if (what && strcmp(what, "replicas") == 0) {
        struct sw_observation one = asked(json_array_get(jobs, 0));

        out = sw_platform_kubernetes.replicas(conn, &one.job, &err);
        return out ? out : sw_json_object(SW_STR("error", err.message));
    }
    return observe(conn, jobs, what && strcmp(what, "reconcile") == 0);
}

int main(int argc, char **argv)
{
    struct sw_connect_options config = { .state_dir = argc > 1 ? argv[1] : "/nonexistent",
                                         .env = sw_env_process };
    struct sw_error err = { 0 };
    struct sw_connection *conn = sw_platform_kubernetes.open(&config, &err);
    char *line = NULL;
    size_t size = 0;

    if (!conn) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    while (getline(&line, &size, stdin) > 0) {
        json_t *asked_for = json_loads(line, 0, NULL);

        answer(obey(conn, asked_for));
        json_decref(asked_for);
    }
    free(line);
    sw_platform_kubernetes.close(conn);
    return 0;
}
