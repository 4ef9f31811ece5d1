/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_log.c - the log of one rank, by offset, from the shared file system.
 *
 * Rank 0 writes into the file that Slurm opened for the batch script, so that what happens before
 * the command (an image being converted, a requeue) stands in the same stream, in order. The others
 * have files of their own. Everything is appended, over all runs of an attempt.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int slurm_replicas_of(const struct sw_jobref *job)
{
    int64_t count = sw_json_int(job->details, "replicas", 0);

    return (int)(count > 0 ? count : sw_json_int(job->plan, "nodes", 1));
}

/* Owned path of a rank's file. */
static char *log_path(struct sw_link *link, const struct sw_jobref *job, int replica,
                      struct sw_error *err)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };

    if (slurm_names_of(link, job, &names, err) < 0)
        return NULL;
    if (replica < 0 || replica >= slurm_replicas_of(job)) {
        sw_fail(err, SW_E_NOT_FOUND, "job '%s' has no rank %d", job->id, replica);
        return NULL;
    }
    if (slurm_is_array(job))
        return sw_format("%s/main.%d.out", names.logs, replica);
    return replica == 0 ? sw_format("%s/main.out", names.logs)
                        : sw_format("%s/%d.out", names.logs, replica);
}

ssize_t slurm_read_log(struct sw_link *link, const struct sw_jobref *job, int replica,
                       int64_t offset, char *bytes, size_t size, struct sw_error *err)
{
    sw_autofree char *path = log_path(link, job, replica, err);
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    size_t got;

    if (!path)
        return -1;
    slurm_set(&script, "file", path);
    sw_buf_addf(&script, "[ -f \"$file\" ] || exit 0\n"
                "exec dd if=\"$file\" bs=65536 iflag=skip_bytes,count_bytes skip=%lld count=%zu "
                "2>/dev/null\n", (long long)offset, size);
    if (slurm_ask(link, script.data, NULL, 0, true, &reply, err) < 0)
        return -1;
    got = reply.output.length < size ? reply.output.length : size;
    if (got)
        memcpy(bytes, reply.output.data, got);
    return (ssize_t)got;
}

int slurm_log_size(struct sw_link *link, const struct sw_jobref *job, int replica, int64_t *size,
                   struct sw_error *err)
{
    sw_autofree char *path = log_path(link, job, replica, err);
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    if (!path)
        return -1;
    slurm_set(&script, "file", path);
    sw_buf_add(&script, "[ -f \"$file\" ] || { echo 0; exit 0; }\nexec wc -c <\"$file\"\n");
    if (slurm_ask(link, script.data, NULL, 0, true, &reply, err) < 0)
        return -1;
    *size = strtoll(sw_buf_text(&reply.output), NULL, 10);
    return 0;
}
