/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.c - bring results home.
 */
#include "api/api_internal.h"

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
        sw_wrap(err, "cannot bring home the results of '%s'", id);
    return copied;
}
