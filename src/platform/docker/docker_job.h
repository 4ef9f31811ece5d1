/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_job.h - what the files about jobs share: the connection, names, and the pure functions that
 * turn a plan into what the engine is sent and its words into ours.
 *
 * Everything on the engine carries labels; they are the truth, this machine only remembers.
 */
#ifndef SW_PLATFORM_DOCKER_JOB_H
#define SW_PLATFORM_DOCKER_JOB_H

#include "base/buf.h"
#include "base/json.h"
#include "core/archive.h"
#include "core/id.h"
#include "core/payload.h"
#include "core/run_end.h"
#include "plan/paths.h"
#include "platform/docker/docker_api.h"
#include "platform/docker/docker_options.h"
#include "platform/kit/ranks.h"
#include "platform/kit/watch.h"
#include "platform/platform.h"

#define DOCKER_HOME      "/.slipway"               /* our folder in a container */
#define DOCKER_RESULTS   SW_RESULTS                /* what the job leaves */
#define DOCKER_RUNNER    DOCKER_HOME "/slipway-runner"
#define DOCKER_BIN       DOCKER_HOME "/bin"        /* where the volume with the runner is mounted */
#define DOCKER_SECRETS   DOCKER_HOME "/secrets"
#define DOCKER_ENDS      DOCKER_HOME "/end"        /* the runner's last report, outside the container */
#define DOCKER_CANCELED  DOCKER_HOME "/canceled"   /* a mark: it was canceled and had to be killed */

#define LABEL_ID      "slipway.id"
#define LABEL_ATTEMPT "slipway.attempt"
#define LABEL_RANK    "slipway.rank"
#define LABEL_NODES   "slipway.nodes"
#define LABEL_PLAN    "slipway.plan"               /* hash of the plan */
#define LABEL_OWNER   "slipway.owner"              /* who submitted it: user@machine */
#define LABEL_STORE   "slipway.store"              /* id of the job store it belongs to */
#define LABEL_UID     "slipway.uid"                /* the user's number on the client */
#define LABEL_SIGNED  "slipway.signature"          /* of the plan, by the user's key */
#define LABEL_CACHE   "slipway.cache"              /* shared by jobs, belongs to no store */
#define LABEL_WANTS   "slipway.gpus"               /* how many GPUs this container needs */
#define LABEL_HOLDS   "slipway.devices"            /* which it has: "0,1"; absent: it waits */
#define LABEL_CHOICE  "slipway.choice"             /* which it may get: "0,1", "all", "any" */
#define LABEL_RUNTIME "slipway.by-runtime"             /* GPUs come by runtime there */
#define LABEL_LOCK    "slipway.lock"               /* a container that is only a lock */

enum {
    DOCKER_NAME_SIZE = 64,
    DOCKER_NODES_MAX = 128,
    DOCKER_FILE_MAX = 8 * 1024 * 1024,             /* of one small file in a container */
    DOCKER_FILES_MAX = 512 * 1024 * 1024,          /* of all that is put into one */
};

/* ---- docker.c: the connection ---------------------------------------------------------------- */

extern const struct sw_platform sw_platform_docker;

struct docker_connection {           /* what struct sw_connection is for this platform */
    struct docker_endpoint endpoint;
    char *state_dir;
    char *root;                      /* <state_dir>/docker: spools, results */
    void (*warn)(void *context, const char *text);
    void *warn_context;
    int (*progress)(void *context, const char *what, const struct sw_copy_progress *progress);
    void *progress_context;
    struct docker_pool *pool;        /* clients that are not in use */
    struct sw_log_spools *spools;    /* copies of logs */
    struct sw_watch *events;         /* what the engine tells by itself */
};
static inline struct docker_connection *docker_of(const struct sw_connection *conn)
{
    return (struct docker_connection *)conn;
}

