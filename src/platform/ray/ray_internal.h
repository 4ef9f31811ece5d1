/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_internal.h - what the files of this platform share.
 *
 *     ray.c          descriptor, connection, calls
 *     ray_address.c  the ways to a dashboard: URL, ssh, a Kubernetes service
 *     ray_render.c   plan to payload and body of POST /api/jobs/   (pure)
 *     ray_package.c  code, runner and payload as one zip
 *     ray_submit.c   package and job, at most once
 *     ray_states.c   answers to observations                       (pure)
 *     ray_jobs.c     list, cleanup, adopt, orphans
 *     ray_cancel.c   stop, also of a job that waits for resources
 *     ray_cluster.c  nodes, resources, and what jobs wait for
 *     ray_secrets.c  secrets, sealed for the runner
 *     ray_text.c     Ray's log without Ray's own lines             (pure)
 *     ray_log.c      the log: socket, and the file
 *     ray_report.c   preflight report, inventory, replicas
 */
#ifndef SW_PLATFORM_RAY_INTERNAL_H
#define SW_PLATFORM_RAY_INTERNAL_H

#include <pthread.h>

#include "plan/bundle.h"
#include "platform/kit/cloud.h"
#include "platform/kit/jobs.h"
#include "platform/kit/labels.h"
#include "platform/kit/marked.h"
#include "platform/platform.h"
#include "platform/ray/ray_options.h"

#define RAY_PACKAGE_SIZE 96          /* "_ray_pkg_" 64 digits ".zip" */
#define RAY_OWN_FOLDER   ".slipway"  /* in the package: what is not the user's */
#define RAY_MARK_PLAN    "slipway.plan"
#define RAY_SEALED       "--sealed-secrets wait"     /* in the entrypoint of a job that gets some */
#define RAY_START_BY     "--start-by "               /* in every entrypoint; each job has another */
enum { RAY_PORT = 8265, RAY_PACKAGE_MOST = 100 * 1024 * 1024, RAY_STUCK_SLACK_MS = 2 * 60 * 1000 };

struct kube;
struct sw_ssh_dialer;

struct ray_connection {              /* what struct sw_connection is for this platform */
    struct sw_cloud cloud;
    char *address;                   /* as it is written, without anything secret */
    char *url;                       /* of the dashboard, or of the API server that leads there */
    char *prefix;                    /* of every path: "", or the service's proxy */
    struct kube *kube;               /* NULL: not through Kubernetes */
    struct sw_ssh_dialer *dialer;    /* NULL: not over ssh */
    json_t *way;                     /* the options that lead here again */
    struct sw_secret *token;         /* NULL: none is known */
    char *token_from;                /* where it was found, for people; NULL: nowhere */
    pthread_mutex_t kept_lock;
    struct sw_secrets *kept;         /* of jobs that this process submitted, by job; guarded */
};

static inline struct ray_connection *ray_of(const struct sw_connection *conn)
{
    return (struct ray_connection *)conn;
}

extern const struct sw_platform sw_platform_ray;

/* ---- ray.c ---------------------------------------------------------------------------------- */

/* A path of the dashboard as the client needs it; owned. */
char *ray_path(struct sw_connection *conn, const char *path);
/* A call to the dashboard, with the token where the cluster wants one. call->path is the dashboard's. */
int ray_ask(struct sw_connection *conn, const struct sw_rest_call *call, json_t **json, struct sw_error *err);
/* METHOD PATH (NULL: GET) that may be repeated. `json` may be NULL. */
int ray_call(struct sw_connection *conn, const char *method, const char *path, const json_t *body,
             json_t **json, struct sw_error *err);
/* What an answer of the dashboard means, whichever way leads there; the context is the connection. */
void ray_explain(void *context, const struct sw_http_reply *reply, const char *words, struct sw_error *err);
/* The header that the next call carries. `value` stays until it is wiped by the caller; empty: none. */
struct sw_rest_pair ray_header(struct sw_connection *conn, struct sw_buf *value);
/* "token" or "disabled", asked once in ten minutes; borrowed, static. NULL + err. */
const char *ray_mode(struct sw_connection *conn, bool fresh, struct sw_error *err);

/* ---- ray_address.c -------------------------------------------------------------------------- */

/* Fills in address, url, prefix, kube, dialer and way. */
int ray_find_way(struct ray_connection *conn, const struct sw_connect_options *config,
                 struct sw_http_options *http, struct sw_error *err);

/* ---- ray_render.c: pure --------------------------------------------------------------------- */

struct sw_jobs_name ray_name(const char *id, int attempt);           /* the submission id */
char *ray_work_dir(const struct sw_plan *plan);                      /* owned */
char *ray_results_dir(const struct sw_plan *plan);                   /* owned */
/* What the job file asks for and a Ray cluster cannot do: -1 + err. */
int ray_check(const struct sw_plan *plan, struct sw_error *err);
/* Does the driver take resources, so that any node may run it? Else it runs on the head. */
bool ray_takes_resources(const struct sw_plan *plan);
/* What the runner does; `env` gets the job's variables, owned. */
struct sw_payload *ray_payload(const struct sw_plan *plan, int attempt, json_t **env, struct sw_error *err);
/* The body of POST /api/jobs/. `package`: name of the zip; `sealed`: secrets will come; `start_by_ms`: when
 * it may begin at the latest. */
json_t *ray_render_body(const struct sw_plan *plan, int attempt, const char *package, json_t *env,
                        bool sealed, int64_t start_by_ms);

/* ---- ray_package.c -------------------------------------------------------------------------- */

