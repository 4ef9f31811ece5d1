/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_render.c - plan in, what will be started out: the payload and the launch record.
 *
 * Everything that can be decided before a process exists is decided here, so that `slipway plan`
 * shows it and tests compare it. What differs between ranks (rendezvous, GPUs) is left to the
 * supervisor, which knows them only when the job's turn has come.
 *
 * Pure: no I/O, no clock, no environment.
 */
#include "platform/local/local_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "core/job_env.h"
#include "plan/entrypoint.h"
#include "plan/setup.h"
#include "storage/storage.h"

/* ---- where inputs come from and outputs go: paths of this machine, or URIs for the runner --- */

static size_t scheme_length(const char *uri)
{
    const char *colon = strstr(uri, "://");

    if (!colon || colon == uri || memchr(uri, '/', (size_t)(colon - uri)))
        return 0;
    return (size_t)(colon - uri);
}

char *local_source_path(const char *uri, const char *base_dir, struct sw_error *err)
{
    size_t scheme = scheme_length(uri);
    const char *rest = scheme ? uri + scheme + 3 : uri;

    if (scheme && (scheme != 4 || strncmp(uri, "file", 4) != 0)) {
        sw_fail(err, SW_E_UNSUPPORTED, "'%s' is not a path of this machine", uri);
        sw_hint(err, "use a plain path or file://");
        return NULL;
    }
    if (scheme && sw_text_starts(rest, "localhost/"))
        rest += strlen("localhost");
    if (scheme && *rest != '/') {
        sw_fail(err, SW_E_SPEC, "'%s' names another machine: file:// needs three slashes", uri);
        return NULL;
    }
    if (sw_text_starts(rest, "~/")) {
        sw_autofree char *home = sw_path_home(rest + 2);

        return sw_path_absolute(home, "/");
    }
    return sw_path_absolute(rest, base_dir);
}

/* lustre:// and slurm:// are paths too, on whatever this machine has mounted. */
char *local_place_of(const char *uri, const char *base_dir, struct sw_error *err)
{
    sw_auto(sw_uri) struct sw_uri parts = { 0 };
    const struct sw_storage *storage;

    if (!sw_uri_is_remote(uri) || sw_text_starts(uri, "file://"))
        return local_source_path(uri, base_dir, err);
    if (sw_uri_parse(uri, &parts, err) < 0)
        return NULL;
    storage = sw_storage_find(parts.scheme, err);
    if (!storage)
        return NULL;
    return storage->local ? storage->path(&parts, err) : sw_strdup(uri);
}

/* ---- the payload ---------------------------------------------------------------------------- */

/* What is left after all known placeholders were filled in is a typing mistake. */
static int check_python_args(const json_t *argv, struct sw_error *err)
{
    for (size_t i = 2; i < json_array_size(argv); i++) {
        sw_autofree char *left = sw_fill_unknown(json_string_value(json_array_get(argv, i)),
                                                 &(struct sw_fill){ 0 });

        if (!left)
            continue;
        sw_fail(err, SW_E_SPEC, "python.args: unknown placeholder %s", left);
        return sw_hint(err, "known: {config_path} (with `config:`), {results_dir} and {job_id}");
    }
    return 0;
}

/* The interpreter of the virtual environment, and the script's path on this machine. */
static int set_python(struct sw_payload *payload, const struct sw_plan *plan, struct sw_error *err)
{
    const char *venv = sw_json_str(plan->python, "venv");
    sw_autofree char *folder = NULL, *program = NULL, *script = NULL;

    if (venv && !(folder = local_source_path(venv, plan->base_dir, err)))
        return -1;
    script = local_source_path(sw_json_str(plan->python, "script"), plan->base_dir, err);
    if (!script)
        return -1;
    if (folder) {
        program = sw_path_join(folder, "bin/python");
        json_array_set_new(payload->argv, 0, sw_json_text(program));
        json_object_set_new(payload->env, "VIRTUAL_ENV", sw_json_text(folder));
    }
    return json_array_set_new(payload->argv, 1, sw_json_text(script));
}

static int fill_words(json_t *words, const struct sw_fill *fill, struct sw_error *err)
{
    size_t i;
    json_t *word;

    json_array_foreach(words, i, word) {
        sw_autofree char *filled = json_is_string(word)
                                       ? sw_fill_word(json_string_value(word), fill) : NULL;

        if (!filled)
            return sw_fail(err, SW_E_SPEC, "argument %zu is not a string", i);
        json_array_set_new(words, i, sw_json_text(filled));
    }
    return 0;
}

