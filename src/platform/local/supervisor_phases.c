/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor_phases.c - the phases of one job, in order: wait for GPUs, then for CPUs and memory, prepare,
 * run, end, collect, exit record.
 *
 * What stops a job (a failing rank, cancel, time, memory, disk) only makes a decision
 * (sup_decide); ending is done in one place, the same way each time: TERM to the whole tree, the
 * job's grace, KILL until nothing is left. The exit record is written after that, so its
 * existence proves that nothing of the job runs.
 */
#include "platform/local/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "core/reason.h"
#include "core/report.h"
#include "core/stop.h"
#include "platform/local/local_internal.h"

enum {
    QUEUE_CHECK_MS = 1000,          /* besides being woken: how often a waiting job checks */
    ENDING_CHECK_MS = 50,
    UNKILLABLE_MS = 60000,         /* a process stuck in the kernel: reported, then left behind */
    EXIT_RETRY_MS = 1000,
    RESERVE_BYTES = 32768,
};

#define RESERVE "reserve"          /* room on the disk for the exit record */

/* ---- records ------------------------------------------------------------------------------ */

static json_t *replica_json(const struct sup *sup, int rank)
{
    const struct sup_replica *r = &sup->replicas[rank];
    enum sw_state status = !r->pid             ? SW_PENDING
                           : !r->ended         ? SW_RUNNING
                           : r->stopped_by_us  ? SW_CANCELED
                           : r->exit_code == 0 ? SW_COMPLETE
                                               : SW_ERROR;

    return sw_json_object(SW_INT("rank", rank), SW_STR("status", sw_state_name(status)),
                          SW_INT("pid", r->pid),
                          SW_SUB("exit_code", r->ended ? json_integer(r->exit_code) : json_null()),
                          SW_INT("signal", r->signal),
                          SW_INT("started_ms", r->started_ms), SW_INT("ended_ms", r->ended_ms),
                          SW_STR("gpus", r->gpus ? r->gpus : ""),
                          SW_INT("peak_bytes", r->peak_bytes));
}

static json_t *replicas_json(const struct sup *sup)
{
    json_t *all = json_array();

    for (int i = 0; i < sup->nodes; i++)
        json_array_append_new(all, replica_json(sup, i));
    return all;
}

/* What the status and the exit record both say. */
static json_t *record_json(const struct sup *sup, enum sw_state state, const char *reason,
                           const char *message)
{
    return sw_json_object(SW_STR("state", sw_state_name(state)), SW_STR("reason", reason),
                          SW_STR("message", message), SW_INT("pid", getpid()),
                          SW_INT("started_ms", sup->started_ms),
                          SW_SUB("replicas", replicas_json(sup)), SW_SUB_COPY("facts", sup->facts));
}

void sup_repeat_status(const struct sup *sup)
{
    sw_auto(json) json_t *record =
        record_json(sup, sup->said.state, sup->said.reason, sup->said.message);

    if (sup->usage.shown)
        json_object_set(record, "live", sup->usage.shown);
    /* A full disk may refuse it: then the older one stays, and the exit record says more. */
    local_record_write(sup->folder, LOCAL_STATUS, record, NULL);
}

void sup_write_status(struct sup *sup, enum sw_state state, const char *reason,
                      const char *message)
{
    sup->said.state = state;
    snprintf(sup->said.reason, sizeof sup->said.reason, "%s", reason);
    snprintf(sup->said.message, sizeof sup->said.message, "%s", message);
    sup_repeat_status(sup);
}

static void write_exit(struct sup *sup)
{
    const struct sup_end *end = &sup->end;
    sw_autofree char *reserve = sw_path_join(sup->folder, RESERVE);
    sw_auto(json) json_t *record = record_json(sup, end->state, end->reason, end->message);

    json_object_set_new(record, "exit_code", json_integer(end->exit_code));
    json_object_set_new(record, "signal", json_integer(end->signal));
    json_object_set_new(record, "failed_replica", json_integer(end->failed_replica));
    json_object_set_new(record, "ended_ms", json_integer(sw_now_ms()));
    if (sup->next.record)
        json_object_set(record, "retry", sup->next.record);
    unlink(reserve);
    /* While we wait, the lock shows that we live; a folder that was removed by hand needs no record. */
    while (local_record_keep(sup->folder, LOCAL_EXIT, record, NULL) < 0 &&
           sw_file_exists(sup->folder))
        sw_sleep_ms(EXIT_RETRY_MS);
}

