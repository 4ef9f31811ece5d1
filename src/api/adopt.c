/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adopt.c - take over a job that this store never saw.
 *
 * Its plan lies where the job runs, and every user that can write there can change it: it is untrusted data
 * unless its signature, made with a key of this user, fits. What would run here (hooks, notify), what
 * would be sent from here (secrets, credentials) and what names folders of this machine (code, base_dir,
 * workdir, mounts) is dropped then, and the job is never submitted again from such a plan.
 */
#include <string.h>

#include "api/api_internal.h"
#include "base/clock.h"
#include "base/text.h"
#include "core/id.h"
#include "core/signature.h"

static const char *const strange_keys[] = {
    "hooks", "notify", "secrets", "credentials", "settings", "code", "base_dir", "workdir", "mounts", "rules",
    "dotenv",
};

static bool is_empty(const json_t *value)
{
    return !value || json_is_null(value) || (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

static void drop_strange(struct sw_session *session, const char *platform, const char *id,
                         json_t *plan)
{
    sw_auto(sw_buf) struct sw_buf names = SW_BUF_INIT;
    sw_autofree char *key = sw_signature_key_path(), *text = NULL;

    for (size_t i = 0; i < SW_COUNT(strange_keys); i++) {
        if (!is_empty(json_object_get(plan, strange_keys[i])))
            sw_buf_addf(&names, "%s%s", names.length ? ", " : "", strange_keys[i]);
        json_object_del(plan, strange_keys[i]);
    }
    json_object_set_new(plan, SW_PLAN_UNSIGNED, json_true());
    text = sw_format("the plan of '%s' is not signed by you: %s%sit will not be retried from here; to "
                     "accept it as it is: slipway adopt --trust-plan -p %s %s (or copy %s from "
                     "the machine that submitted it)", id, sw_buf_text(&names),
                     names.length ? " dropped, and " : "", platform, id, key);
    api_warn(session, text);
}

/* A plan of this user, or what may be kept of another's. Its name is the job's in any case. */
static void judge_plan(struct sw_session *session, const char *platform, const char *id, bool trust,
                       const struct sw_submission *receipt, json_t *plan)
{
    bool ours = sw_text_same(sw_json_str(plan, "job_id"), id) &&
                (receipt->trusted || sw_signature_fits(plan, receipt->signature));

    json_object_del(plan, SW_PLAN_UNSIGNED);
    if (!ours && !trust)
        drop_strange(session, platform, id, plan);
    json_object_set_new(plan, "job_id", json_string(id));
    json_object_set_new(plan, "platform", json_string(platform));
}

/* Write the row of a job that exists already: it goes through the same phases as our own. */
static int record_adopted(struct sw_session *session, const struct sw_platform *platform,
                          const char *id, int64_t place, json_t *plan,
                          const struct sw_submission *receipt, struct sw_error *err)
{
    sw_auto(json) json_t *brief = api_brief(plan, NULL);
    struct sw_job row = {
        .name = (char *)(sw_json_str(plan, "name") ? sw_json_str(plan, "name") : id),
        .platform = (char *)platform->name, .profile = session->profile, .place = place, .plan = plan,
        .labels = json_object_get(plan, "labels"), .keep_ms = sw_json_int(plan, "keep_ms", 0),
        .brief = brief,
    };

    memcpy(row.id, id, strlen(id) + 1);
    if (sw_store_add(session->store, &row, err) < 0 ||
        sw_store_submitted(session->store, id, receipt->remote_id, receipt->details,
                           receipt->results_dir, err) < 0)
        return -1;
    sw_store_event(session->store, id, "adopted", NULL, NULL);
    return api_refresh(session, &id, 1, NULL, err);
}

/* Known, and there is nothing to learn about it: a job of our own, or its plan is trusted already. */
static bool is_settled(struct sw_session *session, const char *id, bool trust, bool *known)
{
    sw_auto(sw_job) struct sw_job row = { 0 };

    *known = sw_store_get(session->store, id, SW_COLUMNS_ALL, &row, NULL) == 0;
    return *known && (!trust || !sw_json_bool(row.plan, SW_PLAN_UNSIGNED, false));
}

static int adopt(struct sw_session *session, const char *platform_name, const char *id, bool trust,
                 struct sw_error *err)
{
    const struct sw_platform *platform = sw_platform_need(platform_name, err);
    struct sw_submission receipt = { 0 };
    sw_auto(json) json_t *plan = NULL, *brief = NULL;
    struct sw_connection *conn;
    int64_t place = 0;
    bool known;
    int result;

    if (!platform || sw_id_check(id, err) < 0)
        return -1;
    if (is_settled(session, id, trust, &known))
        return 0;
    if (!platform->adopt)
        return sw_fail(err, SW_E_UNSUPPORTED, "adopting jobs is not available on %s",
                       platform->name);
    conn = api_connect(session, platform, session->profile, err);
    if (!conn || api_settle_place(session, platform, conn, &place, err) < 0 ||
        platform->adopt(conn, id, &plan, &receipt, err) < 0)
        return -1;
    if (plan)
        judge_plan(session, platform->name, id, trust, &receipt, plan);
    brief = known ? api_brief(plan, NULL) : NULL;
    result = known ? sw_store_set_plan(session->store, id, plan, brief, err)
                   : record_adopted(session, platform, id, place, plan, &receipt, err);
    json_decref(receipt.details);
    free(receipt.results_dir);
    return result;
}

int sw_adopt(struct sw_session *session, const char *platform, const char *id, struct sw_error *err)
{
    return adopt(session, platform, id, false, err);
}

int sw_adopt_trusting(struct sw_session *session, const char *platform, const char *id,
                      struct sw_error *err)
{
    return adopt(session, platform, id, true, err);
}

/* ---- what there is to adopt ----------------------------------------------------------------------- */

static json_t *adoptable_row(const char *platform, const json_t *job)
{
    const char *id = sw_json_str(job, "id"), *dash = strrchr(id, '-');
    sw_autofree char *name = sw_strndup(id, dash ? (size_t)(dash - id) : strlen(id));

    return sw_json_object(SW_STR("id", id), SW_STR("name", name), SW_STR("platform", platform),
                          SW_SUB_COPY("state", json_object_get(job, "state")),
                          SW_SUB_COPY("owner", json_object_get(job, "owner")),
                          SW_INT("created_ms", sw_json_int(job, "created_ms", 0)));
}

static int add_adoptable(struct sw_session *session, const struct sw_platform *platform, json_t *rows,
                         struct sw_error *err)
{
    struct sw_connection *conn = api_connect(session, platform, session->profile, err);
    sw_auto(json) json_t *jobs = conn ? platform->jobs(conn, err) : NULL;
    size_t i;
    json_t *job;

    if (!jobs)
        return -1;
    json_array_foreach(jobs, i, job)
        if (!api_knows(session, sw_json_str(job, "id")))
            json_array_append_new(rows, adoptable_row(platform->name, job));
    return 0;
}

char *sw_adoptable(struct sw_session *session, const char *name, struct sw_error *err)
{
    const struct sw_platform *platform = name ? sw_platform_need(name, err) : NULL;
    sw_auto(json) json_t *rows = json_array();

    if (name && !platform)
        return NULL;
    if (name && !platform->jobs)
        return sw_null(sw_fail(err, SW_E_UNSUPPORTED,
                               "listing jobs to adopt is not available on %s", name));
    if (name && add_adoptable(session, platform, rows, err) < 0)
        return NULL;
    for (size_t i = 0; !name && (platform = sw_platform_at(i)); i++) {
        struct sw_error why = { 0 };
        sw_autofree char *text = NULL;

        if (!platform->jobs || add_adoptable(session, platform, rows, &why) == 0)
            continue;
        text = sw_format("%s was not checked: %s", platform->name, why.message);
        api_warn(session, text);
    }
    return api_document("adopt", sw_json_object(SW_SUB("jobs", sw_take(rows))));
}
