/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_plugin_read.c - the exec plugin of a kubeconfig's user: which program, with what.
 */
#include "platform/kube/kube_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

#define API "client.authentication.k8s.io/"

static void check_version(struct kube_entry *entry, const struct kube_exec *exec)
{
    static const char *const known[] = { API "v1", API "v1beta1" };

    for (size_t i = 0; i < SW_COUNT(known); i++)
        if (sw_text_same(exec->api_version, known[i]))
            return;
    if (entry->failed)
        return;
    kube_entry_refuse(entry, exec->api_version ? "apiVersion" : "", exec->api_version
                          ? "is neither " API "v1 nor " API "v1beta1" : "has no apiVersion");
    sw_hint(entry->err, "a newer release of the plugin writes a newer kubeconfig");
}

/* Nothing here can answer a question that a plugin asks. */
static void check_mode(struct kube_entry *entry, const struct kube_exec *exec)
{
    sw_autofree char *mode = kube_entry_text(entry, "interactiveMode");

    if (!mode && sw_text_same(exec->api_version, API "v1"))
        kube_entry_refuse(entry, "", "has no interactiveMode (Never, IfAvailable or Always)");
    else if (sw_text_same(mode, "Always"))
        kube_entry_refuse(entry, "interactiveMode", "is Always: this plugin asks questions, and it gets "
                                                    "no terminal");
    else if (mode && !sw_text_same(mode, "Never") && !sw_text_same(mode, "IfAvailable"))
        kube_entry_refuse(entry, "interactiveMode", "is not Never, IfAvailable or Always");
}

static json_t *read_args(struct kube_entry *entry)
{
    const json_t *args = json_object_get(entry->value, "args");
    size_t at;
    json_t *one;

    if (args && !json_is_null(args) && !json_is_array(args))
        kube_entry_refuse(entry, "args", "is not a list");
    json_array_foreach((json_t *)args, at, one)
        if (!json_is_string(one))
            kube_entry_refuse(entry, "args", "contains something other than strings");
    return json_is_array(args) ? json_deep_copy(args) : json_array();
}

static json_t *read_env(struct kube_entry *entry)
{
    const json_t *env = json_object_get(entry->value, "env");
    size_t at;
    json_t *one;

    if (env && !json_is_null(env) && !json_is_array(env))
        kube_entry_refuse(entry, "env", "is not a list");
    json_array_foreach((json_t *)env, at, one) {
        const char *name = sw_json_str(one, "name");

        if (sw_text_empty(name) || strchr(name, '=') || !json_is_string(json_object_get(one, "value")))
            kube_entry_refuse(entry, "env", "contains something other than {name, value}");
    }
    return json_is_array(env) ? json_deep_copy(env) : json_array();
}

/* "aws" is looked for in PATH; "bin/aws" begins at the kubeconfig's folder. */
static char *read_command(struct kube_entry *entry)
{
    sw_autofree char *command = kube_entry_text(entry, "command");

    if (!command)
        return kube_entry_refuse(entry, "", "has no command"), NULL;
    return strchr(command, '/') ? sw_path_absolute(command, entry->in->folder) : sw_take(command);
}

struct kube_exec *kube_exec_read(struct kube_entry *user)
{
    struct kube_exec *exec = sw_new(struct kube_exec);
    struct kube_entry entry = *user;

    entry.value = json_object_get(user->value, "exec");
    snprintf(entry.path, sizeof entry.path, "%.*s.exec", (int)sizeof entry.path - 6, user->path);
    if (!json_is_object(entry.value))
        kube_entry_refuse(user, "exec", "is not a mapping");
    exec->api_version = kube_entry_text(&entry, "apiVersion");
    exec->install_hint = sw_strdup(sw_json_str(entry.value, "installHint"));
    exec->provide_cluster_info = kube_entry_flag(&entry, "provideClusterInfo");
    exec->args = read_args(&entry);
    exec->env = read_env(&entry);
    exec->command = read_command(&entry);
    check_version(&entry, exec);
    check_mode(&entry, exec);
    user->failed |= entry.failed;
    return exec;
}

void kube_exec_free(struct kube_exec *exec)
{
    if (!exec)
        return;
    free(exec->command);
    free(exec->api_version);
    free(exec->install_hint);
    json_decref(exec->args);
    json_decref(exec->env);
    free(exec);
}
