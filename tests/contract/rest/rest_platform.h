/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_platform.h - the small REST platform of the contract suite: jobs of tests/contract/rest/server.
 *
 *     rest_platform.c   descriptor, connection, what is done with jobs
 *     rest_render.c     plan to request body, answer to observation      (pure)
 *     rest_stream.c     logs and exec
 */
#ifndef SW_TESTS_CONTRACT_REST_PLATFORM_H
#define SW_TESTS_CONTRACT_REST_PLATFORM_H

#include "platform/kit/log.h"
#include "platform/kit/rest.h"
#include "platform/platform.h"

extern const struct sw_platform sw_platform_rest;

#define REST_HOME "/slipway"             /* the runner's folder in a job */
enum { REST_RANKS_MAX = 64 };

struct sw_connection {
    char *url, *root;                    /* where the service is; our own folder on this machine */
    struct sw_secret *key;               /* what tokens are given for; NULL: not set */
    struct sw_rest *rest, *login;
    struct sw_log_spools *spools;
};

struct rest_name { char text[SW_ID_SIZE + 16]; };
struct rest_name rest_name(const char *id, int attempt);         /* of an attempt, there */

json_t *rest_render_body(const struct sw_plan *plan, int attempt, struct sw_error *err);
/* Adds runner, payload and code to the body's environment. */
int rest_render_files(json_t *body, const struct sw_plan *plan, const char *arch, struct sw_error *err);
void rest_observation(const json_t *job, struct sw_observation *seen);
json_t *rest_replicas(const json_t *job);

int rest_log_fetch(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                   struct sw_log_cursor *cursor, const struct sw_log_sink *sink, struct sw_error *err);
struct sw_log_spools *rest_log_spools(struct sw_connection *conn);
int rest_exec_open(struct sw_connection *conn, const struct sw_jobref *job, const struct sw_exec *what,
                   struct sw_stream **out, struct sw_error *err);

/* One call about one attempt: METHOD /v1/jobs/NAME`rest`. `json` may be NULL. */
int rest_ask(struct sw_connection *conn, const char *method, const struct sw_jobref *job, const char *rest,
             const json_t *body, json_t **json, struct sw_error *err);

#endif
