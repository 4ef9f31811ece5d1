/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_internal.h - what the files of this folder share.
 *
 * Everything that is known about a job lies in its base folder on the cluster's shared file system, so any
 * machine with the id and the credentials can take it over. Scripts are NAME.sh; the C file beside each sets
 * its values and reads its records (slurm_text.h). Pure, without any I/O: options, names, shape, batch, task,
 * container, convert, image, retry, states, rows, observation, check_text, site.
 */
#ifndef SW_PLATFORM_SLURM_INTERNAL_H
#define SW_PLATFORM_SLURM_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "core/mount.h"
#include "core/payload.h"
#include "net/ssh.h"
#include "platform/platform.h"
#include "platform/slurm/slurm_options.h"
#include "platform/slurm/slurm_text.h"

enum {
    SLURM_ID_ROOM = 64,
    SLURM_RUNNER_ROOM = 64,
    SLURM_MACHINES = 2,            /* kinds of processors that there is a runner for */
};

/* ---- slurm_names.c: where things are ----------------------------------------------------------- */

struct slurm_names {               /* one attempt of one job; all owned */
    char *base;
    char *job_name;                /* what squeue shows */
    char *comment;                 /* which attempt of which job it is */
    char *specs, *env, *secrets, *meta, *entrypoint, *payload, *code, *rules, *sbatch;
    char *mounts;                  /* file: what --container-mounts gets */
    char *state;                   /* folder of our own evidence: claim, job, exit, rank-N.json */
    char *logs;                    /* folder of the log files */
    char *results;
    char *work;                    /* inputs, code, config, the runner's notes: what is no result */
};
void slurm_names_init(struct slurm_names *names, const char *base, const char *prefix,
                      const char *id, int attempt);
void slurm_names_done(struct slurm_names *names);
static inline void slurm_names_auto(struct slurm_names *names) { slurm_names_done(names); }
char *slurm_comment(const char *id, int attempt);                       /* owned */
/* Absolute, not "/", nothing that would need care in a shell or in Slurm's patterns. */
int slurm_base_check(const char *base, struct sw_error *err);
int slurm_path_check(const char *option, const char *path, struct sw_error *err);
/* What becomes part of a name or of a command: a word without anything that a shell or Slurm reads
 * otherwise. */
int slurm_word_check(const char *option, const char *word, struct sw_error *err);
/* What the cluster calls "lustre:///data", "slurm://fs/data" and "/data"; owned; NULL: no path of its own. */
char *slurm_path_of(const char *place);

/* ---- slurm_shape.c ----------------------------------------------------------------------------- */

struct slurm_shape {
    int nodes, gpus;               /* per node */
    bool exclusive;
    int cpus;                      /* per task; 0: the cluster's default */
    int tasks_per_node;
    int64_t limit_minutes;         /* --time */
    int64_t soft_s;                /* when we end it ourselves, from its start; 0: never */
    int64_t ahead_s;               /* how long before Slurm's limit that is; 0: nothing is said before it */
    int64_t time_grace_ms;         /* between TERM and KILL when its time is up */
};

struct slurm_job {                 /* a plan as the render functions need it; slurm_job_init() */
    const struct sw_plan *plan;
    struct slurm_job_options options;
    struct slurm_cosmos cosmos;
    struct slurm_shape shape;
    struct slurm_names names;
    int attempt;
    const char *prefix;            /* of its name in the queue; borrowed */
    const char *runner[SLURM_MACHINES];    /* its path there, by kind; NULL: none; borrowed */
    const char *ca;                /* of the certificates, beside the payload; NULL: none; borrowed */
};
int slurm_job_init(struct slurm_job *job, const struct sw_plan *plan, const char *base, const char *prefix,
                   int attempt, struct sw_error *err);
static inline void slurm_job_auto(struct slurm_job *job) { slurm_names_done(&job->names); }

