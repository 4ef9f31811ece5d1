/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_tree.c - finding and ending the processes of a job through /proc.
 *
 * The supervisor is a subreaper, so whatever the job starts stays below it, daemons that fork
 * twice included: a walk over parents finds them all. When the supervisor itself was killed that
 * link is cut, and two marks find them: SLIPWAY_JOB_DIR in the environment, and the pipe of the
 * job's log as standard output or error (for those who cleared their environment). Only
 * processes that carry one of them, and belong to this user, are touched.
 */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"
#include "platform/local/local_internal.h"

enum { ENVIRON_MAX = 4 * 1024 * 1024, CHILDREN_MAX = 4096 };

void local_processes_done(struct local_processes *all)
{
    free(all->items);
    *all = (struct local_processes){ 0 };
}

static void add(struct local_processes *all, const struct sw_proc_stat *one)
{
    if ((all->count & (all->count - 1)) == 0)
        all->items = sw_realloc_array(all->items, all->count ? all->count * 2 : 1,
                                      sizeof *all->items);
    all->items[all->count++] = *one;
}

static bool read_small(const char *path, char *text, size_t size)
{
    sw_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;

    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static void scan(struct local_processes *all, bool (*wanted)(void *context, pid_t pid),
                 void *context)
{
    DIR *proc = opendir("/proc");

    if (!proc)
        return;
    for (struct dirent *entry; (entry = readdir(proc));) {
        pid_t pid = isdigit((unsigned char)*entry->d_name) ? (pid_t)atoi(entry->d_name) : 0;
        struct sw_proc_stat one;

        if (pid > 0 && (!wanted || wanted(context, pid)) && sw_proc_stat(pid, &one) == 0)
            add(all, &one);
    }
    closedir(proc);
}

/* A supervisor below us belongs to a job that our job submitted: not ours to end. */
static bool is_a_supervisor(pid_t pid)
{
    char path[64], name[32];

    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);      /* its exe is closed to its own user, too */
    /* Until it has given itself that name, its program's begins the same way. */
    return read_small(path, name, sizeof name) &&
           strncmp(name, LOCAL_SUPERVISOR_NAME, strlen(LOCAL_SUPERVISOR_NAME)) == 0;
}

static bool has(const struct local_processes *all, pid_t pid)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].pid == pid)
            return true;
    return false;
}

/* Adds the children of one process: each of its threads has a list of its own. false: that cannot be read, or
 * is too long. */
static bool add_children(pid_t parent, struct local_processes *all)
{
    char path[64], text[16384];
    DIR *threads;
    bool whole;

    snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
    threads = opendir(path);
    whole = threads != NULL;
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        char *rest = text;
        int used = 0, pid;

        if (!isdigit((unsigned char)*entry->d_name))
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent,
                 atoi(entry->d_name));
        if (!read_small(path, text, sizeof text))
            continue;
        whole = whole && strlen(text) < sizeof text - 1;
        for (; all->count < CHILDREN_MAX && sscanf(rest, "%d%n", &pid, &used) == 1; rest += used) {
            struct sw_proc_stat one;

            if (sw_proc_stat(pid, &one) == 0 && !is_a_supervisor(pid))
                add(all, &one);
        }
    }
    if (threads)
        closedir(threads);
    return whole && all->count < CHILDREN_MAX;
}

/* Among all processes of the machine: for a tree whose lists cannot be believed. */
static void search_below(pid_t root, struct local_processes *out)
{
    sw_auto(local_processes) struct local_processes all = { 0 };
    size_t found;

    scan(&all, NULL, NULL);
    do {                                /* one generation per round */
        found = 0;
        for (size_t i = 0; i < all.count; i++) {
            struct sw_proc_stat *one = &all.items[i];

            if (one->pid == 0 || (one->parent != root && !has(out, one->parent)))
                continue;
            if (!is_a_supervisor(one->pid)) {
                add(out, one);
                found++;
            }
            one->pid = 0;
        }
    } while (found > 0);
}

static bool has_no_child(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD;
}

/* By their lists of children: that costs what the tree costs, and a hundred jobs that end at once do not read
 * all of /proc a hundred times. A list that changes while it is read may leave one out: that there is none at
 * all is believed only when there is none to wait for. */
void local_tree_below(pid_t root, struct local_processes *out)
{
    bool whole;

    *out = (struct local_processes){ 0 };
    whole = add_children(root, out);
    for (size_t i = 0; i < out->count; i++)
        whole = add_children(out->items[i].pid, out) && whole;
    if (out->count > 0 ? whole : root == getpid() && has_no_child())
        return;
    local_processes_done(out);
    search_below(root, out);
}

struct marks {
    const char *folder;         /* the attempt's */
    json_t *pipes;              /* array of "pipe:[123]" from supervisor.json; may be NULL */
    const struct local_processes *known;
};

char *local_environ(pid_t pid, size_t *length)
{
    sw_autofree char *path = sw_format("/proc/%d/environ", (int)pid);

    return sw_file_read(path, ENVIRON_MAX, length, NULL);
}