/* A client of the engine for one call. */
static inline struct docker_api *docker_borrow(const struct sw_connection *conn,
                                               struct sw_error *err)
{
    return docker_pool_borrow(docker_of(conn)->pool, err);
}
/* Does the engine see the files of this machine? */
static inline bool docker_is_local(const struct sw_connection *conn)
{
    return docker_of(conn)->endpoint.way == DOCKER_UNIX;
}

char *docker_job_folder(const struct sw_connection *conn, const char *id);                    /* owned */
char *docker_end_folder(const struct sw_connection *conn, const char *id);                    /* owned */

/* ---- docker_calls.c: single questions --------------------------------------------------------- */

/* GET an object; owned; NULL + err. Takes the path, as sw_rest_path() made it. */
json_t *docker_get(struct docker_api *api, char *path, struct sw_error *err);
json_t *docker_get_list(struct docker_api *api, char *path, struct sw_error *err);       /* an array */
/* The same: 1: it is there; 0: certainly not; -1 + err. */
int docker_is_there(struct docker_api *api, char *path, struct sw_error *err);
/* GET /containers/NAME/json. SW_E_NOT_FOUND. Owned. */
json_t *docker_inspect(struct docker_api *api, const char *name, struct sw_error *err);
/* GET /images/NAME/json. SW_E_NOT_FOUND. Owned. */
json_t *docker_inspect_image(struct docker_api *api, const char *name, struct sw_error *err);
/* POST /containers/create. *id: owned; `id` may be NULL. SW_E_CONFLICT: the name is taken. */
int docker_make(struct docker_api *api, const char *name, const json_t *body, char **id,
                struct sw_error *err);
/* All containers of ours, of one job when `id` is given: GET /containers/json. Owned array. */
json_t *docker_list(struct docker_api *api, const char *id, struct sw_error *err);
/* POST /containers/NAME/VERB. */
int docker_tell(struct docker_api *api, const char *name, const char *verb, struct sw_error *err);
/* DELETE with its anonymous volumes; gone already is success. Without force a running one is
 * SW_E_CONFLICT. */
int docker_delete(struct docker_api *api, const char *name, bool force, struct sw_error *err);
/* DELETE another thing; gone already is success, SW_E_CONFLICT: in use. Takes the path. */
int docker_forget(struct docker_api *api, char *path, struct sw_error *err);

/* One that is there already is success; of several with one name, ours, one is left; ours
 * is removed when no container uses it. */
int docker_network_make(struct docker_api *api, const char *name, struct sw_error *err);
void docker_network_settle(struct docker_api *api, const char *name);
void docker_network_drop(struct docker_api *api, const char *name);
/* The path of a call that gets or puts an archive; owned. */
char *docker_archive_path(const char *container, const char *path);
/* A small file out of a container; owned. SW_E_NOT_FOUND. */
char *docker_file(struct docker_api *api, const char *name, const char *path, size_t *size,
                  struct sw_error *err);
/* The same; 0 with *text NULL: it is not there. */
int docker_find_file(struct docker_api *api, const char *name, const char *path, char **text,
                     size_t *size, struct sw_error *err);
/* All of DOCKER_HOME from one container to another, through memory: secrets are in it. */
int docker_move_files(struct docker_api *api, const char *from, const char *to,
                      struct sw_error *err);
int docker_put(struct docker_api *api, const char *name, const char *folder, const void *tar,
               size_t length, struct sw_error *err);

/* ---- docker_pull.c: images ---------------------------------------------------------------------- */

struct docker_pull {
    const char *image;
    enum docker_pull_policy policy;
    /* How far it is: layers are "files". `what` is "pulling IMAGE". Non-zero cancels it. May be NULL. */
    int (*progress)(void *context, const char *what, const struct sw_copy_progress *progress);
    void *progress_context;
};

/* See that the engine has the image. *use: how to name it in a create call; *inspected (may be NULL):
 * what the engine says of it; both owned.
 * SW_E_SPEC (no reference), SW_E_NOT_FOUND (no such image or tag; policy never), SW_E_CREDENTIAL
 * (refused; the message says which credential was used), SW_E_REFUSED (disk full, registry out of
 * reach), SW_E_UNREACHABLE (the engine), SW_E_INTERRUPTED. */
