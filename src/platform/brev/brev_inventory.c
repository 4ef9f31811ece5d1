/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brev_inventory.c - is all there that a job needs (preflight), and what is there (inventory): instances with
 * their jobs and what they cost, and what can be rented.
 */
#include "platform/brev/brev_internal.h"

#include <string.h>

#include "base/parallel.h"
#include "base/text.h"
#include "core/image_ref.h"

enum { ASKED_AT_ONCE = 8, OFFERS_SHOWN = 40, NEWEST_SHAPE = BREV_VERSION(0, 6, 323) };

/* ---- preflight ----------------------------------------------------------------------------------- */

/* The quick one, before every submit: nothing is asked. */
int brev_preflight(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    const struct brev_job_options options = brev_job_options(plan->options);
    sw_auto(sw_image_ref) struct sw_image_ref image = { 0 };

    (void)conn;
    if (sw_text_empty(plan->image)) {
        sw_fail(err, SW_E_SPEC, "a job on brev needs an image");
        return sw_hint(err, "add `image: NAME:TAG` to the job file, or --image");
    }
    if (plan->launcher == SW_LAUNCHER_MPI)
        return sw_fail(err, SW_E_UNSUPPORTED, "launcher 'mpi' is not available on brev");
    if (options.instance_id && options.pool)
        return sw_fail(err, SW_E_SPEC, "brev: instance_id and pool exclude each other");
    if (options.pool && (!brev_name_valid(options.pool) || strlen(options.pool) > BREV_POOL_MAX))
        return sw_fail(err, SW_E_SPEC, "brev: pool: '%.64s' is not a name of at most %d letters and digits",
                       options.pool, BREV_POOL_MAX);
    return sw_image_ref_parse(plan->image, &image, err);
}

static void add(json_t *rows, const char *check, const char *message, const struct sw_error *why)
{
    bool bad = why && why->code;

    json_array_append_new(rows, sw_json_object(
        SW_STR("check", check), SW_BOOL("ok", !bad), SW_STR("message", bad ? why->message : message),
        SW_STR_OPT("fix", bad && why->hint[0] ? why->hint : NULL)));
}

static bool check_program(struct brev_connection *conn, json_t *rows)
{
    struct sw_error why = { 0 };
    int version = -1;
    sw_autofree char *message = NULL;

    brev_check_version(conn, &version, &why);
    message = version < 0 ? sw_strdup("its version is unknown: `brev --version` does not print it")
              : sw_format("version %d.%d.%d%s", version / 1000000, version / 1000 % 1000, version % 1000,
                          version < NEWEST_SHAPE ? ", with the older form of lists" : "");
    add(rows, "brev program", message, &why);
    return why.code == SW_OK;
}

static bool check_login(struct brev_connection *conn, json_t *rows)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *organization = brev_organization(conn, &why);
    const char *name = sw_json_str(organization, "name");
    sw_autofree char *message = sw_format("organisation %s, %s",
                                          name ? name : sw_json_str(organization, "id"),
                                          conn->token ? "by BREV_API_TOKEN"
                                          : sw_text_same(conn->login, "own") ? "by your own login"
                                                                             : "by a stored token");

    add(rows, "login", message, &why);
    return organization;
}

static void check_offer(struct brev_connection *conn, const struct sw_plan *plan, json_t *rows)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *types = brev_plan_types(conn, plan, &why);
    sw_autofree char *cost = types ? brev_cost_text(conn, json_string_value(json_array_get(types, 0))) : NULL;
    sw_autofree char *message = types ? sw_format("would create %s", cost) : NULL;

    add(rows, "instance type", message, &why);
}

/* An instance that is there: is it usable, and fit for the job? */
static void check_instance(struct brev_connection *conn, const struct sw_plan *plan, const char *wanted,
                           json_t *rows)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *list = brev_list(conn, BREV_NOW, &why), *more = NULL;
    const json_t *found = brev_find(list, wanted);
    sw_autofree char *cost = found ? brev_cost_text(conn, sw_json_str(found, "instance_type")) : NULL;
    sw_autofree char *message = NULL;
    struct sw_connection *docker = NULL;
    const char *note = "";
    enum brev_use use = found ? brev_use(found, &note) : BREV_FAILED;

    if (list && !found)
        sw_fail(&why, SW_E_NOT_FOUND, "Brev has no instance '%s'", wanted);
    else if (found && use != BREV_USABLE && use != BREV_COMING)
        sw_fail(&why, SW_E_REFUSED, "'%s' %s", wanted, note);
    message = found ? sw_format("'%s' %s (%s)", wanted, note, cost) : NULL;
    add(rows, "instance", message, &why);
    if (use == BREV_USABLE)
        docker = brev_engine_at(conn, found, &why);
    more = docker ? docker_preflight_report(docker, plan, &why) : NULL;
    if (more)
        json_array_extend(rows, more);
    else if (use == BREV_USABLE)
        add(rows, "engine", NULL, &why);
}

