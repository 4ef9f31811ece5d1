/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare.c - before the command: code, inputs, output folders, checkpoint, config file.
 *
 * Ranks that share the work folder share the work: the rank that gets the lease does it, the others wait
 * and read what it found out. What they read is tied to this start of the job, so a requeue prepares
 * again (which is cheap: what is there already is not fetched twice).
 */
#include "runner/runner.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "core/command.h"
#include "runner/archive.h"
#include "runner/lease.h"

enum { PREPARED_MAX = 16 * 1024 * 1024, PIECE_MAX = 2 * 1024 * 1024, FRESH_MS = 600000 };

/* ---- what prepare found out ---------------------------------------------------------------- */

/* The same payload started anew is another thing to prepare. */
static void start_key(const struct runner *runner, char out[SW_DIGEST_HEX])
{
    sw_auto(json) json_t *payload_json = sw_payload_to_json(runner->payload);
    sw_autofree char *text = sw_json_dump(payload_json);
    sw_autofree char *whole = sw_format("%s\n%s", runner->scratch.attempt, text);

    sw_sha256_hex(whole, strlen(whole), out);
}

static json_t *read_prepared(const struct runner *runner)
{
    sw_autofree char *path = runner_state_path(runner, "prepared.json");
    size_t length = 0;
    sw_autofree char *text = sw_file_exists(path) ? sw_file_read(path, PREPARED_MAX, &length, NULL)
                                                  : NULL;
    sw_auto(json) json_t *json = text ? json_loadb(text, length, 0, NULL) : NULL;
    char key[SW_DIGEST_HEX];

    start_key(runner, key);
    return sw_text_same(sw_json_str(json, "key"), key) ? sw_take(json) : NULL;
}

static int write_prepared(const struct runner *runner, struct sw_error *err)
{
    sw_autofree char *path = runner_state_path(runner, "prepared.json"), *text = NULL;
    sw_auto(json) json_t *json = NULL;
    char key[SW_DIGEST_HEX];

    start_key(runner, key);
    json = sw_json_object(SW_INT("version", 1), SW_STR("key", key),
                          SW_INT("rank", runner->scratch.rank),
                          SW_STR_OPT("command", runner->command),
                          SW_SUB_COPY("argv", runner->argv),
                          SW_SUB_COPY("outputs", runner->outputs),
                          SW_STR_OPT("config_path", runner->config_path),
                          SW_STR_OPT("resume_from", runner->resume_from));
    text = sw_json_dump_pretty(json);
    return sw_file_write(path, text, strlen(text), 0644, err);
}

static void take_prepared(struct runner *runner, const json_t *json)
{
    json_decref(runner->outputs);
    json_decref(runner->argv);
    free(runner->command);
    free(runner->config_path);
    free(runner->resume_from);
    runner->outputs = json_incref(json_object_get(json, "outputs"));
    runner->argv = json_incref(json_object_get(json, "argv"));
    runner->command = sw_strdup(sw_json_str(json, "command"));
    runner->config_path = sw_strdup(sw_json_str(json, "config_path"));
    runner->resume_from = sw_strdup(sw_json_str(json, "resume_from"));
}

/* ---- the steps ----------------------------------------------------------------------------- */

/* A platform whose files are limited in size brings the archive in pieces: PATH.0, PATH.1, ... become
 * `whole`. */
static int join_pieces(const char *path, int64_t pieces, const char *whole, struct sw_error *err)
{
    sw_autofd int out = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    for (int64_t i = 0; i < pieces && out >= 0; i++) {
        sw_autofree char *name = sw_format("%s.%lld", path, (long long)i);
        size_t length = 0;
        sw_autofree char *bytes = sw_file_read(name, PIECE_MAX, &length, err);

        if (!bytes)
            return -1;
        if (sw_write_all(out, bytes, length) < 0)
            return sw_fail_errno(err, SW_E_IO, "cannot write '%s'", whole);
    }
    return out < 0 ? sw_fail_errno(err, SW_E_IO, "cannot write '%s'", whole) : 0;
}

static int unpack_code(const struct runner *runner, struct sw_error *err)
{
    const char *archive = sw_json_str(runner->payload->code, "archive");
    int64_t pieces = sw_json_int(runner->payload->code, "pieces", 0);
    sw_autofree char *folder = NULL, *path = NULL, *whole = NULL;
    int result;

    if (!archive)
        return 0;
    folder = runner_code_folder(runner);
    path = sw_path_join(runner->payload_folder ? runner->payload_folder : ".", archive);
    if (pieces > 0) {
        whole = sw_path_join(runner->scratch.work_dir, archive);
        if (sw_mkdirs(runner->scratch.work_dir, 0755, err) < 0 || join_pieces(path, pieces, whole, err) < 0)
            return sw_wrap(err, "cannot put the code together");
    }
    result = archive_unpack_into(whole ? whole : path, folder, err);
    if (whole)
        unlink(whole);
    return result < 0 ? sw_wrap(err, "cannot unpack the code") : 0;
}

