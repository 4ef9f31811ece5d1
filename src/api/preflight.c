/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preflight.c - `slipway preflight`: would this job be taken, and find what it needs?
 *
 * The list begins with the credentials, by presence alone, and the checks of the platform; one that is not
 * set up or does not answer is a row, too. Then come the very functions that a submit calls before it sends
 * anything (the platform's preflight, the job's secrets), so that the two cannot differ; and the job's data,
 * which a submit leaves to the job itself.
 */
#include <string.h>

#include "api/api_internal.h"
#include "base/shown.h"
#include "base/text.h"
#include "core/finding.h"
#include "core/keypath.h"
#include "storage/image.h"
#include "storage/transfer.h"

static bool has_row(const json_t *rows, const char *key, const char *text)
{
    const json_t *each;
    size_t i;

    json_array_foreach(rows, i, each)
        if (sw_text_same(sw_json_str(each, key), text))
            return true;
    return false;
}

/* ---- what a submit asks ------------------------------------------------------------------------- */

static void add_verdict(json_t *rows, const struct api_plan *made)
{
    struct sw_error why = { 0 };
    bool good = !made->platform->preflight ||
                made->platform->preflight(made->conn, made->plan, &why) == 0;

    if (good)
        sw_finding(rows, "job", true, "the platform accepts it", NULL);
    else if (!has_row(rows, "message", why.message))
        sw_finding_error(rows, "job", &why);
}

/* Each by its name; then whatever else the data of the job needs from here. */
static void add_secrets(json_t *rows, const struct api_plan *made)
{
    sw_auto(sw_secrets) struct sw_secrets *set = sw_secrets_new(), *all = NULL;
    struct sw_error why = { 0 };
    const json_t *each;
    size_t i;

    json_array_foreach(made->plan->secrets, i, each) {
        const char *name = json_string_value(each);
        sw_autofree char *check = sw_format("secret %s", name);
        struct sw_error missing = { 0 };

        if (sw_secrets_add(set, name, api_folder_env(made->folder, name), &missing) < 0)
            sw_finding_error(rows, check, &missing);
        else
            sw_finding(rows, check, true, "is set", NULL);
    }
    all = sw_attempt_secrets(made->plan, api_folder_env, made->folder, &why);
    if (!all && !has_row(rows, "message", why.message))
        sw_finding_error(rows, "secrets", &why);
}

/* Which variables of the platform are set; a value is not looked at. */
static void add_credentials(json_t *rows, const struct api_plan *made)
{
    sw_auto(sw_buf) struct sw_buf present = SW_BUF_INIT, absent = SW_BUF_INIT;
    const struct sw_credential *each = made->platform->credentials;
    sw_autofree char *message = NULL;

    if (!each || !each->name)
        return;
    for (; each->name; each++) {
        struct sw_buf *which = sw_text_empty(api_folder_env(made->folder, each->name)) ? &absent : &present;

        sw_buf_addf(which, "%s%s", which->length ? ", " : "", each->name);
    }
    message = sw_format("%s%s%s%s%s", sw_buf_text(&present), present.length ? " set" : "",
                        present.length && absent.length ? "; " : "", sw_buf_text(&absent),
                        absent.length ? " not set" : "");
    if (present.length)
        sw_finding(rows, "credentials", true, message, NULL);
    else
        sw_finding_open(rows, "credentials", SW_STATE_NOT_SET_UP, message,
                        "`slipway platforms NAME` says what each is for");
}

/* ---- the image -------------------------------------------------------------------------------------- */

/* A platform that takes a login for registries pulls images itself; one that can ask it beforehand has
 * done so. */
static bool pulls_images(const struct sw_platform *platform)
{
    for (const struct sw_credential *each = platform->credentials; each && each->name; each++)
        if (strcmp(each->name, "DOCKER_PASSWORD") == 0)
            return true;
    return false;
}

/* Only where the GPUs are known before the job has them. */
static void add_gpu_architecture(json_t *rows, const struct api_plan *made)
{
    if (made->plan->gpus > 0 && !sw_text_empty(made->plan->image) && pulls_images(made->platform) &&
        !has_row(rows, "check", "GPU architecture"))
        sw_finding_open(rows, "GPU architecture", SW_STATE_NOT_CHECKED,
                        "which GPUs the job will have is known when it runs", NULL);
}

static void add_image(json_t *rows, const struct api_plan *made)
{
    if (!sw_text_empty(made->plan->image) && pulls_images(made->platform) && !has_row(rows, "check", "image"))
        sw_image_rows(rows, &(struct sw_image_query){ .image = made->plan->image, .env = api_folder_env,
                                                      .env_context = made->folder });
}

/* ---- data ----------------------------------------------------------------------------------------- */

/* The platform checks paths, those of a cluster's file system, too. */
static bool is_elsewhere(const char *uri)
{
    return uri && strstr(uri, "://") && !sw_text_starts(uri, "lustre://") &&
           !sw_text_starts(uri, "slurm://") && !sw_text_starts(uri, "file://");
}

