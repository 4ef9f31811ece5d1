/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_files.c - results of jobs, and files of volumes: "pvc:NAME[/FOLDER]", "nfs:SERVER:/PATH",
 * "/PATH" of a node (of any node, where they differ).
 *
 * While a pod of the job runs, its own runner packs the results. Afterwards a short pod of ours shows the
 * volume (kubernetes_helper.c), on the node of the job's pod where that is known. Whether something is there
 * is answered from the folder above it, since a path of a node that is mounted must be a folder.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "platform/kubernetes/kubernetes_files.h"
#include "platform/kubernetes/kubernetes_submit.h"

enum { LOOK_S = 600, FETCH_S = 24 * 3600, ANSWER_MAX = 64 * 1024 * 1024 };

/* amd64 where there is such a node, or nodes cannot be listed. */
static const char *some_arch(struct sw_connection *conn)
{
    sw_auto(json) json_t *nodes = NULL;
    bool arm = false;
    json_t *node;
    size_t i;

    k8s_capacity_lists(conn, NULL, &nodes, NULL, NULL);
    json_array_foreach(nodes, i, node) {
        const char *arch = k8s_label(node, "kubernetes.io/arch");

        if (sw_text_same(arch, "amd64"))
            return "amd64";
        arm = arm || sw_text_same(arch, "arm64");
    }
    return arm ? "arm64" : "amd64";
}

/* A claim is not asked of a pod that would wait for it for ever. */
static int check_claim(struct sw_connection *conn, const struct k8s_volume *volume, struct sw_error *err)
{
    sw_autofree char *path = k8s_path(conn, "v1", "persistentvolumeclaims", volume->source);
    struct sw_error why = { 0 };

    if (volume->kind != K8S_VOLUME_PVC || k8s_call(conn, NULL, path, NULL, NULL, &why) == 0 ||
        why.code != SW_E_NOT_FOUND)
        return 0;
    return sw_fail(err, SW_E_NOT_FOUND, "no claim '%s' in the namespace '%s'", volume->source,
                   conn->namespace);
}

/* ---- names ------------------------------------------------------------------------------------------ */

static char *read_all(struct sw_archive_stream *output, size_t *length, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    char bytes[16384];
    ssize_t n;

    while ((n = output->read(output, bytes, sizeof bytes, err)) > 0 && text.length < ANSWER_MAX)
        sw_buf_add_bytes(&text, bytes, (size_t)n);
    *length = text.length;
    return n < 0 ? NULL : sw_buf_steal(&text);
}

/* {"names"} or {"message","error"}, as the runner's list says it. */
static json_t *names_of(const char *text, size_t length, struct sw_error *err)
{
    sw_auto(json) json_t *answer = sw_json_parse(text ? text : "", length, "the names", err);
    json_t *names = json_object_get(answer, "names");
    const char *message = sw_json_str(answer, "message");

    if (!answer)
        return NULL;
    if (json_is_array(names))
        return json_incref(names);
    return sw_null(sw_fail(err, sw_text_same(sw_json_str(answer, "error"), sw_code_name(SW_E_NOT_FOUND))
                                    ? SW_E_NOT_FOUND : SW_E_IO,
                           "%s", message ? message : "the runner in the pod gives no answer"));
}

static char *folder_in_helper(const struct k8s_volume *volume)
{
    return volume->sub_path ? sw_format(K8S_LOOK "/%s", volume->sub_path) : sw_strdup(K8S_LOOK);
}