json_t *brev_preflight_report(struct sw_connection *on, const struct sw_plan *plan, struct sw_error *err)
{
    struct brev_connection *conn = brev_of(on);
    const char *wanted = brev_job_options(plan->options).instance_id;
    json_t *rows = json_array();

    (void)err;
    if (!check_program(conn, rows) || !check_login(conn, rows))
        return rows;
    if (wanted)
        check_instance(conn, plan, wanted, rows);
    else
        check_offer(conn, plan, rows);
    return rows;
}

/* ---- inventory ----------------------------------------------------------------------------------- */

struct inventory_search {
    struct brev_connection *conn;
    const json_t *list;
    json_t **jobs;                   /* of each instance; NULL: not asked, or no answer */
};

static void ask_one(void *context, size_t index)
{
    const struct inventory_search *search = context;
    const json_t *instance = json_array_get(search->list, index);

    search->jobs[index] = brev_jobs_on(search->conn, instance, NULL);
}

static const char *use_of(const json_t *instance, const json_t *jobs, int live)
{
    struct brev_mark mark;
    bool created = brev_name_read(sw_json_str(instance, "name"), &mark);

    if (live > 0)
        return "in use";
    if (brev_use(instance, NULL) == BREV_USABLE && !jobs)
        return "its Docker engine does not answer";
    if (brev_use(instance, NULL) == BREV_COMING)
        return "being made";
    return created ? "created by Slipway, no live job" : "no job of Slipway";
}

static json_t *instance_row(struct brev_connection *conn, const json_t *instance, const json_t *jobs)
{
    const char *type = sw_json_str(instance, "instance_type");
    double price = brev_price_of(conn, type);
    int live = brev_live_jobs(jobs, NULL);
    bool paid = brev_use(instance, NULL) != BREV_STOPPED;
    struct brev_mark mark = { 0 };

    brev_name_read(sw_json_str(instance, "name"), &mark);
    return sw_json_object(
        SW_STR("name", sw_json_str(instance, "name")), SW_STR("id", sw_json_str(instance, "id")),
        SW_STR("status", sw_json_str(instance, "status")), SW_STR_OPT("type", type),
        SW_STR_OPT("gpu", sw_json_str(instance, "gpu")),
        SW_SUB("usd_per_hour", price >= 0 ? json_real(price) : json_null()), SW_INT("live_jobs", live),
        SW_STR_OPT("job", *mark.job ? mark.job : NULL), SW_STR("use", use_of(instance, jobs, live)),
        SW_BOOL("idle_and_paid", paid && live == 0));
}

/* What the instances without a live job cost together. */
static double idle_cost(const json_t *rows)
{
    const json_t *each;
    double all = 0;
    size_t i;

    json_array_foreach(rows, i, each)
        if (sw_json_bool(each, "idle_and_paid", false))
            all += json_number_value(json_object_get(each, "usd_per_hour"));
    return all;
}

static json_t *offers(const json_t *types)
{
    json_t *out = json_array(), *each;
    size_t i;

    json_array_foreach((json_t *)types, i, each)
        if (json_array_size(out) < OFFERS_SHOWN)
            json_array_append_new(out, sw_json_object(
                SW_STR("type", sw_json_str(each, "type")), SW_STR_OPT("gpu", sw_json_str(each, "gpu_name")),
                SW_INT("gpus", sw_json_int(each, "gpu_count", 0)),
                SW_SUB_COPY("usd_per_hour", json_object_get(each, "price_per_hour"))));
    return out;
}

json_t *brev_inventory(struct sw_connection *on, struct sw_error *err)
{
    struct brev_connection *conn = brev_of(on);
    sw_auto(json) json_t *organization = brev_organization(conn, err), *rows = json_array();
    sw_auto(json) json_t *list = organization ? brev_list(conn, BREV_NOW, err) : NULL;
    size_t count = json_array_size(list);
    sw_autofree json_t **jobs = sw_alloc((count + 1) * sizeof *jobs);
    const json_t *types = brev_types(conn, true, NULL);

    if (!list)
        return NULL;
    sw_parallel(count, ASKED_AT_ONCE, ask_one, &(struct inventory_search){ conn, list, jobs });
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(rows, instance_row(conn, json_array_get(list, i), jobs[i]));
        json_decref(jobs[i]);
    }
    return sw_json_object(
        SW_STR("organization", sw_json_str(organization, sw_json_str(organization, "name") ? "name" : "id")),
        SW_REAL("idle_usd_per_hour", idle_cost(rows)), SW_SUB("instances", sw_take(rows)),
        SW_SUB("offers", offers(types)));
}
