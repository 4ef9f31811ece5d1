/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.c - where the results of a job are, and a copy of them on this machine.
 */
#include <stdlib.h>

#include "api/api_internal.h"
#include "base/file.h"
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

static char *fetch(struct sw_session *session, const char *id, const char *to, struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };

    if (api_job_open(session, id, &job, err) < 0 || api_job_verify(session, &job, err) != 0)
        return NULL;
    return api_document("cp", job.platform->fetch_results(job.conn, &job.ref, to, err));
}

/* All of them into a folder below `to`, and from there what matches. */
static char *fetch_and_choose(struct sw_session *session, const char *id, const char *to,
                              const struct sw_copy_options *options, struct sw_error *err)
{
    sw_autofree char *below = sw_path_join(to, ".slipway-get-XXXXXX");
    char *all, *chosen = NULL;

    if (sw_mkdirs(to, 0777, err) < 0)
        return NULL;
    if (!mkdtemp(below))
        return sw_null(sw_fail_errno(err, SW_E_IO, "cannot make a folder below '%s'", to));
    all = fetch(session, id, below, err);
    if (all)
        chosen = sw_copy(session, below, to, options, NULL, NULL, err);
    sw_text_free(all);
    sw_remove_tree(below, NULL);
    return chosen;
}

char *sw_get_results_matching(struct sw_session *session, const char *id, const char *to,
                              const struct sw_copy_options *options, struct sw_error *err)
{
    sw_autofree char *where = sw_results_dir(session, id, err);
    struct sw_copy_options rules = { .size = sizeof rules, .recursive = true,
                                     .include = options->include, .include_count = options->include_count,
                                     .exclude = options->exclude, .exclude_count = options->exclude_count };
    bool some = rules.include_count || rules.exclude_count;
    sw_auto(api_job) struct api_job job = { 0 };
    char *copied;

    if (!where || api_job_open(session, id, &job, err) < 0)
        return NULL;
    if (!job.platform->fetch_results)
        copied = sw_copy(session, where, to, &rules, NULL, NULL, err);
    else
        copied = some ? fetch_and_choose(session, id, to, &rules, err) : fetch(session, id, to, err);
    if (!copied)
        sw_wrap(err, "cannot fetch the results of '%s'", id);
    return copied;
}

char *sw_get_results(struct sw_session *session, const char *id, const char *to, struct sw_error *err)
{
    return sw_get_results_matching(session, id, to, &(struct sw_copy_options){ 0 }, err);
}
