/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use.c - CPU time, memory and GPUs that a running job uses.
 *
 * A platform that measures its jobs has the answer in what it was last seen as (local). On all others a few
 * lines of shell (use.sh) run beside the job and read what the kernel counts for its container or group: one
 * question for one job, asked by a person; lists never ask it.
 */
#include "api/api_internal.h"
#include "base/clock.h"
#include "core/use.h"

static const char *const use_text[] = {
#include "api/use.sh.inc"
    NULL
};

static json_t *ask(const struct api_job *job, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT, answer = SW_BUF_INIT;

    for (size_t i = 0; use_text[i]; i++)
        sw_buf_add(&script, use_text[i]);
    return api_ask(job, sw_buf_text(&script), &answer, err) < 0 ? NULL : sw_use_read(sw_buf_text(&answer));
}

static json_t *known(const struct api_job *job)
{
    const json_t *live = json_object_get(job->row.progress, "live");

    return live ? json_copy((json_t *)live) : NULL;
}

/* On average since it started: one look is enough for it. */
static json_t *average(const json_t *use, const struct sw_job *row)
{
    const json_t *spent = json_object_get(use, "cpu_seconds");
    int64_t ran_ms = sw_json_int(use, "at_ms", 0) - row->started_ms;

    return json_is_number(spent) && row->started_ms > 0 && ran_ms > 0
               ? json_real(json_number_value(spent) * 1000 / (double)ran_ms) : json_null();
}

char *sw_use(struct sw_session *session, const char *id, struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };
    json_t *use;

    if (api_job_running(session, id, 0, &job, err) < 0)
        return NULL;
    use = known(&job);
    if (!use && !job.platform->exec_open)
        return sw_null(sw_fail(err, SW_E_UNSUPPORTED, "what a job uses is not known on %s",
                               job.platform->name));
    if (!use)
        use = job.platform->measures ? sw_use_read("") : ask(&job, err);
    if (!use)
        return sw_null(sw_wrap(err, "cannot ask job '%s' what it uses", id));
    if (!json_object_get(use, "at_ms"))
        json_object_set_new(use, "at_ms", json_integer(sw_now_ms()));
    json_object_set_new(use, "cpus", average(use, &job.row));
    json_object_set_new(use, "job", json_string(id));
    return api_document("use", use);
}
