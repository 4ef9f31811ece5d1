/* SPDX-License-Identifier: Apache-2.0 */
/*
 * submit.c - plan without sending, and sending at most once: one job, or the splits of a group.
 *
 * The order is the promise: (1) everything that can fail without leaving a trace fails first;
 * (2) the row is written, with the process that submits; (3) the platform is called; (4) the row learns
 * what the platform said. Dying between any two of these leaves a row from which the next
 * refresh finds out the truth (monitor/refresh.c). See docs/internals/write-ahead-submit.md.
 *
 * Each split is such a job, under an id that follows from its group's and its number: a submit that is
 * repeated after a crash finds those that are there, and sends the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api_internal.h"
#include "base/parallel.h"
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
    return api_document("plan", api_plan_hide(sw_json_object(
        SW_STR("id", made.plan->job_id),
        SW_STR_OPT("group", made.group ? made.group->job_id : NULL),
        SW_SUB("splits", made.group ? json_integer(made.group->splits) : NULL),
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
                    int owners, const struct api_origin *origin, struct sw_error *err)
{
    sw_auto(json) json_t *owner = sw_owner_json();
    sw_auto(json) json_t *stored = sw_plan_to_json(plan), *brief = api_brief(stored, origin->document);
    char host[SW_HOST_SIZE];
    int duties = json_is_false(plan->watcher) ? 0 : api_duties(plan, sw_platform_find(plan->platform));
    struct sw_job row = { .name = plan->name, .platform = plan->platform,
                          .profile = (char *)sw_json_str(origin->document, "profile"), .place = place,
                              .plan = stored,
                          .labels = plan->labels, .keep_ms = plan->keep_ms,
                          .duties = duties, .owner = owner, .host = host,
                          .origin = origin->document, .request = origin->request, .brief = brief,
                          .diff = origin->diff };

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

/* ---- the jobs of a request: one, or as many as it has splits ------------------------------------ */

enum { AT_ONCE = 8 };

enum sent { OPEN, DONE, SKIPPED, FAILED };      /* SKIPPED: refused, and there is a next platform */

struct submitted {
    char id[SW_ID_SIZE];
    enum sent sent;
    bool already;                  /* it was there, under the id that the request names */
};

struct submitting {
    struct sw_session *session;
    const struct sw_request *request;
    struct api_plan made;          /* for the platform of this round */
    struct sw_secrets *secrets;
    struct api_origin origin;
    int64_t place;
    int owners;
    struct submitted *jobs;
    size_t count;
    pthread_mutex_t lock;          /* guards these, and made.skipped */
    bool begun;                    /* the platform has one of them, or may have */
    bool stops;                    /* no further one is begun: one failed, or the platform refuses them */
    struct sw_error err;           /* of the first that failed */
};

#define SUBMITTING(session_, request_) {                                                           \
    .session = (session_), .request = (request_), .lock = PTHREAD_MUTEX_INITIALIZER,               \
    .owners = (session_) ? sw_owner_open((session_)->store) : -1 }

static void submitting_auto(struct submitting *all)
{
    api_plan_auto(&all->made);
    sw_secrets_free(all->secrets);
    api_origin_done(&all->origin);
    if (all->owners >= 0)
        close(all->owners);
    free(all->jobs);
    pthread_mutex_destroy(&all->lock);
}

/* Everything that can fail without leaving a trace, and is the same for all splits. */
static int make_ready(struct submitting *all, struct sw_error *err)
{
    struct api_plan *made = &all->made;

    if (api_check(made, err) < 0)
        return -1;
    sw_secrets_free(all->secrets);
    all->secrets = sw_attempt_secrets(made->plan, api_folder_env, made->folder, err);
    if (!all->secrets)
        return -1;
    if (!all->origin.document)
        api_origin(all->session, all->request, made, all->secrets, &all->origin);
    return api_settle_place(all->session, made->platform, made->conn, &all->place, err);
}