int docker_image_ensure(struct docker_api *api, const struct docker_pull *pull, char **use,
                        json_t **inspected, struct sw_error *err);
/* Could it be pulled: asks the registry through the engine, moves no layer. Same errors. `platforms`
 * (may be NULL)
 * learns what it is built for: [{"architecture","os"}], owned. */
int docker_image_reachable(struct docker_api *api, const char *image, json_t **platforms,
                           struct sw_error *err);

/* ---- docker_checks.c: is an engine fit for a job? ------------------------------------------------ */

struct docker_needs {                 /* all borrowed */
    const char *image;               /* NULL: none */
    enum docker_pull_policy policy;
    bool gpus;                       /* needed; otherwise only reported */
    const char *runtime;             /* asked for by name; NULL: "nvidia" where GPUs need one */
    const json_t *mounts;            /* array as in HostConfig.Mounts; NULL: none */
};

/* JSON array of findings (core/finding.h); owned. An engine that does not answer is one row. */
json_t *docker_checks(struct docker_api *api, const struct docker_needs *needs);

/* What a script prints on the engine's machine when ssh is the way to it, owned; it reads one line,
 * `line`. NULL:
 * another way leads there, or it failed. */
char *docker_ask_machine(struct docker_api *api, const char *script, const char *line);

/* docker_image_checks.c: the image of these needs; `inspected` is what the engine says of it, NULL: not
 * there. */
void docker_check_image(struct docker_api *api, const json_t *info, const struct docker_needs *needs,
                        const json_t *inspected, json_t *rows);

/* Does the engine see what this mount (as in HostConfig.Mounts) binds? 1, 0 + err: it is not there; -1
 * + err. Nothing is made. */
int docker_sees(struct docker_api *api, const json_t *mount, struct sw_error *err);

/* ---- docker_log.c: logs and reports in them --------------------------------------------------- */

/* At most so many last lines of a container's log, and the last report of its runner in them (both owned;
 * may be NULL; `report` NULL: not wanted). -1: it could not be read. */
int docker_ask_tail(struct docker_api *api, const char *container, const char *id, int most,
                    char **tail, json_t **report, struct sw_error *err);
/* The last report in a container's log, however much output follows it; owned; may be NULL. */
int docker_ask_report(struct docker_api *api, const char *container, const char *id,
                      json_t **report, struct sw_error *err);
/* What its runner is at: a report, or no more than that the command runs; owned; NULL: not known. */
json_t *docker_ask_beat(struct docker_api *api, const char *container, const char *id);
/* When its log last grew; 0: never, or not known. */
int64_t docker_last_output_ms(struct docker_api *api, const char *container);

/* ---- docker_render.c ------------------------------------------------------------------------- */

struct docker_base {                /* what inspect says about an image; all owned */
    json_t *entrypoint;              /* array of words; NULL: none */
    json_t *env;                     /* array of "NAME=value"; NULL: none */
    char *user;                      /* "", "1000", "app:app" */
    char *arch;                      /* as uname -m says it: "x86_64", "aarch64" */
    /* "sha256:..." of the repository it came from, or its id; "": not known */
    char digest[SW_DIGEST_TEXT];
};
void docker_base_read(struct docker_base *image, const json_t *inspected);
void docker_base_done(struct docker_base *image);
static inline void docker_base_auto(struct docker_base *image) { docker_base_done(image); }

struct docker_site {                 /* what the plan does not know; all borrowed */
    int attempt;
    bool local;                      /* the engine sees this machine's files */
    bool by_runtime;                 /* GPUs by runtime instead of by request */
    bool podman;                     /* Podman behind the same API: other log drivers */
    bool plain_limits;               /* the engine may not raise limits: only those asked for */
    const char *results;             /* folder on the engine to be bound; NULL: a volume */
    const char *ends;                /* likewise, for the last reports of its runners */
    const char *owner;               /* "user@machine" */
    const char *user;                /* "1000:1000" to run as; NULL: the image decides */
    const char *choice;              /* GPUs it may get, "0,1"; NULL: it waits for none */
    const json_t *clones;            /* folder here of each repository of `mounts:`, by its target;
                                        NULL: they are not had yet, and only named */
    const struct docker_base *image;
};

