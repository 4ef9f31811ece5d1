/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.c - where the results of a job are, and a copy of them on this machine.
 */
#include "api/api_internal.h"
#include "base/text.h"

char *sw_results_dir(struct sw_session *session, const char *id, struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };

    if (api_job_open(session, id, &job, err) < 0)
        return NULL;
    if (!sw_text_empty(job.row.results_dir))
        return sw_strdup(job.row.results_dir);
    if (job.platform->results_dir)
        return job.platform->results_dir(job.conn, &job.ref, err);
    return sw_null(sw_fail(err, SW_E_NOT_FOUND, "job '%s' has no results folder", id));
}

char *sw_get_results(struct sw_session *session, const char *id, const char *to,
                     struct sw_error *err)
{
    sw_autofree char *where = sw_results_dir(session, id, err);
    struct sw_copy_options options = { .size = sizeof options, .recursive = true };
    sw_auto(api_job) struct api_job job = { 0 };
    char *copied;

    if (!where || api_job_open(session, id, &job, err) < 0 ||
        (job.platform->fetch_results && api_job_verify(session, &job, err) != 0))
        return NULL;
    copied = job.platform->fetch_results ? api_text(job.platform->fetch_results(job.conn, &job.ref, to, err))
                                 : sw_copy(session, where, to, &options, NULL, NULL, err);
    if (!copied)
        sw_wrap(err, "cannot fetch the results of '%s'", id);
    return copied;
}
