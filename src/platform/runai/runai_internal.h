/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai_internal.h - what the files of this platform share.
 *
 *     runai.c         descriptor, connection, calls       runai_account.c  who asks: login and token
 *     runai_render.c  plan to workload (pure)             runai_storage.c  volumes to data sources (pure)
 *     runai_site.c    project and cluster by name         runai_secrets.c  secrets and logins of registries
 *     runai_submit.c  checks, credentials, the workload   runai_states.c   answers to observations (pure)
 *     runai_jobs.c    list, stop, cleanup, find again     runai_log.c      the three ways to a log
 *     runai_report.c  preflight and inventory             runai_kept_log.c the third: the results store
 */
#ifndef SW_PLATFORM_RUNAI_INTERNAL_H
#define SW_PLATFORM_RUNAI_INTERNAL_H

#include <pthread.h>

#include "core/payload.h"
#include "platform/kit/cloud.h"
#include "platform/kit/jobs.h"
#include "platform/kit/labels.h"
#include "platform/kube/kube.h"
#include "platform/platform.h"
#include "platform/runai/runai_options.h"

#define RUNAI_CHUNKS     "SLIPWAY_JOB"           /* variables: runner, payload and code */
#define RUNAI_PLAN       SW_PLAN_VARIABLE        /* and the plan, as PLAN_0, PLAN_1 ... */
#define RUNAI_START      "SLIPWAY_START"         /* the shell text that begins it all, base64 */
#define RUNAI_BOOT       "SLIPWAY_BOOT"          /* what decodes that */
#define RUNAI_RESULTS    "/results"
#define RUNAI_VOLUME     "/slipway-results"
#define RUNAI_LOG        "SLIPWAY_LOG"           /* variable: payload of the runner that brings the log */
#define RUNAI_KEPT       "/tmp/slipway-log"      /* its folder in the pod */
#define RUNAI_LOG_STORED "log_store"             /* in the details of a job: where it brings its log */
enum {
    RUNAI_NAME_MAX = 35, RUNAI_NAME_SIZE = RUNAI_NAME_MAX + 1,
    RUNAI_VALUE_MAX = 9000,                      /* characters of a variable; the service takes 10,000 */
    RUNAI_CHUNKS_MAX = 900 * 1024,               /* of all: a stored workload may have 1.5 MiB */
    RUNAI_PAGE = 50,                             /* workloads of a page: lists show their variables */
    RUNAI_BATCH = 100, RUNAI_PATIENCE_MS = 60000,
};

struct runai_account {
    const char *url;                             /* the connection's; "": none is configured */
    char *id;
    struct sw_secret *secret;                    /* NULL: not known */
    bool legacy;                                 /* an application */
    struct sw_rest *rest;                        /* without a token */
    pthread_mutex_t lock;                        /* guards what follows */
    struct sw_secret *token;                     /* NULL: none yet */
    int64_t renew_ms;                            /* when it is replaced, by sw_monotonic_ms() */
};

struct runai_site {                              /* as the names of the options were found */
    char *project_id, *namespace;
    char *cluster_id, *cluster_name, *domain;    /* domain NULL: the cluster has none */
};

struct runai_connection {                        /* what struct sw_connection is for this platform */
    struct sw_cloud cloud;
    char *url, *project, *cluster;               /* project, cluster NULL: not said */
    char *kube_url, *kubeconfig, *kube_context;
    struct runai_account account;
    _Atomic int explained;                       /* waiting jobs whose events this refresh asked for */
    pthread_mutex_t lock;                        /* guards what follows */
    struct runai_site *site;                     /* NULL: not looked up yet; stays when it is there */
    struct kube *kube;                           /* by kubeconfig; NULL: not opened */
    struct sw_rest *kube_rest, *cluster_rest;    /* with run:ai's token; NULL: not opened */
    bool kube_refused;                           /* the API server does not take it */
};

