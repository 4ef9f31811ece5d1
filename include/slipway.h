/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slipway.h - the public C API: launch jobs, watch them, explain them, fetch results.
 *
 * Everything about jobs goes through these functions; the `slipway` program itself uses
 * nothing else. The header needs only the standard library. Documents go in and come out as
 * JSON text, so no third-party type shows and any language can bind to it.
 *
 * Conventions
 *   - `char *` results are owned by the caller: release them with sw_text_free().
 *   - Functions return 0 / -1 or a pointer / NULL. On failure *err tells why; on success it is
 *     untouched. `err` may be NULL.
 *   - A session may be used from several threads. sw_close() must come last.
 *   - Structures that may grow begin with `size`; set it to sizeof, leave the rest zero.
 *   - A document is a JSON object that begins with "version" (1). Within a version fields are added, but
 *     none changes its meaning or goes away. Times are ISO 8601 texts in UTC (NAME_at), lengths of time
 *     milliseconds (NAME_ms); null where something is not known or there is none. sw_output_schema() has
 *     every field.
 */
#ifndef SLIPWAY_H
#define SLIPWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SW_API __attribute__((visibility("default")))
#else
#define SW_API
#endif

/* The version of this header; sw_version() is that of the library that runs. */
#define SLIPWAY_VERSION_MAJOR 0
#define SLIPWAY_VERSION_MINOR 1
#define SLIPWAY_VERSION_PATCH 0
#define SLIPWAY_VERSION "0.1.0"

#define SW_ID_MAX 35                 /* longest job id, in characters */
#define SW_ID_SIZE (SW_ID_MAX + 1)   /* room for one, with its NUL */

/* ---- errors ------------------------------------------------------------------------- */

/* What kind of failure: decides the exit status and whether trying again makes sense. */
enum sw_code {
    SW_OK = 0,
    SW_E_USAGE,        /* the call itself is wrong */
    SW_E_SPEC,         /* a job file, profile or flag is wrong */
    SW_E_NOT_FOUND,    /* no such job, file, platform */
    SW_E_CREDENTIAL,   /* a credential is missing or refused */
    SW_E_UNREACHABLE,  /* the platform did not answer: nothing is known, nothing has changed */
    SW_E_REFUSED,      /* the platform answered, and said no */
    SW_E_CONFLICT,     /* the state does not allow it: already exists, still running */
    SW_E_STORE,        /* the job store cannot be read or written */
    SW_E_IO,           /* a file cannot be read or written */
    SW_E_UNSUPPORTED,  /* there is no such thing on this platform or in this build */
    SW_E_TIMEOUT,      /* a deadline passed */
    SW_E_INTERRUPTED,  /* the caller's callback asked to stop */
    SW_E_INTERNAL,     /* an internal error: a bug of slipway */
    SW_E_UNTRUSTED,    /* files of the folder decide what needs sw_trust() first */
};

struct sw_error {
    enum sw_code code;
    char message[2048];   /* what failed and why, widest context first; may hold several lines */
    char hint[512];       /* what to do next; empty when nothing is known to help */
};

SW_API const char *sw_code_name(enum sw_code code);        /* "SpecError", "CredentialError", ... */
SW_API int sw_code_exit_status(enum sw_code code);         /* 64..78, see slipway(1) */

/* ---- states ------------------------------------------------------------------------- */

enum sw_state {
    SW_UNKNOWN = 0,   /* the platform has not said */
    SW_PENDING,
    SW_RUNNING,
    SW_PAUSED,
    SW_COMPLETE,
    SW_ERROR,
    SW_CANCELED,
};

SW_API const char *sw_state_name(enum sw_state state);     /* "Pending", "Running", ... */
SW_API bool sw_state_is_final(enum sw_state state);        /* Complete, Error, Canceled */

/* ---- text --------------------------------------------------------------------------- */

SW_API const char *sw_version(void);
SW_API void sw_text_free(char *text);

/* ---- session ------------------------------------------------------------------------ */

struct sw_session;
struct sw_copy_progress;

struct sw_open_options {
    size_t size;              /* sizeof(struct sw_open_options) */
    const char *state_dir;    /* NULL: $SLIPWAY_STATE_DIR, else slipway/ in $XDG_STATE_HOME or
                                 ~/.local/state */
    const char *project_dir;  /* where plans look for env.toml and .env; NULL: beside the job file (without
                                 one: here), then above it up to the root of the repository */
    const char *profile;      /* a section of the profiles to use; NULL: the platform's own name */
    bool read_only;           /* never create or change the store */
    void (*warn)(void *context, const char *text);   /* words for a person; NULL: dropped */
    void *warn_context;
    /* While something travels that a job needs before it can start (its image): what it is
     * ("pulling NAME") and how far it is; layers count as files. About ten times a second, on the
     * thread that submits. Non-zero stops it, and the submit fails. NULL: none. */
    int (*progress)(void *context, const char *what, const struct sw_copy_progress *progress);
    void *progress_context;
};

