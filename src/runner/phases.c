/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.c - the phases of a job in its container: prepare, run, collect, report.
 *
 * Each phase is a process of its own and the first process only watches. So TERM ends a download as
 * promptly as a command, a fault in a transfer cannot take the first process of the container with
 * it, and the memory of a transfer is given back before training begins.
 *
 * After TERM the command gets the grace, all of it, and the last sync its own time behind that
 * (core/stop.h): results of a preempted job are what its owner wants most. No stop and no time limit
 * reaches the last sync; only the end of its own time does.
 */
#include "runner/runner.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/stop.h"

enum { REPORT_MAX = 1024 * 1024, REPORT_MS = 30000 };

struct runner_phase {
    const char *name;
    enum runner_child_kind kind;
    int (*go)(struct runner *runner, const struct runner_result *result, int64_t deadline_ms,
              struct sw_error *err);
    int64_t deadline_ms;
};

enum { AFTER_DEADLINE_MS = 1000 };      /* should a server that does not answer hold it up */

struct phase_beat_context {
    struct runner *runner;
    const char *phase;
};

static void beat(void *context)
{
    const struct phase_beat_context *watched = context;

    runner_beat(watched->runner, watched->phase);
}

/* In a process of its own; its error comes back through shared memory. 0, or -1; after a stop from outside
 * the result says so. */
static int run_phase(struct runner *runner, const struct runner_phase *phase,
                     struct runner_result *result, struct sw_error *err)
{
    struct phase_beat_context watched = { runner, phase->name };
    struct runner_child child = {
        .kind = phase->kind, .pid = runner_fork(phase->kind), .grace_ms = runner_grace_ms(runner, result),
        .time_grace_ms = runner->payload->time_grace_ms,
        .kill_at_ms = phase->deadline_ms ? phase->deadline_ms + AFTER_DEADLINE_MS : 0,
        .tick = beat, .context = &watched };
    int status;

