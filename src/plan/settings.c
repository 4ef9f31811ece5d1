/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.c - the settings of this machine that a job's data needs: those of the storages its URIs
 * name, no others.
 *
 * The runner gets them, under the first name of each row of storage/settings.h; the command does not,
 * unless the job lists them under `secrets` or `env`. What the job's own `env:` says about a setting
 * counts before what this machine says. Plain values are kept in the plan, so that a later attempt goes
 * to the same server whatever the environment says then; secrets are looked up for every attempt.
 */
#include "plan/plan.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/trusted.h"
#include "core/payload.h"
#include "storage/settings.h"
#include "storage/uri.h"

/* ---- which ------------------------------------------------------------------------------------- */

#define ANY_SERVER (1u << SW_OWNERS)         /* a bit beside those of the owners */

static unsigned needs_of(const json_t *value)
{
    const char *key, *text = json_string_value(value);
    unsigned needs = !text                   ? 0
                     : sw_settings_of(text)  ? sw_settings_of(text) | ANY_SERVER
                     : sw_text_starts(text, "https://") ? ANY_SERVER
                                             : 0;
    json_t *inside;
    size_t i;

    json_object_foreach((json_t *)value, key, inside)
        needs |= needs_of(inside);
    json_array_foreach(value, i, inside)
        needs |= needs_of(inside);
    return needs;
}

static unsigned needs_of_plan(const struct sw_plan *plan)
{
    return needs_of(plan->inputs) | needs_of(plan->outputs) | needs_of(plan->config) |
           needs_of(plan->args) | needs_of(plan->checkpoint);
}

json_t *sw_plan_credentials(const struct sw_plan *plan)
{
    unsigned needs = needs_of_plan(plan);
    json_t *names = json_array();

    for (size_t i = 0; i < SW_SETTINGS; i++) {
        const struct sw_setting_row *row = &sw_setting_rows[i];

        if (row->way != SW_SETTING_SECRET || !(needs & 1u << row->owner))
            continue;
        for (size_t k = 0; k < SW_COUNT(row->names) && row->names[k]; k++)
            json_array_append_new(names, json_string(row->names[k]));
    }
    return names;
}

/* ---- where ------------------------------------------------------------------------------------- */

struct lookup {
    const struct sw_plan *plan;
    sw_env_fn *env;
    void *context;
};

/* What stayed here when the job was submitted: a profile's name, the path of a file. */
static const char *kept(const struct sw_plan *plan, const char *name)
{
    size_t i;
    json_t *row;

    json_array_foreach(plan->settings, i, row)
        if (!sw_json_bool(row, "travels", false) && sw_text_same(sw_json_str(row, "name"), name))
            return sw_json_str(row, "value");
    return NULL;
}

/* Where a secret was found when the job was submitted, only that place counts later: another variable may
 * hold the key of another account by then. */
static bool may_answer(const struct sw_plan *plan, const struct sw_setting_row *row, const char *name)
{
    size_t i;
    json_t *each;

    json_array_foreach(plan->settings, i, each)
        if (sw_json_bool(each, "secret", false) &&
            sw_text_same(sw_json_str(each, "name"), row->names[0]))
            return sw_text_same(sw_json_str(each, "from"), name);
    return true;
}

/* All names of a row belong together: an alias in `env:` beats the first name here. */
static bool said_in_env(const struct sw_plan *plan, const struct sw_setting_row *row)
{
    for (size_t k = 0; k < SW_COUNT(row->names) && row->names[k]; k++)
        if (json_object_get(plan->env, row->names[k]))
            return true;
    return false;
}

static const char *find(void *context, const char *name)
{
    const struct lookup *lookup = context;
    const struct sw_setting_row *row = sw_setting_find(name, strlen(name));
    const char *here = row ? kept(lookup->plan, name) : NULL;

    if (row && row->way <= SW_SETTING_PLAIN && said_in_env(lookup->plan, row))
        return sw_json_str(lookup->plan->env, name);
    if (row && row->way == SW_SETTING_SECRET && !may_answer(lookup->plan, row, name))
        return NULL;
    return here ? here : lookup->env(lookup->context, name);
}

/* ---- what -------------------------------------------------------------------------------------- */

struct setting_found {
    struct sw_plan *plan;
    json_t *rows;
    bool keys;                       /* of S3 */
};

static int keep(void *context, enum sw_setting which, const char *value, const char *from,
                struct sw_error *err)
{
    struct setting_found *found = context;
    const struct sw_setting_row *row = &sw_setting_rows[which];
    bool travels = row->way <= SW_SETTING_PLAIN, own = travels && said_in_env(found->plan, row);
    sw_autofree char *whole = row->way == SW_SETTING_PATH ? sw_path_absolute(value, NULL) : NULL;

    (void)err;
    found->keys |= which == SW_SET_S3_ACCESS;
    json_array_append_new(found->rows, sw_json_object(
        SW_STR("name", row->names[0]), SW_STR("from", own ? "the job's env" : from),
        SW_BOOL("secret", row->way == SW_SETTING_SECRET), SW_BOOL("travels", travels),
        SW_STR_OPT("value", row->way == SW_SETTING_SECRET ? NULL : whole ? whole : value)));
    return 0;
}

