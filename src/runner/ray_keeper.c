/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_keeper.c - the process beside the command that keeps this rank's part of the Ray cluster.
 *
 * It is a process of its own, so that everything below it is Ray's and can be ended whole, and so that Ray
 * ends also when the runner was killed. On rank 0 the runner tells it by a pipe that the command is over;
 * on the others it is what the runner waits for. A stop from outside is the command's first: the nodes stay
 * while it saves its state, and end when it has, or when the grace is used up.
 */
#include "runner/ray.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

enum { LOOK_MS = 200, COMMAND_MS = 5000, SETTLE_MS = 500, TRIES = 3 };

int ray_fail(struct ray_keeper *keeper, const char *phase, const struct sw_error *why)
{
    struct ray_shared *shared = keeper->shared;

    /* A scheduler may have sent the stop to Ray's processes, too: their end is no failure then. */
    if (shared->state == RAY_FAILED || keeper->stop_by_ms)
        return -1;
    shared->err = *why;
    shared->phase = phase;
    shared->exit_code = why->code == SW_E_NOT_FOUND ? RUNNER_NOT_FOUND : RUNNER_IO;
    shared->state = RAY_FAILED;
    keeper->end_by_ms = sw_monotonic_ms() + COMMAND_MS;
    return -1;
}

/* ---- what comes ---------------------------------------------------------------------------------- */

