/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_volumes.c - what of the cluster's files a pod sees: our own folders, and what the job names in
 * `kubernetes.volumes` and `mounts`. Pure.
 *
 * A claim that is mounted at two places is one volume of the pod with two mounts: a claim that is named
 * twice keeps some drivers from ever starting the pod. A path of a node must be there already (type
 * Directory): otherwise a wrong path would silently be an empty folder.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "core/mount.h"

/* ---- one volume ---------------------------------------------------------------------------------- */

/* How a user names each kind, and how the API does. */
static const struct volume_word {
    const char *prefix, *field, *kind, *source;
} words[] = {
    [K8S_VOLUME_PVC] = { "pvc:", "pvc", "persistentVolumeClaim", "claimName" },
    [K8S_VOLUME_HOST] = { "/", "host_path", "hostPath", "path" },
    [K8S_VOLUME_NFS] = { "nfs:", "nfs", "nfs", "path" },
    [K8S_VOLUME_CONFIG_MAP] = { "config_map:", "config_map", "configMap", "name" },
    [K8S_VOLUME_SECRET] = { "secret:", "secret", "secret", "secretName" },
    [K8S_VOLUME_EMPTY] = { "empty", "empty_dir", "emptyDir", NULL },
};

void k8s_volume_done(struct k8s_volume *volume)
{
    free(volume->source);
    free(volume->server);
    free(volume->sub_path);
    free(volume->target);
    *volume = (struct k8s_volume){ 0 };
}

void k8s_volumes_done(struct k8s_volumes *volumes)
{
    for (size_t i = 0; i < volumes->count; i++)
        k8s_volume_done(&volumes->items[i]);
    free(volumes->items);
    *volumes = (struct k8s_volumes){ 0 };
}

static bool climbs(const char *path)
{
    for (const char *at = strstr(path, ".."); at; at = strstr(at + 1, ".."))
        if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/'))
            return true;
    return false;
}

/* Names of objects: lower case letters, digits, '-' and '.'. */
static bool is_name(const char *text)
{
    size_t length = strlen(text);

    return length > 0 && length <= 253 && isalnum((unsigned char)text[0]) &&
           isalnum((unsigned char)text[length - 1]) &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == length;
}

/* A folder below another; "" and slashes at its ends go. -1: it leads out of it. */
static int take_sub_path(struct k8s_volume *out, const char *path)
{
    size_t length;

    path += strspn(path, "/");
    length = strlen(path);
    while (length > 0 && path[length - 1] == '/')
        length--;
    free(out->sub_path);
    out->sub_path = length > 0 ? sw_format("%.*s", (int)length, path) : NULL;
    return out->sub_path && climbs(out->sub_path) ? -1 : 0;
}

/* NAME[/SUB], SERVER:/PATH, /PATH or NAME into `out`, whose kind is set. */
static int take_source(struct k8s_volume *out, const char *text)
{
    const char *cut = out->kind == K8S_VOLUME_PVC   ? strchr(text, '/')
                      : out->kind == K8S_VOLUME_NFS ? strstr(text, ":/") : NULL;

    if (out->kind == K8S_VOLUME_EMPTY)
        return *text ? -1 : 0;
    if (out->kind == K8S_VOLUME_HOST) {
        out->source = sw_strdup(text);
        return *text == '/' && !climbs(text) ? 0 : -1;
    }
    if (out->kind == K8S_VOLUME_NFS) {
        if (!cut || cut == text || climbs(cut))
            return -1;
        out->server = sw_format("%.*s", (int)(cut - text), text);
        out->source = sw_strdup(cut + 1);
        return 0;
    }
    out->source = cut ? sw_format("%.*s", (int)(cut - text), text) : sw_strdup(text);
    return is_name(out->source) && (!cut || take_sub_path(out, cut) == 0) ? 0 : -1;
}

