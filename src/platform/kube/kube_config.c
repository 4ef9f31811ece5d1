/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_config.c - which kubeconfig files count, and which context of them.
 *
 * Several files are one as kubectl merges them: what two of them name is taken whole from the first. No
 * environment is read but through options.env.
 */
#include "platform/kube/kube_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

enum { CONTEXTS_SHOWN = 150 };

const char *kube_env(const struct kube_options *options, const char *name)
{
    const char *value = options->env(options->env_context, name);

    return sw_text_empty(value) ? NULL : value;
}

/* ---- files --------------------------------------------------------------------------------------- */

/* A kubeconfig holds tokens and keys in any of its texts. */
static void wipe(json_t *value)
{
    const char *key;
    json_t *one;
    size_t at;

    if (json_is_string(value))
        explicit_bzero((char *)json_string_value(value), json_string_length(value));
    json_array_foreach(value, at, one)
        wipe(one);
    json_object_foreach(value, key, one)
        wipe(one);
}

void kube_documents_done(struct kube_documents *documents)
{
    for (size_t i = 0; i < documents->count; i++) {
        wipe(sw_document_value(documents->items[i].document));
        sw_document_free(documents->items[i].document);
        free(documents->items[i].folder);
    }
    free(documents->items);
    *documents = (struct kube_documents){ 0 };
}

int kube_documents_add(struct kube_documents *documents, const char *text, size_t length, const char *path,
                       struct sw_error *err)
{
    const char *slash = strrchr(path, '/');
    struct sw_document *document;

    if (text[strspn(text, " \t\r\n")] == '\0')
        return 0;                            /* as good as missing */
    document = sw_document_parse(text, length, SW_YAML, path, err);
    if (!document)
        return -1;
    documents->items = sw_realloc_array(documents->items, documents->count + 1, sizeof *documents->items);
    documents->items[documents->count++] = (struct kube_document){
        document, slash && slash > path ? sw_strndup(path, (size_t)(slash - path)) : sw_strdup("/") };
    if (!json_is_object(sw_document_value(document)) && !json_is_null(sw_document_value(document)))
        return sw_fail(err, SW_E_SPEC, "%s: not a kubeconfig", path);
    return 0;
}

static int add_file(struct kube_documents *documents, const char *path, struct sw_error *err)
{
    size_t length = 0;
    bool exists = false;
    char *text;
    int result;

    if (sw_file_look(path, &exists, err) < 0)
        return -1;
    if (!exists)
        return 0;
    text = sw_file_read(path, SW_DOCUMENT_MAX, &length, err);
    if (!text)
        return -1;
    result = kube_documents_add(documents, text, length, path, err);
    explicit_bzero(text, length);
    free(text);
    return result;
}

/* *paths: all of them, absolute, in one text. */
static int add_files(struct kube_documents *documents, const char *list, char **paths, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf all = SW_BUF_INIT;

    for (const char *at = list; *at; at += strspn(at, ":")) {
        size_t length = strcspn(at, ":");
        sw_autofree char *one = sw_strndup(at, length);
        sw_autofree char *path = *one ? sw_path_absolute(one, NULL) : NULL;

        at += length;
        if (!path)
            continue;
        sw_buf_addf(&all, "%s%s", all.length ? ":" : "", path);
        if (add_file(documents, path, err) < 0)
            return -1;
    }
    *paths = sw_strdup(sw_buf_text(&all));
    return 0;
}

/* ---- the context --------------------------------------------------------------------------------- */

static const char *current_context(const struct kube_documents *documents)
{
    for (size_t i = 0; i < documents->count; i++) {
        const char *name = sw_json_str(sw_document_value(documents->items[i].document), "current-context");

        if (!sw_text_empty(name))
            return name;
    }
    return NULL;
}

static int no_context(const struct kube_documents *documents, const char *name, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf names = SW_BUF_INIT;

    for (size_t i = 0; i < documents->count; i++) {
        const json_t *all = json_object_get(sw_document_value(documents->items[i].document), "contexts");
        size_t at;
        json_t *one;

        json_array_foreach((json_t *)all, at, one)
            if (sw_json_str(one, "name") && names.length < CONTEXTS_SHOWN)
                sw_buf_addf(&names, "%s%.60s", names.length ? ", " : "", sw_json_str(one, "name"));
    }
    if (name)
        sw_fail(err, SW_E_NOT_FOUND, "no context '%.100s' in the kubeconfig", name);
    else
        sw_fail(err, SW_E_NOT_FOUND, "the kubeconfig has no current context");
    return names.length ? sw_hint(err, "the option `context` or TAO_K8S_CONTEXT names one of: "
                                       "%s", names.data)
                        : sw_hint(err, "it has no contexts");
}