static void take_signals(struct ray_keeper *keeper)
{
    struct signalfd_siginfo info;

    while (read(keeper->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        bool stops = info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT || info.ssi_signo == SIGQUIT ||
                     info.ssi_signo == SIGXCPU;

        if (stops && !keeper->stop_by_ms)
            keeper->stop_by_ms = sw_monotonic_ms() + keeper->runner->payload->grace_ms;
    }
}

/* The runner closes its end when the command is over, or when it was killed; before that it says how the
 * command ended. */
static void take_orders(struct ray_keeper *keeper)
{
    char word;
    ssize_t n = read(keeper->orders, &word, 1);

    if (n < 0)
        return;
    keeper->command_failed |= n > 0 && word == 'f';
    keeper->told_to_end = true;
    close(keeper->orders);
    keeper->orders = -1;
}

void ray_keeper_turn(struct ray_keeper *keeper, const struct ray_link *more, size_t count, int listener,
                     int64_t wait_ms)
{
    enum { OWN = 4 };
    sw_autofree struct pollfd *wait = sw_realloc_array(NULL, OWN + count, sizeof *wait);

    wait[0] = (struct pollfd){ keeper->signals, POLLIN, 0 };
    wait[1] = (struct pollfd){ keeper->orders, POLLIN, 0 };
    wait[2] = (struct pollfd){ keeper->ray.output, POLLIN, 0 };
    wait[3] = (struct pollfd){ listener, POLLIN, 0 };
    for (size_t i = 0; i < count; i++)
        wait[OWN + i] = (struct pollfd){ more[i].fd, POLLIN, 0 };
    poll(wait, OWN + count, (int)(wait_ms < LOOK_MS ? wait_ms : LOOK_MS));
    take_signals(keeper);
    if (keeper->orders >= 0 && wait[1].revents)
        take_orders(keeper);
    ray_process_read(&keeper->ray);
}

bool ray_keeper_ends(const struct ray_keeper *keeper)
{
    int64_t now = sw_monotonic_ms();

    return keeper->told_to_end || (keeper->stop_by_ms && now >= keeper->stop_by_ms) ||
           (keeper->end_by_ms && now >= keeper->end_by_ms);
}

/* ---- Ray here ------------------------------------------------------------------------------------- */

static void describe_end(const struct ray_process *ray, struct sw_error *why)
{
    if (!ray->started)
        sw_fail(why, SW_E_IO, "could not start Ray: %s", ray->last[0] ? ray->last : "it printed nothing");
    else if (ray->pid == 0 && WIFSIGNALED(ray->status))
        sw_fail(why, SW_E_IO, "lost its Ray node: `ray start` was ended by signal %d", WTERMSIG(ray->status));
    else
        sw_fail(why, SW_E_IO, "lost its Ray node: a server of Ray ended");
}

/* Ray gives itself 30 s, whatever else the machine has to do. */
static int start_again(struct ray_keeper *keeper, struct sw_error *why)
{
    runner_log("Ray did not start (%s): trying again", keeper->ray.last);
    ray_process_end(&keeper->ray);
    return ray_process_start(&keeper->ray, keeper->runner, &keeper->node, why);
}

int ray_keeper_check(struct ray_keeper *keeper, struct sw_error *why)
{
    int64_t until = sw_monotonic_ms() + SETTLE_MS, left;

    if (!ray_process_over(&keeper->ray))
        return 0;
    /* A stop that was sent to all processes reaches us as well, and explains the end of Ray's. */
    while (!keeper->stop_by_ms && !keeper->told_to_end && (left = until - sw_monotonic_ms()) > 0)
        ray_keeper_turn(keeper, NULL, 0, -1, left);
    if (!keeper->ray.started && !keeper->stop_by_ms && !keeper->told_to_end && keeper->tries++ < TRIES)
        return start_again(keeper, why);
    describe_end(&keeper->ray, why);
    return -1;
}

/* ---- begin and end --------------------------------------------------------------------------------- */

static int open_signals(void)
{
    static const int all[] = { SIGTERM, SIGINT, SIGQUIT, SIGXCPU, SIGCHLD, SIGHUP, SIGUSR1, SIGUSR2 };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < SW_COUNT(all); i++)
        sigaddset(&set, all[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Where the scheduler bound us to some of the machine's CPUs, Ray would count all of them. */
static int bound_cpus(void)
{
    cpu_set_t set;
    long all = sysconf(_SC_NPROCESSORS_ONLN);

    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) < all ? CPU_COUNT(&set) : 0;
}

static int make_folder(struct ray_keeper *keeper, struct sw_error *err)
{
    sw_autofree char *token = NULL;

    keeper->folder = ray_folder(keeper->key, keeper->node.rank, getenv("TMPDIR"));
    if (sw_folder_is_private(keeper->folder))
        sw_remove_tree(keeper->folder, NULL);    /* of an attempt that was killed */
    if (sw_folder_make_private(keeper->folder, err) < 0)
        return -1;
    token = sw_path_join(keeper->folder, "token");
    keeper->node.folder = keeper->folder;
    snprintf(keeper->shared->folder, sizeof keeper->shared->folder, "%s", keeper->folder);
    return sw_file_write(token, keeper->token, strlen(keeper->token), 0600, err);
}

static int begin(struct ray_keeper *keeper, struct sw_error *err)
{
    const json_t *said = keeper->runner->payload->ray;
    int cpus = (int)sw_json_int(said, "cpus", 0);

    keeper->token = getenv(SW_RAY_TOKEN);
    if (sw_text_empty(keeper->token))
        return sw_fail(err, SW_E_CREDENTIAL, SW_RAY_TOKEN " did not come with the job");
    ray_key(keeper->token, keeper->runner->payload->job_id, keeper->runner->scratch.attempt, keeper->key);
    keeper->node = (struct ray_node){ .rank = keeper->runner->scratch.rank,
                                      .gpus = (int)sw_json_int(said, "gpus", 0),
                                      .cpus = cpus > 0 ? cpus : bound_cpus() };
    if (make_folder(keeper, err) < 0 || ray_ports_take(keeper->key, &keeper->ports, err) < 0)
        return -1;
    keeper->node.block = keeper->ports.block;
    return 0;
}

static void finish(struct ray_keeper *keeper)
{
    bool failed = keeper->shared->state == RAY_FAILED || keeper->command_failed;

    ray_process_end(&keeper->ray);
    if (keeper->folder && failed)
        ray_logs_keep(keeper->runner, keeper->folder, keeper->heads_folder);
    if (keeper->folder)
        sw_remove_tree(keeper->folder, NULL);
    if (keeper->heads_folder)
        sw_remove_tree(keeper->heads_folder, NULL);
}

void ray_keep(struct runner *runner, struct ray_shared *shared, int orders, int news)
{
    struct ray_keeper keeper = { .runner = runner, .shared = shared, .orders = orders, .news = news,
                                 .nodes = runner_rank_count(), .ports = RAY_PORTS_INIT,
                                 .ray = { .output = -1, .log = -1 } };
    struct sw_error why = { 0 };
    int outcome;

    keeper.signals = open_signals();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    setpgid(0, 0);
    outcome = begin(&keeper, &why);
    if (outcome < 0)
        ray_fail(&keeper, "ray-start", &why);
    else
        outcome = keeper.node.rank == 0 ? ray_head(&keeper) : ray_worker(&keeper);
    finish(&keeper);
    if (shared->state == RAY_FAILED)
        _exit(shared->exit_code);
    _exit(outcome < 0 && !keeper.stop_by_ms ? RUNNER_IO : 0);
}
