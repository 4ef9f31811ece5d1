/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_internal.h - what the files of this platform share.
 *
 *     kubernetes.c            the descriptor and the connection
 *     kubernetes_options.c    the block `kubernetes:`
 *     kubernetes_volumes.c    volumes and mounts of a pod (pure)
 *     kubernetes_render.c     plan to pod, ConfigMap, Secret, Service (pure)
 *     kubernetes_engines.c    pod to Job, JobSet, PyTorchJob, TrainJob, MPIJob, Volcano Job (pure)
 *     kubernetes_ray.c        pod to RayJob: the cluster, the driver, and its end (pure)
 *     kubernetes_ray_cluster.c  a Ray cluster that is there: which one a name means
 *     kubernetes_engine_status.c  and back: what the status of such an object says (pure)
 *     kubernetes_quantity.c   "500m", "64Gi" (pure)
 *     kubernetes_match.c      may this node take this pod? (pure)
 *     kubernetes_capacity.c   does it fit? (pure, from the lists of nodes and pods)
 *     kubernetes_nodes.c      these lists, asked for
 *     kubernetes_submit.c     the objects are sent, in an order that loses nothing
 *     kubernetes_pull.c       Secrets: the image pull secret, and the job's own
 *     kubernetes_runner.c     the runner as a shared ConfigMap
 *     kubernetes_plan.c       what `slipway plan` shows
 *     kubernetes_states.c     pods and their owner to one observation (pure)
 *     kubernetes_waiting.c    why a pod waits, in words with numbers (pure)
 *     kubernetes_known.c      what an object says of itself, what is kept of it, and whose it is (pure)
 *     kubernetes_list.c       our objects and pods, listed for many jobs at once
 *     kubernetes_watch.c      list and watch of all our objects, and the cache
 *     kubernetes_observe.c    observe, reconcile, evidence, replicas
 *     kubernetes_cancel.c     cancel, cleanup
 *     kubernetes_adopt.c      adopt, jobs, orphans: by marks alone
 *     kubernetes_log.c        logs of pods for the kit's spool
 *     kubernetes_exec.c       commands beside a pod
 *     kubernetes_files.c      results, paths: from the job's pod, or
 *     kubernetes_helper.c     from a short pod of our own
 *     kubernetes_preflight.c  versions, volumes, queues, capacity
 *     kubernetes_permissions.c  rights, and the roles that give them
 *     kubernetes_inventory.c  nodes, GPUs, queues
 *
 * What an attempt is made of, all in one namespace and all named after it (k8s_name()):
 *
 *     Job NAME (or another engine's object)    labels: slipway.id, slipway.attempt, slipway.store, ...
 *       |- ConfigMap NAME        payload.json, plan.json, ca.pem, code pieces    owned by the Job
 *       |- Secret NAME           secrets, as sw_secrets_send() writes them       owned by the Job
 *       |- Service NAME          headless, of several nodes                      owned by the Job
 *       `- pods                  the same labels; each runs the runner as its only container `slipway`
 *     ConfigMap slipway-runner-ARCH-HASH    shared, immutable, owned by none
 *     Secret slipway-pull-HASH              shared, named after its content
 *
 * The Job is created suspended; when everything it needs is there it is released by one patch that also
 * sets the annotation slipway.sent. A Job without that annotation belongs to a submit that did not come
 * to its end: nothing of it runs.
 */
#ifndef SW_PLATFORM_KUBERNETES_INTERNAL_H
#define SW_PLATFORM_KUBERNETES_INTERNAL_H

#include <pthread.h>

#include "core/gpu_arch.h"
#include "core/payload.h"
#include "platform/kit/ranks.h"
#include "platform/kit/rest.h"
#include "platform/kit/watch.h"
#include "platform/kube/kube.h"
#include "platform/kubernetes/kubernetes_options.h"
#include "platform/platform.h"

/* ---- names -------------------------------------------------------------------------------------- */

#define K8S_LABEL_ID      "slipway.id"
#define K8S_LABEL_ATTEMPT "slipway.attempt"      /* with which number it was submitted */
#define K8S_LABEL_STORE   "slipway.store"
#define K8S_LABEL_RUNNER  "slipway.runner"       /* of the shared ConfigMap: "amd64" */
#define K8S_LABEL_ROLE    "slipway.role"         /* "driver": the pod in which a RayJob's driver is seen */
#define K8S_LABEL_RAY     "slipway.ray"          /* of a Ray cluster that stays: its name */
#define K8S_LABEL_SHARED  "slipway.shared"       /* belongs to no job: "runner", "pull", "helper" */
#define K8S_NOTE_SENT     "slipway.sent"         /* annotation: the submit came to its end */
#define K8S_NOTE_NODES    "slipway.nodes"
#define K8S_NOTE_OWNER    "slipway.owner"
#define K8S_NOTE_UID      "slipway.uid"
#define K8S_NOTE_SIGNED   "slipway.signature"
#define K8S_NOTE_ENGINE   "slipway.engine"

#define K8S_CONTAINER "slipway"                  /* the container's name; MPI and PyTorch want their own */
#define K8S_HOME      "/.slipway"                /* our folder in the container */
#define K8S_BIN       K8S_HOME "/bin"            /* the runner: K8S_BIN "/slipway-runner" */
#define K8S_FILES     K8S_HOME "/job"            /* payload.json, plan.json, ca.pem, code */
#define K8S_SECRETS   K8S_HOME "/secrets"        /* the file `secrets` */
#define K8S_WORK      K8S_HOME "/work"           /* emptyDir */
#define K8S_RESULTS   "/results"
#define K8S_REPORT    "/dev/termination-log"     /* the runner's report; it is in the pod's status */

enum {
    K8S_NODES_MAX = 4096,
    K8S_NAME_SIZE = 64,
    K8S_PIECE = 1000000,             /* bytes of one ConfigMap; 1,048,576 are allowed */
    K8S_PIECES_MAX = 16,             /* of a code bundle */
    K8S_PATIENCE_MS = 30000,
};

/* ID, or ID-aN for later attempts. Shortened never: ids have at most 35 characters. Pure. */
void k8s_name(char out[K8S_NAME_SIZE], const char *id, int attempt);

/* ---- the connection (kubernetes.c) -------------------------------------------------------------- */

struct sw_connection {
    struct kube *kube;
    struct sw_rest *rest;            /* the client's; may be used from several threads */
    const char *namespace;           /* borrowed from the client */
    char *root;                      /* our own folder on this machine */
    struct sw_log_spools *spools;
    struct sw_watch *watch;
    char *helper_image;              /* for pods that show files; NULL: K8S_HELPER_IMAGE */
    struct sw_connect_options given; /* warn, progress, env: as open() got them */
    pthread_mutex_t lock;            /* of what follows */
    json_t *runners;                 /* names of runner ConfigMaps that are there: name -> true */
    json_t *groups;                  /* API groups that the server has: name -> version; NULL: not asked */
    struct k8s_recent_nodes {        /* the nodes as they were a moment ago; see kubernetes_nodes.c */
        json_t *nodes;               /* shared and never changed; NULL: none, or listing is forbidden */
        char *asked;                 /* the options whose labels were kept */
        int64_t until_ms;            /* monotonic; 0: nothing is known */
    } recent;
};

/* One call, answered within K8S_PATIENCE_MS. GET when `method` is NULL. `json` may be NULL. */
int k8s_call(struct sw_connection *conn, const char *method, const char *path, const json_t *body,
             json_t **json, struct sw_error *err);
/* kube_path() in the connection's namespace: k8s_path(conn, "batch/v1", "jobs", name). Owned. */
char *k8s_path(struct sw_connection *conn, const char *group_version, const char *plural, const char *name);
/* Does the server have this API group ("jobset.x-k8s.io")? Its preferred version, borrowed; NULL: it does
 * not. *err is set only when it could not be asked. */
const char *k8s_group(struct sw_connection *conn, const char *group, struct sw_error *err);
void k8s_warn(struct sw_connection *conn, const char *fmt, ...) SW_PRINTF(2, 3);

/* ---- engines (kubernetes_engines.c), pure -------------------------------------------------------- */

enum k8s_phase { K8S_SUSPENDED, K8S_WAITING, K8S_ACTIVE, K8S_SUCCEEDED, K8S_FAILED };

struct k8s_workload {                /* what the status of an engine's object says */
    enum k8s_phase phase;
    char reason[64], message[256];   /* of its last condition, in its own words */
    int restarts;                    /* how often it began again by itself */
    int64_t created_ms, started_ms, ended_ms;
    bool sent;                       /* K8S_NOTE_SENT is there */
    bool deleting;
};
static inline bool k8s_is_over(const struct k8s_workload *workload)
{
    return workload->phase == K8S_SUCCEEDED || workload->phase == K8S_FAILED;
}

struct k8s_site {                    /* what render needs beyond the plan; all borrowed */
    int attempt;
    const char *namespace;
    const char *arch;                /* "amd64", "arm64"; NULL: not decided (render of `slipway plan`) */
    const char *runner;              /* name of the ConfigMap or Secret; NULL: K8S_RUNNER_IMAGE */
    const char *pull_secret;         /* NULL: none */
    const char *owner;               /* user@machine */
    const json_t *gpu_products;      /* labels nvidia.com/gpu.product of the GPU type; NULL: not known */
    bool restricted;                 /* the namespace demands it */
    bool has_secrets;
    const char *ray_cluster;         /* the RayCluster that a job is a guest of; NULL: none */
    bool no_ray_auth;                /* KubeRay is older than tokens (1.6) */
    int pieces;                      /* ConfigMaps NAME-code-0, ... that hold the code (code.tar.gz.0, ...) */
};

struct k8s_engine {
    enum k8s_engine_choice choice;
    const char *name;                /* "jobset", as the option calls it */
    const char *group, *version;     /* "jobset.x-k8s.io", "v1alpha2"; "batch", "v1" */
    const char *kind, *plural;       /* "JobSet", "jobsets" */
    const char *container;           /* what the container must be called */
    const char *suspend;             /* "spec.suspend", "spec.runPolicy.suspend"; NULL: cannot be suspended */
    const char *rank_from;           /* variable that holds a pod's rank; NULL: its Job's index annotation;
                                        "": only rank 0 runs the runner */
    const char *first, *others;      /* names of pods: NAME + `first` of rank 0 (NULL: as the others);
                                        NAME + `others` + number (NULL: they have none) */
    bool needs_service;              /* k8s_render_service() belongs to a job of several nodes */
    /* The object's spec, owned, from the pod template (stolen). NULL + err: this engine cannot do that. */
    json_t *(*render)(const struct sw_plan *plan, const struct k8s_site *site, json_t *pod,
                      struct sw_error *err);
    void (*read)(const json_t *object, struct k8s_workload *out);
    /* The rank of one of its pods; -1: it has none (MPI's launcher is 0); K8S_RANK_BY_NAME. */
    int (*rank)(const json_t *pod);
};
#define K8S_RANK_BY_NAME (-2)        /* of the ranks behind the others, in the order of their names */
extern const struct k8s_engine k8s_engines[];        /* ended by a row without name */
const struct k8s_engine *k8s_engine_named(const char *name);           /* NULL: none */
/* The engine of a job: as its option says, or `auto` by what the cluster has (has() is asked for a group). */
const struct k8s_engine *k8s_engine_for(const struct sw_plan *plan,
                                        bool (*has)(void *context, const char *group),
                                        void *context, struct sw_error *err);
char *k8s_engine_api(const struct k8s_engine *engine);                 /* "batch/v1"; owned */
/* k8s_path() of one of its objects, or of their list (`name` NULL). Owned. */
char *k8s_engine_path(struct sw_connection *conn, const struct k8s_engine *engine, const char *name);
/* kubernetes.c: does the cluster have this engine? 1, 0, or -1 + err: it could not be asked. */
int k8s_has_engine(struct sw_connection *conn, const struct k8s_engine *engine, struct sw_error *err);
/* Rendezvous: the DNS name of a rank inside the namespace, appended; nothing: it has none. */
void k8s_host(const struct k8s_engine *engine, const struct sw_plan *plan, int attempt, int rank,
              struct sw_buf *out);
/* kubernetes_engine_status.c: `read` and `rank` of the table above. */
void k8s_read_job(const json_t *object, struct k8s_workload *out);
void k8s_read_jobset(const json_t *object, struct k8s_workload *out);
void k8s_read_kubeflow(const json_t *object, struct k8s_workload *out);
void k8s_read_trainjob(const json_t *object, struct k8s_workload *out);
void k8s_read_volcano(const json_t *object, struct k8s_workload *out);
int k8s_rank_index(const json_t *pod);
int k8s_rank_kubeflow(const json_t *pod);
int k8s_rank_volcano(const json_t *pod);
void k8s_read_rayjob(const json_t *object, struct k8s_workload *out);

/* ---- Ray (kubernetes_ray.c), pure ----------------------------------------------------------------- */

const char *k8s_ray_named(const struct sw_plan *plan);       /* the cluster it is a guest of; NULL: none */
bool k8s_ray_stays(const struct sw_plan *plan);              /* it is a cluster, and runs no command */
int k8s_ray_pods(const struct sw_plan *plan);                /* driver, head and workers; a guest: one */
int k8s_ray_check(const struct sw_plan *plan, const struct k8s_engine *engine, struct sw_error *err);
/* Adds files of a RayJob to its ConfigMap; what differs in its payload; its labels and annotations. */
void k8s_ray_files(const struct sw_plan *plan, json_t *data);
void k8s_ray_payload(const struct sw_plan *plan, const struct k8s_site *site, struct sw_payload *payload);
void k8s_ray_marks(const struct sw_plan *plan, const struct k8s_job_options *options, json_t *labels,
                   json_t *notes);
json_t *k8s_render_rayjob(const struct sw_plan *plan, const struct k8s_site *site, json_t *pod,
                          struct sw_error *err);
int k8s_rank_ray(const json_t *pod);
/* An end that the driver's report does not explain, in KubeRay's words. */
void k8s_ray_end(const struct k8s_workload *workload, struct sw_observation *seen);
/* kubernetes_ray_cluster.c: the RayCluster that is meant by this name; owned; NULL + err. */
char *k8s_ray_find(struct sw_connection *conn, const char *name, struct sw_error *err);
/* SW_E_CONFLICT: another job is a cluster of this name. */
int k8s_ray_free(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err);

/* ---- render (kubernetes_render.c, kubernetes_volumes.c), pure ------------------------------------ */

/* {apiVersion: v1, kind, metadata: {name, namespace, labels, annotations}}. */
json_t *k8s_render_head(const struct sw_plan *plan, const struct k8s_site *site, const char *kind,
                        const char *name);
/* A pod template; and the whole Job or other object, suspended. */
json_t *k8s_render_pod(const struct sw_plan *plan, const struct k8s_site *site,
                       const struct k8s_engine *engine, struct sw_error *err);
json_t *k8s_render_object(const struct sw_plan *plan, const struct k8s_site *site,
                          const struct k8s_engine *engine, struct sw_error *err);
/* Is it Kueue that says when it starts? */
bool k8s_is_kueues(const struct sw_plan *plan, const struct k8s_engine *engine);
json_t *k8s_render_service(const struct sw_plan *plan, const struct k8s_site *site);
struct sw_payload *k8s_render_payload(const struct sw_plan *plan, const struct k8s_site *site,
                                      struct sw_error *err);
/* Adds an owner reference to metadata of `object`: deleting `owner` deletes it. */
void k8s_render_owned(json_t *object, const json_t *owner);
/* Volumes and their mounts in one container; appended to the two arrays. */
int k8s_render_volumes(const struct sw_plan *plan, const struct k8s_site *site, json_t *volumes,
                       json_t *mounts, struct sw_error *err);

enum k8s_volume_kind { K8S_VOLUME_PVC, K8S_VOLUME_HOST, K8S_VOLUME_NFS, K8S_VOLUME_CONFIG_MAP,
                       K8S_VOLUME_SECRET, K8S_VOLUME_EMPTY };
struct k8s_volume {                  /* one entry of `volumes:` or `mounts:`; all owned */
    enum k8s_volume_kind kind;
    char *source;                    /* claim, host path, export, name */
    char *server;                    /* NFS */
    char *sub_path;                  /* NULL: all of it */
    char *target;                    /* path in the container */
    bool read_only;
};
struct k8s_volumes { struct k8s_volume *items; size_t count; };
int k8s_volumes_read(const struct sw_plan *plan, struct k8s_volumes *out, struct sw_error *err);
void k8s_volumes_done(struct k8s_volumes *volumes);
static inline void k8s_volumes_auto(struct k8s_volumes *volumes) { k8s_volumes_done(volumes); }
/* "pvc:NAME[/SUB]", "nfs:SERVER:/PATH", "/HOST/PATH": one volume source, as `check_path` and results use
 * it. */
int k8s_volume_parse(const char *text, struct k8s_volume *out, struct sw_error *err);
void k8s_volume_done(struct k8s_volume *volume);
static inline void k8s_volume_auto(struct k8s_volume *volume) { k8s_volume_done(volume); }
/* An entry of spec.volumes. */
json_t *k8s_volume_source(const struct k8s_volume *volume, const char *name);
/* The writable volume at /results, with the job's own folder in it: "pvc:NAME/ID"; owned; NULL: results
 * stay in the pod. */
char *k8s_results_source(const struct sw_plan *plan);

/* Several ranks: marks the outputs ("own") that lie in no volume that all pods share. */
void k8s_mark_own(const struct sw_plan *plan, json_t *outputs);
/* The first output that went with its pod, so that it cannot be brought again; borrowed; NULL: none. */
const char *k8s_output_lost(const struct sw_plan *plan);

/* The table for kit/rest: fields of a Job that an error names, and the keys that decide them. */
extern const struct sw_rest_field k8s_fields[];

/* ---- one object (kubernetes_known.c), pure: all borrowed, NULL: not there -------------------------- */

const char *k8s_meta(const json_t *object, const char *key);              /* a text of its metadata */
const char *k8s_label(const json_t *object, const char *label);
const char *k8s_note(const json_t *object, const char *annotation);
const char *k8s_pod_node(const json_t *pod);
const char *k8s_pod_phase(const json_t *pod);
const json_t *k8s_condition(const json_t *object, const char *type);      /* of its status */
bool k8s_is_true(const json_t *condition);

/* ---- capacity (kubernetes_quantity.c, kubernetes_match.c, kubernetes_capacity.c) ------------------ */

/* "500m", "64Gi", "1e3", "2": thousandths, rounded up, at most INT64_MAX; -1: no quantity. Pure. */
int64_t k8s_quantity(const char *text);
/* k8s_at(node, "status/allocatable"); NULL: not there. Borrowed. */
const json_t *k8s_at(const json_t *object, const char *path);

enum k8s_match { K8S_MATCHES, K8S_NOT_READY, K8S_TAINTED, K8S_UNSELECTED };
/* May a node take a pod with this spec, whatever else is on it? `gpu`: the device that it asks for. Pure. */
enum k8s_match k8s_match(const json_t *spec, const json_t *node, const char *gpu);
/* Adds what a pod holds to the sums of its node: node -> resource -> thousandths. Pure. */
void k8s_capacity_use(json_t *used, const json_t *pod);
extern const char *const k8s_compute_labels[];       /* major and minor of its architecture; NULL-ended */
extern const char *const k8s_model_labels[];         /* that name the GPU model; NULL-ended, NVIDIA's first */
/* The GPU model that a node's labels name, borrowed; NULL: none. Is it of this type ("h100")? */
const char *k8s_gpu_model(const json_t *node);
bool k8s_gpu_is(const char *type, const char *model);

struct k8s_capacity {
    int nodes, matching;             /* all nodes; those that may take it now */
    int tainted, unselected, not_ready;      /* why others may not; what is not ready matches otherwise */
    int64_t allocatable, free;       /* GPUs on the matching ones; free -1: not known */
    int fit, fit_free;               /* pods that fit on empty nodes; that fit now, -1: not known */
    int fit_later;                   /* that fit once all is empty and every node is back */
    int64_t most;                    /* GPUs of the largest node that matches or will */
    char arch[16];                   /* of all matching nodes; "": they differ, or there are none */
    struct sw_gpu_archs gpu_archs;   /* of the GPUs of matching nodes, as far as their labels say */
    bool asks_gpus, has_gpus;        /* the pod asks for GPUs; any node at all has the resource */
    char needs[256];                 /* "8 nvidia.com/gpu + 64 CPUs", of one pod */
    char lacks[256];                 /* of these no node that matches has enough: "4 nvidia.com/gpu" */
    char others[128];                /* other devices that the cluster has: "nvidia.com/mig-1g.10gb" */
};
/* `pod`: the template as k8s_render_pod() makes it. `used` NULL: not known. Pure. */
void k8s_capacity_count(const struct sw_plan *plan, const json_t *pod, const json_t *nodes,
                        const json_t *used, struct k8s_capacity *out);
/* SW_E_REFUSED with the numbers: it can never fit. What only has to wait passes. Pure. */
int k8s_capacity_check(const struct sw_plan *plan, const struct k8s_capacity *capacity, struct sw_error *err);
/* "3 of 12 nodes match, 9 tainted". */
void k8s_capacity_words(const struct k8s_capacity *capacity, struct sw_buf *out);

/* The lists (kubernetes_nodes.c), asked for. *nodes NULL without error: listing nodes is forbidden. Of
 * labels only those that the plan (NULL: none) asks about are kept, and arch and GPU model. *used: NULL
 * where listing all pods is forbidden; `used` NULL: not wanted. Owned. */
int k8s_capacity_lists(struct sw_connection *conn, const struct sw_plan *plan, json_t **nodes, json_t **used,
                       struct sw_error *err);
/* All of it for this plan. 1: listing nodes is forbidden, so nothing is known. *products (may be NULL): the
 * owned array for site.gpu_products, NULL: none. Without pods, nodes that were listed seconds ago will do. */
int k8s_capacity_of(struct sw_connection *conn, const struct sw_plan *plan, bool with_pods, json_t **products,
                    struct k8s_capacity *out, struct sw_error *err);
/* The next k8s_capacity_of() lists again. */
void k8s_recent_forget(struct sw_connection *conn);

/* ---- observation (kubernetes_states.c, kubernetes_waiting.c), pure ------------------------------- */

/* Everything that is known of one job's attempt; all borrowed. */
struct k8s_seen {
    const struct k8s_engine *engine;
    const json_t *object;            /* NULL: not in the list */
    const json_t *pods;              /* array: all pods with its id and attempt label; may be empty */
    const json_t *events;            /* array: of the object and its pods; NULL: not asked */
    const json_t *workload;          /* Kueue's Workload, Volcano's PodGroup; NULL: none */
};
struct k8s_workload k8s_read(const struct k8s_seen *known);           /* {0} without object */
void k8s_judge(const struct k8s_seen *known, struct sw_observation *seen);
/* Would events explain more (it waits, and pods do not say why)? */
bool k8s_wants_events(const struct k8s_seen *known);
/* The reason and message of one pod that waits: state.waiting, conditions, events. False: it does not
 * wait. */
bool k8s_pod_waits(const json_t *pod, const json_t *events, char reason[48], char message[256]);
/* "0/12 nodes are available: 8 Insufficient nvidia.com/gpu, 4 node(s) had untolerated taint ..." ->
 * "0 of 12 nodes fit: 8 have no free GPU, 4 are tainted", and the reason. NULL: these are other words. */
const char *k8s_explain_scheduler(const char *said, char *out, size_t size);
/* The newest pod of a rank; NULL. `restart`: of that restart alone; -1: the newest. */
const json_t *k8s_pod_of(const struct k8s_seen *known, int rank, int restart);
int64_t k8s_time_ms(const char *text);           /* RFC 3339; 0: none */
int k8s_label_number(const json_t *object, const char *label, int missing);
const json_t *k8s_container(const json_t *pod, const char *name);    /* its status; NULL: none */
int k8s_nodes(const struct k8s_seen *known, const struct sw_jobref *job);
/* The rank where a command or a port of the job is meant: a RayJob's driver runs on the head. */
int k8s_inner_rank(const struct sw_jobref *job, int rank);
/* State of one pod alone, and how it ended if it did. */
void k8s_pod_end(const json_t *pod, const struct k8s_engine *engine, struct sw_observation *seen);
/* The object of a submit that did not come to its end: suspended, or of an engine that cannot be. */
bool k8s_is_half_made(const struct k8s_seen *known, const struct sw_jobref *job);
/* Why the API server refuses its pods, from the object's events; what Kueue or Volcano waits for. */
bool k8s_refused(const json_t *events, char reason[48], char message[256]);
bool k8s_queue_waits(const json_t *workload, char reason[48], char message[256]);

/* ---- lists (kubernetes_list.c, kubernetes_watch.c) ----------------------------------------------- */

#define K8S_PODS "pods"
#define K8S_PAGE "50"                /* objects of one answer: parsed, a pod takes some 110 kB */

extern const struct sw_watch_source k8s_watch_source;
void *k8s_watch_context(struct sw_connection *conn);                 /* owned by the watch */
/* Objects of these jobs, from the watch's cache or listed now, one list for each kind: an owned
 * {"objects": {"ENGINE/NAME": {...}}, "pods": {"ID/ATTEMPT": [..]}}; NULL + err. */
json_t *k8s_list(struct sw_connection *conn, const struct sw_observation *jobs, size_t count,
                 struct sw_error *err);
/* What this platform reads of an object, as a new one that takes little memory. Pure. */
json_t *k8s_trim(json_t *object);
/* What is known of one job in that list; `known` borrows from it. */
void k8s_find(const json_t *list, const struct sw_jobref *job, struct k8s_seen *known);
/* The same of one job, asked for now: a cache may be a moment behind. */
int k8s_get(struct sw_connection *conn, const struct sw_jobref *job, json_t **list, struct sw_error *err);
struct k8s_listing {                 /* which objects */
    const char *path;
    const char *labels, *fields;     /* selectors; NULL: all */
    const char *limit;               /* of a page; NULL: K8S_PAGE */
    bool names_only;                 /* metadata alone: what else is in them may be large */
};
/* Calls `each` for each of them, page after page, as sw_rest_list() does. 1 + err: listing is forbidden. */
int k8s_list_pages(struct sw_connection *conn, const struct k8s_listing *what,
                   int (*each)(void *context, json_t *object), void *context, struct sw_error *err);
/* Events about what has this `field` ("uid", "name"). Owned array; NULL: none came. */
json_t *k8s_events(struct sw_connection *conn, const char *field, const char *value);
extern const struct sw_rest_pages k8s_pages;
bool k8s_may_be(const struct sw_jobref *job, const struct k8s_engine *engine);   /* by its details */
json_t *k8s_list_new(void);
/* Puts one object (`kind`: its engine, or K8S_PODS) into such a list; what has no id of ours, and children of
 * other objects, are left out. */
void k8s_list_add(json_t *list, const char *kind, json_t *object);
/* All of a kind from the watch's cache into such a list. False: the watch does not have this kind now. */
bool k8s_watch_copy(struct sw_connection *conn, const char *kind, json_t *list);

/* Deletes with Foreground propagation and the UID as precondition. 404 and another UID are success. */
int k8s_delete(struct sw_connection *conn, const char *path, const char *uid, struct sw_error *err);

/* Slots: see platform.h. */
SW_PLATFORM_SLOT(kubernetes, render);
SW_PLATFORM_SLOT(kubernetes, preflight);
SW_PLATFORM_SLOT(kubernetes, preflight_report);
SW_PLATFORM_SLOT(kubernetes, submit);
SW_PLATFORM_SLOT(kubernetes, observe);
SW_PLATFORM_SLOT(kubernetes, reconcile);
SW_PLATFORM_SLOT(kubernetes, evidence);
SW_PLATFORM_SLOT(kubernetes, replicas);
SW_PLATFORM_SLOT(kubernetes, wake_fd);
SW_PLATFORM_SLOT(kubernetes, cancel);
SW_PLATFORM_SLOT(kubernetes, cleanup);
SW_PLATFORM_SLOT(kubernetes, orphans);
SW_PLATFORM_SLOT(kubernetes, adopt);
SW_PLATFORM_SLOT(kubernetes, jobs);
SW_PLATFORM_SLOT(kubernetes, log_fetch);
SW_PLATFORM_SLOT(kubernetes, finalize);
SW_PLATFORM_SLOT(kubernetes, exec_open);
SW_PLATFORM_SLOT(kubernetes, port_open);
SW_PLATFORM_SLOT(kubernetes, results_dir);
SW_PLATFORM_SLOT(kubernetes, fetch_results);
SW_PLATFORM_SLOT(kubernetes, check_path);
SW_PLATFORM_SLOT(kubernetes, list_path);
SW_PLATFORM_SLOT(kubernetes, inventory);

#endif
