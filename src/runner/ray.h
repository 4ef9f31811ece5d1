/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray.h - `launcher: ray`: the ranks of a job as one Ray cluster, which lives and ends with the job.
 *
 *     ray_plan.c      ports, folder, words of `ray start`, messages                        (pure)
 *     ray_ports.c     a block of ports that is free on this machine, and stays ours
 *     ray_link.c      the connection between rank 0 and the others
 *     ray_process.c   Ray's processes: started, watched, ended to the last one
 *     ray_ask.c       what the dashboard says: nodes, GPUs, jobs
 *     ray_logs.c      Ray's own logs, kept when the job failed
 *     ray_keeper.c    the process beside the command that does all of this
 *     ray_head.c      what it does on rank 0; ray_worker.c: on the others
 *     ray_run.c       the keeper and the command, as the runner sees them
 *
 * docs/decisions/0072-launcher-ray-in-the-runner.md says why it is the runner's work.
 */
#ifndef SW_RUNNER_RAY_H
#define SW_RUNNER_RAY_H

#include "base/digest.h"
#include "base/proc.h"
#include "runner/runner.h"

/* ---- ray_plan.c --------------------------------------------------------------------------------- */

/* Each node has a block of ports, below those that kernels give out by themselves and without 29500
 * (MASTER_PORT). These are the places in it. */
enum ray_port {
    RAY_LINK,                     /* ours: rank 0 listens for the other ranks */
    RAY_GCS,
    RAY_NODE_MANAGER,
    RAY_OBJECT_MANAGER,
    RAY_CLIENT,
    RAY_DASHBOARD,
    RAY_AGENT_HTTP,
    RAY_AGENT_GRPC,
    RAY_RUNTIME_ENV,
    RAY_METRICS,
    RAY_AUTOSCALER_METRICS,
    RAY_DASHBOARD_METRICS,
    RAY_WORKERS = 20,             /* the first of the ports of Ray's workers */
    RAY_BLOCK = 500,              /* ports in a block */
    RAY_FIRST = 10000,
    RAY_BLOCKS = 38,
};

/* What all ranks of one attempt have in common and no one else can compute, as hex. */
void ray_key(const char *token, const char *job_id, const char *attempt, char out[SW_DIGEST_HEX]);
/* The first port of the nth block that a job with this key tries; all ranks try them in this order. */
int ray_block(const char *key, int nth);
/* Our private folder, with the token, and Ray's own in it: short, since the names of its sockets have 107
 * characters at most. Owned. */
#define RAY_TEMP "/r"
char *ray_folder(const char *key, int rank, const char *tmpdir);
/* The address of a rank where all ranks are on one machine: in 127.0.0.0/8, which no other machine reaches.
 * 127.0.0.1 itself Ray would replace by the machine's outer address. */
void ray_loopback(int rank, char out[16]);

struct ray_node {
    int rank;
    char ip[16];
    int block;
    char head[32];                /* IP:PORT of the head; of rank 0 its own */
    const char *folder;
    int gpus;                     /* 0: none, even where there are some; else Ray counts them */
    int cpus;                     /* 0: Ray counts them */
};

/* `ray start ...`: owned vector of owned words, ended by NULL. */
char **ray_start_words(const struct ray_node *node, const char *program);
void ray_words_free(char **words);
SW_DEFINE_AUTO(ray_words, char **, ray_words_free)

/* Proof that the sender of a message knows the token: as hex. */
void ray_proof(const char *token, const char *word, const char *nonce, int rank, char out[SW_DIGEST_HEX]);

/* ---- ray_ports.c -------------------------------------------------------------------------------- */

struct ray_ports {
    int block;                    /* its first port */
    int lock;                     /* descriptor; while it is open, the block is ours */
};
#define RAY_PORTS_INIT { 0, -1 }
int ray_ports_take(const char *key, struct ray_ports *ports, struct sw_error *err);
/* This machine's own address towards another one. */
int ray_own_ip(const char *towards, char out[16], struct sw_error *err);
int ray_resolve(const char *host, char out[16], struct sw_error *err);
bool ray_is_loopback(const char *ip);

/* ---- ray_link.c --------------------------------------------------------------------------------- */

enum { RAY_LINE = 512 };

/* One end of a connection; lines of text both ways. */
struct ray_link {
    int fd;                       /* -1: there is none */
    int rank;                     /* of the other end; -1: it has not proven itself */
    int64_t prove_by_ms;          /* when it must have, on the head */
    bool up;                      /* its Ray runs */
    char host[SW_HOST_SIZE];
    char nonce[33];
    char line[RAY_LINE];
    size_t length;
};

int ray_link_listen(const char *ip, int port, struct sw_error *err);
void ray_link_accept(struct ray_link *link, int listener);
/* To the head of this job: tries its ports until one proves itself, or the time is up. */
struct ray_keeper;
int ray_link_connect(struct ray_link *link, const char *host, struct ray_keeper *keeper, int64_t deadline_ms,
                     struct sw_error *err);
