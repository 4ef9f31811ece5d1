/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lepton_site.c - where an attempt runs: node group, shape, mounts and nodes.
 *
 * A job runs in the node group that it names, or nowhere: a shape of another group is never taken instead,
 * and mounts come from the job's own group. Groups, shapes and permissions change rarely, so answers are
 * remembered for ten minutes, for the next process too; a submit that is refused forgets them.
 */
#include "platform/lepton/lepton_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void lepton_site_done(struct lepton_site *site)
{
    free(site->group);
    free(site->shape);
    free(site->arch);
    free(site->pull_secret);
    json_decref(site->mounts);
    json_decref(site->nodes);
    json_decref(site->secrets);
}

/* ---- choices, pure -------------------------------------------------------------------------- */

static void add_name(struct sw_buf *names, const char *name)
{
    sw_buf_addf(names, "%s%s", names->length ? ", " : "", name ? name : "?");
}

const json_t *lepton_group_of(const json_t *groups, const char *wanted, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf names = SW_BUF_INIT;
    json_t *group;
    size_t i;

    json_array_foreach(groups, i, group) {
        if (sw_text_same(lepton_meta(group, "id"), wanted) || sw_text_same(lepton_meta(group, "name"),
                wanted))
            return group;
        add_name(&names, lepton_meta(group, "name") ? lepton_meta(group, "name") : lepton_meta(group, "id"));
    }
    sw_fail(err, SW_E_REFUSED, "lepton.node_group: the workspace has no node group '%s'", wanted);
    sw_hint(err, "it has: %s", names.length ? sw_buf_text(&names) : "none");
    return NULL;
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : 0;
}

static bool shape_fits(const json_t *shape, const struct sw_plan *plan, const char *group)
{
    const json_t *spec = json_object_get(shape, "spec");
    const char *id = lepton_meta(shape, "id"), *type = sw_json_str(spec, "accelerator_type");
    const char *of = sw_json_str(spec, "node_group_id");

    return id && number_of(spec, "accelerator_num") == plan->gpus &&
           (!of || !*of || !group || strcmp(of, group) == 0) &&
           (!plan->gpu_type || (type && strcasestr(type, plan->gpu_type)) || strcasestr(id,
                   plan->gpu_type)) &&
           number_of(spec, "cpu") >= plan->cpus &&
           number_of(spec, "memory_in_mb") * 1024 * 1024 >= (double)plan->memory_bytes;
}

static bool is_smaller(const json_t *a, const json_t *b)
{
    const json_t *one = json_object_get(a, "spec"), *other = json_object_get(b, "spec");
    double cpus = number_of(one, "cpu") - number_of(other, "cpu");

    return cpus != 0 ? cpus < 0 : number_of(one, "memory_in_mb") < number_of(other, "memory_in_mb");
}

const json_t *lepton_shape_of(const json_t *shapes, const struct sw_plan *plan, const char *group,
                              struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf names = SW_BUF_INIT;
    const json_t *best = NULL;
    json_t *shape;
    size_t i;

    json_array_foreach(shapes, i, shape) {
        if (shape_fits(shape, plan, group) && (!best || is_smaller(shape, best)))
            best = shape;
        add_name(&names, lepton_meta(shape, "id"));
    }
    if (best)
        return best;
    sw_fail(err, SW_E_REFUSED, "gpus: %s has no shape with %s%s%d GPU%s%s",
            group ? "the node group" : "the workspace", plan->gpu_type ? plan->gpu_type : "",
            plan->gpu_type ? " x " : "", plan->gpus, sw_text_plural(plan->gpus),
            plan->cpus > 0 || plan->memory_bytes > 0 ? " and these cpus and memory" : "");
    sw_hint(err, "shapes there: %.180s", names.length ? sw_buf_text(&names) : "none");
    return NULL;
}