/* "<id>", or "<id>-a<attempt>-<rank>" when there are several nodes or it is a later attempt. */
void docker_name(char out[DOCKER_NAME_SIZE], const char *id, int attempt, int nodes, int rank);
char *docker_volume_name(const char *id);                                               /* owned */
#define DOCKER_END_NAME "%d-%d.json"               /* attempt, rank: a file in DOCKER_ENDS */
char *docker_end_volume(const char *id);                                                /* owned */
/* Where the job's results are in its containers; owned. */
char *docker_results_inside(const struct sw_plan *plan);

/* The body of POST /containers/create. `devices`: ids of its GPUs; NULL: none (yet). */
json_t *docker_render_container(const struct sw_plan *plan, const struct docker_site *site,
                                int rank, const json_t *devices, struct sw_error *err);
/* Put GPUs into a body that was made without (or take them out: NULL). */
void docker_render_devices(json_t *body, const json_t *devices, bool by_runtime);
/* Of a container that is made anew: without the limits that GPU jobs usually get, with all others. */
void docker_render_plain_limits(json_t *host_config);
json_t *docker_render_network(const char *name);
struct sw_payload *docker_render_payload(const struct sw_plan *plan,
                                         const struct docker_site *site, struct sw_error *err);

/* ---- docker_mounts.c ------------------------------------------------------------------------- */

/* The array HostConfig.Mounts: results, the user's mounts, inputs that are files here. */
json_t *docker_mounts(const struct sw_plan *plan, const struct docker_site *site,
                      struct sw_error *err);
/* `plan`: a volume of that job; NULL: it is not ours to label. */
json_t *docker_render_volume(const char *name, const char *target, bool read_only,
                             const struct sw_plan *plan);
/* The volume that holds the repository of entry `index` on an engine elsewhere; owned. */
char *docker_clone_volume(const char *id, size_t index);
bool docker_is_clone_volume(const char *id, const char *name);
/* Inputs and outputs as the runner shall see them, when those above are in place; of several ranks, outputs
 * that each has for itself, in its own container, are marked. */
void docker_paths_inside(struct sw_payload *payload, const struct sw_plan *plan);
/* Does the user mount a folder of their own at /results? Then it is not the job's alone. */
bool docker_has_own_results(const struct sw_plan *plan);
/* The folder on the engine that is mounted there; owned; NULL: none, or a volume. */
char *docker_own_results(const struct sw_plan *plan);
/* For each node; an attempt that only brings outputs needs none. */
static inline int docker_gpus(const struct sw_plan *plan)
{
    return plan->only_collect ? 0 : plan->gpus;
}
/* Folders of this machine that outputs go to: array of paths that must be made. */
json_t *docker_output_folders(const struct sw_plan *plan);

/* ---- docker_states.c ------------------------------------------------------------------------- */

#define DOCKER_LOST_TRACK 255        /* the engine's exit code for a container that it lost */
enum docker_engine {                 /* and the end of a container */
    DOCKER_ENGINE_NOT_KNOWN,
    DOCKER_ENGINE_STAYED,            /* it was there when the container ended, and still is */
    DOCKER_ENGINE_CAME_LATER,        /* it was started after the container's end */
};

/* Labels of a container as list or inspect tells it; borrowed, NULL: no such label. */
const char *docker_label(const json_t *container, const char *name);
int docker_label_number(const json_t *container, const char *name, int missing);
/* The value of a variable in a list of "NAME=value"; borrowed; NULL: it is not there. */
const char *docker_variable(const json_t *env, const char *name);
/* The name of a container in a list; borrowed; NULL: it has none. */
const char *docker_listed_name(const json_t *container);
enum sw_state docker_state(const char *said, const char **note);
/* "Exited (137) 5 seconds ago" -> 137; SW_NO_EXIT_CODE: it does not say. */
int docker_exit_code(const char *status);
/* RFC 3339 with nanoseconds, in UTC or not, to milliseconds; 0: "0001-01-01T00:00:00Z", or no time. */
int64_t docker_time_ms(const char *text);
/* What the end of a container means for the job; state, reason, message, exit code, signal. */
struct docker_ended;
void docker_judge_end(const struct docker_ended *ended, struct sw_observation *seen);