/* Open the job store (made on first use). Cheap: no network, no platform is touched. */
SW_API struct sw_session *sw_open(const struct sw_open_options *options, struct sw_error *err);
/* Never waits for a platform that does not answer: the thread that asks goes on until the answer
 * comes or the program ends (best with _exit(), since at exit() libraries take themselves apart
 * under its feet). */
SW_API void sw_close(struct sw_session *session);

/* ---- requests: what the user wants --------------------------------------------------- */

struct sw_request;

SW_API struct sw_request *sw_request_new(void);
SW_API void sw_request_free(struct sw_request *request);

/* Take a job file: YAML, JSON or TOML by its ending. "-" reads standard input. Relative paths
 * inside are meant relative to the file's folder. Reads the file, checks nothing yet. */
SW_API int sw_request_file(struct sw_request *request, const char *path, struct sw_error *err);

/* Take job.yaml of the current folder, where there is one (*found). It was found rather than named:
 * its connection keys, hooks and notifications need sw_trust(). */
SW_API int sw_request_find(struct sw_request *request, bool *found, struct sw_error *err);

/* The same from memory. `format` is "yaml", "json" or "toml"; `name` is used in messages. */
SW_API int sw_request_text(struct sw_request *request, const char *text, size_t length,
                           const char *format, const char *name, struct sw_error *err);

/* Set one value as a command line flag would: it wins over the job file. `key` is a dotted
 * path ("gpus", "env.NCCL_DEBUG", "slurm.partition"); `text` is read by the key's type.
 * For a list the value is appended. */
SW_API int sw_request_set(struct sw_request *request, const char *key, const char *text,
                          struct sw_error *err);

/* The command as an argument vector instead of shell text. */
SW_API int sw_request_argv(struct sw_request *request, int argc, const char *const *argv,
                           struct sw_error *err);

/* The request that this job was submitted with, to be changed and submitted as a new job.
 * SW_E_UNSUPPORTED: it was adopted, and its request is not known. */
SW_API int sw_request_again(struct sw_session *session, struct sw_request *request, const char *job_id,
                            struct sw_error *err);

/* Give the job id yourself: submitting the same job again finds the first one, and submitting
 * another job under its id is SW_E_CONFLICT. */
SW_API int sw_request_id(struct sw_request *request, const char *job_id, struct sw_error *err);

/* ---- plan and submit ------------------------------------------------------------------ */

/* Everything that would happen, and nothing happens. JSON:
 *   { "id", "group", "splits" (of several splits: theirs, and how many; the rest tells of the first),
 *     "platform", "platforms": [...] (all, in their order), "skipped": [ {"platform","why"} ],
 *     "values": [ {"key","value","source"} ],
 *     "settings": [ {"name","from","how"} ] of this machine that its data needs, "plan": {...},
 *     "sends": [ {"what","text"} ], "warnings": [] } */
SW_API char *sw_plan_job(struct sw_session *session, const struct sw_request *request,
                         struct sw_error *err);

/* Hand the job to its platform, at most once. Writes the job id. A failure after the job was
 * remembered leaves a row that tells the truth; the id is written in that case too. */
SW_API int sw_submit(struct sw_session *session, const struct sw_request *request,
                     char id[SW_ID_SIZE], struct sw_error *err);
/* The same; *already: the request names its id, and that same job was there. Nothing was sent then.
 * */
SW_API int sw_submit_once(struct sw_session *session, const struct sw_request *request,
                          char id[SW_ID_SIZE], bool *already, struct sw_error *err);

struct sw_outcome;
typedef void sw_outcome_fn(void *context, const struct sw_outcome *outcome);

/* The same for a request with `splits`, which is a group of jobs: "GROUP-0", "GROUP-1", ... Writes the
 * id of the group, which the request may give (SW_E_CONFLICT: it is that of others), or "" of a job
 * without splits. `tell` (may be NULL) hears of each that was handed over, in the order of their
 * numbers, and with `err` of one that failed after it was remembered. When one fails no further ones
 * are begun: the same request under the id of the group submits those that are missing, and no other.
 * sw_submit() of such a request is SW_E_USAGE. */
SW_API int sw_submit_many(struct sw_session *session, const struct sw_request *request,
                          char group[SW_ID_SIZE], sw_outcome_fn *tell, void *context,
                          struct sw_error *err);

