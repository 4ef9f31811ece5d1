/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_files.h - what logs, exec and results share: the pod of a replica, and short pods of our own.
 */
#ifndef SW_PLATFORM_KUBERNETES_FILES_H
#define SW_PLATFORM_KUBERNETES_FILES_H

#include "core/archive.h"
#include "platform/kubernetes/kubernetes_internal.h"

#define K8S_RUNNER K8S_BIN "/slipway-runner"
#define K8S_HELPER_IMAGE "registry.k8s.io/pause:3.10"      /* what nodes have anyway; any image will do */

struct k8s_pod {                     /* of one replica */
    char name[256], container[64], node[256];
    enum sw_log_life life;
    int restarts;                    /* of its container, in place */
};

/* kubernetes_log.c: the pod of a rank, in this attempt. `surely`: asked for now, else the watch's cache may
 * answer. A pod that is still to come has no name and SW_LOG_NOT_BEGUN; SW_E_NOT_FOUND: it was there, and is
 * gone. */
int k8s_pod_find(struct sw_connection *conn, const struct sw_jobref *job, int rank, bool surely,
                 struct k8s_pod *out, struct sw_error *err);
enum sw_log_life k8s_log_life(const json_t *pod, const char *container);         /* pure */

/* ---- kubernetes_helper.c: a short pod of our own that shows one volume ------------------------------- */

#define K8S_LOOK "/look"             /* where the volume is in it */

struct k8s_helper_spec {             /* all borrowed */
    const struct k8s_volume *volume;
    const char *image;               /* NULL: the connection's, or K8S_HELPER_IMAGE */
    const char *pull_secret;         /* NULL: none */
    const char *node;                /* where it must be; NULL: anywhere */
    const char *arch;                /* "amd64" */
    int life_s;                      /* after this it ends by itself */
};
struct k8s_helper {
    struct sw_connection *conn;      /* NULL: there is none */
    char name[K8S_NAME_SIZE];
};

/* The pod's manifest, owned. `restricted`: as such a namespace demands it, and not as root. Pure. */
json_t *k8s_helper_render(const struct k8s_helper_spec *spec, const char *name, const char *runner,
                          bool restricted);
/* Makes it and waits until it runs. SW_E_NOT_FOUND: the node says that there is no such folder. */
int k8s_helper_open(struct sw_connection *conn, const struct k8s_helper_spec *spec, struct k8s_helper *out,
                    struct sw_error *err);
void k8s_helper_close(struct k8s_helper *helper);        /* it is deleted at once */
static inline void k8s_helper_auto(struct k8s_helper *helper) { k8s_helper_close(helper); }
/* What events say of a folder that is not there. Pure. */
bool k8s_no_such_folder(const json_t *events);

/* kubernetes_files.c: the volume becomes the folder above; the owned name in it. NULL: it has none. Pure. */
char *k8s_volume_above(struct k8s_volume *volume);

/* Run the runner with these words in a pod; `out` becomes its output. -1: it could not, or did not. */
int k8s_run(struct sw_connection *conn, const char *pod, const char *container, const char *const words[2],
            struct sw_archive_stream **out, struct sw_error *err);
/* After the output was read: 0, or how it failed. Frees it. */
int k8s_run_end(struct sw_archive_stream *output, struct sw_error *err);

#endif
