/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local.c - this machine as a place where jobs run: the descriptor, its options, and one attempt
 * of a job with its folders.
 *
 * No daemon: every job has a supervisor process of its own, and everything known about a job is
 * in its folder. Follow submit in local_submit.c, then supervisor_phases.c.
 *
 * A mounted folder is a link in the job's folder, and every mention of its target is rewritten, as
 * with inputs (docs/decisions/0005-container-paths-on-local.md). A repository is cloned into
 * <state_dir>/git first. The job may write there: "ro" needs a container.
 */
#include "platform/local/local_internal.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/text.h"
#include "plan/mounts.h"
#include "platform/kit/port.h"

#define FILLS(member) SW_FILLS(struct local_job_options, member)

static const struct sw_option local_options[] = {
    { "share_gpus", SW_FLAG, FILLS(share_gpus), .initial = "false",
      .help = "use GPUs that other jobs use, instead of waiting for free ones" },
    { "gpu_ids", SW_TEXTS, FILLS(gpu_ids), .help = "GPUs to choose from, by number or UUID" },
    { "results_dir", SW_TEXT, FILLS(results_dir), .trust = SW_TRUST_PROFILE,
      .help = "put the results into a folder named after the job in here" },
    { "shell", SW_TEXT, FILLS(shell), .trust = SW_TRUST_PROFILE, .initial = "/bin/sh",
      .help = "program that reads the command" },
    { "inherit_env", SW_FLAG, FILLS(inherit_env), .initial = "true",
      .help = "the job gets the environment of the submitter (never credentials)" },
    { "disk_wait", SW_DURATION, FILLS(disk_wait_ms), .initial = "1m",
      .help = "how long the job waits when the disk is full before it is stopped" },
    { 0 }
};

static struct sw_connection *local_open(const struct sw_connect_options *config, struct sw_error *err)
{
    struct local_connection *conn;

    if (!config->state_dir) {
        sw_fail(err, SW_E_USAGE, "the local platform needs a state folder");
        return NULL;
    }
    conn = sw_new(struct local_connection);
    conn->state_dir = sw_path_absolute(config->state_dir, NULL);
    conn->root = sw_path_join(conn->state_dir, "local");
    conn->warn = config->warn;
    conn->warn_context = config->warn_context;
    return (struct sw_connection *)conn;
}

static void local_close(struct sw_connection *conn)
{
    struct local_connection *here = local_of(conn);

    free(here->state_dir);
    free(here->root);
    free(here);
}

static bool local_sees_loopback(struct sw_connection *conn, const struct sw_plan *plan)
{
    (void)conn;
    (void)plan;
    return true;
}

static bool local_rewrites_paths(const struct sw_plan *plan)
{
    (void)plan;
    return true;
}

static int local_check_path(struct sw_connection *conn, const char *path, bool *exists,
                            struct sw_error *err)
{
    sw_autofree char *place = local_source_path(path, NULL, err);

    (void)conn;
    return place ? sw_file_look(place, exists, err) : -1;
}

static json_t *local_list_path(struct sw_connection *conn, const char *path, struct sw_error *err)
{
    sw_autofree char *place = local_source_path(path, NULL, err);

    (void)conn;
    return place ? sw_folder_names(place, err) : NULL;
}

/* ---- one attempt ---------------------------------------------------------------------------- */

/* The folder it comes from, owned. Before it is cloned, a repository only has a name. */
static char *source_of(const struct sw_mount *mount, const char *cache, const char *folder,
                       enum local_mounts use, struct sw_error *err)
{
    sw_autofree char *name = NULL, *own = NULL;

    if (mount->kind == SW_MOUNT_PATH)
        return sw_strdup(mount->source);
    if (use == LOCAL_MOUNTS_CLONE)
        return sw_mount_clone(mount, cache, folder, err);
    own = sw_mount_own(mount, folder);
    if (own)
        return sw_take(own);
    name = sw_mount_clone_name(mount);
    return sw_format("%s/%s-%s", cache, name, sw_mount_is_commit(mount) ? mount->ref : "COMMIT");
}

