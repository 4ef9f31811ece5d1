/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entrypoint.c - plan in, what runs inside a container out.
 *
 * The script is bound by no argument limit, since nothing travels as an argument; the runner inside
 * is packed, so the whole is about half a megabyte. It tries several folders, because /tmp may be
 * full or forbid programs, and then becomes the runner: as the first process, with the user's
 * standard input. Pure.
 */
#include "plan/entrypoint.h"

#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/setup.h"

enum { RAY_WAIT_MS = 10 * 60 * 1000, RAY_IDLE_MS = 60 * 60 * 1000 };    /* as the table of keys has them */

/* ---- the payload --------------------------------------------------------------------------- */

/* Durations were checked with the job file. */
static json_t *every_ms(const json_t *entry)
{
    const char *every = sw_json_str(entry, "every");
    int64_t ms = 0;

    return every && sw_duration_parse(every, &ms, NULL) == 0 ? json_integer(ms) : NULL;
}

static json_t *outputs_of(const struct sw_plan *plan)
{
    json_t *all = json_array();
    size_t i;
    json_t *entry;

    json_array_foreach(plan->outputs, i, entry)
        json_array_append_new(all, sw_json_object(
            SW_SUB_COPY("path", json_object_get(entry, "path")),
            SW_SUB_COPY("to", json_object_get(entry, "to")),
            SW_SUB("every_ms", every_ms(entry)),
            SW_SUB_COPY("exclude", json_object_get(entry, "exclude"))));
    return all;
}

static json_t *config_outputs_of(const struct sw_plan *plan)
{
    json_t *all = plan->config_outputs ? json_array() : NULL;
    size_t i;
    json_t *entry;

    json_array_foreach(plan->config_outputs, i, entry)
        json_array_append_new(all, sw_json_object(
            SW_SUB_COPY("key", json_object_get(entry, "key")),
            SW_SUB_COPY("type", json_object_get(entry, "type")),
            SW_SUB("every_ms", every_ms(entry)),
            SW_SUB_COPY("exclude", json_object_get(entry, "exclude"))));
    return all;
}

static int set_command(struct sw_payload *payload, const struct sw_plan *plan,
                       struct sw_error *err)
{
    const char *script = sw_json_str(plan->python, "script");

    if (plan->command)
        payload->command = sw_strdup(plan->command);
    else if (plan->argv)
        payload->argv = json_incref(plan->argv);
    else if (script) {
        payload->argv = json_pack("[s, s]", "python3", script);
        json_array_extend(payload->argv, json_object_get(plan->python, "args"));
    }
    return payload->command || payload->argv
               ? 0 : sw_fail(err, SW_E_SPEC, "nothing to run: the job has no command");
}

struct sw_payload *sw_entrypoint_payload(const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(sw_payload) struct sw_payload *payload = sw_payload_new();

    memcpy(payload->job_id, plan->job_id, sizeof payload->job_id);
    payload->command_dir = plan->workdir ? sw_strdup(plan->workdir) : NULL;
    payload->env = json_incref(plan->env);
    payload->secrets = json_incref(plan->secrets);
    payload->credentials = json_incref(plan->credentials);
    payload->inputs = json_incref(plan->inputs);
    payload->outputs = outputs_of(plan);
    payload->args = json_incref(plan->args);
    payload->config_inputs = json_incref(plan->config_inputs);
    payload->config_outputs = config_outputs_of(plan);
    payload->flags = json_incref(plan->flags);
    payload->cache_dir = sw_strdup(plan->cache);
    payload->settings = sw_plan_settings_sent(plan);
    payload->grace_ms = plan->grace_ms;
    payload->fetch_uris = true;
    payload->only_data = plan->only_data;
    if (plan->checkpoint && !json_is_null(plan->checkpoint))
        payload->checkpoint = json_incref(plan->checkpoint);
    if (plan->config && !json_is_null(plan->config)) {
        payload->config = json_incref(plan->config);
        payload->config_format = plan->config_format;
    }
    if (plan->code)
        payload->code = sw_json_object(SW_STR("archive", "code.tar.gz"));
    if (set_command(payload, plan, err) < 0)
        return NULL;
    sw_setup_add(payload, plan);
    return sw_take(payload);
}

void sw_entrypoint_torchrun(struct sw_payload *payload, int nodes, int gpus)
{
    sw_autofree char *plain = payload->command ? sw_strdup(payload->command)
                                               : sw_words_line(payload->argv);
    char *wrapped = sw_command_torchrun(plain, nodes, gpus > 0 ? gpus : 1);

    if (!wrapped)
        return;
    free(payload->command);
    json_decref(sw_take(payload->argv));
    payload->command = wrapped;
}