struct docker_owner {
    int64_t uid, gid;
};
/* "1000:1000", "1000" as numbers; false: it has a name in it (or is empty). */
bool docker_user_numbers(const char *user, struct docker_owner *owner);
/* The same for a name, by the image's /etc/passwd; false: not in there. */
bool docker_user_lookup(const char *passwd, const char *user, struct docker_owner *owner);

/* docker_upload.c: append a file of that user to an archive, or with bytes NULL a folder. */
void docker_tar_add(struct sw_buf *tar, const char *name, unsigned mode, struct docker_owner owner,
                    const void *bytes, size_t length);

/* ---- docker_frames.c ------------------------------------------------------------------------- */

/* The log stream of the engine with timestamps: frames of 8 bytes head (stream, 0, 0, 0, length)
 * and "2026-11-15T07:47:08.123456789Z " before the message. */
struct docker_message {
    int64_t at_ns;                   /* since 1970; 0: it had no time */
    int stream;                      /* 1 output, 2 errors */
    const char *bytes;
    size_t length;
};
typedef int docker_message_fn(void *context, const struct docker_message *message);

struct docker_frames {
    docker_message_fn *take;         /* non-zero ends it */
    void *context;
    bool stamped;                    /* each message begins with its time */
    struct sw_buf held;              /* an unfinished frame */
};
/* Is this the line that a job's runner leaves at the end of its log? It is not the command's, and is
 * not shown. */
bool docker_is_report(const struct docker_message *message, const char *id);
/* 0, -1: not such a stream, or a frame of more than 1 MiB; 1: take() ended it. */
int docker_frames_feed(struct docker_frames *frames, const char *bytes, size_t length);
void docker_frames_done(struct docker_frames *frames);

/* ---- docker_gpu.c ---------------------------------------------------------------------------- */

#define DOCKER_GPU_ALL "all"         /* every GPU of the engine */
#define DOCKER_GPU_ANY "any"         /* which there are is not known: one job at a time has them */

/* Is this the container of a job that waits for GPUs? */
bool docker_gpu_waits(const json_t *container);
/* From the list of containers (GET /containers/json): ids of `all` that no container holds. */
json_t *docker_gpu_free(const json_t *containers, const json_t *all, bool ignore_created);
/* Jobs that wait, first come first: array of ids (texts). */
json_t *docker_gpu_waiting(const json_t *containers);
/* Give `count` GPUs to each of `nodes` ranks: array of arrays, or NULL when there are too few. */
json_t *docker_gpu_choose(const json_t *free_ones, int nodes, int count);
json_t *docker_gpu_split(const char *text);          /* "0,1" -> ["0","1"]; owned */
/* GPUs that a job may get, by its options and what was `found`; owned. */
json_t *docker_gpu_candidates(const json_t *gpu_ids, const json_t *gpu_devices, const json_t *found);

/* ---- docker_queue.c -------------------------------------------------------------------------- */

/* GPUs of the engine as far as they are known: {"known","all":[],"free":[]}. Owned. */
json_t *docker_gpu_inventory(struct docker_api *api, const json_t *options);
/* Has the engine as many as the job wants, used or not? SW_E_SPEC. */
int docker_gpu_enough(struct docker_api *api, const struct sw_plan *plan, struct sw_error *err);

/* ---- acting ---------------------------------------------------------------------------------- */

