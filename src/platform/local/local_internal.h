/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_internal.h - what the files of this folder share: the job folder, its records, the
 * process tree, and the pure functions that turn a plan into what is started.
 *
 * The client side (the platform struct) and the supervisor meet in the job folder only:
 *
 *     <state_dir>/local/<id>/results/          shared by all attempts
 *     <state_dir>/local/<id>/attempt-N/        everything else; see docs/internals/local-supervisor.md
 */
#ifndef SW_PLATFORM_LOCAL_INTERNAL_H
#define SW_PLATFORM_LOCAL_INTERNAL_H

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/proc.h"
#include "core/payload.h"
#include "plan/paths.h"
#include "platform/platform.h"

/* The records of an attempt's folder. */
#define LOCAL_PLAN       "plan.json"
#define LOCAL_PAYLOAD    "payload.json"      /* what the runner shall do */
#define LOCAL_LAUNCH     "launch.json"       /* what the supervisor needs */
#define LOCAL_SUPERVISOR "supervisor.json"   /* its process; when it exists, the job was started */
#define LOCAL_STATUS     "status.json"
#define LOCAL_EXIT       "exit.json"         /* how it ended; nothing runs once it is there */
#define LOCAL_CANCEL     "cancel"            /* a flag: stop, or never start */
#define LOCAL_NOW        "now"               /* a flag: the next attempt need not wait for its time */
#define LOCAL_CODE       "code.tar.gz"       /* the job's code, packed */
#define LOCAL_LOCK       "lock"              /* held by the supervisor while it lives */
#define LOCAL_GUESTS     "guests"            /* a flag: `exec` was used and may have left processes */

#define LOCAL_SUPERVISOR_NAME "slipway-sup"  /* what the kernel calls its process */
#define LOCAL_CGROUPS "/sys/fs/cgroup"
#define LOCAL_CGROUP_PREFIX "slipway-"       /* the rest is the job's id, "-" and the attempt */

enum {
    LOCAL_RECORD_MAX = 8 * 1024 * 1024,
    LOCAL_REPLICAS_MAX = 128,
};

extern const struct sw_platform sw_platform_local;

struct local_connection {
    char *state_dir;
    char *root;                      /* <state_dir>/local */
    void (*warn)(void *context, const char *text);
    void *warn_context;
};

/* What callers know as a connection. */
static inline struct local_connection *local_of(const struct sw_connection *conn)
{
    return (struct local_connection *)conn;
}

/* ---- local_records.c: the job folder ------------------------------------------------------ */

char *local_job_folder(const struct sw_connection *conn, const char *id);
char *local_attempt_folder(const struct sw_connection *conn, const char *id, int attempt);
int local_newest_attempt(const struct sw_connection *conn, const char *id);     /* 0: there is none */

/* Bounded read of one record; NULL when it is missing or not an object. */
json_t *local_record_read(const char *folder, const char *name);
/* Replaced whole, but without waiting for the disk: for what a crash of the machine may lose. */
int local_record_write(const char *folder, const char *name, const json_t *record,
                       struct sw_error *err);
/* The same, and on the disk when it returns. */
int local_record_keep(const char *folder, const char *name, const json_t *record,
                      struct sw_error *err);
bool local_has(const char *folder, const char *name);
bool local_has_begun(const char *folder);        /* this attempt was started, or it is over */
/* Of an exit record: what follows the failure, when its supervisor goes on to the next attempt; borrowed.
 * NULL: nothing. */
const json_t *local_next(const json_t *over);
char *local_next_folder(const char *folder);     /* of the attempt after this one; owned */
/* Its exit record says that another attempt follows, and that one has not begun. */
bool local_pauses(const char *folder);
/* A supervisor of this machine is at work on this attempt, or waits to begin the next one. */
bool local_is_attended(const char *folder);
/* The newest attempt that began, from this one on; or the one before, when this one is announced only. */
int local_attempt_now(const struct sw_connection *conn, const char *id, int attempt);
int local_flag(const char *folder, const char *name, struct sw_error *err);     /* an empty file */

int local_lock_take(const char *folder);         /* descriptor, or -1: another process holds it */
bool local_lock_held(const char *folder);        /* asks without taking it */
void local_host_name(char out[128]);
/* Where a process is in cgroup v2, below LOCAL_CGROUPS: "/user.slice/..."; NULL: nowhere. */
char *local_cgroup_of(pid_t pid);
/* A file without a name that holds the secrets, for a child: other processes of this user can read the
 * environment of a process. Descriptor, or -1 with errno. */
int local_secrets_file(const struct sw_secrets *secrets);

/* ---- local_tree.c: the processes of a job -------------------------------------------------
 *
 * Those below its supervisor, or those that carry its marks (its folder in their environment, its
 * log's pipe) when the supervisor is no more. */

struct local_processes {
    struct sw_proc_stat *items;
    size_t count;
};

void local_processes_done(struct local_processes *all);
static inline void local_processes_auto(struct local_processes *all) { local_processes_done(all); }

