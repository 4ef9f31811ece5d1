/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_internal.h - what the files of api/ share: the session, and the two shapes of a job
 * (a row of the store, a JSON document for the caller).
 */
#ifndef SW_API_INTERNAL_H
#define SW_API_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "api/folder.h"
#include "api/shapes.h"
#include "base/buf.h"
#include "base/document.h"
#include "base/error.h"
#include "monitor/refresh.h"
#include "platform/platform.h"
#include "spec/spec.h"
#include "store/store.h"

struct connection {                /* connection.c */
    const struct sw_platform *platform;
    char *key;                     /* "profile NAME", "options {...}"; NULL: opened for a row */
    int64_t place;                 /* that of the rows it serves; 0: not settled */
    struct sw_connection *conn;
};

struct sw_session {
    atomic_int references;         /* the caller's, and one for each question that is under way */
    bool read_only;
    struct sw_store *store;        /* guards itself */
    struct sw_refresh_pool *pool;  /* likewise */
    char *state_dir, *profile;
    char *project_dir;             /* NULL: where the job file is, or here */

    pthread_mutex_t warn_lock;     /* guards these: no call after sw_close() */
    void (*warn)(void *context, const char *text);
    void *warn_context;
    int (*progress)(void *context, const char *what, const struct sw_copy_progress *progress);
    void *progress_context;

    pthread_mutex_t lock;          /* guards what follows */
    struct sw_profiles *profiles;  /* the user's own, read when first needed */
    json_t *rules;                 /* likewise */
    struct sw_environment *values; /* of ~/.config/tao/.env, likewise; never changed afterwards */
    struct api_folder **folders;   /* those that plans were made in */
    size_t folder_count;
    struct connection *connections;
    size_t connection_count;
    struct api_seen_git *seen_git; /* what git said last (origin.c); NULL: it was not asked */
    struct api_kept *kept;         /* of a watcher: what it was given, owned; NULL: this is none */
};

void api_seen_git_free(struct api_seen_git *seen);

struct sw_request {
    struct sw_document *job;       /* NULL: flags only */
    char *base_dir;                /* where the job file's relative paths start; NULL: cwd */
    char *found_path;              /* the job file was found there, not named; NULL: it was named */
    char found_sha256[SW_DIGEST_HEX];
    json_t *flags;                 /* object */
    json_t *argv;                  /* array or NULL */
    char id[SW_ID_SIZE];           /* empty: we make one */
    bool only_data;                /* the job only tries its data (data_there.c) */
    char *profile;                 /* of the job it is made again from; NULL: the session's */
};
const char *api_profile(const struct sw_session *session, const struct sw_request *request);

/* session.c */
char *api_state_dir(void);            /* the default folder; owned */
void api_warn(void *session, const char *text);
int api_progress(void *session, const char *what, const struct sw_copy_progress *progress);
/* Add or drop a reference to the session. */
void api_hold(void *session);
void api_release(void *session);
/* SW_E_USAGE for a caller without a session. */
static inline int api_need(const struct sw_session *session, struct sw_error *err)
{
    return session ? 0 : sw_fail(err, SW_E_USAGE, "no session: sw_open() failed, or was not called");
}

/* watcher_environment.c: what a watcher gets of ours; the list is owned, its texts are not. */
char **api_watcher_environment(void);
char **api_connection_variables(void);       /* those of them that decide where a connection leads */

/* watcher_kept.c: the secrets that a watcher was given. Any thread may ask. */
#define API_KEPT_SHARED "@"                  /* the owner of platforms' credentials; else a job's id */
struct api_kept *api_kept_new(void);
void api_kept_free(struct api_kept *kept);
void api_kept_give(struct api_kept *kept, const char *owner, const struct sw_secrets *given);
void api_kept_take(struct api_kept *kept, struct sw_secrets *all);   /* all of the one before */
struct sw_secrets *api_kept_of(struct api_kept *kept, const char *owner);            /* owned; NULL: none */
struct sw_secrets *api_kept_all(struct api_kept *kept);              /* owned, as OWNER/NAME */
const char *api_kept_credential(struct api_kept *kept, const char *name);    /* borrowed, or NULL */
void api_kept_forget_ended(struct api_kept *kept, struct sw_store *store);