/* Would the job be taken, and find what it needs? Looks at its platform (credentials by presence, reach,
 * versions, clock, disk, room, GPUs, image, mounts), its secrets and its data, and nothing happens. JSON:
 * {"version","platform","ok","checks": [{"check","state","ok","message","fix"}]}; `state` is "ok",
 * "failed", "not set up" or "not checked". What is wrong with the job itself is an error. */
SW_API char *sw_preflight(struct sw_session *session, const struct sw_request *request,
                          struct sw_error *err);
/* The same, and its data is tried from where the job will run: by a job of one small node without GPUs that
 * looks at each input, writes to each output, and is removed. Returns when that job has finished, after a
 * quarter of an hour at the latest. */
SW_API char *sw_preflight_there(struct sw_session *session, const struct sw_request *request,
                                struct sw_error *err);

/* What the job runs inside a container, and nothing happens. JSON: {"version", "id", "steps",
 * "payload", "code", "script"}; `steps` is for people, `code` says what of it travels (null
 * without code), and `script`, when asked for, is a POSIX shell script with everything inside,
 * runner included. */
SW_API char *sw_entrypoint(struct sw_session *session, const struct sw_request *request,
                           bool script, struct sw_error *err);

/* ---- trust ------------------------------------------------------------------------------ */

/* A folder may come from anyone. What its env.toml, .env or job.yaml say about where to connect and
 * what to run on this machine is taken only after the user trusted exactly that content; until then
 * planning and submitting fail with SW_E_UNTRUSTED, and nothing is opened.
 *
 * The files that this request needs to be trusted, for asking the user: JSON array of
 * {"path","sha256", "trusted","keys"}; `keys` are all that trust lets through. Empty: none. */
SW_API char *sw_untrusted(struct sw_session *session, const struct sw_request *request,
                          struct sw_error *err);
/* The same about one file, or the three of a folder. */
SW_API char *sw_trust_look(struct sw_session *session, const char *path, struct sw_error *err);
/* Trust a file as it is now. sha256 (NULL: any) is what the user has seen: SW_E_CONFLICT when the
 * file is another one by now. */
SW_API int sw_trust(struct sw_session *session, const char *path, const char *sha256,
                    struct sw_error *err);
SW_API int sw_untrust(struct sw_session *session, const char *path, struct sw_error *err);
/* {"version","files": [{"path","sha256","at","trusted"}]}; false: it is gone or has another content by
 * now. */
SW_API char *sw_trusted(struct sw_session *session, struct sw_error *err);

/* ---- look ----------------------------------------------------------------------------- */

enum sw_look {
    SW_LOOK_REFRESH = 0,      /* ask the platforms first (one batched question each) */
    SW_LOOK_STORED = 1,       /* only what the store remembers */
};

/* What differs between two jobs. JSON: { "version", "first", "second",
 *   "differences": [{ "key", "first", "second", "first_source", "second_source" }] } */
SW_API char *sw_compare(struct sw_session *session, const char *first, const char *second,
                        struct sw_error *err);
/* What jobs used since a time. JSON: { "version", "by", "label", "since_at", "until_at", "rows": [{
 * "group", "jobs",
 *   "retries", "running_ms", "waiting_ms", "gpu_hours", "gpu_idle_share", "cost", "unpriced_gpu_hours" }],
 *   "total": { the same without "group" }, "unreachable" }
 * Null: a group without a name, an idle share that no platform measured, a cost without prices. */
struct sw_usage_options {
    size_t size;              /* sizeof(struct sw_usage_options) */
    enum sw_look look;
    const char *by;           /* "platform", "user", "day" or "label"; NULL: the total alone */
    const char *label;        /* with "label": its key */
    int64_t since_ms;         /* milliseconds since 1970; 0: everything that is remembered */
};
SW_API char *sw_usage(struct sw_session *session, const struct sw_usage_options *options,
    struct sw_error *err);
/* What was not committed in its repository when a job was submitted, as `git diff` writes it; "": nothing,
 * or it was in none. At most 256 KiB, without secrets. */
SW_API char *sw_changes(struct sw_session *session, const char *id, struct sw_error *err);

/* One job as JSON: version, id, name, status, reason, message, backend_type, backend_job_id,
 * backend_details, results_dir, results_place (with the host in front, where that is another
 * machine), outputs[] (those with a destination), replicas, attempt, exit_code, signal, created_at,
 * submitted_at, started_at, ended_at, updated_at, seen_at, next_attempt_at, expected_start_at,
 * starts_in_ms, age_ms, seen_age_ms, duration_ms, labels, progress, last_line, live, runner, attempts[],
 * unreachable[], and what it runs. */
SW_API char *sw_status(struct sw_session *session, const char *id, enum sw_look look,
                       struct sw_error *err);