/* The thing that a key of the context names. 1: found; 0: the key is not there. */
static int follow(struct kube_entry *context, const struct kube_documents *documents, const char *kind,
                  const char *list, char **name, struct kube_entry *out)
{
    *name = kube_entry_text(context, kind);
    if (!*name)
        return context->failed ? -1 : 0;
    *out = kube_entry_find(documents, list, kind, *name, context->err);
    if (!out->value && !out->failed)
        return kube_entry_refuse(context, kind, "is not in the kubeconfig");
    return out->failed ? -1 : 1;
}

int kube_config_choose(const struct kube_documents *documents, const char *wanted, struct kube_config *out,
                       struct sw_error *err)
{
    const char *name = wanted ? wanted : current_context(documents);
    struct kube_entry context, cluster, user;
    int found;

    if (!name)
        return no_context(documents, NULL, err);
    context = kube_entry_find(documents, "contexts", "context", name, err);
    if (context.failed)
        return -1;
    if (!context.value)
        return no_context(documents, name, err);
    out->context = sw_strdup(name);
    out->namespace = kube_entry_text(&context, "namespace");
    found = follow(&context, documents, "cluster", "clusters", &out->cluster.name, &cluster);
    if (found == 0)
        return kube_entry_refuse(&context, "", "has no cluster");
    if (found < 0 || kube_cluster_read(&cluster, &out->cluster) < 0)
        return -1;
    found = follow(&context, documents, "user", "users", &out->user.name, &user);
    return found > 0 ? kube_user_read(&user, &out->user) : found;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static int check_namespace(const char *name, struct sw_error *err)
{
    size_t length = strlen(name);
    bool good = length <= 63 && isalnum((unsigned char)name[0]);

    for (size_t i = 0; i < length; i++)
        good &= (islower((unsigned char)name[i]) || isdigit((unsigned char)name[i]) || name[i] == '-') != 0;
    return good ? 0 : sw_fail(err, SW_E_SPEC, "'%.100s' is not a namespace name", name);
}

static int settle_namespace(const struct kube_options *options, struct kube_config *out, struct sw_error *err)
{
    const char *wanted = !sw_text_empty(options->namespace) ? options->namespace
                                                            : kube_env(options, "TAO_K8S_NAMESPACE");

    if (wanted || !out->namespace) {
        free(out->namespace);
        out->namespace = sw_strdup(wanted ? wanted : "default");
    }
    return check_namespace(out->namespace, err);
}

static int nothing_found(const char *option, const char *paths, struct sw_error *err)
{
    sw_fail(err, SW_E_SPEC, "no kubeconfig: %.300s is missing or empty",
            *paths ? paths : "~/.kube/config");
    return option ? sw_hint(err, "check the option `kubeconfig`")
                  : sw_hint(err, "set KUBECONFIG or the option `kubeconfig`");
}

static int find(const struct kube_options *options, struct kube_config *out, struct sw_error *err)
{
    sw_auto(kube_documents) struct kube_documents documents = { 0 };
    const char *option = sw_text_empty(options->kubeconfig) ? NULL : options->kubeconfig;
    const char *list = option ? option : kube_env(options, "KUBECONFIG"), *home = kube_env(options, "HOME");
    const char *context = sw_text_empty(options->context) ? kube_env(options, "TAO_K8S_CONTEXT")
                                                          : options->context;
    sw_autofree char *usual = home && *home == '/' ? sw_format("%s/.kube/config", home) : sw_strdup("");

    if (sw_text_same(option, KUBE_IN_CLUSTER))
        return kube_account_read(options, out, err);
    if (add_files(&documents, list ? list : usual, &out->kubeconfig, err) < 0)
        return -1;
    if (documents.count)
        return kube_config_choose(&documents, context, out, err);
    if (option || !kube_account_is_there(options))
        return nothing_found(option, out->kubeconfig, err);
    free(sw_take(out->kubeconfig));
    return kube_account_read(options, out, err);
}

int kube_config_find(const struct kube_options *options, struct kube_config *out, struct sw_error *err)
{
    return find(options, out, err) < 0 ? -1 : settle_namespace(options, out, err);
}

void kube_config_done(struct kube_config *config)
{
    struct kube_cluster *cluster = &config->cluster;
    struct kube_user *user = &config->user;
    char *texts[] = { cluster->name, cluster->server, cluster->tls_name, cluster->authority,
                      cluster->authority_origin, user->name, user->token_file, user->username,
                      user->certificate_file, user->key_file, config->context, config->namespace,
                      config->kubeconfig };

    for (size_t i = 0; i < SW_COUNT(texts); i++)
        free(texts[i]);
    sw_text_wipe(cluster->proxy);            /* may hold a password */
    json_decref(cluster->exec_config);
    sw_secret_free(user->token);
    sw_secret_free(user->password);
    sw_secret_free(user->certificate);
    sw_secret_free(user->key);
    kube_exec_free(user->exec);
    for (char **at = user->as; at && *at; at++)
        free(*at);
    free(user->as);
    *config = (struct kube_config){ 0 };
}