/* 1: the id is that of a job that is there already. */
static int claim(const struct submitting *all, const struct api_plan *made, struct sw_error *err)
{
    struct sw_error why = { 0 };

    while (remember(all->session, made->plan, all->place, all->owners, &all->origin, &why) < 0) {
        bool again;

        if (why.code != SW_E_CONFLICT || !all->request->id[0])
            return sw_pass(err, &why);
        if (api_same_id(all->session, made, &again, err) < 0)
            return -1;
        if (!again)
            return 1;
        why = (struct sw_error){ 0 };
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

static enum sent submit_one(struct submitting *all, struct api_plan *made, struct submitted *job,
                            struct sw_error *err)
{
    struct sw_error why = { 0 };
    int claimed;

    if (all->request->id[0] && api_other_id(all->session, made, err) < 0)
        return FAILED;
    if (api_check(made, &why) < 0) {
        if (api_skip(all->session, made, &why))
            return SKIPPED;
        sw_pass(err, &why);
        return FAILED;
    }
    claimed = claim(all, made, err);
    if (claimed >= 0)
        memcpy(job->id, made->plan->job_id, SW_ID_SIZE);
    job->already = claimed > 0;
    if (claimed)
        return claimed < 0 ? FAILED : DONE;
    record_skipped(all->session, made);
    if (send_it(all->session, made, all->secrets, &why) == 0)
        return DONE;
    if (why.code == SW_E_REFUSED && api_skip(all->session, made, &why) &&
        sw_store_remove(all->session->store, made->plan->job_id, NULL) == 0) {
        job->id[0] = '\0';
        return SKIPPED;
    }
    sw_pass(err, &why);
    return FAILED;
}

/* May this one be sent in this round? Then `one` is the plan to send. */
static bool begin_one(struct submitting *all, const struct submitted *job, struct api_plan *one)
{
    bool begins;

    pthread_mutex_lock(&all->lock);
    begins = job->sent == OPEN && !all->stops;
    *one = all->made;
    one->skipped = begins && one->skipped ? json_copy(one->skipped) : NULL;
    pthread_mutex_unlock(&all->lock);
    return begins;
}

static void end_one(struct submitting *all, struct submitted *job, enum sent sent, struct api_plan *one,
                    const struct sw_error *err)
{
    pthread_mutex_lock(&all->lock);
    job->sent = sent;
    all->begun = all->begun || job->id[0];
    all->stops = all->stops || sent != DONE;
    if (sent == FAILED && !all->err.code)
        all->err = *err;
    if (sent == SKIPPED) {
        json_decref(all->made.skipped);
        all->made.skipped = sw_take(one->skipped);
    }
    pthread_mutex_unlock(&all->lock);
    json_decref(one->skipped);
    if (one->plan != all->made.plan)
        sw_plan_free(one->plan);
}

static void submit_at(void *context, size_t index)
{
    struct submitting *all = context;
    struct submitted *job = &all->jobs[index];
    struct api_plan one;
    struct sw_error err = { 0 };

    if (!begin_one(all, job, &one))
        return;
    if (index > 0) {
        one.plan = sw_plan_split(all->made.group, (int)index, &err);
        one.checked = false;
    }
    end_one(all, job, one.plan ? submit_one(all, &one, job, &err) : FAILED, &one, &err);
}

/* 1: this platform takes none of them, and there is a next one. */
static int open_round(struct submitting *all, struct sw_error *err)
{
    struct sw_error why = { 0 };

    all->stops = false;
    for (size_t i = 0; i < all->count; i++)
        if (all->jobs[i].sent == SKIPPED)
            all->jobs[i].sent = OPEN;
    if (all->request->id[0] && api_other_id(all->session, &all->made, err) < 0)
        return -1;
    if (make_ready(all, &why) == 0)
        return 0;
    return api_skip(all->session, &all->made, &why) ? 1 : sw_pass(err, &why);
}

/* Those that no platform has yet, to the one that was chosen: the first alone, so that what is wrong with
 * all of them is found out and told once, then the others side by side. 1: the next platform may take the
 * rest. */
static int submit_round(struct submitting *all, struct sw_error *err)
{
    int opened = open_round(all, err);
    size_t first = 0;

    if (opened)
        return opened;
    while (first < all->count && all->jobs[first].sent == DONE)
        first++;
    if (first < all->count)
        submit_at(all, first);
    sw_parallel(all->count, AT_ONCE, submit_at, all);
    return all->err.code ? sw_pass(err, &all->err) : all->stops;
}

static int begin_jobs(struct submitting *all, bool alone, struct sw_error *err)
{
    const struct sw_plan *group = all->made.group;

    if (group && alone) {
        sw_fail(err, SW_E_USAGE, "the job has %d splits; this call submits one job", group->splits);
        return sw_hint(err, "sw_submit_many() submits them all");
    }
    all->count = group ? (size_t)group->splits : 1;
    all->jobs = sw_alloc(all->count * sizeof *all->jobs);
    return 0;
}

static int submit_all(struct submitting *all, bool alone, char group[SW_ID_SIZE], struct sw_error *err)
{
    struct sw_request asked = *all->request;       /* borrows from it */
    int result = 1;

    for (bool again = false; result > 0; again = true) {
        if (api_choose(all->session, &asked, again, &all->made, err) < 0 ||
            (!again && begin_jobs(all, alone, err) < 0))
            return -1;
        if (all->made.group) {                     /* its id stays, whichever platform is next */
            memcpy(asked.id, all->made.group->job_id, SW_ID_SIZE);
            memcpy(group, asked.id, SW_ID_SIZE);
        }
        result = submit_round(all, err);
    }
    return result;
}

static void tell_jobs(const struct submitting *all, sw_outcome_fn *tell, void *context)
{
    for (size_t i = 0; tell && i < all->count; i++) {
        const struct submitted *job = &all->jobs[i];
        const struct sw_outcome outcome = {
            .size = sizeof outcome, .id = job->id, .index = i, .state = SW_PENDING, .attempt = 1,
            .exit_code = SW_NO_EXIT_CODE, .duration_ms = -1, .already = job->already,
            .err = job->sent == FAILED ? &all->err : NULL };

        if (job->id[0])
            tell(context, &outcome);
    }
}

int sw_submit_many(struct sw_session *session, const struct sw_request *request, char group[SW_ID_SIZE],
                   sw_outcome_fn *tell, void *context, struct sw_error *err)
{
    sw_auto(submitting) struct submitting all = SUBMITTING(session, request);
    struct sw_error why = { 0 };
    int result;

    group[0] = '\0';
    result = submit_all(&all, false, group, &why);
    tell_jobs(&all, tell, context);
    if (result == 0)
        return 0;
    if (group[0] && all.begun && !why.hint[0])
        sw_hint(&why, "repeat it with --id %s: only the splits that are missing are submitted", group);
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
    sw_auto(submitting) struct submitting all = SUBMITTING(session, request);
    char group[SW_ID_SIZE];
    int result = submit_all(&all, true, group, err);

    snprintf(id, SW_ID_SIZE, "%s", all.jobs ? all.jobs[0].id : "");
    if (already)
        *already = all.jobs && all.jobs[0].already;
    return result;
}