/* Many jobs: { "version": 1, "jobs": [...], "unreachable": [ {"platform","message"} ] }. */
SW_API char *sw_status_many(struct sw_session *session, const char *const *ids, size_t count,
                            enum sw_look look, struct sw_error *err);

struct sw_list_options {
    size_t size;
    enum sw_look look;
    const char *state;        /* "Running", ... ; "active" = not final; NULL: all */
    const char *platform;     /* NULL: all */
    const char *name;         /* NULL: all */
    const char *const *labels;      /* "key=value" or "key": jobs that have all of these */
    size_t label_count;
    const char *const *selectors;   /* as for sw_select, but a name or prefix means all that have it */
    size_t selector_count;
    size_t limit;             /* 0: 100 */
    size_t offset;
    int64_t since_ms;         /* jobs created since then, in ms since 1970; 0: all */
};
/* Newest first; the same document as sw_status_many, plus "total" (that match) and "all" (in the
 * store). */
SW_API char *sw_list(struct sw_session *session, const struct sw_list_options *options,
                     struct sw_error *err);

/* Selectors to ids: an id, a group of splits, a unique prefix, a name, `last`, `last-N`, `failed`, `running`,
 * `pending`, `complete`, `canceled`, `active`, `all`; of these only the jobs that have all the
 * labels ("key" or "key=value"). Without selectors: all jobs with these labels. A word that is a
 * state asks the platforms first. JSON array of ids, empty when no job is in such a state or has
 * such a label; an id, prefix, name or `last` that there is not is SW_E_NOT_FOUND, "" is
 * SW_E_USAGE. */
SW_API char *sw_select(struct sw_session *session, const char *const *selectors, size_t count,
                       const char *const *labels, size_t label_count, struct sw_error *err);

/* What happened to a job (id NULL: to all), oldest first: {"version", "events":
 * [{"seq","at","job","kind","data"}]}. */
SW_API char *sw_events(struct sw_session *session, const char *id, int64_t after_seq,
                       struct sw_error *err);

/* Why it failed or waits: JSON {err_class, cause, suggestion, evidence[],
 * job_failure_by_node_event[], log_streams[]}; "null" when there is nothing to explain. */
SW_API char *sw_failure_analysis(struct sw_session *session, const char *id,
                                 struct sw_error *err);

/* The same answer for people, for jobs that failed and for jobs that wait: JSON {"version","id","status",
 * "headline" (one line), "waits", "err_class","cause","suggestion","evidence"[],"retry"}. */
SW_API char *sw_why(struct sw_session *session, const char *id, struct sw_error *err);

/* The parts of a job: {"version","id","replicas": [{"rank","node","status","exit_code","signal","pid",
 * "started_at","ended_at", ...}]}. */
SW_API char *sw_replicas(struct sw_session *session, const char *id, struct sw_error *err);

/* Where the results are: a path or URI. */
SW_API char *sw_results_dir(struct sw_session *session, const char *id, struct sw_error *err);

/* ---- logs ----------------------------------------------------------------------------- */

#define SW_LOG_NEW (-2)

/* All but `size` zero: the whole log of every rank, as it is now. */
struct sw_log_options {
    size_t size;
    int attempt;              /* 0: the newest */
    int replica;              /* with one_replica: which rank */
    int64_t tail_lines;       /* N: only the last N lines; 0: from the beginning; SW_LOG_NEW: only what is
                                 written from now on */
    int64_t since_ms;         /* only what was written at or after this time; 0: all */
    bool follow;              /* go on until the job is over */
    /* Called about ten times a second while following and nothing is new; non-zero stops. */
    int (*idle)(void *context);
    /* Called when following goes on with the next attempt, before its first bytes. May be NULL. */
    void (*attempt_began)(void *context, int attempt);
    bool times;               /* tell the times where that costs questions, too */
    bool one_replica;         /* only that rank; false: all, and each piece tells its rank */
    bool whole_lines;         /* pieces end at line ends also of one rank; a line of more than 64 KiB comes
                                 in parts, the last line of a log as it is */
};
/* A piece of log: exact bytes, never a terminator. Pieces of one replica end at line ends
 * whenever more than one replica or job is read. `at_ms` tells when they were written (0: not known); a
 * piece holds bytes of one time only. Non-zero stops. */
typedef int sw_log_fn(void *context, int replica, int64_t at_ms, const char *bytes,
                      size_t length);

SW_API int sw_logs(struct sw_session *session, const char *id,
                   const struct sw_log_options *options, sw_log_fn *fn, void *context,
                   struct sw_error *err);

struct sw_log_job {           /* one of several */
    const char *id;
    void *context;            /* for `fn` and attempt_began(): whose log it is */
};
/* The same for many: followed all at once until all are over, else read one after the other. One that
 * cannot be read stops no other. `tell` (may be NULL) hears of each when its log was read to the end or
 * could not be; `tell` and idle() get `context`. 0: all went well; -1: err is that of the first that did
 * not. */
