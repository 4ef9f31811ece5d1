/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor_facts.c - what else was seen at the end of a job, for diagnose/ to judge.
 *
 * Each fact is something that happened on this machine, under the name diagnose/ knows it by;
 * what cannot be read (the kernel's messages, as an ordinary user) is left out.
 */
#include "platform/local/supervisor.h"

#include <signal.h>
#include <sys/statvfs.h>
#include <time.h>

#include "core/report.h"

enum { FULL_BELOW_BYTES = 1024 * 1024 };

/* ---- disks ---------------------------------------------------------------------------------- */

static bool is_full(const char *path)
{
    struct statvfs info;

    if (!path || statvfs(path, &info) < 0 || info.f_blocks == 0)
        return false;
    return (uint64_t)info.f_bavail * info.f_frsize < FULL_BELOW_BYTES ||
           (info.f_files > 0 && info.f_favail == 0);
}

/* A disk can be full beside a failure that has nothing to do with it. So only the places the job
 * itself must write to count, and shared memory only after the crash that its lack causes. */
static void check_disks(const struct sup *sup)
{
    const char *const places[] = { sup->folder, sw_json_str(sup->launch, "results_dir") };

    for (size_t i = 0; i < SW_COUNT(places); i++) {
        if (is_full(places[i])) {
            json_object_set_new(sup->facts, "disk_full", sw_json_text(places[i]));
            break;
        }
    }
    if (sup->end.signal == SIGBUS && is_full("/dev/shm"))
        json_object_set_new(sup->facts, "shm_full", json_true());
}

/* ---- the runner's own words ------------------------------------------------------------------ */

void sup_facts_report(struct sup *sup, const json_t *report)
{
    sw_auto(json) json_t *clean = sw_report_clean(report);
    json_t *sum = json_object_get(sup->facts, "runner");

    if (!clean)
        return;
    json_object_del(clean, "phase");          /* it was one of several */
    if (!sum)
        json_object_set_new(sup->facts, "runner", sum = json_object());
    sw_report_add(sum, clean);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int64_t boot_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);        /* the clock of the kernel's messages */
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void sup_facts_begin(struct sup *sup)
{
    sup->commands_began_us = boot_us();
    sup->oom_kills_before = sup_host_oom_kills();
}

void sup_facts_gather(struct sup *sup)
{
    int64_t oom = sup_host_oom_kills() - sup->oom_kills_before, peak = sup->limits.peak_bytes;

    for (int i = 0; i < sup->nodes; i++)
        if (sup->replicas[i].peak_bytes > peak)
            peak = sup->replicas[i].peak_bytes;
    json_object_set_new(sup->facts, "peak_memory_bytes", json_integer(peak));
    if (sup->started_ms && oom > 0)
        json_object_set_new(sup->facts, "host_oom_kills", json_integer(oom));
    if (sup->end.state == SW_ERROR) {
        check_disks(sup);
        if (sup->usage.meter)
            sup_find_xids(sup);
    }
    sup_usage_end(sup);
    sup_limits_close(&sup->limits, sup->facts);
}
