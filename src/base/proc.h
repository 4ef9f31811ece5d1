/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.h - who a process is, and how one is started so that its failure is heard.
 *
 * A pid alone is not a name, since numbers are used again.
 * A process is known by boot id + pid + start time. A zombie counts as gone: where PID 1 reaps
 * late or never, it stays listed although nothing of it runs.
 */
#ifndef SW_BASE_PROC_H
#define SW_BASE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"

struct sw_proc {
    pid_t pid;
    unsigned long long start_ticks;   /* field 22 of /proc/PID/stat */
    char boot_id[40];
};

struct sw_proc_stat {
    pid_t pid, parent;
    unsigned long long start_ticks;
    int64_t resident_bytes;
    int64_t cpu_ticks;                /* with those of the children that it waited for */
};

int sw_proc_stat(pid_t pid, struct sw_proc_stat *out);   /* -1: no such process, or a zombie */
int sw_proc_self(struct sw_proc *out);
int sw_proc_of(pid_t pid, struct sw_proc *out);      /* -1: no such process, or a zombie */
bool sw_proc_alive(const struct sw_proc *proc);      /* the very same process, not a zombie */
bool sw_proc_same_boot(const struct sw_proc *proc);  /* was it born since this machine started? */
json_t *sw_proc_json(const struct sw_proc *proc);    /* {"pid","start","boot"} */
int sw_proc_from_json(const json_t *json, struct sw_proc *out);

/* Send a signal to exactly that process: 0, or -1 when it is gone. */
int sw_proc_signal(const struct sw_proc *proc, int signal);

/* Why a child could not become what it should: errno, and which step of the caller's it was. */
struct sw_start_failure {
    int error;                        /* 0: it did not fail */
    int step;
};

/* Fork a child that ends with us and has no signal blocked; there `become` executes the program. It
 * returns only when that failed, with the reason, which is in *why then (the child is reaped).
 * Returns the pid; -1 with why->error, or with err when no child could be made. */
pid_t sw_proc_start(void (*become)(void *context, struct sw_start_failure *why), void *context,
                    struct sw_start_failure *why, struct sw_error *err);

/* In `become`: these descriptors are the program's first three, and Ctrl-C and Ctrl-\ reach it. */
void sw_proc_take_fds(const int fds[3]);

/* Start a program that outlives us and has nothing of ours: a session of its own, no descriptor, the root
 * folder, umask 077, no signal blocked. `environment` NULL: ours. 0; -1: no process could be made.
 * Whether the program was there, its start does not tell. */
int sw_proc_detach(const char *program, char *const argv[], char *const environment[], struct sw_error *err);

/* Standard input, output and error of a process that a watcher started for commands: true, and they are the
 * caller's. `key`: where it shall lead; `facts`: what is known of that place, for the platform alone. */
enum { SW_CHANNELS = 3 };
typedef bool sw_borrow_fn(void *context, const char *key, int fds[SW_CHANNELS], struct sw_buf *facts);

enum { SW_HOST_SIZE = 65 };
void sw_host_name(char out[SW_HOST_SIZE]);       /* without its domain */

/* Ask a program of this machine: `input` to its standard input, its output back, at most 64 KiB within
 * 30 s. 0 with its exit status (-1: it was killed, too slow, or wrote too much); -1 + err: it cannot be
 * started. `output` is allocated once, so that growing leaves no copy of a secret behind. */
int sw_proc_ask(char *const argv[], const char *input, struct sw_buf *output, int *status,
                struct sw_error *err);

/* The same in two steps, so that several programs are asked at once. `environment` NULL: ours. */
struct sw_proc_asking {
    pid_t pid;
    int from;
};
int sw_proc_ask_begin(char *const argv[], char *const environment[], const char *input,
                      struct sw_proc_asking *asking, struct sw_error *err);
/* Its exit status, or -1, as above; of too long an answer `output` has the beginning. Every one that began
 * is ended. */
int sw_proc_ask_end(struct sw_proc_asking *asking, size_t most, int64_t deadline_ms, struct sw_buf *output);

/* A helper program of ours ("slipway-supervisor"), owned path: $SLIPWAY_LIBEXEC_DIR, beside the
 * running program, ../libexec/slipway from it, or where it was installed. Start it with `name` as
 * its argv[0]: several helpers may live in one file. */
char *sw_helper_path(const char *name, struct sw_error *err);

/* This program holds all helpers itself: sw_helper_path() answers SW_PROC_SELF from now on. That
 * is the running image whatever happened to its file since, so that replacing or removing the
 * program disturbs nothing that it started. */
#define SW_PROC_SELF "/proc/self/exe"
void sw_helpers_inside(void);

#endif
