/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_volumes.c - what of the cluster's files a pod sees: our own folders, and what the job names in
 * `kubernetes.volumes` and `mounts`. Pure.
 *
 * A claim that is mounted at two places is one volume of the pod with two mounts: a claim that is named twice keeps
 * some drivers from ever starting the pod. A path of a node must be there already (type Directory): otherwise a
 * wrong path would silently be an empty folder.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/mount.h"

/* ---- one volume ---------------------------------------------------------------------------------- */

static const struct volume_word {
    const char *prefix, *field;
    enum k8s_volume_kind kind;
} words[] = {
    { "pvc:", "pvc", K8S_VOLUME_PVC },
    { "nfs:", "nfs", K8S_VOLUME_NFS },
    { "config_map:", "config_map", K8S_VOLUME_CONFIG_MAP },
    { "secret:", "secret", K8S_VOLUME_SECRET },
    { "", "host_path", K8S_VOLUME_HOST },              /* the last: everything begins with it */
};

void k8s_volume_done(struct k8s_volume *volume)
{
    free(volume->source);
    free(volume->server);
    free(volume->sub_path);
    free(volume->target);
    *volume = (struct k8s_volume){ 0 };
}
static inline void k8s_volume_auto(struct k8s_volume *volume) { k8s_volume_done(volume); }

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
    const char *cut = out->kind == K8S_VOLUME_PVC ? strchr(text, '/')
                      : out->kind == K8S_VOLUME_NFS ? strstr(text, ":/") : NULL;

    switch (out->kind) {
    case K8S_VOLUME_EMPTY:
        return 0;
    case K8S_VOLUME_NFS:
        if (!cut || cut == text || climbs(cut))
            return -1;
        out->server = sw_format("%.*s", (int)(cut - text), text);
        out->source = sw_strdup(cut + 1);
        return 0;
    case K8S_VOLUME_HOST:
        out->source = sw_strdup(text);
        return *text == '/' && !climbs(text) ? 0 : -1;
    default:
        out->source = cut ? sw_format("%.*s", (int)(cut - text), text) : sw_strdup(text);
        return is_name(out->source) && (!cut || take_sub_path(out, cut) == 0) ? 0 : -1;
    }
}

int k8s_volume_parse(const char *text, struct k8s_volume *out, struct sw_error *err)
{
    const struct volume_word *word = words;

    *out = (struct k8s_volume){ 0 };
    while (!sw_text_starts(text, word->prefix))
        word++;
    out->kind = strcmp(text, "empty") == 0 ? K8S_VOLUME_EMPTY : word->kind;
    if (take_source(out, text + strlen(word->prefix)) == 0)
        return 0;
    k8s_volume_done(out);
    sw_fail(err, SW_E_SPEC, "'%.200s' is no volume", text);
    return sw_hint(err, "write pvc:NAME[/SUB], nfs:SERVER:/PATH, /PATH of the node, config_map:NAME, secret:NAME "
                        "or empty");
}

static json_t *source_of(const struct k8s_volume *volume)
{
    const char *source = volume->source;

    switch (volume->kind) {
    case K8S_VOLUME_PVC:
        return sw_json_object(SW_STR("claimName", source));
    case K8S_VOLUME_HOST:
        return sw_json_object(SW_STR("path", source), SW_STR("type", "Directory"));
    case K8S_VOLUME_NFS:
        return sw_json_object(SW_STR("server", volume->server), SW_STR("path", source));
    case K8S_VOLUME_CONFIG_MAP:
        return sw_json_object(SW_STR("name", source));
    case K8S_VOLUME_SECRET:
        return sw_json_object(SW_STR("secretName", source));
    case K8S_VOLUME_EMPTY:
        break;
    }
    return json_object();
}

