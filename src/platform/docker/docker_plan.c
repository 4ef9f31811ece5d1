/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_plan.c - what `slipway plan` shows: the requests exactly as submit would send them.
 */
#include "platform/docker/docker_job.h"

#include "base/file.h"
#include "base/text.h"

static json_t *shown(const char *what, const json_t *document)
{
    sw_autofree char *text = sw_json_dump_pretty(document);

    return sw_json_object(SW_STR("what", what), SW_STR("text", text));
}

json_t *docker_render(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(json) json_t *sends = json_array();
    sw_autofree char *folder = docker_job_folder(conn, plan->job_id);
    sw_autofree char *results = sw_path_join(folder, "results");
    sw_autofree char *ends = docker_end_folder(conn, plan->job_id);
    bool local = docker_of(conn)->where.way == DOCKER_UNIX;
    struct docker_site site = { .attempt = 1, .local = local, .owner = "",
                                .ends = local ? ends : NULL };
    sw_auto(sw_payload) struct sw_payload *payload = NULL;
    sw_auto(json) json_t *letter = NULL;

    if (local && docker_job_options(plan->options).results != DOCKER_RESULTS_VOLUME)
        site.results = results;
    payload = docker_render_payload(plan, &site, err);
    if (!payload)
        return NULL;
    for (int rank = 0; rank < plan->nodes; rank++) {
        sw_auto(json) json_t *body = docker_render_container(plan, &site, rank, NULL, err);
        char name[DOCKER_NAME_SIZE];
        sw_autofree char *what = NULL;

        if (!body)
            return NULL;
        docker_name(name, plan->job_id, 1, plan->nodes, rank);
        what = sw_format("POST /containers/create?name=%s", name);
        json_array_append_new(sends, shown(what, body));
    }
    letter = sw_payload_to_json(payload);
    json_array_append_new(sends, shown("PUT " DOCKER_HOME "/payload.json", letter));
    return sw_take(sends);
}