static char *fetch_input(struct runner *runner, const json_t *entry, bool elsewhere,
                         struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *names = runner_selection(runner, entry, &why);
    sw_autofree const char **only = names ? runner_texts(names) : NULL;
    const struct runner_fetch_request request = {
        .uri = sw_json_str(entry, "from"), .to = sw_json_str(entry, "path"),
        .only = only, .only_count = json_array_size(names),
        .extract = sw_json_bool(entry, "extract", elsewhere) };

    if (!why.code)
        return runner_fetch(runner, &request, err);
    if (err)
        *err = why;
    return NULL;
}

static int fetch_inputs(struct runner *runner, struct sw_error *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach(runner->payload->inputs, i, entry) {
        const char *from = sw_json_str(entry, "from"), *path = sw_json_str(entry, "path");
        sw_autofree char *local = from ? runner_local_path(from) : NULL, *got = NULL;

        if (!from || !path)
            return sw_fail(err, SW_E_SPEC, "input %zu of the payload is incomplete", i);
        got = fetch_input(runner, entry, local == NULL, err);
        if (!got)
            return -1;
        json_object_set_new(runner->staged, path, sw_json_text(got));
        /* From the cache: the path the command knows leads there. */
        if (!local && !sw_text_starts(got, path) && !sw_file_exists(path)) {
            sw_autofree char *cached = runner_mount_path(runner->payload->cache_dir, from);
            sw_autofree char *folder = runner_folder_of(path);

            if (sw_mkdirs(folder, 0777, err) < 0 || (unlink(path), symlink(cached, path)) < 0)
                return sw_fail_errno(err, SW_E_IO, "cannot link '%s' to '%s'", cached, path);
        }
    }
    return 0;
}

/* A name with an ending is a file: only its folder is made. */
static int make_output(const char *path, struct sw_error *err)
{
    sw_autofree char *folder = runner_folder_of(path);
    const char *slash = strrchr(path, '/');

    return sw_mkdirs(strchr(slash ? slash : path, '.') ? folder : path, 0777, err);
}

json_t *runner_excludes(const struct runner *runner, const json_t *entry)
{
    json_t *all = json_array();

    json_array_extend(all, json_object_get(entry, "exclude"));
    json_array_extend(all, runner->payload->exclude);
    return all;
}

/* "{id}" is how job files write it; "{job_id}" works as in commands; "{rank}" is left to those who
 * have one, since one prepare serves all ranks. */
static char *filled_destination(const struct runner *runner, const char *to)
{
    return sw_fill_destination(to, runner->payload->job_id);
}

static int declare_outputs(struct runner *runner, bool make, struct sw_error *err)
{
    size_t i;
    json_t *entry;

    json_decref(runner->outputs);
    runner->outputs = json_array();
    json_array_foreach(runner->payload->outputs, i, entry) {
        const char *said = sw_json_str(entry, "path"), *to = sw_json_str(entry, "to");
        bool own = said && (strstr(said, "{rank}") || (to && strstr(to, "{rank}")));
        sw_autofree char *path = said ? filled_destination(runner, said) : NULL;
        sw_autofree char *place = !said ? NULL : to ? filled_destination(runner, to)
                                  : runner_default_destination(&runner->scratch, path);

        if (!said)
            continue;
        if (make && !own && make_output(path, err) < 0)
            return -1;
        json_array_append_new(runner->outputs, sw_json_object(
            SW_STR("path", path), SW_STR_OPT("to", place),
            SW_BOOL("each_rank", own || sw_json_bool(entry, "own", false)),
            SW_SUB("own", !own && sw_json_bool(entry, "own", false) ? json_true() : NULL),
            SW_SUB("exclude", runner_excludes(runner, entry)),
            SW_SUB_COPY("every_ms", json_object_get(entry, "every_ms"))));
    }
    return 0;
}

static int write_config(struct runner *runner, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    sw_autofree char *folder = NULL;

    if (!runner->config)
        return 0;
    folder = runner_folder_of(runner->config_path);
    if (sw_document_write(&text, runner->config, runner->payload->config_format, err) < 0 ||
        sw_mkdirs(folder, 0777, err) < 0 ||
        sw_file_write(runner->config_path, sw_buf_text(&text), text.length, 0644, err) < 0)
        return sw_wrap(err, "cannot write the config");
    return 0;
}

static void name_config(struct runner *runner)
{
    const struct sw_payload *payload = runner->payload;

    free(runner->config_path);
    runner->config_path = NULL;
    if (payload->config)
        runner->config_path = payload->config_path
            ? sw_strdup(payload->config_path)
            : sw_format("%s/spec.%s", runner->scratch.work_dir,
                        sw_format_name(payload->config_format));
}

static json_t *fill_words(const json_t *words, const struct sw_fill *fill)
{
    json_t *out = json_array();
    size_t i;
    json_t *word;

    json_array_foreach(words, i, word) {
        sw_autofree char *text = json_is_string(word)
                                     ? sw_fill_word(json_string_value(word), fill) : NULL;

        if (text)
            json_array_append_new(out, sw_json_text(text));
    }
    return out;
}