json_t *k8s_volume_source(const struct k8s_volume *volume, const char *name)
{
    static const char *const keys[] = {
        [K8S_VOLUME_PVC] = "persistentVolumeClaim", [K8S_VOLUME_HOST] = "hostPath", [K8S_VOLUME_NFS] = "nfs",
        [K8S_VOLUME_CONFIG_MAP] = "configMap", [K8S_VOLUME_SECRET] = "secret", [K8S_VOLUME_EMPTY] = "emptyDir",
    };

    return sw_json_object(SW_STR("name", name), SW_SUB(keys[volume->kind], source_of(volume)));
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
        return "is no absolute path in the container";
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

/* {"source"} or one of the other fields, "path", "read_only". */
static int read_entry(const json_t *entry, struct k8s_volume *out, struct sw_error *err)
{
    const char *source = json_is_string(entry) ? json_string_value(entry) : sw_json_str(entry, "source");
    const char *path = sw_json_str(entry, "path");
    sw_autofree char *text = sw_json_bool(entry, "empty_dir", false) ? sw_strdup("empty") : NULL;
    int said = (source != NULL) + (text != NULL);

    for (size_t i = 0; i < SW_COUNT(words); i++) {
        const char *value = sw_json_str(entry, words[i].field);

        if (value && !text)
            text = sw_format("%s%s", words[i].prefix, value);
        said += value != NULL;
    }
    if (said != 1)
        return sw_fail(err, SW_E_SPEC, "it must name one of pvc, host_path, nfs, config_map, secret, empty_dir");
    if (k8s_volume_parse(source ? source : text, out, err) < 0)
        return -1;
    out->read_only = sw_json_bool(entry, "read_only", false);
    if (path && (out->sub_path || take_sub_path(out, path) < 0))
        return sw_fail(err, SW_E_SPEC, "its path '%.200s' is no folder below the volume", path);
    if (out->sub_path && (out->kind == K8S_VOLUME_HOST || out->kind == K8S_VOLUME_NFS)) {
        sw_autofree char *above = out->source, *below = sw_take(out->sub_path);

        out->source = sw_format("%s%s%s", above, sw_text_ends(above, "/") ? "" : "/", below);
    }
    return 0;
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
        sw_fail(err, SW_E_SPEC, "mount '%.200s' means a path of this machine, and pods cannot see it", source);
        return sw_hint(err, "name a persistent volume claim, or a path of the nodes from / on");
    }
    if (mount->flags && strcmp(mount->flags, "ro") != 0 && strcmp(mount->flags, "rw") != 0)
        return sw_fail(err, SW_E_SPEC, "mount '%.200s:%s:%s': its last part is neither ro nor rw", source,
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
    const struct k8s_volume *own;
    const char *sub;

    if (k8s_volumes_read(plan, &all, NULL) < 0 || !(own = at(&all, K8S_RESULTS)) || !is_folder_elsewhere(own))
        return NULL;
    sub = own->sub_path ? own->sub_path : "";
    return own->kind == K8S_VOLUME_PVC
               ? sw_format("pvc:%s/%s%s%s", own->source, sub, *sub ? "/" : "", plan->job_id)
           : own->kind == K8S_VOLUME_NFS ? sw_format("nfs:%s:%s%s%s", own->server, own->source,
                                                     sw_text_ends(own->source, "/") ? "" : "/", plan->job_id)
                                         : sw_format("%s%s%s", own->source,
                                                     sw_text_ends(own->source, "/") ? "" : "/", plan->job_id);
}

char *k8s_results_inside(const struct sw_plan *plan)
{
    sw_autofree char *own = k8s_results_source(plan);

    return own ? sw_format(K8S_RESULTS "/%s", plan->job_id) : sw_strdup(K8S_RESULTS);
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
        bool own = path != NULL;

        for (size_t v = 0; own && v < all.count; v++)
            own = !is_folder_elsewhere(&all.items[v]) || !is_at_or_below(path, all.items[v].target);
        if (own)
            json_object_set_new(entry, "own", json_true());
    }
}

/* ---- inputs and outputs -------------------------------------------------------------------------- */

static const char *path_here(const char *uri)
{
    return uri && (sw_text_starts(uri, "file://") || !strstr(uri, "://")) ? uri : NULL;
}

static int check_paths(const struct sw_plan *plan, struct sw_error *err)
{
    static const char says[] = "%s '%.200s' is a path of this machine, and pods cannot see it";
    size_t i;
    json_t *entry;

    json_array_foreach(plan->inputs, i, entry)
        if (path_here(sw_json_str(entry, "from"))) {
            sw_fail(err, SW_E_SPEC, says, "input", sw_json_str(entry, "from"));
            return sw_hint(err, "put it into a store (s3://, https://), or on a volume that kubernetes.volumes mounts");
        }
    json_array_foreach(plan->outputs, i, entry)
        if (path_here(sw_json_str(entry, "to"))) {
            sw_fail(err, SW_E_SPEC, says, "output", sw_json_str(entry, "to"));
            return sw_hint(err, "leave `to` out and fetch it with `slipway get`, or name a store");
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
    enum { EXECUTABLE = 0555 };

    if (options->runner == K8S_RUNNER_IMAGE)
        return empty(NULL, 0);
    return options->runner == K8S_RUNNER_SECRET
               ? sw_json_object(SW_SUB("secret", sw_json_object(SW_STR("secretName", site->runner ? site->runner : ""),
                                                                SW_INT("defaultMode", EXECUTABLE))))
               : sw_json_object(SW_SUB("configMap", sw_json_object(SW_STR("name", site->runner ? site->runner : ""),
                                                                   SW_INT("defaultMode", EXECUTABLE))));
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

static void add_users(const struct k8s_volumes *all, json_t *volumes, json_t *mounts)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct k8s_volume *one = &all->items[i];

        json_array_append_new(mounts, sw_json_object(
            SW_STR("name", volume_entry(volumes, one, i)), SW_STR("mountPath", one->target),
            SW_STR_OPT("subPath", one->sub_path), SW_SUB("readOnly", one->read_only ? json_true() : NULL)));
    }
}

int k8s_render_volumes(const struct sw_plan *plan, const struct k8s_site *site, json_t *volumes, json_t *mounts,
                       struct sw_error *err)
{
    struct k8s_job_options options = k8s_job_options(plan->options);
    sw_auto(k8s_volumes) struct k8s_volumes all = { 0 };
    char name[K8S_NAME_SIZE];

    if (check_paths(plan, err) < 0 || k8s_volumes_read(plan, &all, err) < 0)
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
    add_users(&all, volumes, mounts);
    return 0;
}
