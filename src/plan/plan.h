/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h - what will run: the spec made definite, in types that platforms can use directly.
 *
 * A plan holds no secret's value, only names. It can be written to JSON and read back, so the
 * store keeps exactly what was submitted.
 */
#ifndef SW_PLAN_PLAN_H
#define SW_PLAN_PLAN_H

#include "base/document.h"
#include "base/json.h"
#include "base/secret.h"
#include "core/command.h"
#include "spec/spec.h"

enum sw_launcher { SW_LAUNCHER_NONE, SW_LAUNCHER_TORCHRUN, SW_LAUNCHER_MPI, SW_LAUNCHER_RAY };

struct sw_plan {
    char job_id[SW_ID_SIZE];
    char *name;
    char *platform;
    char *image;               /* NULL: none */
    char *command;             /* shell text, or NULL when argv is given */
    json_t *argv;              /* array of texts, or NULL */
    json_t *setup;             /* array of texts: shell commands that run before it; or NULL */
    char *workdir;             /* absolute on the client, or as the user wrote it; NULL: default */
    char *base_dir;            /* folder that relative paths of the job file start from */
    int splits;                /* how many jobs like it are in its group; 0: it is in none */
    int split_id;              /* which of them it is, from 0 */
    int nodes;                 /* at least 1 */
    int gpus;                  /* per node; 0 = none */
    char *gpu_type;            /* NULL: any */
    double cpus;               /* per node; 0: no limit */
    int64_t memory_bytes;      /* per node; 0: no limit */
    int64_t shm_bytes;
    int64_t time_ms;           /* wall clock limit; 0: none */
    int64_t grace_ms;          /* between TERM and KILL */
    int64_t keep_ms;           /* how long to keep the files after the end; 0: for ever */
    enum sw_launcher launcher;
    json_t *ray_cluster;       /* with SW_LAUNCHER_RAY, as in the job file: {"name","version","wait","keep",
                                  "idle"}; may be NULL */
    bool world_size_ranks;     /* WORLD_SIZE counts ranks instead of nodes */
    json_t *env;               /* object name -> text */
    json_t *secrets;           /* array of names */
    json_t *inputs;            /* array of {"path","from","selective","extract"} */
    json_t *outputs;           /* array of {"path","to"|null,...} */
    json_t *config;            /* document or NULL */
    enum sw_format config_format;
    json_t *args;              /* object: options of the command; NULL: none */
    json_t *flags;             /* array of names: options without a value; NULL: none */
    json_t *config_inputs;     /* array of {"key",...}: places of config or args; NULL: none */
    json_t *config_outputs;    /* array of {"key","type",...}; NULL: none */
    char *cache;               /* folder that jobs share; NULL: none */
    json_t *labels;            /* object name -> text */
    json_t *retry;             /* object as in the job file; may be NULL */
    json_t *guard;             /* likewise: {"no_output","idle_gpu","action"} */
    json_t *hooks;             /* likewise: {"on_complete",...,"epoch_milestone_interval"} */
    json_t *notify;            /* likewise: {"webhook","command","on"} */
    json_t *watcher;           /* likewise: false: none is started for it */
    json_t *avoid;             /* array of nodes to keep away from; NULL: none */
    json_t *python;            /* {"venv","script","args"}: virtualenv launch; may be NULL */
    json_t *checkpoint;        /* {"dir","resume"}; may be NULL */
    json_t *code;              /* {"root","include","exclude","recipe"}: travels with the job; may be NULL */
    json_t *mounts;            /* array of texts as core/mount.h reads them; may be NULL */
    json_t *dotenv;            /* NULL, or the .env file that secrets were taken from: {"path","sha256",
                                  "trusted"}, for later attempts */
    json_t *credentials;       /* array of names that only the runner needs, for inputs and outputs */
    json_t *settings;          /* NULL, or what of this machine's settings the data needs: an array of
                                  {"name","from","secret","travels","value"}, a secret without value */
    json_t *rules;             /* the user's own about failures, for a job that judges itself; NULL: none */
    int only_data;             /* 1: it tries its data from there and runs no command (sw_plan_only_data) */
    json_t *options;           /* the platform's block */
    json_t *sources;           /* where each value came from; not stored */

