/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor_usage.c - what a running job uses right now, written into its status record; and its
 * `guard:`, for a job that makes no progress.
 *
 * Measuring must cost next to nothing, for a thousand jobs at once: memory is read from the cgroup
 * or along the job's own tree, NVML stays open, nothing is written unless something changed by
 * more than a hundredth, and a job that does not change is measured less and less often.
 *
 * A guard that warns changes the status and nothing else, least of all the job's log, and takes it
 * back as soon as the job moves again. Stopping is a decision like every other
 * (supervisor_phases.c). A load that cannot be read counts as work: no job is ended for what is not
 * known.
 */
#include "platform/local/supervisor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "core/reason.h"
#include "platform/local/local_internal.h"

enum {
    FIRST_MEASURE_MS = 1000,
    MEASURE_EVERY_MS = 2000,
    MEASURE_RARELY_MS = 16000,
    SMALL_BYTES = 1024 * 1024,
    IDLE_BELOW_PERCENT = 2,
    MEASURES_PER_WAIT = 4,              /* a guard needs the load more often than the status does */
};

void sup_usage_begin(struct sup *sup)
{
    sup->guard.output_at = sup->guard.busy_at = sw_monotonic_ms();
    sup->usage.every_ms = MEASURE_EVERY_MS;
    sup->usage.next_at = sw_monotonic_ms() + FIRST_MEASURE_MS;
    if (sup->lease)
        sup->usage.meter = sw_gpu_meter_open(sup->lease->gpus, sup->lease->count);
}

void sup_usage_end(struct sup *sup)
{
    if (sup->usage.meter)
        sw_gpu_meter_facts(sup->usage.meter, sup->facts);
    if (sup->usage.gpu_peak_bytes > 0) {
        sw_auto(json) json_t *report = sw_json_object(SW_SUB("gpu", sw_json_object(
            SW_INT("count", sup->lease ? sup->lease->count : 0),
            SW_INT("memory_peak_bytes", sup->usage.gpu_peak_bytes))));

        json_object_set_new(sup->facts, "peak_gpu_memory_bytes",
                            json_integer(sup->usage.gpu_peak_bytes));
        sup_facts_report(sup, report);
    }
    sw_gpu_meter_close(sw_take(sup->usage.meter));
    json_decref(sw_take(sup->usage.shown));
}

static bool differs(int64_t a, int64_t b)
{
    int64_t by = a > b ? a - b : b - a;

    return by > SMALL_BYTES && by > b / 100;
}

static json_t *gpu_json(const struct sw_gpu *gpu)
{
    return sw_json_object(
        SW_STR("uuid", gpu->uuid), SW_STR("name", gpu->name),
        SW_SUB("used_percent", gpu->busy_percent < 0 ? json_null()
                                                     : json_integer(gpu->busy_percent)),
        SW_INT("memory_used", gpu->memory_used_bytes), SW_INT("memory_total", gpu->memory_bytes));
}

static json_t *live_json(const struct sup *sup, int64_t memory, int64_t cpu_ms)
{
    json_t *gpus = json_array();

    for (int i = 0; sup->usage.meter && i < sup->lease->count; i++)
        json_array_append_new(gpus, gpu_json(&sup->lease->gpus[i]));
    return sw_json_object(
        SW_INT("at_ms", sw_now_ms()), SW_SUB("cpu_seconds", json_real((double)cpu_ms / 1000)),
        SW_INT("memory_bytes", memory), SW_SUB("gpus", gpus));
}

static bool gpu_changed(const json_t *before, const json_t *now)
{
    int64_t load = sw_json_int(now, "used_percent", -1) - sw_json_int(before, "used_percent", -1);

    return load > 1 || load < -1 ||
           differs(sw_json_int(now, "memory_used", 0), sw_json_int(before, "memory_used", 0));
}

/* CPU time always grows: a second more is news only where it is a tenth of all. */
static bool cpu_changed(const json_t *before, const json_t *now)
{
    double was = json_number_value(json_object_get(before, "cpu_seconds"));
    double is = json_number_value(json_object_get(now, "cpu_seconds"));

    return is - was > 1 && is - was > was / 10;
}

