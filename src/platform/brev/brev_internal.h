/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brev_internal.h - what the files about Brev share.
 *
 * Brev rents machines; a job runs in Docker on one of them. So this platform does two things: it finds or
 * creates the instance through the `brev` program, and it hands everything else to the Docker platform,
 * whose connection leads over ssh to that instance.
 *
 * A place is an organisation of Brev. Which instance a job is on stands in its row's details; before that was
 * written, the instance's name says which job it was created for.
 */
#ifndef SW_PLATFORM_BREV_INTERNAL_H
#define SW_PLATFORM_BREV_INTERNAL_H

#include <pthread.h>

#include "platform/docker/docker_job.h"
#include "platform/docker/docker_options.h"

enum {
    BREV_NAME_MAX = 63,
    BREV_NAME_SIZE = BREV_NAME_MAX + 1,
    BREV_POOL_MAX = 14,              /* of a pool's name: the job's id and our mark follow it */
    BREV_STORE_SIZE = 9,             /* so much of a store's id is in a name, and a NUL */
    BREV_QUICK_MS = 60 * 1000,       /* patience with the program: a list */
    BREV_SLOW_MS = 5 * 60 * 1000,    /* create, delete, refresh */
    BREV_NOW = 0,                    /* how old a list of instances may be */
    BREV_RECENT_MS = 5 * 1000,
};

/* ---- brev_options.c ------------------------------------------------------------------------------ */

struct brev_connect_options {        /* texts and documents are borrowed */
    const char *cli, *login, *organization, *socket;
    int64_t connect_ms, keep_ms;
    const json_t *gpu_devices;
};

struct brev_job_options {
    struct docker_job_options docker;
    const char *instance_id, *pool;
    int pool_size;
    const json_t *types;
    int64_t ready_ms;
    bool delete_after;
};

extern const struct sw_option brev_options[];
struct brev_connect_options brev_connect_options(const json_t *options);
struct brev_job_options brev_job_options(const json_t *options);

/* ---- brev_words.c: what the program says, and names. Pure ------------------------------------------ */

enum brev_use {                      /* what can be done with an instance */
    BREV_USABLE,                     /* it runs and lets us in */
    BREV_COMING,                     /* it will be */
    BREV_STOPPED,                    /* nothing runs on it */
    BREV_GOING,                      /* it is being stopped or deleted */
    BREV_FAILED,                     /* it will never be usable */
    BREV_UNCLEAR,                    /* a word that is not known */
};

/* `brev ls --json`, in both shapes: an array of {"name","id","status","build_status","shell_status",
 * "instance_type","gpu"}, those without a proper name and id left out. Owned; NULL + err. */
json_t *brev_read_instances(const char *text, size_t length, struct sw_error *err);
/* `brev search --json`: an array of {"type","gpu_name","gpu_count","price_per_hour"}. */
json_t *brev_read_types(const char *text, size_t length, struct sw_error *err);
/* `brev ls orgs --json`: the active organisation: {"id","name"}; NULL + err: there is none. */
json_t *brev_read_organization(const char *text, size_t length, struct sw_error *err);
/* "Current version: v0.6.327" as one number that grows; -1: no version is in it. */
int brev_read_version(const char *text);
#define BREV_VERSION(major, minor, patch) (((major) * 1000 + (minor)) * 1000 + (patch))

enum brev_use brev_use(const json_t *instance, const char **note);
/* The instance of that id, else of that name; borrowed from the list; NULL: none. */
const json_t *brev_find(const json_t *list, const char *id_or_name);
/* Types with as many of these GPUs (0: machines without), the cheapest first, at most 5 names; owned. */
json_t *brev_choose_types(const json_t *types, const char *gpu, int count);
/* Per hour, of the type of that name; below 0: not known. */
double brev_price(const json_t *types, const char *type);
/* GPUs of the type of that name; 0: not known, or none. */
int brev_gpu_count(const json_t *types, const char *type);

