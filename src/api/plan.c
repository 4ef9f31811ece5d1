/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.c - from a request to a plan: spec, trust, settings of the data, warnings, connection.
 */
#include <string.h>
#include <unistd.h>

#include "api/api_internal.h"
#include "base/text.h"
#include "core/payload.h"
#include "net/http.h"
#include "plan/bundle.h"
#include "plan/paths.h"
#include "storage/settings.h"

static void pass_warnings_on(struct sw_session *session, const struct sw_spec *spec)
{
    size_t i;
    json_t *text;

    json_array_foreach(spec->warnings, i, text)
        api_warn(session, json_string_value(text));
}

/* What of the code stays here, before anything is sent. A tree that cannot be read fails when it is
 * packed. */
static void say_code(struct sw_session *session, const struct api_plan *made)
{
    sw_autofree char *what = NULL;
    sw_auto(json) json_t *notes = NULL;
    json_t *text;
    size_t i;

    if (!made->plan->code ||
        sw_bundle_look(made->plan->code, made->plan->base_dir, &what, &notes, NULL) < 0)
        return;
    json_array_foreach(notes, i, text) {
        json_array_append(made->spec->warnings, text);
        api_warn(session, json_string_value(text));
    }
}

/* Without a container /results is the machine's own folder, and nothing of it is kept. */
static void say_results(struct sw_session *session, const struct api_plan *made)
{
    static const char text[] =
        "the command names /results, which without a container is a folder of the machine itself, so what "
        "is written there is not kept; write {results_dir} instead, or add `outputs: [/results]`";

    if (!made->platform->rewrites_paths || !made->platform->rewrites_paths(made->plan) ||
        !sw_paths_misses_results(made->plan))
        return;
    json_array_append_new(made->spec->warnings, json_string(text));
    api_warn(session, text);
}

/* ---- trust -------------------------------------------------------------------------------------- */

static void ask_all(struct api_asking *asking, const json_t *names)
{
    size_t i;
    json_t *name;

    json_array_foreach(names, i, name)
        api_asking_env(asking, json_string_value(name));
}

/* Every name that the job or its platform will ask for, so that what needs trust is known before anything
 * is opened. */
static void ask_for_values(const struct api_plan *made, struct api_asking *asking)
{
    const struct sw_credential *each = made->platform->credentials;
    const char *refused;
    json_t *yes;

    for (; each && each->name; each++)
        api_asking_env(asking, each->name);
    for (const char *const *name = made->platform->variables; name && *name; name++)
        api_asking_env(asking, *name);
    json_object_foreach(asking->refused, refused, yes)
        json_array_append_new(made->spec->untrusted, sw_json_object(
            SW_STR("from", "dotenv"), SW_STR("key", refused),
            SW_STR("where", made->folder->dotenv.path)));
}

/* "cannot take docker.host ...", and the command that helps, with the path of every file. */
static int fail_untrusted(const struct sw_request *request, const struct api_plan *made,
                          struct sw_error *err)
{
    const char *const paths[][2] = {
        { "job", request->found_path }, { "profile", made->folder->env_toml.path },
        { "dotenv", made->folder->dotenv.path },
    };
    sw_auto(sw_buf) struct sw_buf keys = SW_BUF_INIT, files = SW_BUF_INIT;
    const json_t *each;
    size_t i, k;

    for (k = 0; k < SW_COUNT(paths); k++) {
        bool named = false;

        json_array_foreach(made->spec->untrusted, i, each) {
            if (!sw_text_same(sw_json_str(each, "from"), paths[k][0]))
                continue;
            sw_buf_addf(&keys, "%s%s", named ? ", " : "", named ? "" : "\n  ");
            if (!named)
                sw_buf_addf(&keys, "%s: ", paths[k][1]);
            sw_buf_add(&keys, sw_json_str(each, "key"));
            if (!named)
                sw_buf_add_char(&files, ' ');
            if (!named)
                sw_buf_add_quoted(&files, paths[k][1]);
            named = true;
        }
    }
    sw_fail(err, SW_E_UNTRUSTED, "this folder is not trusted, and it decides where slipway connects or "
                                 "what runs:%s", sw_buf_text(&keys));
    return sw_hint(err, "read it, then: slipway trust%s", sw_buf_text(&files));
}

