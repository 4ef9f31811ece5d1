/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_render.c - plan in, what will be started out: the runner's letter and the launch record.
 *
 * Everything that can be decided before a process exists is decided here, so that `slipway plan`
 * shows it and tests compare it. What differs between ranks (rendezvous, GPUs) is left to the
 * supervisor, which knows them only when the job's turn has come.
 *
 * Pure: no I/O, no clock, no environment.
 */
#include "platform/local/local_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "core/job_env.h"
#include "plan/entrypoint.h"

static const char *const format_endings[] = {
    [SW_YAML] = "yaml", [SW_JSON] = "json", [SW_TOML] = "toml",
};

/* Where the outputs of an earlier attempt are brought it is that attempt's folder. */
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

void local_site_init(struct local_site *site, const struct sw_connection *conn,
                     const struct sw_plan *plan, int attempt)
{
    const char *asked = sw_json_str(plan->options, "results_dir");

    site->folder = local_attempt_folder(conn, plan->job_id, attempt);
    site->work_dir = work_dir(conn, plan, attempt);
    if (sw_text_empty(asked)) {
        site->results_dir = sw_format("%s/%s/results", conn->root, plan->job_id);
    } else {
        sw_autofree char *folder = sw_path_absolute(asked, plan->base_dir);

        site->results_dir = sw_path_join(folder, plan->job_id);
    }
}

void local_site_done(struct local_site *site)
{
    free(site->folder);
    free(site->work_dir);
    free(site->results_dir);
}

struct fill {                       /* values of the placeholders */
    const char *config_path, *results_dir, *job_id;
};

static const char *placeholder(const struct fill *fill, const char *at, size_t *length)
{
    const struct {
        const char *word, *value;
    } all[] = {
        { "{config_path}", fill->config_path },
        { "{results_dir}", fill->results_dir },
        { "{job_id}", fill->job_id },
    };

    for (size_t i = 0; i < SW_COUNT(all); i++)
        if (all[i].value && sw_text_starts(at, all[i].word)) {
            *length = strlen(all[i].word);
            return all[i].value;
        }
    return NULL;
}

/* "{name}" that is none of ours: its length, or 0. */
static size_t unknown_name(const char *at)
{
    size_t length = 1;

    if (*at != '{' || !(isalpha((unsigned char)at[1]) || at[1] == '_'))
        return 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_')
        length++;
    return at[length] == '}' ? length + 1 : 0;
}

/* One argument, no shell in between: values need no quotes. */
static char *fill_word(const char *word, const struct fill *fill, bool strict,
                       struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    while (*word) {
        size_t length = 0;
        const char *value = placeholder(fill, word, &length);

        if (value) {
            sw_buf_add(&out, value);
            word += length;
            continue;
        }
        if (strict && (length = unknown_name(word)) > 0) {
            sw_fail(err, SW_E_SPEC, "python.args: %.*s is not a placeholder", (int)length, word);
            sw_hint(err, "there are {config_path} (with `config:`), {results_dir} and {job_id}");
            return NULL;
        }
        sw_buf_add_char(&out, *word++);
    }
    return out.data ? sw_buf_steal(&out) : sw_strdup("");
}

static json_t *fill_words(const json_t *words, const struct sw_paths *paths,
                          const struct fill *fill, bool strict, struct sw_error *err)
{
    sw_auto(json) json_t *out = json_array();
    size_t i;
    json_t *word;

    json_array_foreach(words, i, word) {
        sw_autofree char *mapped = NULL, *filled = NULL;

        if (!json_is_string(word)) {
            sw_fail(err, SW_E_SPEC, "argument %zu is not a text", i);
            return NULL;
        }
        mapped = sw_paths_word(paths, json_string_value(word));
        filled = fill_word(mapped, fill, strict, err);
        if (!filled)
            return NULL;
        json_array_append_new(out, sw_json_text(filled));
    }
    return sw_take(out);
}