int k8s_volume_parse(const char *text, struct k8s_volume *out, struct sw_error *err)
{
    *out = (struct k8s_volume){ 0 };
    for (size_t i = 0; i < SW_COUNT(words); i++) {
        if (!sw_text_starts(text, words[i].prefix))
            continue;
        out->kind = (enum k8s_volume_kind)i;
        if (take_source(out, i == K8S_VOLUME_HOST ? text : text + strlen(words[i].prefix)) == 0)
            return 0;
        k8s_volume_done(out);
    }
    sw_fail(err, SW_E_SPEC, "'%.200s' is not a volume", text);
    return sw_hint(err, "write pvc:NAME[/SUB], nfs:SERVER:/PATH, /PATH of the node, config_map:NAME, "
                        "secret:NAME or empty");
}

json_t *k8s_volume_source(const struct k8s_volume *volume, const char *name)
{
    const struct volume_word *word = &words[volume->kind];
    json_t *source = sw_json_object(SW_STR_OPT("server", volume->server),
                                    SW_STR_OPT("type", volume->kind == K8S_VOLUME_HOST ? "Directory" : NULL));

    if (word->source)
        json_object_set_new(source, word->source, sw_json_text(volume->source));
    return sw_json_object(SW_STR("name", name), SW_SUB(word->kind, source));
}

/* ---- the user's ---------------------------------------------------------------------------------- */

static bool is_at_or_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);

    return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static bool is_folder_elsewhere(const struct k8s_volume *volume)     /* that outlives the pod */
{
    return !volume->read_only && (volume->kind == K8S_VOLUME_PVC || volume->kind == K8S_VOLUME_HOST ||
                                  volume->kind == K8S_VOLUME_NFS);
}

static const char *wrong_target(const struct k8s_volume *volume, const struct k8s_volumes *others)
{
    const char *target = volume->target;

    if (*target != '/' || !target[1] || climbs(target) || strchr(target, ':'))
        return "is not an absolute path in the container";
    if (is_at_or_below(target, K8S_HOME))
        return "is Slipway's own folder";
    if (strcmp(target, K8S_RESULTS) == 0 && !is_folder_elsewhere(volume) && volume->kind != K8S_VOLUME_EMPTY)
        return "takes the job's results, and this volume cannot be written to";
    for (size_t i = 0; i < others->count; i++)
        if (strcmp(others->items[i].target, target) == 0)
            return "is the target of two volumes";
    return NULL;
}

/* Takes what `volume` owns, also when it fails. */
static int add(struct k8s_volumes *out, struct k8s_volume *volume, const char *target, struct sw_error *err)
{
    sw_auto(k8s_volume) struct k8s_volume own = *volume;
    const char *wrong;

    own.target = sw_strdup(target);
    *volume = (struct k8s_volume){ 0 };
    wrong = wrong_target(&own, out);
    if (wrong)
        return sw_fail(err, SW_E_SPEC, "volume at '%.200s': that %s", target, wrong);
    out->items = sw_realloc_array(out->items, out->count + 1, sizeof *out->items);
    out->items[out->count++] = own;
    own = (struct k8s_volume){ 0 };
    return 0;
}

/* Into the path itself where it is one; a claim's mount says it. */
static int add_path(struct k8s_volume *out, const char *path, struct sw_error *err)
{
    sw_autofree char *above = NULL, *below = NULL;

    if (out->sub_path || take_sub_path(out, path) < 0)
        return sw_fail(err, SW_E_SPEC, "its path '%.200s' is not a folder below the volume", path);
    if (!out->sub_path || (out->kind != K8S_VOLUME_HOST && out->kind != K8S_VOLUME_NFS))
        return 0;
    above = out->source;
    below = sw_take(out->sub_path);
    out->source = sw_path_join(above, below);
    return 0;
}