SW_API int sw_logs_many(struct sw_session *session, const struct sw_log_job *jobs, size_t count,
                        const struct sw_log_options *options, sw_log_fn *fn, sw_outcome_fn *tell,
                        void *context, struct sw_error *err);

/* ---- act ------------------------------------------------------------------------------ */

/* Stop a job; returns when the platform confirms that nothing of it runs any more. A job that
 * is already over is left alone: not an error. SW_E_UNREACHABLE: the platform does not answer; the
 * job is canceled as soon as it does, unless sw_cancel_undo() takes it back. */
SW_API int sw_cancel(struct sw_session *session, const char *id, struct sw_error *err);

/* What came of one job of several. */
struct sw_outcome {
    size_t size;              /* sizeof(struct sw_outcome) of the library */
    const char *id;
    size_t index;             /* among those that were given */
    const struct sw_error *err;   /* NULL: it went well */
    enum sw_state state;      /* as the store knows it now */
    int attempt;
    int exit_status;          /* of sw_wait_many(): as sw_wait() gives it */
    int exit_code;            /* -1: none */
    int signal;               /* 0: none */
    int64_t duration_ms;      /* -1: not known */
    bool already;             /* of sw_submit_many(): it was there before, and nothing was sent */
};
/* sw_outcome_fn is called in the caller's thread, once for each job; everything in it is borrowed for
 * the call. */

/* The same as sw_cancel() for many jobs: few requests for each place, places side by side, one that
 * does not answer is waited for once. One that fails stops no other. `tell` (may be NULL) hears of
 * each in the order given. 0: all went well; -1: err is that of the first that did not. */
SW_API int sw_cancel_many(struct sw_session *session, const char *const *ids, size_t count,
                          sw_outcome_fn *tell, void *context, struct sw_error *err);
/* Take back a cancel that no platform confirmed yet. SW_E_CONFLICT: there is none. */
SW_API int sw_cancel_undo(struct sw_session *session, const char *id, struct sw_error *err);

/* Wait until the job is over. timeout_ms < 0: for ever. Writes the job's own exit status
 * (128+signal for a signal, 124 for its time limit, 130 when canceled). `idle` as in logs. */
SW_API int sw_wait(struct sw_session *session, const char *id, int64_t timeout_ms,
                   int (*idle)(void *context), void *context, int *exit_status,
                   struct sw_error *err);

/* The same for many; `tell` is called for each as soon as it is over. SW_E_TIMEOUT names the first
 * that is not; a job that is not there gets SW_E_NOT_FOUND, and ends nothing. */
SW_API int sw_wait_many(struct sw_session *session, const char *const *ids, size_t count,
                        int64_t timeout_ms, int (*idle)(void *context), sw_outcome_fn *tell,
                        void *context, struct sw_error *err);

/* Watch jobs (count 0: all that are not over) until they are all over or fn returns non-zero:
 * states, progress, retries, hooks, guards. fn hears a document like sw_list's, each job with
 * "progress" and "last_line", after every round that changed something and at least every
 * `every_ms`. Everything a watcher does is done at most once, however many watch. */
struct sw_watch_options {
    size_t size;
    int64_t every_ms;         /* 0: 1000 */
    int64_t rounds;           /* 0: until all are over */
};
typedef int sw_watch_fn(void *context, const char *document);
SW_API int sw_watch(struct sw_session *session, const char *const *ids, size_t count,
                    const struct sw_watch_options *options, sw_watch_fn *fn, void *context,
                    struct sw_error *err);

/* Hand what `id` needs while no process waits for it (retries, hooks, queues; NULL: what any job needs) to
 * the watcher of the state folder, which is started when none runs and one is needed. *said: a line for the
 * user, to be released with sw_text_free(), or NULL. SLIPWAY_WATCHER=off, or CI in the environment: none is
 * started, and *said names what does not happen. */
SW_API int sw_attend(struct sw_session *session, const char *id, char **said, struct sw_error *err);
/* {"version","running","off","jobs","places":{...},"notices","duties":[...],"missed","problem","log",
 * "watcher":{...}|null}: `missed` is what does not happen without it, `problem` why it does not start or
 * answer. */
SW_API char *sw_watcher(struct sw_session *session, struct sw_error *err);
/* Start it whatever the environment says; *started: none ran. */
SW_API int sw_watcher_start(struct sw_session *session, bool *started, struct sw_error *err);
/* What a watcher would do now, in this process: look at all jobs that are not over and do what is due. */
SW_API int sw_watcher_once(struct sw_session *session, struct sw_error *err);
/* End it; *ended: one ran. Its jobs go on. */
SW_API int sw_watcher_end(struct sw_session *session, bool *ended, struct sw_error *err);
/* Be the watcher of this folder until it is needed no more: for a process of its own. */
SW_API int sw_watcher_serve(const char *state_dir, struct sw_error *err);