static void make_command(struct runner *runner)
{
    const struct sw_payload *payload = runner->payload;
    const char *results = runner->scratch.kind == RUNNER_S3 ? runner->scratch.work_dir
                                                          : runner->scratch.results_root;
    const struct sw_fill fill = { .config_path = runner->config_path, .results_dir = results,
                                  .job_id = payload->job_id,
                                  .work_dir = runner->scratch.work_dir };

    if (payload->args && payload->argv)
        runner->argv = sw_words_with_args(payload->argv, runner->args, payload->flags);
    else if (payload->argv)
        runner->argv = payload->filled ? json_incref(payload->argv)
                                       : fill_words(payload->argv, &fill);
    else if (payload->args)                 /* used as it is: its braces are its own */
        runner->command = sw_command_with_args(payload->command, runner->args, payload->flags);
    else
        runner->command = payload->filled ? sw_strdup(payload->command)
                                          : sw_fill_command(payload->command, &fill);
}

static bool any_stays(const json_t *outputs)
{
    size_t i;
    json_t *entry;

    json_array_foreach(outputs, i, entry)
        if (!sw_json_str(entry, "to"))
            return true;
    return false;
}

static int prepare_all(struct runner *runner, struct sw_error *err)
{
    name_config(runner);
    /* A folder of this job in a volume that jobs share; where it cannot be made, what needs it says so. */
    if (runner->scratch.kind == RUNNER_MOUNT)
        sw_mkdirs(runner->scratch.results_root, 0777, NULL);
    if (unpack_code(runner, err) < 0 || fetch_inputs(runner, err) < 0 ||
        runner_declared_inputs(runner, err) < 0 || declare_outputs(runner, true, err) < 0 ||
        runner_declared_outputs(runner, err) < 0 || runner_config_uris(runner, err) < 0 ||
        (!runner->payload->only_data && runner_resume(runner, err) < 0) || write_config(runner, err) < 0)
        return -1;
    make_command(runner);
    if (runner->scratch.kind == RUNNER_EPHEMERAL && any_stays(runner->outputs))
        runner_log("WARNING: neither TAO_RESULTS_ROOT nor S3_BUCKET_NAME is set: outputs without a "
                   "destination stay in %s and will NOT survive this container",
                   runner->scratch.results_root);
    return write_prepared(runner, err);
}

/* ---- once ---------------------------------------------------------------------------------- */

/* How long ago the file was written, by the clock of its own file system. */
static int64_t age_ms(const struct runner *runner, const char *path)
{
    sw_autofree char *probe = runner_state_path(runner, "now");
    struct stat then, now;
    int fd = open(probe, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    if (fd < 0 || futimens(fd, NULL) < 0 || fstat(fd, &now) < 0 || stat(path, &then) < 0)
        then = now = (struct stat){ 0 };
    if (fd >= 0)
        close(fd);
    return ((int64_t)now.st_mtim.tv_sec - then.st_mtim.tv_sec) * 1000;
}

/* Did another rank of this very start prepare? A rank that prepared before and comes again is a new start
 * without a number of its own (a restarted container); so is an old file, since ranks start together. */
static json_t *prepared_by_another(const struct runner *runner)
{
    sw_auto(json) json_t *json = read_prepared(runner);
    sw_autofree char *path = runner_state_path(runner, "prepared.json");

    if (!json || sw_json_int(json, "rank", -1) == runner->scratch.rank ||
        age_ms(runner, path) > FRESH_MS)
        return NULL;
    return sw_take(json);
}

static bool is_prepared(void *context)
{
    sw_auto(json) json_t *json = prepared_by_another(context);

    return json != NULL;
}

int runner_prepare(struct runner *runner, struct sw_error *err)
{
    sw_autofree char *lock = runner_state_path(runner, "prepare.lock");
    sw_autofree char *folder = runner_folder_of(lock);
    const struct lease_rules rules = { .is_done = is_prepared, .context = runner };
    sw_auto(lease) struct lease *lease = NULL;
    sw_auto(json) json_t *json = NULL;
    int64_t begun = sw_monotonic_ms();
    int result;

    if (sw_mkdirs(folder, 0777, err) < 0) {
        sw_hint(err, "set TAO_RESULTS_ROOT to a folder that the job may write to");
        return sw_wrap(err, "cannot create the job's folder");
    }
    if (lease_take(lock, &rules, &lease, err) < 0)
        return -1;
    json = prepared_by_another(runner);
    if (json) {
        take_prepared(runner, json);
        return 0;
    }
    result = prepare_all(runner, err);
    runner->tally->prepare_ms = sw_monotonic_ms() - begun;
    return result;
}

int runner_load_prepared(struct runner *runner, struct sw_error *err)
{
    sw_auto(json) json_t *json = read_prepared(runner);

    if (json) {
        take_prepared(runner, json);
        return 0;
    }
    name_config(runner);
    if (declare_outputs(runner, false, err) < 0 ||
        (runner->only_collect && runner_declared_outputs(runner, err) < 0))
        return -1;
    make_command(runner);
    return 0;
}