/* {"source"} or one of the other fields, "path", "read_only". */
static int read_entry(const json_t *entry, struct k8s_volume *out, struct sw_error *err)
{
    const char *source = sw_json_str(entry, "source"), *path = sw_json_str(entry, "path");
    sw_autofree char *text = source ? sw_strdup(source) : NULL;
    int said = source != NULL;

    for (size_t i = 0; i < SW_COUNT(words); i++) {
        const json_t *value = json_object_get(entry, words[i].field);
        const char *name = json_string_value(value);

        if (!name && !json_is_true(value))
            continue;
        said++;
        free(text);
        text = sw_format("%s%s", i == K8S_VOLUME_HOST ? "" : words[i].prefix, name ? name : "");
    }
    if (said != 1)
        return sw_fail(err, SW_E_SPEC, "it must name one of pvc, host_path, nfs, config_map, secret, "
                                       "empty_dir");
    if (k8s_volume_parse(text, out, err) < 0)
        return -1;
    out->read_only = sw_json_bool(entry, "read_only", false);
    return path ? add_path(out, path, err) : 0;
}

static int read_mount(const struct sw_mount *mount, struct k8s_volume *out, struct sw_error *err)
{
    const char *source = mount->source;
    bool is_claim = !strchr(source, '/') && *source != '.' && *source != '~';
    sw_autofree char *text = sw_format("%s%s", is_claim ? "pvc:" : "", source);

    if (mount->kind == SW_MOUNT_GIT) {
        sw_fail(err, SW_E_SPEC, "mount '%.200s': a repository cannot be mounted on kubernetes", source);
        return sw_hint(err, "check it out here and send it with `code:`, or clone it in the command");
    }
    if (!is_claim && *source != '/') {
        sw_fail(err, SW_E_SPEC, "mount '%.200s' is a path of this machine, and pods cannot see it",
                source);
        return sw_hint(err, "name a persistent volume claim, or an absolute path of the nodes");
    }
    if (mount->flags && strcmp(mount->flags, "ro") != 0 && strcmp(mount->flags, "rw") != 0)
        return sw_fail(err, SW_E_SPEC, "mount '%.200s:%s:%s': its last part is not ro or rw", source,
                       mount->target, mount->flags);
    if (k8s_volume_parse(text, out, err) < 0)
        return -1;
    out->read_only = !sw_mount_is_writable(mount);
    return 0;
}

static int read_all(const struct sw_plan *plan, struct k8s_volumes *out, struct sw_error *err)
{
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };
    const char *target;
    json_t *entry;

    json_object_foreach((json_t *)k8s_job_options(plan->options).volumes, target, entry) {
        sw_auto(k8s_volume) struct k8s_volume one = { 0 };

        if (read_entry(entry, &one, err) < 0)
            return sw_wrap(err, "kubernetes.volumes: '%.200s'", target);
        if (add(out, &one, target, err) < 0)
            return -1;
    }
    if (sw_mounts_parse(plan->mounts, &mounts, err) < 0)
        return -1;
    for (size_t i = 0; i < mounts.count; i++) {
        sw_auto(k8s_volume) struct k8s_volume one = { 0 };

        if (read_mount(&mounts.items[i], &one, err) < 0 || add(out, &one, mounts.items[i].target, err) < 0)
            return -1;
    }
    return 0;
}

int k8s_volumes_read(const struct sw_plan *plan, struct k8s_volumes *out, struct sw_error *err)
{
    sw_auto(k8s_volumes) struct k8s_volumes all = { 0 };

    *out = (struct k8s_volumes){ 0 };
    if (read_all(plan, &all, err) < 0)
        return -1;
    *out = all;
    all = (struct k8s_volumes){ 0 };
    return 0;
}

/* ---- results ------------------------------------------------------------------------------------- */

static const struct k8s_volume *at(const struct k8s_volumes *all, const char *target)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i].target, target) == 0)
            return &all->items[i];
    return NULL;
}