static inline struct runai_connection *runai_of(const struct sw_connection *conn)
{
    return (struct runai_connection *)conn;
}

extern const struct sw_platform sw_platform_runai;
extern const struct sw_jobs_api runai_jobs_api;

/* ---- runai.c ---- */

/* Another server with the same token; NULL + err. */
struct sw_rest *runai_rest_to(struct sw_connection *conn, const char *url, const char *name,
                              struct sw_error *err);

/* ---- runai_account.c ---- */

int runai_account_open(struct runai_account *account, const char *url,
                       const struct sw_connect_options *config, struct sw_error *err);
void runai_account_close(struct runai_account *account);
sw_rest_authorize runai_authorize;               /* the context is the struct runai_account */
/* How long a token may be used from now on, in milliseconds, by its answer and its own text (a JWT); 0: they
 * do not say. Pure. */
int64_t runai_token_life_ms(int64_t expires_in_s, const char *token, int64_t now_ms);

/* ---- runai_site.c ---- */

/* Asked once; borrowed as long as the connection lives. NULL + err. */
const struct runai_site *runai_site(struct sw_connection *conn, struct sw_error *err);
void runai_site_free(struct runai_site *site);
/* The project and the cluster of these names in their lists, borrowed; NULL + err. Pure. */
const json_t *runai_find_project(const json_t *projects, const char *name, const char *cluster_id,
                                 struct sw_error *err);
const json_t *runai_find_cluster(const json_t *clusters, const char *wanted, struct sw_error *err);
/* Lists at most 500 items of `path`; owned array. */
json_t *runai_list_all(struct sw_connection *conn, const char *path, const char *items, const char *filter,
                       struct sw_error *err);

/* ---- runai_render.c: pure ---- */

struct runai_target {                            /* where and how one attempt runs; all borrowed */
    int attempt;
    const char *project_id, *cluster_id, *owner;
    const char *pull_secret;                     /* NULL: none */
    const char *secret;                          /* Kubernetes secret with the job's own; NULL: none */
    bool keeps_log;                              /* its log goes to the results store */
    const json_t *secret_names;                  /* object: the names in it */
};

struct sw_jobs_name runai_name(const char *id, int attempt);
/* What the job file asks for and run:ai cannot do: -1 + err. */
int runai_check(const struct sw_plan *plan, struct sw_error *err);
/* "trainings" or "distributed" */
const char *runai_kind(const struct sw_plan *plan);
/* The body without the chunks; NULL + err. */
json_t *runai_render_body(const struct sw_plan *plan, const struct runai_target *target,
                          struct sw_error *err);
void runai_env_add(json_t *body, const json_t *variables);      /* name -> text */
/* The shell text that a container begins with. */
void runai_bootstrap(const struct sw_plan *plan, const struct runai_target *target, const json_t *env,
                     struct sw_buf *out);
/* The plan that a workload carries, owned; NULL: none. */
json_t *runai_plan_of(const json_t *workload);
const char *runai_mark(const json_t *workload, const char *list,
                       const char *name);     /* NULL: it has none */
bool runai_brings_log(const json_t *whole);      /* to the results store */
extern const struct sw_rest_field runai_fields[];

/* Where results are outside of the pod, "pvc:NAME/ID", owned; NULL: they are lost with it. A volume at
 * /results is shared by jobs, so it is mounted beside, and the job's results are in a folder of its own. */
char *runai_results_source(const struct sw_plan *plan);
char *runai_results_dir(const struct sw_plan *plan);           /* in the pod; owned */
json_t *runai_outputs(const struct sw_plan *plan);             /* with that folder for /results; owned */

/* runai_storage.c: pure. `storage` of a workload, owned (may be empty); NULL + err. */
json_t *runai_storage(const struct sw_plan *plan, struct sw_error *err);

/* ---- runai_secrets.c ---- */

