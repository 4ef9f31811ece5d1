/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_process.c - the processes of one Ray node: started, watched, ended to the last one.
 *
 * `ray start --block` stays in front of its servers and looks after them once a second; its workers are
 * groups of their own, and their children may outlive all of them. Our process is their subreaper, and Ray's
 * are the only ones below it: what is left there belongs to this job and to no other, whatever it is called.
 *
 * A raylet or GCS that was killed is known from /proc before `ray start` notices: a command that fails
 * because of it would else seem to have failed by itself.
 */
#include "runner/ray.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

enum { TERM_MS = 3000, KILL_MS = 7000, EACH_MS = 20, BELOW_MAX = 8192 };

#define STARTED "Ray runtime started."

/* ---- start ------------------------------------------------------------------------------------------ */

enum { IN_PROGRAM, IN_FOLDER };      /* steps at which the start may fail */

struct ray_start_call {
    const struct runner *runner;
    const struct ray_node *node;
    int output;
};

static void set_port(const char *name, const struct ray_node *node, enum ray_port port)
{
    char text[16];

    snprintf(text, sizeof text, "%d", node->block + (int)port);
    setenv(name, text, 1);
}

/* `setup:` and the image's entry point come first, as before the command. Owned vector. */
static char **all_words(const struct ray_start_call *call)
{
    const json_t *before = call->runner->payload->entrypoint;
    const char *venv = getenv("VIRTUAL_ENV");
    sw_autofree char *inside = venv ? sw_format("%s/bin/ray", venv) : NULL;
    char **words = ray_start_words(call->node, inside && sw_file_exists(inside) ? inside : "ray"), **all;
    size_t count = 0, first = json_array_size(before);

    while (words[count])
        count++;
    all = sw_realloc_array(NULL, first + count + 1, sizeof *all);
    for (size_t i = 0; i < first; i++)
        all[i] = sw_strdup(json_string_value(json_array_get(before, i)));
    memcpy(all + first, words, (count + 1) * sizeof *all);
    free(words);
    return all;
}

/* Where the command runs: there is the code that Ray's workers import. */
static void become_ray(void *context, struct sw_start_failure *why)
{
    const struct ray_start_call *call = context;
    sw_autofree char *workdir = runner_command_folder(call->runner);
    char **words;

    runner_apply_environment(call->runner);
    runner_ray_environment(call->node->folder, call->node->head,
                           call->node->rank == 0 ? call->node->block + RAY_DASHBOARD : 0);
    set_port("AUTOSCALER_METRIC_PORT", call->node, RAY_AUTOSCALER_METRICS);
    set_port("DASHBOARD_METRIC_PORT", call->node, RAY_DASHBOARD_METRICS);
    setenv("PYTHONUNBUFFERED", "1", 1);
    words = all_words(call);
    dup2(call->output, STDOUT_FILENO);
    dup2(call->output, STDERR_FILENO);
    if (chdir(workdir ? workdir : call->node->folder) < 0) {
        *why = (struct sw_start_failure){ errno, IN_FOLDER };
        return;
    }
    execvp(words[0], words);
    why->error = errno;
}

int ray_process_start(struct ray_process *ray, const struct runner *runner, const struct ray_node *node,
                      struct sw_error *err)
{
    sw_autofree char *path = sw_format("%s/ray-start.log", node->folder);
    struct ray_start_call call = { runner, node, -1 };
    struct sw_start_failure why = { 0 };
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot create a pipe for Ray");
    *ray = (struct ray_process){ .output = ends[0],
                                 .log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) };
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    call.output = ends[1];
    ray->pid = sw_proc_start(become_ray, &call, &why, err);
    close(ends[1]);
    if (ray->pid > 0)
        return 0;
    ray->pid = 0;
    if (why.error && why.step == IN_FOLDER)
        return sw_fail(err, SW_E_NOT_FOUND, "cannot enter the command's folder: %s", strerror(why.error));
    if (why.error == ENOENT) {
        sw_fail(err, SW_E_NOT_FOUND, "`ray` is not in PATH on this node");
        return sw_hint(err, "use an image that has it, or install \"ray[default]\"");
    }
    return why.error ? sw_fail(err, SW_E_NOT_FOUND, "cannot start `ray`: %s", strerror(why.error)) : -1;
}

/* ---- while it runs ---------------------------------------------------------------------------------- */

