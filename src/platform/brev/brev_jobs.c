/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brev_jobs.c - jobs on their instances: sent, stopped, removed, found again. The Docker platform does the
 * work; here it gets the jobs of each engine together.
 */
#include "platform/brev/brev_internal.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "core/reason.h"
#include "platform/kit/orphans.h"

/* ---- jobs by engine ------------------------------------------------------------------------------ */

void brev_groups_add(struct brev_groups *groups, struct sw_connection *docker, const json_t *instance,
                     size_t which)
{
    struct brev_group *group = NULL;

    for (size_t i = 0; i < groups->count && !group; i++)
        if (groups->all[i].docker == docker)
            group = &groups->all[i];
    if (!group) {
        groups->all = sw_realloc_array(groups->all, groups->count + 1, sizeof *groups->all);
        group = &groups->all[groups->count++];
        *group = (struct brev_group){ .docker = docker, .instance = instance };
    }
    group->which = sw_realloc_array(group->which, group->count + 1, sizeof *group->which);
    group->which[group->count++] = which;
}

void brev_groups_done(struct brev_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        free(groups->all[i].which);
    free(groups->all);
}

/* ---- submit -------------------------------------------------------------------------------------- */

static void add_details(json_t *details, const json_t *instance)
{
    static const char *const names[][2] = {
        { "instance", "name" }, { "instance_id", "id" }, { "instance_type", "instance_type" },
        { "engine_id", "engine_id" },
    };

    for (size_t i = 0; i < SW_COUNT(names); i++)
        if (json_object_get(instance, names[i][1]))
            json_object_set(details, names[i][0], json_object_get(instance, names[i][1]));
}

/* Nothing runs: an instance that was created for it is of no more use, where the job says so. */
static void drop_instance(struct brev_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    const struct sw_jobref job = { .id = plan->job_id };
    struct sw_error why = { 0 };

    if (!brev_job_options(plan->options).delete_after || !err || err->code == SW_E_UNREACHABLE)
        return;
    if (brev_delete_own(conn, &job, &why) < 0)
        sw_wrap(err, "%.200s", why.message);
    else
        sw_hint(err, "the instance that was created for it was deleted");
}

int brev_submit(struct sw_connection *on, const struct sw_plan *plan, int attempt,
                const struct sw_secrets *secrets, struct sw_submission *receipt, struct sw_error *err)
{
    struct brev_connection *conn = brev_of(on);
    struct sw_error why = { 0 };
    sw_auto(json) json_t *instance = brev_take(conn, plan, attempt, &why);
    int gpus = instance && brev_plan_gpus(plan) > 0
                   ? brev_gpu_count(brev_types(conn, true, NULL), sw_json_str(instance, "instance_type")) : 0;
    struct sw_connection *docker = instance
        ? brev_engine_with(conn, sw_json_str(instance, "name"), sw_json_str(instance, "id"), gpus, &why)
        : NULL;

    if (!docker || docker_submit(docker, plan, attempt, secrets, receipt, &why) < 0) {
        drop_instance(conn, plan, &why);
        return sw_pass(err, &why);
    }
    add_details(receipt->details, instance);
    return 0;
}

/* ---- cancel, cleanup, finalize, evidence --------------------------------------------------------- */

static struct brev_groups group_batch(struct brev_connection *conn, struct sw_batch_job *jobs, size_t count)
{
    struct brev_groups groups = { 0 };

    for (size_t i = 0; i < count; i++) {
        struct sw_error why = { 0 };
        struct sw_connection *docker = brev_engine_of(conn, jobs[i].job, &why);

        if (docker)
            brev_groups_add(&groups, docker, NULL, i);
        else
            jobs[i].result = brev_engine_doubt(conn, jobs[i].job, &why, &jobs[i].err);
    }
    return groups;
}

typedef void batch_fn(struct sw_connection *docker, struct sw_batch_job *jobs, size_t count, void *context);

/* `fn` for the jobs of each engine. One whose instance is gone needs nothing more: 0. */
static void for_engines(struct brev_connection *conn, struct sw_batch_job *jobs, size_t count, batch_fn *fn,
                        void *context)
{
    sw_auto(brev_groups) struct brev_groups groups = group_batch(conn, jobs, count);

    for (size_t g = 0; g < groups.count; g++) {
        const struct brev_group *group = &groups.all[g];
        sw_autofree struct sw_batch_job *some = sw_alloc(group->count * sizeof *some);

        for (size_t i = 0; i < group->count; i++)
            some[i] = jobs[group->which[i]];
        fn(group->docker, some, group->count, context);
        for (size_t i = 0; i < group->count; i++) {
            struct sw_batch_job *job = &jobs[group->which[i]];

            *job = some[i];
            if (job->result >= 0)
                continue;
            job->err = (struct sw_error){ 0 };
            brev_engine_doubt(conn, job->job, &some[i].err, &job->err);
        }
    }
    for (size_t i = 0; i < count; i++)
        if (jobs[i].result < 0 && jobs[i].err.code == SW_E_NOT_FOUND)
            jobs[i].result = 0;
}

static void cancel_some(struct sw_connection *docker, struct sw_batch_job *jobs, size_t count,
                        void *deadline_ms)
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

