/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marked.c - see marked.h.
 */
#include "platform/kit/marked.h"

#include "core/state.h"

/* ---- every user's jobs -------------------------------------------------------------------------- */

/* The newest attempt of each counts. */
static void take_job(void *context, const struct sw_marked *one)
{
    if (sw_json_int(json_object_get(context, one->id), "attempt", 0) <= one->attempt)
        json_object_set_new(context, one->id, sw_json_object(
            SW_STR("id", one->id), SW_STR("state", sw_state_name(one->state)),
            SW_STR("owner", one->owner ? one->owner : ""), SW_INT("created_ms", one->created_ms),
            SW_INT("attempt", one->attempt)));
}

json_t *sw_marked_jobs(const struct sw_marked_api *api, struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(json) json_t *jobs = json_object();
    json_t *rows, *job;
    const char *id;

    if (api->visit(conn, take_job, jobs, err) < 0)
        return NULL;
    rows = json_array();
    json_object_foreach(jobs, id, job) {
        json_object_del(job, "attempt");
        json_array_append(rows, job);
    }
    return rows;
}

/* ---- leftovers ---------------------------------------------------------------------------------- */

struct searching {
    const struct sw_marked_api *api;
    struct sw_connection *conn;
    struct sw_orphans orphans;
};

/* One that goes on is a job, not a leftover. */
static void take_orphan(void *context, const struct sw_marked *one)
{
    const struct searching *search = context;
    const struct sw_sweep *sweep = search->orphans.sweep;

    if (!one->over || sweep->known(sweep->context, one->id))
        return;
    if (sw_orphan_add(&search->orphans, &(struct sw_orphan){
            .what = search->api->what, .where = one->where, .job = one->id, .marked = true,
            .store = one->store, .uid = one->uid, .owner = one->owner }) &&
        search->api->remove(search->conn, one->answer, NULL) < 0)
        sw_orphan_stays(&search->orphans);
}

json_t *sw_marked_orphans(const struct sw_marked_api *api, struct sw_connection *conn,
                          const struct sw_sweep *sweep, struct sw_error *err)
{
    sw_auto(json) json_t *found = json_array();
    struct searching search = { api, conn, { sweep, found } };

    if (api->visit(conn, take_orphan, &search, err) < 0 ||
        (api->more && api->more(conn, &search.orphans, err) < 0))
        return NULL;
    sw_orphan_folders(&search.orphans, sw_cloud_of(conn)->root);
    return sw_take(found);
}
