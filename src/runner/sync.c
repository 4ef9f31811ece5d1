/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.c - outputs to their destinations: again and again while the command runs, and once more
 * when it is over, however it ended.
 *
 * While it runs only files that have settled are taken: one that was written in the last moments may
 * be half of itself. A manifest is written last and removed first, so a reader who finds one knows
 * that everything it lists is there; among the results themselves there is none. What all ranks share is
 * brought by one of them when the commands of all are over (rank_failure.c); a path with {rank} in it, or
 * one that each rank has for itself, by its own rank. One output that fails does not keep the others from
 * arriving; a server out of reach is tried again for some minutes: what a training left is worth the wait.
 */
#include "runner/runner.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "core/command.h"

enum {
    SETTLE_MS = 3000, PIECE = 256 * 1024, LEAST_EVERY_MS = 1000,
    PATIENCE_MS = 300000, PAUSE_MOST_MS = 30000,       /* with a server that is out of reach, at the end */
};

struct sync_output {                      /* one entry, with its rank filled in; all owned */
    char *path, *to;
    const char **exclude;
    size_t exclude_count;
    bool is_folder, each_rank;
};

static void output_auto(struct sync_output *output)
{
    free(output->path);
    free(output->to);
    free(output->exclude);
}

/* False: nowhere to bring it to, or not there. */
static bool output_of(const struct runner *runner, const json_t *entry, struct sync_output *out)
{
    const char *path = sw_json_str(entry, "path"), *to = sw_json_str(entry, "to");
    sw_autofree char *rank = sw_format("%d", runner->scratch.rank);
    const struct sw_fill fill = { .rank = rank };
    const json_t *patterns = json_object_get(entry, "exclude");
    struct stat info;

    if (!path || sw_text_empty(to))
        return false;
    out->each_rank = sw_json_bool(entry, "each_rank", false);
    out->path = sw_fill_word(path, &fill);
    out->to = sw_fill_word(to, &fill);
    if (runner->scratch.rank != 0 && sw_json_bool(entry, "own", false)) {
        sw_autofree char *first = out->to, *below = sw_format("rank-%s/", rank);

        out->to = sw_uri_join(first, below);     /* the first rank's are above */
    }
    if (stat(out->path, &info) < 0)
        return false;                /* the command never made it: nothing to bring */
    out->is_folder = S_ISDIR(info.st_mode);
    out->exclude = sw_realloc_array(NULL, json_array_size(patterns) + 1, sizeof *out->exclude);
    out->exclude[out->exclude_count++] = ".slipway/";     /* ours, should we work in there */
    for (size_t i = 0; i < json_array_size(patterns); i++)
        if (json_is_string(json_array_get(patterns, i)))
            out->exclude[out->exclude_count++] = json_string_value(json_array_get(patterns, i));
    return true;
}

/* ---- the manifest ---------------------------------------------------------------------------- */

static char *manifest_uri(const struct sync_output *output)
{
    sw_autofree char *own = sw_path_join(output->path, "manifest.json");

    if (!output->is_folder)
        return sw_format("%s.manifest.json", output->to);
    /* The command may have a manifest.json of its own. */
    return sw_uri_join(output->to, sw_file_exists(own) ? "slipway-manifest.json"
                                                       : "manifest.json");
}

struct manifest_listing {
    const struct sync_output *output;
    json_t *files;
    int64_t bytes, deadline_ms;
};

static bool is_excluded(const struct sync_output *output, const char *name)
{
    for (size_t i = 0; i < output->exclude_count; i++)
        if (sw_name_matches(output->exclude[i], name))
            return true;
    return false;
}

static bool file_sha256(const char *path, int64_t deadline_ms, char out[SW_DIGEST_HEX])
{
    sw_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
    sw_autofree char *piece = sw_alloc(PIECE);
    struct sw_digest digest;
    ssize_t n;

    sw_digest_init(&digest, SW_SHA256);
    while (fd >= 0 && (n = read(fd, piece, PIECE)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || (deadline_ms && sw_monotonic_ms() > deadline_ms))
            return false;
        sw_digest_add(&digest, piece, (size_t)n);
    }
    sw_digest_end_hex(&digest, out);
    return fd >= 0;
}