bool brev_name_valid(const char *name);
/* PREFIX_JOB_STORE, and _ATTEMPT for a later one. */
void brev_name(char out[BREV_NAME_SIZE], const char *prefix, const char *job, const char *store, int attempt);
struct brev_mark {                   /* who created an instance */
    char job[SW_ID_SIZE], store[BREV_STORE_SIZE];
    int attempt;
};
bool brev_name_read(const char *name, struct brev_mark *mark);      /* false: not created by Slipway */

/* What its complaint means: code, message and hint into err. Always -1. */
int brev_explain(const char *said, struct sw_error *err);
/* The name by which ssh reaches the machine, as the configuration that `brev refresh` writes has it:
 * NAME-host, else NAME; owned; NULL: neither. */
char *brev_ssh_alias(const char *config, const char *name);

/* ---- brev.c: the connection ------------------------------------------------------------------------ */

extern const struct sw_platform sw_platform_brev;

struct brev_engine {                 /* the Docker engine of one instance, once it was needed */
    char *id;                        /* of the instance */
    int gpus;                        /* that it is known to have; 0: it was not asked for */
    struct sw_connection *docker;
};

struct brev_connection {             /* what struct sw_connection is for this platform */
    json_t *options;                 /* the texts of `with` live in it */
    struct brev_connect_options with;
    struct sw_connect_options config;    /* for connections to engines; its options are not used */
    char *state_dir, *folder;        /* STATE_DIR/brev */
    char *login;                     /* name of the login in `home`; "own": the user's */
    char *home;                      /* HOME of the program */
    struct sw_secret *token;         /* NULL: none was given */
    pthread_mutex_t lock;            /* of what follows */
    struct brev_engine *engines;
    size_t engine_count;
    bool logged_in;
    json_t *list, *organization;     /* the last answers; NULL: none yet */
    int64_t list_ms, organization_ms;    /* when the one had come, and when the other was asked for */
    json_t *types[2];                /* of machines without and with GPUs; NULL: not asked yet */
    int64_t refreshed_ms;            /* when `brev refresh` was last run; 0: never */
    struct sw_log_spools *spools;    /* of all engines */
};

static inline struct brev_connection *brev_of(const struct sw_connection *conn)
{
    return (struct brev_connection *)conn;
}

/* ---- brev_login.c ---------------------------------------------------------------------------------- */

/* Which login is meant, and where its files are. */
int brev_login_find(struct brev_connection *conn, struct sw_error *err);
/* Is the token a key of one organisation, which `organization` must name by its id? */
bool brev_login_is_key(const struct brev_connection *conn);
/* Write down the token for the program; `again`: also when it was written before. */
int brev_login_write(struct brev_connection *conn, bool again, struct sw_error *err);

/* ---- brev_cli.c ------------------------------------------------------------------------------------ */

/* Run `brev WORDS...` and get what it printed; owned. SW_E_CREDENTIAL, _UNREACHABLE, _TIMEOUT, _CONFLICT
 * (the name is taken), _UNSUPPORTED (no program, or another version of it), _REFUSED. */
char *brev_ask(struct brev_connection *conn, const char *const *words, int64_t patience_ms, size_t *length,
               struct sw_error *err);
#define BREV_WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* All instances, as they were at most so long ago; owned, not to be changed. */
json_t *brev_list(struct brev_connection *conn, int64_t age_ms, struct sw_error *err);
json_t *brev_types(struct brev_connection *conn, bool gpus, struct sw_error *err);  /* borrowed */
json_t *brev_organization(struct brev_connection *conn, struct sw_error *err);      /* owned */
/* Is the program one that this platform was written for? *version as brev_read_version(). */
int brev_check_version(struct brev_connection *conn, int *version, struct sw_error *err);
int brev_delete(struct brev_connection *conn, const char *name, struct sw_error *err);
/* Have the program write its ssh configuration anew; unless `now`, not more than once a minute. */
int brev_refresh(struct brev_connection *conn, bool now, struct sw_error *err);

/* ---- brev_engine.c --------------------------------------------------------------------------------- */

/* The connection to the Docker engine of an instance; borrowed. Asks no engine. `gpus`: so many are known to
 * be there, for a job that needs some; 0: that does not matter. */
