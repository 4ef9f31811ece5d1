/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor_live.c - what a running job uses right now, left in its status for whoever looks.
 *
 * Looking must cost next to nothing, for a thousand jobs at once: memory is read from the cgroup
 * or along the job's own tree, NVML stays open, nothing is written unless something changed by
 * more than a hundredth, and a job that stands still is looked at less and less often.
 */
#include "platform/local/supervisor.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "platform/local/local_tree.h"

enum {
    FIRST_LOOK_MS = 1000,
    LOOK_EVERY_MS = 2000,
    LOOK_RARELY_MS = 16000,
    SMALL_BYTES = 1024 * 1024,
};

void sup_live_begin(struct sup *sup)
{
    sup->live.every_ms = LOOK_EVERY_MS;
    sup->live.next_at = sw_monotonic_ms() + FIRST_LOOK_MS;
    if (sup->lease)
        sup->live.meter = sw_gpu_meter_open(sup->lease->gpus, sup->lease->count);
}

void sup_live_end(struct sup *sup)
{
    if (sup->live.meter)
        sw_gpu_meter_facts(sup->live.meter, sup->facts);
    if (sup->live.gpu_peak_bytes > 0) {
        sw_auto(json) json_t *report = sw_json_object(SW_SUB("gpu", sw_json_object(
            SW_INT("count", sup->lease ? sup->lease->count : 0),
            SW_INT("memory_peak_bytes", sup->live.gpu_peak_bytes))));

        json_object_set_new(sup->facts, "peak_gpu_memory_bytes",
                            json_integer(sup->live.gpu_peak_bytes));
        sup_facts_report(sup, report);
    }
    sw_gpu_meter_close(sw_take(sup->live.meter));
    json_decref(sw_take(sup->live.shown));
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

static json_t *live_json(const struct sup *sup, int64_t memory)
{
    json_t *gpus = json_array();

    for (int i = 0; sup->live.meter && i < sup->lease->count; i++)
        json_array_append_new(gpus, gpu_json(&sup->lease->gpus[i]));
    return sw_json_object(SW_INT("memory_bytes", memory), SW_SUB("gpus", gpus));
}

static bool gpu_changed(const json_t *before, const json_t *now)
{
    int64_t load = sw_json_int(now, "used_percent", -1) - sw_json_int(before, "used_percent", -1);

    return load > 1 || load < -1 ||
           differs(sw_json_int(now, "memory_used", 0), sw_json_int(before, "memory_used", 0));
}

static bool changed(const json_t *before, const json_t *now)
{
    const json_t *gpus = json_object_get(now, "gpus"), *earlier = json_object_get(before, "gpus");

    if (!before || differs(sw_json_int(now, "memory_bytes", 0),
                           sw_json_int(before, "memory_bytes", 0)))
        return true;
    for (size_t i = 0; i < json_array_size(gpus); i++)
        if (gpu_changed(json_array_get(earlier, i), json_array_get(gpus, i)))
            return true;
    return false;
}

static void note_gpu_peak(struct sup *sup)
{
    for (int i = 0; i < sup->lease->count; i++)
        if (sup->lease->gpus[i].memory_used_bytes > sup->live.gpu_peak_bytes)
            sup->live.gpu_peak_bytes = sup->lease->gpus[i].memory_used_bytes;
}

void sup_live_look(struct sup *sup, int64_t now)
{
    struct sup_live *live = &sup->live;
    sw_auto(json) json_t *seen = NULL;
    int64_t memory;

    if (!sup->commands_run || sup->end.decided || now < live->next_at)
        return;
    memory = sup_limits_memory(&sup->limits);
    if (memory < 0)
        memory = local_tree_resident(getpid());
    if (memory > sup->limits.peak_bytes)
        sup->limits.peak_bytes = memory;
    if (live->meter) {
        sw_gpu_meter_read(live->meter, sup->lease->gpus);
        note_gpu_peak(sup);
        sup_guard_gpus(sup, now);
    }
    seen = live_json(sup, memory);
    if (changed(live->shown, seen)) {
        json_decref(live->shown);
        live->shown = sw_take(seen);
        live->every_ms = LOOK_EVERY_MS;
        sup_repeat_status(sup);
    } else if (live->every_ms < LOOK_RARELY_MS) {
        live->every_ms *= 2;
    }
    live->next_at = now + sup_guard_patience(sup, live->every_ms);
}