/* A ${NAME} that only an untrusted .env gives: for the job file it is not set. */
static int hint_dotenv(const struct api_plan *made, const json_t *refused, struct sw_error *err)
{
    const char *name = json_object_iter_key(json_object_iter((json_t *)refused));
    sw_auto(sw_buf) struct sw_buf file = SW_BUF_INIT;

    sw_buf_add_quoted(&file, made->folder->dotenv.path);
    return sw_hint(err, "the .env of this folder gives %s and is not trusted: read it, then: "
                        "slipway trust %s", name, sw_buf_text(&file));
}

/* ---- the plan ----------------------------------------------------------------------------------- */

static struct sw_document *flags_of(const struct sw_request *request)
{
    json_t *values = json_deep_copy(request->flags);

    if (request->argv && json_array_size(request->argv) > 0) {   /* the words after `--` win */
        json_object_set(values, "argv", request->argv);
        json_object_del(values, "command");
        json_object_del(values, "python");
    }
    return sw_document_from_json(values, "the command line");
}

/* The .env that a value of the job was taken from: a later attempt needs it, too. */
static void remember_dotenv(const struct api_folder *folder, struct sw_plan *plan)
{
    plan->dotenv = sw_json_object(SW_STR("path", folder->dotenv.path),
                                  SW_STR("sha256", folder->dotenv.sha256),
                                  SW_BOOL("trusted", folder->dotenv.trusted));
}

static bool has_env(const json_t *job, const char *name)
{
    return json_object_get(json_object_get(job, "env"), name) != NULL;
}

/* A job file that was found and not named may not say which server this user's keys go to. */
static void note_servers(const struct sw_request *request, const struct api_plan *made)
{
    const char *name;
    json_t *value;

    json_object_foreach(made->plan->env, name, value) {
        const struct sw_setting_row *row = sw_setting_find(name, strlen(name));
        sw_autofree char *key = sw_format("env.%s", name);

        if (row && row->way == SW_SETTING_PLAIN && has_env(sw_document_value(request->job), name) &&
            !has_env(request->flags, name) && sw_plan_has_setting(made->plan, row->names[0]))
            json_array_append_new(made->spec->untrusted, sw_json_object(
                SW_STR("from", "job"), SW_STR("key", key), SW_STR("where", request->found_path)));
    }
}

/* The settings of the job's data, and its secrets; a name that needs trust goes before any complaint, since
 * without its value the settings are not the user's. */
static int take_settings(const struct sw_request *request, bool job_untrusted, struct api_plan *made,
                         struct api_asking *asking, struct sw_error *err)
{
    struct sw_error why = { 0 };
    int result;

    asking->used = false;
    result = sw_plan_take_settings(made->plan, api_asking_env, asking, &why);
    ask_all(asking, made->plan->secrets);
    if (asking->used)
        remember_dotenv(made->folder, made->plan);
    ask_for_values(made, asking);
    if (job_untrusted)
        note_servers(request, made);
    if (result == 0 || json_array_size(made->spec->untrusted) > 0)
        return 0;
    return sw_pass(err, &why);
}

static int begin_splits(struct api_plan *out, struct sw_error *err)
{
    out->group = sw_take(out->plan);
    out->plan = sw_plan_split(out->group, 0, err);
    return out->plan ? 0 : -1;
}

/* Of a group its first split: a job like any other. */
static int keep_data(struct api_plan *out)
{
    if (out->group)
        memcpy(out->plan->job_id, out->group->job_id, SW_ID_SIZE);
    sw_plan_free(sw_take(out->group));
    sw_plan_only_data(out->plan);
    return 0;
}