/* Are there outputs to bring? */
bool slurm_has_outputs(const struct sw_plan *plan);
int slurm_shape_of(const struct sw_plan *plan, const struct slurm_job_options *options,
                   const struct slurm_cosmos *cosmos, struct slurm_shape *shape, struct sw_error *err);
/* How many logs the job has: of its nodes, of an array's tasks, of the processes of `launcher: mpi`. */
int slurm_replica_count(const struct slurm_job *job);
int slurm_replicas_of(const struct sw_jobref *job);
/* The name of the log of a rank, or of a task of an array; owned. */
char *slurm_log_name(const struct sw_jobref *job, int replica);
void slurm_time_text(int64_t minutes, char out[32]);                    /* "04:00:00" */
/* Minutes of "4:00:00", "2-00:00:00", "30:00", "infinite" (-1); false: no time. */
bool slurm_time_parse(const char *text, int64_t *minutes);

/* ---- slurm_batch.c, slurm_task.c: what is sent ------------------------------------------------- */

int slurm_batch(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);
bool slurm_waits_for_ours(const struct slurm_job *job);  /* does `dependency` name jobs of ours? */
void slurm_entrypoint(struct sw_buf *out, const struct slurm_job *job);
json_t *slurm_environment(const struct slurm_job *job);                 /* owned */
struct sw_payload *slurm_payload(const struct slurm_job *job, struct sw_error *err);
bool slurm_has_tasks(const struct slurm_job *job);       /* is it an array? */
bool slurm_has_own_root(const struct slurm_job *job);    /* a container whose files are the job's own */
bool slurm_mounts_results(const struct slurm_job *job);  /* is the results folder at /results there? */
bool slurm_rewrites_paths(const struct sw_plan *plan);
json_t *slurm_render(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err);

/* ---- slurm_container.c: image and mounts of the plan, as pieces of the script ------------------- */

int slurm_container_preflight(const struct slurm_job *job, struct sw_error *err);
/* Before the step: the image is there. */
int slurm_container_prepare(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);
int slurm_container_step(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);
/* Does it run in an OCI bundle of the user's, which Slurm itself enters? */
bool slurm_in_bundle(const struct slurm_job *job);
/* Variables of the batch script that a step sees in its container. Owned. */
char *slurm_container_names(const struct slurm_job *job);
/* For the login node, before the submit: makes sure of the sources of mounts. */
int slurm_mounts_script(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);
int slurm_mounts_shown(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);
/* What a cluster cannot mount is refused: paths of the client's machine. */
int slurm_mounts_check(const struct sw_mounts *mounts, struct sw_error *err);

/* ---- slurm_retry.c ------------------------------------------------------------------------------- */

#define SLURM_RETRIES 10           /* when the job file says nothing (MAX_JOB_RETRIES) */

/* Values and functions of slurm_retry.sh, behind sw_text_once(). Before they are called, the batch script
 * sets SW_RECORD, SW_OUT, SW_ERR, SW_CANCELED and SW_RUNNER. */
int slurm_retry_text(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);
/* Of a job that tried again, by its record: which attempt it is at, how those before went, and a word about
 * it in its message. */
void slurm_attempts_describe(const char *text, size_t length, struct sw_observation *seen);

/* ---- slurm_convert.c: the image made ready ------------------------------------------------------ */

struct slurm_cache;
struct slurm_cache slurm_cache_of(const struct slurm_job *job);
/* Does a job of its own convert the image, so that no GPUs wait for it? */
bool slurm_converts_elsewhere(const struct slurm_job *job);
int slurm_convert_batch(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);
/* Values by which the submit starts `$state/image.sbatch`, unless the image or such a job is there. */
int slurm_convert_values(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);

/* ---- slurm_preflight.c: before anything is queued ----------------------------------------------- */

int slurm_preflight(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err);
/* The values of slurm_needs.sh; `with_limit`: the time is checked, too. */
void slurm_needs_values(struct sw_buf *out, const struct slurm_job *job, bool with_limit);
json_t *slurm_preflight_report(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err);