static void list_one(struct manifest_listing *all, const char *path, const char *name, int64_t size)
{
    char hash[SW_DIGEST_HEX];
    const char *known = file_sha256(path, all->deadline_ms, hash) ? hash : NULL;

    all->bytes += size;
    json_array_append_new(all->files, sw_json_object(
        SW_STR("path", name), SW_INT("size", size), SW_STR_OPT("sha256", known)));
}

static int list_file(void *context, const char *relative, const struct stat *info)
{
    struct manifest_listing *all = context;
    sw_autofree char *path = sw_path_join(all->output->path, relative);

    if (S_ISREG(info->st_mode) && !is_excluded(all->output, relative))
        list_one(all, path, relative, info->st_size);
    return 0;
}

int runner_put_text(struct runner *runner, const char *uri, const char *text,
                    struct sw_error *err)
{
    sw_autofree char *path = runner_local_path(uri);
    sw_autofree char *folder = path ? runner_folder_of(path) : NULL;

    assert(path || runner->client);
    if (path)                        /* nothing may have been copied there before */
        return sw_mkdirs(folder, 0777, err) < 0
                   ? -1 : sw_file_write(path, text, strlen(text), 0644, err);
    return sw_transfer_put_bytes(runner->client, uri, text, strlen(text), err);
}

static int write_manifest(struct runner *runner, const struct sync_output *output,
                          const struct runner_result *result, bool complete, int64_t deadline_ms,
                          struct sw_error *err)
{
    sw_autofree char *uri = manifest_uri(output), *text = NULL;
    sw_auto(json) json_t *files = json_array(), *manifest = NULL;
    struct manifest_listing all = { output, files, 0, deadline_ms };
    struct stat info;
    char now[40];

    if (runner_is_result(&runner->scratch, output->to))
        return 0;
    if (output->is_folder)
        sw_walk(output->path, list_file, &all, NULL);
    else if (stat(output->path, &info) == 0)
        list_one(&all, output->path, sw_uri_last(output->path), info.st_size);
    sw_time_format(sw_now_ms(), now);
    manifest = sw_json_object(
        SW_INT("version", 1), SW_STR("job_id", runner->payload->job_id),
        SW_STR("attempt", runner->scratch.attempt), SW_BOOL("complete", complete),
        SW_INT("exit_code", result->exit_code), SW_STR("written_at", now),
        SW_INT("bytes", all.bytes), SW_SUB_COPY("files", files));
    text = sw_json_dump_pretty(manifest);
    return runner_put_text(runner, uri, text, err);
}

static void remove_manifest(struct runner *runner, const struct sync_output *output)
{
    sw_autofree char *uri = manifest_uri(output), *path = runner_local_path(uri);

    if (path)
        unlink(path);
    else
        sw_transfer_delete(runner->client, uri, NULL);       /* there is none, mostly */
}

/* ---- bringing -------------------------------------------------------------------------------- */

static volatile sig_atomic_t asked_to_end;

enum { LEFT_OUT_MOST = 20 };

/* Links that lead out of the output, pipes, sockets: the first ones by name. */
static int say_left_out(void *context, enum sw_moved_how how, const char *relative,
                        const struct sw_object *object, const struct sw_error *why)
{
    int *said = context;

    (void)relative, (void)object;
    if (how == SW_MOVED_LEFT_OUT && *said < LEFT_OUT_MOST && ++*said)
        runner_log("output: %s", why->message);
    return 0;
}

/* A training whose results are missing is noticed weeks later, unless it is said. */
static const char *warn_if_empty(struct runner *runner, int64_t files)
{
    runner->tally->files_found += files;
    if (files > 0)
        return "";
    runner->tally->empty_outputs++;
    return "WARNING: ";
}

/* A file that vanished or was renamed between the look and the copy is no failure while the command
 * runs: the next round sees what became of it. */
