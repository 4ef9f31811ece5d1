/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload.c - the letter to the runner, to JSON and back.
 *
 * The runner may be older or newer than the client that wrote the letter (it is staged once per
 * cluster), so the version is checked first and said plainly.
 */
#include "core/payload.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

static const char *const format_words[] = {
    [SW_YAML] = "yaml", [SW_JSON] = "json", [SW_TOML] = "toml",
};

struct sw_payload *sw_payload_new(void)
{
    return sw_new(struct sw_payload);
}

void sw_payload_free(struct sw_payload *payload)
{
    if (!payload)
        return;
    free(payload->command);
    free(payload->workdir);
    free(payload->results_dir);
    free(payload->config_path);
    json_decref(payload->argv);
    json_decref(payload->env);
    json_decref(payload->secrets);
    json_decref(payload->inputs);
    json_decref(payload->outputs);
    json_decref(payload->config);
    free(payload);
}

json_t *sw_payload_to_json(const struct sw_payload *payload)
{
    return sw_json_object(
        SW_INT("version", SW_PAYLOAD_VERSION),
        SW_STR("job_id", payload->job_id),
        SW_STR_OPT("command", payload->command),
        SW_SUB_COPY("argv", payload->argv),
        SW_STR_OPT("workdir", payload->workdir),
        SW_STR_OPT("results_dir", payload->results_dir),
        SW_SUB_COPY("env", payload->env),
        SW_SUB_COPY("secrets", payload->secrets),
        SW_SUB_COPY("inputs", payload->inputs),
        SW_SUB_COPY("outputs", payload->outputs),
        SW_SUB_COPY("config", payload->config),
        SW_STR_OPT("config_format", payload->config ? format_words[payload->config_format] : NULL),
        SW_STR_OPT("config_path", payload->config_path),
        SW_INT("grace_ms", payload->grace_ms));
}

struct sw_payload *sw_payload_from_json(const json_t *json, struct sw_error *err)
{
    sw_auto(sw_payload) struct sw_payload *payload = sw_payload_new();
    int64_t version = sw_json_int(json, "version", 0);
    const char *id = sw_json_str(json, "job_id");
    const char *format = sw_json_str(json, "config_format");

    if (version != SW_PAYLOAD_VERSION) {
        sw_fail(err, SW_E_UNSUPPORTED, "the payload has version %lld, this runner reads version %d",
                (long long)version, SW_PAYLOAD_VERSION);
        sw_hint(err, "use the runner that came with the program that submitted the job");
        return NULL;
    }
    if (!id || strlen(id) > SW_ID_MAX) {
        sw_fail(err, SW_E_SPEC, "the payload names no job");
        return NULL;
    }
    snprintf(payload->job_id, sizeof payload->job_id, "%s", id);
    payload->command = sw_strdup(sw_json_str(json, "command"));
    payload->workdir = sw_strdup(sw_json_str(json, "workdir"));
    payload->results_dir = sw_strdup(sw_json_str(json, "results_dir"));
    payload->config_path = sw_strdup(sw_json_str(json, "config_path"));
    payload->argv = json_incref(json_object_get(json, "argv"));
    payload->env = json_incref(json_object_get(json, "env"));
    payload->secrets = json_incref(json_object_get(json, "secrets"));
    payload->inputs = json_incref(json_object_get(json, "inputs"));
    payload->outputs = json_incref(json_object_get(json, "outputs"));
    payload->config = json_incref(json_object_get(json, "config"));
    payload->grace_ms = sw_json_int(json, "grace_ms", 10000);
    for (size_t i = 0; format && i < SW_COUNT(format_words); i++)
        if (strcmp(format, format_words[i]) == 0)
            payload->config_format = (enum sw_format)i;
    if (!payload->command && !json_is_array(payload->argv)) {
        sw_fail(err, SW_E_SPEC, "the payload holds no command");
        return NULL;
    }
    return sw_take(payload);
}
