/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray.c - the Ray cluster of a running job: where its dashboard listens.
 *
 * The driver of the cluster has written it into a file of the job, on every platform the same: the ports of a
 * cluster that shares its machine with others are known only there. The file holds no token.
 */
#include "api/api_internal.h"
#include "base/text.h"

#define INFO "ray_cluster_info.json"

static const char *const info_text[] = {
#include "api/ray_info.sh.inc"
    NULL
};

char *sw_ray_cluster(struct sw_session *session, const char *id, struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT, answer = SW_BUF_INIT;
    sw_auto(json) json_t *told = NULL;
    int64_t port;

    if (api_job_running(session, id, 0, &job, err) < 0)
        return NULL;
    if (!job.platform->exec_open)
        return sw_null(sw_fail(err, SW_E_UNSUPPORTED, "there is no way into a running job on %s",
                               job.platform->name));
    for (size_t i = 0; info_text[i]; i++)
        sw_buf_add(&script, info_text[i]);
    if (api_ask(&job, sw_buf_text(&script), &answer, err) < 0)
        return sw_null(sw_wrap(err, "cannot ask job '%s' where its Ray cluster is", id));
    told = sw_json_parse(sw_buf_text(&answer), answer.length, INFO, NULL);
    if (!told)
        return sw_null(sw_fail(err, SW_E_REFUSED, "job '%s' gave no answer about its Ray cluster", id));
    port = sw_json_int(told, "dashboard_port", 0);
    if (port < 1 || port > 65535) {
        sw_fail(err, SW_E_CONFLICT, "the Ray cluster of '%s' is not up yet", id);
        return sw_null(sw_hint(err, "see 'slipway logs %s'", id));
    }
    return api_document("ray_cluster", sw_json_object(
        SW_STR("job", id), SW_INT("dashboard_port", port)));
}
