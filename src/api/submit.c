/* SPDX-License-Identifier: Apache-2.0 */
/*
 * submit.c - plan without sending, and sending at most once.
 *
 * The order is the promise: (1) everything that can fail without leaving a trace fails first;
 * (2) the row is written, with the process that submits; (3) the platform is called; (4) the row learns
 * what the platform said. Dying between any two of these leaves a row from which the next
 * refresh finds out the truth (monitor/refresh.c). See docs/internals/write-ahead-submit.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_internal.h"
#include "base/text.h"

/* One row for each final value, however deep it is; without a source of its own it has its
 * parent's. Lists are one value. */
static void add_rows(json_t *rows, const json_t *sources, const char *path, json_t *value,
                     json_t *above)
{
    json_t *own = json_object_get(sources, path), *source = own ? own : above;
    const char *key;
    json_t *inside;

    if (!json_is_object(value) || json_object_size(value) == 0) {
        if (*path)
            json_array_append_new(rows, sw_json_object(SW_STR("key", path),
                                                       SW_SUB_COPY("value", value),
                                                       SW_SUB_COPY("source", source)));
        return;
    }
    json_object_foreach(value, key, inside) {
        sw_auto(sw_buf) struct sw_buf below = SW_BUF_INIT;

        sw_buf_add(&below, path);
        sw_path_add_key(&below, key);
        add_rows(rows, sources, sw_buf_text(&below), inside, source);
    }
}

static json_t *value_rows(const struct api_plan *made)
{
    const struct sw_spec *spec = made->spec;
    json_t *rows = json_array();

    add_rows(rows, spec->sources, "", spec->job, NULL);
    add_rows(rows, spec->sources, spec->platform, spec->options, NULL);
    return rows;
}

/* What of this machine's settings the data needs: names and where they come from, no values. */
static json_t *setting_rows(const struct sw_plan *plan)
{
    json_t *rows = json_array(), *each;
    size_t i;

    json_array_foreach(plan->settings, i, each)
        if (!sw_json_bool(each, "hidden", false))
            json_array_append_new(rows, sw_json_object(
                SW_STR("name", sw_json_str(each, "name")), SW_STR("from", sw_json_str(each, "from")),
                SW_STR("how", !sw_json_bool(each, "travels", false) ? "used here"
                              : sw_json_bool(each, "secret", false) ? "sent as a secret"
                              : sw_json_bool(each, "file", false)   ? "sent as a file"
                                                                    : "sent")));
    return rows;
}

/* Said like every other warning, and part of the plan. */
static void warn_of(struct sw_session *session, const struct api_plan *made, const struct sw_error *why)
{
    json_array_append_new(made->spec->warnings, sw_json_text(why->message));
    api_warn(session, why->message);
}

/* A plan can be made while the platform is out of reach; it only cannot be sent. */
static int look_ahead(struct sw_session *session, struct api_plan *made, struct sw_error *err)
{
    struct sw_error why = { 0 };

    if (api_check(made, &why) == 0)
        return 0;
    if (why.code == SW_E_UNREACHABLE || why.code == SW_E_TIMEOUT) {
        warn_of(session, made, &why);
        return 0;
    }
    return sw_pass(err, &why);
}

/* Nor can it be sent without its secrets; a refresh needs none. */
static void warn_of_secrets(struct sw_session *session, const struct api_plan *made)
{
    struct sw_error why = { 0 };
    sw_auto(sw_secrets) struct sw_secrets *secrets =
        sw_attempt_secrets(made->plan, api_folder_env, made->folder, &why);

    if (!secrets)
        warn_of(session, made, &why);
}

char *sw_plan_job(struct sw_session *session, const struct sw_request *request,
                  struct sw_error *err)
{
    sw_auto(api_plan) struct api_plan made = { 0 };
    sw_autofree char *address = NULL;
    json_t *sends;

    if (api_choose(session, request, false, &made, err) < 0)
        return NULL;
    if (look_ahead(session, &made, err) < 0)
        return NULL;
    warn_of_secrets(session, &made);
    address = api_address(made.platform, made.conn);
    sends = made.platform->render(made.conn, made.plan, err);
    if (!sends)
        return NULL;
    return api_text(api_plan_hide(sw_json_object(
        SW_INT("version", 1),
        SW_STR("id", made.plan->job_id),
        SW_STR("platform", made.platform->name),
        SW_SUB_COPY("platforms", made.spec->platforms),
        SW_SUB("skipped", made.skipped ? json_incref(made.skipped) : json_array()),
        SW_STR_OPT("place", address),
        SW_SUB("values", value_rows(&made)),
        SW_SUB("settings", setting_rows(made.plan)),
        SW_SUB("plan", sw_plan_to_json(made.plan)),
        SW_SUB("sends", sends),
        SW_SUB_COPY("warnings", made.spec->warnings)), json_object_get(made.spec->job, "env")));
}

