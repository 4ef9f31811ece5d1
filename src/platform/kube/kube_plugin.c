/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_plugin.c - runs an exec plugin (platform/kit/program.h) and reads its answer.
 */
#include "platform/kube/kube_internal.h"

#include <string.h>

#include "base/secret.h"
#include "platform/kit/program.h"

static const char **argv_of(const struct kube_exec *exec)
{
    size_t count = json_array_size(exec->args);
    const char **argv = sw_alloc((count + 2) * sizeof *argv);

    argv[0] = exec->command;
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = json_string_value(json_array_get(exec->args, i));
    return argv;
}

/* "NAME=value", owned. */
static char **variables_of(const struct kube_exec *exec, const struct kube_cluster *cluster)
{
    sw_autofree char *info = kube_exec_info(exec, cluster);
    size_t count = json_array_size(exec->env);
    char **added = sw_alloc((count + 2) * sizeof *added);

    added[0] = sw_format("KUBERNETES_EXEC_INFO=%s", info);
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(exec->env, i);

        added[i + 1] = sw_format("%s=%s", sw_json_str(one, "name"), sw_json_str(one, "value"));
    }
    return added;
}

static void forget_variables(char **added)
{
    for (char **at = added; *at; at++)
        sw_text_wipe(*at);
    free(added);
}

static int run(const struct kube_exec *exec, const struct sw_program_call *program,
               struct sw_program_reply *reply, struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_autofree char *words = NULL;

    if (sw_program_run(program, reply, &why) < 0) {
        bool missing = why.code == SW_E_UNSUPPORTED;

        if (missing || why.code == SW_E_REFUSED)
            why.code = SW_E_CREDENTIAL;
        sw_pass(err, &why);
        return missing && exec->install_hint ? sw_hint(err, "%.240s", exec->install_hint) : -1;
    }
    if (reply->exit_code == 0)
        return 0;
    words = sw_program_words(reply);
    sw_fail(err, SW_E_CREDENTIAL, "it ended with %s %d%s%s", reply->exit_code > 128 ? "signal" : "status",
            reply->exit_code > 128 ? reply->exit_code - 128 : reply->exit_code, *words ? ": " : "", words);
    return sw_hint(err, "a new login may be needed: does `kubectl get pods` work?");
}

int kube_exec_run(const struct kube_exec *exec, const struct kube_cluster *cluster, int64_t patience_ms,
                  struct kube_exec_credential *out, struct sw_error *err)
{
    sw_autofree const char **argv = argv_of(exec);
    char **added = variables_of(exec, cluster);
    const struct sw_program_call program = { .argv = argv, .added = added, .output_max = KUBE_ANSWER_MAX,
                                        .patience_ms = patience_ms };
    sw_auto(sw_program_reply) struct sw_program_reply reply = { 0 };
    int result = run(exec, &program, &reply, err);

    if (result == 0)
        result = kube_exec_answer(sw_buf_text(&reply.output), reply.output.length, exec->api_version, out,
                                  err);
    forget_variables(added);
    return result < 0 ? sw_wrap(err, "the credential plugin '%s'", exec->command) : 0;
}