static int copy(struct runner *runner, const struct sync_output *output, bool last,
                int64_t deadline_ms, struct sw_error *err)
{
    int said = last ? 0 : LEFT_OUT_MOST;
    const struct sw_copy_rules rules = {
        .moved = say_left_out, .context = &said, .recursive = output->is_folder, .exclude = output->exclude,
        .exclude_count = output->exclude_count, .settle_ms = last ? 0 : SETTLE_MS,
        .deadline_ms = deadline_ms };
    struct sw_copy_report report = { 0 };
    int result = runner_copy_counted(runner, RUNNER_OUT, output->path, output->to, &rules, &report, err);

    if (report.files || last)
        runner_log("%soutput %s: %lld file%s, %lld bytes sent to %s%s",
                   last && result == 0 ? warn_if_empty(runner, report.files + report.same) : "",
                   output->path, (long long)report.files, sw_text_plural((double)report.files),
                   (long long)report.bytes, output->to, last ? "" : " while it runs");
    if (last && report.left_out > said)
        runner_log("output: %lld more not shown", (long long)(report.left_out - said));
    return result;
}

static int bring(struct runner *runner, const struct sync_output *output,
                 const struct runner_result *result, int64_t deadline_ms, bool first,
                 struct sw_error *err)
{
    int outcome;

    if (!runner_transfers(runner, err))
        return -1;
    if (first)
        remove_manifest(runner, output);
    outcome = copy(runner, output, result != NULL, deadline_ms, err);
    if (result && write_manifest(runner, output, result, outcome == 0, deadline_ms,
                                 outcome == 0 ? err : NULL) < 0)
        outcome = -1;
    return outcome == 0 ? 0 : sw_wrap(err, "cannot copy '%s' to '%s'", output->path, output->to);
}

#define GONE "it went with the container of the attempt that made it"

static bool may_pass(const struct sw_error *why)
{
    return why->code == SW_E_UNREACHABLE || why->code == SW_E_TIMEOUT;
}

static int64_t patience(int64_t deadline_ms)
{
    const char *said = getenv("SLIPWAY_COLLECT_PATIENCE_MS");
    int64_t until = sw_monotonic_ms() + (said ? atoll(said) : PATIENCE_MS);

    return deadline_ms && deadline_ms < until ? deadline_ms : until;
}

/* The last time, as often as it takes. */
static int bring_at_last(struct runner *runner, const struct sync_output *output,
                         const struct runner_result *result, int64_t deadline_ms, struct sw_error *err)
{
    int64_t until = patience(deadline_ms), pause_ms = 1000;

    while (bring(runner, output, result, deadline_ms, true, err) < 0) {
        if (!may_pass(err) || sw_monotonic_ms() + pause_ms > until)
            return -1;
        runner_log("%s; trying again", err->message);
        sw_sleep_ms(pause_ms);
        pause_ms = pause_ms < PAUSE_MOST_MS ? pause_ms * 2 : PAUSE_MOST_MS;
    }
    return 0;
}

/* Nothing is there: the command left nothing, or it was left where we cannot see it. */
static int bring_nothing(struct runner *runner, const struct sync_output *output, struct sw_error *err)
{
    if (runner->only_collect)
        return sw_fail(err, SW_E_NOT_FOUND, "the output '%s' is not here: " GONE, output->path);
    runner_log("%soutput %s: no such file or folder", warn_if_empty(runner, 0), output->path);
    return 0;
}

static bool any_shared(const json_t *outputs)
{
    size_t i;
    json_t *entry;

    json_array_foreach(outputs, i, entry)
        if (!sw_text_empty(sw_json_str(entry, "to")) && !sw_json_bool(entry, "each_rank", false))
            return true;
    return false;
}

static int bring_last(struct runner *runner, const json_t *entry, const struct runner_result *result,
                      bool shared, int64_t deadline_ms, struct sw_error *err)
{
    __attribute__((cleanup(output_auto))) struct sync_output output = { 0 };
    bool there = output_of(runner, entry, &output);

    if (!output.path || output.each_rank == shared)
        return 0;
    return there ? bring_at_last(runner, &output, result, deadline_ms, err)
                 : bring_nothing(runner, &output, err);
}

int runner_sync(struct runner *runner, const struct runner_result *result, int64_t deadline_ms,
                struct sw_error *err)
{
    int64_t begun = sw_monotonic_ms();
    int outcome = 0;
    size_t i;
    json_t *entry;