static void make_reserve(const struct sup *sup)
{
    sw_autofree char *path = sw_path_join(sup->folder, RESERVE);
    sw_autofd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd >= 0 && fallocate(fd, 0, 0, RESERVE_BYTES) < 0)
        unlink(path);
}

/* ---- phases -------------------------------------------------------------------------------- */

static void share_out(struct sup *sup)
{
    for (int rank = 0; rank < sup->nodes; rank++) {
        sw_auto(sw_buf) struct sw_buf list = SW_BUF_INIT;

        for (int i = 0; i < sup->gpus; i++)
            sw_buf_addf(&list, "%s%s", i ? "," : "",
                        sup->lease->gpus[rank * sup->gpus + i].uuid);
        sup->replicas[rank].gpus = sw_buf_steal(&list);
    }
}

static void wait_for_gpus(struct sup *sup)
{
    struct sw_error err = { 0 };
    char message[256] = "";
    sw_autofree char *state_dir = sw_path_absolute("../../..", sup->folder);
    const struct gpu_request request = {
        .count = sup->gpus * sup->nodes, .type = sw_json_str(sup->launch, "gpu_type"),
        .ids = json_object_get(sup->launch, "gpu_ids"),
        .share = sw_json_bool(sup->launch, "share_gpus", false),
        .job_id = sup->job_id, .lease_dir = sw_json_str(sup->launch, "lease_dir"),
        .state_dir = state_dir,
    };

    if (request.count == 0)
        return;
    sup->queue = gpu_queue_join(&request, &err);
    if (!sup->queue) {
        sup_decide(sup, SW_ERROR, SW_REASON_GPU, 69, "%s", err.message);
        return;
    }
    while (!sup->end.decided && !(sup->lease = gpu_queue_try(sup->queue, message))) {
        if (strcmp(message, sup->said.message) != 0)
            sup_write_status(sup, SW_PENDING, SW_REASON_GPU_WAIT, message);
        sup_turn(sup, sw_monotonic_ms() + QUEUE_CHECK_MS);
    }
    gpu_queue_leave(sup->queue);
    sup->queue = NULL;
    if (sup->lease)
        share_out(sup);
}

/* After the GPUs, always: two jobs that hold what the other waits for cannot be. */
static void wait_for_room(struct sup *sup)
{
    struct sw_error err = { 0 };
    char message[256] = "";
    sw_autofree char *state_dir = sw_path_absolute("../../..", sup->folder);
    const struct room_request request = {
        .room = { .cpus = sup->cpus * sup->nodes,
                  .memory_bytes = sw_json_int(sup->launch, "memory_bytes", 0) * sup->nodes },
        .job_id = sup->job_id, .lease_dir = sw_json_str(sup->launch, "lease_dir"), .state_dir = state_dir,
    };

    if (request.room.cpus <= 0 && request.room.memory_bytes <= 0)
        return;
    sup->room_queue = room_queue_join(&request, &err);
    if (!sup->room_queue) {
        sup_decide(sup, SW_ERROR, SW_REASON_REFUSED, 69, "%s", err.message);
        return;
    }
    while (!sup->end.decided && !(sup->room = room_queue_try(sup->room_queue, message))) {
        if (strcmp(message, sup->said.message) != 0)
            sup_write_status(sup, SW_PENDING, SW_REASON_ROOM_WAIT, message);
        sup_turn(sup, sw_monotonic_ms() + QUEUE_CHECK_MS);
    }
    room_queue_leave(sup->room_queue);
    sup->room_queue = NULL;
}

