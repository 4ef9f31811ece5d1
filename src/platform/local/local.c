/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local.c - this machine as a place where jobs run: the descriptor and its options.
 *
 * No daemon: every job has a supervisor process of its own, and everything known about a job is
 * in its folder. Follow submit in local_submit.c, then supervisor_phases.c.
 */
#include "platform/local/local_internal.h"

#include <stdlib.h>

#include "base/file.h"


#define FILLS(member) SW_FILLS(struct local_job_options, member)

const struct sw_option local_options[] = {
    { "share_gpus", SW_FLAG, FILLS(share_gpus), .initial = "false",
      .help = "use GPUs that other jobs have, instead of waiting until they are free" },
    { "gpu_ids", SW_TEXTS, FILLS(gpu_ids), .help = "GPUs to choose from, by number or UUID" },
    { "results_dir", SW_TEXT, FILLS(results_dir), .trust = SW_TRUST_PROFILE,
      .help = "put the results into a folder named after the job in here" },
    { "shell", SW_TEXT, FILLS(shell), .trust = SW_TRUST_PROFILE, .initial = "/bin/sh",
      .help = "program that reads the command" },
    { "inherit_env", SW_FLAG, FILLS(inherit_env), .initial = "true",
      .help = "the job sees the environment of the one who submits it (never credentials)" },
    { "disk_wait", SW_DURATION, FILLS(disk_wait_ms), .initial = "1m",
      .help = "how long the job waits when there is no room for its log, before it ends" },
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

    if (!here)
        return;
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

const struct sw_platform sw_platform_local = {
    .name = "local",
    .summary = "this machine: processes watched by a supervisor, no container",
    .options = local_options,
    .guards = true,
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
    .exec_open = local_exec_open,
    .orphans = local_orphans,
    .inventory = local_inventory,
};
