/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload.c - the payload of the runner, to JSON and back.
 *
 * The runner may be older or newer than the client that wrote the payload (it is staged once per
 * cluster), so the version is checked first.
 */
#include "core/payload.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/trusted.h"
#include "core/stop.h"

/* Every field but id, format and grace, once: writing, reading and releasing walk this table. */
static const struct payload_field {
    const char *key;
    enum { TEXT, DOCUMENT, FLAG } kind;
    size_t at;
} fields[] = {
#define KEY(key, name, kind) { key, kind, offsetof(struct sw_payload, name) }
#define ROW(name, kind) KEY(#name, name, kind)
    ROW(command, TEXT),       ROW(argv, DOCUMENT),     ROW(filled, FLAG),
    KEY("workdir", command_dir, TEXT), KEY("work_dir", scratch_dir, TEXT), ROW(results_dir, TEXT),
    ROW(env, DOCUMENT),       ROW(secrets, DOCUMENT),  ROW(credentials, DOCUMENT),
    KEY("mount", cache_dir, TEXT), ROW(code, DOCUMENT),     ROW(inputs, DOCUMENT),
    ROW(outputs, DOCUMENT),   ROW(exclude, DOCUMENT),  ROW(config, DOCUMENT),
    ROW(config_path, TEXT),   ROW(fetch_uris, FLAG),   ROW(args, DOCUMENT),
    ROW(flags, DOCUMENT),     ROW(config_inputs, DOCUMENT), ROW(config_outputs, DOCUMENT),
    ROW(checkpoint, DOCUMENT), ROW(ca, TEXT),
    ROW(entrypoint, DOCUMENT), ROW(peers, TEXT), ROW(redact, FLAG), ROW(settings, DOCUMENT),
    ROW(defaults, DOCUMENT),  ROW(ray, DOCUMENT), ROW(only_data, FLAG),
#undef ROW
#undef KEY
};

struct sw_payload *sw_payload_new(void)
{
    return sw_new(struct sw_payload);
}

void sw_payload_free(struct sw_payload *payload)
{
    for (size_t i = 0; payload && i < SW_COUNT(fields); i++) {
        void *at = (char *)payload + fields[i].at;

        if (fields[i].kind == TEXT)
            free(*(char **)at);
        else if (fields[i].kind == DOCUMENT)
            json_decref(*(json_t **)at);
    }
    free(payload);
}

int sw_payload_read_ca(const char *path, struct sw_buf *pem, struct sw_error *err)
{
    const char *variable = "the job";
    sw_autofree char *text = NULL;
    size_t length = 0;

    path = path ? path : sw_trusted_named(&variable);
    if (!path)
        return 0;
    text = sw_file_read(path, SW_TRUSTED_MAX, &length, err);
    if (!text)
        return sw_wrap(err, "the certificates that %s names", variable);
    if (sw_trusted_pick(text, length, pem) == 0) {
        sw_fail(err, SW_E_SPEC, "%s names '%s', which has no certificate (PEM)", variable, path);
        return sw_hint(err, "name a file with -----BEGIN CERTIFICATE----- in it, or none");
    }
    return 0;
}

int sw_payload_take_ca(struct sw_payload *payload, const char *path, struct sw_buf *pem,
                       struct sw_error *err)
{
    if (sw_payload_read_ca(path, pem, err) < 0)
        return -1;
    if (pem->length > 0) {
        free(payload->ca);
        payload->ca = sw_strdup(SW_PAYLOAD_CA);
    }
    return 0;
}

json_t *sw_payload_to_json(const struct sw_payload *payload)
{
    json_t *json = sw_json_object(SW_INT("version", SW_PAYLOAD_VERSION),
                                  SW_STR("job_id", payload->job_id));

    for (size_t i = 0; i < SW_COUNT(fields); i++) {
        const void *at = (const char *)payload + fields[i].at;

        if (fields[i].kind == TEXT && *(char *const *)at)
            json_object_set_new(json, fields[i].key, sw_json_text(*(char *const *)at));
        else if (fields[i].kind == DOCUMENT && *(json_t *const *)at)
            json_object_set(json, fields[i].key, *(json_t *const *)at);
        else if (fields[i].kind == FLAG && *(const bool *)at)
            json_object_set_new(json, fields[i].key, json_true());
    }
    if (payload->config)
        json_object_set_new(json, "config_format",
                            json_string(sw_format_name(payload->config_format)));
    json_object_set_new(json, "grace_ms", json_integer(payload->grace_ms));
    if (payload->time_grace_ms > 0)
        json_object_set_new(json, "time_grace_ms", json_integer(payload->time_grace_ms));
    if (payload->time_ms)
        json_object_set_new(json, "time_ms", json_integer(payload->time_ms));
    return json;
}

static void read_fields(struct sw_payload *payload, const json_t *json)
{
    for (size_t i = 0; i < SW_COUNT(fields); i++) {
        void *at = (char *)payload + fields[i].at;
        json_t *value = json_object_get(json, fields[i].key);

        if (fields[i].kind == TEXT)
            *(char **)at = sw_strdup(json_string_value(value));
        else if (fields[i].kind == FLAG)
            *(bool *)at = json_is_true(value);
        else if (value && !json_is_null(value))
            *(json_t **)at = json_incref(value);
    }
}

struct sw_payload *sw_payload_from_json(const json_t *json, struct sw_error *err)
{
    sw_auto(sw_payload) struct sw_payload *payload = sw_payload_new();
    int64_t version = sw_json_int(json, "version", 0);
    const char *id = sw_json_str(json, "job_id");
    const char *format = sw_json_str(json, "config_format");

    if (version < 1 || version > SW_PAYLOAD_VERSION) {
        sw_fail(err, SW_E_UNSUPPORTED, "the payload has version %lld; this runner reads up to %d",
                (long long)version, SW_PAYLOAD_VERSION);
        return sw_null(sw_hint(err,
                               "use the runner that came with the program that submitted the job"));
    }
    if (!id || strlen(id) > SW_ID_MAX)
        return sw_null(sw_fail(err, SW_E_SPEC, "the payload has no job"));
    snprintf(payload->job_id, sizeof payload->job_id, "%s", id);
    read_fields(payload, json);
    payload->filled |= version == 1;          /* its writer filled them in itself */
    payload->grace_ms = sw_json_int(json, "grace_ms", SW_GRACE_MS);
    payload->time_grace_ms = sw_json_int(json, "time_grace_ms", 0);
    payload->time_ms = sw_json_int(json, "time_ms", 0);
    if (format)
        sw_format_parse(format, &payload->config_format, NULL);
    if (!payload->command && !json_is_array(payload->argv))
        return sw_null(sw_fail(err, SW_E_SPEC, "the payload has no command"));
    return sw_take(payload);
}
