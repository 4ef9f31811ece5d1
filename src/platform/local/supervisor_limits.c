/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor_limits.c - memory and CPU limits: a cgroup v2 where we may make one, else what an
 * ordinary process can do.
 *
 * A cgroup with processes of its own cannot hand controllers to children, so ours is made
 * beside us (in the parent of our own cgroup) before it is tried below us. Without any, memory
 * is sampled by the loop and CPUs are limited by affinity. The status says which way it was.
 */
#include "platform/local/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "platform/local/local_internal.h"

enum { CPU_PERIOD_US = 100000, REMOVE_TRIES = 50 };

static int put(const char *folder, const char *name, const char *text)
{
    sw_autofree char *path = sw_path_join(folder, name);
    sw_autofd int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

static char *get(const char *folder, const char *name)
{
    sw_autofree char *path = sw_path_join(folder, name);

    return sw_file_read(path, 65536, NULL, NULL);
}

static bool lists(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = words; at && (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && strchr(" \n", at[length]))
            return true;
    return false;
}

/* May children of this cgroup be limited by `controller`? Asks for it when they may not yet. */
static bool hand_down(const char *folder, const char *controller)
{
    for (int tries = 0; tries < 2; tries++) {
        sw_autofree char *given = get(folder, "cgroup.subtree_control");
        sw_autofree char *more = sw_format("+%s", controller);

        if (given && lists(given, controller))
            return true;
        if (put(folder, "cgroup.subtree_control", more) < 0)
            return false;
    }
    return false;
}

static char *make_below(const char *folder, const char *name, bool memory, bool cpu)
{
    sw_autofree char *path = sw_path_join(folder, name);

    if ((memory && !hand_down(folder, "memory")) || (cpu && !hand_down(folder, "cpu")))
        return NULL;
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return NULL;
    return sw_take(path);
}

static bool set_limits(const char *cgroup, int64_t memory_bytes, double cpus)
{
    char text[64];

    if (memory_bytes > 0) {
        snprintf(text, sizeof text, "%lld", (long long)memory_bytes);
        if (put(cgroup, "memory.max", text) < 0)
            return false;
        put(cgroup, "memory.swap.max", "0");        /* absent where there is no swap */
        put(cgroup, "memory.oom.group", "1");
    }
    if (cpus > 0) {
        snprintf(text, sizeof text, "%lld %d", (long long)llround(cpus * CPU_PERIOD_US),
                 CPU_PERIOD_US);
        if (put(cgroup, "cpu.max", text) < 0)
            return false;
    }
    return true;
}

void sup_limits_open(struct sup_limits *limits, const char *hierarchy, const char *own,
                     const char *name, int64_t memory_bytes, double cpus)
{
    sw_autofree char *found = own ? NULL : local_cgroup_of(getpid());
    const char *place = own ? own : found;
    sw_autofree char *here = NULL, *beside = NULL;

    *limits = (struct sup_limits){ .memory_bytes = memory_bytes, .sample = memory_bytes > 0 };
    if (!place || (memory_bytes <= 0 && cpus <= 0))
        return;
    here = sw_format("%s%s", hierarchy ? hierarchy : LOCAL_CGROUPS, place);
    beside = strcmp(place, "/") == 0 ? NULL : sw_path_absolute("..", here);
    if (beside)
        limits->cgroup = make_below(beside, name, memory_bytes > 0, cpus > 0);
    if (!limits->cgroup)
        limits->cgroup = make_below(here, name, memory_bytes > 0, cpus > 0);
    if (limits->cgroup && !set_limits(limits->cgroup, memory_bytes, cpus)) {
        rmdir(limits->cgroup);
        free(sw_take(limits->cgroup));
    }
    limits->sample = memory_bytes > 0 && !limits->cgroup;
}

void sup_limits_join(const struct sup_limits *limits)
{
    if (limits->cgroup && put(limits->cgroup, "cgroup.procs", "0") < 0)
        _exit(126);                  /* never run without the limit that was promised */
}

static int64_t number_after(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (const char *line = text; line && *line;) {
        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            return strtoll(line + length, NULL, 10);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return 0;
}

/* As `kubectl top` counts: what could be given back at once does not count as used. */
int64_t sup_limits_memory(const struct sup_limits *limits)
{
    sw_autofree char *current = NULL, *more = NULL;
    int64_t used;

    if (!limits->cgroup || limits->memory_bytes <= 0)
        return -1;
    current = get(limits->cgroup, "memory.current");
    more = get(limits->cgroup, "memory.stat");
    if (!current)
        return -1;
    used = strtoll(current, NULL, 10) - (more ? number_after(more, "inactive_file") : 0);
    return used > 0 ? used : 0;
}

int64_t sup_limits_oom_kills(const struct sup_limits *limits)
{
    sw_autofree char *events = limits->cgroup ? get(limits->cgroup, "memory.events") : NULL;

    return events ? number_after(events, "oom_kill") : 0;
}

int64_t sup_host_oom_kills(void)
{
    sw_autofree char *text = get("/proc", "vmstat");

    return text ? number_after(text, "oom_kill") : 0;
}

void sup_limits_kill(const struct sup_limits *limits)
{
    if (limits->cgroup)
        put(limits->cgroup, "cgroup.kill", "1");
}

void sup_limits_close(struct sup_limits *limits, json_t *facts)
{
    if (!limits->cgroup)
        return;
    if (limits->memory_bytes > 0) {
        sw_autofree char *peak = get(limits->cgroup, "memory.peak");

        json_object_set_new(facts, "oom_kills", json_integer(sup_limits_oom_kills(limits)));
        if (peak)
            json_object_set_new(facts, "peak_memory_bytes", json_integer(strtoll(peak, NULL, 10)));
    }
    /* The kernel lets go of the last process a moment after we reaped it. */
    for (int i = 0; i < REMOVE_TRIES && rmdir(limits->cgroup) < 0 && errno == EBUSY; i++)
        sw_sleep_ms(10);
    free(sw_take(limits->cgroup));
}

void sup_affinity(double cpus, int rank)
{
    cpu_set_t allowed, chosen;
    int total, wanted = (int)ceil(cpus), skip, taken = 0;

    if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        return;
    total = CPU_COUNT(&allowed);
    if (wanted >= total)
        return;
    CPU_ZERO(&chosen);
    skip = (int)((getppid() + rank * wanted) % total);       /* jobs spread over the machine */
    for (int i = 0; taken < wanted; i = (i + 1) % CPU_SETSIZE) {
        if (!CPU_ISSET(i, &allowed) || CPU_ISSET(i, &chosen) || skip-- > 0)
            continue;
        CPU_SET(i, &chosen);
        taken++;
    }
    sched_setaffinity(0, sizeof chosen, &chosen);
}