/* Everything of the job but us: what is below us and, when `slipway exec` was used, what it left
 * elsewhere. That search reads the environment of many processes: only where there is reason. */
static void find_all(const struct sup *sup, struct local_processes *all)
{
    local_tree_below(getpid(), all);
    if (local_has(sup->folder, LOCAL_GUESTS))
        local_tree_marked(sup->folder, all);
}

/* The runners are spared at first: they end by themselves when their command does, and then
 * report how it ended. */
static void signal_tree(struct sup *sup, int signal, bool spare_runners)
{
    sw_auto(local_processes) struct local_processes all = { 0 };
    pid_t spare[LOCAL_REPLICAS_MAX];
    size_t count = 0;

    for (int i = 0; spare_runners && i < sup->nodes; i++)
        if (sup->replicas[i].pid && !sup->replicas[i].ended)
            spare[count++] = sup->replicas[i].pid;
    find_all(sup, &all);
    local_tree_signal(&all, signal, spare, count);
}

static bool anything_left(const struct sup *sup)
{
    sw_auto(local_processes) struct local_processes all = { 0 };

    find_all(sup, &all);
    return all.count > 0;
}

static void end_everything(struct sup *sup)
{
    int64_t begun = sw_monotonic_ms(), kill_at = begun + sup->grace_ms;
    bool killing = false;

    if (!anything_left(sup) && sup_all_ended(sup))
        return;
    if (!sup_all_ended(sup))
        sup_write_status(sup, SW_RUNNING, SW_REASON_ENDING, sup->end.message);
    signal_tree(sup, SIGTERM, true);
    while (anything_left(sup) || !sup_all_ended(sup)) {
        int64_t now = sw_monotonic_ms();

        if (now >= kill_at) {
            sup_limits_kill(&sup->limits);
            signal_tree(sup, SIGKILL, !killing);
            killing = true;
        }
        if (now > kill_at + UNKILLABLE_MS) {
            json_object_set_new(sup->facts, "unkillable", json_true());
            break;
        }
        sup_turn(sup, now < kill_at && kill_at < now + ENDING_CHECK_MS ? kill_at
                                                                      : now + ENDING_CHECK_MS);
    }
}

/* What the runner said of its phase; an owned text, for its failure, and the reason; may be NULL. */
static char *helper_message(struct sup *sup, const char *mode, const char **reason)
{
    sw_autofree char *name = sw_format("report-%s.json", mode);
    sw_auto(json) json_t *report = local_record_read(sup->folder, name);
    const char *message = sw_json_str(report, "message");

    sup_facts_report(sup, report);
    if (reason && sw_report_reason(report))
        *reason = sw_report_reason(report);
    return sw_strdup(message ? message : "the runner failed");
}

/* Inputs and config, by the runner; what it says goes into rank 0's log. */
static void prepare(struct sup *sup)
{
    if (sup_start_helper(sup, "prepare") < 0) {
        sup_decide(sup, SW_ERROR, SW_REASON_START, 126, "cannot start the runner");
        return;
    }
    while (sup->helper && !sup->end.decided)
        sup_turn(sup, 0);
    if (!sup->helper) {
        const char *reason = SW_REASON_PREPARE;
        sw_autofree char *message = helper_message(sup, "prepare", &reason);

        if (sup->helper_status != 0)
            sup_decide(sup, SW_ERROR, reason, 74, "%s", message);
    }
}

static void outputs_failed(struct sup *sup, const char *message)
{
    json_object_set_new(sup->facts, "outputs_incomplete", json_true());
    if (sup->end.state == SW_COMPLETE)
        sup->end.decided = false;        /* results that did not arrive are a failure, too */
    if (sup->end.state == SW_CANCELED)
        snprintf(sup->end.message, sizeof sup->end.message,
                 "canceled; its outputs are not complete: %s", message);
    sup_decide(sup, SW_ERROR, SW_REASON_OUTPUTS, 74, "%s", message);
}

