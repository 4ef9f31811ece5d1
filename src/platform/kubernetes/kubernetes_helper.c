/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_helper.c - a short pod of our own that shows one volume, and the runner's answers out of a pod.
 *
 * The pod has the runner from its shared ConfigMap and the volume, read-only, and does nothing
 * (`slipway-runner wait`). What is wanted is run beside that by exec, since a log is neither safe for bytes
 * nor whole. So any image will do, and no shell is needed. The pod is deleted afterwards; should we die
 * before, it ends at its deadline, and gc finds it by its label. It runs as root to read what jobs of any
 * user left; where the namespace forbids that, as a plain user.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/id.h"
#include "platform/kube/kube_streams.h"
#include "platform/kubernetes/kubernetes_files.h"
#include "platform/kubernetes/kubernetes_submit.h"

enum {
    BEGINS_MS = 180000,              /* a pod of ours must run by then */
    LOOK_EVERY_MS = 300,
    EVENTS_EVERY = 5,                /* looks */
    PLAIN_USER = 65534,
    SAID_MAX = 512,
};

/* ---- the manifest, pure ---------------------------------------------------------------------------- */

static json_t *pod_security(bool restricted)
{
    return restricted ? json_pack("{s:b, s:i, s:{s:s}}", "runAsNonRoot", 1, "runAsUser", PLAIN_USER,
                                  "seccompProfile", "type", "RuntimeDefault")
                      : json_pack("{s:i}", "runAsUser", 0);
}

static json_t *container_security(bool restricted)
{
    json_t *security = json_pack("{s:b, s:b}", "allowPrivilegeEscalation", 0, "readOnlyRootFilesystem", 1);

    if (restricted)
        json_object_set_new(security, "capabilities", json_pack("{s:[s]}", "drop", "ALL"));
    return security;
}

static json_t *container(const struct k8s_helper_spec *spec, bool restricted)
{
    return sw_json_object(
        SW_STR("name", K8S_CONTAINER), SW_STR("image", spec->image ? spec->image : K8S_HELPER_IMAGE),
        SW_STR("imagePullPolicy", "IfNotPresent"), SW_SUB("command", json_pack("[ss]", K8S_RUNNER, "wait")),
        SW_SUB("resources", json_pack("{s:{s:s, s:s}, s:{s:s, s:s}}", "requests", "cpu", "10m", "memory",
                                      "32Mi", "limits", "cpu", "1", "memory", "256Mi")),
        SW_SUB("securityContext", container_security(restricted)),
        SW_SUB("volumeMounts", json_pack(
            "[{s:s, s:s, s:b}, {s:s, s:s, s:b}]", "name", "slipway-runner", "mountPath", K8S_BIN, "readOnly",
            1, "name", "look", "mountPath", K8S_LOOK, "readOnly", 1)));
}

json_t *k8s_helper_render(const struct k8s_helper_spec *spec, const char *name, const char *runner,
                          bool restricted)
{
    json_t *volumes = json_pack("[{s:s, s:{s:s, s:i}}, o]", "name", "slipway-runner", "configMap", "name",
                                runner, "defaultMode", 0555, k8s_volume_source(spec->volume, "look"));

    return sw_json_object(
        SW_STR("apiVersion", "v1"), SW_STR("kind", "Pod"),
        SW_SUB("metadata", json_pack("{s:s, s:{s:s}}", "name", name, "labels", K8S_LABEL_SHARED, "helper")),
        SW_SUB("spec", sw_json_object(
            SW_STR("restartPolicy", "Never"), SW_INT("activeDeadlineSeconds", spec->life_s),
            SW_INT("terminationGracePeriodSeconds", 0), SW_BOOL("automountServiceAccountToken", false),
            SW_BOOL("enableServiceLinks", false), SW_STR_OPT("nodeName", spec->node),
            SW_SUB("nodeSelector", json_pack("{s:s}", "kubernetes.io/arch", spec->arch)),
            SW_SUB("tolerations", json_pack("[{s:s}]", "operator", "Exists")),
            SW_SUB("imagePullSecrets",
                   spec->pull_secret ? json_pack("[{s:s}]", "name", spec->pull_secret) : NULL),
            SW_SUB("securityContext", pod_security(restricted)),
            SW_SUB("containers", json_pack("[o]", container(spec, restricted))),
            SW_SUB("volumes", volumes))));
}