struct sw_connection *brev_engine(struct brev_connection *conn, const char *name, const char *id, int gpus,
                                  struct sw_error *err);
struct sw_connection *brev_engine_at(struct brev_connection *conn, const json_t *instance,
                                     struct sw_error *err);
void brev_engine_close(struct sw_connection *docker);
/* The engine of the instance that the job's row names, else of the one that is found by name.
 * SW_E_NOT_FOUND: there is none, and nothing of the job runs. */
struct sw_connection *brev_engine_of(struct brev_connection *conn, const struct sw_jobref *job,
                                     struct sw_error *err);
/* A question to the job's engine failed with `why`: find out from the list whether the instance is gone, or
 * why it does not answer. Always -1. */
int brev_engine_doubt(struct brev_connection *conn, const struct sw_jobref *job, const struct sw_error *why,
                      struct sw_error *err);
/* The instance of a job in the list; borrowed. NULL: none; with err: that cannot be told now. */
const json_t *brev_instance_of(struct brev_connection *conn, const json_t *list, const struct sw_jobref *job,
                               struct sw_error *err);
/* Ids and states of the jobs on an instance; owned; NULL: it is not usable, or (err) cannot be asked. */
json_t *brev_jobs_on(struct brev_connection *conn, const json_t *instance, struct sw_error *err);
int brev_live_jobs(const json_t *jobs, const char *but);    /* not over, and not the job `but` */

/* Calls `fn` once for each engine, some of them at a time, with its elements of an array side by side; then
 * they are in their places again. engines[i]: of element i; NULL: it is left out. `engines` is used up. */
typedef void brev_engine_fn(struct sw_connection *docker, void *elements, size_t count, void *context);
void brev_by_engine(struct sw_connection **engines, void *elements, size_t size, size_t count,
                    brev_engine_fn *fn, void *context);

/* ---- brev_create.c --------------------------------------------------------------------------------- */

/* The instance for a job, ready for it: the one that is named, one of the pool, or a new one; the row of the
 * list, owned, and the connection to its engine, borrowed; NULL + err. */
json_t *brev_take(struct brev_connection *conn, const struct sw_plan *plan, int attempt,
                  struct sw_connection **docker, struct sw_error *err);
/* Delete the instances that this store created for the job: their number. One on which another job lives, or
 * from which the job's log and results cannot be brought here first, stays: -1 + err. *list: of instances,
 * shared by several calls; NULL: asked for when it is needed. */
int brev_delete_own(struct brev_connection *conn, json_t **list, const struct sw_jobref *job,
                    struct sw_error *err);
void brev_warn(const struct brev_connection *conn, const char *text);
/* Per hour, of a type; below 0: not known. */
double brev_price_of(struct brev_connection *conn, const char *type);
/* "A2-HIGHGPU-1G, 1.20 USD per hour" */
char *brev_cost_text(struct brev_connection *conn, const char *type);
/* The types for this plan: those that are named, else the cheapest that fit; owned. SW_E_REFUSED. */
json_t *brev_plan_types(struct brev_connection *conn, const struct sw_plan *plan, struct sw_error *err);
/* GPUs that a job needs on its instance. */
static inline int brev_plan_gpus(const struct sw_plan *plan) { return docker_gpus(plan) * plan->nodes; }
const char *brev_prefix(const struct brev_job_options *options);

/* ---- brev_jobs.c ----------------------------------------------------------------------------------- */

SW_PLATFORM_SLOT(brev, submit);
SW_PLATFORM_SLOT(brev, observe);
SW_PLATFORM_SLOT(brev, reconcile);
SW_PLATFORM_SLOT(brev, cancel);
SW_PLATFORM_SLOT(brev, cleanup);
SW_PLATFORM_SLOT(brev, finalize);
SW_PLATFORM_SLOT(brev, evidence);
SW_PLATFORM_SLOT(brev, adopt);
SW_PLATFORM_SLOT(brev, jobs);
SW_PLATFORM_SLOT(brev, orphans);
SW_PLATFORM_SLOT(brev, preflight);
SW_PLATFORM_SLOT(brev, preflight_report);
SW_PLATFORM_SLOT(brev, inventory);

#endif
