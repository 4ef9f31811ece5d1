/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.c - `guard:` for platforms that do not watch their jobs themselves.
 *
 * A platform with a process of ours beside each job (local's supervisor) sees silence and idle GPUs to the
 * second, says so in its observations, and has `guards` set: this file does nothing for it. Elsewhere an
 * observation is all we have: when the log last grew, and what the GPUs do. Each silence is reported once,
 * however many clients watch. With `action: stop` the job is canceled, and ends as Canceled with the reason
 * "guard": it did not fail, and it must not be retried.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "core/reason.h"
#include "monitor/monitor_internal.h"

enum { IDLE_PERCENT = 5 };

static int64_t duration(const json_t *guard, const char *key)
{
    const json_t *value = json_object_get(guard, key);
    int64_t ms = 0;

    if (json_is_string(value) && sw_duration_parse(json_string_value(value), &ms, NULL) == 0)
        return ms;
    return json_is_number(value) ? (int64_t)(json_number_value(value) * 1000) : 0;
}

/* Since when all GPUs have been idle; 0: they are not, or it is not known. The first idle observation is
 * kept with the progress. */
static int64_t idle_since(struct sw_store *store, struct sw_job *job,
                          const struct sw_observation *seen, int64_t now_ms)
{
    const json_t *gpus = json_object_get(seen->live, "gpus");
    int64_t since = sw_json_int(job->progress, "idle_since_ms", 0);
    bool idle = json_array_size(gpus) > 0;
    json_t *gpu;
    size_t i;

    json_array_foreach(gpus, i, gpu)
        idle = idle && sw_json_int(gpu, "used_percent", 100) < IDLE_PERCENT;
    if (idle == (since > 0))
        return since;
    if (!job->progress)
        job->progress = json_object();
    json_object_set_new(job->progress, "idle_since_ms", json_integer(idle ? now_ms : 0));
    sw_store_progress(store, job->id, job->attempt, job->progress, NULL, NULL);
    return 0;
}

static void stop(struct sw_store *store, const struct sw_platform *platform, struct sw_connection *conn,
                 const struct sw_job *job, const char *message)
{
    struct sw_observation seen = { .job = sw_job_ref(job) };

    if (sw_store_cancel_intent(store, job->id, NULL) < 0 ||
        sw_platform_cancel(platform, conn, &seen.job, NULL) < 0)
        return;                      /* the intent stays: monitor_cancel_again() carries it out */
    monitor_say(&seen, SW_CANCELED, SW_REASON_GUARD, message);
    sw_store_saw(store, &seen, NULL, sw_now_ms(), NULL, NULL);
}

void monitor_guard(struct sw_store *store, const struct sw_platform *platform,
                   struct sw_connection *conn, struct sw_job *job, const struct sw_observation *seen,
                   int64_t now_ms)
{
    const json_t *guard = json_object_get(job->plan, "guard");
    int64_t quiet_ms = duration(guard, "no_output"), idle_ms = duration(guard, "idle_gpu");
    bool stops = sw_text_same(sw_json_str(guard, "action"), "stop"), won = false;
    int64_t since = 0, output_ms = seen->last_output_ms;
    sw_autofree char *message = NULL;
    sw_auto(json) json_t *data = NULL;
    const char *what = NULL;
    char age[24];

    if ((!quiet_ms && !idle_ms) || platform->guards)
        return;
    if (output_ms > 0 && quiet_ms > 0 && now_ms - output_ms >= quiet_ms) {
        what = "no_output";
        since = output_ms;
    } else if (idle_ms > 0) {
        since = idle_since(store, job, seen, now_ms);
        what = since > 0 && now_ms - since >= idle_ms ? "idle_gpu" : NULL;
    }
    if (!what)
        return;
    sw_age_format(now_ms - since, age);
    message = sw_format("%s%s for %s", stops ? "stopped by guard: " : "",
                        strcmp(what, "no_output") == 0 ? "no output" : "GPUs idle", age);
    data = sw_json_object(SW_STR("what", what), SW_INT("since_ms", since),
                          SW_STR("action", stops ? "stop" : "warn"), SW_STR("message", message));
    if (sw_store_guard(store, job->id, job->attempt, since, data, &won, NULL) == 0 && won && stops)
        stop(store, platform, conn, job, message);
}