static void clean_some(struct sw_connection *docker, struct sw_batch_job *jobs, size_t count, void *context)
{
    const struct cleaning *cleaning = context;

    docker_cleanup(docker, jobs, count, cleaning->keep_results, cleaning->deadline_ms);
}

static void warn(const struct brev_connection *conn, const struct sw_error *why)
{
    if (conn->config.warn)
        conn->config.warn(conn->config.warn_context, why->message);
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
    struct cleaning cleaning = { keep_results, deadline_ms };

    for_engines(conn, jobs, count, clean_some, &cleaning);
    for (size_t i = 0; i < count; i++) {
        struct sw_error why = { 0 };
        int deleted = brev_delete_own(conn, jobs[i].job, &why);

        if (deleted < 0)
            warn(conn, &why);
        if (deleted > 0 && jobs[i].result < 0)
            jobs[i].result = 0;              /* with all that was on it */
        if (jobs[i].result == 0)
            jobs[i].result = remove_local(conn, jobs[i].job->id, keep_results, &jobs[i].err);
    }
}

void brev_finalize(struct sw_connection *on, const struct sw_jobref *const *jobs, size_t count)
{
    struct brev_connection *conn = brev_of(on);
    sw_auto(brev_groups) struct brev_groups groups = { 0 };

    for (size_t i = 0; i < count; i++) {
        struct sw_connection *docker = brev_engine_of(conn, jobs[i], NULL);

        if (docker)
            brev_groups_add(&groups, docker, NULL, i);
    }
    for (size_t g = 0; g < groups.count; g++) {
        sw_autofree const struct sw_jobref **some = sw_alloc(groups.all[g].count * sizeof *some);

        for (size_t i = 0; i < groups.all[g].count; i++)
            some[i] = jobs[groups.all[g].which[i]];
        docker_finalize(groups.all[g].docker, some, groups.all[g].count);
    }
    for (size_t i = 0; i < count; i++) {
        struct sw_error why = { 0 };

        if (brev_job_options(json_object_get(jobs[i]->plan, "options")).delete_after &&
            brev_delete_own(conn, jobs[i], &why) < 0)
            warn(conn, &why);
    }
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

static int adopt_from(struct brev_connection *conn, const json_t *instance, const char *id, json_t **plan,
                      struct sw_submission *receipt, struct sw_error *err)
{
    const char *name = sw_json_str(instance, "name"), *number = sw_json_str(instance, "id");
    sw_auto(sw_buf) struct sw_buf identity = SW_BUF_INIT;
    struct sw_connection *docker = brev_engine(conn, name, number, err);

    if (!docker || docker_adopt(docker, id, plan, receipt, err) < 0)
        return -1;
    add_details(receipt->details, instance);
    if (brev_engine_identity(conn, name, number, &identity, NULL) == 0)
        json_object_set_new(receipt->details, "engine_id",
                            json_stringn(identity.data, strcspn(identity.data, " ")));
    return 0;
}

int brev_adopt(struct sw_connection *on, const char *id, json_t **plan, struct sw_submission *receipt,
               struct sw_error *err)
{
    struct brev_connection *conn = brev_of(on);
    sw_auto(json) json_t *list = brev_list(conn, err);
    struct sw_error silent = { 0 };
    const json_t *each;
    size_t i;

    if (!list)
        return -1;
    json_array_foreach(list, i, each) {
        struct sw_error why = { 0 };

        if (brev_use(each, NULL) != BREV_USABLE)
            continue;
        if (adopt_from(conn, each, id, plan, receipt, &why) == 0)
            return 0;
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
    sw_auto(json) json_t *list = brev_list(conn, err);
    json_t *all = list ? json_array() : NULL, *each;
    size_t i;

    json_array_foreach(list, i, each) {
        sw_auto(json) json_t *some = brev_use(each, NULL) == BREV_USABLE ? brev_jobs_on(conn, each, NULL)
                                                                         : NULL;

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
    bool usable = brev_use(instance, NULL) == BREV_USABLE;
    sw_auto(json) json_t *jobs = usable ? brev_jobs_on(conn, instance, NULL) : NULL;
    const struct sw_sweep *sweep = search->sweep;
    struct brev_mark mark;
    bool mine;

    if (!brev_name_read(name, &mark) || sweep->known(sweep->context, mark.job))
        return;
    if (usable && (!jobs || brev_live_jobs(jobs, NULL) > 0))
        kept = jobs ? "a job runs on it" : "it cannot be asked whether a job runs on it";
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
    sw_auto(json) json_t *list = brev_list(conn, err);
    json_t *found = list ? json_array() : NULL, *each;
    const struct sw_orphans search = { sweep, found };
    size_t i;

    json_array_foreach(list, i, each) {
        struct sw_connection *docker = brev_use(each, NULL) == BREV_USABLE
            ? brev_engine(conn, sw_json_str(each, "name"), sw_json_str(each, "id"), NULL) : NULL;
        sw_auto(json) json_t *rows = docker ? docker_orphans(docker, sweep, NULL) : NULL;

        add_new(found, rows);
        add_instance(conn, &search, each);
    }
    return found;
}
