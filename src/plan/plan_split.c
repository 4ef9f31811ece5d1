/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_split.c - `splits: 8`: the plan of one split, made from that of its group.
 *
 * The splits of a group are jobs of their own on every platform, alike but for their number: it is in the
 * id, in SPLIT_ID, and wherever the job file writes {split_id}. All of it is decided here, before anything is
 * stored, so that platforms and the runner know nothing of splits and a retry cannot change the number.
 *
 * Pure.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "core/id.h"
#include "core/keypath.h"
#include "plan/plan.h"

#define ID "{split_id}"
#define COUNT "{split_count}"

/* Where the two placeholders are filled in. */
static const char *const filled[] = { "command", "argv", "python", "workdir", "args", "inputs", "outputs",
                                      "config", "checkpoint" };

static char *fill_text(const char *text, int id, int count)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    while (*text) {
        bool is_id = sw_text_starts(text, ID);

        if (is_id || sw_text_starts(text, COUNT)) {
            sw_buf_addf(&out, "%d", is_id ? id : count);
            text += strlen(is_id ? ID : COUNT);
        } else {
            sw_buf_add_char(&out, *text++);
        }
    }
    return sw_strdup(sw_buf_text(&out));
}

/* A copy with the placeholders filled in, in every text however deep it is. Owned. */
static json_t *fill(const json_t *value, int id, int count)
{
    json_t *out, *inside;
    const char *key;
    size_t i;

    if (json_is_string(value)) {
        sw_autofree char *text = fill_text(json_string_value(value), id, count);

        return sw_json_text(text);
    }
    if (json_is_object(value)) {
        out = json_object();
        json_object_foreach((json_t *)value, key, inside)
            json_object_set_new(out, key, fill(inside, id, count));
        return out;
    }
    if (json_is_array(value)) {
        out = json_array();
        json_array_foreach((json_t *)value, i, inside)
            json_array_append_new(out, fill(inside, id, count));
        return out;
    }
    return json_incref((json_t *)value);
}

static json_t *with(const json_t *map, const char *key, json_t *value)
{
    json_t *out = map ? json_copy((json_t *)map) : json_object();

    json_object_set_new(out, key, value);
    return out;
}

struct sw_plan *sw_plan_split(const struct sw_plan *group, int split_id, struct sw_error *err)
{
    sw_auto(json) json_t *json = sw_plan_to_json(group);
    struct sw_plan *plan;
    char id[SW_ID_SIZE];

    for (size_t i = 0; i < SW_COUNT(filled); i++) {
        const json_t *value = json_object_get(json, filled[i]);

        if (value)
            json_object_set_new(json, filled[i], fill(value, split_id, group->splits));
    }
    sw_id_split(group->job_id, split_id, id);
    json_object_set_new(json, "job_id", sw_json_text(id));
    json_object_set_new(json, "split_id", json_integer(split_id));
    json_object_set_new(json, "labels", with(group->labels, SW_LABEL_GROUP, sw_json_text(group->job_id)));
    json_object_set_new(json, "env", with(group->env, "SPLIT_ID", json_sprintf("%d", split_id)));
    json_object_set_new(json_object_get(json, "env"), "SPLIT_COUNT", json_sprintf("%d", group->splits));
    plan = sw_plan_from_json(json, err);
    if (!plan)
        return NULL;
    plan->sources = json_incref(group->sources);
    plan->store_id = sw_strdup(group->store_id);
    plan->owner_uid = group->owner_uid;
    return plan;
}

/* ---- what all splits would share ------------------------------------------------------------- */

static int refuse(const struct sw_plan *plan, const char *key, const char *path, const char *field,
                  const char *to, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf named = SW_BUF_INIT;
    sw_autofree char *where = NULL;

    sw_buf_add(&named, key);
    sw_path_add_key(&named, path);
    if (field)
        sw_path_add_key(&named, field);
    where = sw_plan_where(plan, sw_buf_text(&named));
    sw_fail(err, SW_E_SPEC, "%s%s: all %d splits would write to '%s'", where, sw_buf_text(&named),
            plan->splits, to);
    return sw_hint(err, "add " ID " to it, so that each has its own place");
}

int sw_plan_check_splits(const struct sw_plan *plan, struct sw_error *err)
{
    const json_t *config = plan->config ? plan->config : plan->args;
    json_t *entry;
    size_t i;

    if (plan->splits < 2)
        return 0;
    json_array_foreach(plan->outputs, i, entry) {
        const char *to = sw_json_str(entry, "to");

        if (to && !strstr(to, ID) && !strstr(to, "{id}") && !strstr(to, "{job_id}"))
            return refuse(plan, "outputs", sw_json_str(entry, "path"), "to", to, err);
    }
    json_array_foreach(plan->config_outputs, i, entry) {
        const char *key = sw_json_str(entry, "key");
        const char *to = json_string_value(sw_keypath_get(config, key));

        if (to && (strstr(to, "://") || *to == '/') && !strstr(to, ID))
            return refuse(plan, "config_outputs", key, NULL, to, err);
    }
    return 0;
}
