/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preflight.c - `slipway preflight`: would this job be taken, and find what it needs?
 *
 * The list begins with the checks of the platform. Then come the very functions that a submit
 * calls before it sends anything (the platform's preflight, the job's secrets), so that the two cannot
 * differ; and the job's data, which a submit leaves to the job itself.
 */
#include <string.h>

#include "api/api_internal.h"
#include "base/shown.h"
#include "base/text.h"
#include "core/keypath.h"
#include "storage/transfer.h"

static void add(json_t *rows, const char *check, const char *message, const struct sw_error *why)
{
    json_array_append_new(rows, sw_json_object(
        SW_STR("check", check), SW_BOOL("ok", !why), SW_STR("message", why ? why->message : message),
        SW_STR_OPT("fix", why && why->hint[0] ? why->hint : NULL)));
}

static bool is_reported(const json_t *rows, const char *message)
{
    const json_t *each;
    size_t i;

    json_array_foreach(rows, i, each)
        if (sw_text_same(sw_json_str(each, "message"), message))
            return true;
    return false;
}

/* ---- what a submit asks ------------------------------------------------------------------------- */

static void add_verdict(json_t *rows, const struct api_plan *made)
{
    struct sw_error why = { 0 };
    bool good = !made->platform->preflight ||
                made->platform->preflight(made->conn, made->plan, &why) == 0;

    if (good || !is_reported(rows, why.message))
        add(rows, "job", good ? "the platform accepts it" : NULL, good ? NULL : &why);
}

static void add_secrets(json_t *rows, const struct api_plan *made)
{
    struct sw_error why = { 0 };
    sw_auto(sw_secrets) struct sw_secrets *secrets =
        sw_attempt_secrets(made->plan, api_folder_env, made->folder, &why);

    if (!secrets)
        add(rows, "secrets", NULL, &why);
    else if (json_array_size(made->plan->secrets) > 0)
        add(rows, "secrets", "all are set", NULL);
}

/* ---- data ----------------------------------------------------------------------------------------- */

/* The platform checks paths, those of a cluster's file system, too. */
static bool is_elsewhere(const char *uri)
{
    return uri && strstr(uri, "://") && !sw_text_starts(uri, "lustre://") &&
           !sw_text_starts(uri, "slurm://") && !sw_text_starts(uri, "file://");
}

static void check_input(struct sw_transfer_client *client, const char *uri, json_t *rows)
{
    sw_auto(sw_object) struct sw_object found = { .size = -1 };
    sw_autofree char *shown = sw_uri_shown(uri), *check = sw_format("input %s", shown);
    struct sw_error why = { 0 };

    if (sw_transfer_stat(client, uri, &found, &why) == 0 && found.kind == SW_OBJECT_NONE) {
        sw_fail(&why, SW_E_NOT_FOUND, "nothing found at '%s'", shown);
        sw_hint(&why, "check the address; 'slipway ls' shows what is there");
    }
    add(rows, check, "readable", why.code ? &why : NULL);
}

static void check_output(struct sw_transfer_client *client, const char *uri, json_t *rows)
{
    sw_autofree char *shown = sw_uri_shown(uri), *check = sw_format("output %s", shown);
    sw_autofree char *probe = sw_uri_join(uri, ".slipway-probe");
    struct sw_error why = { 0 };

    sw_transfer_probe(client, probe, &why);
    add(rows, check, "writable", why.code ? &why : NULL);
}

static void check_value(struct sw_transfer_client *client, const json_t *value, json_t *rows)
{
    const json_t *each;
    size_t i;

    if (is_elsewhere(json_string_value(value)))
        check_input(client, json_string_value(value), rows);
    json_array_foreach(value, i, each)
        check_value(client, each, rows);
}

static void check_data(struct sw_transfer_client *client, const struct sw_plan *plan, json_t *rows)
{
    const json_t *entry, *place;
    size_t i;

    json_array_foreach(plan->inputs, i, entry)
        check_value(client, json_object_get(entry, "from"), rows);
    json_array_foreach(plan->config_inputs, i, entry) {
        place = sw_keypath_get(plan->args ? plan->args : plan->config, sw_json_str(entry, "key"));
        check_value(client, place, rows);
    }
    json_array_foreach(plan->outputs, i, entry)
        if (is_elsewhere(sw_json_str(entry, "to")))
            check_output(client, sw_json_str(entry, "to"), rows);
}

/* With the values that the job will be given. */
static void add_data(json_t *rows, const struct api_plan *made)
{
    struct sw_transfer_options options = { .storage = { .env = api_folder_env,
                                                     .env_context = made->folder } };
    struct sw_error why = { 0 };
    sw_auto(sw_transfer_client) struct sw_transfer_client *client = sw_transfer_open(&options, &why);

    if (client)
        check_data(client, made->plan, rows);
    else
        add(rows, "data", NULL, &why);
}

/* ---- all of it ------------------------------------------------------------------------------------ */

char *api_checks(const char *verb, const char *platform, json_t *checks)
{
    const json_t *each;
    bool good = true;
    size_t i;

    json_array_foreach(checks, i, each)
        good = good && !json_is_false(json_object_get(each, "ok"));
    return api_document(verb, sw_json_object(SW_STR_OPT("platform", platform), SW_BOOL("ok", good),
                                             SW_SUB("checks", checks)));
}

char *sw_preflight(struct sw_session *session, const struct sw_request *request, struct sw_error *err)
{
    sw_auto(api_plan) struct api_plan made = { 0 };
    json_t *rows;

    if (api_choose(session, request, false, &made, err) < 0)
        return NULL;
    rows = made.platform->preflight_report ? made.platform->preflight_report(made.conn, made.plan,
                                                                             err) : json_array();
    if (!rows)
        return NULL;
    add_verdict(rows, &made);
    add_secrets(rows, &made);
    add_data(rows, &made);
    return api_checks("preflight", made.platform->name, rows);
}
