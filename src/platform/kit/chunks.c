/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunks.c - bytes to variables; chunks.sh turns them back.
 *
 * The limits are the platforms': Lepton takes 96 KiB in a variable, run:ai 10,000 characters, and no single
 * environment string of Linux may exceed 128 KiB.
 */
#include "platform/kit/chunks.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/units.h"
#include "core/runner_image.h"
#include "plan/entrypoint.h"
#include "platform/kit/sending.h"

static const char *const chunks_text[] = {
#include "platform/kit/chunks.sh.inc"
    NULL
};

static int too_large(size_t characters, const struct sw_chunk_limits *limits, struct sw_error *err)
{
    char is[32], may[32];

    sw_size_format((int64_t)characters, is);
    sw_size_format((int64_t)limits->total, may);
    sw_fail(err, SW_E_SPEC, "this job is too large to send to %s: %s packed, at most %s "
                            "fit", limits->platform,
            is, may);
    return sw_hint(err, "leave files out with `code.exclude`, or put the code into object storage "
                        "and name it under `inputs`");
}

int sw_chunks_put(json_t *env, const char *prefix, const void *bytes, size_t length,
                  const struct sw_chunk_limits *limits, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf packed = SW_BUF_INIT;
    sw_autofree char *text = NULL;
    char name[128];
    size_t left, count = 0;

    assert(limits->chunk > 0 && limits->chunk <= 128 * 1024);
    sw_gzip(bytes, length, &packed);
    text = sw_base64(packed.data, packed.length);
    left = strlen(text);
    if (limits->total && left > limits->total)
        return too_large(left, limits, err);
    for (const char *at = text; left > 0; count++) {
        size_t piece = left < limits->chunk ? left : limits->chunk;

        snprintf(name, sizeof name, "%s_%zu", prefix, count);
        json_object_set_new(env, name, json_stringn(at, piece));
        at += piece;
        left -= piece;
    }
    snprintf(name, sizeof name, "%s_COUNT", prefix);
    json_object_set_new(env, name, json_sprintf("%zu", count));
    return 0;
}

static struct sw_payload *payload_of(const struct sw_chunks_job *job, struct sw_error *err)
{
    const struct sw_plan *plan = job->plan;
    struct sw_payload *payload = sw_entrypoint_payload(plan, err);

    if (!payload)
        return NULL;
    json_decref(sw_take(payload->env));
    payload->results_dir = sw_strdup(job->results);
    payload->scratch_dir = sw_strdup(job->scratch);
    if (!payload->cache_dir)
        payload->cache_dir = sw_strdup(job->cache);
    if (plan->nodes > 1)
        sw_entrypoint_mark_own(payload->outputs, job->shared, &(struct sw_mounts){ 0 });
    payload->time_ms = plan->time_ms;
    payload->redact = true;
    if (plan->launcher == SW_LAUNCHER_TORCHRUN)
        sw_entrypoint_torchrun(payload, plan->nodes, plan->gpus);
    if (plan->launcher == SW_LAUNCHER_RAY)
        sw_entrypoint_ray(payload, plan);
    return payload;
}

/* Of the parts the largest that the user chooses is the one to make smaller. */
static int name_parts(size_t runner, size_t payload, const struct sw_bundle *code, const struct sw_buf *ca,
                      struct sw_error *err)
{
    char sizes[4][32];

    sw_size_format((int64_t)runner, sizes[0]);
    sw_size_format((int64_t)payload, sizes[1]);
    sw_size_format((int64_t)code->length, sizes[2]);
    sw_size_format((int64_t)ca->length, sizes[3]);
    sw_wrap(err, "runner %s, payload %s, code %s, certificates %s", sizes[0], sizes[1], sizes[2], sizes[3]);
    if (ca->length > code->length)
        sw_hint(err, "unset SSL_CERT_FILE and its like, or name only the certificates that the data needs");
    return -1;
}

static int put_script(json_t *env, const char *prefix, const struct sw_payload *payload,
                      const struct sw_runner_bytes *runner, const struct sw_bundle *code,
                      const struct sw_buf *ca, const struct sw_chunk_limits *limits, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;

    sw_entrypoint_script(&script, payload, runner, 1, code->bytes ? code : NULL, ca);
    return sw_chunks_put(env, prefix, script.data, script.length, limits, err);
}

int sw_chunks_put_job(json_t *env, const char *prefix, const struct sw_chunks_job *job,
                      const struct sw_chunk_limits *limits, struct sw_error *err)
{
    const struct sw_plan *plan = job->plan;
    sw_auto(sw_payload) struct sw_payload *payload = payload_of(job, err);
    sw_auto(sw_bundle) struct sw_bundle code = { 0 };
    sw_auto(sw_buf) struct sw_buf ca = SW_BUF_INIT;
    struct sw_runner_bytes runner = { .arch = job->arch };
    sw_autofree char *text = NULL;
    struct sw_error why = { 0 };

    if (!payload || !(text = sw_payload_text(payload, plan, &ca, err)) ||
        sw_code_kept(plan, job->attempt, job->kept, &code, err) < 0 ||
        !(runner.bytes = sw_embedded_runner(job->arch, &runner.size, err)))
        return -1;
    if (put_script(env, prefix, payload, &runner, &code, &ca, limits, &why) == 0)
        return 0;
    if (payload->ca && job->without_ca) {
        free(sw_take(payload->ca));
        *job->without_ca = put_script(env, prefix, payload, &runner, &code, &ca, limits, NULL) == 0;
        if (*job->without_ca)
            return 0;
    }
    sw_pass(err, &why);
    return name_parts(runner.size, strlen(text), &code, &ca, err);
}

static void add_functions(struct sw_buf *out)
{
    for (const char *const *line = chunks_text; *line; line++)
        sw_buf_add(out, *line);
}

void sw_chunks_shell(struct sw_buf *out, const char *prefix, const char *file)
{
    add_functions(out);
    sw_buf_add(out, "sw_chunks ");
    sw_buf_add_quoted(out, prefix);
    sw_buf_add_char(out, ' ');
    sw_buf_add_quoted(out, file);
    sw_buf_add_char(out, '\n');
}

void sw_chunks_command_by(struct sw_buf *out, const char *prefix, const char *lines, const char *runs)
{
    /* Until the runner takes over: the first process of a container has no signal handlers but its own. */
    sw_buf_add(out, "trap 'exit 143' TERM\n");
    add_functions(out);
    sw_buf_add(out, lines);
    sw_buf_addf(out, "sw_script\nsw_chunks %s \"$sw_job\"\n%s\n", prefix, runs);
}

void sw_chunks_command(struct sw_buf *out, const char *prefix, const char *lines)
{
    /* One stream: of two an API may show the end of the first behind the report at the end of the other. */
    sw_chunks_command_by(out, prefix, lines, "exec sh \"$sw_job\" 2>&1");
}

void sw_chunks_rendezvous(struct sw_buf *out, const struct sw_chunks_ranks *ranks)
{
    sw_buf_addf(out, "sw_ranks %s %s %d ", ranks->index, ranks->total, ranks->port);
    sw_buf_add_quoted(out, ranks->host);
    sw_buf_add_char(out, '\n');
}
