/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_preflight.c - can this plan run on the cluster, and exactly what would be sent? Nothing is asked.
 *
 * What only the cluster knows (does the input exist, is the time allowed) is found out by the
 * submit itself, in the same round trip, before anything is queued.
 */
#include "platform/slurm/slurm_internal.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "core/mount.h"
#include "platform/slurm/slurm_image.h"

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

/* The queues that scripts for the Python SDK name unchecked: all of them end after 4 h. */
static int check_known_queues(const struct slurm_job *job, struct sw_error *err)
{
    const json_t *partitions = job->options.partition;
    size_t i, known = 0;
    json_t *one;

    json_array_foreach(partitions, i, one)
        for (size_t q = 0; q < SW_COUNT(four_hour_queues); q++)
            known += sw_text_same(json_string_value(one), four_hour_queues[q]);
    if (known == 0 || known < json_array_size(partitions) || job->shape.limit_minutes <= 4 * 60)
        return 0;
    sw_fail(err, SW_E_SPEC, "%lld minutes are above the limit of these partitions, 4 hours",
            (long long)job->shape.limit_minutes);
    return sw_hint(err, "ask for `time: 4h` or less and continue from a checkpoint, or name another "
                        "partition");
}

int slurm_preflight(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    const struct slurm_connection *slurm = slurm_of(conn);
    sw_auto(slurm_job) struct slurm_job job = { 0 };

    if (slurm_job_of(conn, plan, 1, &job, err) < 0 ||
        slurm_word_check("job_name_prefix", job.prefix, err) < 0 || check_sources(plan, err) < 0 ||
        check_known_queues(&job, err) < 0 || slurm_container_preflight(&job, err) < 0)
        return -1;
    if (slurm->warn && plan->image && job.options.container == SLURM_CONTAINER_NONE)
        slurm->warn(slurm->warn_context, "`container: none` runs the command on the node itself, "
                                         "not in the image");
    if (slurm->warn && plan->shm_bytes)
        slurm->warn(slurm->warn_context, "shm: /dev/shm is the node's own on slurm, and keeps its size");
    return 0;
}

/* ---- what the cluster itself must have: values of slurm_needs.sh ---------------------------------- */

static void add_line(struct sw_buf *out, const char *path)
{
    sw_buf_addf(out, "%s\n", path);
}

static void add_inputs(struct sw_buf *lines, const struct sw_plan *plan)
{
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };
    size_t i;
    json_t *entry;

    json_array_foreach(plan->inputs, i, entry) {
        sw_autofree char *path = slurm_path_of(sw_json_str(entry, "from"));

        if (path)
            add_line(lines, path);
    }
    sw_mounts_parse(plan->mounts, &mounts, NULL);
    for (i = 0; i < mounts.count; i++)
        if (mounts.items[i].kind == SW_MOUNT_PATH && *mounts.items[i].source == '/')
            add_line(lines, mounts.items[i].source);
}

/* What comes before {id} and the other placeholders decides. */
static void add_outputs(struct sw_buf *lines, const struct sw_plan *plan)
{
    size_t i;
    json_t *entry;

    json_array_foreach(plan->outputs, i, entry) {
        sw_autofree char *path = slurm_path_of(sw_json_str(entry, "to"));

        if (!path)
            continue;
        path[strcspn(path, "{")] = '\0';
        add_line(lines, path);
    }
}

void slurm_needs_values(struct sw_buf *out, const struct slurm_job *job, bool with_limit)
{
    sw_auto(sw_buf) struct sw_buf inputs = SW_BUF_INIT, outputs = SW_BUF_INIT;
    sw_auto(slurm_image) struct slurm_image image = { 0 };
    sw_autofree char *partition = slurm_joined(job->options.partition);
    bool bundle = slurm_in_bundle(job);

    if (slurm_has_own_root(job))
        slurm_image_parse(job->plan->image, &image, NULL);
    add_inputs(&inputs, job->plan);
    add_outputs(&outputs, job->plan);
    slurm_set_flag(out, "check", job->options.check);
    slurm_set(out, "base", job->names.base);
    slurm_set(out, "bundle", bundle ? job->plan->image : NULL);
    slurm_set(out, "image_file", image.kind == SLURM_IMAGE_FILE ? image.path : NULL);
    slurm_set(out, "inputs", sw_buf_text(&inputs));
    slurm_set(out, "outputs", sw_buf_text(&outputs));
    slurm_set(out, "partition", partition);
    if (with_limit)
        slurm_set_number(out, "asked", job->shape.limit_minutes);
    else
        slurm_set(out, "asked", NULL);
    slurm_set_flag(out, "gpus", job->plan->gpus > 0);
}

/* ---- what would be sent ----------------------------------------------------------------------------- */

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
    sw_auto(slurm_job) struct slurm_job job = { 0 };
    sw_auto(sw_buf) struct sw_buf batch = SW_BUF_INIT, entrypoint = SW_BUF_INIT;
    sw_auto(sw_buf) struct sw_buf mounts = SW_BUF_INIT, conversion = SW_BUF_INIT;
    sw_auto(sw_payload) struct sw_payload *payload = NULL;
    sw_auto(json) json_t *document = NULL, *all = NULL;
    sw_autofree char *text = NULL, *stops = NULL;

    if (slurm_job_of(conn, plan, 1, &job, err) < 0)
        return NULL;
    job.runner[0] = job.runner[1] = "slipway-runner";
    payload = slurm_payload(&job, err);
    if (!payload || slurm_batch(&batch, &job, err) < 0 || slurm_mounts_shown(&mounts, &job, err) < 0 ||
        (slurm_converts_elsewhere(&job) && slurm_convert_batch(&conversion, &job, err) < 0))
        return NULL;
    slurm_entrypoint(&entrypoint, &job);
    document = sw_payload_to_json(payload);
    text = sw_json_dump_pretty(document);
    all = json_pack("[o, o, o]", shown(job.names.sbatch, sw_buf_text(&batch)),
                    shown(job.names.entrypoint, sw_buf_text(&entrypoint)), shown(job.names.payload, text));
    if (conversion.length > 0)
        json_array_append_new(all, shown("the job that converts the image, unless it is in the cache",
                                         sw_buf_text(&conversion)));
    stops = stops_text(plan, &job.shape);
    json_array_append_new(all, shown("how it is stopped", stops));
    if (json_array_size(plan->mounts) > 0)
        json_array_append_new(all, shown("mounts", sw_buf_text(&mounts)));
    return sw_take(all);
}
