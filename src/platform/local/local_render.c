/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_render.c - plan in, what will be started out: the runner's payload and the launch record.
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
#include "core/command.h"
#include "core/job_env.h"
#include "plan/entrypoint.h"

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

/* The words of python.args may hold no other placeholder than those that are filled in. */
static int check_placeholders(const struct sw_payload *payload, const json_t *words, struct sw_error *err)
{
    const struct sw_fill known = { .config_path = payload->config ? "" : NULL, .results_dir = "",
                                   .job_id = "" };
    size_t i;
    json_t *word;

    json_array_foreach(words, i, word) {
        sw_autofree char *unknown = sw_fill_unknown(json_string_value(word), &known);

        if (!unknown)
            continue;
        sw_fail(err, SW_E_SPEC, "python.args: %s is not a placeholder", unknown);
        return sw_hint(err, "there are {config_path} (with `config:`), {results_dir} and {job_id}");
    }
    return 0;
}

/* Program and script are files of this machine. */
static int use_python(struct sw_payload *payload, const struct sw_plan *plan, struct sw_error *err)
{
    const char *venv = sw_json_str(plan->python, "venv");
    const char *script = sw_json_str(plan->python, "script");
    sw_autofree char *folder = NULL, *program = NULL, *path = NULL;

    if (check_placeholders(payload, json_object_get(plan->python, "args"), err) < 0)
        return -1;
    if (venv && !(folder = local_source_path(venv, plan->base_dir, err)))
        return -1;
    path = local_source_path(script, plan->base_dir, err);
    if (!path)
        return -1;
    program = folder ? sw_path_join(folder, "bin/python") : sw_strdup("python3");
    json_array_set_new(payload->argv, 0, sw_json_text(program));
    json_array_set_new(payload->argv, 1, sw_json_text(path));
    return 0;
}

/* The job's own shell reads the command, unless it is the ordinary one. */
static void use_shell(struct sw_payload *payload, const char *shell)
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
    taking = sw_format("%.*s \"$@\"", (int)length, command);     /* what the runner adds are its words */
    sw_buf_add(&out, "exec ");
    sw_buf_add_quoted(&out, shell);
    sw_buf_add(&out, " -c ");
    sw_buf_add_quoted(&out, taking);
    sw_buf_add_char(&out, ' ');
    sw_buf_add_quoted(&out, shell);
    payload->command = sw_buf_steal(&out);
}

/* Added after the paths of the job's own values were replaced: these are paths of this machine. */
static void add_env(struct sw_payload *payload, const struct sw_plan *plan)
{
    sw_autofree char *above = sw_path_absolute("..", payload->results_dir);
    const char *venv = sw_json_str(plan->python, "venv");
    sw_autofree char *folder = venv ? local_source_path(venv, plan->base_dir, NULL) : NULL;

    sw_job_env_add(&(struct sw_job_env){ .job_id = plan->job_id, .results_root = payload->results_dir,
                                         .results_above = above, .results_dir = payload->results_dir },
                   payload->env);
    if (folder)
        json_object_set_new(payload->env, "VIRTUAL_ENV", sw_json_text(folder));
}

static int settle_place(json_t *entry, const char *key, const char *said, const char *base_dir,
                        struct sw_error *err)
{
    sw_autofree char *place = local_place_of(said, base_dir, err);

    if (!place)
        return -1;
    json_object_set_new(entry, key, sw_json_text(place));
    return 0;
}

/* Where inputs come from: absolute paths of this machine, or URIs. */
static int settle_inputs(struct sw_payload *payload, const struct sw_plan *plan, struct sw_error *err)
{
    json_t *all = json_deep_copy(plan->inputs), *entry;
    size_t i;

    json_decref(payload->inputs);
    payload->inputs = all;
    json_array_foreach(all, i, entry) {
        const char *path = sw_json_str(entry, "path"), *from = sw_json_str(entry, "from");

        if (sw_text_empty(path) || sw_text_empty(from))
            return sw_fail(err, SW_E_SPEC, "input '%s' does not say where it comes from", path ? path : "");
        if (settle_place(entry, "from", from, plan->base_dir, err) < 0)
            return sw_wrap(err, "input '%s'", path);
    }
    return 0;
}