SW_PLATFORM_SLOT(docker, preflight);
SW_PLATFORM_SLOT(docker, preflight_report);
SW_PLATFORM_SLOT(docker, render);
SW_PLATFORM_SLOT(docker, submit);
SW_PLATFORM_SLOT(docker, observe);
SW_PLATFORM_SLOT(docker, reconcile);
SW_PLATFORM_SLOT(docker, wake_fd);
SW_PLATFORM_SLOT(docker, cancel);
SW_PLATFORM_SLOT(docker, cleanup);
SW_PLATFORM_SLOT(docker, finalize);
SW_PLATFORM_SLOT(docker, replicas);
SW_PLATFORM_SLOT(docker, evidence);
SW_PLATFORM_SLOT(docker, results_dir);
SW_PLATFORM_SLOT(docker, check_path);
SW_PLATFORM_SLOT(docker, list_path);
SW_PLATFORM_SLOT(docker, adopt);
SW_PLATFORM_SLOT(docker, jobs);
SW_PLATFORM_SLOT(docker, exec_open);
SW_PLATFORM_SLOT(docker, port_open);
SW_PLATFORM_SLOT(docker, orphans);
SW_PLATFORM_SLOT(docker, inventory);
SW_PLATFORM_SLOT(docker, log_fetch);

/* docker_git_mounts.c: the volume of a repository; all of a job, by the entries of `mounts:`. */
int docker_forget_clone(struct docker_api *api, const char *volume, struct sw_error *err);
int docker_forget_clones(struct docker_api *api, const char *id, const json_t *entries,
                         struct sw_error *err);
/* docker_paths.c: a container with this HostConfig (stolen), of an empty image that is made for it, to get
 * at the engine's files. Both are gone after docker_look_close(), which follows in any case. */
struct docker_look {
    struct docker_api *api;
    char name[SW_ID_SIZE];
    char *arch;                      /* the engine's kind of processor; owned */
};
int docker_look_open(struct docker_look *look, struct docker_api *api, json_t *host,
                     struct sw_error *err);
void docker_look_close(struct docker_look *look);
static inline void docker_look_auto(struct docker_look *look) { docker_look_close(look); }
/* Put on everything that is made for a job: whose it is. */
void docker_render_marks(json_t *labels, const struct sw_plan *plan);

/* ---- one plan on its way to the engine; shared with the queue for GPUs ------------------------- */

#define DOCKER_WAIT "-wait"          /* behind the name of a container that waits for GPUs */

struct docker_sending {
    struct sw_connection *conn;
    struct docker_api *api;
    const struct sw_plan *plan;
    const struct sw_secrets *secrets;
    struct docker_job_options options;
    struct docker_site site;
    struct docker_base base;         /* of the image */
    char owner[128];
    char *image;                     /* as the engine names it */
    char *results;                   /* folder that is bound; NULL: a volume */
    char *ends;                      /* likewise, for last reports */
    char *user;                      /* to run as; NULL: the image's */
    json_t *clones;                  /* of the repositories among its mounts */
    char *payload, *plan_text;       /* as JSON */
    char *ca_name;                   /* file with the certificates in `ca`; NULL: none */
    struct sw_buf ca;
    char *runner_volume;             /* that holds the runner; NULL: the archive does */
    bool by_variable;                /* payload and plan are in variables: no archive is needed */
    struct sw_buf tar;               /* what goes in; holds secrets, wiped */
    json_t *devices;                 /* array of ids per rank; NULL: none */
    bool waits;                      /* it is made, and started by the queue */
    char *ids[DOCKER_NODES_MAX];
    bool begun[DOCKER_NODES_MAX];    /* an earlier submit started it */
    int made;
    char *lock;                      /* container that is our lock on the GPUs; NULL: none */
};

/* docker_git_mounts.c: the repositories among its mounts, where the containers will find them. */
int docker_clone_repositories(struct docker_sending *sending, struct sw_error *err);
/* docker_paths.c: put an archive into a volume (`mount`, stolen, is at DOCKER_FILL), through a container of
 * that name that is never started. */