/* Another shell than /bin/sh reads the command. What the runner adds with `args:` are words behind it. */
static void set_shell(struct sw_payload *payload, const char *shell)
{
    sw_autofree char *command = sw_take(payload->command), *taking = NULL;
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    size_t length = strlen(command);

    if (!payload->args) {
        payload->argv = json_pack("[s, s, s]", shell, "-c", command);
        return;
    }
    while (length > 0 && strchr("\r\n", command[length - 1]))
        length--;
    taking = sw_format("%.*s \"$@\"", (int)length, command);
    sw_buf_add(&out, "exec ");
    sw_buf_add_quoted(&out, shell);
    sw_buf_add(&out, " -c ");
    sw_buf_add_quoted(&out, taking);
    sw_buf_add_char(&out, ' ');
    sw_buf_add_quoted(&out, shell);
    payload->command = sw_buf_steal(&out);
}

/* With `args:` a command is used as it is: its braces are its own. */
static int set_command(struct sw_payload *payload, const struct local_job *job, struct sw_error *err)
{
    const struct sw_plan *plan = &job->plan;
    const char *shell = job->options.shell;
    const struct sw_fill fill = { .config_path = payload->config_path,
                                  .results_dir = payload->results_dir, .job_id = payload->job_id };

    if (plan->python && set_python(payload, plan, err) < 0)
        return -1;
    if (payload->argv && (fill_words(payload->argv, &fill, err) < 0 ||
                          (plan->python && check_python_args(payload->argv, err) < 0)))
        return -1;
    if (payload->command && !plan->args) {
        sw_autofree char *plain = sw_take(payload->command);

        payload->command = sw_fill_command(plain, &fill);
    }
    if (plan->launcher == SW_LAUNCHER_TORCHRUN)
        sw_entrypoint_torchrun(payload, plan->nodes, plan->gpus);
    if (plan->launcher == SW_LAUNCHER_RAY)
        sw_entrypoint_ray(payload, plan);
    if (payload->command && !sw_text_empty(shell) && strcmp(shell, "/bin/sh") != 0)
        set_shell(payload, shell);
    payload->filled = true;
    return 0;
}

static int set_inputs(struct sw_payload *payload, const struct sw_plan *plan, struct sw_error *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach(payload->inputs, i, entry) {
        const char *path = sw_json_str(json_array_get(plan->inputs, i), "path");
        const char *from = sw_json_str(entry, "from");
        sw_autofree char *source = NULL;

        if (sw_text_empty(path) || sw_text_empty(from))
            return sw_fail(err, SW_E_SPEC, "input '%s' has no source",
                           path ? path : "");
        source = local_place_of(from, plan->base_dir, err);
        if (!source)
            return sw_wrap(err, "input '%s'", path);
        json_object_set_new(entry, "from", sw_json_text(source));
    }
    return 0;
}

static int set_outputs(struct sw_payload *payload, const struct sw_plan *plan, struct sw_error *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach(payload->outputs, i, entry) {
        const char *to = sw_json_str(entry, "to");
        sw_autofree char *filled = NULL, *place = NULL;

        if (!to)
            continue;
        filled = sw_fill_destination(to, plan->job_id);
        place = local_place_of(filled, plan->base_dir, err);
        if (!place)
            return sw_wrap(err, "output '%s'", sw_json_str(json_array_get(plan->outputs, i), "path"));
        json_object_set_new(entry, "to", sw_json_text(place));
    }
    return 0;
}

struct sw_payload *local_payload(const struct local_job *job, struct sw_error *err)
{
    const struct sw_plan *plan = &job->plan;
    sw_auto(sw_payload) struct sw_payload *payload = sw_entrypoint_payload(plan, err);
    sw_auto(sw_paths) struct sw_paths *paths =
        sw_paths_of_plan(plan, job->work_dir, job->results_dir);
    sw_autofree char *above = sw_path_absolute("..", job->results_dir);

    if (!payload)
        return NULL;
    sw_setup_place(payload, &(struct sw_setup_place){ .own = job->setup_dir, .cache = job->setup_cache });
    payload->scratch_dir = sw_strdup(job->work_dir);
    payload->results_dir = sw_strdup(job->results_dir);
    payload->ca = plan->settings ? sw_strdup(sw_plan_ca(plan)) : NULL;
    if (!plan->code) {
        free(payload->command_dir);
        payload->command_dir = sw_path_absolute(plan->workdir ? plan->workdir : ".", plan->base_dir);
    }
    if (payload->config)
        payload->config_path =
            sw_format("%s/spec.%s", job->work_dir, sw_format_name(plan->config_format));
    json_decref(payload->env);
    payload->env = sw_job_env_own(plan->env);
    sw_paths_payload(paths, payload);
    sw_job_env_add(&(struct sw_job_env){ .job_id = plan->job_id, .results_root = job->results_dir,
                                         .results_above = above,
                                         .results_dir = job->results_dir }, payload->env);
    if (set_inputs(payload, plan, err) < 0 || set_outputs(payload, plan, err) < 0 ||
        set_command(payload, job, err) < 0)
        return NULL;
    return sw_take(payload);
}

static bool any_destination(const json_t *outputs)
{
    size_t i;
    json_t *entry;

    json_array_foreach(outputs, i, entry)
        if (!sw_text_empty(sw_json_str(entry, "to")))
            return true;
    return false;
}