/* ---- slurm_check_text.c, slurm_site.c: what a cluster says about itself, as documents ------------ */

struct slurm_checked {             /* the job that is checked */
    int64_t minutes;               /* how long it wants to run; 0: not known */
    bool secret_named;             /* it brings its registry's password: no public one */
    bool login_brought;            /* by the submit: registry_login */
};
/* What slurm_checks.sh answered, as findings {"check","ok","message","fix"} added to `rows`. */
void slurm_check_text(json_t *rows, const struct slurm_checked *job, const char *answers);
void slurm_finding(json_t *rows, const char *check, bool ok, const char *message, const char *fix);
/* The record "refused WORD TEXT" of a submit as an error; always -1. */
int slurm_refused(struct slurm_record *record, struct sw_error *err);

/* How many GPUs "gpu:a100:8(S:0-1),nic:1" names; `types` (may be NULL) counts them by type. */
int64_t slurm_gres_gpus(const char *gres, json_t *types);

/* `scontrol -o show partition` and `scontrol -d -o show node` as {"partitions": [...],
 * "gpus_total", "gpus_free", ...}. */
json_t *slurm_site(const char *partitions, const char *nodes);

/* ---- slurm_states.c ------------------------------------------------------------------------------ */

enum sw_state slurm_state(const char *said, const char **note);
/* Our one word for the end that Slurm names so ("time", "memory", "node-lost"); "" for none. */
const char *slurm_end_reason(const char *said);
/* Why it waits: our word for the reason, and a sentence. */
void slurm_waiting(const char *said, const char **reason, const char **sentence);

/* ---- slurm_rows.c: one line of squeue or sacct, split in place ----------------------------------- */

#define SLURM_SQUEUE_FORMAT "%T|%i|%V|%r|%S|%e|%N|%j|%k"
#define SLURM_SACCT_FORMAT  "JobID,State,ExitCode,DerivedExitCode,Start,End,NodeList,JobName,Comment"

struct slurm_id {                  /* "123", "123_4", "123_[0-9%2]", "123+1", "123.batch" */
    int64_t job;
    int task;                      /* of an array; -1: none */
    bool many;                     /* pending tasks of an array in one row */
    int part;                      /* of a heterogeneous job; -1: none */
    char step[24];                 /* "" for the job itself */
};
bool slurm_id_parse(const char *text, struct slurm_id *id);
int64_t slurm_when(const char *text);                  /* ms since 1970; 0: not known */

struct slurm_row {                 /* texts point into the line */
    struct slurm_id id;
    const char *state, *nodes, *name, *comment;        /* of a step the name is its own */
    const char *why;               /* squeue's reason; NULL: a row of sacct */
    int code, signal, derived_code;                    /* of sacct */
    int64_t start_ms, end_ms;
};
struct slurm_rows {
    struct slurm_row *items;
    size_t count, room;
};
bool slurm_squeue_line(char *line, struct slurm_row *out);
bool slurm_sacct_line(char *line, struct slurm_row *out);
void slurm_first_node(const char *nodes, char out[128]);                /* "n[1-3],x" -> "n1" */

/* ---- slurm_observation.c: all that was answered about one job -> one observation ---------------- */

struct slurm_answers {             /* rows of one question */
    struct slurm_rows live;        /* of squeue, by number: slurm_rows_sort() */
    struct slurm_rows past;        /* of sacct */
};
struct slurm_mark {                /* what a job of ours is called in the queue; borrowed */
    const char *name, *comment;
};
struct slurm_exit {                /* how the job's own script recorded its end; owned */
    json_t *record;                /* NULL: it did not */
    json_t *report;                /* of the runner of the rank that failed; NULL: there is none */
};
struct slurm_known {               /* what else is known about the job */
    int64_t number;                /* Slurm's; 0: not known */
    struct slurm_mark mark;        /* by which a row is known to be about it */
    bool search;                   /* its number may be another one: any row with the mark counts */
    struct slurm_exit exit;
    struct slurm_exit task_exit;   /* that of the first task of an array that failed */
    int task;
    bool canceled;                 /* a cancel was asked for */
    bool accounting;               /* sacct answers */
    const char *dependency;        /* as its options say it; NULL: none; borrowed */
    int64_t now_ms;
};
/* Slurm gives a number again to another job when it has counted to its end, and two clusters count alike:
 * a number is believed only with our name or comment beside it. */
