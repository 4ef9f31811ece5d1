/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brev_jobs.c - jobs on their instances: sent, stopped, removed, found again. The Docker platform does the
 * work, and gets the jobs of each engine together.
 */
#include "platform/brev/brev_internal.h"

#include "base/file.h"
#include "base/text.h"
#include "core/reason.h"
#include "platform/kit/orphans.h"

/* ---- submit -------------------------------------------------------------------------------------- */

static void add_details(json_t *details, const json_t *instance)
{
    static const char *const names[][2] = {
        { "instance", "name" }, { "instance_id", "id" }, { "instance_type", "instance_type" },
    };

    for (size_t i = 0; i < SW_COUNT(names); i++)
        if (json_object_get(instance, names[i][1]))
            json_object_set(details, names[i][0], json_object_get(instance, names[i][1]));
}

/* Nothing runs: an instance that was created for it is of no more use, where the job says so. */
static void drop_instance(struct brev_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    const struct sw_jobref job = { .id = plan->job_id };
    sw_auto(json) json_t *list = NULL;
    struct sw_error why = { 0 };

    if (!brev_job_options(plan->options).delete_after || err->code == SW_E_UNREACHABLE)
        return;
    if (brev_delete_own(conn, &list, &job, &why) < 0)
        sw_wrap(err, "%.200s", why.message);
    else
        sw_hint(err, "the instance that was created for it was deleted");
}

int brev_submit(struct sw_connection *on, const struct sw_plan *plan, int attempt,
                const struct sw_secrets *secrets, struct sw_submission *receipt, struct sw_error *err)
{
    struct brev_connection *conn = brev_of(on);
    struct sw_connection *docker = NULL;
    struct sw_error why = { 0 };
    sw_auto(json) json_t *instance = brev_take(conn, plan, attempt, &docker, &why);

    if (!instance || docker_submit(docker, plan, attempt, secrets, receipt, &why) < 0) {
        drop_instance(conn, plan, &why);
        return sw_pass(err, &why);
    }
    add_details(receipt->details, instance);
    return 0;
}

/* ---- cancel, cleanup, finalize, evidence --------------------------------------------------------- */

/* `fn` for the jobs of each engine. One whose instance is gone needs nothing more: 0. */
static void for_engines(struct brev_connection *conn, struct sw_batch_job *jobs, size_t count,
                        brev_engine_fn *fn, void *context)
{
    sw_autofree struct sw_connection **engines = sw_alloc((count + 1) * sizeof *engines);

    for (size_t i = 0; i < count; i++) {
        engines[i] = brev_engine_of(conn, jobs[i].job, &jobs[i].err);
        jobs[i].result = engines[i] ? 0 : -1;
    }
    brev_by_engine(engines, jobs, sizeof *jobs, count, fn, context);
    for (size_t i = 0; i < count; i++) {
        struct sw_error why = jobs[i].err;

        if (jobs[i].result >= 0)
            continue;
        jobs[i].err = (struct sw_error){ 0 };
        brev_engine_doubt(conn, jobs[i].job, &why, &jobs[i].err);
        if (jobs[i].err.code == SW_E_NOT_FOUND)
            jobs[i].result = 0;
    }
}

static void cancel_some(struct sw_connection *docker, void *jobs, size_t count, void *deadline_ms)
{
    docker_cancel(docker, jobs, count, *(int64_t *)deadline_ms);
}

void brev_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, int64_t deadline_ms)
{
    for_engines(brev_of(conn), jobs, count, cancel_some, &deadline_ms);
}

struct cleaning {
    bool keep_results;
    int64_t deadline_ms;
};

static void clean_some(struct sw_connection *docker, void *jobs, size_t count, void *context)
{
    const struct cleaning *cleaning = context;

    docker_cleanup(docker, jobs, count, cleaning->keep_results, cleaning->deadline_ms);
}

/* Delete what was created for the job, or say why it stays. The number of instances; -1: some stay. */
static int delete_or_warn(struct brev_connection *conn, json_t **list, const struct sw_jobref *job)
{
    struct sw_error why = { 0 };
    int deleted = brev_delete_own(conn, list, job, &why);

    if (deleted < 0)
        brev_warn(conn, why.message);
    return deleted;
}

/* What is on this machine: also of one whose instance is gone. */
static int remove_local(const struct brev_connection *conn, const char *id, bool keep_results,
                        struct sw_error *err)
{
    sw_autofree char *folder = sw_format("%s/docker/%s", conn->state_dir, id);

    return keep_results ? sw_remove_all_but(folder, "results", err) : sw_remove_tree(folder, err);
}

void brev_cleanup(struct sw_connection *on, struct sw_batch_job *jobs, size_t count, bool keep_results,
                  int64_t deadline_ms)
{
    struct brev_connection *conn = brev_of(on);
    sw_auto(json) json_t *list = NULL;

    for_engines(conn, jobs, count, clean_some, &(struct cleaning){ keep_results, deadline_ms });
    for (size_t i = 0; i < count; i++) {
        if (delete_or_warn(conn, &list, jobs[i].job) > 0 && jobs[i].result < 0)
            jobs[i].result = 0;              /* with all that was on it */
        if (jobs[i].result == 0)
            jobs[i].result = remove_local(conn, jobs[i].job->id, keep_results, &jobs[i].err);
    }
}