static json_t *guard_json(const json_t *guard)
{
    if (!json_is_object(guard))
        return NULL;
    return sw_json_object(SW_INT("no_output_ms", sw_json_duration_ms(guard, "no_output", 0)),
                          SW_INT("idle_gpu_ms", sw_json_duration_ms(guard, "idle_gpu", 0)),
                          SW_BOOL("stop", sw_text_same(sw_json_str(guard, "action"), "stop")));
}

json_t *local_launch(const struct local_job *job, int attempt)
{
    const struct sw_plan *plan = &job->plan;
    sw_autofree char *venv_bin = NULL;

    if (sw_json_str(plan->python, "venv")) {
        sw_autofree char *venv = local_source_path(sw_json_str(plan->python, "venv"),
                                                   plan->base_dir, NULL);

        venv_bin = venv ? sw_path_join(venv, "bin") : NULL;
    }
    return sw_json_object(
        SW_STR("job_id", plan->job_id),
        SW_INT("attempt", attempt),
        SW_INT("nodes", plan->nodes),
        SW_INT("gpus", plan->only_collect ? 0 : plan->gpus),
        SW_STR_OPT("gpu_type", plan->gpu_type),
        SW_BOOL("share_gpus", job->options.share_gpus),
        SW_SUB("gpu_ids", json_deep_copy(job->options.gpu_ids)),
        SW_REAL("cpus", plan->cpus),
        SW_INT("memory_bytes", plan->memory_bytes),
        SW_INT("time_ms", plan->time_ms),
        SW_INT("grace_ms", plan->grace_ms),
        SW_INT("disk_wait_ms", job->options.disk_wait_ms),
        SW_SUB("guard", guard_json(plan->guard)),
        SW_INT("retry_max", sw_platform_retries(&sw_platform_local)),
        SW_BOOL("world_size_ranks", plan->world_size_ranks),
        SW_STR("work_dir", job->work_dir),
        SW_STR("results_dir", job->results_dir),
        SW_STR_OPT("path_first", venv_bin),
        SW_INT("secrets", (json_int_t)json_array_size(plan->secrets)),
        SW_SUB("command_exit", plan->only_collect ? json_integer(plan->command_exit) : NULL),
        SW_BOOL("prepare", json_array_size(plan->inputs) > 0 ||
                               json_array_size(plan->outputs) > 0 || plan->code ||
                               plan->checkpoint || plan->args ||
                               (plan->config && !json_is_null(plan->config))),
        SW_BOOL("collect", any_destination(plan->outputs) ||
                               json_array_size(plan->config_outputs) > 0));
}

static json_t *names_of(const json_t *env, const struct sw_plan *plan)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const char *name;
    json_t *value;
    size_t i;

    json_object_foreach((json_t *)env, name, value)
        sw_buf_addf(&out, "%s=%s\n", name, json_string_value(value));
    for (const struct sw_job_variable *row = sw_job_variables; row->name; row++)
        if (!json_object_get(env, row->name) && row->kind != SW_VARIABLE_INSIDE &&
            row->kind != SW_VARIABLE_SPLIT && (row->kind != SW_VARIABLE_SETUP || plan->setup))
            sw_buf_addf(&out, "%s (%s)\n", row->name, row->meaning);
    json_array_foreach(plan->secrets, i, value)
        sw_buf_addf(&out, "%s (secret)\n", json_string_value(value));
    return sw_json_text(sw_buf_text(&out));
}

static char *shown_command(const struct sw_payload *payload)
{
    sw_auto(json) json_t *words = payload->argv
        ? sw_words_with_args(payload->argv, payload->args, payload->flags) : NULL;

    return payload->command
               ? sw_command_with_args(payload->command, payload->args, payload->flags)
               : sw_words_line(words);
}

static json_t *row(const char *what, json_t *text)
{
    return sw_json_object(SW_STR("what", what), SW_SUB("text", text));
}

static json_t *pretty_text(json_t *document)
{
    sw_autofree char *text = sw_json_dump_pretty(document);

    json_decref(document);
    return sw_json_text(text);
}

json_t *local_render(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(local_job) struct local_job job = { 0 };
    sw_auto(sw_payload) struct sw_payload *payload = NULL;
    sw_autofree char *command = NULL;
    json_t *shown;

    if (local_job_init(&job, conn, plan, 1, LOCAL_MOUNTS_SHOW, err) < 0 ||
        !(payload = local_payload(&job, err)))
        return NULL;
    command = shown_command(payload);
    shown = json_pack("[o, o, o, o]", row("command", sw_json_text(command)),
                      row("environment", names_of(payload->env, plan)),
                      row("payload for the runner", pretty_text(sw_payload_to_json(payload))),
                      row("launch record for the supervisor", pretty_text(local_launch(&job, 1))));
    if (sw_setup_text(payload))
        json_array_insert_new(shown, 0, row("setup", sw_json_text(sw_setup_text(payload))));
    return shown;
}