/* Try a finished job again under the same id; *attempt is the new number. */
SW_API int sw_retry(struct sw_session *session, const char *id, bool avoid_node, int *attempt,
                    struct sw_error *err);

/* The same for many, as sw_cancel_many(). */
SW_API int sw_retry_many(struct sw_session *session, const char *const *ids, size_t count,
                         bool avoid_node, sw_outcome_fn *tell, void *context, struct sw_error *err);
/* The same for the outputs alone: what the command of a finished job left is brought to its
 * destinations once more, and the command is not run. SW_E_UNSUPPORTED where the platform cannot do
 * that. */
SW_API int sw_collect_again(struct sw_session *session, const char *id, int *attempt,
                            struct sw_error *err);
SW_API int sw_collect_again_many(struct sw_session *session, const char *const *ids, size_t count,
                                 sw_outcome_fn *tell, void *context, struct sw_error *err);

/* Run a command beside a running job, with its environment and GPUs, on the terminal of this process. */
SW_API int sw_exec(struct sw_session *session, const char *id, int replica, int argc,
                   const char *const *argv, int *exit_status, struct sw_error *err);

/* May this request be run with the caller's terminal? SW_E_UNSUPPORTED: its platform has none for a job. */
SW_API int sw_check_terminal(struct sw_session *session, const struct sw_request *request,
                             struct sw_error *err);

/* What a running job uses: { "version", "job", "at", "cpu_seconds", "cpus" (on average since it started),
 * "memory_bytes", "gpus": [{ "uuid", "name", "used_percent", "memory_used", "memory_total" }] }, null where
 * it is not known. Rank 0 is asked, where the platform does not measure its jobs itself: for one job, not
 * for many. SW_E_CONFLICT: it does not run; SW_E_UNSUPPORTED: there is no way to it. */
SW_API char *sw_use(struct sw_session *session, const char *id, struct sw_error *err);

/* The Ray cluster of a running job with `launcher: ray`: { "version", "job", "dashboard_port" }. Rank 0 is
 * asked. SW_E_CONFLICT: it does not run, or not all of its nodes have joined; SW_E_UNSUPPORTED: there is no
 * way to it. */
SW_API char *sw_ray_cluster(struct sw_session *session, const char *id, struct sw_error *err);

/* A TCP port of a job, at a port of this machine's loopback address. */
#define SW_FORWARD_SAME (-1)
struct sw_forward {
    int port;                 /* of the job */
    int local;                /* 0: any free one; SW_FORWARD_SAME: the same number if it is free, else any */
};
struct sw_forward_calls {
    size_t size;              /* sizeof(struct sw_forward_calls) */
    /* `port` can be used from now on, and its `local` is filled in; or a connection came to nothing, for
     * this reason. Required. */
    void (*tell)(void *context, const struct sw_forward *port, const char *trouble);
    int (*idle)(void *context);   /* at least twice a second; non-zero: stop, SW_E_INTERRUPTED; or NULL */
    void *context;
};
/* Forward ports of a running job until it is over: 0. What listens there is asked for when a client
 * connects. SW_E_CONFLICT: the job does not run, or a port that was asked for is in use; SW_E_UNSUPPORTED:
 * the platform has no way there. */
SW_API int sw_forward(struct sw_session *session, const char *id, int replica, struct sw_forward *ports,
                      size_t count, const struct sw_forward_calls *calls, struct sw_error *err);

/* Leftovers of jobs that this store does not know: {"version","leftovers": [{"platform","what","where","job",
 * "owner","kept","removed"}]}. Only with `remove` anything is touched, and only what this store left:
 * "owner" names whose the rest is, "kept" says why something of this store stays. */
struct sw_gc_options {
    size_t size;
    bool remove;
    bool results;             /* results that were not fetched, too */
    bool caches;              /* and what jobs share and none uses at the moment */
};
SW_API char *sw_gc_with(struct sw_session *session, const struct sw_gc_options *options,
                        struct sw_error *err);
SW_API char *sw_gc(struct sw_session *session, bool remove, struct sw_error *err);

/* Write a redacted bundle for a bug report (a folder of texts as one .tar file). id NULL: about
 * this installation only. */
SW_API int sw_report(struct sw_session *session, const char *id, const char *path,
                     struct sw_error *err);

/* Forget a finished job and remove its files. */
SW_API int sw_remove(struct sw_session *session, const char *id, bool keep_results,
                     struct sw_error *err);
