/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_submit.h - what the files of a submit share.
 */
#ifndef SW_PLATFORM_KUBERNETES_SUBMIT_H
#define SW_PLATFORM_KUBERNETES_SUBMIT_H

#include "platform/kubernetes/kubernetes_internal.h"

/* POST a Secret: `head` without data, and one value. SW_E_CONFLICT: there is one of that name. */
int k8s_create_secret(struct sw_connection *conn, const json_t *head, const char *key,
                      const struct sw_buf *value, struct sw_error *err);
/* The pull secret of this job's image, made where a login is known and none is named; "": none. */
int k8s_pull_secret(struct sw_connection *conn, const struct sw_plan *plan, char out[K8S_NAME_SIZE],
                    struct sw_error *err);
/* The runner for this architecture ("amd64"): the name of the shared object that holds it, sent where it is
 * missing. */
int k8s_runner(struct sw_connection *conn, const char *arch, enum k8s_runner_way way, char out[K8S_NAME_SIZE],
               struct sw_error *err);

const char *k8s_uname(const char *arch);     /* "x86_64" of "amd64" */

/* What submit and adopt give back of an object. `plan` may be NULL. */
void k8s_fill_submission(const json_t *object, const char *engine, const struct sw_plan *plan,
                         struct sw_submission *out);

#endif