    for (int shared = 0; shared < 2; shared++) {
        if (shared && (!any_shared(runner->outputs) || !runner_brings_shared(runner, deadline_ms)))
            break;
        json_array_foreach(runner->outputs, i, entry) {
            struct sw_error why = { 0 };

            if (bring_last(runner, entry, result, shared, deadline_ms, &why) == 0)
                continue;
            if (outcome == 0 && err)
                *err = why;
            else
                runner_log("%s", why.message);
            outcome = -1;
        }
    }
    runner->tally->collect_ms = sw_monotonic_ms() - begun;
    if (outcome == 0 && runner->only_collect && runner->tally->empty_outputs && !runner->tally->files_found)
        return sw_fail(err, SW_E_NOT_FOUND, "the outputs are gone: " GONE);
    return outcome;
}

/* ---- while it runs ------------------------------------------------------------------------- */

static int64_t every_of(const struct runner *runner, const json_t *entry)
{
    int64_t every = sw_json_int(entry, "every_ms", 0);

    if (every <= 0 || sw_text_empty(sw_json_str(entry, "to")) ||
        (runner->scratch.rank != 0 && !sw_json_bool(entry, "each_rank", false)))
        return 0;
    return every < LEAST_EVERY_MS ? LEAST_EVERY_MS : every;
}

static void end_soon(int signal)
{
    (void)signal;
    asked_to_end = 1;
}

static void bring_settled(struct runner *runner, const json_t *entry, bool first)
{
    __attribute__((cleanup(output_auto))) struct sync_output output = { 0 };
    struct sw_error why = { 0 };

    if (!output_of(runner, entry, &output) || (runner->scratch.rank != 0 && !output.each_rank))
        return;
    if (bring(runner, &output, NULL, 0, first, &why) < 0)
        runner_log("%s; trying again", why.message);
    else
        runner->tally->synced_at_ms = sw_now_ms();
}

/* Each output at its own pace; a round under way is finished when we are asked to end. */
static void sync_until_term(struct runner *runner)
{
    size_t count = json_array_size(runner->outputs);
    sw_autofree int64_t *due = sw_realloc_array(NULL, count + 1, sizeof *due);
    sw_autofree bool *begun = sw_alloc(count + 1);

    for (size_t i = 0; i < count; i++)
        due[i] = sw_monotonic_ms() + every_of(runner, json_array_get(runner->outputs, i));
    while (!asked_to_end) {
        int64_t next = INT64_MAX, now = sw_monotonic_ms();

        for (size_t i = 0; i < count && !asked_to_end; i++) {
            const json_t *entry = json_array_get(runner->outputs, i);
            int64_t every = every_of(runner, entry);

            if (!every)
                continue;
            if (due[i] <= now) {
                bring_settled(runner, entry, !begun[i]);
                begun[i] = true;
                due[i] = sw_monotonic_ms() + every;
            }
            next = due[i] < next ? due[i] : next;
        }
        now = sw_monotonic_ms();
        if (!asked_to_end && next > now)
            sw_sleep_ms(next - now < 500 ? next - now : 500);
    }
}

pid_t runner_start_syncer(struct runner *runner)
{
    bool any = false;
    size_t i;
    json_t *entry;
    pid_t pid;

    json_array_foreach(runner->outputs, i, entry)
        any = any || every_of(runner, entry) > 0;
    if (!any)
        return 0;
    pid = runner_fork(RUNNER_PHASE);
    if (pid != 0)
        return pid;
    signal(SIGTERM, end_soon);
    signal(SIGINT, SIG_IGN);
    sync_until_term(runner);
    _exit(0);
}

/* It may be in the middle of a large file that is wanted anyway: it is given the time, unless the
 * job was stopped and the time is short. */
void runner_stop_syncer(pid_t syncer, int64_t deadline_ms)
{
    if (syncer <= 0)
        return;
    kill(syncer, SIGTERM);
    while (waitpid(syncer, NULL, WNOHANG) == 0) {
        if (deadline_ms && sw_monotonic_ms() > deadline_ms) {
            kill(syncer, SIGKILL);
            waitpid(syncer, NULL, 0);
            return;
        }
        sw_sleep_ms(10);
    }
}