/* The same for many, as sw_cancel_many(). */
SW_API int sw_remove_many(struct sw_session *session, const char *const *ids, size_t count,
                          bool keep_results, sw_outcome_fn *tell, void *context, struct sw_error *err);
/* Forget a job whatever its state, and ask nothing of its platform: for a place that is gone for
 * good. What runs there goes on, and what was made there stays. */
SW_API int sw_forget(struct sw_session *session, const char *id, struct sw_error *err);
/* Remove finished jobs whose `keep:` time has passed. JSON array of the ids removed. */
SW_API char *sw_remove_expired(struct sw_session *session, struct sw_error *err);

/* Copy a job's results into a local folder. JSON as of sw_copy(), null where the platform does not say. Links
 * stay links; one that leads out of the results is left out. */
SW_API char *sw_get_results(struct sw_session *session, const char *id, const char *to,
                            struct sw_error *err);
struct sw_copy_options;
/* Only what `include` and `exclude` of the options leave; its other members are not used. Where the platform
 * sends results as one stream, all of them travel first. */
SW_API char *sw_get_results_matching(struct sw_session *session, const char *id, const char *to,
                                     const struct sw_copy_options *options, struct sw_error *err);

/* ---- data ------------------------------------------------------------------------------- */

/* How far a copy is. Totals grow while `listing` is true. */
struct sw_copy_progress {
    bool listing;
    int64_t files_done, files_total;       /* done: copied, found identical or removed */
    int64_t bytes_done, bytes_total;       /* of what has to be copied */
    int64_t bytes_per_second;              /* lately */
    int64_t left_ms;                       /* -1: not known yet */
    int requests;                          /* at once, right now */
};
/* Called about ten times a second. Non-zero cancels the copy. */
typedef int sw_copy_progress_fn(void *context, const struct sw_copy_progress *progress);

struct sw_copy_options {
    size_t size;
    bool recursive;           /* a tree: a folder, an s3 prefix, a repository */
    bool force;               /* copy also what is identical */
    bool checksum;            /* compare contents wherever a digest is known */
    bool remove_extra;        /* remove from `to` what is not in `from` */
    bool dry_run;             /* change nothing, list what would happen */
    const char *const *include;      /* patterns over relative names; none: all */
    size_t include_count;
    const char *const *exclude;      /* win over include */
    size_t exclude_count;
    int jobs;                 /* requests at once at most; 0: found by measuring */
    bool follow_links;        /* of a local folder: also those that lead out of it */
};

/* Copy a file or folder out of a running job, to a path or into a folder here; and the other way round. A
 * relative `path` begins in the folder of the job's command. It gets its name when it is whole; a folder is
 * added to one that is there. Nothing outside of `to` is ever written, whatever the job sends. JSON:
 * {"files","bytes","to"}. SW_E_CONFLICT: the job does not run; SW_E_UNSUPPORTED: not on its platform. */
SW_API char *sw_copy_from_job(struct sw_session *session, const char *id, int replica, const char *path,
                              const char *to, sw_copy_progress_fn *progress, void *context,
                              struct sw_error *err);
SW_API char *sw_copy_to_job(struct sw_session *session, const char *id, int replica, const char *from,
                            const char *path, sw_copy_progress_fn *progress, void *context,
                            struct sw_error *err);

/* These three need no store: `session` may be NULL.
 *
 * Copy a file or a tree between any two places: s3://, http(s)://, hf_model://, hf_dataset://,
 * ngc://, file:// and paths. What is identical already is left alone. JSON: {"version","from","to",
 * "files","bytes","same","removed","failed","elapsed_ms","left_out","left_out_names","would"}; with dry_run
 * "would" is [{"what","name","size"}]. Links of a local folder that lead out of it, pipes, sockets
 * and devices are left out: how many, and the first hundred with the reason. */
SW_API char *sw_copy(struct sw_session *session, const char *from, const char *to,
                     const struct sw_copy_options *options, sw_copy_progress_fn *progress,
                     void *context, struct sw_error *err);

/* What is at a path or URI: {"version","uri","objects":[{"name","kind","size","modified","etag"}]}.
 * Kinds are "file" and "folder". Nothing there is SW_E_NOT_FOUND. */
SW_API char *sw_list_uri(struct sw_session *session, const char *uri, bool recursive,
                         struct sw_error *err);
/* Is something there, and can it be read? {"version","uri","exists","kind","size","etag","error"}. A bucket
 * that does not exist is SW_E_NOT_FOUND. */
SW_API char *sw_check_uri(struct sw_session *session, const char *uri, struct sw_error *err);