static json_t *python_argv(const struct sw_plan *plan, const struct sw_paths *paths,
                           const struct fill *fill, struct sw_error *err)
{
    const char *venv = sw_json_str(plan->python, "venv");
    const char *script = sw_json_str(plan->python, "script");
    sw_autofree char *folder = NULL, *program = NULL, *script_path = NULL;
    sw_auto(json) json_t *args = NULL;
    json_t *argv;

    if (sw_text_empty(script)) {
        sw_fail(err, SW_E_SPEC, "python: needs a 'script'");
        return NULL;
    }
    if (venv && !(folder = local_source_path(venv, plan->base_dir, err)))
        return NULL;
    script_path = local_source_path(script, plan->base_dir, err);
    args = script_path ? fill_words(json_object_get(plan->python, "args"), paths, fill, true, err)
                       : NULL;
    if (!args)
        return NULL;
    program = folder ? sw_path_join(folder, "bin/python") : sw_strdup("python3");
    argv = json_pack("[s, s]", program, script_path);
    json_array_extend(argv, args);
    return argv;
}

/* The command as words for exec: the job's own shell, unless it is the ordinary one. */
static void set_command(struct sw_payload *payload, const struct sw_plan *plan, char *command)
{
    const char *shell = sw_json_str(plan->options, "shell");

    if (plan->launcher == SW_LAUNCHER_TORCHRUN) {
        char *wrapped = sw_command_torchrun(command, plan->nodes, plan->gpus > 0 ? plan->gpus : 1);

        if (wrapped) {
            free(command);
            command = wrapped;
        }
    }
    if (sw_text_empty(shell) || strcmp(shell, "/bin/sh") == 0) {
        payload->command = command;
        return;
    }
    if (plan->args) {                        /* what the runner adds are words for the command */
        sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
        size_t length = strlen(command);
        sw_autofree char *taking = NULL;

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
    } else {
        payload->argv = json_pack("[s, s, s]", shell, "-c", command);
    }
    free(command);
}

static int payload_command(struct sw_payload *payload, const struct sw_plan *plan,
                           const struct sw_paths *paths, struct sw_error *err)
{
    const struct fill fill = { payload->config_path, payload->results_dir, payload->job_id };

    if (plan->command) {
        sw_autofree char *mapped = sw_paths_command(paths, plan->command);

        /* With args it is used as it is: its braces are its own. */
        set_command(payload, plan, plan->args ? sw_take(mapped)
                                              : sw_command_fill(mapped, fill.config_path,
                                                                fill.results_dir, fill.job_id));
        return 0;
    }
    payload->argv = plan->python ? python_argv(plan, paths, &fill, err)
                                 : fill_words(plan->argv, paths, &fill, false, err);
    if (payload->argv && plan->launcher == SW_LAUNCHER_TORCHRUN) {
        char *text = sw_words_line(payload->argv);

        json_decref(sw_take(payload->argv));
        set_command(payload, plan, text);
    }
    return payload->argv || payload->command ? 0 : -1;
}

static json_t *payload_env(const struct sw_plan *plan, const struct local_site *site,
                           const struct sw_paths *paths)
{
    sw_auto(json) json_t *own = sw_job_env_own(plan->env);
    json_t *env = sw_paths_document(paths, own);
    sw_autofree char *above = sw_path_absolute("..", site->results_dir);

    sw_job_env_add(&(struct sw_job_env){ .job_id = plan->job_id, .results_root = site->results_dir,
                                         .results_above = above, .results_dir = site->results_dir }, env);
    if (sw_json_str(plan->python, "venv")) {
        sw_autofree char *venv = local_source_path(sw_json_str(plan->python, "venv"),
                                                   plan->base_dir, NULL);

        json_object_set_new(env, "VIRTUAL_ENV", sw_json_text(venv));
    }
    return env;
}

