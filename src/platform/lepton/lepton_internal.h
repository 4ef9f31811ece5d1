/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lepton_internal.h - what the files of this platform share.
 *
 *     lepton.c         descriptor, connection, calls
 *     lepton_login.c   who calls: variables, saved login
 *     lepton_site.c    node group, shape, mounts
 *     lepton_render.c  plan to job body (pure)
 *     lepton_secrets.c the workspace's two secret stores
 *     lepton_submit.c  checks, secrets, the job
 *     lepton_states.c  answers to observations (pure)
 *     lepton_jobs.c    list, stop, cleanup, adopt, orphans
 *     lepton_log.c     logs by time
 *     lepton_waiting.c jobs that wait
 *     lepton_report.c  preflight report, inventory
 */
#ifndef SW_PLATFORM_LEPTON_INTERNAL_H
#define SW_PLATFORM_LEPTON_INTERNAL_H

#include "platform/kit/cloud.h"
#include "platform/kit/jobs.h"
#include "platform/kit/labels.h"
#include "platform/kit/marked.h"
#include "platform/lepton/lepton_options.h"
#include "platform/platform.h"

#define LEPTON_HOST       "https://gateway.dgxc-lepton.nvidia.com"
#define LEPTON_STOPPED    "slipway.stopped"      /* label of a job: why a client of ours stopped it */
#define LEPTON_SIGNATURE  "SLIPWAY_SIGNATURE"    /* variables of a job, beside SW_PLAN_VARIABLE */
#define LEPTON_CHUNKS     "SLIPWAY_JOB"
#define LEPTON_ALL_JOBS   "alive_and_archive"    /* job_query_mode */
#define LEPTON_REPLICAS   "replicas?job_query_mode=" LEPTON_ALL_JOBS
enum { LEPTON_NAME_MAX = 36, LEPTON_NAME_SIZE = LEPTON_NAME_MAX + 1, LEPTON_PORT = 29400,
       LEPTON_SETTLES_MS = 3000 };                /* so long a list may lack a new job */

struct lepton_connection {           /* what struct sw_connection is for this platform */
    struct sw_cloud cloud;                   /* facts: groups, shapes, permissions, logins */
    char *url, *origin, *workspace;
    struct sw_secret *token;                 /* NULL: none is known */
    int64_t token_expires_ms;                /* as the saved login says; 0: not known */
    struct sw_rest_pair headers[2];
    int explained;                           /* waiting jobs that this refresh asked about */
};

static inline struct lepton_connection *lepton_of(const struct sw_connection *conn)
{
    return (struct lepton_connection *)conn;
}

extern const struct sw_platform sw_platform_lepton;

/* ---- lepton_login.c ------------------------------------------------------------------------- */

/* Workspace, address, origin and token of `conn`, from the options, the environment and the saved login. */
void lepton_login(struct lepton_connection *conn, const struct sw_connect_options *config);
/* The same from a saved login's text: {"workspace","url","origin","expires_ms"}, owned, and the token. NULL:
 * it has no such workspace (`id` NULL: the current one). Pure. */
json_t *lepton_saved_login(const char *text, size_t length, const char *id, struct sw_secret **token);

/* ---- lepton_site.c -------------------------------------------------------------------------- */

struct lepton_site {                 /* where and how one attempt runs; owned */
    int attempt;
    char *group;                     /* id; NULL: shared machines */
    char *shape, *arch;
    char *pull_secret;               /* name; NULL: none */
    json_t *mounts;                  /* as the API takes them */
    json_t *nodes;                   /* that it may use; NULL: all of the group */
    json_t *secrets;                 /* names of those that travel; NULL: none */
};
void lepton_site_done(struct lepton_site *site);
static inline void lepton_site_auto(struct lepton_site *site) { lepton_site_done(site); }

/* Group, shape, mounts and nodes of this plan. */
int lepton_find_site(struct sw_connection *conn, const struct sw_plan *plan, struct lepton_site *out,
                     struct sw_error *err);
/* Pure. Of a list of node groups that of this name or id, borrowed; NULL + err. */
const json_t *lepton_group_of(const json_t *groups, const char *wanted, struct sw_error *err);
/* Of a list of shapes the smallest that this plan fits in, borrowed; NULL + err names those there are. */
const json_t *lepton_shape_of(const json_t *shapes, const struct sw_plan *plan, const char *group,
                              struct sw_error *err);
/* The volume that is mounted when the job names none, borrowed; NULL: the group has none. */
const json_t *lepton_volume_of(const json_t *group);
struct lepton_wanted {               /* one entry of lepton.volumes */
    const char *path;                /* in the volume; NULL: the first that is permitted */
    const char *at;                  /* in the container; NULL: /mnt/VOLUME */
    bool read_only;
};
/* One mount as the API takes it, owned; NULL + err: no permission allows it. */
json_t *lepton_mount_of(const json_t *volume, const json_t *permissions, const struct lepton_wanted *wanted,
                        struct sw_error *err);
/* Ids of the nodes that are allowed (none named: all), without those to avoid; NULL + err: none is left.
 * Owned. */
json_t *lepton_nodes_but(const json_t *nodes, const json_t *allowed, const json_t *avoid,
                         struct sw_error *err);
const char *lepton_arch_of(const json_t *shape);
/* Folder that all ranks see; NULL: none. */
const char *lepton_shared(const struct lepton_site *site);
char *lepton_results(const struct lepton_site *site, const char *id);      /* owned */

