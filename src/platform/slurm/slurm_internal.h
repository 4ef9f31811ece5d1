/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_internal.h - what the files of this folder share.
 *
 *     slurm.c           the descriptor and the connection
 *     slurm_options.c   the table of options, and what they say in types              (pure)
 *     slurm_names.c     what things are called on the cluster                         (pure)
 *     slurm_shape.c     nodes, GPUs, CPUs, time: what the plan asks for, in Slurm's terms (pure)
 *     slurm_render.c    plan -> batch script                                          (pure)
 *     slurm_task.c      plan -> what each task runs: entrypoint and letter            (pure)
 *     slurm_container.c the plan's image, mounts and retry as pieces of the script    (pure)
 *     slurm_cosmos.c    the roles of Cosmos-RL, as variables of its tasks              (pure)
 *     slurm_convert.c   its image converted by a job of its own                       (pure)
 *     slurm_image.c, slurm_mounts.c, slurm_credentials.c, slurm_retry.c   those pieces (pure)
 *     slurm_text.c      the shell texts, NAME.sh                                      (pure)
 *     slurm_runner.c    the runner for each kind of machine
 *     slurm_depend.c    waiting for another job of ours                                (pure)
 *     slurm_refusals.c  what sbatch says when nothing was queued                      (pure)
 *     slurm_states.c    Slurm's words to ours                                         (pure)
 *     slurm_squeue.c, slurm_sacct.c   rows of their answers                           (pure)
 *     slurm_seen.c      rows and our own records -> one observation                      (pure)
 *     slurm_findings.c, slurm_site.c  what a cluster says about itself (slurm_site.h)   (pure)
 *     slurm_preflight_report.c, slurm_inventory.c                                               ask
 *     slurm_submit.c, slurm_cargo.c, slurm_watch.c, slurm_log.c, slurm_cancel.c, slurm_end.c,
 *     slurm_look.c, slurm_evidence.c, slurm_fetch_results.c, slurm_exec.c                      act
 *
 * Whatever is known about a job lies in its base folder on the cluster's shared file system, so
 * any machine with the id and the credentials can take it over.
 */
#ifndef SW_PLATFORM_SLURM_INTERNAL_H
#define SW_PLATFORM_SLURM_INTERNAL_H

#include <pthread.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "core/payload.h"
#include "net/ssh.h"
#include "platform/platform.h"
#include "platform/slurm/slurm_text.h"

enum {
    SLURM_ID_ROOM = 64,
    SLURM_RUNNER_ROOM = 64,
    SLURM_CA_ROOM = 32,
    SLURM_NODES_MOST = 4096,
    SLURM_MACHINES = 2,            /* kinds of processors that there is a runner for */
};

/* ---- slurm_options.c ------------------------------------------------------------------------- */

extern const struct sw_option slurm_options[];

/* The list of texts under `key` with commas between; NULL: none. Owned. */
char *slurm_joined(const json_t *options, const char *key);

/* Who may read what a job leaves, as a umask: `shared`. Borrowed. */
const char *slurm_umask(const json_t *options);

/* ---- slurm_names.c: where things are ---------------------------------------------------------- */