/* A row about data; where nothing else is known to help, the address or the network is wrong. */
static void data_error(json_t *rows, const char *check, struct sw_error *why)
{
    if (!*why->hint)
        sw_hint(why, "check the address and the network between this machine and the server; `slipway ls` "
                     "tries it again");
    sw_finding_error(rows, check, why);
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
    if (why.code)
        data_error(rows, check, &why);
    else
        sw_finding(rows, check, true, "readable from this machine", NULL);
}

static void check_output(struct sw_transfer_client *client, const char *uri, json_t *rows)
{
    sw_autofree char *shown = sw_uri_shown(uri), *check = sw_format("output %s", shown);
    sw_autofree char *probe = sw_uri_join(uri, ".slipway-probe");
    struct sw_error why = { 0 };

    if (sw_transfer_probe(client, probe, &why) < 0)
        data_error(rows, check, &why);
    else
        sw_finding(rows, check, true, "writable from this machine", NULL);
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

/* What was tried from here is tried with the job's own values; another network may still be between the job
 * and its data, and only a job there can show that. */
static void add_reach(json_t *rows, const struct api_plan *made)
{
    sw_autofree char *message = NULL;

    message = sw_format("whether the job's machine on %s reaches these servers, only a job there can show; "
                        "`slipway preflight --probe` submits one that tries", made->platform->name);
    sw_finding_open(rows, "data from there", SW_STATE_NOT_CHECKED, message, NULL);
}

/* What this machine can reach, a job of this platform can. */
static bool is_here(const struct api_plan *made)
{
    return made->platform->sees_loopback && made->platform->sees_loopback(made->conn, made->plan);
}

/* With the values that the job will be given. */
static void add_data_from_here(json_t *rows, const struct api_plan *made)
{
    struct sw_transfer_options options = { .storage = { .env = api_folder_env,
                                                     .env_context = made->folder } };
    struct sw_error why = { 0 };
    sw_auto(sw_transfer_client) struct sw_transfer_client *client = sw_transfer_open(&options, &why);
    size_t before = json_array_size(rows);

    if (client)
        check_data(client, made->plan, rows);
    else
        sw_finding_error(rows, "data", &why);
    if (client && json_array_size(rows) > before && !is_here(made))
        add_reach(rows, made);
}

/* ---- all of it ------------------------------------------------------------------------------------ */

static bool is_good(const json_t *checks)
{
    const json_t *each;
    size_t i;

    json_array_foreach(checks, i, each)
        if (json_is_false(json_object_get(each, "ok")))
            return false;
    return true;
}

char *api_checks(const char *verb, const char *platform, json_t *checks)
{
    json_t *each;
    size_t i;

    json_array_foreach(checks, i, each)
        json_object_set_new(each, "state", json_string(sw_finding_state(each)));
    return api_document(verb, sw_json_object(SW_STR_OPT("platform", platform), SW_BOOL("ok", is_good(checks)),
                                             SW_SUB("checks", checks)));
}

/* The job makes sense, and the way to its platform does not exist: which of the two is the platform's
 * matter. */
static bool is_of_platform(const struct api_plan *made, const struct sw_error *why)
{
    return made->platform && !made->conn && why->code != SW_E_UNTRUSTED && why->code != SW_E_USAGE;
}

static const char *check_of(enum sw_code code)
{
    return code == SW_E_CREDENTIAL ? "credential" : "connection";
}

static bool uses_data(const struct sw_plan *plan)
{
    return json_array_size(plan->inputs) || json_array_size(plan->outputs) || plan->config ||
           json_array_size(plan->config_inputs) || json_array_size(plan->config_outputs);
}

static void add_data(struct sw_session *session, const struct sw_request *request, bool there,
                     const struct api_plan *made, json_t *rows)
{
    if (!there || !uses_data(made->plan))
        add_data_from_here(rows, made);
    else if (is_good(rows))
        api_data_there(session, request, rows);
    else
        sw_finding_open(rows, "data from there", SW_STATE_NOT_CHECKED,
                        "no job is submitted while another check fails", NULL);
}

static char *preflight(struct sw_session *session, const struct sw_request *request, bool there,
                       struct sw_error *err)
{
    sw_auto(api_plan) struct api_plan made = { 0 };
    sw_auto(json) json_t *rows = json_array(), *more = NULL;
    struct sw_error why = { 0 };

    if (api_choose(session, request, false, &made, &why) < 0) {
        if (!is_of_platform(&made, &why))
            return sw_null(sw_pass(err, &why));
        add_credentials(rows, &made);
        sw_finding_error(rows, check_of(why.code), &why);
        return api_checks("preflight", made.platform->name, sw_take(rows));
    }
    add_credentials(rows, &made);
    if (made.platform->preflight_report) {
        more = made.platform->preflight_report(made.conn, made.plan, err);
        if (!more)
            return NULL;
        json_array_extend(rows, more);
    }
    add_image(rows, &made);
    add_gpu_architecture(rows, &made);
    add_verdict(rows, &made);
    add_secrets(rows, &made);
    add_data(session, request, there, &made, rows);
    return api_checks("preflight", made.platform->name, sw_take(rows));
}

char *sw_preflight(struct sw_session *session, const struct sw_request *request, struct sw_error *err)
{
    return preflight(session, request, false, err);
}

char *sw_preflight_there(struct sw_session *session, const struct sw_request *request, struct sw_error *err)
{
    return preflight(session, request, true, err);
}
