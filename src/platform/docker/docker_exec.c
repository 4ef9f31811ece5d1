/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_exec.c - a command beside a running rank: what it prints comes here as it is printed, and its
 * exit status is ours. It gets no input.
 */
#include "platform/docker/docker_job.h"

#include <unistd.h>

#include "base/file.h"

static int print(void *context, const struct docker_message *message)
{
    (void)context;
    return sw_write_all(message->stream == 2 ? STDERR_FILENO : STDOUT_FILENO, message->bytes,
                        message->length);
}

static int feed(void *context, const struct sw_http_reply *so_far, const char *bytes, size_t length)
{
    (void)so_far;
    return docker_frames_feed(context, bytes, length);
}

static char *make_exec(struct docker_api *api, const char *container, char *const argv[],
                       struct sw_error *err)
{
    sw_autofree char *path = docker_path("/containers/", container, "/exec");
    sw_auto(json) json_t *words = json_array(), *body = NULL, *reply = NULL;

    for (; *argv; argv++)
        json_array_append_new(words, sw_json_text(*argv));
    body = sw_json_object(SW_BOOL("AttachStdout", true), SW_BOOL("AttachStderr", true),
                          SW_SUB("Cmd", sw_take(words)));
    if (docker_ask(api, &(struct docker_call){ .method = "POST", .path = path, .json = body },
                   &reply, err) < 0)
        return NULL;
    return sw_strdup(sw_json_str(reply, "Id"));
}

static int run_exec(struct docker_api *api, const char *exec, struct sw_error *err)
{
    sw_autofree char *path = docker_path("/exec/", exec, "/start");
    sw_auto(json) json_t *body = sw_json_object(SW_BOOL("Detach", false), SW_BOOL("Tty", false));
    struct docker_frames frames = { .take = print };
    int result = docker_ask(api, &(struct docker_call){ .method = "POST", .path = path, .json = body,
                                                        .sink = feed, .sink_context = &frames,
                                                        .stall_ms = -1 }, NULL, err);

    docker_frames_done(&frames);
    return result;
}

int docker_exec(struct sw_link *link, const struct sw_jobref *job, int replica, char *const argv[],
                int *exit_status, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    sw_auto(json) json_t *ended = NULL;
    sw_autofree char *exec = NULL, *path = NULL;
    char name[DOCKER_NAME_SIZE];

    if (docker_borrow(link, &lent, err) < 0)
        return -1;
    docker_name(name, job->id, job->attempt, (int)sw_json_int(job->plan, "nodes", 1),
                replica < 0 ? 0 : replica);
    exec = make_exec(lent.api, name, argv, err);
    if (!exec || run_exec(lent.api, exec, err) < 0)
        return sw_wrap(err, "cannot run a command beside '%s'", job->id);
    path = docker_path("/exec/", exec, "/json");
    if (docker_ask(lent.api, &(struct docker_call){ .path = path }, &ended, err) < 0)
        return -1;
    *exit_status = (int)sw_json_int(ended, "ExitCode", 1);
    return 0;
}