/* watcher_share.c: the watcher looked for us, and the store knows; false: look yourself. */
bool api_look_shared(struct sw_session *session, const char *const *ids, size_t count,
                     const struct sw_refresh_options *options, json_t *unreachable);
/* "WORD VERSION DIGEST": the first line of what is said between equals; owned. */
char *api_stream_line(const char *word);
/* watcher_lend.c: a sw_borrow_fn of a session; and in the watcher, which takes `fd`. */
bool api_borrow(void *context, const char *key, int fds[SW_CHANNELS], struct sw_buf *facts);
void api_lend(struct sw_session *session, const char *key, int fd);
/* In the watcher: serve a command that said `line`, in a thread of its own; takes `fd`. */
void api_watcher_share(struct sw_session *session, const char *line, int fd);

/* user_config.c */
int api_load_once(struct sw_session *session, struct sw_error *err);    /* the lock is held */
const struct sw_profiles *api_profiles(struct sw_session *session, struct sw_error *err);
/* The user's rules for sw_diagnose_with(); NULL before anything needed the profiles. */
const json_t *api_rules(void *session);
/* A sw_env_fn over a session: the process's environment, then ~/.config/tao/.env. */
const char *api_env(void *session, const char *name);
/* user_config.c: environment (NULL: it is not asked) > config.toml > built in; the document of
 * sw_user_defaults_resolve(). */
json_t *api_user_defaults(sw_env_fn *env, void *env_context, struct sw_error *err);

/* refresh.c: observe these jobs (none: all that are not over), however long it takes, then start the hooks
 * that are due. */
int api_refresh(struct sw_session *session, const char *const *ids, size_t count,
                json_t *unreachable, struct sw_error *err);
/* The same with a deadline: a platform that is slower is named in `unreachable`, and its thread goes on. */
enum { API_LIST_DEADLINE_MS = 5000 };
int api_refresh_within(struct sw_session *session, const char *const *ids, size_t count,
                       const struct sw_refresh_options *options, json_t *unreachable,
                       struct sw_error *err);
/* Start the hooks that are due; one that cannot be started is a warning. */
void api_run_hooks(struct sw_session *session);

/* watcher.c: what is missed when no process looks after such a job: enum sw_duty. */
int api_duties(const struct sw_plan *plan, const struct sw_platform *platform);

/* wake.c: a pause that ends early when a platform says that something may have changed. Signals end
 * it, too. API_NO_WAKE: a connection has no wake_fd. */
enum { API_NO_WAKE, API_QUIET, API_WOKEN };
int api_wait_for_wake(struct sw_session *session, int64_t ms);
/* The same; this descriptor (an eventfd; -1: none) ends it, too. */
int api_wait_for_wake_or(struct sw_session *session, int64_t ms, int fd);

/* bounded.c: run a call whose platform may never answer. *late: the time was up, and it goes on alone;
 * -1 SW_E_UNREACHABLE then. `context` is the call's own; `release` is called once it is not needed. */
struct api_bounded {
    int (*run)(void *context, struct sw_error *err);
    void (*release)(void *context);
    void *context;
};
int api_call_within(struct sw_session *session, const struct api_bounded *what,
                    int64_t patience_ms, bool *late, struct sw_error *err);

/* exec_pump.c: connects the caller's input, output and errors (its terminal, or pipes) to a command until it
 * ends, and closes the stream. A signal that ends us is raised again once the terminal is restored. */
int api_exec_pump(struct sw_stream *stream, const int fds[3], int *exit_status, struct sw_error *err);

/* platforms.c: names and option tables as spec/ wants them; *count of them; static. */
const struct sw_spec_platform *api_spec_platforms(size_t *count);
/* Was no job ever sent to it? Then it may well be out of reach, or not set up at all. */
bool api_is_idle(struct sw_session *session, const struct sw_platform *platform,
                 const struct sw_error *why);

/* ready.c: does this platform answer, as a finding (core/finding.h); owned. */
json_t *api_ready(struct sw_session *session, const struct sw_platform *platform);
/* The same of all, in their order. */
void api_ready_rows(struct sw_session *session, json_t *rows);

