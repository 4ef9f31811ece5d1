/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - the job store: what we know about every job, in one SQLite file.
 *
 * Many processes and threads use it at once. States only move forward (compare-and-set inside
 * the database); a final state never goes back; a cancel once asked for stays asked for. A job's
 * row exists before its platform is called. No secret value is ever stored: callers hand over
 * names of secrets only, and texts that went through the redactor.
 *
 * A store may be used from several threads. It must not be carried through fork(): a child that
 * needs it opens its own. Functions given as `fn` are called while nothing is locked and may use
 * the store themselves.
 */
#ifndef SW_STORE_STORE_H
#define SW_STORE_STORE_H

#include "base/json.h"
#include "base/proc.h"
#include "core/place.h"
#include "core/observation.h"

struct sw_store;

/* Opens (and makes, unless read_only) DIR/jobs.db; DIR is made 0700. Full disk, read-only folder,
 * corrupt file, a file of another version, a lock held for more than ten seconds, another user's
 * folder: SW_E_STORE with a hint, nothing lost. No store yet and read_only: SW_E_NOT_FOUND. */
struct sw_store *sw_store_open(const char *dir, bool read_only, struct sw_error *err);
/* The same for a store that must be there already: a helper that comes late, when its folder is
 * gone, makes no new one. */
struct sw_store *sw_store_open_existing(const char *dir, struct sw_error *err);
void sw_store_close(struct sw_store *store);
SW_DEFINE_AUTO(sw_store, struct sw_store *, sw_store_close)

/* How far our own work on a job has come; separate from its state. */
enum sw_phase {
    SW_PHASE_SUBMITTING,   /* the row exists, the platform has not confirmed */
    SW_PHASE_ACTIVE,       /* the platform has it */
    SW_PHASE_OVER,         /* final */
};
const char *sw_phase_name(enum sw_phase phase);        /* "submitting", "active", "over" */

struct sw_job {                      /* one row; owned by the caller, sw_job_done() */
    char id[SW_ID_SIZE];
    char *name, *platform, *profile;
    int64_t place;                   /* where it runs: sw_store_place(); 0: not written down */
    char *address;                   /* of that place, for people; NULL: none */
    enum sw_phase phase;
    enum sw_state state;
    bool canceling;                  /* a cancel was asked for */
    char *reason, *message;
    int attempt;
    int exit_code;                   /* SW_NO_EXIT_CODE: none */
    int signal;
    int failed_replica;              /* -1: none */
    char *remote_id, *node, *results_dir;
    json_t *details, *plan, *labels; /* NULL when not asked for */
    char *err_class, *cause, *suggestion;
    int64_t created_ms, submitted_ms, started_ms, ended_ms, updated_ms;   /* 0: not yet */
    int64_t seen_ms;                 /* when the platform last answered about it */
    int64_t keep_ms;                 /* keep files that long after the end; 0: for ever */
    int64_t not_before_ms;           /* a retry waits until then, a waiting job is expected to start
                                        then; 0: not known */
    json_t *avoid;                   /* nodes the next attempt keeps away from; NULL: none */
    bool only_collect;               /* this attempt brings the outputs of an earlier one, whose command */
    int command_exit;                /* ended with this code; both with the documents */
    json_t *progress;                /* as sw_store_progress took it; NULL: none */
    int duties;                      /* of sw_store_add() alone: enum sw_duty */
    char *host;                      /* that it was left on; with the documents */
    json_t *origin;                  /* who submitted it, from where; with the documents */
    json_t *request;                 /* with what, so that it can be made again; likewise */
    json_t *brief;                   /* what a list shows of the plan; with lists */
    const char *diff;                /* of sw_store_add() alone: what was not committed; NULL: nothing */
    json_t *owner;                   /* sw_owner_json of the submitting process, while submitting */
};
void sw_job_done(struct sw_job *job);
struct sw_jobref sw_job_ref(const struct sw_job *job);       /* borrows from the row */
static inline void sw_job_auto(struct sw_job *job) { sw_job_done(job); }

/* duties.c: what is missed when no process looks after the job. */
enum sw_duty {
    SW_DUTY_RETRY = 1 << 0,          /* the platform does not try again by itself */
    SW_DUTY_HOOK = 1 << 1,           /* hooks and notifications */
    SW_DUTY_GUARD = 1 << 2,          /* the platform does not watch for silence by itself */
    SW_DUTY_QUEUE = 1 << 3,          /* waiting jobs are started, other ranks are ended */
    SW_DUTY_LOG = 1 << 4,            /* the platform may forget its log */
    SW_DUTY_CANCEL = 1 << 5,         /* of sw_store_duties(): a cancel was never confirmed */
    SW_DUTY_SECRETS = 1 << 6,        /* its runner waits for secrets that the platform cannot keep */
};
enum { SW_DUTIES = 6 };