static json_t *list_volume(struct sw_connection *conn, const struct k8s_volume *volume, struct sw_error *err)
{
    sw_autofree char *folder = folder_in_helper(volume);
    const struct k8s_helper_spec spec = { .volume = volume, .arch = some_arch(conn), .life_s = LOOK_S };
    sw_auto(k8s_helper) struct k8s_helper helper = { 0 };
    struct sw_archive_stream *output = NULL;
    sw_autofree char *text = NULL;
    struct sw_error why = { 0 };
    size_t length = 0;

    if (check_claim(conn, volume, err) < 0 || k8s_helper_open(conn, &spec, &helper, err) < 0 ||
        k8s_run(conn, helper.name, K8S_CONTAINER, (const char *const[]){ "list", folder }, &output, err) < 0)
        return NULL;
    text = read_all(output, &length, err);
    if (k8s_run_end(output, &why) < 0 && !length)    /* after a failure its answer says more */
        return sw_null(sw_pass(err, &why));
    return text ? names_of(text, length, err) : NULL;
}

json_t *kubernetes_list_path(struct sw_connection *conn, const char *path, struct sw_error *err)
{
    sw_auto(k8s_volume) struct k8s_volume volume = { 0 };
    json_t *names;

    if (k8s_volume_parse(path, &volume, err) < 0)
        return NULL;
    names = list_volume(conn, &volume, err);
    if (!names)
        sw_wrap(err, "cannot list '%s'", path);
    return names;
}

/* ---- is it there? ----------------------------------------------------------------------------------- */

/* Cuts the last name off "a/b" or "/a/b"; owned; NULL: there is nothing above it. */
static char *cut_name(char *path)
{
    size_t length = path ? strlen(path) : 0;
    char *slash, *name;

    while (length > 1 && path[length - 1] == '/')
        path[--length] = '\0';
    if (length == 0 || strcmp(path, "/") == 0)
        return NULL;
    slash = strrchr(path, '/');
    name = sw_strdup(slash ? slash + 1 : path);
    path[!slash ? 0 : slash == path ? 1 : slash - path] = '\0';
    return name;
}

char *k8s_volume_above(struct k8s_volume *volume)
{
    char *name = volume->kind == K8S_VOLUME_PVC    ? cut_name(volume->sub_path)
                 : volume->kind == K8S_VOLUME_HOST ? cut_name(volume->source) : NULL;

    if (volume->sub_path && !*volume->sub_path)
        free(sw_take(volume->sub_path));
    return name;
}

int kubernetes_check_path(struct sw_connection *conn, const char *path, bool *exists, struct sw_error *err)
{
    sw_auto(k8s_volume) struct k8s_volume volume = { 0 };
    sw_autofree char *name = NULL;
    sw_auto(json) json_t *names = NULL;
    struct sw_error why = { 0 };
    json_t *one;
    size_t i;

    *exists = false;
    if (k8s_volume_parse(path, &volume, err) < 0)
        return -1;
    name = k8s_volume_above(&volume);
    if (!name && volume.kind == K8S_VOLUME_PVC) {
        *exists = check_claim(conn, &volume, &why) == 0;
        return 0;
    }
    names = list_volume(conn, &volume, &why);
    if (!names && why.code != SW_E_NOT_FOUND) {
        sw_pass(err, &why);
        return sw_wrap(err, "cannot check '%s'", path);
    }
    *exists = names && !name;
    json_array_foreach(names, i, one)
        *exists = *exists || sw_text_same(json_string_value(one), name);
    return 0;
}

/* ---- results ---------------------------------------------------------------------------------------- */

struct k8s_tally { int64_t files, bytes; };

static int count(void *context, const char *relative, const struct stat *info)
{
    struct k8s_tally *tally = context;

    (void)relative;
    tally->files += S_ISREG(info->st_mode);
    tally->bytes += S_ISREG(info->st_mode) ? info->st_size : 0;
    return 0;
}

static int unpack(struct sw_connection *conn, const char *pod, const char *container, const char *folder,
                  const char *to, struct sw_error *err)
{
    sw_auto(sw_archive_place) struct sw_archive_place *place =
        sw_archive_place_open(to, conn->given.warn, conn->given.warn_context, err);
    struct sw_archive_stream *output = NULL;
    struct sw_archive_visitor visitor;
    struct sw_error why = { 0 }, ended = { 0 };
    int result;

    if (!place || k8s_run(conn, pod, container, (const char *const[]){ "pack", folder }, &output, err) < 0)
        return -1;
    visitor = sw_archive_place_visitor(place);
    result = sw_archive_read_tar(output, &visitor, &why);
    if (k8s_run_end(output, &ended) < 0 && (result == 0 || why.code != SW_E_IO))
        return sw_pass(err, &ended);                 /* half an archive: why it is only a half */
    return result < 0 ? sw_pass(err, &why) : 0;
}

