/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor_guard.c - a job that makes no progress: no output, or GPUs that do nothing, for longer
 * than its `guard:` allows.
 *
 * Warning changes the status and nothing else, least of all the job's log, and is taken back as
 * soon as the job moves again. Stopping is a decision like every other (supervisor_phases.c). A
 * load we cannot read counts as work: no job is ended for what we do not know.
 */
#include "platform/local/supervisor.h"

#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "core/reason.h"

enum { IDLE_BELOW_PERCENT = 2, MEASURES_PER_WAIT = 4 };

void sup_guard_load(struct sup *sup)
{
    const json_t *guard = json_object_get(sup->launch, "guard");

    sup->guard.no_output_ms = sw_json_int(guard, "no_output_ms", 0);
    sup->guard.idle_gpu_ms = sup->gpus > 0 ? sw_json_int(guard, "idle_gpu_ms", 0) : 0;
    sup->guard.stop = sw_json_bool(guard, "stop", false);
}

void sup_guard_begin(struct sup *sup)
{
    sup->guard.output_at = sup->guard.busy_at = sw_monotonic_ms();
}

void sup_guard_output(struct sup *sup)
{
    if (sup->guard.no_output_ms > 0)
        sup->guard.output_at = sw_monotonic_ms();
}

void sup_guard_gpus(struct sup *sup, int64_t now)
{
    for (int i = 0; i < sup->lease->count; i++) {
        int load = sup->lease->gpus[i].busy_percent;

        if (load < 0 || load >= IDLE_BELOW_PERCENT)
            sup->guard.busy_at = now;
    }
}

/* A guard needs the load more often than the status record does. */
int64_t sup_guard_patience(const struct sup *sup, int64_t every_ms)
{
    int64_t sooner = sup->guard.idle_gpu_ms / MEASURES_PER_WAIT;

    return sooner > 0 && sooner < every_ms ? sooner : every_ms;
}

int64_t sup_guard_next(const struct sup *sup)
{
    const struct sup_guard *guard = &sup->guard;

    /* supervisor_usage.c measures the GPUs, and that wakes us. */
    return guard->no_output_ms > 0 && !guard->warned ? guard->output_at + guard->no_output_ms : 0;
}

static const char *tripped(const struct sup *sup, int64_t now, char message[128])
{
    const struct sup_guard *guard = &sup->guard;
    char limit[32];

    if (guard->no_output_ms > 0 && now - guard->output_at >= guard->no_output_ms) {
        sw_duration_format(guard->no_output_ms, limit);
        snprintf(message, 128, "it wrote nothing for %s", limit);
        return "no_output";
    }
    if (guard->idle_gpu_ms > 0 && sup->usage.meter && now - guard->busy_at >= guard->idle_gpu_ms) {
        sw_duration_format(guard->idle_gpu_ms, limit);
        snprintf(message, 128, "its GPUs did nothing for %s", limit);
        return "idle_gpu";
    }
    return NULL;
}

void sup_guard_check(struct sup *sup, int64_t now)
{
    char message[128] = "";
    const char *which;

    if (!sup->commands_run || sup->end.decided)
        return;
    which = tripped(sup, now, message);
    if (which && sup->guard.stop) {
        json_object_set_new(sup->facts, "guard", json_string(which));
        sup_decide(sup, SW_ERROR, SW_REASON_GUARD, 124, "%s", message);
    } else if (which != sup->guard.warned) {
        sup->guard.warned = which;
        sup_write_status(sup, SW_RUNNING, which ? SW_REASON_GUARD : "", message);
    }
}
