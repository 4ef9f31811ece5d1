/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_exec.c - a command beside a running rank, and a port of it. The runner in the pod starts the
 * command, so that it sees what the job sees, secrets included; the streams are the client's
 * (kube/kube_streams.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "platform/kube/kube_streams.h"
#include "platform/kubernetes/kubernetes_files.h"

/* RUNNER beside [TERM=...] SLIPWAY_JOB_ID=... COMMAND...: an exec has no variables of its own. The array is
 * owned, its texts are not. */
static char **command_words(char *term, char *mark, char *const argv[])
{
    size_t count = 0, at = 0;
    char **words;

    while (argv[count])
        count++;
    words = sw_realloc_array(NULL, count + 5, sizeof *words);
    words[at++] = (char *)K8S_RUNNER;
    words[at++] = (char *)"beside";
    if (term)
        words[at++] = term;
    words[at++] = mark;
    memcpy(words + at, argv, (count + 1) * sizeof *words);
    return words;
}

/* The pod of a rank that runs. */
static int running_pod(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                       struct k8s_pod *pod, struct sw_error *err)
{
    if (k8s_pod_find(conn, job, k8s_inner_rank(job, replica), true, pod, err) < 0)
        return -1;
    return pod->life == SW_LOG_GROWS
               ? 0 : sw_fail(err, SW_E_CONFLICT, "its pod %s", pod->life == SW_LOG_ENDED
                                                                   ? "has finished" : "has not started yet");
}

int kubernetes_exec_open(struct sw_connection *conn, const struct sw_jobref *job, const struct sw_exec *what,
                         struct sw_stream **out, struct sw_error *err)
{
    const char *terminal = sw_text_empty(what->term) ? "dumb" : what->term;
    sw_autofree char *term = what->terminal ? sw_format("TERM=%s", terminal) : NULL;
    sw_autofree char *mark = sw_format("SLIPWAY_JOB_ID=%s", job->id);
    sw_autofree char **words = command_words(term, mark, what->argv);
    struct sw_exec beside = *what;
    struct k8s_pod pod;

    beside.argv = words;
    if (running_pod(conn, job, what->replica, &pod, err) < 0 ||
        kube_exec_open(conn->rest, conn->namespace, pod.name, pod.container, &beside, out, err) < 0)
        return sw_wrap(err, "cannot run a command in '%s'", job->id);
    return 0;
}

int kubernetes_port_open(struct sw_connection *conn, const struct sw_jobref *job, int replica, int port,
                         struct sw_stream **out, struct sw_error *err)
{
    struct k8s_pod pod;

    if (running_pod(conn, job, replica, &pod, err) < 0 ||
        kube_port_open(conn->rest, conn->namespace, pod.name, (uint16_t)port, out, err) < 0)
        return sw_wrap(err, "cannot reach port %d of '%s'", port, job->id);
    return 0;
}