char *k8s_results_source(const struct sw_plan *plan)
{
    sw_auto(k8s_volumes) struct k8s_volumes all = { 0 };
    sw_autofree char *folder = NULL;
    const struct k8s_volume *own;

    if (k8s_volumes_read(plan, &all, NULL) < 0 || !(own = at(&all, K8S_RESULTS)) ||
        !is_folder_elsewhere(own))
        return NULL;
    folder = own->sub_path ? sw_path_join(own->source, own->sub_path) : sw_strdup(own->source);
    return sw_format("%s%s%s%s%s%s", own->kind == K8S_VOLUME_HOST ? "" : words[own->kind].prefix,
                     own->server ? own->server : "", own->server ? ":" : "", folder,
                     sw_text_ends(folder, "/") ? "" : "/", plan->job_id);
}

/* Does it lie on a volume that outlives the pod? */
static bool is_kept(const struct k8s_volumes *all, const char *path)
{
    for (size_t i = 0; i < all->count; i++)
        if (is_folder_elsewhere(&all->items[i]) && is_at_or_below(path, all->items[i].target))
            return true;
    return false;
}

void k8s_mark_own(const struct sw_plan *plan, json_t *outputs)
{
    sw_auto(k8s_volumes) struct k8s_volumes all = { 0 };
    size_t i;
    json_t *entry;

    if (k8s_volumes_read(plan, &all, NULL) < 0)
        return;
    json_array_foreach(outputs, i, entry) {
        const char *path = sw_json_str(entry, "path");

        if (path && !is_kept(&all, path))
            json_object_set_new(entry, "own", json_true());
    }
}

const char *k8s_output_lost(const struct sw_plan *plan)
{
    sw_auto(k8s_volumes) struct k8s_volumes all = { 0 };
    size_t i;
    json_t *entry;

    if (k8s_volumes_read(plan, &all, NULL) < 0)
        return NULL;
    json_array_foreach(plan->outputs, i, entry) {
        const char *path = sw_json_str(entry, "path");

        if (path && !is_kept(&all, path))
            return path;
    }
    return NULL;
}

/* ---- inputs and outputs -------------------------------------------------------------------------- */

/* One that names a path of this machine in `key` is refused. */
static int check_paths(const json_t *list, const char *what, const char *key, const char *hint,
                       struct sw_error *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach(list, i, entry) {
        const char *uri = sw_json_str(entry, key);

        if (!uri || (strstr(uri, "://") && !sw_text_starts(uri, "file://")))
            continue;
        sw_fail(err, SW_E_SPEC, "%s '%.200s' is a path of this machine, and pods cannot see it", what, uri);
        return sw_hint(err, "%s", hint);
    }
    return 0;
}

/* ---- all ----------------------------------------------------------------------------------------- */

static void add_ours(json_t *volumes, json_t *mounts, const char *name, const char *target, json_t *volume,
                     bool read_only)
{
    json_object_set_new(volume, "name", json_string(name));
    json_array_append_new(volumes, volume);
    json_array_append_new(mounts, sw_json_object(SW_STR("name", name), SW_STR("mountPath", target),
                                                 SW_SUB("readOnly", read_only ? json_true() : NULL)));
}

static json_t *empty(const char *medium, int64_t limit_bytes)
{
    return sw_json_object(SW_SUB("emptyDir", sw_json_object(
        SW_STR_OPT("medium", medium),
        SW_SUB("sizeLimit", limit_bytes ? json_sprintf("%lld", (long long)limit_bytes) : NULL))));
}

/* The runner: from its shared ConfigMap or Secret, or copied by an init container from an image. */
static json_t *runner_volume(const struct k8s_job_options *options, const struct k8s_site *site)
{
    bool secret = options->runner == K8S_RUNNER_SECRET;

    if (options->runner == K8S_RUNNER_IMAGE)
        return empty(NULL, 0);
    return json_pack("{s:{s:s, s:i}}", secret ? "secret" : "configMap", secret ? "secretName" : "name",
                     site->runner ? site->runner : "slipway-runner", "defaultMode", 0555);
}