bool k8s_no_such_folder(const json_t *events)
{
    static const char *const words[] = { "hostPath type check failed", "No such file or directory",
                                         "reason given by server: No such", "does not exist" };
    const json_t *event;
    size_t i;

    json_array_foreach(events, i, event)
        for (size_t w = 0; w < SW_COUNT(words); w++) {
            const char *message = sw_json_str(event, "message");

            if (sw_text_same(sw_json_str(event, "reason"), "FailedMount") && message &&
                strstr(message, words[w]))
                return true;
        }
    return false;
}

/* ---- until it runs ---------------------------------------------------------------------------------- */

static int never_ran(const struct k8s_helper *helper, const json_t *pod, struct sw_error *err)
{
    sw_auto(json) json_t *events = k8s_events(helper->conn, "name", helper->name);
    char reason[48] = "", message[256] = "";

    k8s_pod_waits(pod, events, reason, message);
    sw_fail(err, SW_E_TIMEOUT, "the pod that lists files does not start: %s%s%s",
            reason[0] ? reason : "reason unknown", message[0] ? ": " : "", message);
    return sw_hint(err, "its image can be set with 'kubernetes.helper_image'");
}

static int await(const struct k8s_helper *helper, struct sw_error *err)
{
    sw_autofree char *path = k8s_path(helper->conn, "v1", "pods", helper->name);
    int64_t until_ms = sw_monotonic_ms() + BEGINS_MS;

    for (int look = 1;; look++) {
        sw_auto(json) json_t *pod = NULL, *events = NULL;
        const char *phase;

        if (k8s_call(helper->conn, NULL, path, NULL, &pod, err) < 0)
            return -1;
        phase = k8s_pod_phase(pod);
        if (sw_text_same(phase, "Running"))
            return 0;
        if (look % EVENTS_EVERY == 0 && (events = k8s_events(helper->conn, "name", helper->name)) &&
            k8s_no_such_folder(events))
            return sw_fail(err, SW_E_NOT_FOUND, "no such folder on the node");
        if (sw_text_same(phase, "Failed") || sw_text_same(phase, "Succeeded") || sw_monotonic_ms() > until_ms)
            return never_ran(helper, pod, err);
        sw_sleep_ms(LOOK_EVERY_MS);
    }
}

static int create(struct k8s_helper *helper, const struct k8s_helper_spec *spec, const char *runner,
                  bool restricted, struct sw_error *err)
{
    sw_auto(json) json_t *body = k8s_helper_render(spec, helper->name, runner, restricted);
    sw_autofree char *path = k8s_path(helper->conn, "v1", "pods", NULL);

    return k8s_call(helper->conn, "POST", path, body, NULL, err);
}

int k8s_helper_open(struct sw_connection *conn, const struct k8s_helper_spec *spec, struct k8s_helper *out,
                    struct sw_error *err)
{
    struct k8s_helper_spec own = *spec;
    char runner[K8S_NAME_SIZE], id[SW_ID_SIZE];
    struct sw_error why = { 0 };
    int made;

    if (!own.image)
        own.image = conn->helper_image;
    if (k8s_runner(conn, spec->arch, K8S_RUNNER_CONFIG_MAP, runner, err) < 0)
        return -1;
    sw_id_make("slipway-look", id);
    snprintf(out->name, sizeof out->name, "%s", id);
    out->conn = conn;                        /* from now on it may be there */
    made = create(out, &own, runner, false, &why);
    if (made < 0 && why.code == SW_E_REFUSED && strstr(why.message, "PodSecurity")) {
        why = (struct sw_error){ 0 };
        made = create(out, &own, runner, true, &why);
    }
    if (made < 0) {
        sw_pass(err, &why);
        return sw_wrap(err, "cannot create a pod that lists files");
    }
    return await(out, err);
}

