/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor_facts.c - what else was seen at the end of a job, for diagnose/ to judge.
 *
 * Each fact is something that happened on this machine, under the name diagnose/ knows it by.
 * What cannot be read is left out. Only the kernel's messages have the Xid codes of GPUs: most users,
 * on most machines, may not read those, and that is no error.
 */
#include "platform/local/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "core/report.h"

enum {
    FULL_BELOW_BYTES = 1024 * 1024,
    KMSG_RECORD_MAX = 8192, KMSG_RECORDS_MAX = 100000, XIDS_MAX = 16,
};

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

/* ---- Xids ----------------------------------------------------------------------------------- */

/* "6,123,4567890,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=..." -> 79; -1: not such a record, from
 * before `since_us`, or of another GPU than those in `addresses`. */
int sup_xid_of(const char *record, int64_t since_us, const char addresses[][32], int count)
{
    const char *said = strchr(record, ';');
    long long at_us;
    char address[32];
    int code;

    if (!said || sscanf(record, "%*u,%*u,%lld", &at_us) != 1 || at_us < since_us)
        return -1;
    said = strstr(said, "NVRM: Xid (PCI:");
    if (!said || sscanf(said, "NVRM: Xid (PCI:%31[0-9a-fA-F:]): %6d", address, &code) != 2)
        return -1;
    for (int i = 0; i < count; i++)
        if (strcasecmp(address, addresses[i]) == 0)
            return code;
    return -1;
}

static void add_once(json_t *codes, int code)
{
    size_t i;
    json_t *known;

    json_array_foreach(codes, i, known)
        if (json_integer_value(known) == code)
            return;
    if (json_array_size(codes) < XIDS_MAX)
        json_array_append_new(codes, json_integer(code));
}

static void find_xids(const struct sup *sup)
{
    sw_autofd int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    sw_auto(json) json_t *codes = json_array();
    char addresses[SW_GPU_MAX][32], record[KMSG_RECORD_MAX];
    int count = 0;

    for (int i = 0; i < sup->lease->count; i++)
        count += sw_gpu_meter_pci(sup->usage.meter, i, addresses[count]);
    for (int i = 0; kmsg >= 0 && count > 0 && i < KMSG_RECORDS_MAX; i++) {
        ssize_t n = read(kmsg, record, sizeof record - 1);
        int code;

        if (n < 0 && errno == EPIPE)             /* overwritten while we read: go on after it */
            continue;
        if (n <= 0)
            break;
        record[n] = '\0';
        code = sup_xid_of(record, sup->commands_began_us, (const char(*)[32])addresses, count);
        if (code >= 0)
            add_once(codes, code);
    }
    if (json_array_size(codes) > 0)
        json_object_set(sup->facts, "xid", codes);
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
            find_xids(sup);
    }
    sup_usage_end(sup);
    sup_limits_close(&sup->limits, sup->facts);
}