int api_plan_think(struct sw_session *session, const struct sw_request *request, bool read,
                   struct api_plan *out, struct sw_error *err)
{
    sw_auto(sw_document) struct sw_document *flags = flags_of(request);
    sw_autofree char *here = request->base_dir ? NULL : getcwd(NULL, 0);
    sw_auto(json) json_t *refused = json_object();
    struct api_asking asking = { .refused = refused };
    sw_auto(json) json_t *mine = api_user_defaults(NULL, NULL, err);
    struct sw_spec_input input = { .job = request->job, .flags = flags, .env = api_asking_env,
                                   .env_source = api_asking_source,
                                   .user_defaults = mine,
                                   .default_platform = sw_platform_at(0)->name, .choice = out->choice };

    if (!mine || api_need(session, err) < 0)
        return -1;
    input.profile = api_profile(session, request);
    input.job_untrusted = request->found_path &&
                          !api_is_trusted(session->state_dir, request->found_path,
                                          request->found_sha256);
    out->folder = api_folder(session, request, read, err);
    if (!out->folder)
        return -1;
    input.profiles = out->folder->profiles;
    asking.folder = out->folder;
    input.env_context = &asking;
    input.platforms = api_spec_platforms(&input.platform_count);
    input.here = read;
    out->spec = sw_spec_resolve(&input, err);
    if (!out->spec)
        return json_object_size(refused) > 0 ? hint_dotenv(out, refused, err) : -1;
    out->plan = sw_plan_make(out->spec, request->id[0] ? request->id : NULL,
                             request->base_dir ? request->base_dir : here, err);
    out->platform = out->plan ? sw_platform_need(out->spec->platform, err) : NULL;
    if (!out->platform)
        return -1;
    if (json_array_size(out->folder->rules) > 0)
        out->plan->rules = json_deep_copy(out->folder->rules);
    sw_attempt_mark(out->plan, session->store);
    if (out->plan->launcher == SW_LAUNCHER_RAY && !out->platform->own_ray)
        json_array_append_new(out->plan->credentials, json_string(SW_RAY_TOKEN));
    if (take_settings(request, input.job_untrusted, out, &asking, err) < 0)
        return -1;
    if (out->plan->splits && begin_splits(out, err) < 0)
        return -1;
    return request->only_data ? keep_data(out) : 0;
}

/* A server on this machine, and a job that runs on another one or in a network of its own. */
static void warn_of_loopback(struct sw_session *session, const struct api_plan *made)
{
    json_t *row;
    size_t i;

    if (made->platform->sees_loopback && made->platform->sees_loopback(made->conn, made->plan))
        return;
    json_array_foreach(made->plan->settings, i, row) {
        const char *value = sw_json_str(row, "value");
        sw_autofree char *text = NULL;

        if (!value || !sw_json_bool(row, "travels", false) || !sw_http_is_loopback(value))
            continue;
        text = sw_format("%s is %s, a server on this machine: a job on '%s' may find nothing there; "
                         "give an address that the job's machine reaches", sw_json_str(row, "name"),
                         value, made->platform->name);
        json_array_append_new(made->spec->warnings, sw_json_text(text));
        api_warn(session, text);
    }
}

int api_plan_prepare(struct sw_session *session, const struct sw_request *request,
                     struct api_plan *out, struct sw_error *err)
{
    if (api_plan_think(session, request, true, out, err) < 0)
        return -1;
    if (json_array_size(out->spec->untrusted) > 0)
        return fail_untrusted(request, out, err);
    pass_warnings_on(session, out->spec);
    say_code(session, out);
    say_results(session, out);
    return 0;
}

int api_plan_open(struct sw_session *session, struct api_plan *plan, struct sw_error *err)
{
    plan->conn = api_connect_job(session, plan->platform, plan->spec->options, plan->folder, err);
    if (!plan->conn)
        return -1;
    warn_of_loopback(session, plan);
    return 0;
}

void api_plan_auto(struct api_plan *plan)
{
    sw_plan_free(plan->plan);
    sw_plan_free(plan->group);
    sw_spec_free(plan->spec);
    json_decref(plan->skipped);
}