/* The annotation is named by its path in the job. */
static json_t *selective_of(const json_t *entry, const struct sw_paths *paths)
{
    json_t *rules = json_deep_copy(json_object_get(entry, "selective"));
    const char *annotation = sw_json_str(rules, "annotation");

    if (annotation)
        json_object_set_new(rules, "annotation", sw_json_text(sw_paths_of(paths, annotation)));
    return rules;
}

static json_t *payload_inputs(const struct sw_plan *plan, const struct sw_paths *paths,
                              struct sw_error *err)
{
    sw_auto(json) json_t *out = json_array();
    size_t i;
    json_t *entry;

    json_array_foreach(plan->inputs, i, entry) {
        const char *path = sw_json_str(entry, "path"), *from = sw_json_str(entry, "from");
        sw_autofree char *source = NULL;

        if (sw_text_empty(path) || sw_text_empty(from)) {
            sw_fail(err, SW_E_SPEC, "input '%s' does not say where it comes from",
                    path ? path : "");
            return NULL;
        }
        source = local_place_of(from, plan->base_dir, err);
        if (!source) {
            sw_wrap(err, "input '%s'", path);
            return NULL;
        }
        json_array_append_new(out, sw_json_object(
            SW_STR("path", sw_paths_of(paths, path)), SW_STR("from", source),
            SW_SUB("selective", selective_of(entry, paths)),
            SW_SUB_COPY("extract", json_object_get(entry, "extract"))));
    }
    return sw_take(out);
}

static json_t *every_ms(const json_t *entry)
{
    const char *every = sw_json_str(entry, "every");
    int64_t ms = 0;

    return every && sw_duration_parse(every, &ms, NULL) == 0 ? json_integer(ms) : NULL;
}

/* The code is unpacked into the job's work folder, and the command runs there. */
static void payload_code(struct sw_payload *payload, const struct sw_plan *plan,
                         const struct local_site *site)
{
    sw_autofree char *archive = sw_path_join(site->folder, LOCAL_CODE);
    sw_autofree char *to = sw_path_join(site->work_dir, "code");

    payload->code = sw_json_object(SW_STR("archive", archive), SW_STR("to", to));
    payload->workdir = sw_strdup(plan->workdir);
}

static json_t *payload_checkpoint(const struct sw_plan *plan, const struct sw_paths *paths)
{
    const char *dir = sw_json_str(plan->checkpoint, "dir");
    sw_autofree char *mapped = dir ? sw_paths_value(paths, dir) : NULL;

    return mapped ? sw_json_object(SW_STR("dir", mapped),
                                   SW_SUB_COPY("resume",
                                               json_object_get(plan->checkpoint, "resume")))
                  : NULL;
}

static json_t *payload_outputs(const struct sw_plan *plan, const struct sw_paths *paths,
                               struct sw_error *err)
{
    sw_auto(json) json_t *out = json_array();
    size_t i;
    json_t *entry;

    json_array_foreach(plan->outputs, i, entry) {
        const char *path = sw_json_str(entry, "path"), *to = sw_json_str(entry, "to");
        sw_autofree char *filled = NULL, *place = NULL;

        if (sw_text_empty(path))
            continue;
        if (to) {
            filled = sw_fill_destination(to, plan->job_id);
            place = local_place_of(filled, plan->base_dir, err);
            if (!place) {
                sw_wrap(err, "output '%s'", path);
                return NULL;
            }
        }
        json_array_append_new(out, sw_json_object(SW_STR("path", sw_paths_of(paths, path)),
                                                  SW_STR_OPT("to", place),
                                                  SW_SUB("every_ms", every_ms(entry)),
                                                  SW_SUB_COPY("exclude",
                                                              json_object_get(entry, "exclude"))));
    }
    return sw_take(out);
}

bool local_rewrites_paths(const struct sw_plan *plan)
{
    (void)plan;
    return true;
}