struct slurm_names {               /* one attempt of one job; all owned */
    char *base;
    char *job_name;                /* what squeue shows */
    char *comment;                 /* which attempt of which job it is */
    char *specs, *env, *secrets, *meta, *entrypoint, *letter, *code, *rules, *sbatch;
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

/* ---- slurm_shape.c ---------------------------------------------------------------------------- */

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
/* Are there outputs to bring? */
bool slurm_brings(const struct sw_plan *plan);
int slurm_shape_of(const struct sw_plan *plan, struct slurm_shape *shape, struct sw_error *err);
/* How many logs the job has: of its nodes, of an array's tasks, of the processes of `launcher: mpi`. */
int slurm_replica_count(const struct sw_plan *plan, const struct slurm_shape *shape);
int slurm_replicas_of(const struct sw_jobref *job);
/* The name of the log of a rank, or of a task of an array; owned. */
char *slurm_log_name(const struct sw_jobref *job, int replica);
void slurm_time_text(int64_t minutes, char out[32]);                    /* "04:00:00" */
/* Minutes of "4:00:00", "2-00:00:00", "30:00", "infinite" (-1); false: no time. */
bool slurm_time_parse(const char *text, int64_t *minutes);

/* ---- slurm_places.c: folders as the job's own processes see them ------------------------------- */

struct slurm_job;
bool slurm_has_tasks(const struct sw_plan *plan);        /* is it an array? */
bool slurm_has_own_root(const struct sw_plan *plan);     /* a container whose files are the job's own */
bool slurm_rewrites_paths(const struct sw_plan *plan);
bool slurm_mounts_results(const struct sw_plan *plan);   /* is the results folder at /results there? */
/* Results and work folder of the job, or of an array's task; owned. */
char *slurm_results_inside(const struct slurm_job *job);
char *slurm_work_inside(const struct slurm_job *job);
/* Of an array: the line of the batch script that makes a task's own payload. */
void slurm_task_letter(struct sw_buf *out, const struct slurm_job *job);

/* ---- slurm_render.c, slurm_task.c ------------------------------------------------------------- */

struct slurm_job {                 /* what a render needs; all borrowed */
    const struct sw_plan *plan;
    const struct slurm_names *names;
    const struct slurm_shape *shape;
    int attempt;
    const char *runner[SLURM_MACHINES];    /* its path on the cluster, by kind; NULL: we have none */
    const char *ca;                /* that of the certificates, in the letter's folder; NULL: none */
};
int slurm_batch(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);
void slurm_entrypoint(struct sw_buf *out, const struct slurm_job *job);
json_t *slurm_environment(const struct slurm_job *job);                 /* owned */
struct sw_payload *slurm_letter(const struct slurm_job *job, struct sw_error *err);
json_t *slurm_render(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err);

/* ---- slurm_container.c: image, mounts and retry of the plan, as pieces of the script ----------- */

int slurm_container_preflight(const struct sw_plan *plan, struct sw_error *err);
/* Before the step: the image is there, the mounts are known. */
int slurm_container_prepare(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);
int slurm_container_step(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);
/* Does it run in an OCI bundle of the user's, which Slurm itself enters? */
bool slurm_in_bundle(const struct sw_plan *plan);
/* Variables of the batch script that a step sees in its container. Owned. */
char *slurm_container_names(const struct slurm_job *job);
/* For the login node, before the submit: sources of mounts are made sure of. */
int slurm_mounts_script(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);
int slurm_mounts_shown(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);
int slurm_job_retry(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);

/* ---- slurm_cosmos.c: nothing for a job without `cosmos` ------------------------------------------ */

void slurm_cosmos_environment(json_t *env, const struct slurm_job *job);
void slurm_cosmos_roles(struct sw_buf *out, const struct slurm_job *job);

/* ---- slurm_runner.c: the runner for each kind of machine ---------------------------------------- */

struct slurm_stock {               /* what many jobs share, under a name made of its content */
    const void *bytes;             /* NULL: not read, or we have none */
    size_t size;
    char *path;                    /* on the cluster; owned; NULL: the job needs none */
};
/* All that we have, or the one that the option names. -1: none. */
int slurm_runners_load(struct slurm_stock runners[SLURM_MACHINES], struct sw_connection *conn,
                       const struct sw_plan *plan, const char *base, struct sw_error *err);
/* For the submit: adds to $need the kinds of its machines whose runner the cluster lacks. */
void slurm_runners_look(struct sw_buf *out, const struct slurm_job *job);
/* The names of the runners of this version, each behind a space. */
void slurm_runner_names(struct sw_buf *out, struct sw_connection *conn);
unsigned slurm_runners_needed(const char *need);              /* bits by kind */
/* For the batch script: sets and exports slipway_runner, or ends the job. */
void slurm_runner_choose(struct sw_buf *out, const struct slurm_job *job);

/* ---- slurm_convert.c: the image made ready ------------------------------------------------------ */

struct slurm_cache;
struct slurm_cache slurm_cache_of(const struct slurm_job *job);
/* Does a job of its own convert the image, so that no GPUs wait for it? */
bool slurm_converts_elsewhere(const struct sw_plan *plan);
int slurm_convert_batch(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);
/* For the submit, behind put(): starts `$state/image.sbatch` unless the image or such a job is there, and
 * adds it to `after`. */
int slurm_convert_submit(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err);

/* ---- slurm_depend.c: `dependency` that names jobs of ours --------------------------------------- */

bool slurm_waits_for_ours(const json_t *options);
/* "afterok:train-k3,after:17" -> "train-k3, Slurm job 17"; owned; NULL: no job is named. */
char *slurm_waits_for(const char *dependency);
/* For the login node: sets `after`, what sbatch's --dependency gets; empty when the script says it.
 * `base` is set and `fail` is a function. */
void slurm_depend_script(struct sw_buf *out, const json_t *options);

/* ---- slurm_needs.c: lines for a login host, with `fail "WORD|TEXT"` of the caller -------------- */

/* Image, inputs, mounts, folders for outputs and (with $partition and $asked minutes) the time. */
void slurm_needs(struct sw_buf *out, const struct sw_plan *plan, bool with_limit);
/* `gpus_here TEXT` adds the GPUs of the partition to a refusal that may be about them. */
void slurm_gpus_here(struct sw_buf *out, const struct sw_plan *plan);

/* ---- slurm_refused.c: what those words mean ----------------------------------------------------- */

int slurm_refused(const struct sw_ssh_reply *reply, struct sw_error *err);     /* always -1 */
void slurm_refusal_finding(json_t *rows, char *line);                          /* "WORD|TEXT", split */

/* ---- slurm_refusals.c: shell functions of the submit ------------------------------------------- */

/* `refused_by TEXT`: sbatch said that nothing was queued; `refused_without_reason TEXT`: it did when the
 * queue has nothing either. */
void slurm_refusals_script(struct sw_buf *out);

/* ---- slurm_states.c --------------------------------------------------------------------------- */

enum sw_state slurm_state(const char *said, const char **note);
/* Our one word for the end that Slurm names so ("time", "memory", "node-lost"); "" for none. */
const char *slurm_end_reason(const char *said);
/* Why it waits: our word for the reason, and a sentence. */
void slurm_waiting(const char *said, const char **reason, const char **sentence);

/* ---- slurm_squeue.c, slurm_sacct.c: one line each, split in place ------------------------------ */

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

struct slurm_live {                /* a row of squeue */
    struct slurm_id id;
    const char *state, *why, *nodes, *name, *comment;  /* into the line */
    int64_t start_ms, end_ms;
    int64_t submit_ms;             /* a requeue is a submit: it never runs twice with the same */
};
bool slurm_squeue_line(char *line, struct slurm_live *out);

struct slurm_past {                /* a row of sacct */
    struct slurm_id id;
    const char *state, *nodes, *name, *comment;        /* of a step the name is its own */
    int code, signal;
    int derived_code;
    int64_t start_ms, end_ms;
};
bool slurm_sacct_line(char *line, struct slurm_past *out);
void slurm_first_node(const char *nodes, char out[128]);                /* "n[1-3],x" -> "n1" */

/* ---- slurm_seen.c: all that was answered about one job -> one observation ------------------------- */

struct slurm_answers {             /* borrowed rows of one poll */
    const struct slurm_live *live; /* by number: slurm_live_sort() */
    size_t live_count;
    const struct slurm_past *past;
    size_t past_count;
};
struct slurm_mark {                /* what a job of ours is called in the queue; borrowed */
    const char *name, *comment;
};
struct slurm_known {               /* what else is known about the job */
    int64_t slurm_id;              /* 0: not known */
    struct slurm_mark mark;        /* by which a row is known to be about it */
    bool search;                   /* its number may be another one: look for the mark in all rows */
    const json_t *exit;            /* our own last word; NULL: none */
    const json_t *task_exit;       /* that of the first task of an array that failed; NULL: none */
    int task;
    bool canceled;                 /* we were asked to cancel it */
    bool accounting;               /* sacct answers */
    const char *dependency;        /* as its options say it; NULL: none */
    int64_t now_ms;
};
/* Slurm gives a number again to another job when it has counted to its end, and two clusters count alike:
 * a number is believed only with our name or comment beside it. */
bool slurm_is_ours(const struct slurm_mark *mark, const char *name, const char *comment);
void slurm_live_sort(struct slurm_live *rows, size_t count);
/* The first row of a job in sorted ones; the others of it follow. NULL: none. */
const struct slurm_live *slurm_live_find(const struct slurm_live *rows, size_t count, int64_t job);
/* false: nothing in the answers is about this job. */
bool slurm_seen(const struct slurm_answers *answers, const struct slurm_known *known,
                struct sw_observation *out);

/* ---- the connection --------------------------------------------------------------------------- */

struct slurm_met {                 /* a job whose runs are known as long as its submit time is this */
    int64_t number, submit_ms;
};

struct sw_connection {
    struct sw_ssh *ssh;
    pthread_mutex_t lock;          /* one question at a time */
    json_t *options;               /* the connection's block */
    char *state_dir;
    char *identity, *identity_of;  /* which cluster it is, and the login host that said so; NULL: not asked */
    char *safe_base;               /* a base folder that no other may write to */
    char *allowed_in;              /* partitions that allowed a job of allowed_minutes */
    int64_t allowed_minutes;
    const void *runner[SLURM_MACHINES];    /* those that runner_name is about; borrowed */
    char runner_name[SLURM_MACHINES][SLURM_RUNNER_ROOM];
    struct slurm_met *met;         /* jobs of the last look; guarded by `lock` */
    size_t met_count;
    struct slurm_times *times;     /* of logs that were read with their times */
    struct stat ca_file;           /* the one that ca_name is about */
    char ca_name[SLURM_CA_ROOM];
    void (*warn)(void *context, const char *text);
    void *warn_context;
    sw_env_fn *env;                /* values of variables */
    void *env_context;
};

/* One call as it is; its exit code means nothing here. */
int slurm_call(struct sw_connection *conn, const struct sw_ssh_call *call, struct sw_ssh_reply *reply,
               struct sw_error *err);
/* One call of a script that ends with 75 when Slurm's own controller does not answer: that is
 * SW_E_UNREACHABLE. */
int slurm_ask_as(struct sw_connection *conn, const struct sw_ssh_call *call, struct sw_ssh_reply *reply,
                 struct sw_error *err);
/* One script on the login node. `input` may be NULL. SW_E_UNREACHABLE also when Slurm's own
 * controller does not answer (exit code 75 of our scripts). */
int slurm_ask(struct sw_connection *conn, const char *script, const struct sw_ssh_piece *input,
              size_t input_count, bool repeatable, struct sw_ssh_reply *reply,
              struct sw_error *err);
/* The same for what may take minutes; always repeatable. */
int slurm_ask_patiently(struct sw_connection *conn, const char *script, struct sw_ssh_reply *reply,
                        struct sw_error *err);
/* slurm_login.c: with `registry_login`, the image's registry knows us there. */
int slurm_registry_login(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err);
/* The base folder of this job, borrowed: the job's own, else the connection's; NULL + err. */
const char *slurm_base(struct sw_connection *conn, const json_t *details, struct sw_error *err);
const char *slurm_prefix(const struct sw_connection *conn, const json_t *details);
bool slurm_is_array(const struct sw_jobref *job);
int slurm_submitted_as(const struct sw_jobref *job);       /* the attempt in the names of its folders */
int slurm_names_of(struct sw_connection *conn, const struct sw_jobref *job, struct slurm_names *names,
                   struct sw_error *err);

/* A pattern of the shell: words of squeue after which nothing of the job is left. */
#define SLURM_OVER "COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL | OUT_OF_MEMORY | DEADLINE | " \
                   "BOOT_FAIL | PREEMPTED"

/* The shell function `newest PREFIX` sets `newest` to the last PREFIX.N that has a job; 0: none. */
#define SLURM_NEWEST                                                            \
    "newest() {\n"                                                              \
    "    newest=0\n"                                                            \
    "    for folder in \"$1\".[0-9]*; do\n"                                     \
    "        n=${folder##*.}\n"                                                 \
    "        case $n in *[!0-9]*) continue ;; esac\n"                           \
    "        [ ! -s \"$folder/job\" ] || [ \"$n\" -le \"$newest\" ] || newest=$n\n" \
    "    done\n"                                                                \
    "}\n"

/* The shell function `whole WORD`: is it digits and nothing else? A word of a file or of a program gets
 * into an arithmetic expression only then, since shells evaluate what it holds. */
#define SLURM_WHOLE "whole() { case $1 in '' | *[!0-9]*) return 1 ;; esac; }\n"

#define SLURM_ENVIRONMENT "umask 077\nexport LC_ALL=C TZ=UTC SLURM_TIME_FORMAT=%s\n"

int slurm_preflight(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err);
int slurm_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                 const struct sw_secrets *secrets, struct sw_submission *receipt,
                 struct sw_error *err);
