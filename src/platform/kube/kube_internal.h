/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_internal.h - what the files of the Kubernetes client share: a kubeconfig, read, and what was
 * chosen of it.
 */
#ifndef SW_PLATFORM_KUBE_KUBE_INTERNAL_H
#define SW_PLATFORM_KUBE_KUBE_INTERNAL_H

#include <sys/stat.h>

#include "base/document.h"
#include "platform/kube/kube.h"

#define KUBE_FILE_MAX   (1024 * 1024)        /* a certificate, a bundle, a token */
#define KUBE_ANSWER_MAX (256 * 1024)         /* of an exec plugin */

/* ---- what was chosen ----------------------------------------------------------------------------- */

struct kube_cluster {
    char *name;                      /* NULL: of a pod */
    char *server;
    char *tls_name, *proxy;
    char *authority;                 /* PEM; NULL: the usual ones */
    char *authority_origin;          /* where that is written, for messages */
    bool insecure;
    json_t *exec_config;             /* what the cluster has for an exec plugin; NULL: nothing */
};

struct kube_exec {                   /* the program that says who the user is */
    char *command;
    char *api_version;               /* "client.authentication.k8s.io/v1" */
    json_t *args, *env;              /* ["get-token"], [{"name", "value"}]; checked */
    char *install_hint;
    bool provide_cluster_info;
};

struct kube_user {
    char *name;                      /* NULL: nothing proves who asks, or a pod */
    struct sw_secret *token;
    char *token_file;                /* comes before `token` */
    char *username;
    struct sw_secret *password;
    struct sw_secret *certificate, *key;       /* PEM, both or none */
    char *certificate_file, *key_file;         /* where a part is a file; NULL: it came as data */
    struct kube_exec *exec;
    char **as;                       /* impersonation: name, value, name, value, ... NULL */
};

struct kube_config {
    struct kube_cluster cluster;
    struct kube_user user;
    char *context, *namespace;
    char *kubeconfig;                /* absolute paths with ':', or KUBE_IN_CLUSTER */
};
void kube_config_done(struct kube_config *config);
static inline void kube_config_auto(struct kube_config *config) { kube_config_done(config); }

/* ---- kube_config.c: which files, which context --------------------------------------------------- */

struct kube_document {
    struct sw_document *document;
    char *folder;                    /* where relative paths begin */
};

struct kube_documents {              /* in the order of the list: the first that names a thing counts */
    struct kube_document *items;
    size_t count;
};
void kube_documents_done(struct kube_documents *documents);    /* wipes all texts */
static inline void kube_documents_auto(struct kube_documents *d) { kube_documents_done(d); }
/* One more file, whose text this is. */
int kube_documents_add(struct kube_documents *documents, const char *text, size_t length, const char *path,
                       struct sw_error *err);

/* Cluster, user and namespace of a context (NULL: the current one). Reads the files that they name. */
int kube_config_choose(const struct kube_documents *documents, const char *context, struct kube_config *out,
                       struct sw_error *err);
/* All of it, as kube.h says. */
int kube_config_find(const struct kube_options *options, struct kube_config *out, struct sw_error *err);
/* The value of a variable; NULL: not set, or empty. */
const char *kube_env(const struct kube_options *options, const char *name);

/* ---- kube_entry.c: one named thing of a kubeconfig, read key by key ------------------------------ */

struct kube_entry {
    const struct kube_document *in;
    const json_t *value;             /* {"server": ...}; NULL: there is no such entry */
    char path[64];                   /* "clusters[0].cluster" */
    struct sw_error *err;
    bool failed;                     /* a key was refused: err says which and where */
};
/* `list` "clusters", `kind` "cluster". */
struct kube_entry kube_entry_find(const struct kube_documents *documents, const char *list, const char *kind,
                                  const char *name, struct sw_error *err);
/* Refuses a key, or the entry itself ("": key): "FILE:LINE:COLUMN: `KEY` WHY". Returns -1. */
int kube_entry_refuse(struct kube_entry *entry, const char *key, const char *why);
/* Owned; NULL: not there, empty, or refused. */
char *kube_entry_text(struct kube_entry *entry, const char *key);
char *kube_entry_path(struct kube_entry *entry, const char *key);              /* made absolute */
struct sw_secret *kube_entry_secret(struct kube_entry *entry, const char *key);
struct sw_secret *kube_entry_data(struct kube_entry *entry, const char *key);  /* a text in base64 */
bool kube_entry_flag(struct kube_entry *entry, const char *key);

int kube_cluster_read(struct kube_entry *entry, struct kube_cluster *out);     /* kube_cluster.c */
int kube_user_read(struct kube_entry *entry, struct kube_user *out);           /* kube_user.c */
struct kube_exec *kube_exec_read(struct kube_entry *entry);                    /* kube_plugin_read.c */
void kube_exec_free(struct kube_exec *exec);

/* ---- kube_account.c: a pod's service account ----------------------------------------------------- */

bool kube_account_is_there(const struct kube_options *options);
int kube_account_read(const struct kube_options *options, struct kube_config *out, struct sw_error *err);

/* ---- kube_plugin.c and kube_plugin_answer.c ------------------------------------------------------ */

struct kube_exec_credential {
    struct sw_secret *token;         /* NULL: none */
    struct sw_secret *certificate, *key;       /* both or none */
    int64_t expires_ms;              /* wall clock; 0: until it is refused */
};
void kube_exec_credential_done(struct kube_exec_credential *credential);
static inline void kube_exec_credential_auto(struct kube_exec_credential *c) { kube_exec_credential_done(c); }
/* What the program printed. */
int kube_exec_answer(const char *text, size_t length, const char *api_version,
                     struct kube_exec_credential *out, struct sw_error *err);
/* What it finds in KUBERNETES_EXEC_INFO; owned. */
char *kube_exec_info(const struct kube_exec *exec, const struct kube_cluster *cluster);
/* Run it, for at most that long. */
int kube_exec_run(const struct kube_exec *exec, const struct kube_cluster *cluster, int64_t patience_ms,
                  struct kube_exec_credential *out, struct sw_error *err);

/* ---- kube_credential.c: who makes the next call -------------------------------------------------- */

struct kube_file {                   /* a file that may be replaced */
    struct stat seen;
    int64_t read_ms;                 /* by sw_monotonic_ms(); 0: never */
};

struct kube_credentials {
    struct kube_file token, certificate;
    struct sw_secret *file_token;    /* of user.token_file */
    struct kube_exec_credential exec;
    int64_t exec_until_ms;           /* wall clock: the program is asked again then; 0: not asked yet */
    struct sw_rest_certificate *shared;        /* the certificate in use; NULL: none */
};
void kube_credentials_done(struct kube_credentials *credentials);
sw_rest_authorize kube_authorize;    /* the context is the struct kube */
/* The text of a file that holds a secret, without blanks at its end. NULL + err. */
struct sw_secret *kube_secret_read(const char *path, struct sw_error *err);

/* ---- kube.c -------------------------------------------------------------------------------------- */

struct kube {
    struct kube_config config;
    struct kube_address address;
    struct kube_credentials credentials;       /* under the lock of `rest` */
    struct sw_rest_pair *headers;              /* impersonation */
    struct sw_rest *rest;
    char *name;
    void (*behind)(void *context, const struct sw_http_reply *reply, const char *words, struct sw_error *err);
    void *behind_context;            /* as in struct kube_options */
    int major, minor;                /* 0: not asked yet; atomic */
};

/* kube_errors.c: options.explain of the client; the context is the struct kube. */
void kube_explain(void *context, const struct sw_http_reply *reply, const char *words, struct sw_error *err);

#endif
