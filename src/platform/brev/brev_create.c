/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brev_create.c - the instance for a job: found or created, waited for, and deleted when that was asked.
 *
 * An instance costs money from the moment it is created. So its name carries the job and the store before
 * anything is asked for: whatever dies in between, the name tells what it was for. `create` may fail and yet
 * leave an instance, without a word about it: then the lists from before and after are compared.
 */
#include "platform/brev/brev_internal.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/text.h"
#include "platform/kit/log.h"

enum { POLL_MS = 5000, POLL_FIRST_MS = 500, TELL_MS = 200 };

const char *brev_prefix(const struct brev_job_options *options)
{
    return options->pool ? options->pool : "slipway";
}

/* ---- types and money ----------------------------------------------------------------------------- */

json_t *brev_plan_types(struct brev_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    const struct brev_job_options options = brev_job_options(plan->options);
    int gpus = brev_plan_gpus(plan);
    sw_auto(json) json_t *names = NULL;
    json_t *types;

    if (json_array_size(options.types) > 0)
        return json_deep_copy(options.types);
    types = brev_types(conn, gpus > 0, err);
    if (!types)
        return NULL;
    names = brev_choose_types(types, plan->gpu_type, gpus);
    if (json_array_size(names) > 0)
        return sw_take(names);
    if (gpus > 0)
        sw_fail(err, SW_E_REFUSED, "Brev offers no machine with %d GPU%s%s%s "
                                   "now", gpus, sw_text_plural(gpus),
                plan->gpu_type ? " of type " : "", plan->gpu_type ? plan->gpu_type : "");
    else
        sw_fail(err, SW_E_REFUSED, "Brev offers no machine without GPUs now");
    sw_hint(err, "`slipway inventory brev` shows what is offered; `brev: {types: [...]}` names types");
    return NULL;
}

/* What was asked before is not asked again. */
double brev_price_of(struct brev_connection *conn, const char *type)
{
    double price = brev_price(conn->types[0], type);

    for (int gpus = 1; type && price < 0 && gpus >= 0; gpus--)
        price = brev_price(brev_types(conn, gpus, NULL), type);
    return price;
}

char *brev_cost_text(struct brev_connection *conn, const char *type)
{
    double price = brev_price_of(conn, type);

    if (price < 0)
        return sw_format("%s, price unknown", type ? type : "type unknown");
    return sw_format("%s, %.2f USD per hour", type, price);
}

void brev_warn(const struct brev_connection *conn, const char *text)
{
    if (conn->config.warn)
        conn->config.warn(conn->config.warn_context, text);
}

/* ---- create -------------------------------------------------------------------------------------- */

/* A file of that name in our folder says that this store created the instance. It is written before. */
static char *note_of(const struct brev_connection *conn, const char *name)
{
    return sw_format("%s/instances/%s", conn->folder, name);
}

static int note_created(const struct brev_connection *conn, const char *name, struct sw_error *err)
{
    sw_autofree char *folder = sw_path_join(conn->folder, "instances"), *note = note_of(conn, name);

    return sw_mkdirs(folder, 0700, err) < 0 ? -1 : sw_file_write(note, "", 0, 0600, err);
}

/* What a failed create left behind: not there before, and called so. Owned text; NULL: nothing. */
static char *left_behind(struct brev_connection *conn, const json_t *before, const json_t *after,
                         const char *name)
{
    sw_auto(sw_buf) struct sw_buf all = SW_BUF_INIT;
    const json_t *each;
    size_t i;

    json_array_foreach(after, i, each) {
        sw_autofree char *cost = NULL;

        if (!sw_text_starts(sw_json_str(each, "name"), name) || brev_find(before, sw_json_str(each, "id")))
            continue;
        cost = brev_cost_text(conn, sw_json_str(each, "instance_type"));
        sw_buf_addf(&all, "%s'%s' (%s, %s)", all.length ? ", " : "", sw_json_str(each, "name"),
                    sw_json_str(each, "status"), cost);
    }
    return all.length ? sw_buf_steal(&all) : NULL;
}

