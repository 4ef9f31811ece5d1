/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scratch.c - the folder we work in and where results go, from payload and environment.
 *
 *     payload.results_dir            it; already where it should be            (mount)
 *     TAO_RESULTS_ROOT               <it>/<job id>, a mount: nothing to upload (mount)
 *     S3_BUCKET_NAME                 s3://<bucket>/results/<job id>            (s3)
 *     neither                        /results/<job id>, gone with the container
 *
 * Pure: the environment is a function.
 */
#include "runner/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "storage/uri.h"

static const char *first_of(const char *(*get)(const char *name), const char *const *names,
                            size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!sw_text_empty(get(names[i])))
            return get(names[i]);
    return NULL;
}

static char *without_end_slashes(const char *path)
{
    size_t length = strlen(path);

    while (length > 1 && path[length - 1] == '/')
        length--;
    return sw_strndup(path, length);
}

static bool is_blank(const char *text)
{
    return !text || text[strspn(text, " \t\r\n")] == '\0';
}

/* A requeue keeps folder and id; what makes it another start differs from place to place. */
static void set_attempt(struct runner_scratch *scratch, const char *(*get)(const char *name))
{
    const char *attempt = get("SLIPWAY_ATTEMPT"), *job = get("SLURM_JOB_ID");
    const char *restart = get("SLURM_RESTART_COUNT");

    snprintf(scratch->attempt, sizeof scratch->attempt, "%.16s%s%.16s%s%.16s",
             sw_text_empty(attempt) ? "1" : attempt, sw_text_empty(job) ? "" : ".", job ? job : "",
             sw_text_empty(restart) ? "" : ".", restart ? restart : "");
}

void runner_scratch_init(struct runner_scratch *scratch, const struct sw_payload *payload,
                         const char *(*get)(const char *name))
{
    static const char *const ranks[] = { "NODE_RANK", "SLURM_NODEID", "JOB_COMPLETION_INDEX" };
    const char *root = get("TAO_RESULTS_ROOT"), *bucket = get("S3_BUCKET_NAME");
    const char *rank = first_of(get, ranks, SW_COUNT(ranks));

    *scratch = (struct runner_scratch){ .rank = rank ? atoi(rank) : 0 };
    set_attempt(scratch, get);
    if (payload->results_dir) {
        scratch->kind = RUNNER_MOUNT;
        scratch->results_root = without_end_slashes(payload->results_dir);
    } else if (!sw_text_empty(root)) {
        sw_autofree char *plain = without_end_slashes(root);

        scratch->kind = RUNNER_MOUNT;
        scratch->results_root = sw_format("%s/%s", plain, payload->job_id);
    } else if (!is_blank(bucket)) {
        const char *start = bucket + strspn(bucket, " \t\r\n");

        scratch->kind = RUNNER_S3;
        scratch->results_root = sw_format("s3://%.*s/results/%s",
                                        (int)strcspn(start, " \t\r\n"), start, payload->job_id);
    } else {
        scratch->kind = RUNNER_EPHEMERAL;
        scratch->results_root = sw_format("/results/%s", payload->job_id);
    }
    if (payload->scratch_dir)
        scratch->work_dir = sw_strdup(payload->scratch_dir);
    else if (scratch->kind == RUNNER_MOUNT)
        scratch->work_dir = sw_strdup(scratch->results_root);
    else
        scratch->work_dir = sw_format("/results/%s", payload->job_id);
}

void runner_scratch_done(struct runner_scratch *scratch)
{
    free(scratch->work_dir);
    free(scratch->results_root);
    *scratch = (struct runner_scratch){ 0 };
}

char *runner_mount_path(const char *mount, const char *uri)
{
    const char *after = strstr(uri, "://");
    sw_autofree char *plain = without_end_slashes(mount);

    return after ? sw_format("%s/%s", plain, after + 3) : NULL;
}

static bool is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);

    return strncmp(path, folder, length) == 0 &&
           (path[length] == '\0' || path[length] == '/' || strcmp(folder, "/") == 0);
}

bool runner_is_result(const struct runner_scratch *scratch, const char *path)
{
    return scratch->kind == RUNNER_MOUNT && is_below(path, scratch->results_root);
}

char *runner_default_destination(const struct runner_scratch *scratch, const char *path)
{
    sw_autofree char *plain = without_end_slashes(path);
    const char *slash = strrchr(plain, '/'), *base = slash ? slash + 1 : plain;

    switch (scratch->kind) {
    case RUNNER_S3:
        return sw_format("%s/%s", scratch->results_root, base);
    case RUNNER_MOUNT:
        /* On the mount it is where it should be; elsewhere it would be lost with the container. */
        if (is_below(plain, scratch->results_root) || is_below(scratch->results_root, plain))
            return NULL;
        return sw_format("%s/%s", scratch->results_root, base);
    case RUNNER_EPHEMERAL:
        return NULL;
    }
    return NULL;
}