struct sw_duties {
    int64_t jobs;                    /* that are not over and have a duty */
    int64_t notices;                 /* hooks that were not started yet */
    int kinds;
    int64_t next_ms;                 /* the next attempt that waits for its time; 0: none does */
};
int sw_store_duties(struct sw_store *store, struct sw_duties *out, struct sw_error *err);
/* {"slurm ssh://ann@login1": 3}: how many jobs are not over, by place; owned. */
json_t *sw_store_jobs_by_place(struct sw_store *store);

/* watchers.c: those of several hosts on one store. Each shows itself, and says when it is gone. */
int sw_store_watcher_beat(struct sw_store *store, const char *host, struct sw_error *err);
void sw_store_watcher_gone(struct sw_store *store, const char *host);
bool sw_store_watcher_lives(struct sw_store *store, const char *host);
/* 1: this host asks the place now; 0: another did within `every_ms`; -1. */
int sw_store_place_ask(struct sw_store *store, int64_t place, const char *host, int64_t every_ms,
                       struct sw_error *err);
void sw_store_place_unasked(struct sw_store *store, int64_t place, const char *host);    /* no answer */
/* The job was left alone on this host, whose watcher has its secrets. */
int sw_store_left_on(struct sw_store *store, const char *id, const char *host, struct sw_error *err);

/* Remember a job before anything is sent (phase submitting, state Pending, attempt 1, event
 * "submitting"). Uses id, name, platform, profile, place, plan, labels, results_dir, keep_ms, owner, origin,
 * request, brief, diff.
 * SW_E_CONFLICT when the id exists. */
int sw_store_add(struct sw_store *store, const struct sw_job *job, struct sw_error *err);

/* What was not committed when it was submitted, owned; "": nothing, or not known. NULL + err. */
char *sw_store_diff(struct sw_store *store, const char *id, struct sw_error *err);

/* places.c: a place by its number; SW_E_NOT_FOUND. */
int sw_store_place(struct sw_store *store, int64_t seq, struct sw_place *out, struct sw_error *err);
/* The number of this place; 0: it was never written down. place->seq is not looked at. */
int sw_store_place_find(struct sw_store *store, const struct sw_place *place, int64_t *seq,
                        struct sw_error *err);
/* Likewise; a place never seen before gets a number. */
int sw_store_place_add(struct sw_store *store, const struct sw_place *place, int64_t *seq,
                       struct sw_error *err);

/* The platform has it: remember what it needs to be found again (NULL or "": keep what is known).
 * Phase active, unless the job is over already. Does not touch the state. */
int sw_store_submitted(struct sw_store *store, const char *id, const char *remote_id,
                       const json_t *details, const char *results_dir, struct sw_error *err);

/* The row was ended although its job runs, or may: active and Pending again, with that reason and
 * message (event "reopened"). Nothing when it is not over, or at another attempt. A cancel that was
 * asked for stays asked for. */
int sw_store_reopen(struct sw_store *store, const char *id, int attempt, const char *reason,
                    const char *message, struct sw_error *err);

/* Take over a row still "submitting" whose process died: only one caller wins (compare-and-set on
 * the old owner as the caller read it; NULL: none). *won tells. */
int sw_store_claim(struct sw_store *store, const char *id, const json_t *old_owner,
                   const json_t *new_owner, bool *won, struct sw_error *err);

/* ---- owners: which process is at work on a job (owner.c) -------------------------------------- */

enum { SW_OWNER_BEAT_MS = 20 * 1000 };    /* how often the owner of a row says that it lives */

/* Locks of this store: a descriptor, and closing it lets go of all it took; -1: none to be had. */
int sw_owner_open(const struct sw_store *store);
#define SW_OWNER_CANCEL "cancel:"         /* before an id: who waits for its cancel */
/* false: another process (or another descriptor of this one) has it. Where locks do not work
 * everybody gets them: the owner in the row decides then. */
bool sw_owner_take(int owners, const char *name);
void sw_owner_release(int owners, const char *name);
/* This process, as sw_job.owner keeps it; the lock of the row's id must be taken before. */
json_t *sw_owner_json(void);
/* Is the owner of a row still at work, as far as can be known? Whatever pid or time namespace or
 * machine it is in. */