    if (child.pid < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot start a process");
    if (child.pid == 0) {
        runner->tally->err = (struct sw_error){ 0 };
        _exit(phase->go(runner, result, phase->deadline_ms, &runner->tally->err) < 0 ? 1 : 0);
    }
    status = runner_watch(&child, result);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status) && runner->tally->err.code) {
        if (err)
            *err = runner->tally->err;
        return -1;
    }
    if (child.killed)
        return sw_fail(err, SW_E_TIMEOUT, "%s did not finish within the grace time",
                       phase->name);
    return sw_fail(err, SW_E_INTERRUPTED, "%s was ended by signal %d", phase->name,
                   WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static int prepare_phase(struct runner *runner, const struct runner_result *result,
                         int64_t deadline_ms, struct sw_error *err)
{
    (void)result, (void)deadline_ms;
    return runner_prepare(runner, err) < 0 ? -1 : runner_probe(runner, err);
}

/* When all must be over, after a stop from outside; 0: there was none, and nothing presses. */
static int64_t end_of_stop(const struct runner *runner, const struct runner_result *result)
{
    return result->stopped_ms ? result->stopped_ms + sw_stop_ms(runner_grace_ms(runner, result)) : 0;
}

static void write_report(const struct runner *runner, const struct runner_result *result,
                 const struct sw_error *err)
{
    sw_auto(json) json_t *report = runner_report(runner, "over", result, err);
    sw_autofree char *pretty = sw_json_dump_pretty(report), *line = sw_json_dump(report);
    sw_autofree char *name = sw_format("report-%d.json", runner->scratch.rank);
    sw_autofree char *path = runner_state_path(runner, name);

    sw_file_write(path, pretty, strlen(pretty), 0644, NULL);
    if (runner->report_in_log)
        runner_log("report %s", line);
}

/* On a mount the report lies with the results already; in object storage it is put beside them, for
 * readers who cannot see the log. */
static int report_phase(struct runner *runner, const struct runner_result *result,
                        int64_t deadline_ms, struct sw_error *err)
{
    sw_autofree char *name = sw_format("report-%d.json", runner->scratch.rank);
    sw_autofree char *path = runner_state_path(runner, name);
    sw_autofree char *uri = sw_format("%s/.slipway/%s", runner->scratch.results_root, name);
    sw_autofree char *text = sw_file_read(path, REPORT_MAX, NULL, err);

    (void)result, (void)deadline_ms;
    return text && runner_transfers(runner, err) ? runner_put_text(runner, uri, text, err) : -1;
}

static void upload_report(struct runner *runner, const struct runner_result *result)
{
    int64_t soon = sw_monotonic_ms() + REPORT_MS, end = end_of_stop(runner, result);
    const struct runner_phase phase = { "report", RUNNER_LAST_PHASE, report_phase,
                                 end && end < soon ? end : soon };
    struct runner_result ended = *result;
    struct sw_error why = { 0 };

    if (runner->scratch.kind == RUNNER_S3 && run_phase(runner, &phase, &ended, &why) < 0)
        runner_log("the report stays here: %s", why.message);
}

/* A stop that comes now finds the command over. When the outputs arrive in the time that is left, it was
 * too late to change anything; else it is why they did not arrive. */
static int collect(struct runner *runner, struct runner_result *result, struct sw_error *err)
{
    const struct runner_phase last = { "collect", RUNNER_LAST_PHASE, runner_sync,
                                end_of_stop(runner, result) };
    struct runner_result ended = *result;
    int outcome = run_phase(runner, &last, &ended, err);

    if (outcome == 0 && !result->stopped)
        return 0;
    result->canceled |= ended.canceled;
    if (outcome == 0)
        return 0;
    result->failed = "collect";
    if (ended.stopped_ms) {
        result->stopped = true;
        result->stopped_ms = ended.stopped_ms;
    } else if (result->exit_code == 0) {
        result->exit_code = RUNNER_IO;       /* results that did not arrive are a failure, too */
    }
    return -1;
}

static int ranks_phase(struct runner *runner, const struct runner_result *result,
                       int64_t deadline_ms, struct sw_error *err)
{
    (void)result, (void)err;
    runner_wait_for_ranks(runner, deadline_ms);
    return 0;
}

/* A scheduler ends the other ranks when one has failed and is gone; they have read the note already, and
 * have their outputs to bring. */
static void wait_for_ranks(struct runner *runner, const struct runner_result *result)
{
    const struct runner_phase phase = { "report", RUNNER_LAST_PHASE, ranks_phase,
                                 sw_monotonic_ms() + sw_stop_budget_ms(runner_grace_ms(runner, result)) };
    struct runner_result ended = *result;

    if (runner->payload->peers)
        run_phase(runner, &phase, &ended, NULL);
}

static int run_and_collect(struct runner *runner, struct runner_result *result, struct sw_error *why)
{
    pid_t gpu_watch = runner_start_gpu_watch(runner);
    int outcome = runner_run(runner, result, why);

    runner_stop_gpu_watch(gpu_watch);
    if (outcome < 0 && !result->failed)
        result->failed = "run";
    if (result->exit_code != 0 && !result->stopped)
        runner_note_failure(runner);
    if (collect(runner, result, outcome < 0 ? NULL : why) < 0)
        outcome = -1;
    if (result->exit_code != 0 && !result->stopped)
        wait_for_ranks(runner, result);
    return outcome;
}

static int prepare(struct runner *runner, struct runner_result *result, struct sw_error *why)
{
    const struct runner_phase phase = { "prepare", RUNNER_PHASE, prepare_phase, 0 };

    if (run_phase(runner, &phase, result, why) == 0 && runner_load_prepared(runner, why) == 0)
        return 0;
    result->exit_code = result->timed_out ? RUNNER_TIME_UP
                        : result->stopped ? 128 + SIGTERM : RUNNER_IO;
    result->failed = runner->tally->probing ? "probe" : phase.name;
    return -1;
}

/* An earlier attempt ran the command and could not bring all that it left. */
static int collect_again(struct runner *runner, struct runner_result *result, struct sw_error *why)
{
    sw_autofree char *folder = runner_state_path(runner, "");

    sw_mkdirs(folder, 0777, NULL);           /* for the heartbeat */
    result->exit_code = atoi(getenv("SLIPWAY_COLLECT_ONLY"));
    return runner_load_prepared(runner, why) < 0 ? -1 : collect(runner, result, why);
}

int runner_all_phases(struct runner *runner, struct runner_result *result, struct sw_error *err)
{
    struct sw_error why = { 0 };
    int outcome;

    runner_block_signals();
    if (runner->payload->time_ms > 0)
        result->deadline_ms = sw_monotonic_ms() + runner->payload->time_ms;
    if (runner->only_collect)
        outcome = collect_again(runner, result, &why);
    else
        outcome = prepare(runner, result, &why) < 0 ? -1
                  : runner->payload->only_data      ? (result->exit_code = 0)
                                                    : run_and_collect(runner, result, &why);
    write_report(runner, result, &why);
    upload_report(runner, result);
    /* It was stopped and ended in good order: the report says so; for the caller it is not complete. */
    if (result->stopped && result->exit_code == 0)
        result->exit_code = 128 + SIGTERM;
    if (outcome < 0 && err)
        *err = why;
    return outcome;
}
