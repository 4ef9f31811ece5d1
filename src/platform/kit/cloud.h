/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cloud.h - what a connection to a service has, whatever the service: a client, a folder on this machine with
 * notes about jobs, spools for logs, remembered answers.
 *
 *     struct lepton_connection {
 *         struct sw_cloud cloud;           first
 *         char *workspace;
 *     };
 *
 * The functions below take the connection that begins with it.
 */
#ifndef SW_PLATFORM_KIT_CLOUD_H
#define SW_PLATFORM_KIT_CLOUD_H

#include "platform/kit/answers.h"
#include "platform/kit/facts.h"
#include "platform/kit/log.h"
#include "platform/kit/rest.h"
#include "platform/platform.h"

struct sw_cloud {
    struct sw_connect_options given;         /* without the options */
    char *root;                              /* STATE/NAME */
    struct sw_log_spools *spools;
    struct sw_rest *rest;                    /* the platform opens it; closed here */
    struct sw_facts *facts;                  /* the same; NULL: none */
};

static inline struct sw_cloud *sw_cloud_of(const struct sw_connection *conn)
{
    return (struct sw_cloud *)conn;
}

/* A variable of the environment that open() is given; NULL: not set, or empty. */
const char *sw_cloud_variable(const struct sw_connect_options *config, const char *name);
/* Folder and spools of the platform of this name. */
void sw_cloud_init(struct sw_cloud *cloud, const char *name, const struct sw_connect_options *config);
void sw_cloud_done(struct sw_cloud *cloud);
struct sw_log_spools *sw_cloud_log_spools(struct sw_connection *conn);       /* the slot */
void sw_cloud_warn(struct sw_connection *conn, const char *fmt, ...) SW_PRINTF(2, 3);

/* ---- calls ---- */

/* METHOD PATH (NULL: GET) that may be repeated. `json` may be NULL. */
int sw_cloud_call(struct sw_connection *conn, const char *method, const char *path, const json_t *body,
                  json_t **json, struct sw_error *err);
/* DELETE; what is not there is success. */
int sw_cloud_delete(struct sw_connection *conn, const char *path, struct sw_error *err);
/* POST a JSON text with secrets in it, which is wiped. `json` may be NULL. */
int sw_cloud_post_secret(struct sw_connection *conn, const char *path, struct sw_buf *body, bool repeatable,
                         json_t **json, struct sw_error *err);
/* All pages of a list as one array, owned; NULL + err. */
json_t *sw_cloud_list(struct sw_connection *conn, const struct sw_rest_call *call,
                      const struct sw_rest_pages *pages, struct sw_error *err);

/* A remembered GET of the facts (sw_fact). */
json_t *sw_cloud_fact(struct sw_connection *conn, const char *path, bool fresh, struct sw_error *err);

/* ---- notes about one attempt: ROOT/JOB/attempt-N/NAME ---- */

/* Owned. */
char *sw_cloud_note_path(struct sw_connection *conn, const char *id, int attempt, const char *name);
/* Its text, owned; NULL: there is none. */
char *sw_cloud_note(struct sw_connection *conn, const char *id, int attempt, const char *name);
int sw_cloud_note_write(struct sw_connection *conn, const char *id, int attempt, const char *name,
                        const char *text, struct sw_error *err);
/* All notes and logs of a job. */
int sw_cloud_forget(struct sw_connection *conn, const char *id, struct sw_error *err);

#endif