bool sw_owner_lives(const struct sw_store *store, const struct sw_job *job, int64_t now_ms);
/* "I am still at it": for those who cannot see the lock. */
void sw_store_beat(struct sw_store *store, const char *id);
/* The row is ours and shall have no owner: the next refresh may claim it. */
void sw_store_let_go(struct sw_store *store, const char *id);

/* What a poll saw. Applies only allowed changes, writes an event when state, reason or message
 * changed, keeps the attempt row in step. *changed: the state changed. `verdict` (may be NULL) is
 * {"err_class","cause","suggestion"}, stored with a final state.
 * Ignored: presence SW_UNSEEN, another attempt than the row's, a job that is gone. Unknown never
 * replaces a known state. Of a job that is over only gaps are filled, by an observation of that same
 * end. Nothing new: nothing is written but seen_ms, and that only once a second. */
int sw_store_saw(struct sw_store *store, const struct sw_observation *seen, const json_t *verdict,
                 int64_t now_ms, bool *changed, struct sw_error *err);
/* Would that write anything, if the row is still as the caller read it? Without a query to a platform. */
bool sw_store_is_news(const struct sw_job *row, const struct sw_observation *seen,
                      const json_t *verdict, int64_t now_ms);
/* Many observations in one transaction, all or none; changed may be NULL or an array. */
int sw_store_saw_many(struct sw_store *store, const struct sw_observation *seen, size_t count,
                      json_t *const *verdicts, int64_t now_ms, bool *changed,
                      struct sw_error *err);

/* All that `fn` does to the store in one transaction, on the disk when this returns. Each call in it succeeds
 * or fails by itself; -1 of `fn` undoes them all. It must be short and call nothing but the store: others
 * wait. */
int sw_store_together(struct sw_store *store, int (*fn)(void *context, struct sw_error *err),
                      void *context, struct sw_error *err);

/* The attempt waits until then, after all. */
int sw_store_attempt_later(struct sw_store *store, const char *id, int attempt, int64_t not_before_ms,
                           struct sw_error *err);
/* A retry that waits for its time is due now (event "attempt-now"). *due: there was one. */
int sw_store_attempt_now(struct sw_store *store, const char *id, int attempt, bool *due,
                         struct sw_error *err);

/* Remember that a cancel was asked for (event "canceling"). Final jobs are left alone. */
int sw_store_cancel_intent(struct sw_store *store, const char *id, struct sw_error *err);

/* Take that back (event "cancel-undone"). *undone: there was one, and the job is not over. */
int sw_store_cancel_undo(struct sw_store *store, const char *id, bool *undone,
                         struct sw_error *err);

enum sw_columns {
    SW_COLUMNS_LIST,       /* of a list: and labels, brief */
    SW_COLUMNS_ALL,        /* and plan, details, labels, avoid, owner */
    SW_COLUMNS_NAMES,      /* of a list: nothing but id, platform, profile, place and phase */
};

/* One job; SW_E_NOT_FOUND. */
int sw_store_get(struct sw_store *store, const char *id, enum sw_columns columns,
                 struct sw_job *out, struct sw_error *err);

/* Drops from a plan, as JSON, what the caller does not need. */
typedef void sw_shorten_fn(json_t *plan);

/* These jobs as they are at one moment, without labels and those that are gone: `out` has room for
 * `count`, *found are there. Plan and details are shared with later calls: never change them.
 * `shorten` may be NULL: the whole plan. */
int sw_store_get_many(struct sw_store *store, const char (*ids)[SW_ID_SIZE], size_t count,
                      sw_shorten_fn *shorten, struct sw_job *out, size_t *found, struct sw_error *err);

struct sw_ending {                   /* what waiting needs to know of a job */
    bool there, over;
    enum sw_state state;
    char reason[48];
    int attempt;
    int exit_code;                   /* SW_NO_EXIT_CODE: none */
    int signal;
    int64_t started_ms, ended_ms;    /* 0: not yet */
};
/* That of each of these jobs, in one statement: out[i] is that of ids[i]. */
int sw_store_endings(struct sw_store *store, const char *const *ids, size_t count,
                     struct sw_ending *out, struct sw_error *err);