/* As the job file has it, or the default. */
static int64_t duration_of(const json_t *group, const char *key, int64_t initial_ms)
{
    const json_t *value = json_object_get(group, key);
    int64_t ms = initial_ms;

    if (json_is_string(value))
        sw_duration_parse(json_string_value(value), &ms, NULL);
    else if (json_is_number(value))
        ms = (int64_t)(json_number_value(value) * 1000);
    return ms;
}

void sw_entrypoint_ray(struct sw_payload *payload, const struct sw_plan *plan)
{
    const json_t *said = plan->ray_cluster;
    bool keep = sw_json_bool(said, "keep", false);

    json_decref(payload->ray);
    payload->ray = sw_json_object(
        SW_INT("wait_ms", duration_of(said, "wait", RAY_WAIT_MS)),
        SW_SUB("idle_ms", keep ? json_integer(duration_of(said, "idle", RAY_IDLE_MS)) : NULL),
        SW_INT("gpus", plan->gpus), SW_INT("cpus", (int)plan->cpus));
}

/* ---- for people ------------------------------------------------------------------------------ */

static void describe_entries(struct sw_buf *out, const char *verb, const json_t *entries,
                             const char *from, const char *to)
{
    size_t i;
    json_t *entry;

    json_array_foreach(entries, i, entry) {
        const char *a = sw_json_str(entry, from), *b = sw_json_str(entry, to);

        sw_buf_addf(out, "%s %s -> %s\n", verb, a ? a : "", b ? b : "(by the environment there)");
    }
}

static void describe_places(struct sw_buf *out, const char *verb, const json_t *entries,
                            const char *of)
{
    size_t i;
    json_t *entry;

    json_array_foreach(entries, i, entry)
        sw_buf_addf(out, "%s %s of the %s\n", verb, sw_json_str(entry, "key"), of);
}

static void describe_command(struct sw_buf *out, const struct sw_payload *payload)
{
    if (payload->command) {
        sw_autofree char *text = payload->args
            ? sw_command_with_args(payload->command, payload->args, payload->flags)
            : sw_strdup(payload->command);

        sw_buf_addf(out, "command  /bin/sh -c %s\n", text);
    } else {
        sw_auto(json) json_t *words = sw_words_with_args(payload->argv, payload->args,
                                                         payload->flags);
        sw_autofree char *text = sw_json_dump(words);

        sw_buf_addf(out, "command  %s\n", text);
    }
}

static void describe_setup(struct sw_buf *out, const char *text)
{
    const char *label = "setup";

    while (text && *text) {
        size_t length = strcspn(text, "\n");

        sw_buf_addf(out, "%-8s %.*s\n", label, (int)length, text);
        text += length + (text[length] == '\n');
        label = "";
    }
}

void sw_entrypoint_describe(struct sw_buf *out, const struct sw_payload *payload)
{
    const char *of = payload->args ? "args" : "config";

    if (payload->code)
        sw_buf_add(out, "code     unpacked; the command runs there\n");
    if (payload->cache_dir)
        sw_buf_addf(out, "cache    s3:// inputs are kept in %s\n", payload->cache_dir);
    describe_entries(out, "input   ", payload->inputs, "from", "path");
    describe_places(out, "input   ", payload->config_inputs, of);
    if (payload->config)
        sw_buf_add(out, "config   written at {config_path}, URIs inside replaced by local paths\n");
    describe_setup(out, sw_setup_text(payload));
    describe_command(out, payload);
    describe_entries(out, "output  ", payload->outputs, "path", "to");
    describe_places(out, "output  ", payload->config_outputs, of);
}

/* ---- several ranks ---------------------------------------------------------------------------- */

static bool is_at_or_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);

    return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

void sw_entrypoint_mark_own(json_t *outputs, const char *shared, const struct sw_mounts *mounts)
{
    size_t i;
    json_t *entry;

    json_array_foreach(outputs, i, entry) {
        const char *path = sw_json_str(entry, "path");
        bool own = path && !is_at_or_below(path, "/results") && !(shared && is_at_or_below(path, shared));

        for (size_t m = 0; own && m < mounts->count; m++)
            own = !is_at_or_below(path, mounts->items[m].target);
        if (own)
            json_object_set_new(entry, "own", json_true());
    }
}

/* ---- the script ------------------------------------------------------------------------------ */

static void add_heredoc(struct sw_buf *out, const char *into, const void *bytes, size_t length)
{
    enum { LINE = 76 };
    sw_auto(sw_buf) struct sw_buf packed = SW_BUF_INIT;
    sw_autofree char *text = NULL;

    sw_gzip(bytes, length, &packed);
    text = sw_base64(packed.data, packed.length);
    sw_buf_addf(out, "base64 -d <<'SLIPWAY' | gzip -dc > %s\n", into);
    for (const char *at = text; *at;) {
        size_t line = strnlen(at, LINE);

        sw_buf_add_bytes(out, at, line);
        sw_buf_add_char(out, '\n');
        at += line;
    }
    sw_buf_add(out, "SLIPWAY\n");
}

