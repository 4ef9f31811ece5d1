/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_run.c - the run of one rank of a Ray cluster, as the runner sees it: on rank 0 the keeper beside the
 * command, on the others, and where no command is, the keeper alone.
 *
 * The job's exit code is the command's, and so rank 0's: the other ranks end with 0 when they served until
 * the end. A cluster that broke is a failure of its own, whatever the command made of it.
 */
#include "runner/ray.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/stop.h"

enum { END_MS = 20000, AFTER_GRACE_MS = 12000 };

/* ---- for the command ------------------------------------------------------------------------------ */

void runner_ray_environment(const char *folder, const char *address, int dashboard)
{
    sw_autofree char *path = sw_format("%s/token", folder);
    sw_autofree char *url = sw_format("http://127.0.0.1:%d", dashboard);

    setenv("RAY_AUTH_MODE", "token", 1);
    setenv("RAY_AUTH_TOKEN_PATH", path, 1);
    unsetenv("RAY_AUTH_TOKEN");
    setenv("RAY_ADDRESS", address, 1);
    if (dashboard)
        setenv("RAY_API_SERVER_ADDRESS", url, 1);
    else
        unsetenv("RAY_API_SERVER_ADDRESS");
}

void runner_ray_of_command(const struct runner_ray *ray)
{
    runner_ray_environment(ray->shared->folder, ray->shared->address, ray->shared->dashboard);
}

bool runner_ray_failed(const struct runner_ray *ray)
{
    return ray->shared->state == RAY_FAILED;
}

/* ---- the keeper ----------------------------------------------------------------------------------- */

static int begin(struct runner *runner, struct runner_ray *ray, struct sw_error *err)
{
    int orders[2], news[2];

    ray->shared = mmap(NULL, sizeof *ray->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ray->shared == MAP_FAILED || pipe2(orders, O_CLOEXEC) < 0 || pipe2(news, O_CLOEXEC) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot create a pipe for Ray");
    ray->keeper = runner_fork(RUNNER_PHASE);
    if (ray->keeper == 0) {
        close(orders[1]);
        close(news[0]);
        ray_keep(runner, ray->shared, orders[0], news[1]);
    }
    close(orders[0]);
    close(news[1]);
    ray->orders = orders[1];
    ray->news = news[0];
    return ray->keeper > 0 ? 0 : sw_fail_errno(err, SW_E_IO, "cannot start a process");
}

/* In a process of its own, so that a stop is heard meanwhile: until the keeper says that all are there (0),
 * or ends (1). */
static void await_news(const struct runner_ray *ray)
{
    char word;

    _exit(read(ray->news, &word, 1) == 1 ? 0 : 1);
}

static void beat(void *context)
{
    runner_beat(context, "running");
}

static int gather(struct runner *runner, const struct runner_ray *ray, struct runner_result *result)
{
    struct runner_child child = { .kind = RUNNER_PHASE, .pid = runner_fork(RUNNER_PHASE),
                                  .grace_ms = runner->payload->grace_ms,
                                  .time_grace_ms = runner->payload->time_grace_ms, .tick = beat,
                                  .context = runner };
    int status;

    if (child.pid == 0)
        await_news(ray);
    status = child.pid > 0 ? runner_watch(&child, result) : -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && !result->stopped ? 0 : -1;
}

/* The command is over: so is the cluster. Its keeper may be reaped already: its pipe says when it is gone. */
static void end(struct runner_ray *ray, bool failed)
{
    int64_t until = sw_monotonic_ms() + END_MS, left;
    struct pollfd wait = { .fd = ray->news, .events = 0 };

    if (failed && write(ray->orders, "f", 1) < 0)
        wait.revents = 0;                        /* it has ended: that is what we wait for */
    close(ray->orders);
    while (!(wait.revents & POLLHUP) && (left = until - sw_monotonic_ms()) > 0)
        poll(&wait, 1, (int)left);
    if (!(wait.revents & POLLHUP))
        kill(ray->keeper, SIGKILL);
    waitpid(ray->keeper, NULL, wait.revents & POLLHUP ? 0 : WNOHANG);
    close(ray->news);
}

/* ---- how it ended ---------------------------------------------------------------------------------- */

/* Logs that lie in our own folder are brought with the outputs. */
static void bring_logs(struct runner *runner)
{
    const struct runner_scratch *scratch = &runner->scratch;
    sw_autofree char *path = sw_format("%s/ray-logs/rank-%d", scratch->work_dir, scratch->rank);
    sw_autofree char *to = sw_format("%s/ray-logs/rank-%d", scratch->results_root, scratch->rank);

    if (scratch->kind == RUNNER_S3 && sw_file_exists(path))
        json_array_append_new(runner->outputs, sw_json_object(SW_STR("path", path), SW_STR("to", to),
                                                              SW_BOOL("each_rank", true)));
}

static int judge(const struct runner_ray *ray, struct runner_result *result, struct sw_error *err)
{
    if (!runner_ray_failed(ray) || result->canceled || result->timed_out || result->stopped_ms)
        return 0;
    result->stopped = false;                     /* we ended the command ourselves */
    result->signal = 0;
    result->exit_code = ray->shared->exit_code;
    result->failed = ray->shared->phase;
    if (err)
        *err = ray->shared->err;
    return -1;
}

static int stopped_early(struct runner_result *result)
{
    result->exit_code = result->timed_out ? RUNNER_TIME_UP : 128 + SIGTERM;
    return 0;
}

static int run_keeper(struct runner *runner, const struct runner_ray *ray, struct runner_result *result)
{
    struct runner_child child = { .kind = RUNNER_PHASE, .pid = ray->keeper,
                                  .grace_ms = runner->payload->grace_ms + AFTER_GRACE_MS,
                                  .time_grace_ms = runner->payload->time_grace_ms
                                                       ? runner->payload->time_grace_ms + AFTER_GRACE_MS : 0,
                                  .tick = beat, .context = runner };
    int status = runner_watch(&child, result);

    result->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (result->timed_out)
        result->exit_code = RUNNER_TIME_UP;
    return 0;
}

int runner_ray_run(struct runner *runner, struct runner_result *result, struct sw_error *err)
{
    struct runner_ray ray = { 0 };
    bool alone = runner->scratch.rank != 0 || json_object_get(runner->payload->ray, "idle_ms");
    int outcome;

    runner_block_signals();
    if (begin(runner, &ray, err) < 0)
        return -1;
    if (alone) {
        outcome = run_keeper(runner, &ray, result);
        end(&ray, false);
    } else if (gather(runner, &ray, result) < 0) {
        outcome = stopped_early(result);
        end(&ray, false);
    } else {
        runner->ray = &ray;
        outcome = runner_run_command(runner, result, err);
        end(&ray, outcome < 0 || (result->exit_code != 0 && !result->stopped_ms && !result->timed_out));
        runner->ray = NULL;
    }
    if (judge(&ray, result, err) < 0)
        outcome = -1;
    bring_logs(runner);
    munmap(ray.shared, sizeof *ray.shared);
    return outcome;
}