/* Take over a job that this store never saw. Of a plan that is not signed with this user's key,
 * hooks, secrets and paths of this machine are dropped (a warning names them), and the job is not
 * tried again. The second form takes the plan as it is, also of a job that was adopted before. */
SW_API int sw_adopt(struct sw_session *session, const char *platform, const char *id,
                    struct sw_error *err);
SW_API int sw_adopt_trusting(struct sw_session *session, const char *platform, const char *id,
                             struct sw_error *err);

/* Jobs of slipway that a platform has and this store does not know, to be adopted: { "version": 1,
 * "jobs": [ {"id","name","platform","status","owner","created_at"} ] }. `platform` NULL: of all that
 * can tell and are set up. */
SW_API char *sw_adoptable(struct sw_session *session, const char *platform, struct sw_error *err);

/* ---- places --------------------------------------------------------------------------- */

/* Platforms with their options, whether each credential and variable is set (never its value), and whether
 * it is ready: all are asked at the same time. `name` NULL: all. Without a session none is asked. */
SW_API char *sw_platforms(struct sw_session *session, const char *name, struct sw_error *err);

/* Does a path exist, as the platform sees it? A URI (s3://...) is looked at from here, and so is a
 * path when `platform` is NULL. */
SW_API int sw_check_path(struct sw_session *session, const char *platform, const char *path,
                         bool *exists, struct sw_error *err);
/* Names one level below, as a JSON array. */
SW_API char *sw_list_path(struct sw_session *session, const char *platform, const char *path,
                          struct sw_error *err);

/* What a platform has, and what of it is free: {"version","platform","inventory": {...}}; the
 * inner object is the platform's own. `platform` NULL: the default. SW_E_UNSUPPORTED: it cannot tell. */
SW_API char *sw_inventory(struct sw_session *session, const char *platform, struct sw_error *err);

/* What the user wants where nothing else says so: {"version","file","values","sources"}, from the
 * environment, else config.toml of $XDG_CONFIG_HOME/slipway (~/.config/slipway), else as built in. `values`
 * holds platform and columns (lists; absent when not given), time_zone and color ("auto", "always",
 * "never"); `sources`, for each, where it is said. A file with a fault is SW_E_SPEC. */
SW_API char *sw_user_defaults(struct sw_error *err);

/* ---- write a job file --------------------------------------------------------------------- */

/* A first job file for a folder, from the files in it; the one file of another tool there is translated.
 * JSON: { "version", "job_file": the text, "schema_file": the name that its first line gives the editor,
 *   "tool": "sbatch" | "skypilot" | "dstack" | "nemo-run" | null, "from": the file translated | null,
 *   "left_out": [{ "line", "what", "why" }] }. Nothing is written. */
SW_API char *sw_draft_job(const char *folder, struct sw_error *err);
/* The same from one file of another tool; tool NULL: by its content. `section`: of an env.toml of NeMo-Run,
 * NULL: its first. SW_E_USAGE: it is not clear whose file it is. */
SW_API char *sw_translate_job(const char *file, const char *tool, const char *section, struct sw_error *err);

/* The models of the skill bank of this machine (TAO_SKILL_BANK_PATH, else ~/tao-skills-external): what
 * `model` and `action` of a job file may say. `automl`: only those whose training AutoML can search.
 * {"version","bank","models": [{"name","network_arch","actions","automl","reason","problem"}]}.
 * SW_E_NOT_FOUND: there is no bank. */
SW_API char *sw_models(struct sw_session *session, bool automl, struct sw_error *err);

/* Which image an action of a model runs in: {"version","model","network_arch","action","image",
 * "from","command","file"}. */
SW_API char *sw_image_resolve(struct sw_session *session, const char *model, const char *action,
                              struct sw_error *err);

/* JSON Schema of the job file. */
SW_API char *sw_schema(struct sw_error *err);

/* JSON Schema of the document that `slipway VERB -o json` prints, which is the one of the function behind it:
 * "status", "ps", "events", ...; "error" for what an error looks like there. With "x-lines": true it is that
 * of each line. SW_E_NOT_FOUND: there is none. */
SW_API char *sw_output_schema(const char *verb, struct sw_error *err);

/* Is everything in order here? {"version","ok","checks": [{"check","ok","message","fix"}]}; `ok` of a check
 * is null for a platform that is not set up here (no job was sent to it, and it does not answer). */
SW_API char *sw_doctor(struct sw_session *session, struct sw_error *err);

/* Can this machine run GPU containers of `backend`, "docker" or "kubernetes"? Driver, container toolkit and
 * container runtime, as a document like that of sw_doctor(). Changes nothing. */
SW_API char *sw_doctor_gpu_host(struct sw_session *session, const char *backend, struct sw_error *err);

#ifdef __cplusplus
}
#endif
#endif