/* Everything below `root`, zombies left out: costs what the tree costs, not what the machine does,
 * so it can be asked every few seconds. Other supervisors and what is below them are jobs
 * of their own and are left out too. */
void local_tree_below(pid_t root, struct local_processes *out);

/* The environment of a process as /proc gives it, owned, NULL: it is closed to us; and the attempt's
 * folder that it carries as a mark, NULL: none. */
char *local_environ(pid_t pid, size_t *length);
const char *local_mark_in(const char *text, size_t length);

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

/* CPU time of all these and of those that ended below us, in milliseconds. */
int64_t local_tree_cpu_ms(const struct local_processes *all);

/* End what carries the mark: TERM, a short grace, KILL. True: nothing is left. */
bool local_tree_sweep(const char *folder, int64_t grace_ms);

/* ---- local.c: one attempt on this machine -------------------------------------------- */

struct local_job_options {
    bool share_gpus, inherit_env;
    const json_t *gpu_ids;           /* NULL: any */
    const char *results_dir;         /* NULL or "": the job's own folder */
    const char *shell;
    int64_t disk_wait_ms;
};

struct local_job {
    struct local_job_options options;
    struct sw_plan plan;             /* the caller's, with `mounts:` among its own `inputs` */
    char *folder;                    /* the attempt's */
    char *work_dir;
    char *results_dir;
    char *setup_dir, *setup_cache;   /* of this job, of all jobs: for what `setup:` makes */
};

enum local_mounts { LOCAL_MOUNTS_SHOW, LOCAL_MOUNTS_CHECK, LOCAL_MOUNTS_CLONE };

/* Done with local_job_done() also after a failure. */
int local_job_init(struct local_job *job, const struct sw_connection *conn, const struct sw_plan *plan,
                   int attempt, enum local_mounts use, struct sw_error *err);
void local_job_done(struct local_job *job);
static inline void local_job_auto(struct local_job *job) { local_job_done(job); }

/* ---- local_render.c: plan -> payload and launch record (pure) ------------------------------ */

struct sw_payload *local_payload(const struct local_job *job, struct sw_error *err);
json_t *local_launch(const struct local_job *job, int attempt);
json_t *local_render(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err);

/* Owned local path of a plain path or file:// URI; anything else is SW_E_UNSUPPORTED. */
char *local_source_path(const char *uri, const char *base_dir, struct sw_error *err);
/* The same, but what lies elsewhere (s3://, ...) is given back as it is. Unknown: SW_E_UNSUPPORTED. */
char *local_place_of(const char *uri, const char *base_dir, struct sw_error *err);

/* ---- local_preflight.c, local_submit.c, local_observe.c, local_cancel.c, local_cleanup.c ---- */

json_t *local_preflight_report(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err);
int local_preflight(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err);
/* Is this variable of the client kept from jobs that do not name it under `secrets`? */
bool local_env_is_credential(const char *name);
int local_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                 const struct sw_secrets *secrets, struct sw_submission *receipt,
                 struct sw_error *err);
int local_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count,
                  struct sw_error *err);
void local_reconcile(struct sw_connection *conn, const struct sw_observation *jobs, size_t count);
void local_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                  int64_t deadline_ms);
void local_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                   bool keep_results, int64_t deadline_ms);
/* SW_E_UNREACHABLE for an attempt that another machine runs. */
int local_refuse_elsewhere(const char *folder, const char *id, struct sw_error *err);

/* ---- local_inspect.c --------------------------------------------------------------------------- */

ssize_t local_log_read(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                       int64_t offset, char *bytes, size_t size, struct sw_error *err);
int local_log_size(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t *size,
                   struct sw_error *err);
int local_log_time(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t offset,
                   int64_t *at_ms, int64_t *until, struct sw_error *err);
int local_log_since(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t at_ms,
                    int64_t *offset, struct sw_error *err);
int64_t local_last_output_ms(const char *folder, int ranks);      /* 0: there was none */
json_t *local_replicas(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err);
void local_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                    struct sw_evidence *out,
                    size_t count, int64_t deadline_ms);
char *local_results_dir(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err);
int local_adopt(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *receipt,
                struct sw_error *err);
json_t *local_jobs(struct sw_connection *conn, struct sw_error *err);
int local_exec_open(struct sw_connection *conn, const struct sw_jobref *job, const struct sw_exec *what,
                    struct sw_stream **out, struct sw_error *err);
json_t *local_orphans(struct sw_connection *conn, const struct sw_sweep *sweep, struct sw_error *err);
json_t *local_inventory(struct sw_connection *conn, struct sw_error *err);

/* The attempt has no exit record, and its supervisor was started on another machine that shares this
 * folder: this machine cannot know whether it lives. `host` gets that machine's name. */
bool local_is_elsewhere(const char *folder, char host[128]);

/* The supervisor is gone and left no exit record: ends the processes it left, and writes that record.
 * False: the supervisor lives after all, or elsewhere. */
bool local_declare_lost(const char *folder);

/* What submit returns about the job in this folder. */
void local_submission(struct sw_submission *receipt, const char *folder, const char *results_dir);

#endif