/* connection.c: connections are opened once and stay the session's. */

/* For verbs without a job: where profile, environment and defaults lead now. */
struct sw_connection *api_connect(struct sw_session *session, const struct sw_platform *platform,
                         const char *profile, struct sw_error *err);
/* For a job that is planned: where its own options lead, with the values of its folder. */
struct sw_connection *api_connect_job(struct sw_session *session, const struct sw_platform *platform,
                                const json_t *options, struct api_folder *folder,
                                struct sw_error *err);
/* For a job that was sent: where its row says it is. place 0: a row that does not say. */
struct sw_connection *api_connect_place(void *session, const struct sw_platform *platform,
                                  const char *profile, int64_t place, struct sw_error *err);
/* Does that place still answer as the one that the jobs were sent to? 0; SW_ANOTHER_PLACE with
 * SW_E_UNREACHABLE and the words "it runs on ..."; -1: it could not be asked. */
int api_verify_place(void *session, const struct sw_platform *platform, const char *profile,
                     int64_t place, struct sw_error *err);
/* The place that this open connection leads to, with its identity, written down. */
int api_settle_place(struct sw_session *session, const struct sw_platform *platform,
                     struct sw_connection *conn, int64_t *place, struct sw_error *err);
/* Its address for people; owned; NULL: this machine. Asks no question. */
char *api_address(const struct sw_platform *platform, struct sw_connection *conn);
void api_connections_close(struct sw_session *session);

/* A job, its platform, the open connection and the reference to it: what most verbs begin with. */
struct api_job {
    struct sw_job row;
    const struct sw_platform *platform;
    struct sw_connection *conn;
    struct sw_jobref ref;
};
/* How many ranks it has: a platform may have made more than the job file says (whole nodes, an
 * array's tasks). */
int api_replicas(const struct sw_job *row);
/* May the store have this job? Only one that certainly has not makes it a stranger. */
bool api_knows(struct sw_session *session, const char *id);
int api_job_open(struct sw_session *session, const char *id, struct api_job *out,
                 struct sw_error *err);
/* As api_verify_place(), for the place of this job. */
int api_job_verify(struct sw_session *session, const struct api_job *job, struct sw_error *err);
/* Both: for verbs that change something there, or believe that something is not there. */
int api_job_reach(struct sw_session *session, const char *id, struct api_job *out,
                  struct sw_error *err);
/* exec.c: a job that runs, with a rank of this number; one that is just starting is waited for.
 * SW_E_CONFLICT: it does not run. */
int api_job_running(struct sw_session *session, const char *id, int replica, struct api_job *out,
                    struct sw_error *err);
/* ask.c: what this shell text prints beside rank 0, appended; its platform has exec_open(). */
int api_ask(const struct api_job *job, const char *script, struct sw_buf *answer, struct sw_error *err);
static inline void api_job_auto(struct api_job *job) { sw_job_done(&job->row); }

/* status.c: all that are not over, as long as a list waits. */
int api_refresh_list(struct sw_session *session, json_t *unreachable, struct sw_error *err);

/* job_json.c: it waits for the time of its next attempt: ours to send, or the platform's own to begin. */
bool api_awaits_attempt(const struct sw_job *job);
/* The command of a plan as a shell would take it, owned; NULL: not known. It may hold anything. */
char *api_command(const json_t *plan);
/* What lists show of a plan, to be stored with the row; `origin` may be NULL. */
json_t *api_brief(const json_t *plan, const json_t *origin);
/* Adds the job as a row of a list. */
void api_job_put(struct sw_buf *out, const struct sw_job *job);
/* Everything about it, of all columns of the store and its attempts. */
json_t *api_job_whole(const struct sw_job *job, json_t *attempts);

/* remove.c: the jobs past their keep time as gc tells of them, removed first when that is wanted:
 * each that stays is warned of, and err is that of the first. NULL: they cannot be read. */
json_t *api_expired(struct sw_session *session, bool remove, struct sw_error *err);