static int64_t collect_until(const struct sup *sup)
{
    return sup->cancel_asked ? sup->cancel_at + sw_stop_ms(sup->grace_ms) : 0;
}

/* Outputs to where they belong, however the job ended. Once cancel was asked they have what core/stop.h
 * gives them, as a client waits. */
static void collect(struct sup *sup)
{
    int64_t until;

    if (sup_start_helper(sup, "collect") < 0) {
        outputs_failed(sup, "cannot start the runner");
        return;
    }
    while (sup->helper && ((until = collect_until(sup)) == 0 || sw_monotonic_ms() < until))
        sup_turn(sup, until);
    if (sup->helper) {
        sup->end.decided = false;
        sup_decide(sup, SW_CANCELED, SW_REASON_CANCELED, 130, "%s", "");
        end_everything(sup);
        outputs_failed(sup, "there was no time to copy them");
    } else {
        sw_autofree char *message = helper_message(sup, "collect", NULL);

        if (sup->helper_status != 0)
            outputs_failed(sup, message);
    }
}

static void run_commands(struct sup *sup)
{
    sup->master_port = sup_free_port();
    sup->started_ms = sw_now_ms();
    sup_facts_begin(sup);
    sup->commands_run = true;
    if (sup->time_ms > 0)
        sup->time_limit_at = sw_monotonic_ms() + sup->time_ms;
    for (int rank = 0; rank < sup->nodes; rank++)
        if (sup_start_replica(sup, rank) < 0)
            break;
    sup_write_status(sup, SW_RUNNING, "", "");
    sup_usage_begin(sup);
    while (!sup->end.decided && !sup_all_ended(sup))
        sup_turn(sup, 0);
    if (!sup->end.decided)
        sup_decide(sup, SW_COMPLETE, SW_REASON_EXIT, 0, "%s", "");
}

/* An earlier attempt ran the command; this one only brings what it left, and ends as it did. */
static void end_as_before(struct sup *sup)
{
    int code = (int)sw_json_int(sup->launch, "command_exit", 0);

    if (sup->end.decided)
        return;
    sup->started_ms = sw_now_ms();
    sup_write_status(sup, SW_RUNNING, SW_REASON_OUTPUTS, "");
    sup_decide(sup, code == 0 ? SW_COMPLETE : SW_ERROR, SW_REASON_EXIT, code, "exit code %d", code);
}

static void finish_logs(struct sup *sup)
{
    int64_t lost = 0;

    for (int i = 0; i < sup->nodes; i++) {
        sup_log_finish(&sup->replicas[i].log);
        lost += sup->replicas[i].log.lost;
    }
    if (lost == 0)
        return;
    json_object_set_new(sup->facts, "log_bytes_lost", json_integer(lost));
    if (sup->end.state == SW_COMPLETE)
        sup->end.decided = false;
    sup_decide(sup, SW_ERROR, SW_REASON_DISK, 74, "the disk is full: %lld bytes of its log are lost",
               (long long)lost);
}

void sup_run_job(struct sup *sup)
{
    make_reserve(sup);
    if (local_has(sup->folder, LOCAL_CANCEL))
        sup_decide(sup, SW_CANCELED, SW_REASON_CANCELED, 130, "canceled before it started");
    if (!sup->end.decided)
        wait_for_gpus(sup);
    if (!sup->end.decided && !json_object_get(sup->launch, "command_exit"))
        wait_for_room(sup);
    if (json_object_get(sup->launch, "command_exit"))
        end_as_before(sup);
    if (!sup->end.decided && sw_json_bool(sup->launch, "prepare", false))
        prepare(sup);
    if (!sup->end.decided)
        run_commands(sup);
    end_everything(sup);
    sup->commands_run = false;
    if (sup->started_ms && sw_json_bool(sup->launch, "collect", false))
        collect(sup);
    sup_facts_gather(sup);
    finish_logs(sup);
    gpu_lease_free(sup->lease);
    sup->lease = NULL;
    room_lease_free(sup->room);
    sup->room = NULL;
    sup_judge(sup);
    write_exit(sup);
}