static void take_line(struct ray_process *ray)
{
    ray->line[ray->length] = '\0';
    ray->started = ray->started || strstr(ray->line, STARTED);
    if (ray->length && !sw_text_starts(ray->line, "---"))
        snprintf(ray->last, sizeof ray->last, "%s", ray->line);
    ray->length = 0;
}

void ray_process_read(struct ray_process *ray)
{
    char piece[4096];
    ssize_t n;

    while (ray->output >= 0 && (n = read(ray->output, piece, sizeof piece)) != -1) {
        if (n == 0) {
            close(ray->output);
            ray->output = -1;
            break;
        }
        if (ray->log >= 0)
            sw_write_all(ray->log, piece, (size_t)n);
        for (ssize_t i = 0; i < n; i++)
            if (piece[i] == '\n')
                take_line(ray);
            else if (ray->length < sizeof ray->line - 1)
                ray->line[ray->length++] = piece[i];
    }
}

struct below {
    pid_t pids[BELOW_MAX], parents[BELOW_MAX];
    bool ours[BELOW_MAX];
    size_t count, found;
};

/* All processes whose line of parents leads to this one. */
static void find_below(struct below *below)
{
    DIR *proc = opendir("/proc");
    bool more = true;

    *below = (struct below){ .count = 0 };
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        struct sw_proc_stat one;

        if (isdigit((unsigned char)*entry->d_name) && below->count < BELOW_MAX &&
            sw_proc_stat(atoi(entry->d_name), &one) == 0) {
            below->pids[below->count] = one.pid;
            below->parents[below->count++] = one.parent;
        }
    }
    if (proc)
        closedir(proc);
    while (more) {
        more = false;
        for (size_t i = 0; i < below->count; i++) {
            bool child = below->parents[i] == getpid();

            for (size_t k = 0; k < below->count && !child; k++)
                child = below->ours[k] && below->pids[k] == below->parents[i];
            if (child && !below->ours[i]) {
                below->ours[i] = more = true;
                below->found++;
            }
        }
    }
}

static bool is_core(pid_t pid)
{
    sw_autofree char *path = sw_format("/proc/%d/comm", (int)pid);
    sw_autofree char *name = sw_file_read(path, 64, NULL, NULL);

    return name && (strcmp(name, "raylet\n") == 0 || strcmp(name, "gcs_server\n") == 0);
}

static void find_core(struct ray_process *ray)
{
    sw_autofree struct below *below = sw_new(struct below);

    find_below(below);
    for (size_t i = 0; i < below->count; i++)
        if (below->ours[i] && below->parents[i] == ray->pid && ray->core_count < SW_COUNT(ray->core) &&
            is_core(below->pids[i]) && sw_proc_of(below->pids[i], &ray->core[ray->core_count]) == 0)
            ray->core_count++;
}

bool ray_process_over(struct ray_process *ray)
{
    pid_t pid;
    int status;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == ray->pid) {
            ray->status = status;
            ray->pid = 0;
        }
    ray_process_read(ray);
    if (ray->pid == 0)
        return true;
    if (ray->started && ray->core_count == 0)
        find_core(ray);
    for (size_t i = 0; i < ray->core_count; i++)
        if (!sw_proc_alive(&ray->core[i]))
            return true;
    return false;
}

/* ---- end -------------------------------------------------------------------------------------------- */

static size_t reap_and_count(void)
{
    sw_autofree struct below *below = sw_new(struct below);

    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    find_below(below);
    return below->found;
}

static void kill_below(void)
{
    sw_autofree struct below *below = sw_new(struct below);

    find_below(below);
    for (size_t i = 0; i < below->count; i++)
        if (below->ours[i])
            kill(below->pids[i], SIGKILL);
}

void ray_process_end(struct ray_process *ray)
{
    int64_t begun = sw_monotonic_ms();

    if (ray->pid > 0)
        kill(ray->pid, SIGTERM);
    while (reap_and_count() > 0 && sw_monotonic_ms() < begun + TERM_MS + KILL_MS) {
        if (sw_monotonic_ms() > begun + TERM_MS)
            kill_below();
        ray_process_read(ray);
        sw_sleep_ms(EACH_MS);
    }
    ray_process_read(ray);
    if (ray->output >= 0)
        close(ray->output);
    if (ray->log >= 0)
        close(ray->log);
    *ray = (struct ray_process){ .output = -1, .log = -1, .status = ray->status };
}
