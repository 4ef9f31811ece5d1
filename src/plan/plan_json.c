/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_json.c - a plan to JSON and back, so that the store keeps exactly what was submitted.
 *
 * One table lists every field once; writing, reading and shortening walk it. Adding a field to
 * struct sw_plan means adding one row here.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/plan.h"

enum plan_member { TEXT, WHOLE, SOME, WHOLE64, REAL, FLAG, DOCUMENT, LAUNCHER, FORMAT };

static const struct plan_field {
    const char *key;
    enum plan_member kind;
    size_t at;
    bool watched;            /* of use while the job runs and when it ends */
} fields[] = {
#define ROW(name, kind) { #name, kind, offsetof(struct sw_plan, name), false }
#define WATCHED(name, kind) { #name, kind, offsetof(struct sw_plan, name), true }
    ROW(name, TEXT), ROW(platform, TEXT), ROW(image, TEXT), ROW(command, TEXT), ROW(argv, DOCUMENT),
    ROW(python, DOCUMENT), ROW(workdir, TEXT), ROW(base_dir, TEXT), WATCHED(nodes, WHOLE),
    ROW(splits, SOME), ROW(split_id, SOME),
    WATCHED(gpus, WHOLE), ROW(gpu_type, TEXT), ROW(cpus, REAL), WATCHED(memory_bytes, WHOLE64),
    ROW(shm_bytes, WHOLE64), WATCHED(time_ms, WHOLE64), WATCHED(grace_ms, WHOLE64),
    ROW(keep_ms, WHOLE64), ROW(launcher, LAUNCHER), ROW(world_size_ranks, FLAG), ROW(env, DOCUMENT),
    ROW(secrets, DOCUMENT), ROW(inputs, DOCUMENT), ROW(outputs, DOCUMENT), ROW(config, DOCUMENT),
    ROW(config_format, FORMAT), ROW(labels, DOCUMENT), WATCHED(retry, DOCUMENT),
    WATCHED(guard, DOCUMENT), WATCHED(options, DOCUMENT), WATCHED(hooks, DOCUMENT),
    WATCHED(notify, DOCUMENT), ROW(watcher, DOCUMENT), ROW(avoid, DOCUMENT), ROW(checkpoint, DOCUMENT),
    ROW(code, DOCUMENT), ROW(credentials, DOCUMENT), ROW(dotenv, DOCUMENT), ROW(args, DOCUMENT),
    ROW(flags, DOCUMENT), ROW(config_inputs, DOCUMENT), ROW(config_outputs, DOCUMENT), ROW(cache, TEXT),
    WATCHED(mounts, DOCUMENT), WATCHED(rules, DOCUMENT), ROW(settings, DOCUMENT), ROW(setup, DOCUMENT),
    ROW(ray_cluster, DOCUMENT), ROW(only_data, SOME),
#undef ROW
#undef WATCHED
};

static json_t *field_to_json(const struct plan_field *field, const void *at)
{
    switch (field->kind) {
    case TEXT:
        return *(char *const *)at ? sw_json_text(*(char *const *)at) : NULL;
    case WHOLE:
        return json_integer(*(const int *)at);
    case SOME:                                     /* 0 is left out */
        return *(const int *)at ? json_integer(*(const int *)at) : NULL;
    case WHOLE64:
        return json_integer(*(const int64_t *)at);
    case REAL:
        return json_real(*(const double *)at);
    case FLAG:
        return json_boolean(*(const bool *)at);
    case DOCUMENT:
        return json_incref(*(json_t *const *)at);
    case LAUNCHER:
        return json_integer((json_int_t)*(const enum sw_launcher *)at);
    case FORMAT:
        return json_integer((json_int_t)*(const enum sw_format *)at);
    }
    return NULL;
}

static void field_from_json(const struct plan_field *field, json_t *value, void *at)
{
    switch (field->kind) {
    case TEXT:
        *(char **)at = sw_strdup(json_string_value(value));
        break;
    case WHOLE:
    case SOME:
        *(int *)at = (int)json_integer_value(value);
        break;
    case WHOLE64:
        *(int64_t *)at = (int64_t)json_integer_value(value);
        break;
    case REAL:
        *(double *)at = json_number_value(value);
        break;
    case FLAG:
        *(bool *)at = json_is_true(value);
        break;
    case DOCUMENT:
        *(json_t **)at = json_incref(value);
        break;
    case LAUNCHER:
        *(enum sw_launcher *)at = (enum sw_launcher)json_integer_value(value);
        break;
    case FORMAT:
        *(enum sw_format *)at = (enum sw_format)json_integer_value(value);
        break;
    }
}

json_t *sw_plan_to_json(const struct sw_plan *plan)
{
    json_t *json = sw_json_object(SW_STR("job_id", plan->job_id));

    for (size_t i = 0; i < SW_COUNT(fields); i++) {
        json_t *value = field_to_json(&fields[i], (const char *)plan + fields[i].at);

        if (value)
            json_object_set_new(json, fields[i].key, value);
    }
    return json;
}

void sw_plan_keep_watched(json_t *json)
{
    for (size_t i = 0; i < SW_COUNT(fields); i++)
        if (!fields[i].watched)
            json_object_del(json, fields[i].key);
}

struct sw_plan *sw_plan_from_json(const json_t *json, struct sw_error *err)
{
    sw_auto(sw_plan) struct sw_plan *plan = sw_new(struct sw_plan);
    const char *id = sw_json_str(json, "job_id");

    if (!id || strlen(id) > SW_ID_MAX)
        return sw_null(sw_fail(err, SW_E_INTERNAL, "the stored plan has no job"));
    snprintf(plan->job_id, sizeof plan->job_id, "%s", id);
    for (size_t i = 0; i < SW_COUNT(fields); i++) {
        json_t *value = json_object_get(json, fields[i].key);

        if (value)
            field_from_json(&fields[i], value, (char *)plan + fields[i].at);
    }
    if (plan->nodes < 1)
        plan->nodes = 1;
    return sw_take(plan);
}