/* select.c: the jobs that these words and labels mean; NULL: a word means none, or nothing. */
struct api_selection {
    const char *const *selectors; size_t count;        /* none: all that have the labels */
    const char *const *labels; size_t label_count;     /* "key" or "key=value": has all of them */
    bool every;                    /* a name and a prefix mean every job that has it */
};
json_t *api_select(struct sw_session *session, const struct api_selection *what,
                   struct sw_error *err);
int api_labels_check(const char *const *labels, size_t count, struct sw_error *err);
json_t *api_id_set(const json_t *ids);        /* a map with these texts as keys */

/* request.c: spec and plan of a request. */
struct api_plan {
    struct sw_spec *spec;
    struct sw_plan *plan;                /* of several splits the first */
    struct sw_plan *group;               /* what sw_plan_split() makes them from; NULL: no splits */
    const struct sw_platform *platform;
    struct sw_connection *conn;          /* NULL: only thought about */
    struct api_folder *folder;
    size_t choice;                 /* which of `platform: [...]` it is for */
    bool checked;                  /* its preflight went well */
    json_t *skipped;               /* those before it: array of {"platform","why"}; NULL: none */
};
/* All but the connection: spec->untrusted lists what needs trust first. `read`: the folder's files. */
int api_plan_think(struct sw_session *session, const struct sw_request *request, bool read,
                   struct api_plan *out, struct sw_error *err);
/* The plan for its choice, not opened. SW_E_UNTRUSTED where files of the folder decide what they may not
 * decide yet. */
int api_plan_prepare(struct sw_session *session, const struct sw_request *request,
                     struct api_plan *out, struct sw_error *err);
int api_plan_open(struct sw_session *session, struct api_plan *plan, struct sw_error *err);
void api_plan_auto(struct api_plan *plan);

/* redactor.c: takes every credential that this program can know out of a text. `plan` may be NULL, and so
 * may the secrets of a job that is submitted now. */
struct sw_redactor *api_redactor(struct sw_session *session, const json_t *plan,
    const struct sw_secrets *job);
/* The text without them, without what opens a URI, and in valid UTF-8; owned. */
char *api_clean(struct sw_redactor *redactor, const char *bytes, size_t length);

/* origin.c: what ran, to be stored beside the plan. */
struct api_origin {
    json_t *document, *request;
    char *diff;                    /* what was not committed, without secrets; NULL: nothing */
};
void api_origin(struct sw_session *session, const struct sw_request *request, const struct api_plan *made,
                const struct sw_secrets *secrets, struct api_origin *out);
void api_origin_done(struct api_origin *origin);

/* same_id.c: SW_E_CONFLICT when the id of this plan is certainly that of another job. Asks no platform. */
int api_other_id(struct sw_session *session, const struct api_plan *made, struct sw_error *err);
/* The id of this plan is taken. *again: the submit that took it came to nothing and its row is
 * gone by now, so that ours may be written; otherwise the job that is there is the answer. SW_E_CONFLICT:
 * it is another job than the plan's. */
int api_same_id(struct sw_session *session, const struct api_plan *made, bool *again,
                struct sw_error *err);
/* choose.c: the plan for the first platform of the list that takes it, opened; `again`: begin behind the one
 * that `made` holds. */
int api_choose(struct sw_session *session, const struct sw_request *request, bool again,
               struct api_plan *made, struct sw_error *err);
/* Its preflight, once. */
int api_check(struct api_plan *made, struct sw_error *err);
/* Says that this platform is skipped and why; false: there is no next, or it would fail there, too. */
bool api_skip(struct sw_session *session, struct api_plan *made, const struct sw_error *why);
/* plan_hide.c: the document of a plan without the values in `env` that look like credentials. */
json_t *api_plan_hide(json_t *document, const json_t *env);

/* Results as the caller's text: compact JSON; steals the document. */
char *api_text(json_t *document);
/* preflight.c: the document of these checks; takes them. `platform` NULL: of no one. */
char *api_checks(const char *verb, const char *platform, json_t *checks);

/* data_there.c: rows about the request's data, which a job of its own tries from where it would run. */
void api_data_there(struct sw_session *session, const struct sw_request *request, json_t *rows);

/* wait.c: the job's own answer as a shell would give it. */
int api_exit_status(enum sw_state state, const char *reason, int exit_code, int signal);

#endif