/* It failed, or no answer came. 0: the instance is there all the same, and may become usable. */
static int look_after(struct brev_connection *conn, const json_t *before, const char *name,
                      const struct sw_error *why, struct sw_error *err)
{
    struct sw_error trouble = { 0 };
    sw_auto(json) json_t *after = brev_list(conn, BREV_NOW, &trouble);
    const json_t *made = brev_find(after, name);
    enum brev_use use = made ? brev_use(made, NULL) : BREV_FAILED;
    sw_autofree char *left = NULL;

    if (after && (use == BREV_USABLE || use == BREV_COMING))
        return 0;
    sw_pass(err, why);
    if (!after) {
        sw_wrap(err, "'%s' may exist and cost money: brev cannot be asked (%.100s)", name, trouble.message);
        return sw_hint(err, "check with `brev ls`, and delete it with `brev delete %s`", name);
    }
    left = left_behind(conn, before, after, name);
    if (!left)
        return sw_wrap(err, "cannot create an instance");
    sw_wrap(err, "the creation failed and left %.300s behind", left);
    return sw_hint(err, "`slipway rm` of this job deletes what was left; so does `brev delete %s`", name);
}

static int create(struct brev_connection *conn, const struct sw_plan *plan, const char *name,
                  const json_t *before, struct sw_error *err)
{
    sw_auto(json) json_t *types = brev_plan_types(conn, plan, err);
    sw_autofree char *list = types ? sw_json_joined(types, ",") : NULL;
    sw_autofree char *text = NULL, *news = NULL, *cost = NULL;
    struct sw_error why = { 0 };
    int version;

    if (!types || brev_check_version(conn, &version, err) < 0)
        return -1;
    cost = brev_cost_text(conn, json_string_value(json_array_get(types, 0)));
    news = sw_format("creating the instance %s (%s)", name, cost);
    brev_warn(conn, news);
    if (note_created(conn, name, err) < 0)
        return -1;
    text = brev_ask(conn, BREV_WORDS("create", name, "--type", list, "--detached"), BREV_SLOW_MS, NULL, &why);
    return text ? 0 : look_after(conn, before, name, &why, err);
}

/* ---- waiting ------------------------------------------------------------------------------------- */

/* Non-zero: the user wants no more of it. */
static int tell(const struct brev_connection *conn, const char *name, const char *note)
{
    const struct sw_copy_progress progress = { .listing = true, .left_ms = -1 };
    sw_autofree char *what = sw_format("waiting: instance %s %s", name, note);

    return conn->config.progress ? conn->config.progress(conn->config.progress_context, what, &progress) : 0;
}

static int pause_shown(const struct brev_connection *conn, const char *name, const char *note,
                       int64_t pause_ms)
{
    for (int64_t until_ms = sw_monotonic_ms() + pause_ms; sw_monotonic_ms() < until_ms; sw_sleep_ms(TELL_MS))
        if (tell(conn, name, note))
            return -1;
    return 0;
}

struct waiting {
    struct brev_connection *conn;
    const struct sw_plan *plan;
    const char *name, *note;         /* of the instance; why it is not ready */
    bool fresh;                      /* it comes up just now: its engine may need a moment more */
    struct sw_connection *docker;    /* the result */
};

/* GPUs that the engine is known to have, where the job needs some. */
static int gpus_of(const struct waiting *wait, const json_t *instance)
{
    return brev_plan_gpus(wait->plan) == 0 ? 0
           : brev_gpu_count(brev_types(wait->conn, true, NULL), sw_json_str(instance, "instance_type"));
}

/* One look at a list. 1: it can be used; 0: not yet; -1 + err: never. */
static int is_ready(struct waiting *wait, const json_t *list, json_t **instance, struct sw_error *err)
{
    const json_t *found = brev_find(list, wait->name);
    enum brev_use use = found ? brev_use(found, &wait->note) : BREV_COMING;
    sw_auto(sw_buf) struct sw_buf answer = SW_BUF_INIT;
    struct sw_error why = { 0 };

    if (!found)
        wait->note = list ? "is not in the list yet" : "is not visible: brev does not answer";
    if (use == BREV_FAILED || use == BREV_GOING || use == BREV_STOPPED) {
        sw_fail(err, SW_E_REFUSED, "the instance '%s' %s", wait->name, wait->note);
        return sw_hint(err, use == BREV_STOPPED ? "start it: brev start %s" : "delete it: brev delete %s",
                       wait->name);
    }
    wait->fresh |= use == BREV_COMING;
    if (use == BREV_COMING)
        return 0;
    wait->docker = brev_engine(wait->conn, wait->name, sw_json_str(found, "id"), gpus_of(wait, found), &why);
    if (wait->docker &&
        (!wait->fresh || sw_platform_docker.identify(wait->docker, &answer, &why) == 0)) {
        *instance = json_incref((json_t *)found);
        return 1;
    }
    wait->note = "is ready, and its Docker engine does not answer yet";
    if (!wait->fresh ||
        (why.code != SW_E_UNREACHABLE && why.code != SW_E_TIMEOUT && why.code != SW_E_REFUSED))
        return sw_pass(err, &why);
    brev_refresh(wait->conn, false, NULL);
    return 0;
}