struct sw_job_filter {
    const enum sw_state *states; size_t state_count;   /* none: all */
    bool active_only;                                  /* phase is not over */
    const char *platform, *name, *name_prefix, *id_prefix;
    const char *const *labels; size_t label_count;     /* "key" or "key=value": has all of them */
    int64_t ended_before_ms;                           /* with keep: see sw_store_expired */
    int64_t created_since_ms;                          /* 0: all */
    size_t limit, offset;                              /* limit 0: no limit */
    enum sw_columns columns;
};
/* Newest first, in the order the rows were added (a clock set back changes nothing). Calls fn for
 * each row, which it may not keep; non-zero stops, and is no error. */
typedef int sw_job_fn(void *context, const struct sw_job *job);
int sw_store_list(struct sw_store *store, const struct sw_job_filter *filter, sw_job_fn *fn,
                  void *context, struct sw_error *err);
/* watchers.c: those at this place that were left on this host and are to be sent; SW_COLUMNS_NAMES. */
int sw_store_own_attempts(struct sw_store *store, int64_t place, const char *host, sw_job_fn *fn,
                          void *context, struct sw_error *err);
int sw_store_count(struct sw_store *store, const struct sw_job_filter *filter, int64_t *count,
                   struct sw_error *err);
/* Finished jobs whose keep time has passed, longest overdue first; at most `limit` or 1024 of them,
 * so call again after removing those. */
int sw_store_expired(struct sw_store *store, int64_t now_ms, size_t limit, sw_job_fn *fn,
                     void *context, struct sw_error *err);

/* Another plan for a job, as it was adopted once more. */
int sw_store_set_plan(struct sw_store *store, const char *id, const json_t *plan, const json_t *brief,
                      struct sw_error *err);

/* Forget a job with its attempts and events. SW_E_CONFLICT unless it is over. */
int sw_store_remove(struct sw_store *store, const char *id, struct sw_error *err);
/* The same whatever its state is. */
int sw_store_forget(struct sw_store *store, const char *id, struct sw_error *err);

/* The store itself writes the kinds submitting, submitted, claimed, state, canceling, attempt. */
int sw_store_event(struct sw_store *store, const char *id, const char *kind, const json_t *data,
                   struct sw_error *err);
typedef int sw_event_fn(void *context, int64_t seq, int64_t at_ms, const char *job_id,
                        const char *kind, const json_t *data);
int sw_store_events(struct sw_store *store, const char *id, int64_t after_seq, sw_event_fn *fn,
                    void *context, struct sw_error *err);   /* id NULL: of all jobs */

/* The attempts of a job, oldest first: JSON array of {number, state, reason, message, exit_code,
 * signal, node, remote_id, started_ms, ended_ms, cause}. */
json_t *sw_store_attempts(struct sw_store *store, const char *id, struct sw_error *err);
/* usage.c: one attempt and what it used; owned by the store. */
struct sw_used {
    /* the same number for the attempts of one job, which come one after the other */
    int64_t job;
    bool first, current;             /* of its attempts */
    char *platform;
    char *label;                     /* the value of the label that was asked for; NULL: it has none */
    json_t *brief;                   /* {"gpus","nodes","gpu_type","user"}; NULL: not known */
    double gpu_percent;              /* how busy its GPUs were, from 0 to 100; -1: not known */
    enum sw_state state;
    int64_t queued_ms, started_ms, ended_ms;     /* it waits since; 0: not yet */
};
/* The attempts of all jobs that were not over at that time, oldest job first. */
typedef void sw_used_fn(void *context, const struct sw_used *used);
int sw_store_used(struct sw_store *store, int64_t since_ms, const char *label, sw_used_fn *fn, void *context,
                  struct sw_error *err);
/* Begin the next attempt: number + 1, state Pending again; *attempt is the new number. From a final
 * state the row is "submitting" without an owner (claim it, then submit). Before the end it means
 * that the platform retries by itself: phase and remote id stay. SW_E_CONFLICT when from_attempt
 * is not the current one (another process was quicker) or a cancel was asked for. */
int sw_store_next_attempt(struct sw_store *store, const char *id, int from_attempt,
                          const char *why, int *attempt, struct sw_error *err);
/* Likewise, of a job that is over: the attempt only brings the outputs that the command left, which ended
 * with command_exit. */
int sw_store_collect_again(struct sw_store *store, const char *id, int from_attempt,
                           int command_exit, const char *why, int *attempt, struct sw_error *err);
/* The platform tried again by itself, maybe more than once: the attempts of seen->before are written
 * down, each with an event, and the job is at seen->attempt, Pending until that is seen. Nothing when
 * it is over or there already. new_log: progress begins anew, as the log does. */
int sw_store_caught_up(struct sw_store *store, const struct sw_observation *seen, bool new_log,
                       int64_t now_ms, struct sw_error *err);
