/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube.h - a connection to a Kubernetes API server: which cluster, who asks, and in which namespace.
 *
 *     struct kube_options options = { .context = connect.context, .env = config->env, ... };
 *     sw_auto(kube) struct kube *kube = kube_open(&options, err);
 *     ...
 *     sw_autofree char *path = kube_path("batch/v1", kube_address(kube)->namespace, "jobs", NULL);
 *
 *     if (sw_rest_call(kube_rest(kube), &(struct sw_rest_call){ .path = path }, &jobs, err) < 0)
 *         return -1;
 *
 * Cluster, user and namespace are found as kubectl finds them, so that a user of `kubectl get pods` gets the
 * same ones here:
 *
 *     kubeconfig   option kubeconfig > $KUBECONFIG > ~/.kube/config > the service account of this pod
 *     context      option context > $TAO_K8S_CONTEXT > current-context
 *     namespace    option namespace > $TAO_K8S_NAMESPACE > the context's (the pod's) > "default"
 *
 * Several files (a list with ':') are one: of each name and of current-context the first counts, files
 * that are missing are skipped, and a relative path in a file begins at that file's folder.
 *
 * A user proves itself with a client certificate, a token, a token file, a password, or a program that
 * the kubeconfig names (exec plugin). Tokens, keys and passwords are struct sw_secret and wiped; keys
 * that came as data never become files. What rotates (token files, the pod's token, certificate files,
 * what a plugin printed) is read again in time and after a 401, also while other threads call.
 *
 * A kubeconfig names a program to run and a host to connect to. Options that name one are therefore
 * options of the connection (.scope = SW_CONNECTION in the table of the platform, which also means that
 * a folder's env.toml may set them only after `slipway trust`), and so are KUBECONFIG and
 * TAO_K8S_CONTEXT of a .env file.
 */
#ifndef SW_PLATFORM_KUBE_KUBE_H
#define SW_PLATFORM_KUBE_KUBE_H

#include "base/environment.h"
#include "platform/kit/rest.h"

/* As option kubeconfig: the service account of the pod that this process runs in, and no file. */
#define KUBE_IN_CLUSTER "in-cluster"

/* All borrowed: `env`, `warn`, `fields` and their contexts as long as the connection lives, the rest for the
 * call. What is NULL is not given. */
struct kube_options {
    const char *kubeconfig;          /* file, or files with ':' between them; KUBE_IN_CLUSTER */
    const char *context;
    const char *namespace;
    sw_env_fn *env;                  /* required: KUBECONFIG, HOME, TAO_K8S_..., KUBERNETES_SERVICE_... */
    void *env_context;
    sw_env_warn_fn *warn;            /* hears about connections that are not checked */
    void *warn_context;
    const char *name;                /* who answers, in messages; NULL: "Kubernetes" */
    const struct sw_rest_field *fields;        /* as in struct sw_rest_options */
    int64_t patience_ms;             /* the same */
    /* Explains the answers of a service that is reached through the API server; the API server's own are
     * explained here. As in struct sw_rest_options; may be NULL. */
    void (*behind)(void *context, const struct sw_http_reply *reply, const char *words, struct sw_error *err);
    void *behind_context;
    const char *account_dir;         /* where a pod has its service account; NULL: the usual folder */
};

/* The names that kube_open() asks `env` for, to be put into `variables` of a platform. */
#define KUBE_VARIABLES "KUBECONFIG", "HOME", "TAO_K8S_CONTEXT", "TAO_K8S_NAMESPACE",                     \
                       "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"

struct kube;

/* Reads the files and asks no server. NULL + err: SW_E_NOT_FOUND (no kubeconfig, no such context),
 * SW_E_SPEC with the place in the file, SW_E_CREDENTIAL, SW_E_IO. */
struct kube *kube_open(const struct kube_options *options, struct sw_error *err);
void kube_close(struct kube *kube);
SW_DEFINE_AUTO(kube, struct kube *, kube_close)

/* The client: base URL, credentials and TLS are in it, and errors are explained. Several threads may call. It
 * stays the same as long as the connection lives, whatever rotates. Borrowed. */
struct sw_rest *kube_rest(struct kube *kube);

/* Where the connection leads; all borrowed from it. */
struct kube_address {
    const char *server;              /* "https://10.0.0.1:6443", with its path if it has one */
    const char *namespace;
    const char *context;             /* NULL: in a pod */
    const char *cluster, *user;      /* names in the kubeconfig; NULL: in a pod */
    const char *kubeconfig;          /* absolute paths with ':' between them, or KUBE_IN_CLUSTER */
};
const struct kube_address *kube_address(const struct kube *kube);

/* For `place` of a platform: {"kubeconfig", "context", "namespace"}, which lead kube_open() here
 * again whatever the environment says then. New reference. */
json_t *kube_place_options(const struct kube *kube);
/* "https://10.0.0.1:6443 namespace train", owned. */
char *kube_place_address(const struct kube *kube);

/* For `identify` of a platform: appends an id of the cluster that stays the same. Its kind is part
 * of it, so that one kind is never taken for another:      uid:UUID       the UID of the namespace
 * kube-system     root:SHA256    where reading that is forbidden: of the cluster's authority, from
 * the ConfigMap                    kube-root-ca.crt in our namespace     ca:SHA256      where that
 * is forbidden, too: of the authority in the kubeconfig  Nothing is appended where there is none of
 * them. -1 + err: the server did not say. */
int kube_identity(struct kube *kube, struct sw_buf *identity, struct sw_error *err);

/* The server's version, asked once. */
int kube_version(struct kube *kube, int *major, int *minor, struct sw_error *err);

/* ---- texts, pure --------------------------------------------------------------------------------- */

/* The path of a resource, owned, everything encoded: kube_path("v1", "train", "pods", "x") is
 * "/api/v1/namespaces/train/pods/x", kube_path("batch/v1", ...) is "/apis/batch/v1/...". `namespace`
 * NULL: the resource has none; `name` NULL: all of them. For a subresource append "/log". */
char *kube_path(const char *group_version, const char *namespace, const char *resource, const char *name);

/* The reason of a Status ("AlreadyExists", "Expired"), borrowed from it; NULL: it is none. */
const char *kube_status_reason(const json_t *status);

/* A user's labels, those that can be labels there or those that cannot (as annotations), added to `out`. */
void kube_add_labels(const json_t *labels, bool as_labels, json_t *out);
/* The value of a variable so that it stays as it is: kubelets replace $(NAME) in it. */
json_t *kube_value(const char *value);

#endif