/* The first look is at the list that the instance was chosen from; NULL: at a new one. */
static json_t *wait_ready(struct waiting *wait, const json_t *chosen_from, int64_t patience_ms,
                          struct sw_error *err)
{
    int64_t deadline_ms = sw_monotonic_ms() + patience_ms, pause_ms = POLL_FIRST_MS;
    json_t *instance = NULL;

    for (;; chosen_from = NULL) {
        struct sw_error why = { 0 };
        sw_auto(json) json_t *list = chosen_from ? json_incref((json_t *)chosen_from)
                                                 : brev_list(wait->conn, BREV_NOW, &why);
        int ready = why.code == SW_E_CREDENTIAL ? sw_pass(err, &why) : is_ready(wait, list, &instance, err);

        if (ready != 0)
            return ready > 0 ? instance : NULL;
        if (sw_monotonic_ms() >= deadline_ms) {
            sw_fail(err, SW_E_REFUSED, "the instance '%s' %s after %lld s; it exists and costs money",
                    wait->name, wait->note, (long long)(patience_ms / 1000));
            sw_hint(err, "wait longer with ready_timeout, or delete it: brev delete %s", wait->name);
            return NULL;
        }
        if (pause_shown(wait->conn, wait->name, wait->note, pause_ms) < 0) {
            sw_fail(err, SW_E_INTERRUPTED, "interrupted; the instance '%s' exists and costs money",
                    wait->name);
            sw_hint(err, "delete it: brev delete %s", wait->name);
            return NULL;
        }
        pause_ms = pause_ms * 2 < POLL_MS ? pause_ms * 2 : POLL_MS;
    }
}

/* ---- which one ----------------------------------------------------------------------------------- */

static bool is_avoided(const struct sw_plan *plan, const char *name)
{
    const json_t *each;
    size_t i;

    json_array_foreach(plan->avoid, i, each)
        if (sw_text_same(json_string_value(each), name))
            return true;
    return false;
}

/* Made for this job by an earlier try, and of use. */
static const json_t *made_before(const struct sw_plan *plan, const json_t *list)
{
    struct brev_mark mark;
    const json_t *each;
    size_t i;

    json_array_foreach(list, i, each) {
        const char *name = sw_json_str(each, "name");
        enum brev_use use = brev_use(each, NULL);

        if (brev_name_read(name, &mark) && sw_text_same(mark.job, plan->job_id) && plan->store_id &&
            sw_text_starts(plan->store_id, mark.store) && (use == BREV_USABLE || use == BREV_COMING) &&
            !is_avoided(plan, name))
            return each;
    }
    return NULL;
}

struct pool_search {
    int members;
    const json_t *best;
    int live;                        /* jobs on it */
};

/* The one that has the job already, else one without jobs, else the one with the fewest. */
static void search_pool(struct brev_connection *conn, const struct sw_plan *plan, const json_t *list,
                        const char *pool, struct pool_search *out)
{
    const json_t *each;
    size_t i;

    json_array_foreach(list, i, each) {
        enum brev_use use = brev_use(each, NULL);
        sw_auto(json) json_t *jobs = NULL;
        int live;

        if (!sw_text_starts(sw_json_str(each, "name"), pool))
            continue;
        out->members += use == BREV_USABLE || use == BREV_COMING;
        if (is_avoided(plan, sw_json_str(each, "name")) || !(jobs = brev_jobs_on(conn, each, NULL)))
            continue;
        live = brev_find(jobs, plan->job_id) ? -1 : brev_live_jobs(jobs, NULL);
        if (!out->best || live < out->live) {
            out->best = each;
            out->live = live;
        }
    }
}

/* The name of an instance that is there, 0; or of one that is created now, 1. */
static int choose(struct brev_connection *conn, const struct sw_plan *plan,
                  const struct brev_job_options *options, const json_t *list, int attempt,
                  char name[BREV_NAME_SIZE], struct sw_error *err)
{
    struct pool_search pool = { 0 };
    const json_t *found = NULL;

    if (options->instance_id) {
        found = brev_find(list, options->instance_id);
        if (!found) {
            sw_fail(err, SW_E_REFUSED, "Brev has no instance '%s'", options->instance_id);
            return sw_hint(err, "`slipway inventory brev` lists them");
        }
    } else {
        found = made_before(plan, list);
    }
    if (!found && options->pool) {
        search_pool(conn, plan, list, options->pool, &pool);
        found = pool.live <= 0 || pool.members >= options->pool_size ? pool.best : NULL;
    }
    if (found) {
        strcpy(name, sw_json_str(found, "name"));
        return 0;
    }
    brev_name(name, brev_prefix(options), plan->job_id, plan->store_id, attempt);
    return create(conn, plan, name, list, err) < 0 ? -1 : 1;
}