const char *lepton_arch_of(const json_t *shape)
{
    static const char *const arm[] = { "GH200", "GB200", "GB300", "GB10", "arm", "grace" };
    const char *id = lepton_meta(shape, "id");
    const char *type = sw_json_str(json_object_get(shape, "spec"), "accelerator_type");

    for (size_t i = 0; i < SW_COUNT(arm); i++)
        if ((type && strcasestr(type, arm[i])) || (id && strcasestr(id, arm[i])))
            return "aarch64";
    return "x86_64";
}

static const json_t *volume_named(const json_t *group, const char *name, bool whole)
{
    json_t *volume;
    size_t i;

    json_array_foreach(sw_at(group, "spec.volumes"), i, volume) {
        const char *is = sw_json_str(volume, "name");

        if (is && (!name || (whole ? strcmp(is, name) == 0 : strcasestr(is, name) != NULL)))
            return volume;
    }
    return NULL;
}

const json_t *lepton_volume_of(const json_t *group)
{
    static const char *const wanted[] = { "lustre", "filestore", NULL };
    const json_t *volume = NULL;

    for (size_t i = 0; i < SW_COUNT(wanted) && !volume; i++)
        volume = volume_named(group, wanted[i], false);
    return volume;
}

static bool is_below(const char *path, const char *prefix)
{
    size_t length = strlen(prefix);

    while (length > 0 && prefix[length - 1] == '/')
        length--;
    return strncmp(path, prefix, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

/* Of the service's words "*" is everyone. Who a token belongs to is not known here. */
static bool is_for_everyone(const json_t *permission)
{
    const json_t *users = json_object_get(permission, "allowed_users");
    json_t *user;
    size_t i;

    json_array_foreach(users, i, user)
        if (sw_text_same(json_string_value(user), "*"))
            return true;
    return json_array_size(users) == 0;
}

static bool climbs(const char *path)
{
    for (const char *at = path; at && (at = strstr(at, "..")); at += 2)
        if ((at == path || at[-1] == '/') && (at[2] == '\0' || at[2] == '/'))
            return true;
    return false;
}

/* The path itself, or the first permitted one, that of everyone before those of named users; NULL + err. No
 * permission at all: nothing limits it. */
static const char *permitted(const json_t *permissions, const char *volume, const char *path,
                             struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf names = SW_BUF_INIT;
    const char *first = NULL;
    json_t *entry;
    size_t i;

    json_array_foreach(permissions, i, entry) {
        const char *prefix = sw_json_str(entry, "path_prefix");

        if (prefix && path && is_below(path, prefix) && !climbs(path))
            return path;
        if (prefix && !path && is_for_everyone(entry))
            return prefix;
        first = first ? first : prefix;
        add_name(&names, prefix);
    }
    if (json_array_size(permissions) == 0 && !(path && climbs(path)))
        return path ? path : "/";
    if (!path && first)
        return first;
    sw_fail(err, SW_E_REFUSED, "lepton.volumes: '%s' of volume '%s' may not be mounted", path ? path
            : "/", volume);
    sw_hint(err, "permitted: %s", names.length ? sw_buf_text(&names) : "any folder without '..'");
    return NULL;
}

static bool is_system_path(const char *path)
{
    static const char *const refused[] = {
        "/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/media", "/opt", "/proc", "/run", "/sbin",
        "/srv", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin", "/var", "/sys/fs/cgroup",
        "/sys/kernel/security", "/proc/sys", "/proc/bus" };
    size_t length = strlen(path);

    while (length > 1 && path[length - 1] == '/')
        length--;
    for (size_t i = 0; i < SW_COUNT(refused); i++)
        if (strlen(refused[i]) == length && strncmp(path, refused[i], length) == 0)
            return true;
    return *path != '/';
}

json_t *lepton_mount_of(const json_t *volume, const json_t *permissions, const struct lepton_wanted *wanted,
                        struct sw_error *err)
{
    const char *name = sw_json_str(volume, "name"), *type = sw_json_str(volume, "from");
    const char *path = permitted(permissions, name, wanted->path, err), *at = wanted->at;
    sw_autofree char *from = sw_text_same(type, "local") ? sw_strdup("node-local")
                             : sw_format("node-%s:%s", type ? type : "nfs", name);
    sw_autofree char *mount_path = at ? sw_strdup(at) : sw_format("/mnt/%s", name);

    if (!path)
        return NULL;
    if (is_system_path(mount_path)) {
        sw_fail(err, SW_E_SPEC, "lepton.volumes: nothing can be mounted at '%s'", mount_path);
        return NULL;
    }
    return sw_json_object(
        SW_STR("from", from), SW_STR("path", path), SW_STR("mount_path", mount_path),
        SW_SUB("mount_options", wanted->read_only
                   ? sw_json_object(SW_BOOL("read_only", true)) : NULL));
}

json_t *lepton_nodes_but(const json_t *nodes, const json_t *allowed, const json_t *avoid,
                         struct sw_error *err)
{
    sw_auto(json) json_t *left = json_array();
    json_t *node;
    size_t i;

    json_array_foreach(nodes, i, node) {
        const char *id = lepton_meta(node, "id"), *called = lepton_meta(node, "name");

        if (id && !sw_json_lists(avoid, id) && !sw_json_lists(avoid, called) &&
            (json_array_size(allowed) == 0 || sw_json_lists(allowed, id) || sw_json_lists(allowed, called)))
            json_array_append_new(left, json_string(id));
    }
    if (json_array_size(left))
        return sw_take(left);
    sw_fail(err, SW_E_REFUSED, "the node group has no nodes other than those to avoid");
    return NULL;
}

const char *lepton_shared(const struct lepton_site *site)
{
    const json_t *first = json_array_get(site->mounts, 0);

    return sw_json_bool(json_object_get(first, "mount_options"), "read_only", false) ||
           sw_text_same(sw_json_str(first, "from"), "node-local") ? NULL : sw_json_str(first, "mount_path");
}

char *lepton_results(const struct lepton_site *site, const char *id)
{
    const char *shared = lepton_shared(site);

    return shared ? sw_format("%s/results/%s", shared, id) : sw_strdup("/results");
}

/* ---- questions ------------------------------------------------------------------------------ */

static int add_mount(struct sw_connection *conn, const json_t *volume, const struct lepton_wanted *wanted,
                     struct lepton_site *out, struct sw_error *err)
{
    sw_autofree char *start = sw_rest_path("/storage-permission/%s", sw_json_str(volume, "name"));
    sw_autofree char *path = sw_format("%s?nodegroup_id=%s", start, out->group);
    struct sw_error why = { 0 };
    sw_auto(json) json_t *permissions = sw_cloud_fact(conn, path, false, &why);
    json_t *mount;

    if (!permissions && why.code != SW_E_NOT_FOUND)
        return sw_pass(err, &why);
    mount = lepton_mount_of(volume, permissions, wanted, err);
    return mount ? json_array_append_new(out->mounts, mount) : -1;
}

static int find_mounts(struct sw_connection *conn, const json_t *wanted, const json_t *group,
                       struct lepton_site *out, struct sw_error *err)
{
    const json_t *first = lepton_volume_of(group);
    const char *at;
    json_t *entry;

    out->mounts = json_array();
    if (!wanted)
        return first ? add_mount(conn, first, &(struct lepton_wanted){ 0 }, out, err) : 0;
    json_object_foreach((json_t *)wanted, at, entry) {
        const char *said = json_is_string(entry) ? json_string_value(entry) : sw_json_str(entry, "source");
        const char *source = said ? said : "";
        sw_autofree char *name = sw_strndup(source, strcspn(source, "/"));
        const json_t *volume = *name ? volume_named(group, name, true) : first;      /* "/PATH": of that */

        if (!volume)
            return sw_fail(err, SW_E_REFUSED, "lepton.volumes: the node group has no volume '%s'", name);
        if (add_mount(conn, volume, &(struct lepton_wanted){ source[strlen(name)]
                                                             ? source + strlen(name) : NULL, at,
                                                             sw_json_bool(entry, "read_only",
                                                                     false) }, out, err) < 0)
            return -1;
    }
    return 0;
}

static int find_nodes(struct sw_connection *conn, const struct sw_plan *plan, const json_t *allowed,
                      struct lepton_site *out, struct sw_error *err)
{
    sw_autofree char *path = out->group ? sw_rest_path("/dedicated-node-groups/%s/nodes", out->group) : NULL;
    sw_auto(json) json_t *nodes = NULL;

    if (!path || json_array_size(plan->avoid) == 0) {
        out->nodes = json_array_size(allowed) ? json_deep_copy(allowed) : NULL;
        return 0;
    }
    nodes = sw_cloud_fact(conn, path, false, err);
    out->nodes = nodes ? lepton_nodes_but(nodes, allowed, plan->avoid, err) : NULL;
    return out->nodes ? 0 : -1;
}

/* Shared machines: are they for this workspace, and does its quota ever allow so many GPUs? */
static int check_shared(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(json) json_t *workspace = sw_cloud_fact(conn, "/workspace", false, err);
    int64_t most = json_integer_value(sw_at(workspace, "resource_quota.limit.accelerator_num"));

    if (!workspace)
        return -1;
    if (sw_json_bool(workspace, "dedicated_node_group_only", false)) {
        sw_fail(err, SW_E_SPEC, "lepton.node_group: this workspace has no shared machines");
        return sw_hint(err, "`slipway inventory lepton` lists its node groups");
    }
    return most > 0 && (int64_t)plan->gpus * plan->nodes > most
               ? sw_fail(err, SW_E_REFUSED, "gpus: the job needs %d GPU%s; the workspace's quota is %lld",
                         plan->gpus * plan->nodes, sw_text_plural(plan->gpus * plan->nodes),
                         (long long)most) : 0;
}

static int find_shape(struct sw_connection *conn, const struct sw_plan *plan, const char *given,
                      struct lepton_site *out, struct sw_error *err)
{
    sw_autofree char *path = out->group ? sw_rest_path("/shapes?node_groups=%s&purpose=job", out->group)
                                        : sw_strdup("/shapes?purpose=job");
    sw_auto(json) json_t *shapes = given ? NULL : sw_cloud_fact(conn, path, false, err), *named = NULL;
    const json_t *shape = NULL;

    if (given)
        shape = named = json_pack("{s:{s:s}}", "metadata", "id", given);
    else if (!shapes || !(shape = lepton_shape_of(shapes, plan, out->group, err)))
        return -1;
    out->shape = sw_strdup(lepton_meta(shape, "id"));
    if (!out->arch)
        out->arch = sw_strdup(lepton_arch_of(shape));
    return 0;
}

int lepton_find_site(struct sw_connection *conn, const struct sw_plan *plan, struct lepton_site *out,
                     struct sw_error *err)
{
    struct lepton_job_options options = lepton_job_options(plan->options);
    sw_auto(json) json_t *groups = NULL;
    const json_t *group = NULL;
    bool queued = options.priority || options.preemptible || options.can_preempt;

    out->arch = sw_text_same(options.arch, "auto") ? NULL : sw_strdup(options.arch);
    if (!options.node_group)
        return check_shared(conn, plan, err) < 0 ? -1 : find_shape(conn, plan, options.resource_shape,
                                                                   out, err);
    groups = sw_cloud_fact(conn, "/dedicated-node-groups", false, err);
    group = groups ? lepton_group_of(groups, options.node_group, err) : NULL;
    if (!group)
        return -1;
    out->group = sw_strdup(lepton_meta(group, "id"));
    if (queued && !sw_json_bool(json_object_get(group, "status"), "quota_enabled", false))
        return sw_fail(err, SW_E_REFUSED, "lepton.priority: node group '%s' has no quotas, so no priorities",
                       options.node_group);
    return find_shape(conn, plan, options.resource_shape, out, err) < 0 ||
           find_mounts(conn, options.volumes, group, out, err) < 0 ||
           find_nodes(conn, plan, options.allowed_nodes, out, err) < 0 ? -1 : 0;
}