    /* Marks of who submits it and of earlier attempts. Not stored, and no part of what makes two plans
     * different; monitor/attempt.c sets them. */
    char *store_id;            /* random id of the job store; NULL: none */
    long owner_uid;            /* the user's number there */
    char *signature;           /* of its JSON, by the user's key (core/signature.h); NULL: none */
    char *results_dir;         /* where the attempts before left their results; NULL: none */
    bool only_collect;         /* bring the outputs of an earlier attempt, and do nothing else; its command */
    int command_exit;          /* ended with this code, and so does this attempt */
};

/* With `splits` the plan of the whole group, job_id is the group's; sw_plan_split() makes those that run. */
struct sw_plan *sw_plan_make(const struct sw_spec *spec, const char *job_id, const char *base_dir,
                             struct sw_error *err);
void sw_plan_free(struct sw_plan *plan);
SW_DEFINE_AUTO(sw_plan, struct sw_plan *, sw_plan_free)

/* plan_name.c: what it is called when nothing says so, from its command or its job file (NULL: none);
 * owned. */
char *sw_plan_name(const struct sw_plan *plan, const char *file);

/* plan_data.c: what is left of a job when only its data is tried from where it would run: one small node
 * without GPUs, for minutes at most; nothing of it is retried, guarded or told. */
void sw_plan_only_data(struct sw_plan *plan);

/* plan_split.c: one split of a group, its number in id, environment, label and texts; owned. */
struct sw_plan *sw_plan_split(const struct sw_plan *group, int split_id, struct sw_error *err);
/* SW_E_SPEC: its splits would write over each other's outputs. */
int sw_plan_check_splits(const struct sw_plan *plan, struct sw_error *err);

/* The user did not mention GPUs: their number is the default, 0. */
bool sw_plan_gpus_unsaid(const struct sw_plan *plan);

json_t *sw_plan_to_json(const struct sw_plan *plan);
struct sw_plan *sw_plan_from_json(const json_t *json, struct sw_error *err);
/* Leave in a plan as JSON what refresh, cancel and cleanup need; what only an attempt needs is dropped. */
void sw_plan_keep_watched(json_t *json);

/* The first key, as the job file calls it, in which two plans (as JSON) ask for different jobs; owned.
 * NULL: they mean the same. */
char *sw_plan_difference(const json_t *first, const json_t *second);

/* All of them: an array of {"key","first","second"}, null where one has none; owned. */
json_t *sw_plan_differences(const json_t *first, const json_t *second);

/* Are CPUs and memory of one machine (0: not known) enough for a node of it? SW_E_REFUSED names both
 * numbers; `machine` is "this machine", "the engine". */
int sw_plan_fits(const struct sw_plan *plan, const char *machine, double cpus, int64_t memory_bytes,
                 struct sw_error *err);

/* Names of the secret variables that fetching its inputs and bringing its outputs may need: those of the
 * storages that its URIs name, and no others. Owned. */
json_t *sw_plan_credentials(const struct sw_plan *plan);

/* The settings of this machine that its data needs, into plan->settings (storage/settings.h). No program is
 * run for it. -1: one is there and cannot be used, or cannot travel. */
int sw_plan_take_settings(struct sw_plan *plan, sw_env_fn *env, void *context, struct sw_error *err);
bool sw_plan_has_setting(const struct sw_plan *plan, const char *name);     /* one that travels */
/* For a job that no secret of this machine travels with: it may use the profiles of its place. */
void sw_plan_open_profiles(struct sw_plan *plan);
/* The file of certificates that its data needs, as it was named when the settings were taken; without such
 * settings the one that is named now. Borrowed; NULL: none. */
const char *sw_plan_ca(const struct sw_plan *plan);
/* Those of them that the runner gets as they are: name -> text. Owned; NULL: none. */
json_t *sw_plan_settings_sent(const struct sw_plan *plan);
/* The values of those that are secret, as they are now, added to `secrets`. -1: one that was there when the
 * settings were taken is gone. */
int sw_plan_send_settings(const struct sw_plan *plan, sw_env_fn *env, void *context,
                          struct sw_secrets *secrets, struct sw_error *err);

/* plan_source.c: where this value was written, to begin a message with: "job.yaml:3:7: ", "--mount: ".
 * "": not known. Owned. */
char *sw_plan_where(const struct sw_plan *plan, const char *path);
/* The same for an input of the job by its path there: from `inputs`, or from `mounts`. */
char *sw_plan_where_input(const struct sw_plan *plan, const char *path);

#endif