/* The platform would have begun this attempt by itself and never will: it is ours to send, phase submitting
 * without owner, at the time it was to begin. Nothing when the row has gone on meanwhile. */
int sw_store_hand_back(struct sw_store *store, const char *id, int attempt, const char *message,
                       struct sw_error *err);
/* Nodes (array of names) that coming attempts keep away from; NULL: none. */
int sw_store_avoid(struct sw_store *store, const char *id, const json_t *avoid,
                   struct sw_error *err);

/* The attempt failed and is tried again. In one transaction the attempt gets its end (from
 * `failed` and `verdict`), and the job becomes Pending, attempt + 1, phase submitting without owner,
 * not to be sent before not_before_ms; no reader sees it as over. Compare-and-set on the attempt:
 * *won tells. `avoid` is an array of node names to keep away from (may be NULL). With only_collect the
 * command is done, and the next attempt brings what it left; an attempt that does so already is followed by
 * its like. */
int sw_store_retry(struct sw_store *store, const struct sw_observation *failed, const json_t *verdict,
                   int64_t not_before_ms, bool only_collect, const json_t *avoid, const char *why,
                   int64_t now_ms, bool *won, struct sw_error *err);

/* How far the job's training is (JSON of struct sw_training, log offset so far): relaxed. An epoch
 * event is written for each milestone in `milestones` (array of numbers) exactly once. */
int sw_store_progress(struct sw_store *store, const char *id, int attempt, const json_t *progress,
                      const json_t *milestones, struct sw_error *err);

/* A guard found something, and has found it since `since_ms`: one event "guard" with `data` for
 * each such time, in whichever process looks. *won: this call wrote it. */
int sw_store_guard(struct sw_store *store, const char *id, int attempt, int64_t since_ms,
                   const json_t *data, bool *won, struct sw_error *err);

/* ---- notices: who has to hear of an event ---------------------------------------------------- */

/* Look up the hooks of events that were not looked up yet, oldest first, at most `limit` of them:
 * fn adds to `hooks` the names of those that shall hear of it. The notices and how far we came
 * are written together, by exactly one of all callers. Only jobs whose plan has "hooks" or
 * "notify" count. *found: there were any (call again). */
typedef void sw_due_fn(void *context, const struct sw_job *job, int64_t event_seq,
                       const char *kind, const json_t *data, json_t *hooks);
int sw_store_due(struct sw_store *store, size_t limit, sw_due_fn *fn, void *context, bool *found,
                 struct sw_error *err);

/* Notices that are not claimed, or whose claimer died before it began: oldest first. */
typedef int sw_notice_fn(void *context, int64_t event_seq, const char *hook);
int sw_store_notices(struct sw_store *store, size_t limit, sw_notice_fn *fn, void *context,
                     struct sw_error *err);

struct sw_notice {                   /* one event for one hook; sw_notice_done() */
    struct sw_job job;               /* with its documents, as it is now */
    char *kind;
    json_t *data;
    int64_t at_ms;
};
void sw_notice_done(struct sw_notice *notice);
static inline void sw_notice_auto(struct sw_notice *notice) { sw_notice_done(notice); }

/* Exactly one caller wins the right to run `hook` for that event, and gets what it needs. A claim
 * whose process died before sw_store_notice_started() may be won again; after that, never. */
int sw_store_notice_claim(struct sw_store *store, int64_t event_seq, const char *hook, bool *won,
                          struct sw_notice *out, struct sw_error *err);
int sw_store_notice_started(struct sw_store *store, int64_t event_seq, const char *hook,
                            struct sw_error *err);
/* Also writes an event "hook" with `result` as its data. */
int sw_store_notice_done(struct sw_store *store, int64_t event_seq, const char *hook,
                         int exit_status, const json_t *result, struct sw_error *err);

/* Did a write fail because the disk is full? */
bool sw_store_is_full(const struct sw_store *store);
/* Then a little room can be made once, from a reserve that is kept beside the store while there is
 * plenty: true, and what failed may be tried again. */
bool sw_store_make_room(struct sw_store *store);

const char *sw_store_path(const struct sw_store *store);
/* Random, made with the store: what it leaves on a platform carries it. Lives as long as the store;
 * NULL: the file is damaged. */
const char *sw_store_id(const struct sw_store *store);
/* PRAGMA quick_check and friends for `slipway doctor`: "" in *problem when healthy (owned). */
int sw_store_check(struct sw_store *store, char **problem, struct sw_error *err);

#endif
