/* SPDX-License-Identifier: Apache-2.0 */
/*
 * submit.c - plan without sending, and sending at most once.
 *
 * The order is the promise: (1) everything that can fail without leaving a trace fails first;
 * (2) the row is written, with who is submitting; (3) the platform is called; (4) the row learns
 * what the platform said. Dying between any two of these leaves a row from which the next
 * refresh finds out the truth (monitor/refresh.c). See docs/internals/write-ahead-submit.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_internal.h"
#include "base/clock.h"
#include "base/text.h"

/* One row for each final value, however deep it stands; without a source of its own it has its
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

/* A plan can be made while the platform is out of reach; it only cannot be sent. */
static int look_ahead(struct sw_session *session, const struct api_plan *made, struct sw_error *err)
{
    struct sw_error why = { 0 };

    if (!made->platform->preflight ||
        made->platform->preflight(made->link, made->plan, &why) == 0)
        return 0;
    if (why.code == SW_E_UNREACHABLE || why.code == SW_E_TIMEOUT) {
        json_array_append_new(made->spec->warnings, sw_json_text(why.message));
        api_warn(session, why.message);
        return 0;
    }
    if (err)
        *err = why;
    return -1;
}

char *sw_plan_job(struct sw_session *session, const struct sw_request *request,
                  struct sw_error *err)
{
    sw_auto(api_plan) struct api_plan made = { 0 };
    sw_autofree char *address = NULL;
    json_t *sends;

    if (api_plan_make(session, request, &made, err) < 0)
        return NULL;
    if (look_ahead(session, &made, err) < 0)
        return NULL;
    address = api_address(made.platform, made.link);
    sends = made.platform->render(made.link, made.plan, err);
    if (!sends)
        return NULL;
    return api_text(api_plan_hide(sw_json_object(
        SW_INT("version", 1),
        SW_STR("id", made.plan->job_id),
        SW_STR("platform", made.platform->name),
        SW_STR_OPT("place", address),
        SW_SUB("values", value_rows(&made)),
        SW_SUB("plan", sw_plan_to_json(made.plan)),
        SW_SUB("sends", sends),
        SW_SUB_COPY("warnings", made.spec->warnings)), json_object_get(made.spec->job, "env")));
}

static json_t *checks_of(const struct api_plan *made, struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_autofree char *title = sw_format("platform %s", made->platform->name);
    bool good;

    if (made->platform->checks)
        return made->platform->checks(made->link, made->plan, err);
    good = !made->platform->preflight ||
           made->platform->preflight(made->link, made->plan, &why) == 0;
    return json_pack("[o]", sw_json_object(
        SW_STR("check", title), SW_BOOL("ok", good),
        SW_STR("message", good ? "the job can run here" : why.message),
        SW_STR_OPT("fix", why.hint[0] ? why.hint : NULL)));
}

char *sw_preflight(struct sw_session *session, const struct sw_request *request,
                   struct sw_error *err)
{
    sw_auto(api_plan) struct api_plan made = { 0 };
    bool good = true;
    json_t *checks, *each;
    size_t i;

    if (api_plan_make(session, request, &made, err) < 0)
        return NULL;
    checks = checks_of(&made, err);
    if (!checks)
        return NULL;
    json_array_foreach(checks, i, each)
        good = good && sw_json_bool(each, "ok", false);
    return api_text(sw_json_object(
        SW_INT("version", 1), SW_STR("platform", made.platform->name), SW_BOOL("ok", good),
        SW_SUB("checks", checks)));
}

/* The row, with its owner; the lock on its id must be ours before. */
static int remember(struct sw_session *session, const struct sw_plan *plan, int64_t place,
                    int owners, struct sw_error *err)
{
    sw_auto(json) json_t *owner = sw_owner_json();
    sw_auto(json) json_t *stored = sw_plan_to_json(plan);
    struct sw_job row = { .name = plan->name, .platform = plan->platform,
                          .profile = session->profile, .place = place, .plan = stored,
                          .labels = plan->labels, .keep_ms = plan->keep_ms, .owner = owner };

    if (!sw_owner_take(owners, plan->job_id))
        return sw_fail(err, SW_E_CONFLICT, "job '%s' is being submitted at this moment",
                       plan->job_id);
    memcpy(row.id, plan->job_id, sizeof row.id);
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
            .store = session->store, .platform = made->platform, .link = made->link,
            .plan = made->plan, .number = 1, .secrets = secrets, .warn = api_warn,
            .warn_context = session }, &why, err) < 0)
        return -1;
    if (why.code == SW_OK)
        return 0;
    if (err)
        *err = why;
    return -1;
}

/* The id is taken. *again: its submit was interrupted before anything was made, or its row is gone
 * by now, so ours may be written; otherwise the first job is the answer. */
static int find_first(struct sw_session *session, const char *id, bool *again,
                      struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job row = { 0 };
    struct sw_error why = { 0 };

    *again = false;
    if (api_refresh(session, &id, 1, NULL, err) < 0)
        return -1;
    if (sw_store_get(session->store, id, SW_COLUMNS_LIST, &row, &why) == 0) {
        if (row.phase != SW_PHASE_OVER || !sw_text_same(row.reason, "not-started"))
            return 0;
        sw_store_remove(session->store, id, &why);
    }
    /* Not found, or a conflict: another client that repeats the same id was quicker; look again. */
    sw_sleep_ms(1);
    *again = why.code == SW_OK || why.code == SW_E_NOT_FOUND || why.code == SW_E_CONFLICT;
    if (!*again && err)
        *err = why;
    return *again ? 0 : -1;
}

int sw_submit(struct sw_session *session, const struct sw_request *request, char id[SW_ID_SIZE],
              struct sw_error *err)
{
    sw_auto(api_plan) struct api_plan made = { 0 };
    sw_auto(sw_secrets) struct sw_secrets *secrets = NULL;
    sw_autofd int owners = sw_owner_open(session->store);
    struct sw_error why = { 0 };
    int64_t place = 0;

    id[0] = '\0';
    if (api_plan_make(session, request, &made, err) < 0)
        return -1;
    if (made.platform->preflight && made.platform->preflight(made.link, made.plan, err) < 0)
        return -1;
    secrets = sw_attempt_secrets(made.plan, api_folder_env, made.folder, err);
    if (!secrets)
        return -1;
    if (api_settle_place(session, made.platform, made.link, &place, err) < 0)
        return -1;
    while (remember(session, made.plan, place, owners, &why) < 0) {
        bool again;

        if (why.code != SW_E_CONFLICT || !request->id[0]) {
            if (err)
                *err = why;
            return -1;
        }
        memcpy(id, made.plan->job_id, SW_ID_SIZE);
        if (find_first(session, id, &again, err) < 0)
            return -1;
        if (!again)
            return 0;
    }
    memcpy(id, made.plan->job_id, SW_ID_SIZE);
    return send_it(session, &made, secrets, err);
}