/* ---- lepton_render.c ------------------------------------------------------------------------ */

/* At most 36 characters, of this attempt alone. */
void lepton_name(const char *id, int attempt, char out[LEPTON_NAME_SIZE]);
/* What the job file asks for and Lepton cannot do: -1 + err. Pure. */
int lepton_check(const struct sw_plan *plan, struct sw_error *err);
/* The body of POST /jobs, without the chunks. Pure. */
json_t *lepton_render_body(const struct sw_plan *plan, const struct lepton_site *site);

/* ---- lepton_secrets.c ----------------------------------------------------------------------- */

/* The name of one secret of an attempt in the workspace's store; owned. Pure. */
char *lepton_secret_name(const char *id, int attempt, const char *name);
/* Into the store; `again`: they may be there, and are replaced. */
int lepton_send_secrets(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                        const struct sw_secrets *secrets, bool again, struct sw_error *err);
/* All of them that belong to this job; attempt 0: to any attempt. Those that are gone are success. */
int lepton_delete_secrets(struct sw_connection *conn, const char *id, int attempt, struct sw_error *err);
/* Adds secrets and logins of no job of this store to a search (kit/orphans.h). */
int lepton_secret_orphans(struct sw_connection *conn, const struct sw_orphans *search, struct sw_error *err);
int lepton_pull_secret(struct sw_connection *conn, const struct sw_plan *plan, char **out,
                       struct sw_error *err);

/* ---- lepton_states.c: pure ------------------------------------------------------------------ */

const char *lepton_meta(const json_t *object, const char *key);
const char *lepton_label(const json_t *object, const char *key);
int64_t lepton_time_ms(const json_t *status, const char *key);     /* of any unit; 0: not there */
enum sw_state lepton_state(const char *said, const char **note);
/* An answer of /jobs, with "replicas", "events", "reports" and "asked" of detail(). */
void lepton_read(const json_t *job, struct sw_observation *seen);
/* Of the replicas of a job that waits the one that decides, borrowed: one that may never start (`bad`),
 * else the first that is not ready; NULL: all are ready. */
const json_t *lepton_waits_for(const json_t *replicas, bool *bad);
/* Of a job that waits longer than `after_ms` for something that does not come: why, borrowed; NULL: it is
 * not stuck. */
const char *lepton_stuck_reason(const struct sw_observation *seen, int64_t after_ms, int64_t now_ms);

/* ---- lepton_waiting.c ----------------------------------------------------------------------- */

/* Is it time to ask about the replicas of a job? `note`: the last answer ("asked_ms", "state"), or NULL.
 * Pure. */
bool lepton_asks_again(const json_t *note, const char *said, int64_t created_ms, int64_t now_ms);
void lepton_explain_waiting(struct sw_connection *conn, const struct sw_jobref *ref, json_t *job);
void lepton_recall_waiting(struct sw_connection *conn, const struct sw_jobref *ref, json_t *job);
/* Of a job that counts as stuck: is it so now, too? Asks, where the answer is not of this refresh. */
bool lepton_is_still_stuck(struct sw_connection *conn, const struct sw_observation *seen);
/* Adds to the message of a stuck job what to do about it. Pure. */
void lepton_suggest(struct sw_observation *seen, int64_t now_ms);

/* ---- lepton_log.c --------------------------------------------------------------------------- */

/* Did it end just now, and are the reports of its ranks not in the log yet? `reports` (NULL: not wanted):
 * the last line of each rank, {"0": text}, owned; NULL: not read. */
bool lepton_is_late(struct sw_connection *conn, const json_t *job, const char *id, json_t **reports);
SW_PLATFORM_SLOT(lepton, log_fetch);

/* ---- lepton_jobs.c -------------------------------------------------------------------------- */

/* One attempt by name and labels, alive or archived, owned; NULL + err. */
json_t *lepton_find_job(struct sw_connection *conn, const char *id, int attempt, struct sw_error *err);
/* GET /jobs/ID/PART?MORE, owned; NULL + err. */
json_t *lepton_job_part(struct sw_connection *conn, const json_t *job, const char *part,
                        struct sw_error *err);
/* The replica of this rank, borrowed; NULL: it is not there. Pure. */
const json_t *lepton_replica(const json_t *replicas, const char *job_id, int rank);
SW_PLATFORM_SLOT(lepton, observe);
SW_PLATFORM_SLOT(lepton, reconcile);
SW_PLATFORM_SLOT(lepton, cancel);
SW_PLATFORM_SLOT(lepton, finalize);
SW_PLATFORM_SLOT(lepton, cleanup);
SW_PLATFORM_SLOT(lepton, replicas);
SW_PLATFORM_SLOT(lepton, evidence);
SW_PLATFORM_SLOT(lepton, adopt);
SW_PLATFORM_SLOT(lepton, jobs);
SW_PLATFORM_SLOT(lepton, orphans);

/* ---- lepton_submit.c, lepton_report.c ------------------------------------------------------- */

SW_PLATFORM_SLOT(lepton, preflight);
SW_PLATFORM_SLOT(lepton, render);
SW_PLATFORM_SLOT(lepton, submit);
SW_PLATFORM_SLOT(lepton, preflight_report);
SW_PLATFORM_SLOT(lepton, inventory);

#endif
