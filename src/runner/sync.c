/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.c - outputs to their destinations: again and again while the command runs, and once more
 * when it is over, however it ended.
 *
 * While it runs only files that have settled are taken: one that was written in the last moments may
 * be half of itself. A manifest is written last and removed first, so a reader who finds one knows
 * that everything it lists is there; among the results themselves there is none. Rank 0 brings what
 * all ranks share; a path with {rank} in it is brought by its own rank. One output that fails does not
 * keep the others from arriving.
 */
#include "runner/runner.h"

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

enum { SETTLE_MS = 3000, PIECE = 256 * 1024, LEAST_EVERY_MS = 1000 };

struct output {                      /* one entry, with its rank filled in; all owned */
    char *path, *to;
    const char **exclude;
    size_t exclude_count;
    bool is_folder;
};

static void output_auto(struct output *output)
{
    free(output->path);
    free(output->to);
    free(output->exclude);
}

/* False: not ours to bring, nowhere to bring it to, or not there. */
static bool output_of(const struct runner *runner, const json_t *entry, struct output *out)
{
    const char *path = sw_json_str(entry, "path"), *to = sw_json_str(entry, "to");
    sw_autofree char *rank = sw_format("%d", runner->place.rank);
    const struct sw_fill fill = { .rank = rank };
    const json_t *patterns = json_object_get(entry, "exclude");
    struct stat info;

    if (!path || sw_text_empty(to) ||
        (runner->place.rank != 0 && !sw_json_bool(entry, "each_rank", false)))
        return false;
    out->path = sw_fill_word(path, &fill);
    out->to = sw_fill_word(to, &fill);
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

static char *manifest_uri(const struct output *output)
{
    sw_autofree char *own = sw_path_join(output->path, "manifest.json");

    if (!output->is_folder)
        return sw_format("%s.manifest.json", output->to);
    /* The command may have a manifest.json of its own. */
    return sw_uri_join(output->to, sw_file_exists(own) ? "slipway-manifest.json"
                                                       : "manifest.json");
}

struct listing {
    const struct output *output;
    json_t *files;
    int64_t bytes, deadline_ms;
};

static bool is_excluded(const struct output *output, const char *name)
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

static void list_one(struct listing *all, const char *path, const char *name, int64_t size)
{
    char hash[SW_DIGEST_HEX];
    const char *known = file_sha256(path, all->deadline_ms, hash) ? hash : NULL;

    all->bytes += size;
    json_array_append_new(all->files, sw_json_object(
        SW_STR("path", name), SW_INT("size", size), SW_STR_OPT("sha256", known)));
}

static int list_file(void *context, const char *relative, const struct stat *info)
{
    struct listing *all = context;
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

    if (path)                        /* nothing may have been copied there before */
        return sw_mkdirs(folder, 0777, err) < 0
                   ? -1 : sw_file_write(path, text, strlen(text), 0644, err);
    return sw_mover_put_bytes(runner->mover, uri, text, strlen(text), err);
}

static int write_manifest(struct runner *runner, const struct output *output,
                          const struct runner_result *result, bool complete, int64_t deadline_ms,
                          struct sw_error *err)
{
    sw_autofree char *uri = manifest_uri(output), *text = NULL;
    sw_auto(json) json_t *files = json_array(), *manifest = NULL;
    struct listing all = { output, files, 0, deadline_ms };
    struct stat info;
    char now[40];

    if (runner_is_result(&runner->place, output->to))
        return 0;
    if (output->is_folder)
        sw_walk(output->path, list_file, &all, NULL);
    else if (stat(output->path, &info) == 0)
        list_one(&all, output->path, sw_uri_last(output->path), info.st_size);
    sw_time_format(sw_now_ms(), now);
    manifest = sw_json_object(
        SW_INT("version", 1), SW_STR("job_id", runner->payload->job_id),
        SW_STR("attempt", runner->place.attempt), SW_BOOL("complete", complete),
        SW_INT("exit_code", result->exit_code), SW_STR("written_at", now),
        SW_INT("bytes", all.bytes), SW_SUB_COPY("files", files));
    text = sw_json_dump_pretty(manifest);
    return runner_put_text(runner, uri, text, err);
}

static void remove_manifest(struct runner *runner, const struct output *output)
{
    sw_autofree char *uri = manifest_uri(output), *path = runner_local_path(uri);

    if (path)
        unlink(path);
    else
        sw_mover_delete(runner->mover, uri, NULL);       /* there is none, mostly */
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
        runner_say("output: %s", why->message);
    return 0;
}

/* A file that vanished or was renamed between the look and the copy is no failure while the command
 * runs: the next round sees what became of it. */
static int copy(struct runner *runner, const struct output *output, bool last,
                int64_t deadline_ms, struct sw_error *err)
{
    int said = last ? 0 : LEFT_OUT_MOST;
    const struct sw_copy_rules rules = {
        .moved = say_left_out, .context = &said, .recursive = output->is_folder, .exclude = output->exclude,
        .exclude_count = output->exclude_count, .settle_ms = last ? 0 : SETTLE_MS,
        .deadline_ms = deadline_ms };
    struct sw_copy_report report = { 0 };
    int result = runner_carry(runner, RUNNER_OUT, output->path, output->to, &rules, &report, err);

    if (report.files || last)
        runner_say("output %s: %lld files, %lld bytes brought to %s%s", output->path,
                   (long long)report.files, (long long)report.bytes, output->to,
                   last ? "" : " while it runs");
    if (last && report.left_out > said)
        runner_say("output: %lld more are left out", (long long)(report.left_out - said));
    return result;
}

static int bring(struct runner *runner, const struct output *output,
                 const struct runner_result *result, int64_t deadline_ms, bool first,
                 struct sw_error *err)
{
    int outcome;

    if (!runner_mover(runner, err))
        return -1;
    if (first)
        remove_manifest(runner, output);
    outcome = copy(runner, output, result != NULL, deadline_ms, err);
    if (result && write_manifest(runner, output, result, outcome == 0, deadline_ms,
                                 outcome == 0 ? err : NULL) < 0)
        outcome = -1;
    return outcome == 0 ? 0 : sw_wrap(err, "cannot bring '%s' to '%s'", output->path, output->to);
}

int runner_sync(struct runner *runner, const struct runner_result *result, int64_t deadline_ms,
                struct sw_error *err)
{
    int64_t begun = sw_monotonic_ms();
    int outcome = 0;
    size_t i;
    json_t *entry;

    json_array_foreach(runner->outputs, i, entry) {
        __attribute__((cleanup(output_auto))) struct output output = { 0 };
        struct sw_error why = { 0 };

        if (!output_of(runner, entry, &output) ||
            bring(runner, &output, result, deadline_ms, result != NULL, &why) == 0)
            continue;
        if (outcome == 0 && err)
            *err = why;
        else
            runner_say("%s", why.message);
        outcome = -1;
    }
    if (result)
        runner->tally->collect_ms = sw_monotonic_ms() - begun;
    return outcome;
}

/* ---- while it runs ------------------------------------------------------------------------- */

static int64_t every_of(const struct runner *runner, const json_t *entry)
{
    int64_t every = sw_json_int(entry, "every_ms", 0);

    if (every <= 0 || sw_text_empty(sw_json_str(entry, "to")) ||
        (runner->place.rank != 0 && !sw_json_bool(entry, "each_rank", false)))
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
    __attribute__((cleanup(output_auto))) struct output output = { 0 };
    struct sw_error why = { 0 };

    if (!output_of(runner, entry, &output))
        return;
    if (bring(runner, &output, NULL, 0, first, &why) < 0)
        runner_say("%s; it is tried again", why.message);
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
