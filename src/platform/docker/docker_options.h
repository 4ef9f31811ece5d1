/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_options.h - what users may say in the block `docker:`, as typed structs.
 */
#ifndef SW_PLATFORM_DOCKER_OPTIONS_H
#define SW_PLATFORM_DOCKER_OPTIONS_H

#include "core/option.h"
#include "net/ssh.h"

enum docker_tls { DOCKER_TLS_AUTO, DOCKER_TLS_NONE, DOCKER_TLS_CHECKED, DOCKER_TLS_ANY };

struct docker_connect_options {      /* texts and documents are borrowed */
    const char *host, *context;
    enum docker_tls tls;
    const char *certificates;        /* a folder */
    struct sw_ssh_options ssh;       /* of ssh:// engines; host and user come from the address */
    const json_t *gpu_devices;
};

enum docker_pull_policy { DOCKER_PULL_ALWAYS, DOCKER_PULL_MISSING, DOCKER_PULL_NEVER };
enum docker_results_at { DOCKER_RESULTS_AUTO, DOCKER_RESULTS_BIND, DOCKER_RESULTS_VOLUME };
enum docker_run_as { DOCKER_RUN_AUTO, DOCKER_RUN_AS_ME, DOCKER_RUN_AS_IMAGE };
enum docker_entrypoint { DOCKER_ENTRYPOINT_KEEP, DOCKER_ENTRYPOINT_DROP };

struct docker_job_options {          /* likewise; "" is NULL */
    enum docker_pull_policy pull;
    const char *network, *user, *runtime, *ipc, *log_driver;
    enum docker_results_at results;
    enum docker_run_as run_as;
    enum docker_entrypoint entrypoint;
    const json_t *mounts;            /* plan->mounts has them, with those of the job file */
    const json_t *gpu_ids, *ulimits, *host_config;
    bool share_gpus, read_only, auto_remove;
};

extern const struct sw_option docker_options[];
extern const char *const docker_pull_policies[], *const docker_run_as[], *const docker_results_ways[],
                  *const docker_entrypoints[];

/* What a job may say about its containers, for every platform that is built on this one. The rows fill
 * members of TYPE; INTO is what stands before their names there: nothing, or `docker.`. */
#define DOCKER_JOB_OPTIONS(TYPE, INTO) \
    { "pull", SW_CHOICE, SW_JOB, SW_FILLS(TYPE, INTO pull), .initial = "missing", \
      .env = "DOCKER_PULL_POLICY", .choices = docker_pull_policies, \
      .help = "when the image is fetched: always, missing, never" }, \
    { "network", SW_TEXT, SW_JOB, SW_FILLS(TYPE, INTO network), .initial = "tao_default", \
      .env = "DOCKER_NETWORK", .help = "network of the containers; created if missing" }, \
    { "mounts", SW_TEXTS, SW_JOB, SW_FILLS(TYPE, INTO mounts), .trust = SW_TRUST_PROFILE, \
      .help = "SOURCE:TARGET[:ro] as seen from the engine; a source without slash is a volume" }, \
    { "results", SW_CHOICE, SW_JOB, SW_FILLS(TYPE, INTO results), .initial = "auto", \
      .choices = docker_results_ways, \
      .help = "where results are: in a folder of this machine (bind), or a volume of the engine" }, \
    { "user", SW_TEXT, SW_JOB, SW_FILLS(TYPE, INTO user), \
      .help = "UID[:GID] or name that the container runs as" }, \
    { "run_as", SW_CHOICE, SW_JOB, SW_FILLS(TYPE, INTO run_as), .initial = "auto", .choices = docker_run_as, \
      .help = "without user: me, the image's user, or (auto) me when results are bound" }, \
    { "entrypoint", SW_CHOICE, SW_JOB, SW_FILLS(TYPE, INTO entrypoint), .initial = "keep", \
      .choices = docker_entrypoints, \
      .help = "the image's ENTRYPOINT starts the command (keep), or is left out (drop)" }, \
    { "gpu_ids", SW_TEXTS, SW_JOB, SW_FILLS(TYPE, INTO gpu_ids), \
      .help = "GPUs to choose from, by number or UUID; all: every one" }, \
    { "share_gpus", SW_FLAG, SW_JOB, SW_FILLS(TYPE, INTO share_gpus), .initial = "false", \
      .help = "use GPUs that other jobs use, instead of waiting for free ones" }, \
    { "runtime", SW_TEXT, SW_JOB, SW_FILLS(TYPE, INTO runtime), .trust = SW_TRUST_PROFILE, \
      .help = "OCI runtime of the engine, such as nvidia" }, \
    { "ipc", SW_TEXT, SW_JOB, SW_FILLS(TYPE, INTO ipc), \
      .help = "IPC mode: private, shareable, host, container:NAME" }, \
    { "ulimits", SW_TEXT_MAP, SW_JOB, SW_FILLS(TYPE, INTO ulimits), \
      .help = "limits NAME: N or SOFT:HARD (with GPUs memlock -1 and stack 64 MiB are usual)" }, \
    { "read_only", SW_FLAG, SW_JOB, SW_FILLS(TYPE, INTO read_only), .initial = "false", \
      .help = "the container's root is read-only; results and mounts stay writable" }, \
    { "auto_remove", SW_FLAG, SW_JOB, SW_FILLS(TYPE, INTO auto_remove), .initial = "false", \
      .env = "DOCKER_AUTO_REMOVE", \
      .help = "remove the containers when the job has finished and its files are stored here" }, \
    { "log_driver", SW_TEXT, SW_JOB, SW_FILLS(TYPE, INTO log_driver), .initial = "local", \
      .help = "log driver of the containers; engine: the engine's own default" }, \
    { "host_config", SW_FREE, SW_JOB, SW_FILLS(TYPE, INTO host_config), .trust = SW_TRUST_PROFILE, \
      .help = "more of the Engine API's HostConfig; cannot change what the job itself sets" }

/* GPUs of the engine; fills a member of TYPE. */
#define DOCKER_GPU_OPTION(TYPE, MEMBER) \
    { "gpu_devices", SW_TEXTS, SW_CONNECTION, SW_FILLS(TYPE, MEMBER), .env = "SLIPWAY_DOCKER_GPUS", \
      .help = "GPUs the engine has, where that cannot be detected" }

/* `options`: the block of a plan or of a profile; may be NULL. A damaged value counts as not given. */
struct docker_connect_options docker_connect_options(const json_t *options);
struct docker_job_options docker_job_options(const json_t *options);

#endif
