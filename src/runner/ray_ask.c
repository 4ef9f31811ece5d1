/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_ask.c - what a Ray cluster's dashboard says about its nodes and jobs.
 *
 * The dashboard listens on loopback of rank 0 and answers those who have the token. It is asked instead of
 * `ray status`, which starts Python each time and prints for people.
 */
#include "runner/ray.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "net/http.h"

enum { ANSWER_MAX = 8 * 1024 * 1024 };

int ray_read_nodes(const json_t *answer, int gpus_each, struct ray_seen *out)
{
    const json_t *result = json_object_get(json_object_get(answer, "data"), "result");
    const json_t *list = json_object_get(result, "result");
    size_t i;
    json_t *node;

    *out = (struct ray_seen){ 0 };
    json_array_foreach(list, i, node) {
        const char *ip = sw_json_str(node, "node_ip");
        int gpus = (int)json_number_value(json_object_get(json_object_get(node, "resources_total"), "GPU"));

        if (!sw_text_same(sw_json_str(node, "state"), "ALIVE"))
            continue;
        out->nodes++;
        out->gpus += gpus;
        if (gpus < gpus_each && !out->without_gpus[0]) {
            snprintf(out->without_gpus, sizeof out->without_gpus, "%s", ip ? ip : "?");
            out->found_gpus = gpus;
        }
    }
    return json_is_array(list) ? 0 : -1;
}

/* Programs that hold CPUs or GPUs without a job of their own: Serve, detached actors. */
static bool uses_anything(const json_t *usage)
{
    static const char *const kinds[] = { "CPU", "GPU" };

    for (size_t i = 0; i < SW_COUNT(kinds); i++)
        if (json_number_value(json_array_get(json_object_get(usage, kinds[i]), 0)) > 0)
            return true;
    return false;
}

bool ray_read_busy(const json_t *jobs, const json_t *cluster)
{
    const json_t *status = json_object_get(json_object_get(cluster, "data"), "clusterStatus");
    size_t i;
    json_t *job;

    json_array_foreach(jobs, i, job)
        if (sw_text_same(sw_json_str(job, "status"), "RUNNING") ||
            sw_text_same(sw_json_str(job, "status"), "PENDING"))
            return true;
    return uses_anything(json_object_get(json_object_get(status, "loadMetricsReport"), "usage"));
}

json_t *ray_dashboard_get(struct sw_http *http, int port, const char *path, const char *token, int *status)
{
    sw_auto(sw_http_request) struct sw_http_request request = SW_HTTP_REQUEST_INIT;
    sw_auto(sw_http_reply) struct sw_http_reply reply = { 0 };
    sw_autofree char *value = sw_format("Bearer %s", token);
    json_t *answer = NULL;

    snprintf(request.method, sizeof request.method, "GET");
    request.url = sw_format("http://127.0.0.1:%d%s", port, path);
    request.reply_limit = ANSWER_MAX;
    sw_http_request_header(&request, "Authorization", value);
    explicit_bzero(value, strlen(value));
    *status = 0;
    if (sw_http_ask(http, &request, &reply, NULL) == 0) {
        *status = reply.status;
        if (reply.status == 200)
            answer = sw_json_parse(reply.body.data, reply.body.length, path, NULL);
    }
    return answer;
}