/* And where outputs go. */
static int settle_outputs(struct sw_payload *payload, const struct sw_plan *plan, struct sw_error *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach(payload->outputs, i, entry) {
        const char *to = sw_json_str(entry, "to");
        sw_autofree char *filled = to ? sw_fill_destination(to, plan->job_id) : NULL;

        if (filled && settle_place(entry, "to", filled, plan->base_dir, err) < 0)
            return sw_wrap(err, "output '%s'", sw_json_str(entry, "path"));
    }
    return 0;
}

/* The code is unpacked into the job's work folder, and the command runs there. */
static void use_code(struct sw_payload *payload, const struct local_site *site)
{
    sw_autofree char *archive = sw_path_join(site->folder, LOCAL_CODE);
    sw_autofree char *to = sw_path_join(site->work_dir, "code");

    json_decref(payload->code);
    payload->code = sw_json_object(SW_STR("archive", archive), SW_STR("to", to));
}

bool local_rewrites_paths(const struct sw_plan *plan)
{
    (void)plan;
    return true;
}

struct sw_payload *local_payload(const struct sw_plan *plan, const struct local_site *site,
                                 struct sw_error *err)
{
    sw_auto(sw_payload) struct sw_payload *payload = sw_entrypoint_payload(plan, err);
    const char *shell = sw_json_str(plan->options, "shell");

    if (!payload || settle_inputs(payload, plan, err) < 0 || settle_outputs(payload, plan, err) < 0)
        return NULL;
    payload->results_dir = sw_strdup(site->results_dir);
    payload->scratch_dir = sw_strdup(site->work_dir);
    if (plan->code) {
        use_code(payload, site);
    } else {
        free(payload->command_dir);
        payload->command_dir = sw_path_absolute(plan->workdir ? plan->workdir : ".", plan->base_dir);
    }
    payload->ca = plan->settings ? sw_strdup(sw_plan_ca(plan)) : NULL;
    json_decref(payload->env);
    payload->env = sw_job_env_own(plan->env);
    sw_entrypoint_use_folders(payload, plan);
    add_env(payload, plan);
    if (plan->python && use_python(payload, plan, err) < 0)
        return NULL;
    sw_entrypoint_fill(payload);
    if (plan->launcher == SW_LAUNCHER_TORCHRUN)
        sw_entrypoint_torchrun(payload, plan->nodes, plan->gpus);
    if (payload->command && !sw_text_empty(shell) && strcmp(shell, "/bin/sh") != 0)
        use_shell(payload, shell);
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
    sw_auto(json) json_t *document = NULL, *launch = NULL;
    sw_autofree char *command = NULL, *payload_text = NULL, *launch_text = NULL;

    local_site_init(&site, conn, plan, 1);
    payload = local_payload(plan, &site, err);
    if (!payload)
        return NULL;
    command = shown_command(payload);
    document = sw_payload_to_json(payload);
    payload_text = sw_json_dump_pretty(document);
    launch = local_launch(plan, &site, 1);
    launch_text = sw_json_dump_pretty(launch);
    return json_pack("[o, o, o, o]",
                     sw_json_object(SW_STR("what", "command"), SW_STR("text", command)),
                     sw_json_object(SW_STR("what", "environment"),
                                    SW_SUB("text", names_of(payload->env, plan))),
                     sw_json_object(SW_STR("what", "payload for the runner"),
                                    SW_STR("text", payload_text)),
                     sw_json_object(SW_STR("what", "launch record for the supervisor"),
                                    SW_STR("text", launch_text)));
}
