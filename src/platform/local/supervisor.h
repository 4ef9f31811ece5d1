/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor.h - what the files of the program slipway-supervisor share.
 *
 * One process, one thread, one poll() loop (supervisor_loop.c). supervisor_phases.c goes through the
 * phases of the job in order and calls that loop whenever it has to wait.
 */
#ifndef SW_PLATFORM_LOCAL_SUPERVISOR_H
#define SW_PLATFORM_LOCAL_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/json.h"
#include "base/secret.h"
#include "platform/local/local_gpu.h"
#include "platform/local/local_room.h"

/* ---- supervisor_log.c: one rank's output on its way to its file ---------------------------- */

struct sup_log {
    int pipe_read, pipe_write;
    int file, index;
    struct sw_redactor *redactor;
    struct sw_buf waiting;            /* redacted, not yet on disk */
    int64_t written;                  /* bytes in the file */
    int64_t indexed_ms;
    bool index_torn;                  /* its last line is not whole */
    int64_t lost;                     /* bytes we had to give up */
    int blocked_errno;                /* 0: the disk takes what we give it */
    int64_t blocked_since_ms;
};

int sup_log_open(struct sup_log *log, const char *folder, int rank,
                 const struct sw_secrets *secrets);
/* Move at most one piece; true: there was something. */
bool sup_log_move(struct sup_log *log);
void sup_log_finish(struct sup_log *log);           /* all that is left; closes */

/* ---- supervisor_limits.c: memory and CPU limits -------------------------------------------- */

struct sup_limits {
    char *cgroup;                     /* folder of the job's cgroup; NULL: there is none */
    int64_t memory_bytes;             /* of the whole job; 0: no limit */
    int64_t peak_bytes;               /* seen by sampling */
    bool sample;                      /* no cgroup: measured four times a second */
};

/* `hierarchy` is where cgroup v2 is mounted, `own` our own cgroup in it; both NULL: those of this machine. */
void sup_limits_open(struct sup_limits *limits, const char *hierarchy, const char *own,
                     const char *name, int64_t memory_bytes, double cpus);
void sup_limits_join(const struct sup_limits *limits);           /* in the child */
int64_t sup_limits_memory(const struct sup_limits *limits);      /* in use; -1: no cgroup */
int64_t sup_limits_oom_kills(const struct sup_limits *limits);
void sup_limits_kill(const struct sup_limits *limits);           /* everything in the cgroup */
void sup_limits_close(struct sup_limits *limits, json_t *facts);
void sup_affinity(double cpus, int rank);                        /* in the child */
int64_t sup_host_oom_kills(void);

/* ---- the job -------------------------------------------------------------------------------- */

struct sup_replica {
    pid_t pid;                        /* 0: not started */
    bool ended, stopped_by_us;
    int exit_code, signal;
    int64_t started_ms, ended_ms;
    int64_t peak_bytes;               /* its largest process */
    char *gpus;                       /* comma list of UUIDs */
    struct sup_log log;
};

struct sup_end {                      /* how it ends; the first decision stays */
    bool decided;
    enum sw_state state;
    char reason[48];
    char message[256];
    int exit_code, signal, failed_replica;
};

struct sup_usage {                     /* supervisor_usage.c */
    int64_t gpu_peak_bytes;           /* of the GPU that was filled most */
    struct sw_gpu_meter *meter;          /* NULL: no GPUs */
    json_t *shown;                    /* what the status record holds now */
    int64_t next_at, every_ms;        /* monotonic */
};

struct sup_guard {                    /* supervisor_usage.c */
    int64_t no_output_ms, idle_gpu_ms;    /* 0: not asked for */
    bool stop;
    int64_t output_at, busy_at;       /* monotonic */
    const char *warned;               /* which one; NULL: none */
};

struct sup_next {                     /* supervisor_retry.c: what follows a failure */
    bool again, only_collect;
    int64_t at;                       /* monotonic */
    json_t *record;                   /* "retry" of the exit record; NULL: nothing was decided */
};

