/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_plan.c - can this plan run on the cluster, and exactly what would be sent? Nobody is asked.
 *
 * What only the cluster knows (does the input exist, is the time allowed) is found out by the
 * submit itself, in the same round trip, before anything is queued.
 */
#include "platform/slurm/slurm_internal.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"

static const char *const four_hour_queues[] = { "polar", "polar3", "polar4", "grizzly" };

static int check_source(const char *what, const char *place, struct sw_error *err)
{
    if (sw_text_empty(place) || place[0] == '/' ||
        (strstr(place, "://") && !sw_text_starts(place, "file://")))
        return 0;
    sw_fail(err, SW_E_SPEC, "%s '%s' is a path of this machine, which the cluster does not see",
            what, place);
    return sw_hint(err, "copy it to the cluster's shared file system and name it by its absolute "
                        "path there, or use lustre:///path or s3://bucket/key");
}

static int check_sources(const struct sw_plan *plan, struct sw_error *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach(plan->inputs, i, entry)
        if (check_source("input", sw_json_str(entry, "from"), err) < 0)
            return -1;
    json_array_foreach(plan->outputs, i, entry)
        if (check_source("output", sw_json_str(entry, "to"), err) < 0)
            return -1;
    return 0;
}

/* The queues that scripts for the Python SDK name without looking: all of them end after 4 h. */
static int check_known_queues(const struct sw_plan *plan, const struct slurm_shape *shape,
                              struct sw_error *err)
{
    const json_t *partitions = json_object_get(plan->options, "partition");
    size_t i, known = 0;
    json_t *one;

    json_array_foreach(partitions, i, one)
        for (size_t q = 0; q < SW_COUNT(four_hour_queues); q++)
            known += sw_text_same(json_string_value(one), four_hour_queues[q]);
    if (known == 0 || known < json_array_size(partitions) || shape->limit_minutes <= 4 * 60)
        return 0;
    sw_fail(err, SW_E_SPEC, "%lld minutes are above the limit of these partitions, 4 hours",
            (long long)shape->limit_minutes);
    return sw_hint(err, "ask for `time: 4h` or less and go on from a checkpoint, or name another "
                        "partition");
}

static int check_container(const struct sw_plan *plan, struct sw_error *err)
{
    if (slurm_container_preflight(plan, err) < 0)
        return -1;
    if (plan->launcher == SW_LAUNCHER_RAY) {
        sw_fail(err, SW_E_UNSUPPORTED, "launcher 'ray' is not available on slurm");
        return sw_hint(err, "use 'torchrun', 'mpi', or 'none' and start it in the command");
    }
    return 0;
}

int slurm_preflight(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    struct slurm_shape shape;

    if (!slurm_base(conn, plan->options, err) ||
        slurm_word_check("job_name_prefix", slurm_prefix(conn, plan->options), err) < 0 ||
        slurm_shape_of(plan, &shape, err) < 0 ||
        check_sources(plan, err) < 0 || check_known_queues(plan, &shape, err) < 0 ||
        check_container(plan, err) < 0)
        return -1;
    if (conn->warn && plan->image && sw_text_same(sw_json_str(plan->options, "container"), "none"))
        conn->warn(conn->warn_context, "`container: none` runs the command on the node itself, "
                                       "not in the image");
    if (conn->warn && plan->shm_bytes)
        conn->warn(conn->warn_context, "shm: /dev/shm is the node's own on slurm, and keeps its size");
    return 0;
}

static json_t *shown(const char *what, const char *text)
{
    return sw_json_object(SW_STR("what", what), SW_STR("text", text));
}

/* Which stop leaves the command how long between TERM and KILL: ours keep the grace, Slurm's own have
 * limits of the cluster's, which no job can raise. */
static char *stops_text(const struct sw_plan *plan, const struct slurm_shape *shape)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    char grace[32], at[32], then[32];

    sw_duration_format(plan->grace_ms, grace);
    sw_duration_format(shape->soft_s * 1000, at);
    sw_duration_format(shape->time_grace_ms, then);
    sw_buf_addf(&out, "slipway cancel: TERM, KILL after %s (grace)\n", grace);
    if (shape->soft_s > 0)
        sw_buf_addf(&out, "time limit: TERM %s after its start, KILL after %s\n", at, then);
    else if (shape->ahead_s > 0)
        sw_buf_addf(&out, "time limit: TERM %llds before Slurm's end, KILL after %s\n",
                    (long long)shape->ahead_s, then);
    sw_buf_add(&out, "scancel by hand, and Slurm's own end of the time: TERM, KILL after the cluster's "
                     "KillWait (30s unless it was changed), whatever the grace\n"
                     "preemption: TERM, KILL after the partition's GraceTime and KillWait\n");
    return sw_buf_steal(&out);
}

json_t *slurm_render(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    const char *base = slurm_base(conn, plan->options, err);
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    sw_auto(sw_buf) struct sw_buf batch = SW_BUF_INIT, entrypoint = SW_BUF_INIT;
    sw_auto(sw_buf) struct sw_buf mounts = SW_BUF_INIT;
    sw_auto(sw_payload) struct sw_payload *letter = NULL;
    sw_auto(json) json_t *document = NULL, *all = NULL;
    sw_autofree char *text = NULL, *stops = NULL;
    struct slurm_shape shape;
    struct slurm_job job;

    if (!base || slurm_shape_of(plan, &shape, err) < 0)
        return NULL;
    slurm_names_init(&names, base, slurm_prefix(conn, plan->options), plan->job_id, 1);
    job = (struct slurm_job){ .plan = plan, .names = &names, .shape = &shape, .attempt = 1,
                              .runner = { "slipway-runner", "slipway-runner" } };
    letter = slurm_letter(&job, err);
    if (!letter || slurm_batch(&batch, &job, err) < 0 ||
        slurm_mounts_shown(&mounts, &job, err) < 0)
        return NULL;
    slurm_entrypoint(&entrypoint, &job);
    document = sw_payload_to_json(letter);
    text = sw_json_dump_pretty(document);
    all = json_pack("[o, o, o]", shown(names.sbatch, sw_buf_text(&batch)),
                    shown(names.entrypoint, sw_buf_text(&entrypoint)), shown(names.letter, text));
    if (slurm_converts_elsewhere(plan)) {
        sw_auto(sw_buf) struct sw_buf conversion = SW_BUF_INIT;

        if (slurm_convert_batch(&conversion, &job, err) < 0)
            return NULL;
        json_array_append_new(all, shown("the job that converts the image, unless it is in the cache",
                                         sw_buf_text(&conversion)));
    }
    stops = stops_text(plan, &shape);
    json_array_append_new(all, shown("how it is stopped", stops));
    if (json_array_size(plan->mounts) > 0)
        json_array_append_new(all, shown("mounts", sw_buf_text(&mounts)));
    return sw_take(all);
}