static int from_volume(struct sw_connection *conn, const struct sw_plan *plan, const char *source,
                       const struct k8s_pod *pod, const char *to, struct sw_error *err)
{
    struct k8s_job_options options = k8s_job_options(plan->options);
    struct k8s_helper_spec spec = { .arch = some_arch(conn), .life_s = FETCH_S };
    sw_auto(k8s_helper) struct k8s_helper helper = { 0 };
    sw_auto(k8s_volume) struct k8s_volume volume = { 0 };
    sw_autofree char *folder = NULL;

    if (k8s_volume_parse(source, &volume, err) < 0 || check_claim(conn, &volume, err) < 0)
        return -1;
    folder = folder_in_helper(&volume);
    spec.volume = &volume;
    if (pod->node[0]) {                              /* there its image is, too */
        spec.node = pod->node;
        spec.image = plan->image;
        spec.pull_secret = options.image_pull_secret;
    }
    if (options.arch != K8S_ARCH_AUTO)
        spec.arch = k8s_arch_name(options.arch);
    return k8s_helper_open(conn, &spec, &helper, err) < 0
               ? -1 : unpack(conn, helper.name, K8S_CONTAINER, folder, to, err);
}

static int stayed(const struct sw_jobref *job, struct sw_error *err)
{
    sw_fail(err, SW_E_UNSUPPORTED, "the results of '%s' are in its pod, which is not running", job->id);
    return sw_hint(err, "mount a volume at /results (kubernetes.volumes), or give each of `outputs:` a "
                        "destination");
}

/* Of a job whose results are on no volume. */
char *kubernetes_results_dir(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    struct k8s_pod pod;

    if (k8s_pod_find(conn, job, k8s_inner_rank(job, 0), true, &pod, err) < 0)
        return NULL;
    return pod.life == SW_LOG_GROWS ? sw_format("pod:%s" K8S_RESULTS, pod.name) : sw_null(stayed(job, err));
}

static int fetch(struct sw_connection *conn, const struct sw_jobref *job, const struct sw_plan *plan,
                 const char *to, struct sw_error *err)
{
    sw_autofree char *source = k8s_results_source(plan);
    struct sw_error why = { 0 };
    struct k8s_pod pod;

    if (k8s_pod_find(conn, job, k8s_inner_rank(job, 0), true, &pod, &why) < 0 && why.code != SW_E_NOT_FOUND)
        return sw_pass(err, &why);
    if (pod.name[0] && pod.life == SW_LOG_GROWS)
        return unpack(conn, pod.name, pod.container, K8S_RESULTS, to, err);
    return source ? from_volume(conn, plan, source, &pod, to, err) : stayed(job, err);
}

json_t *kubernetes_fetch_results(struct sw_connection *conn, const struct sw_jobref *job, const char *to,
                                 struct sw_error *err)
{
    sw_auto(sw_plan) struct sw_plan *plan = job->plan ? sw_plan_from_json(job->plan, err) : NULL;
    struct k8s_tally tally = { 0 };

    if (!plan)
        return job->plan ? NULL
                         : sw_null(sw_fail(err, SW_E_NOT_FOUND, "the plan of '%s' is unknown", job->id));
    if (sw_mkdirs(to, 0755, err) < 0 || fetch(conn, job, plan, to, err) < 0)
        return NULL;
    sw_walk(to, count, &tally, NULL);
    return sw_json_object(SW_INT("files", tally.files), SW_INT("bytes", tally.bytes), SW_STR("to", to));
}
