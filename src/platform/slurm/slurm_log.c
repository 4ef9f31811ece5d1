/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_log.c - the log of one rank, by offset, from the shared file system.
 *
 * Rank 0 writes into the file that Slurm opened for the batch script, so that what happens before
 * the command (an image being converted, a requeue) stands in the same stream, in order. The others
 * have files of their own. Everything is appended, over all attempts that the job makes by itself;
 * each notes where its part of every file begins.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GONE = 66 };                /* an exit code of our own question: no folder of logs */

int slurm_replicas_of(const struct sw_jobref *job)
{
    int64_t count = sw_json_int(job->details, "replicas", 0);

    return (int)(count > 0 ? count : sw_json_int(job->plan, "nodes", 1));
}

char *slurm_log_name(const struct sw_jobref *job, int replica)
{
    if (slurm_is_array(job))
        return sw_format("main.%d.out", replica);
    return replica == 0 ? sw_strdup("main.out") : sw_format("%d.out", replica);
}

/* Sets `from` and `to` (empty: the end) to the part of one attempt, when one is asked for. */
static const char part_text[] =
    "from=0 to=\n"
    "if [ \"$part\" != 0 ]; then\n"
    "    n=$part\n"
    "    while [ \"$n\" -gt 1 ] && [ ! -d \"${state%.*}.$n\" ]; do n=$((n - 1)); done\n"
    "    state=${state%.*}.$n logs=${logs%.*}.$n\n"
    "    [ ! -f \"$state/parts\" ] || {\n"
    "        while read -r n file size; do\n"
    "            [ \"$n\" != $((part + 1)) ] || to=${to:-0}\n"
    "            case $n.$file in $part.$name) from=$size ;; $((part + 1)).$name) to=$size ;; esac\n"
    "        done\n"
    "    } <\"$state/parts\"\n"
    "fi\n"
    "file=$logs/$name\n";

int slurm_log_script(struct sw_buf *out, struct sw_connection *conn, const struct sw_jobref *job, int replica,
                     struct sw_error *err)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    sw_autofree char *name = slurm_log_name(job, replica);

    if (slurm_names_of(conn, job, &names, err) < 0)
        return -1;
    if (replica < 0 || replica >= slurm_replicas_of(job))
        return sw_fail(err, SW_E_NOT_FOUND, "job '%s' has no rank %d", job->id, replica);
    slurm_set(out, "state", names.state);
    slurm_set(out, "logs", names.logs);
    slurm_set(out, "name", name);
    slurm_set_number(out, "part", slurm_is_array(job) ? 0 : job->log_attempt);
    sw_buf_add(out, part_text);
    if (slurm_is_array(job))
        sw_buf_addf(out, "state=$state/task-%d\n", replica);
    return 0;
}

ssize_t slurm_log_read(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                       int64_t offset, char *bytes, size_t size, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    size_t got;

    if (slurm_log_script(&script, conn, job, replica, err) < 0)
        return -1;
    sw_buf_addf(&script, "[ -d \"$logs\" ] || exit %d\n"
                "[ -f \"$file\" ] || exit 0\n"
                "skip=$((from + %lld)) count=%zu\n"
                "[ -z \"$to\" ] || [ $((to - skip)) -ge \"$count\" ] || count=$((to - skip))\n"
                "[ \"$count\" -gt 0 ] || exit 0\n"
                "exec dd if=\"$file\" bs=65536 iflag=skip_bytes,count_bytes skip=$skip count=$count "
                "2>/dev/null\n", GONE, (long long)offset, size);
    if (slurm_read(conn, script.data, &reply, err) < 0)
        return -1;
    if (reply.exit_code == GONE && job->finished)
        return sw_fail(err, SW_E_NOT_FOUND, "the log of '%s' is gone: its folder on the cluster was removed",
                       job->id);
    got = reply.output.length < size ? reply.output.length : size;
    if (got)
        memcpy(bytes, reply.output.data, got);
    return (ssize_t)got;
}

int slurm_log_size(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t *size,
                   struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    if (slurm_log_script(&script, conn, job, replica, err) < 0)
        return -1;
    sw_buf_add(&script, "[ -f \"$file\" ] || { echo 0; exit 0; }\n"
                        "echo $((${to:-$(wc -c <\"$file\")} - from))\n");
    if (slurm_read(conn, script.data, &reply, err) < 0)
        return -1;
    *size = strtoll(sw_buf_text(&reply.output), NULL, 10);
    return 0;
}

/* The batch script looks every few seconds, so the answer may be that much too early, never too late. */
int slurm_log_since(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t at_ms,
                    int64_t *offset, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    if (slurm_log_script(&script, conn, job, replica, err) < 0)
        return -1;
    sw_buf_addf(&script, "since=%lld best=$from\n"
                "[ ! -f \"$state/times\" ] || while read -r file size at; do\n"
                "    [ \"$file\" != \"$name\" ] || [ \"$at\" -ge \"$since\" ] || best=$size\n"
                "done <\"$state/times\"\n"
                "[ -z \"$to\" ] || [ \"$best\" -le \"$to\" ] || best=$to\n"
                "[ \"$best\" -ge \"$from\" ] || best=$from\n"
                "echo $((best - from))\n", (long long)(at_ms / 1000));
    if (slurm_read(conn, script.data, &reply, err) < 0)
        return -1;
    *offset = strtoll(sw_buf_text(&reply.output), NULL, 10);
    return 0;
}