int slurm_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count,
                  struct sw_error *err);
ssize_t slurm_log_read(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                       int64_t offset, char *bytes, size_t size, struct sw_error *err);
int slurm_log_size(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t *size,
                   struct sw_error *err);
int slurm_log_since(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t at_ms,
                    int64_t *offset, struct sw_error *err);
/* The beginning of a question about one rank's log: sets state, logs, name, file, and the part of the file
 * that is meant, from and to (empty: its end). */
int slurm_log_script(struct sw_buf *out, struct sw_connection *conn, const struct sw_jobref *job, int replica,
                     struct sw_error *err);

/* ---- slurm_times.c ------------------------------------------------------------------------------ */

#define SLURM_TIMES_S "5"            /* seconds: how often the batch script notes the sizes of its logs */
struct slurm_times;
void slurm_times_free(struct slurm_times *times);          /* all of them */
int slurm_log_time(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t offset,
                   int64_t *at_ms, int64_t *until, struct sw_error *err);
void slurm_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                  int64_t deadline_ms);
void slurm_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                   bool keep_results, int64_t deadline_ms);
json_t *slurm_replicas(struct sw_connection *conn, const struct sw_jobref *job,
                       struct sw_error *err);
void slurm_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                    struct sw_evidence *out,
                    size_t count, int64_t deadline_ms);
void slurm_log_ends(struct sw_connection *conn, const struct sw_observation *const *seen,
                    char **texts, size_t count);
char *slurm_results_dir(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err);
/* slurm_caches.c */
json_t *slurm_orphans(struct sw_connection *conn, const struct sw_sweep *sweep, struct sw_error *err);
int slurm_exec_open(struct sw_connection *conn, const struct sw_jobref *job, const struct sw_exec *what,
                    struct sw_stream **out, struct sw_error *err);
/* slurm_preflight_report.c, slurm_inventory.c */
json_t *slurm_preflight_report(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err);
json_t *slurm_inventory(struct sw_connection *conn, struct sw_error *err);
int slurm_check_path(struct sw_connection *conn, const char *path, bool *exists, struct sw_error *err);
json_t *slurm_list_path(struct sw_connection *conn, const char *path, struct sw_error *err);
json_t *slurm_fetch_results(struct sw_connection *conn, const struct sw_jobref *job, const char *to,
                    struct sw_error *err);
int slurm_adopt(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *receipt,
                struct sw_error *err);
json_t *slurm_jobs(struct sw_connection *conn, struct sw_error *err);

#endif
