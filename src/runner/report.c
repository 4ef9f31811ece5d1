/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - what others can read about us: a heartbeat while we live, and a last report.
 *
 * Both are files in <work_dir>/.slipway/, replaced whole, one per rank; nothing of it is mixed into
 * the command's output. Only a container's first process also says the report as the last line of
 * the log, since the log is often all that is left of a container.
 */
#include "runner/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

enum { BEAT_EVERY_MS = 15000 };

static json_t *gpu_json(const struct runner_tally *t)
{
    json_t *busy = t->gpu_samples ? json_integer(t->gpu_busy_percents / t->gpu_samples) : NULL;

    return t->gpus ? sw_json_object(SW_INT("count", t->gpus),
                                    SW_INT("memory_bytes", t->gpu_memory_bytes),
                                    SW_INT("memory_peak_bytes", t->gpu_peak_bytes),
                                    SW_SUB("busy_percent", busy))
                   : NULL;
}

json_t *runner_report(const struct runner *runner, const char *phase,
                      const struct runner_result *result, const struct sw_error *err)
{
    const struct runner_tally *t = runner->tally;
    char now[40];

    sw_time_format(sw_now_ms(), now);
    return sw_json_object(
        SW_INT("version", 1), SW_STR("job_id", runner->payload->job_id),
        SW_INT("rank", runner->scratch.rank), SW_STR("attempt", runner->scratch.attempt),
        SW_STR("phase", phase), SW_STR("at", now),
        SW_SUB("exit_code", result ? json_integer(result->exit_code) : NULL),
        SW_SUB("signal", result ? json_integer(result->signal) : NULL),
        SW_STR_OPT("message", err && err->code ? err->message : NULL),
        SW_STR_OPT("failed", result ? result->failed : NULL),
        SW_STR_OPT("error", err && err->code ? sw_code_name(err->code) : NULL),
        SW_SUB("stopped", result && result->stopped ? json_true() : NULL),
        SW_SUB("canceled", result && result->canceled ? json_true() : NULL),
        SW_SUB("timed_out", result && result->timed_out ? json_true() : NULL),
        SW_SUB("oom_kills", t->oom_kills > 0 ? json_integer(t->oom_kills) : NULL),
        SW_SUB("failed_peer", result && result->failed_peer >= 0
                                  ? json_integer(result->failed_peer) : NULL),
        SW_SUB("in", sw_json_object(SW_INT("files", t->files_in), SW_INT("bytes", t->bytes_in))),
        SW_SUB("out", sw_json_object(SW_INT("files", t->files_out), SW_INT("bytes", t->bytes_out),
                                     SW_INT("empty", t->empty_outputs))),
        SW_SUB("ms", sw_json_object(SW_INT("prepare", t->prepare_ms),
                                    SW_INT("command", t->command_ms),
                                    SW_INT("collect", t->collect_ms))),
        SW_SUB("gpu", gpu_json(t)),
        SW_STR("results", runner->scratch.results_root));
}

/* While data is on its way nothing else speaks; a command is not interrupted. */
static void say_beat(const struct runner *runner, const char *phase, const json_t *report)
{
    sw_autofree char *line = NULL;

    if (!runner->report_in_log || sw_text_same(phase, "running"))
        return;
    line = sw_json_dump(report);
    runner_log("report %s", line);
}

/* A container's termination message is a mount: it takes no other file in its place, and 4096 bytes. */
static void write_in_place(const char *path, const json_t *report)
{
    sw_autofree char *text = sw_json_dump(report);
    FILE *out = fopen(path, "we");

    if (!out)
        return;
    fputs(text, out);
    fclose(out);
}

/* Not synced to disk: a crash of the machine may lose it, and our exit code says the most important half. */
void runner_leave_report(const char *path, const json_t *report)
{
    sw_autofree char *text = sw_json_dump_pretty(report), *beside = sw_format("%s.new", path);
    FILE *out = fopen(beside, "we");
    bool written = out && fputs(text, out) >= 0;

    if (out && fclose(out) != 0)
        written = false;
    if (written && rename(beside, path) == 0)
        return;
    if (out)
        unlink(beside);
    write_in_place(path, report);
}

void runner_beat(const struct runner *runner, const char *phase)
{
    static int64_t next_ms;
    static const char *last_phase;
    bool begins = !sw_text_same(phase, last_phase);
    sw_autofree char *name = sw_format("heartbeat-%d.json", runner->scratch.rank);
    sw_autofree char *path = runner_state_path(runner, name), *folder = runner_folder_of(path);
    sw_auto(json) json_t *report = NULL;

    if ((!begins && sw_monotonic_ms() < next_ms) || !sw_file_exists(folder))
        return;
    last_phase = phase;
    next_ms = sw_monotonic_ms() + BEAT_EVERY_MS;
    report = runner_report(runner, phase, NULL, NULL);
    if (!begins)                             /* a short phase is not worth a line */
        say_beat(runner, phase, report);
    runner_leave_report(path, report);
    if (runner->report_file)
        runner_leave_report(runner->report_file, report);
}
