/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_tree.h - the processes of a job: those below its supervisor, or those that carry its
 * marks (its folder in their environment, its log's pipe) when the supervisor is no more.
 */
#ifndef SW_PLATFORM_LOCAL_TREE_H
#define SW_PLATFORM_LOCAL_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/auto.h"

struct local_process {
    pid_t pid, parent;
    unsigned long long start_ticks;
    int64_t resident_bytes;
};

struct local_processes {
    struct local_process *items;
    size_t count;
};

void local_processes_done(struct local_processes *all);
static inline void local_processes_auto(struct local_processes *all) { local_processes_done(all); }

/* Everything below `root`, zombies left out: costs what the tree costs, not what the machine does,
 * so it can be asked every few seconds. Other supervisors and what is below them are jobs
 * of their own and are left out too. */
void local_tree_below(pid_t root, struct local_processes *out);

/* Adds the processes of this user that carry a mark of the attempt in `folder`. */
void local_tree_marked(const char *folder, struct local_processes *out);

/* Processes of this user that carry the mark of any attempt below `root` (jobs' folders): `fn`
 * gets the attempt's folder of each. */
void local_tree_each_marked(const char *root, void (*fn)(void *context, pid_t pid,
                                                         const char *folder), void *context);

/* Signal each, but not those whose pid is in `spare`; a number used again is never hit. */
void local_tree_signal(const struct local_processes *all, int signal, const pid_t *spare,
                       size_t spare_count);

/* Memory of all these: resident pages summed; when that is above `limit`, shared pages are
 * counted fairly (PSS) before the limit counts as exceeded. */
int64_t local_tree_memory(const struct local_processes *all, int64_t limit);

/* End what carries the mark: TERM, a short grace, KILL. True: nothing is left. */
bool local_tree_sweep(const char *folder, int64_t grace_ms);

#endif