void ray_link_say(struct ray_link *link, const char *fmt, ...) SW_PRINTF(2, 3);
/* What came: 1: `line` has one; 0: nothing yet; -1: the other end is gone. Waits for nothing. */
int ray_link_read(struct ray_link *link, char line[RAY_LINE]);
void ray_link_close(struct ray_link *link);

/* ---- ray_process.c ------------------------------------------------------------------------------ */

struct ray_process {
    pid_t pid;                    /* of `ray start`; 0: it does not run */
    int output;                   /* what it prints; -1: it is over */
    bool started;                 /* its node has joined the cluster */
    int status;                   /* how it ended */
    char last[RAY_LINE];          /* its last words */
    char line[RAY_LINE];
    size_t length;
    int log;                      /* where its output is kept */
    struct sw_proc core[4];       /* those without which it is no node: raylet, gcs_server */
    size_t core_count;
};

int ray_process_start(struct ray_process *ray, const struct runner *runner, const struct ray_node *node,
                      struct sw_error *err);
void ray_process_read(struct ray_process *ray);
/* Is its node gone? */
bool ray_process_over(struct ray_process *ray);
/* TERM, a moment, KILL, until no process below us is left. */
void ray_process_end(struct ray_process *ray);

/* ---- ray_ask.c ---------------------------------------------------------------------------------- */

struct ray_seen {                 /* what the dashboard answered */
    int nodes, gpus;
    char without_gpus[16];        /* a node that has too few; "": none */
    int found_gpus;               /* that it has */
};

struct sw_http;
/* The answer to GET /api/v0/nodes. Pure. -1: it is none. */
int ray_read_nodes(const json_t *answer, int gpus_each, struct ray_seen *out);
/* Of GET /api/jobs/ and /api/cluster_status: does anything run? Pure. */
bool ray_read_busy(const json_t *jobs, const json_t *cluster);
/* NULL: no answer, and why. Owned. */
json_t *ray_dashboard_get(struct sw_http *http, int port, const char *path, const char *token, int *status);

/* ---- ray_logs.c --------------------------------------------------------------------------------- */

/* `also`: a second folder with logs of Ray; NULL: there is none. */
void ray_logs_keep(struct runner *runner, const char *folder, const char *also);

/* ---- ray_keeper.c, ray_head.c, ray_worker.c ------------------------------------------------------- */

enum ray_state { RAY_STARTING, RAY_READY, RAY_FAILED };

struct ray_shared {               /* in memory that the runner and its keeper share */
    volatile int state;
    char address[32];             /* of the head: IP:PORT */
    int dashboard;                /* its port, on loopback */
    char folder[64];
    const char *phase;            /* that failed, as a report calls it */
    int exit_code;
    struct sw_error err;
};

struct ray_keeper {
    struct runner *runner;
    struct ray_shared *shared;
    const char *token;
    char key[SW_DIGEST_HEX];
    struct ray_ports ports;
    struct ray_node node;
    struct ray_process ray;
    int tries;                    /* to start it */
    char *folder;
    char *heads_folder;           /* the head's path on this machine, where an older Ray is; NULL: not ours */
    int nodes;                    /* of the job */
    int signals, orders, news;    /* descriptors: signals; from the runner; to it */
    bool told_to_end;             /* the command is over */
    bool command_failed;
    int64_t stop_by_ms;           /* a stop came: all must be over then; 0: none */
    int64_t end_by_ms;            /* it failed: the command has until then; 0: it did not */
};

/* Fails the cluster once; the first reason counts. Returns -1. */
int ray_fail(struct ray_keeper *keeper, const char *phase, const struct sw_error *why);
/* Takes signals and orders that have come, at most after wait_ms, or when one of `more` is ready. */
void ray_keeper_turn(struct ray_keeper *keeper, const struct ray_link *more, size_t count, int listener,
                     int64_t wait_ms);
/* Must the cluster end now? */
bool ray_keeper_ends(const struct ray_keeper *keeper);
/* Does Ray run on this rank? One that could not start is started again, some times. -1: it ended, and how. */
int ray_keeper_check(struct ray_keeper *keeper, struct sw_error *why);
int ray_head(struct ray_keeper *keeper);
int ray_worker(struct ray_keeper *keeper);
/* In the keeper's own process: does not return. */
void ray_keep(struct runner *runner, struct ray_shared *shared, int orders, int news);

/* ---- ray_run.c ----------------------------------------------------------------------------------- */

struct runner_ray {
    pid_t keeper;
    int orders, news;             /* to the keeper, from it */
    struct ray_shared *shared;
};

/* In a process of the job: how it finds the cluster, and the file of the token in this folder. The
 * dashboard's port: 0: it is on another node. */
void runner_ray_environment(const char *folder, const char *address, int dashboard);
/* The same in the process that becomes the command. */
void runner_ray_of_command(const struct runner_ray *ray);
bool runner_ray_failed(const struct runner_ray *ray);
/* The whole run of a rank: as runner_run(). */
int runner_ray_run(struct runner *runner, struct runner_result *result, struct sw_error *err);

#endif