const char *local_mark_in(const char *text, size_t length)
{
    for (const char *at = text; text && at < text + length; at += strlen(at) + 1)
        if (sw_text_starts(at, "SLIPWAY_JOB_DIR="))
            return strchr(at, '=') + 1;
    return NULL;
}

static bool is_another_of_ours(pid_t pid)
{
    char path[64];
    struct stat info;

    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return pid != getpid() && stat(path, &info) == 0 && info.st_uid == geteuid();
}

static bool writes_to(pid_t pid, int fd, const json_t *pipes)
{
    char path[64], target[64];
    size_t i;
    json_t *pipe;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    n = readlink(path, target, sizeof target - 1);
    target[n > 0 ? n : 0] = '\0';
    json_array_foreach(pipes, i, pipe)
        if (n > 0 && strcmp(target, json_string_value(pipe)) == 0)
            return true;
    return false;
}

static bool carries_mark(void *context, pid_t pid)
{
    const struct marks *marks = context;
    sw_autofree char *text = NULL;
    size_t length = 0;

    if (!is_another_of_ours(pid) || has(marks->known, pid))
        return false;
    text = local_environ(pid, &length);
    return sw_text_same(local_mark_in(text, length), marks->folder) ||
           writes_to(pid, 1, marks->pipes) || writes_to(pid, 2, marks->pipes);
}

void local_tree_marked(const char *folder, struct local_processes *out)
{
    sw_auto(json) json_t *supervisor = local_record_read(folder, LOCAL_SUPERVISOR);
    struct marks marks = { folder, json_object_get(supervisor, "pipes"), out };

    scan(out, carries_mark, &marks);
}

static bool is_of_this_user(void *context, pid_t pid)
{
    (void)context;
    return is_another_of_ours(pid);
}

void local_tree_each_marked(const char *root, void (*fn)(void *context, pid_t pid,
                                                         const char *folder), void *context)
{
    sw_autofree char *below = sw_format("%s/", root);
    sw_auto(local_processes) struct local_processes all = { 0 };

    scan(&all, is_of_this_user, NULL);
    for (size_t i = 0; i < all.count; i++) {
        size_t length = 0;
        sw_autofree char *text = local_environ(all.items[i].pid, &length);
        const char *folder = local_mark_in(text, length);

        if (folder && sw_text_starts(folder, below))
            fn(context, all.items[i].pid, folder);
    }
}

void local_tree_signal(const struct local_processes *all, int signal, const pid_t *spare,
                       size_t spare_count)
{
    struct sw_proc one;

    if (sw_proc_self(&one) < 0)
        return;
    for (size_t i = 0; i < all->count; i++) {
        bool spared = false;

        for (size_t j = 0; j < spare_count; j++)
            spared = spared || spare[j] == all->items[i].pid;
        one.pid = all->items[i].pid;
        one.start_ticks = all->items[i].start_ticks;
        if (!spared)
            sw_proc_signal(&one, signal);
    }
}

static int64_t fair_share(pid_t pid, int64_t otherwise)
{
    char path[64], text[4096];
    const char *pss;
    long long kib = 0;

    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    if (!read_small(path, text, sizeof text) || !(pss = strstr(text, "\nPss:")) ||
        sscanf(pss, " Pss: %lld", &kib) != 1)
        return otherwise;
    return (int64_t)kib * 1024;
}

int64_t local_tree_memory(const struct local_processes *all, int64_t limit)
{
    int64_t resident = 0, fair = 0;

    for (size_t i = 0; i < all->count; i++)
        resident += all->items[i].resident_bytes;
    if (resident <= limit)
        return resident;
    for (size_t i = 0; i < all->count; i++)
        fair += fair_share(all->items[i].pid, all->items[i].resident_bytes);
    return fair;
}

int64_t local_tree_cpu_ms(const struct local_processes *all)
{
    struct rusage ended;
    int64_t ticks = 0;

    getrusage(RUSAGE_CHILDREN, &ended);
    for (size_t i = 0; i < all->count; i++)
        ticks += all->items[i].cpu_ticks;
    return ticks * 1000 / sysconf(_SC_CLK_TCK) +
           (ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) * 1000 +
           (ended.ru_utime.tv_usec + ended.ru_stime.tv_usec) / 1000;
}

bool local_tree_sweep(const char *folder, int64_t grace_ms)
{
    int64_t begun = sw_monotonic_ms(), patience = grace_ms + 5000;
    bool asked = false;

    for (;;) {
        sw_auto(local_processes) struct local_processes left = { 0 };
        int64_t waited = sw_monotonic_ms() - begun;

        local_tree_marked(folder, &left);
        if (left.count == 0)
            return true;
        if (waited > patience)
            return false;
        if (waited >= grace_ms)
            local_tree_signal(&left, SIGKILL, NULL, 0);
        else if (!asked)
            local_tree_signal(&left, SIGTERM, NULL, 0);
        asked = true;
        sw_sleep_ms(waited < 100 ? 5 : 50);
    }
}