bool slurm_is_ours(const struct slurm_mark *mark, const char *name, const char *comment);
void slurm_rows_sort(struct slurm_rows *rows);
/* "afterok:train-k3,after:17" -> "train-k3, Slurm job 17"; owned; NULL: no job is named. */
char *slurm_waits_for(const char *dependency);
/* false: nothing in the answers is about this job. */
bool slurm_observation(const struct slurm_answers *answers, const struct slurm_known *known,
                       struct sw_observation *out);

/* ---- the connection -------------------------------------------------------------------------------- */

struct slurm_times;
struct slurm_connection {
    struct sw_ssh *ssh;
    pthread_mutex_t lock;          /* one question at a time; guards what follows */
    json_t *documents;             /* what `options` borrows from */
    struct slurm_connect_options options;
    char *state_dir;
    char *identity, *identity_of;  /* which cluster it is, and the login host that said so; NULL: not asked */
    char *safe_base;               /* a base folder that no other may write to, and there */
    char *allowed_in;              /* partitions that allowed a job of allowed_minutes */
    int64_t allowed_minutes;
    const void *runner[SLURM_MACHINES];    /* those that runner_name is about; borrowed */
    char runner_name[SLURM_MACHINES][SLURM_RUNNER_ROOM];
    struct slurm_times *times;     /* of logs that were read with their times */
    void (*warn)(void *context, const char *text);
    void *warn_context;
    sw_env_fn *env;                /* values of variables */
    void *env_context;

    pthread_mutex_t lending;       /* guards the twin, whose shell is lent */
    struct sw_ssh *twin;           /* with a shell when one was asked for */
    atomic_llong answered_ms;      /* when the cluster answered last */
};
/* The connection that slurm_open() made. */
static inline struct slurm_connection *slurm_of(struct sw_connection *conn)
{
    return (struct slurm_connection *)conn;
}

/* slurm_lend.c: in a watcher; and in a command that holds the lock: a shell, and what is known. */
bool slurm_lend(struct sw_connection *conn, const char *key, int fds[SW_CHANNELS], struct sw_buf *facts);
void slurm_borrow(struct slurm_connection *slurm);

/* One call as it is; its exit code means nothing here. */
int slurm_call(struct sw_connection *conn, const struct sw_ssh_call *call, struct sw_ssh_reply *reply,
               struct sw_error *err);
/* The same for a script that ends with 75 when Slurm's controller does not answer: SW_E_UNREACHABLE. */
int slurm_ask(struct sw_connection *conn, const struct sw_ssh_call *call, struct sw_ssh_reply *reply,
              struct sw_error *err);
/* The same for a script alone that may run twice. */
int slurm_read(struct sw_connection *conn, const char *script, struct sw_ssh_reply *reply,
               struct sw_error *err);
/* A function of slurm_inspect.sh; `name` (NULL: none) is the value that it needs. */
int slurm_inspect(struct sw_connection *conn, const char *question, const char *name, const char *value,
                  struct sw_ssh_reply *reply, struct sw_error *err);
/* How long a call may take: `most_ms`, or less when the deadline comes before; 1 when it has passed. */
int64_t slurm_timeout(int64_t most_ms, int64_t deadline_ms);
/* slurm_registry.c: with `registry_login`, the image's registry knows us there. */
int slurm_registry_login(struct sw_connection *conn, const struct slurm_job *job, struct sw_error *err);
/* slurm_job_init() with base folder and prefix of the connection. */
int slurm_job_of(struct sw_connection *conn, const struct sw_plan *plan, int attempt, struct slurm_job *job,
                 struct sw_error *err);
