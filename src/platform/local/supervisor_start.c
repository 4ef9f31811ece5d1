/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor_start.c - starting the runner: once to prepare, once per rank, once to collect.
 *
 * Each child is the leader of its own session and dies with us (PDEATHSIG); the mark in its
 * environment is how its offspring is found should we be killed. We wait until exec has
 * happened, so a child is never mistaken for a supervisor and a failed exec is a plain error.
 */
#include "platform/local/supervisor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "core/job_env.h"
#include "core/reason.h"
#include "platform/local/local_internal.h"

int sup_free_port(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;
    sw_autofd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) < 0)
        return 29400;
    return ntohs(at.sin_port);
}

static void set_all(const json_t *env, int overwrite)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)env, name, value)
        setenv(name, json_string_value(value), overwrite);
}

static void set_environment(const struct sup *sup, int rank)
{
    sw_auto(json) json_t *env = json_object(), *defaults = json_object();
    sw_auto(sw_buf) struct sw_buf workers = SW_BUF_INIT;
    const char *first = sw_json_str(sup->launch, "path_first"), *path = getenv("PATH");
    const char *gpus = rank >= 0 ? sup->replicas[rank].gpus : NULL;

    for (int i = 1; i < sup->nodes; i++)
        sw_buf_add(&workers, i > 1 ? ",127.0.0.1" : "127.0.0.1");
    sw_job_env_add(&(struct sw_job_env){
                       .job_id = sup->job_id, .attempt = sup->attempt, .nodes = sup->nodes,
                       .node_rank = rank < 0 ? 0 : rank, .gpus_per_node = sup->gpus,
                       .master_addr = "127.0.0.1", .master_port = sup->master_port,
                       .worker_addrs = sw_buf_text(&workers),
                       .world_size_ranks = sw_json_bool(sup->launch, "world_size_ranks", false) },
                   env);
    set_all(env, 1);
    sw_job_env_defaults(false, NULL, defaults);
    set_all(defaults, 0);
    setenv("CUDA_VISIBLE_DEVICES", gpus ? gpus : "", 1);
    setenv("SLIPWAY_JOB_DIR", sup->folder, 1);
    if (first) {
        sw_autofree char *longer = sw_format("%s:%s", first, path ? path : "/usr/bin:/bin");

        setenv("PATH", longer, 1);
    }
}

struct sup_runner_call {                        /* what a runner is started with */
    const struct sup *sup;
    int rank;
    const char *mode, *report;
    int log, secrets;                /* descriptors */
};

static void become_runner(void *context, struct sw_start_failure *why)
{
    const struct sup_runner_call *call = context;
    const struct sup *sup = call->sup;
    sw_autofree char *payload = sw_path_join(sup->folder, LOCAL_PAYLOAD);
    sw_autofree char *secrets = sw_format("%d", call->secrets);
    char *const argv[] = { (char *)"slipway-runner", (char *)call->mode, (char *)"--report",
                           (char *)call->report, (char *)"--secrets-fd", secrets, payload, NULL };

    setsid();
    dup2(call->log, 1);
    dup2(call->log, 2);
    fcntl(call->secrets, F_SETFD, 0);
    set_environment(sup, call->rank);
    if (call->rank < 0 && sup->end.decided) {
        sw_autofree char *code = sw_format("%d", sup->end.exit_code);

        setenv("SLIPWAY_EXIT_CODE", code, 1);       /* for the manifest of the results */
        if (json_object_get(sup->launch, "command_exit"))
            setenv("SLIPWAY_COLLECT_ONLY", code, 1);
    }
    if (call->rank >= 0) {
        sup_limits_join(&sup->limits);
        if (sup->cpus > 0 && !sup->limits.cgroup)
            sup_affinity(sup->cpus, call->rank);
    }
    execv(sup->runner, argv);
    why->error = errno;
}

/* `what`: the rank's number, or the mode; names its report. -1: errno says why. */
static pid_t start_runner(const struct sup *sup, int rank, const char *mode, const char *what,
                          const struct sup_log *log)
{
    sw_autofree char *report = sw_format("%s/report-%s.json", sup->folder, what);
    sw_autofd int secrets = local_secrets_file(sup->secrets);
    struct sup_runner_call call = { sup, rank, mode, report, log->pipe_write, secrets };
    struct sw_start_failure why = { 0 };
    pid_t pid = secrets < 0 ? -1 : sw_proc_start(become_runner, &call, &why, NULL);

    if (why.error)
        errno = why.error;
    return pid;
}

int sup_start_replica(struct sup *sup, int rank)
{
    struct sup_replica *replica = &sup->replicas[rank];
    sw_autofree char *name = sw_format("%d", rank);
    pid_t pid = start_runner(sup, rank, "run", name, &replica->log);

    if (pid < 0) {
        sup_decide(sup, SW_ERROR, SW_REASON_START, 126, "cannot start the runner for rank %d: %s", rank,
                   strerror(errno));
        return -1;
    }
    replica->pid = pid;
    replica->started_ms = sw_now_ms();
    return 0;
}

int sup_start_helper(struct sup *sup, const char *mode)
{
    pid_t pid = start_runner(sup, -1, mode, mode, &sup->replicas[0].log);

    sup->helper = pid < 0 ? 0 : pid;
    return pid < 0 ? -1 : 0;
}