static json_t *job_volume(const char *name, const struct k8s_site *site)
{
    json_t *sources = json_array();

    json_array_append_new(sources, json_pack("{s:{s:s}}", "configMap", "name", name));
    for (int i = 0; i < site->pieces; i++)
        json_array_append_new(sources, json_pack("{s:{s:o}}", "configMap", "name",
                                                 json_sprintf("%s-code-%d", name, i)));
    return sw_json_object(SW_SUB("projected", sw_json_object(SW_SUB("sources", sources),
                                                             SW_INT("defaultMode", 0444))));
}

/* Name of the entry for this volume: an earlier one with the same source, or a new one. Borrowed. */
static const char *volume_entry(json_t *volumes, const struct k8s_volume *volume, size_t index)
{
    sw_autofree char *name = sw_format("volume-%zu", index);
    json_t *entry = k8s_volume_source(volume, name), *other;
    size_t i;

    json_array_foreach(volumes, i, other) {
        sw_auto(json) json_t *renamed = json_copy(other);

        json_object_set_new(renamed, "name", json_string(name));
        if (volume->kind != K8S_VOLUME_EMPTY && json_equal(renamed, entry)) {
            json_decref(entry);
            return sw_json_str(other, "name");
        }
    }
    json_array_append_new(volumes, entry);
    return sw_json_str(entry, "name");
}

/* Of a volume at /results a job sees its own folder alone; the kubelet makes it. Owned; NULL: all of it. */
static char *part_of(const struct k8s_volume *volume, const char *id)
{
    if (strcmp(volume->target, K8S_RESULTS) != 0 || !is_folder_elsewhere(volume))
        return sw_strdup(volume->sub_path);
    return volume->sub_path ? sw_path_join(volume->sub_path, id) : sw_strdup(id);
}

static void add_users(const struct k8s_volumes *all, const char *id, json_t *volumes, json_t *mounts)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct k8s_volume *one = &all->items[i];
        sw_autofree char *part = part_of(one, id);

        json_array_append_new(mounts, sw_json_object(
            SW_STR("name", volume_entry(volumes, one, i)), SW_STR("mountPath", one->target),
            SW_STR_OPT("subPath", part), SW_SUB("readOnly", one->read_only ? json_true() : NULL)));
    }
}

int k8s_render_volumes(const struct sw_plan *plan, const struct k8s_site *site, json_t *volumes,
                       json_t *mounts, struct sw_error *err)
{
    struct k8s_job_options options = k8s_job_options(plan->options);
    sw_auto(k8s_volumes) struct k8s_volumes all = { 0 };
    char name[K8S_NAME_SIZE];

    if (check_paths(plan->inputs, "input", "from", "put it into a store (s3://, https://), or on a volume "
                    "that kubernetes.volumes mounts", err) < 0 ||
        check_paths(plan->outputs, "output", "to", "leave `to` out and fetch it with `slipway get`, or name "
                    "a store", err) < 0 || k8s_volumes_read(plan, &all, err) < 0)
        return -1;
    k8s_name(name, plan->job_id, site->attempt);
    add_ours(volumes, mounts, "slipway-runner", K8S_BIN, runner_volume(&options, site), true);
    add_ours(volumes, mounts, "slipway-job", K8S_FILES, job_volume(name, site), true);
    if (site->has_secrets)
        add_ours(volumes, mounts, "slipway-secrets", K8S_SECRETS,
                 json_pack("{s:{s:s, s:i}}", "secret", "secretName", name, "defaultMode", 0444), true);
    add_ours(volumes, mounts, "slipway-work", K8S_WORK, empty(NULL, 0), false);
    if (!at(&all, K8S_RESULTS))
        add_ours(volumes, mounts, "slipway-results", K8S_RESULTS, empty(NULL, 0), false);
    if (!at(&all, "/dev/shm"))
        add_ours(volumes, mounts, "slipway-shm", "/dev/shm", empty("Memory", plan->shm_bytes), false);
    if (options.read_only && !at(&all, "/tmp"))
        add_ours(volumes, mounts, "slipway-tmp", "/tmp", empty(NULL, 0), false);
    add_users(&all, plan->job_id, volumes, mounts);
    return 0;
}
