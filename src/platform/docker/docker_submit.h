/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_submit.h - one plan on its way to the engine; shared with the queue for GPUs.
 */
#ifndef SW_PLATFORM_DOCKER_SUBMIT_H
#define SW_PLATFORM_DOCKER_SUBMIT_H

#include "platform/docker/docker_job.h"

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
int docker_fill_volume(struct docker_sending *sending, const char *name, json_t *mount, const void *tar,
                       size_t length, struct sw_error *err);
/* docker_runner.c: decide whether the engine keeps the runner in a volume, and whether variables are enough
 * for the rest; put that into a body of a create call; see that the volume of the container that was made
 * is filled. */
void docker_runner_choose(struct docker_sending *sending);
void docker_runner_render(const struct docker_sending *sending, json_t *body);
int docker_runner_ensure(struct docker_sending *sending, struct sw_error *err);
/* The engine refused: what was made is removed, and the next try sends all by archive. False: that was the
 * way already, or something may be left. */
bool docker_runner_do_without(struct docker_sending *sending);

/* docker_upload.c: payload, plan and certificates, made before any container is. */
int docker_pack_begin(struct docker_sending *sending, struct sw_error *err);
/* Fill `tar`, for the folder of the container that takes it; it stays empty where none is needed. */
int docker_pack(struct docker_sending *sending, struct sw_error *err);
const char *docker_archive_folder(const struct docker_sending *sending);
int docker_make_and_start(struct docker_sending *sending, struct sw_error *err);
/* -1: something may be left, or was begun by an earlier submit. */
int docker_forget_made(struct docker_sending *sending);
/* Start a container; its network is made when it is missing. */
int docker_start(struct docker_api *api, const char *id, const char *network, struct sw_error *err);

/* docker_queue.c: the same for a job that needs GPUs to itself: it gets them, or waits. */
int docker_queue_submit(struct docker_sending *sending, struct sw_error *err);
/* Is the lock on the GPUs still there? */
int docker_queue_holds(struct docker_api *api, const char *lock, struct sw_error *err);
/* Start what waits and fits. `list`: all containers of ours, as they were a moment ago. */
int docker_queue_advance(struct docker_api *api, const json_t *list, struct sw_error *err);
/* What a waiting job waits for: "waiting for 2 GPUs: 1 of 4 free, 3 jobs ahead". */
void docker_queue_explain(const json_t *list, const char *id, char *out, size_t size);

/* `ends`: the folder of this machine that gets the last reports; NULL: a volume. */
void docker_receipt(struct sw_submission *receipt, const char *host, const char *container,
                    const char *results, const char *ends);

#endif