bool slurm_is_array(const struct sw_jobref *job);
int slurm_submitted_as(const struct sw_jobref *job);       /* the attempt in the names of its folders */
/* Where a job is kept: as its details say, else as the connection does. Borrowed. */
int slurm_base_of(struct sw_connection *conn, const struct sw_jobref *job, const char **base,
                  const char **prefix, struct sw_error *err);
int slurm_names_of(struct sw_connection *conn, const struct sw_jobref *job, struct slurm_names *names,
                   struct sw_error *err);

/* ---- slots -------------------------------------------------------------------------------------------- */

int slurm_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                 const struct sw_secrets *secrets, struct sw_submission *out, struct sw_error *err);
int slurm_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count,
                  struct sw_error *err);
void slurm_reconcile(struct sw_connection *conn, const struct sw_observation *jobs, size_t count);
void slurm_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, int64_t deadline_ms);
void slurm_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, bool keep_results,
                   int64_t deadline_ms);
json_t *slurm_orphans(struct sw_connection *conn, const struct sw_sweep *sweep, struct sw_error *err);
json_t *slurm_replicas(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err);
void slurm_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                    struct sw_evidence *out, size_t count, int64_t deadline_ms);
void slurm_log_ends(struct sw_connection *conn, const struct sw_observation *const *seen, char **texts,
                    size_t count);
char *slurm_results_dir(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err);
/* slurm_exec.c: the script of a step beside a rank, for the login host. */
enum slurm_step_output {
    SLURM_STEP_BY_LINES,                 /* srun's own way */
    SLURM_STEP_AT_ONCE,                  /* every byte as it comes */
    SLURM_STEP_TERMINAL,                 /* of srun, which has one */
};
int slurm_exec_script(struct sw_buf *out, struct sw_connection *conn, const struct sw_jobref *job,
                      int replica, enum slurm_step_output output, char *const argv[], struct sw_error *err);
/* slurm_terminal.c: the same on the caller's terminal. */
int slurm_terminal_open(struct sw_connection *conn, const struct sw_jobref *job, const struct sw_exec *what,
                        struct sw_stream **out, struct sw_error *err);
int slurm_port_open(struct sw_connection *conn, const struct sw_jobref *job, int replica, int port,
                    struct sw_stream **out, struct sw_error *err);
int slurm_exec_open(struct sw_connection *conn, const struct sw_jobref *job, const struct sw_exec *what,
                    struct sw_stream **out, struct sw_error *err);
json_t *slurm_inventory(struct sw_connection *conn, struct sw_error *err);
int slurm_check_path(struct sw_connection *conn, const char *path, bool *exists, struct sw_error *err);
json_t *slurm_list_path(struct sw_connection *conn, const char *path, struct sw_error *err);
json_t *slurm_fetch_results(struct sw_connection *conn, const struct sw_jobref *job, const char *to,
                            struct sw_error *err);
int slurm_adopt(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *out,
                struct sw_error *err);
json_t *slurm_jobs(struct sw_connection *conn, struct sw_error *err);
int slurm_identify(struct sw_connection *conn, struct sw_buf *identity, struct sw_error *err);

/* ---- slurm_log.c --------------------------------------------------------------------------------- */

ssize_t slurm_log_read(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                       int64_t offset, char *bytes, size_t size, struct sw_error *err);
int slurm_log_size(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t *size,
                   struct sw_error *err);
int slurm_log_since(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t at_ms,
                    int64_t *offset, struct sw_error *err);
void slurm_times_free(struct slurm_times *times);          /* all of them */
int slurm_log_time(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t offset,
                   int64_t *at_ms, int64_t *until, struct sw_error *err);

#endif