#define DOCKER_FILL "/fill"
int docker_fill_volume(struct docker_sending *sending, const char *name, json_t *mount,
                       const void *tar, size_t length, struct sw_error *err);
/* docker_upload.c: payload, plan and certificates, and which way they go, before any container is made; put
 * that way into a body of a create call; then what is needed besides into the containers that were made. */
int docker_upload_begin(struct docker_sending *sending, struct sw_error *err);
void docker_upload_render(const struct docker_sending *sending, json_t *body);
int docker_upload(struct docker_sending *sending, struct sw_error *err);
/* The engine refused: what was made is removed, and the next try sends all by archive. False: that was the
 * way already, or something may be left. */
bool docker_upload_otherwise(struct docker_sending *sending);
int docker_make_and_start(struct docker_sending *sending, struct sw_error *err);
/* -1: something may be left, or was begun by an earlier submit. */
int docker_forget_made(struct docker_sending *sending);
/* Start a container; its network is made when it is missing. */
int docker_start(struct docker_api *api, const char *id, const char *network, struct sw_error *err);

/* docker_queue.c: the same for a job that needs GPUs to itself: it gets them, or waits. */
int docker_queue_submit(struct docker_sending *sending, struct sw_error *err);
/* Is the lock on the GPUs still there? */
int docker_queue_holds(struct docker_api *api, const char *lock, struct sw_error *err);
/* Start what waits and fits. `list`: all containers with our label, as they were a moment ago. */
int docker_queue_advance(struct docker_api *api, const json_t *list, struct sw_error *err);
/* What a waiting job waits for: "waiting for 2 GPUs: 1 of 4 free, 3 jobs ahead". */
void docker_queue_explain(const json_t *list, const char *id, char *out, size_t size);

/* `ends`: the folder of this machine that gets the last reports; NULL: a volume. `digest` of the image;
 * NULL: not known. */
void docker_receipt(struct sw_submission *receipt, const char *host, const char *container,
                    const char *results, const char *ends, const char *digest);

/* ---- the containers of one job, and how they ended --------------------------------------------- */

struct docker_containers {           /* of one attempt, as the list shows them; borrowed */
    const json_t *at[DOCKER_NODES_MAX];      /* by rank; NULL: missing */
    struct sw_rank ranks[DOCKER_NODES_MAX];
    struct sw_ranks all;
    int queued;                      /* containers that wait for GPUs, beside the ranks */
};
void docker_containers_read(struct docker_containers *out, const json_t *listed);
/* The containers of each attempt in a list: object "id/attempt" -> array; owned. And those of one attempt;
 * borrowed. */
json_t *docker_list_by_attempt(const json_t *list);
const json_t *docker_attempt_in(const json_t *by_attempt, const struct sw_jobref *job);
bool docker_is_over(const char *state);
int docker_plan_nodes(const struct sw_jobref *job);
/* Did a submit die between making and starting it? Then it is removed: no submit will start it. */
bool docker_is_half_made(const struct sw_jobref *job, const struct docker_containers *own);

/* The first rank of the newest attempt in a list of a job's containers; borrowed; NULL: it is empty. */
const json_t *docker_newest(const json_t *list);
/* The mount of a container whose "Destination" or "Name" this is; borrowed; NULL: none. */
const json_t *docker_mount_of(const json_t *container, const char *key, const char *value);
/* The folder bound at /results, when it is one of this machine; owned; NULL: none. */
char *docker_bound_results(const struct sw_connection *conn, const json_t *inspected, const char *id);

struct docker_job {                  /* one job, and the client that asks about it; borrowed */
    struct sw_connection *conn;
    struct docker_api *api;
    const struct sw_jobref *ref;
};

/* ---- docker_ended.c -------------------------------------------------------------------------- */

struct docker_ended {                /* one container that ended */
    json_t *inspected, *report;      /* owned; report NULL: it left none */
    bool recorded;                   /* the report is not from the log */
    char *tail;                      /* of its log, when it failed; owned; may be NULL */
    struct sw_run_end end;           /* its texts live in these */
    enum docker_engine engine;       /* asked only where it matters */
    bool gone;                       /* there is no container any more, and no report */
    bool never_began;                /* gone, and the engine remembers no start of it */
    int64_t started_ms, ended_ms;
};
int docker_ended_read(struct docker_api *api, const char *container, struct docker_ended *out,
                      struct sw_error *err);