static void finalize_some(struct sw_connection *docker, void *jobs, size_t count, void *context)
{
    (void)context;
    docker_finalize(docker, jobs, count);
}

void brev_finalize(struct sw_connection *on, const struct sw_jobref *const *jobs, size_t count)
{
    struct brev_connection *conn = brev_of(on);
    sw_autofree struct sw_connection **engines = sw_alloc((count + 1) * sizeof *engines);
    sw_autofree const struct sw_jobref **ended = sw_alloc((count + 1) * sizeof *ended);
    sw_auto(json) json_t *list = NULL;

    for (size_t i = 0; i < count; i++) {
        ended[i] = jobs[i];
        engines[i] = brev_engine_of(conn, jobs[i], NULL);
    }
    brev_by_engine(engines, ended, sizeof *ended, count, finalize_some, NULL);
    for (size_t i = 0; i < count; i++)
        if (brev_job_options(json_object_get(jobs[i]->plan, "options")).delete_after)
            delete_or_warn(conn, &list, jobs[i]);
}

void brev_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                   struct sw_evidence *out, size_t count, int64_t deadline_ms)
{
    for (size_t i = 0; i < count; i++) {
        bool there = !seen[i]->by_absence && !sw_text_same(seen[i]->reason, SW_REASON_NODE_LOST);
        struct sw_connection *docker = there ? brev_engine_of(brev_of(conn), &seen[i]->job, NULL) : NULL;

        if (docker)
            docker_evidence(docker, &seen[i], &out[i], 1, deadline_ms);
    }
}

/* ---- found again --------------------------------------------------------------------------------- */

int brev_adopt(struct sw_connection *on, const char *id, json_t **plan, struct sw_submission *receipt,
               struct sw_error *err)
{
    struct brev_connection *conn = brev_of(on);
    sw_auto(json) json_t *list = brev_list(conn, BREV_NOW, err);
    struct sw_error silent = { 0 };
    const json_t *each;
    size_t i;

    if (!list)
        return -1;
    json_array_foreach(list, i, each) {
        struct sw_error why = { 0 };
        struct sw_connection *docker;

        if (brev_use(each, NULL) != BREV_USABLE)
            continue;
        docker = brev_engine_at(conn, each, &why);
        if (docker && docker_adopt(docker, id, plan, receipt, &why) == 0) {
            add_details(receipt->details, each);
            return 0;
        }
        if (why.code != SW_E_NOT_FOUND)
            silent = why;
    }
    if (silent.code)
        return sw_pass(err, &silent);
    return sw_fail(err, SW_E_NOT_FOUND, "no running instance has a job '%s'", id);
}

json_t *brev_jobs(struct sw_connection *on, struct sw_error *err)
{
    struct brev_connection *conn = brev_of(on);
    sw_auto(json) json_t *list = brev_list(conn, BREV_NOW, err);
    json_t *all = list ? json_array() : NULL, *each;
    size_t i;

    json_array_foreach(list, i, each) {
        sw_auto(json) json_t *some = brev_jobs_on(conn, each, NULL);

        if (some)
            json_array_extend(all, some);
    }
    return all;
}

/* ---- orphans ------------------------------------------------------------------------------------- */

/* Of a job that this store does not know any more. */
static void add_instance(struct brev_connection *conn, const struct sw_orphans *search,
                         const json_t *instance)
{
    const char *name = sw_json_str(instance, "name"), *kept = NULL;
    bool usable = brev_use(instance, NULL) == BREV_USABLE, mine;
    const struct sw_sweep *sweep = search->sweep;
    sw_auto(json) json_t *jobs = NULL;
    struct brev_mark mark;

    if (!brev_name_read(name, &mark) || sweep->known(sweep->context, mark.job))
        return;
    jobs = brev_jobs_on(conn, instance, NULL);
    if (usable && (!jobs || brev_live_jobs(jobs, NULL) > 0))
        kept = jobs ? "a job runs on it" : "it is unknown whether a job runs on it";
    mine = sweep->store_id && sw_text_starts(sweep->store_id, mark.store);
    if (sw_orphan_add(search, &(struct sw_orphan){ .what = "instance", .where = name, .job = mark.job,
                                                   .marked = true, .kept = kept,
                                                   .store = mine ? sweep->store_id : mark.store }) &&
        brev_delete(conn, name, NULL) < 0)
        sw_orphan_stays(search);
}

static void add_new(json_t *found, json_t *rows)
{
    json_t *each, *known;
    size_t i, k;

    json_array_foreach(rows, i, each) {
        bool twice = false;

        json_array_foreach(found, k, known)
            twice |= json_equal(known, each);
        if (!twice)
            json_array_append(found, each);
    }
}

json_t *brev_orphans(struct sw_connection *on, const struct sw_sweep *sweep, struct sw_error *err)
{
    struct brev_connection *conn = brev_of(on);
    sw_auto(json) json_t *list = brev_list(conn, BREV_NOW, err);
    json_t *found = list ? json_array() : NULL, *each;
    const struct sw_orphans search = { sweep, found };
    size_t i;

    json_array_foreach(list, i, each) {
        struct sw_connection *docker = brev_use(each, NULL) == BREV_USABLE ? brev_engine_at(conn, each, NULL)
                                                                           : NULL;
        sw_auto(json) json_t *rows = docker ? docker_orphans(docker, sweep, NULL) : NULL;

        add_new(found, rows);
        add_instance(conn, &search, each);
    }
    return found;
}