struct sup_said {                     /* the state of the status record */
    enum sw_state state;
    char reason[48];
    char message[256];
};

struct sup {
    char *folder;                     /* the attempt's */
    json_t *launch;                   /* launch.json */
    const char *job_id;               /* borrowed from launch */
    int attempt, nodes, gpus;
    int64_t grace_ms, time_ms, disk_wait_ms;
    double cpus;
    const char *runner;               /* borrowed from launch */
    struct sw_secrets *secrets;

    int signal_fd, watch_fd;
    struct sup_replica *replicas;
    struct sup_limits limits;
    struct gpu_queue *queue;          /* while it waits for GPUs */
    struct gpu_lease *lease;          /* NULL: none taken */
    struct room_queue *room_queue;    /* while it waits for CPUs and memory */
    struct room_lease *room;          /* NULL: none taken */
    pid_t helper;                     /* prepare or collect; 0: none runs */
    int helper_status;
    bool cancel_asked;
    int64_t cancel_at;                /* monotonic */
    bool commands_run;                /* the time limit counts, memory is watched */

    int64_t started_ms;               /* wall clock; 0: nothing of the job was started */
    int64_t time_limit_at;            /* monotonic; 0: none */
    int64_t sample_at;                /* monotonic */
    int64_t commands_began_us, oom_kills_before;      /* supervisor_facts.c */
    int master_port;
    json_t *facts;
    struct sup_usage usage;
    struct sup_guard guard;
    struct sup_said said;
    struct sup_end end;
    struct sup_next next;
};

/* supervisor_loop.c: wait for one round of events, at most until `until_ms` (monotonic; 0: no
 * end). Moves logs, reaps children, notices cancel, time and memory. */
void sup_turn(struct sup *sup, int64_t until_ms);
bool sup_all_ended(const struct sup *sup);
void sup_decide(struct sup *sup, enum sw_state state, const char *reason, int exit_code,
                const char *fmt, ...) SW_PRINTF(5, 6);

/* supervisor_start.c: processes. */
int sup_start_replica(struct sup *sup, int rank);
int sup_start_helper(struct sup *sup, const char *mode);
int sup_free_port(void);

/* supervisor_phases.c: from the first record to the exit record. */
void sup_run_job(struct sup *sup);
void sup_write_status(struct sup *sup, enum sw_state state, const char *reason,
                      const char *message);
void sup_repeat_status(const struct sup *sup);     /* the same state, with what is new */

/* supervisor_retry.c: another attempt after a failure. */
void sup_judge(struct sup *sup);                   /* decides, before the exit record is written */
bool sup_pause(struct sup *sup);                   /* true: the next attempt begins, if only to be canceled */
char *sup_next_folder(const struct sup *sup);      /* made, with all records of its start; owned; NULL */

/* supervisor_usage.c: what the job uses while its commands run, and whether it makes progress. */
void sup_usage_begin(struct sup *sup);
void sup_usage_measure(struct sup *sup, int64_t now);
void sup_usage_end(struct sup *sup);
void sup_guard_load(struct sup *sup);
void sup_guard_output(struct sup *sup);                       /* there was some */
void sup_guard_check(struct sup *sup, int64_t now);
int64_t sup_guard_next(const struct sup *sup);                /* monotonic; 0: nothing to expect */

/* supervisor_facts.c: what else was seen. */
void sup_facts_begin(struct sup *sup);
void sup_facts_gather(struct sup *sup);
/* What the runner said of a phase or a rank joins the fact "runner" (core/report.h). */
void sup_facts_report(struct sup *sup, const json_t *report);
int sup_xid_of(const char *record, int64_t since_us, const char addresses[][32], int count);

/* The program `slipway-supervisor`; main() is in src/program. */
int supervisor_main(int argc, char **argv);

#endif