/* Keys of this machine are not mixed with a profile of the place. */
static void close_profiles(json_t *rows)
{
    static const enum sw_setting files[] = { SW_SET_S3_KEYS_FILE, SW_SET_S3_CONFIG_FILE };

    for (size_t i = 0; i < SW_COUNT(files); i++)
        json_array_append_new(rows, sw_json_object(
            SW_STR("name", sw_setting_rows[files[i]].names[0]), SW_STR("value", "/dev/null"),
            SW_BOOL("hidden", true), SW_BOOL("travels", true)));
}

bool sw_plan_has_setting(const struct sw_plan *plan, const char *name)
{
    size_t i;
    json_t *row;

    json_array_foreach(plan->settings, i, row)
        if (sw_json_bool(row, "travels", false) && sw_text_same(sw_json_str(row, "name"), name))
            return true;
    return false;
}

void sw_plan_open_profiles(struct sw_plan *plan)
{
    for (size_t i = json_array_size(plan->settings); i-- > 0;)
        if (sw_json_bool(json_array_get(plan->settings, i), "hidden", false))
            json_array_remove(plan->settings, i);
}

/* Platforms take the certificates along by themselves; a file that cannot be read is found here. */
static int keep_certificates(json_t *rows, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf pem = SW_BUF_INIT;
    const char *name = NULL, *path = sw_trusted_named(&name);
    sw_autofree char *whole = path ? sw_path_absolute(path, NULL) : NULL;

    if (!path)
        return 0;
    if (sw_payload_read_ca(NULL, &pem, err) < 0)
        return -1;
    json_array_append_new(rows, sw_json_object(SW_STR("name", name), SW_STR("from", whole),
                                               SW_BOOL("file", true), SW_BOOL("travels", true)));
    return 0;
}

const char *sw_plan_ca(const struct sw_plan *plan)
{
    json_t *row;
    size_t i;

    json_array_foreach(plan->settings, i, row)
        if (sw_json_bool(row, "file", false))
            return sw_json_str(row, "from");
    return sw_trusted_named(NULL);
}

int sw_plan_take_settings(struct sw_plan *plan, sw_env_fn *env, void *context, struct sw_error *err)
{
    struct lookup lookup = { plan, env, context };
    const struct sw_storage_options options = { .env = find, .env_context = &lookup,
                                                .look_only = true };
    unsigned needs = needs_of_plan(plan);
    sw_auto(json) json_t *rows = json_array();
    struct setting_found found = { .plan = plan, .rows = rows };

    json_decref(sw_take(plan->settings));
    if (sw_settings_here(needs & (ANY_SERVER - 1), &options, keep, &found, err) < 0 ||
        ((needs & ANY_SERVER) && keep_certificates(rows, err) < 0))
        return sw_wrap(err, "the job's data");
    if (found.keys)
        close_profiles(rows);
    if (json_array_size(rows) > 0)
        plan->settings = sw_take(rows);
    return 0;
}

/* ---- how they travel ----------------------------------------------------------------------------- */

json_t *sw_plan_settings_sent(const struct sw_plan *plan)
{
    json_t *values = json_object(), *row;
    size_t i;

    json_array_foreach(plan->settings, i, row)
        if (sw_json_bool(row, "travels", false) && sw_json_str(row, "value"))
            json_object_set(values, sw_json_str(row, "name"), json_object_get(row, "value"));
    if (json_object_size(values) > 0)
        return values;
    json_decref(values);
    return NULL;
}

static bool has(const struct sw_secrets *secrets, const char *name)
{
    for (size_t i = 0; i < sw_secrets_count(secrets); i++)
        if (strcmp(sw_secrets_name(secrets, i), name) == 0)
            return true;
    return false;
}

/* What the job lists under `secrets` is there already, for the command as well. */
static int send(void *context, enum sw_setting which, const char *value, const char *from,
                struct sw_error *err)
{
    const struct sw_setting_row *row = &sw_setting_rows[which];

    (void)from;
    return row->way == SW_SETTING_SECRET && !has(context, row->names[0])
               ? sw_secrets_add(context, row->names[0], value, err) : 0;
}

/* What the first attempt had, the later ones need: without it they would fail less honestly. */
static int check_whole(const struct sw_plan *plan, const struct sw_secrets *secrets,
                       struct sw_error *err)
{
    const char *session = sw_setting_rows[SW_SET_S3_SESSION].names[0];
    json_t *row;
    size_t i;

    json_array_foreach(plan->settings, i, row) {
        const char *name = sw_json_str(row, "name"), *from = sw_json_str(row, "from");

        if (!sw_json_bool(row, "secret", false) || !name || strcmp(name, session) == 0 ||
            has(secrets, name))
            continue;
        sw_fail(err, SW_E_CREDENTIAL, "%s, which the job's data needs, was in %s at submit and is missing "
                                      "now", name, from ? from : "?");
        return sw_hint(err, "make it available there again, then: slipway retry %s", plan->job_id);
    }
    return 0;
}

int sw_plan_send_settings(const struct sw_plan *plan, sw_env_fn *env, void *context,
                          struct sw_secrets *secrets, struct sw_error *err)
{
    struct lookup lookup = { plan, env, context };
    const struct sw_storage_options options = { .env = find, .env_context = &lookup };

    if (sw_settings_here(needs_of_plan(plan) & (ANY_SERVER - 1), &options, send, secrets, err) < 0)
        return sw_wrap(err, "the job's data");
    return check_whole(plan, secrets, err);
}