static void add_head(struct sw_buf *out, const struct sw_payload *payload)
{
    sw_buf_addf(out,
        "#!/bin/sh\n"
        "# Job %s, everything it needs inside. Made by `slipway entrypoint --script`.\n"
        "#     docker run --rm -v \"$PWD/job.sh:/job.sh\" IMAGE sh /job.sh\n"
        "#     sbatch job.sh\n"
        "#     sh job.sh                                        (results go to ./results)\n"
        "# Secrets are read from the environment by their names; none is in this file.\n"
        "set -u\n"
        "trap 'exit 143' TERM\n"
        "umask 077\n"
        "slipway_fail() { echo \"slipway: $*\" >&2; exit 74; }\n", payload->job_id);
}

static void add_unpack_runner(struct sw_buf *out, const struct sw_runner_bytes *runners,
                              size_t count)
{
    sw_buf_add(out, "slipway_unpack_runner() {\ncase \"$(uname -m)\" in\n");
    for (size_t i = 0; i < count; i++) {
        bool any = !runners[i].arch;
        const char *arch = any ? "*" : runners[i].arch;

        sw_buf_addf(out, "%s%s)\n", arch, sw_text_same(arch, "aarch64") ? "|arm64"
                                          : sw_text_same(arch, "x86_64") ? "|amd64" : "");
        add_heredoc(out, "\"$slipway_dir/slipway-runner\"", runners[i].bytes, runners[i].size);
        sw_buf_add(out, ";;\n");
    }
    sw_buf_add(out, "*) slipway_fail \"no runner for $(uname -m) in this script\" ;;\n"
                    "esac\n}\n");
}

/* Usage ends with 64: then it can be run from here. Nothing goes to /dev/null, which a bare image
 * does not have. */
static void add_choose_folder(struct sw_buf *out, const struct sw_payload *payload)
{
    sw_buf_addf(out,
        "slipway_dir=\n"
        "for slipway_try in \"${SLIPWAY_TMP:-}\" \"${TMPDIR:-}\" /tmp /var/tmp /dev/shm .; do\n"
        "    [ -n \"$slipway_try\" ] && [ -d \"$slipway_try\" ] || continue\n"
        "    slipway_dir=$slipway_try/slipway-%s-$$\n"
        "    mkdir \"$slipway_dir\" 2>&- && slipway_unpack_runner &&\n"
        "        chmod 755 \"$slipway_dir/slipway-runner\" && {\n"
        "        \"$slipway_dir/slipway-runner\" >&- 2>&-\n"
        "        [ $? -eq 64 ] && break\n"
        "    }\n"
        "    rm -rf \"$slipway_dir\"\n"
        "    slipway_dir=\n"
        "done\n"
        "[ -n \"$slipway_dir\" ] || slipway_fail \"no folder here takes and runs a program;"
        " set SLIPWAY_TMP to one\"\n", payload->job_id);
}

/* The first process of a container, or a place that has /results, works as the contract says. Elsewhere a
 * folder at the root of the machine is not the job's to make. */
static void add_results(struct sw_buf *out, const struct sw_payload *payload)
{
    sw_buf_addf(out,
        "if [ -z \"${TAO_RESULTS_ROOT:-}${S3_BUCKET_NAME:-}\" ] && [ $$ != 1 ] && [ ! -d /results ]; then\n"
        "    TAO_RESULTS_ROOT=${PWD%%/}/results\n"
        "    export TAO_RESULTS_ROOT\n"
        "    echo \"slipway: results go to $TAO_RESULTS_ROOT/%s\" >&2\n"
        "fi\n", payload->job_id);
}

void sw_entrypoint_script(struct sw_buf *out, const struct sw_payload *payload,
                          const struct sw_runner_bytes *runners, size_t count,
                          const struct sw_bundle *code, const struct sw_buf *ca)
{
    sw_auto(json) json_t *document = sw_payload_to_json(payload);
    sw_autofree char *text = sw_json_dump(document);

    add_head(out, payload);
    add_unpack_runner(out, runners, count);
    add_choose_folder(out, payload);
    add_heredoc(out, "\"$slipway_dir/payload.json\"", text, strlen(text));
    if (code && code->length)
        add_heredoc(out, "\"$slipway_dir/code.tar.gz\"", code->bytes, code->length);
    if (payload->ca)
        add_heredoc(out, "\"$slipway_dir/" SW_PAYLOAD_CA "\"", ca->data, ca->length);
    add_results(out, payload);
    sw_buf_add(out, "[ $# -eq 0 ] || cp \"$1\" \"$slipway_dir/payload.json\" || exit 74\n"
                    "umask 022\n"
                    "exec \"$slipway_dir/slipway-runner\" all --cleanup \"$slipway_dir\""
                    " \"$slipway_dir/payload.json\"\n");
}