void docker_ended_done(struct docker_ended *ended);
static inline void docker_ended_auto(struct docker_ended *ended) { docker_ended_done(ended); }
/* Since when the engine runs; 0: it does not tell. */
int docker_up_since(struct docker_api *api, int64_t *since_ms, struct sw_error *err);

struct docker_ends {                 /* of all ranks */
    int count;
    struct docker_ended *at;         /* owned */
    struct sw_rank ranks[DOCKER_NODES_MAX];
    int failed;                      /* the rank that failed first; -1: none */
};
/* `closely`: all containers are inspected, whatever the events told. 0, -1 + err; 1: a record must be fetched
 * first (docker_record_fetch). In any case docker_ends_done() follows. */
int docker_ends_read(const struct docker_job *job, const struct docker_containers *own,
                     bool closely, struct docker_ends *out, struct sw_error *err);
void docker_ends_done(struct docker_ends *ends);
static inline void docker_ends_auto(struct docker_ends *ends) { docker_ends_done(ends); }
/* None goes on: what that means for the job, which rank failed first, and facts about it. As
 * docker_ends_read(). */
int docker_judge(const struct docker_job *job, const struct docker_containers *own,
                 struct sw_observation *seen, struct sw_error *err);

/* ---- docker_record.c ------------------------------------------------------------------------- */

/* The last report of a container's runner; owned, NULL: it left none. *kept: there is a place for it. -1: it
 * could not be read. */
int docker_record_of(struct docker_api *api, const json_t *container, json_t **report, bool *kept,
                     struct sw_error *err);
/* A report that is not the last one is a heartbeat: its runner was killed in the middle of its work. */
void docker_drop_beat(json_t **report);
/* The same of a rank without a container. 1: it is in a volume, and must be fetched first. */
int docker_record_gone(const struct docker_job *job, int rank, json_t **report, struct sw_error *err);
/* Copy the records of ranks without a container from the job's volume to this machine. */
int docker_record_fetch(const struct docker_job *job, const struct docker_containers *own,
                        struct sw_error *err);
/* The folder of this machine that holds them, as its containers say; borrowed; NULL: a volume, or none. */
const char *docker_bound_ends(const json_t *container);

/* ---- docker_events.c --------------------------------------------------------------------------
 * The watch (platform/kit/watch.h) holds one stream open and hears when a container with our label starts,
 * pauses, runs out of memory, ends or is removed. The list of containers stays the truth: the stream says
 * when it is worth asking for one, and how a container ended, which the list does not. */

/* Nothing is asked before docker_wake_fd(). */
struct sw_watch *docker_events_open(const struct docker_endpoint *endpoint);

/* docker_list(), with what was heard put into it: one that ended a moment ago is over although the engine's
 * list still calls it running, and DOCKER_HEARD of it is how it ended. */
#define DOCKER_HEARD "slipway-heard" /* {"exit_code","oom","started_ms","ended_ms"} */
json_t *docker_list_now(struct sw_connection *conn, struct docker_api *api, const char *id,
                        struct sw_error *err);

/* What the engine remembers of one container: it keeps the last 256 events of anything. */
struct docker_past {
    const char *container;           /* its id; NULL: the one of this attempt and rank */
    int attempt, rank;
    int events;                      /* that it sent, of anything */
    bool started, died, killed, removed;
    int exit_code;                   /* of the end */
    int64_t ended_ms;
};
/* `job`: only its events are asked for; NULL: all. */
int docker_past_read(struct docker_api *api, const char *job, struct docker_past *past,
                     struct sw_error *err);

/* Pure: one event, into what is known by name of container. true: it may change what a job is. */
bool docker_event_note(json_t *known, const json_t *event);

#endif