static int add_mounts(struct local_job *job, const struct sw_connection *conn, enum local_mounts use,
                      struct sw_error *err)
{
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };
    sw_autofree char *cache = sw_format("%s/git", local_of(conn)->state_dir);
    sw_autofree char *folder = sw_format("%s/%s/mounts", local_of(conn)->root, job->plan.job_id);

    if (sw_mounts_parse(job->plan.mounts, &mounts, err) < 0)
        return -1;
    for (size_t i = 0; i < mounts.count; i++) {
        sw_autofree char *source = NULL;

        if (use == LOCAL_MOUNTS_CHECK && mounts.items[i].kind == SW_MOUNT_GIT)
            continue;
        source = source_of(&mounts.items[i], cache, folder, use, err);
        if (!source)
            return -1;
        json_array_append_new(job->plan.inputs, sw_json_object(SW_STR("path", mounts.items[i].target),
                                                               SW_STR("from", source)));
    }
    return 0;
}

/* The attempt that only collects works in the folder of the attempt that ran the command. */
static char *work_dir(const struct sw_connection *conn, const struct sw_plan *plan, int attempt)
{
    sw_autofree char *folder = local_attempt_folder(conn, plan->job_id, attempt);

    while (plan->only_collect && attempt > 1) {
        sw_autofree char *before = local_attempt_folder(conn, plan->job_id, --attempt);
        sw_auto(json) json_t *launch = local_record_read(before, LOCAL_LAUNCH);

        free(folder);
        folder = sw_take(before);
        if (!json_object_get(launch, "command_exit"))
            break;
    }
    return sw_path_join(folder, "work");
}

static char *results_dir(const struct sw_connection *conn, const struct local_job *job)
{
    const char *asked = job->options.results_dir;
    sw_autofree char *folder = sw_text_empty(asked) ? NULL
                                                    : sw_path_absolute(asked, job->plan.base_dir);

    return folder ? sw_path_join(folder, job->plan.job_id)
                  : sw_format("%s/%s/results", local_of(conn)->root, job->plan.job_id);
}

int local_job_init(struct local_job *job, const struct sw_connection *conn, const struct sw_plan *plan,
                   int attempt, enum local_mounts use, struct sw_error *err)
{
    *job = (struct local_job){ .plan = *plan };
    job->plan.inputs = plan->inputs ? json_deep_copy(plan->inputs) : json_array();
    if (sw_options_fill(local_options, plan->options, SW_JOB, &job->options, err) < 0)
        return -1;
    job->folder = local_attempt_folder(conn, plan->job_id, attempt);
    job->work_dir = work_dir(conn, plan, attempt);
    job->results_dir = results_dir(conn, job);
    job->setup_dir = sw_format("%s/%s/setup", local_of(conn)->root, plan->job_id);
    job->setup_cache = sw_format("%s/setup", local_of(conn)->state_dir);
    return add_mounts(job, conn, use, err);
}

void local_job_done(struct local_job *job)
{
    json_decref(job->plan.inputs);
    free(job->folder);
    free(job->work_dir);
    free(job->results_dir);
    free(job->setup_dir);
    free(job->setup_cache);
}

/* A supervisor that is gone is noticed by the next observe(), and one that has gone on needs nothing. */
static int local_hurry(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_autofree char *folder = local_attempt_folder(conn, job->id,
                                                    local_attempt_now(conn, job->id, job->attempt));

    return local_pauses(folder) ? local_flag(folder, LOCAL_NOW, err) : 0;
}

/* A job has the network of this machine. */
static int local_port_open(struct sw_connection *conn, const struct sw_jobref *job, int replica, int port,
                           struct sw_stream **out, struct sw_error *err)
{
    (void)conn;
    (void)job;
    (void)replica;
    return sw_port_open_here(port, out, err);
}

const struct sw_platform sw_platform_local = {
    .name = "local",
    .summary = "this machine: processes watched by a supervisor, no container",
    .options = local_options,
    .guards = true,
    .retries = true,
    .measures = true,
    .hurry = local_hurry,
    .collects = true,
    .open = local_open,
    .close = local_close,
    .sees_loopback = local_sees_loopback,
    .render = local_render,
    .preflight = local_preflight,
    .preflight_report = local_preflight_report,
    .submit = local_submit,
    .observe = local_observe,
    .reconcile = local_reconcile,
    .log_read = local_log_read,
    .log_size = local_log_size,
    .log_time = local_log_time,
    .log_since = local_log_since,
    .cancel = local_cancel,
    .cleanup = local_cleanup,
    .replicas = local_replicas,
    .evidence = local_evidence,
    .results_dir = local_results_dir,
    .rewrites_paths = local_rewrites_paths,
    .check_path = local_check_path,
    .list_path = local_list_path,
    .adopt = local_adopt,
    .jobs = local_jobs,
    .terminals = true,
    .exec_open = local_exec_open,
    .port_open = local_port_open,
    .orphans = local_orphans,
    .inventory = local_inventory,
};