struct sw_payload *local_payload(const struct sw_plan *plan, const struct local_site *site,
                                 int attempt, struct sw_error *err)
{
    sw_auto(sw_payload) struct sw_payload *payload = sw_payload_new();
    sw_auto(sw_paths) struct sw_paths *paths =
        sw_paths_of_plan(plan, site->work_dir, site->results_dir);

    (void)attempt;
    memcpy(payload->job_id, plan->job_id, sizeof payload->job_id);
    payload->results_dir = sw_strdup(site->results_dir);
    payload->work_dir = sw_strdup(site->work_dir);
    payload->filled = true;
    payload->fetch_uris = true;
    if (plan->code)
        payload_code(payload, plan, site);
    else
        payload->workdir = sw_path_absolute(plan->workdir ? plan->workdir : ".", plan->base_dir);
    payload->checkpoint = payload_checkpoint(plan, paths);
    payload->secrets = json_incref(plan->secrets);
    payload->credentials = json_incref(plan->credentials);
    payload->ca = plan->settings ? sw_strdup(sw_plan_ca(plan)) : NULL;
    payload->grace_ms = plan->grace_ms;
    if (plan->config && !json_is_null(plan->config)) {
        payload->config = sw_paths_document(paths, plan->config);
        payload->config_format = plan->config_format;
        payload->config_path =
            sw_format("%s/spec.%s", site->work_dir, format_endings[plan->config_format]);
    }
    sw_entrypoint_common(payload, plan);
    payload->args = plan->args ? sw_paths_document(paths, plan->args) : NULL;
    payload->config_inputs = sw_paths_entries(paths, plan->config_inputs, "container_path");
    payload->env = payload_env(plan, site, paths);
    payload->inputs = payload_inputs(plan, paths, err);
    payload->outputs = payload->inputs ? payload_outputs(plan, paths, err) : NULL;
    if (!payload->outputs || payload_command(payload, plan, paths, err) < 0)
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

json_t *local_launch(const struct sw_plan *plan, const struct local_site *site, int attempt)
{
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
        SW_BOOL("share_gpus", sw_json_bool(plan->options, "share_gpus", false)),
        SW_SUB_COPY("gpu_ids", json_object_get(plan->options, "gpu_ids")),
        SW_REAL("cpus", plan->cpus),
        SW_INT("memory_bytes", plan->memory_bytes),
        SW_INT("time_ms", plan->time_ms),
        SW_INT("grace_ms", plan->grace_ms),
        SW_INT("disk_wait_ms", sw_json_duration_ms(plan->options, "disk_wait", 60000)),
        SW_SUB("guard", guard_json(plan->guard)),
        SW_BOOL("world_size_ranks", plan->world_size_ranks),
        SW_STR("work_dir", site->work_dir),
        SW_STR("results_dir", site->results_dir),
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
        if (!json_object_get(env, row->name) && row->kind != SW_VARIABLE_INSIDE)
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

json_t *local_render(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(local_site) struct local_site site = { 0 };
    sw_auto(sw_payload) struct sw_payload *payload = NULL;
    sw_auto(json) json_t *letter = NULL, *launch = NULL;
    sw_autofree char *command = NULL, *letter_text = NULL, *launch_text = NULL;

    local_site_init(&site, conn, plan, 1);
    payload = local_payload(plan, &site, 1, err);
    if (!payload)
        return NULL;
    command = shown_command(payload);
    letter = sw_payload_to_json(payload);
    letter_text = sw_json_dump_pretty(letter);
    launch = local_launch(plan, &site, 1);
    launch_text = sw_json_dump_pretty(launch);
    return json_pack("[o, o, o, o]",
                     sw_json_object(SW_STR("what", "command"), SW_STR("text", command)),
                     sw_json_object(SW_STR("what", "environment"),
                                    SW_SUB("text", names_of(payload->env, plan))),
                     sw_json_object(SW_STR("what", "payload for the runner"),
                                    SW_STR("text", letter_text)),
                     sw_json_object(SW_STR("what", "launch record for the supervisor"),
                                    SW_STR("text", launch_text)));
}
