/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_preflight.h - what the files of the preflight share.
 */
#ifndef SW_PLATFORM_KUBERNETES_PREFLIGHT_H
#define SW_PLATFORM_KUBERNETES_PREFLIGHT_H

#include "platform/kubernetes/kubernetes_internal.h"

struct k8s_checks {                  /* all borrowed */
    struct sw_connection *conn;
    const struct sw_plan *plan;      /* NULL: none */
    struct k8s_job_options options;
    const struct k8s_engine *engine; /* NULL: none fits */
    json_t *rows;                    /* what was found */
    int minor;                       /* of the server's version */
    bool has_volumes;
};

enum k8s_finding { K8S_FINE, K8S_WRONG, K8S_NOT_SET_UP };
void k8s_finding(json_t *rows, const char *check, enum k8s_finding what, const char *message,
                 const char *fix);

void k8s_check_permissions(const struct k8s_checks *checks);

#endif