static bool changed(const json_t *before, const json_t *now)
{
    const json_t *gpus = json_object_get(now, "gpus"), *earlier = json_object_get(before, "gpus");

    if (!before || cpu_changed(before, now) ||
        differs(sw_json_int(now, "memory_bytes", 0), sw_json_int(before, "memory_bytes", 0)))
        return true;
    for (size_t i = 0; i < json_array_size(gpus); i++)
        if (gpu_changed(json_array_get(earlier, i), json_array_get(gpus, i)))
            return true;
    return false;
}

static void read_gpus(struct sup *sup, int64_t now)
{
    sw_gpu_meter_read(sup->usage.meter, sup->lease->gpus);
    for (int i = 0; i < sup->lease->count; i++) {
        const struct sw_gpu *gpu = &sup->lease->gpus[i];

        if (gpu->memory_used_bytes > sup->usage.gpu_peak_bytes)
            sup->usage.gpu_peak_bytes = gpu->memory_used_bytes;
        if (gpu->busy_percent < 0 || gpu->busy_percent >= IDLE_BELOW_PERCENT)
            sup->guard.busy_at = now;
    }
}

void sup_usage_measure(struct sup *sup, int64_t now)
{
    struct sup_usage *usage = &sup->usage;
    sw_auto(local_processes) struct local_processes below = { 0 };
    sw_auto(json) json_t *seen = NULL;
    int64_t memory, sooner = sup->guard.idle_gpu_ms / MEASURES_PER_WAIT;

    if (!sup->commands_run || sup->end.decided || now < usage->next_at)
        return;
    local_tree_below(getpid(), &below);
    memory = sup_limits_memory(&sup->limits);
    if (memory < 0)
        memory = local_tree_memory(&below, INT64_MAX);
    if (memory > sup->limits.peak_bytes)
        sup->limits.peak_bytes = memory;
    if (usage->meter)
        read_gpus(sup, now);
    seen = live_json(sup, memory, local_tree_cpu_ms(&below));
    if (changed(usage->shown, seen)) {
        json_decref(usage->shown);
        usage->shown = sw_take(seen);
        usage->every_ms = MEASURE_EVERY_MS;
        sup_repeat_status(sup);
    } else if (usage->every_ms < MEASURE_RARELY_MS) {
        usage->every_ms *= 2;
    }
    usage->next_at = now + usage->every_ms;
    if (sooner > 0 && sooner < usage->every_ms)
        usage->next_at = now + sooner;
}

/* ---- the guard ------------------------------------------------------------------------------ */

void sup_guard_load(struct sup *sup)
{
    const json_t *guard = json_object_get(sup->launch, "guard");

    sup->guard.no_output_ms = sw_json_int(guard, "no_output_ms", 0);
    sup->guard.idle_gpu_ms = sup->gpus > 0 ? sw_json_int(guard, "idle_gpu_ms", 0) : 0;
    sup->guard.stop = sw_json_bool(guard, "stop", false);
}

void sup_guard_output(struct sup *sup)
{
    if (sup->guard.no_output_ms > 0)
        sup->guard.output_at = sw_monotonic_ms();
}

int64_t sup_guard_next(const struct sup *sup)
{
    const struct sup_guard *guard = &sup->guard;

    /* The GPUs are measured, and that wakes us. */
    return guard->no_output_ms > 0 && !guard->warned ? guard->output_at + guard->no_output_ms : 0;
}

static const char *tripped(const struct sup *sup, int64_t now, char message[128])
{
    const struct sup_guard *guard = &sup->guard;
    char limit[32];

    if (guard->no_output_ms > 0 && now - guard->output_at >= guard->no_output_ms) {
        sw_duration_format(guard->no_output_ms, limit);
        snprintf(message, 128, "no output for %s", limit);
        return "no_output";
    }
    if (guard->idle_gpu_ms > 0 && sup->usage.meter && now - guard->busy_at >= guard->idle_gpu_ms) {
        sw_duration_format(guard->idle_gpu_ms, limit);
        snprintf(message, 128, "GPUs idle for %s", limit);
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
        sup_decide(sup, SW_ERROR, SW_REASON_GUARD, 124, "stopped by guard: %s", message);
    } else if (which != sup->guard.warned) {
        sup->guard.warned = which;
        sup_write_status(sup, SW_RUNNING, which ? SW_REASON_GUARD : "", message);
    }
}