struct ray_package {
    char name[RAY_PACKAGE_SIZE];
    char *bytes;                     /* owned */
    size_t length;
};
void ray_package_done(struct ray_package *package);
static inline void ray_package_auto(struct ray_package *package) { ray_package_done(package); }
/* The first attempt packs it and keeps it in the job's notes; later ones send the same. */
int ray_package_make(struct sw_connection *conn, const struct sw_plan *plan, const struct sw_payload *payload,
                     int attempt, struct ray_package *out, struct sw_error *err);
/* The name of such bytes. Pure. */
void ray_package_name(const void *bytes, size_t length, char out[RAY_PACKAGE_SIZE]);
/* To the cluster, unless it is there. */
int ray_package_send(struct sw_connection *conn, const struct ray_package *package, struct sw_error *err);

/* ---- ray_states.c: pure --------------------------------------------------------------------- */

enum sw_state ray_state(const char *said);
bool ray_is_over(const json_t *job);
/* An answer of /api/jobs/, with "tail" (end of the log) and "waits_for" of detail(). */
void ray_read(const json_t *job, struct sw_observation *seen);
/* Was it submitted so long ago that it should have a driver, and has none? */
bool ray_is_stuck(const json_t *job, int64_t limit_ms, int64_t now_ms);

/* ---- ray_jobs.c ----------------------------------------------------------------------------- */

/* One job by its submission id; owned; NULL + err. */
json_t *ray_get(struct sw_connection *conn, const char *name, struct sw_error *err);
/* All submissions by their ids; owned; NULL + err. */
json_t *ray_list(struct sw_connection *conn, struct sw_error *err);
/* The last lines of its log as UTF-8 text; owned; NULL: there are none, or they cannot be read. */
char *ray_log_end(struct sw_connection *conn, const json_t *job);
const char *ray_mark(const json_t *job, const char *key);            /* of its metadata; borrowed */
struct ray_beside {                  /* a short command beside a job, as a submission of its own */
    const char *name, *job;          /* its own id; the submission that it is for */
    const char *command;
    const char *node;                /* address of the node that runs it; NULL: the head */
    const char *package;             /* NULL: none */
};
int ray_run_beside(struct sw_connection *conn, const struct ray_beside *beside, struct sw_error *err);
/* One that is over: its name is free again. */
void ray_forget_beside(struct sw_connection *conn, const char *name);
extern const struct sw_jobs_api ray_jobs_api;

/* ---- ray_cancel.c --------------------------------------------------------------------------- */

/* Asks for it, once. */
int ray_stop(struct sw_connection *conn, const char *name, const char *why, struct sw_error *err);

/* ---- ray_cluster.c -------------------------------------------------------------------------- */

json_t *ray_nodes(struct sw_connection *conn, struct sw_error *err);         /* owned array */
json_t *ray_usage(struct sw_connection *conn, struct sw_error *err);         /* of cluster_status; owned */
/* For jobs that wait: adds "waits_for" to their answers, with one or two questions for all of them. */
void ray_explain_waiting(struct sw_connection *conn, json_t *jobs);
/* "GPU 5 (the cluster has 2)" for each resource that is missing, of a demand and the totals; owned; NULL:
 * none is missing. Pure. */
char *ray_missing(const json_t *demand, const json_t *usage);

/* ---- ray_secrets.c -------------------------------------------------------------------------- */

/* In memory, for as long as the connection lives. */
void ray_keep_secrets(struct sw_connection *conn, const char *id, const struct sw_secrets *secrets);
struct sw_secrets *ray_kept_secrets(struct sw_connection *conn, const char *id);     /* owned; NULL: none */
bool ray_wants_secrets(const json_t *job, const json_t *all, const struct sw_jobref *ref);

/* ---- ray_text.c: pure ----------------------------------------------------------------------- */

struct ray_text {                    /* Ray's log of a job, cut into the user's lines */
    const struct sw_log_sink *sink;
    char *own;                       /* the line in which Ray shows the entrypoint; owned */
    char *mark;                      /* with which the runner begins; owned */
    struct sw_buf held;              /* the beginning of a line */
    struct sw_buf before;            /* what came before the runner began, at most 64 KiB */
    bool begun;
};
void ray_text_init(struct ray_text *text, const json_t *job);
int ray_text_feed(struct ray_text *text, const char *bytes, size_t length);      /* non-zero: stop */
/* The log is complete: hands over a last line without end, and what came first if no runner began. */
int ray_text_end(struct ray_text *text);
void ray_text_done(struct ray_text *text);

/* ---- slots ---------------------------------------------------------------------------------- */

SW_PLATFORM_SLOT(ray, render);
SW_PLATFORM_SLOT(ray, preflight);
SW_PLATFORM_SLOT(ray, preflight_report);
SW_PLATFORM_SLOT(ray, submit);
SW_PLATFORM_SLOT(ray, observe);
SW_PLATFORM_SLOT(ray, reconcile);
SW_PLATFORM_SLOT(ray, hand_secrets);
SW_PLATFORM_SLOT(ray, cancel);
SW_PLATFORM_SLOT(ray, finalize);
SW_PLATFORM_SLOT(ray, cleanup);
SW_PLATFORM_SLOT(ray, replicas);
SW_PLATFORM_SLOT(ray, evidence);
SW_PLATFORM_SLOT(ray, log_fetch);
SW_PLATFORM_SLOT(ray, adopt);
SW_PLATFORM_SLOT(ray, jobs);
SW_PLATFORM_SLOT(ray, orphans);
SW_PLATFORM_SLOT(ray, inventory);

#endif