/* The row, with its owner; the lock on its id must be ours before. */
static int remember(struct sw_session *session, const struct sw_plan *plan, int64_t place,
                    int owners, struct sw_error *err)
{
    sw_auto(json) json_t *owner = sw_owner_json();
    sw_auto(json) json_t *stored = sw_plan_to_json(plan);
    char host[SW_HOST_SIZE];
    int duties = json_is_false(plan->watcher) ? 0 : api_duties(plan, sw_platform_find(plan->platform));
    struct sw_job row = { .name = plan->name, .platform = plan->platform,
                          .profile = session->profile, .place = place, .plan = stored,
                          .labels = plan->labels, .keep_ms = plan->keep_ms,
                          .duties = duties, .owner = owner, .host = host };

    if (!sw_owner_take(owners, plan->job_id))
        return sw_fail(err, SW_E_CONFLICT, "job '%s' is being submitted at this moment",
                       plan->job_id);
    memcpy(row.id, plan->job_id, sizeof row.id);
    sw_host_name(host);
    if (sw_store_add(session->store, &row, err) == 0)
        return 0;
    sw_owner_release(owners, plan->job_id);
    return -1;
}

static int send_it(struct sw_session *session, const struct api_plan *made,
                   const struct sw_secrets *secrets, struct sw_error *err)
{
    struct sw_error why = { 0 };

    if (sw_attempt_submit(&(struct sw_attempt){
            .store = session->store, .platform = made->platform, .conn = made->conn,
            .plan = made->plan, .number = 1, .secrets = secrets, .warn = api_warn,
            .warn_context = session }, &why, err) < 0)
        return -1;
    if (why.code == SW_OK)
        return 0;
    return sw_pass(err, &why);
}

/* Everything that can fail without leaving a trace. */
static int make_ready(struct sw_session *session, struct api_plan *made,
                      struct sw_secrets **secrets, int64_t *place, struct sw_error *err)
{
    if (api_check(made, err) < 0)
        return -1;
    sw_secrets_free(*secrets);
    *secrets = sw_attempt_secrets(made->plan, api_folder_env, made->folder, err);
    if (!*secrets)
        return -1;
    return api_settle_place(session, made->platform, made->conn, place, err);
}

/* 1: the id is that of a job that is there already. */
static int claim(struct sw_session *session, const struct sw_request *request,
                 const struct api_plan *made, int64_t place, int owners, struct sw_error *err)
{
    struct sw_error why = { 0 };

    while (remember(session, made->plan, place, owners, &why) < 0) {
        bool again;

        if (why.code != SW_E_CONFLICT || !request->id[0])
            return sw_pass(err, &why);
        if (api_same_id(session, made, &again, err) < 0)
            return -1;
        if (!again)
            return 1;
    }
    return 0;
}

static void record_skipped(struct sw_session *session, const struct api_plan *made)
{
    size_t i;
    json_t *each;

    json_array_foreach(made->skipped, i, each)
        sw_store_event(session->store, made->plan->job_id, "skipped", each, NULL);
}

/* One platform of the list. 1: it refused the job for certain, and there is a next one. */
static int submit_here(struct sw_session *session, const struct sw_request *request,
                       struct api_plan *made, int owners, char id[SW_ID_SIZE], bool *already,
                       struct sw_error *err)
{
    sw_auto(sw_secrets) struct sw_secrets *secrets = NULL;
    struct sw_error why = { 0 };
    int64_t place = 0;
    int claimed;

    if (request->id[0] && api_other_id(session, made, err) < 0)
        return -1;
    if (make_ready(session, made, &secrets, &place, &why) < 0) {
        if (api_skip(session, made, &why))
            return 1;
        return sw_pass(err, &why);
    }
    claimed = claim(session, request, made, place, owners, err);
    if (claimed >= 0)
        memcpy(id, made->plan->job_id, SW_ID_SIZE);
    *already = claimed > 0;
    if (claimed)
        return claimed < 0 ? -1 : 0;
    record_skipped(session, made);
    if (send_it(session, made, secrets, &why) == 0)
        return 0;
    if (why.code == SW_E_REFUSED && api_skip(session, made, &why) &&
        sw_store_remove(session->store, made->plan->job_id, NULL) == 0)
        return 1;
    return sw_pass(err, &why);
}

int sw_submit(struct sw_session *session, const struct sw_request *request, char id[SW_ID_SIZE],
              struct sw_error *err)
{
    return sw_submit_once(session, request, id, NULL, err);
}

int sw_submit_once(struct sw_session *session, const struct sw_request *request, char id[SW_ID_SIZE],
                   bool *already, struct sw_error *err)
{
    sw_auto(api_plan) struct api_plan made = { 0 };
    sw_autofd int owners = session ? sw_owner_open(session->store) : -1;
    bool found = false;

    id[0] = '\0';
    for (bool again = false;; again = true) {
        int result;

        if (api_choose(session, request, again, &made, err) < 0)
            return -1;
        result = submit_here(session, request, &made, owners, id, &found, err);
        if (already)
            *already = found;
        if (result <= 0)
            return result;
        id[0] = '\0';
    }
}
