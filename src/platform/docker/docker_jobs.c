/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_jobs.c - the jobs that an engine has, whoever submitted them: one list of containers, one row for
 * each job.
 */
#include "platform/docker/docker_job.h"

#include <string.h>

#include "base/text.h"
#include "core/state.h"

static const struct {
    const char *theirs;
    enum sw_state state;
} words[] = {
    { "created", SW_PENDING }, { "running", SW_RUNNING }, { "restarting", SW_RUNNING },
    { "paused", SW_PAUSED },   { "exited", SW_ERROR },    { "dead", SW_ERROR },
};

/* "Exited (0) 3 minutes ago" is how the list tells a good end. */
static enum sw_state state_of(const json_t *container)
{
    const char *said = sw_json_str(container, "State"), *more = sw_json_str(container, "Status");

    if (more && sw_text_starts(more, "Exited (0)"))
        return SW_COMPLETE;
    for (size_t i = 0; i < SW_COUNT(words); i++)
        if (sw_text_same(said, words[i].theirs))
            return words[i].state;
    return SW_UNKNOWN;
}

static bool is_first_rank(const json_t *container)
{
    return sw_text_same(docker_label(container, LABEL_RANK), "0");
}

json_t *docker_jobs(struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    sw_auto(json) json_t *list = NULL, *jobs = json_object();
    json_t *container, *rows = json_array();
    const char *id;
    size_t i;

    if (docker_borrow(conn, &lent, err) < 0 || !(list = docker_list(lent.api, NULL, err))) {
        json_decref(rows);
        return NULL;
    }
    json_array_foreach(list, i, container) {          /* the newest first: that attempt counts */
        id = docker_label(container, LABEL_ID);
        if (!id || json_object_get(jobs, id) || !is_first_rank(container))
            continue;
        json_object_set_new(jobs, id, sw_json_object(
            SW_STR("id", id), SW_STR("state", sw_state_name(state_of(container))),
            SW_STR_OPT("owner", docker_label(container, LABEL_OWNER)),
            SW_INT("created_ms", sw_json_int(container, "Created", 0) * 1000)));
    }
    json_object_foreach(jobs, id, container)
        json_array_append(rows, container);
    return rows;
}
