/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_runner.c - the runner for the machines of a cluster, whatever their processors.
 *
 * Which kinds a partition has is asked where the job is submitted, in the same round trip, and kept
 * beside the runners: nodes do not change their processors. Which kind a job got is asked by its batch
 * script (`uname -m`), so a partition may have both. A runner is named after its content and sent once
 * per version and kind; the batch script compares the two before it is run.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "core/runner_image.h"

/* As uname -m says it. */
static const char *const machines[SLURM_MACHINES] = { "x86_64", "aarch64" };

/* Read once per connection. */
static void name_runner(struct sw_connection *conn, size_t kind, const struct slurm_stock *runner)
{
    char hash[SW_DIGEST_HEX];

    if (conn->runner[kind] == runner->bytes)
        return;
    sw_sha256_hex(runner->bytes, runner->size, hash);
    snprintf(conn->runner_name[kind], sizeof conn->runner_name[kind], "slipway-runner-%s-%.16s",
             machines[kind], hash);
    conn->runner[kind] = runner->bytes;
}

int slurm_runners_load(struct slurm_stock runners[SLURM_MACHINES], struct sw_connection *conn,
                       const struct sw_plan *plan, const char *base, struct sw_error *err)
{
    const char *said = sw_json_str(plan->options, "arch");
    struct sw_error why = { 0 };
    size_t found = 0;

    for (size_t kind = 0; kind < SLURM_MACHINES; kind++) {
        struct slurm_stock *one = &runners[kind];

        if (said && !sw_text_same(said, machines[kind]))
            continue;
        one->bytes = sw_embedded_runner(machines[kind], &one->size, &why);
        if (!one->bytes)
            continue;
        found++;
        pthread_mutex_lock(&conn->lock);
        name_runner(conn, kind, one);
        one->path = sw_format("%s/runner/%s", base, conn->runner_name[kind]);
        pthread_mutex_unlock(&conn->lock);
    }
    if (found == 0 && err)
        *err = why;
    return found > 0 ? 0 : -1;
}

void slurm_runner_names(struct sw_buf *out, struct sw_connection *conn)
{
    pthread_mutex_lock(&conn->lock);
    for (size_t kind = 0; kind < SLURM_MACHINES; kind++) {
        struct slurm_stock one = { 0 };

        one.bytes = sw_embedded_runner(machines[kind], &one.size, NULL);
        if (!one.bytes)
            continue;
        name_runner(conn, kind, &one);
        sw_buf_addf(out, " %s", conn->runner_name[kind]);
    }
    pthread_mutex_unlock(&conn->lock);
}

/* ---- the submit -------------------------------------------------------------------------------- */

static const char ask_text[] =
    "machines_of() {\n"
    "    scontrol -o show node | sed -n 's/.* Arch=\\([^ ]*\\) .* Partitions=\\([^ ]*\\).*/\\1 ,\\2,/p' |\n"
    "        sort -u | while read -r machine within; do\n"
    "            [ -n \"$partition\" ] || echo \"$machine\"\n"
    "            IFS=,\n"
    "            for one in $partition; do\n"
    "                case $within in *,\"$one\",*) echo \"$machine\" ;; esac\n"
    "            done\n"
    "            unset IFS\n"
    "        done | sort -u | tr '\\n' ' '\n"
    "}\n"
    "known=$base/runner/.machines.$partition\n"
    "[ -n \"$machines\" ] || { read -r machines <\"$known\"; } 2>/dev/null || {\n"
    "    machines=$(machines_of)\n"
    "    [ -z \"$machines\" ] || { echo \"$machines\" >\"$known.$$\" && mv \"$known.$$\" \"$known\"; } "
    "2>/dev/null\n"
    "}\n";

static const char look_text[] =
    "found=\n"
    "for machine in ${machines:-$(uname -m)}; do\n"
    "    runner_of \"$machine\"\n"
    "    [ -n \"$path\" ] || continue\n"
    "    found=1\n"
    "    [ -x \"$path\" ] || need=\"$need $machine\"\n"
    "done\n"
    "[ -n \"$found\" ] || fail \"machines|$machines\"\n";

/* `case` rows: which runner a kind of machine gets. */
static void add_rows(struct sw_buf *out, const struct slurm_job *job, const char *before)
{
    for (size_t kind = 0; kind < SLURM_MACHINES; kind++) {
        if (!job->runner[kind])
            continue;
        sw_buf_addf(out, "%s) %s", machines[kind], before);
        sw_buf_add_quoted(out, job->runner[kind]);
        sw_buf_add(out, " ;;\n");
    }
}

void slurm_runners_look(struct sw_buf *out, const struct slurm_job *job)
{
    slurm_set(out, "machines", sw_json_str(job->plan->options, "arch"));
    sw_buf_add(out, "runner_of() {\ncase $1 in\n");
    add_rows(out, job, "path=");
    sw_buf_add(out, "*) path= ;;\nesac\n}\n");
    sw_buf_add(out, ask_text);
    sw_buf_add(out, look_text);
}

unsigned slurm_runners_needed(const char *need)
{
    unsigned needed = 0;

    for (size_t kind = 0; kind < SLURM_MACHINES; kind++)
        if (strstr(need, machines[kind]))
            needed |= 1u << kind;
    return needed;
}

/* ---- the batch script -------------------------------------------------------------------------- */

static const char there_text[] =
    "*) slipway_runner= ;;\n"
    "esac\n"
    "export slipway_runner\n"
    "if [ ! -x \"$slipway_runner\" ]; then\n"
    "    rm -f \"$slipway_base\"/runner/.machines.*        # asked anew by the next submit\n"
    "    echo \"slipway: the runner for machines of the kind $(uname -m) was not sent; submit it again\"\n"
    "    slipway_code=78 slipway_reason=exit slipway_message='\"there is no runner for its processors\"'\n"
    "    slipway_last_word\n"
    "    exit 78\n"
    "fi\n"
    "case $(sha256sum <\"$slipway_runner\") in\n"
    "\"${slipway_runner##*-}\"*) ;;\n"
    "*)  rm -f \"$slipway_runner\"                         # sent anew by the next submit\n"
    "    echo \"slipway: $slipway_runner is not what was sent; submit it again\"\n"
    "    slipway_code=78 slipway_reason=exit slipway_message='\"its runner was changed\"'\n"
    "    slipway_last_word\n"
    "    exit 78 ;;\n"
    "esac\n"
    "SW_RUNNER=$slipway_runner\n";

void slurm_runner_choose(struct sw_buf *out, const struct slurm_job *job)
{
    sw_buf_add(out, "case $(uname -m) in\n");
    add_rows(out, job, "slipway_runner=");
    sw_buf_add(out, there_text);
}