/* The credential with these secrets; *name: its Kubernetes secret, owned, NULL: there is none to send. */
int runai_send_secrets(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                       const struct sw_secrets *secrets, const json_t *names, char **name,
                       struct sw_error *err);
int runai_delete_secrets(struct sw_connection *conn, const char *id, int attempt, struct sw_error *err);
/* The pull secret of the image; *name as above. */
int runai_pull_secret(struct sw_connection *conn, const struct sw_plan *plan, char **name,
                      struct sw_error *err);

/* ---- runai_states.c: pure ---- */

enum sw_state runai_state(const char *phase, const char **note);
/* Of a list, or of its own address; with "pods", "events", "tails" and "canceled" of the detail. */
void runai_read(const json_t *workload, struct sw_observation *seen);
const char *runai_phase(const json_t *workload);           /* "": it says none */
const char *runai_id(const json_t *workload);
int64_t runai_time_ms(const json_t *object, const char *key);    /* 0: not there */
int runai_rank_of(const json_t *pod, int count);           /* by its name; -1: none */
enum sw_state runai_pod_state(const json_t *pod);

/* ---- runai_jobs.c ---- */

/* One workload of our project by its name, owned; `deleted`: of those that are gone. NULL + err. */
json_t *runai_by_name(struct sw_connection *conn, const char *name, bool deleted, struct sw_error *err);
/* The whole of it, with its spec; owned. */
json_t *runai_whole(struct sw_connection *conn, const json_t *entry, struct sw_error *err);
/* Its "pods" or "events", owned; NULL + err. */
json_t *runai_part(struct sw_connection *conn, const json_t *workload, const char *part,
                   struct sw_error *err);
/* `whole` is what was sent, or how the server shows it: with its spec. */
void runai_fill_submission(const json_t *workload, const json_t *whole, const struct sw_plan *plan,
                           struct sw_submission *out);
SW_PLATFORM_SLOT(runai, observe);
SW_PLATFORM_SLOT(runai, cancel);
SW_PLATFORM_SLOT(runai, cleanup);
SW_PLATFORM_SLOT(runai, finalize);
SW_PLATFORM_SLOT(runai, evidence);
SW_PLATFORM_SLOT(runai, replicas);
SW_PLATFORM_SLOT(runai, adopt);
SW_PLATFORM_SLOT(runai, jobs);
SW_PLATFORM_SLOT(runai, orphans);
SW_PLATFORM_SLOT(runai, resume);

/* ---- runai_log.c ---- */

/* The last lines of a pod's log, owned; NULL: not read. */
char *runai_log_tail(struct sw_connection *conn, const struct sw_jobref *job, const json_t *pod, int rank);
/* Does the Kubernetes API let us read logs? Asked once, where it is not known. */
bool runai_reads_kube(struct sw_connection *conn);
SW_PLATFORM_SLOT(runai, log_fetch);

/* ---- runai_kept_log.c ---- */

/* Where the logs of a job go in the results store, by its outputs; owned; NULL: none goes there. Pure. */
char *runai_kept_uri(const json_t *outputs, const char *id);
bool runai_is_kept(const struct sw_jobref *job);
/* What brings it there, as the text of a payload, owned; NULL + err. */
char *runai_kept_payload(const struct sw_plan *plan, int attempt, bool with_ca, struct sw_error *err);
/* As log_fetch() and runai_log_tail(). */
int runai_kept_fetch(struct sw_connection *conn, const struct sw_jobref *job, int rank,
                     const struct sw_log_cursor *cursor, const struct sw_log_sink *sink,
                     struct sw_error *err);
char *runai_kept_tail(struct sw_connection *conn, const struct sw_jobref *job, int rank);

/* ---- others ---- */

SW_PLATFORM_SLOT(runai, submit);
SW_PLATFORM_SLOT(runai, render);
SW_PLATFORM_SLOT(runai, preflight);
SW_PLATFORM_SLOT(runai, preflight_report);
SW_PLATFORM_SLOT(runai, inventory);

#endif