void k8s_helper_close(struct k8s_helper *helper)
{
    sw_autofree char *path = helper->conn ? k8s_path(helper->conn, "v1", "pods", helper->name) : NULL;
    sw_auto(json) json_t *now = json_pack("{s:i}", "gracePeriodSeconds", 0);

    if (path)
        k8s_call(helper->conn, "DELETE", path, now, NULL, NULL);
    helper->conn = NULL;
}

/* ---- the runner's output ---------------------------------------------------------------------------- */

struct k8s_output {
    struct sw_archive_stream stream;         /* first: it is passed as this */
    struct sw_stream *command;
    struct sw_buf held;
    size_t at;                               /* of `held`, what was taken already */
    char said[SAID_MAX];                     /* on its standard error */
    bool over;
};

static int take_output(void *context, int which, const char *bytes, size_t length)
{
    struct k8s_output *output = context;
    size_t used = strlen(output->said);

    if (which == 1)
        sw_buf_add_bytes(&output->held, bytes, length);
    else
        snprintf(output->said + used, sizeof output->said - used, "%.*s", (int)length, bytes);
    return 0;
}

static int wait_for_output(struct k8s_output *output, struct sw_error *err)
{
    struct sw_stream *command = output->command;

    while (!output->over && output->at == output->held.length) {
        struct pollfd end = { .fd = command->fd,
                              .events = (short)(POLLIN | (command->unsent ? POLLOUT : 0)) };

        sw_buf_clear(&output->held);
        output->at = 0;
        output->over = command->ops->read(command, take_output, output) != 0;
        if (!output->over && !output->held.length &&
            poll(&end, 1, command->wake_ms ? command->wake_ms : -1) < 0 && errno != EINTR)
            return sw_fail_errno(err, SW_E_IO, "cannot wait for the pod's answer");
    }
    return 0;
}

static ssize_t read_output(struct sw_archive_stream *stream, void *bytes, size_t length, struct sw_error *err)
{
    struct k8s_output *output = (struct k8s_output *)stream;
    size_t n;

    if (wait_for_output(output, err) < 0)
        return -1;
    n = output->held.length - output->at < length ? output->held.length - output->at : length;
    if (n)
        memcpy(bytes, output->held.data + output->at, n);
    output->at += n;
    return (ssize_t)n;
}

int k8s_run(struct sw_connection *conn, const char *pod, const char *container, const char *const words[2],
            struct sw_archive_stream **out, struct sw_error *err)
{
    char *argv[] = { (char *)K8S_RUNNER, (char *)words[0], (char *)words[1], NULL, NULL };
    struct k8s_output *output = sw_new(struct k8s_output);

    if (strcmp(words[0], "list") == 0)
        argv[3] = (char *)"-";
    output->stream.read = read_output;
    if (kube_exec_open(conn->rest, conn->namespace, pod, container, &(struct sw_exec){ .argv = argv },
                       &output->command, err) < 0) {
        free(output);
        return sw_wrap(err, "cannot ask pod %s for files", pod);
    }
    if (output->command->takes_input)
        output->command->ops->finish(output->command);
    *out = &output->stream;
    return 0;
}

int k8s_run_end(struct sw_archive_stream *stream, struct sw_error *err)
{
    struct k8s_output *output = (struct k8s_output *)stream;
    int exit_status = 0, result = 0;

    while (result == 0 && !output->over) {           /* what fills the archive's last block */
        output->at = output->held.length;
        result = wait_for_output(output, err);
    }
    if (result == 0)
        result = output->command->ops->status(output->command, &exit_status, err);
    if (result == 0 && exit_status != 0)
        result = sw_fail(err, SW_E_IO, "the runner in the pod failed (%d): %.300s", exit_status,
                         output->said);
    output->command->ops->close(output->command);
    sw_buf_done(&output->held);
    free(output);
    return result;
}
