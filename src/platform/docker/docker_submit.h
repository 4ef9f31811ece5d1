/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_submit.h - one plan on its way to the engine; shared with the queue for GPUs.
 */
#ifndef SW_PLATFORM_DOCKER_SUBMIT_H
#define SW_PLATFORM_DOCKER_SUBMIT_H

#include "platform/docker/docker_job.h"

#define DOCKER_WAIT "-wait"          /* behind the name of a container that waits for GPUs */

struct docker_sending {
    struct sw_link *link;
    struct docker_api *api;
    const struct sw_plan *plan;
    const struct sw_secrets *secrets;
    struct docker_site site;
    struct docker_base base;         /* of the image */
    char owner[128];
    char *image;                     /* as the engine names it */
    char *results;                   /* folder that is bound; NULL: a volume */
    char *user;                      /* to run as; NULL: the image's */
    struct sw_buf tar;               /* what goes in; holds secrets, wiped */
    json_t *devices;                 /* array of ids per rank; NULL: none */
    bool waits;                      /* it is made, and started by the queue */
    char *ids[DOCKER_NODES_MAX];
    bool begun[DOCKER_NODES_MAX];    /* an earlier submit started it */
    int made;
};

int docker_sending_begin(struct docker_sending *sending, struct sw_error *err);
void docker_sending_done(struct docker_sending *sending);
static inline void docker_sending_auto(struct docker_sending *s) { docker_sending_done(s); }

/* Make a container; if the name is taken by this very rank, that one. */
int docker_create(struct docker_sending *sending, const char *name, const json_t *body, int rank,
                  char **id, bool *begun, struct sw_error *err);
int docker_fill_and_start(struct docker_sending *sending, struct sw_error *err);
int docker_start(struct docker_sending *sending, const char *id, struct sw_error *err);

void docker_receipt(struct sw_receipt *receipt, const char *host, const char *container,
                    const char *results);

#endif
