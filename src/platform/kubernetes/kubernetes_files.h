/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_files.h - what logs, exec and results share: the pod of a replica, and short pods of our own.
 */
#ifndef SW_PLATFORM_KUBERNETES_FILES_H
#define SW_PLATFORM_KUBERNETES_FILES_H

#include "platform/kubernetes/kubernetes_internal.h"

struct k8s_pod {                     /* of one replica */
    char name[256], container[64];
    enum sw_log_life life;
    int restarts;                    /* of its container, in place */
};

/* kubernetes_log.c: the pod of a rank, in this attempt. `surely`: asked for now, else the watch's cache may answer.
 * A pod that is still to come has no name and SW_LOG_NOT_BEGUN; SW_E_NOT_FOUND: it was there, and is gone. */
int k8s_pod_find(struct sw_connection *conn, const struct sw_jobref *job, int rank, bool surely,
                 struct k8s_pod *out, struct sw_error *err);
enum sw_log_life k8s_log_life(const json_t *pod, const char *container);         /* pure */

/* What a refusal to give a log means. Pure. */
enum k8s_log_said { K8S_LOG_FAILED, K8S_LOG_NOT_BEGUN, K8S_LOG_GONE };
enum k8s_log_said k8s_log_said(const char *words);

#endif