json_t *brev_take(struct brev_connection *conn, const struct sw_plan *plan, int attempt,
                  struct sw_connection **docker, struct sw_error *err)
{
    const struct brev_job_options options = brev_job_options(plan->options);
    sw_auto(json) json_t *list = brev_list(conn, BREV_NOW, err);
    char name[BREV_NAME_SIZE];
    int created = list ? choose(conn, plan, &options, list, attempt, name, err) : -1;
    struct waiting wait = { .conn = conn, .plan = plan, .name = name, .note = "is requested",
                            .fresh = created > 0 };
    json_t *instance = created < 0 ? NULL : wait_ready(&wait, created ? NULL : list, options.ready_ms, err);

    *docker = wait.docker;
    return instance;
}

/* ---- delete -------------------------------------------------------------------------------------- */

/* Logs and results of the job are on this machine. */
static int bring_all(struct sw_connection *docker, const struct sw_jobref *job, struct sw_error *err)
{
    struct sw_jobref ended = *job;
    sw_autofree char *results = NULL;
    int64_t size;

    ended.finished = true;
    for (int rank = 0; rank < docker_plan_nodes(job); rank++)
        if (sw_log_size(&(struct sw_log){ &sw_platform_docker, docker, &ended, rank }, &size, err) < 0)
            return -1;
    results = docker_results_dir(docker, &ended, err);
    return results ? 0 : -1;
}

/* May it go? What runs on it, and what the job left, is looked at only where something can run. */
static int may_delete(struct brev_connection *conn, const json_t *instance, const struct sw_jobref *job,
                      struct sw_error *err)
{
    sw_auto(json) json_t *jobs = NULL;
    struct sw_connection *docker;
    int live;

    if (brev_use(instance, NULL) != BREV_USABLE)
        return 0;
    docker = brev_engine_at(conn, instance, err);
    jobs = docker ? docker_jobs(docker, err) : NULL;
    if (!jobs)
        return -1;
    live = brev_live_jobs(jobs, job->id);
    if (live > 0)
        return sw_fail(err, SW_E_CONFLICT, "%d other job%s there", live, live == 1 ? " is" : "s are");
    return brev_find(jobs, job->id) ? bring_all(docker, job, err) : 0;
}

/* Names of the instances that were created for it, as this store knows; owned. */
static json_t *created_for(const struct brev_connection *conn, const char *job)
{
    sw_autofree char *folder = sw_path_join(conn->folder, "instances");
    sw_auto(json) json_t *all = sw_folder_names(folder, NULL);
    json_t *names = json_array(), *each;
    struct brev_mark mark;
    size_t i;

    json_array_foreach(all, i, each)
        if (brev_name_read(json_string_value(each), &mark) && sw_text_same(mark.job, job))
            json_array_append(names, each);
    return names;
}

static int delete_one(struct brev_connection *conn, const json_t *list, const char *name,
                      const struct sw_jobref *job, struct sw_error *err)
{
    const json_t *instance = brev_find(list, name);
    sw_autofree char *note = note_of(conn, name);

    if (instance && !sw_text_same(sw_json_str(instance, "status"), "DELETING") &&
        (may_delete(conn, instance, job, err) < 0 || brev_delete(conn, name, err) < 0))
        return sw_wrap(err, "the instance '%s' stays and costs money", name);
    unlink(note);
    return 0;
}

int brev_delete_own(struct brev_connection *conn, json_t **list, const struct sw_jobref *job,
                    struct sw_error *err)
{
    sw_auto(json) json_t *names = created_for(conn, job->id);
    int result = (int)json_array_size(names);
    const json_t *each;
    size_t i;

    if (result == 0)
        return 0;
    if (!*list && !(*list = brev_list(conn, BREV_NOW, err)))
        return sw_wrap(err, "the instance '%s' may stay and cost money",
                       json_string_value(json_array_get(names, 0)));
    json_array_foreach(names, i, each)
        if (delete_one(conn, *list, json_string_value(each), job, err) < 0)
            result = -1;
    return result;
}
