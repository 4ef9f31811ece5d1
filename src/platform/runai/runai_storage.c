/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai_storage.c - `runai.volumes` becomes the data sources of a workload, one function for each kind. Pure.
 */
#include "platform/runai/runai_internal.h"

#include <string.h>

#include "base/text.h"

struct volume {                      /* all borrowed */
    const char *path;                /* in the container */
    const char *source;              /* behind the prefix */
    const json_t *said;              /* the fields */
};

static json_t *read_only(const struct volume *v)
{
    return sw_json_bool(v->said, "read_only", false) ? json_true() : NULL;
}

/* With a size it is made for this job, and goes with it. */
static json_t *pvc(const struct volume *v)
{
    const char *size = sw_json_str(v->said, "size");

    return sw_json_object(
        SW_STR("path", v->path), SW_BOOL("existingPvc", !size),
        SW_STR_OPT("claimName", *v->source ? v->source : NULL), SW_SUB("readOnly", read_only(v)),
        SW_SUB("ephemeral", size ? json_true() : NULL),
        SW_SUB("claimInfo", !size ? NULL : sw_json_object(
            SW_STR("size", size), SW_STR_OPT("storageClass", sw_json_str(v->said, "storage_class")),
            SW_SUB("accessModes", sw_json_object(SW_BOOL("readWriteMany", true))),
            SW_STR("volumeMode", "Filesystem"))));
}

static json_t *nfs(const struct volume *v)
{
    const char *colon = strchr(v->source, ':');
    sw_autofree char *server = colon ? sw_strndup(v->source, (size_t)(colon - v->source)) : NULL;

    return !colon || colon[1] != '/' || !*server ? NULL : sw_json_object(
        SW_STR("path", colon + 1), SW_STR("server", server), SW_STR("mountPath", v->path),
        SW_SUB("readOnly", read_only(v)));
}

static json_t *host_path(const struct volume *v)
{
    return sw_json_object(SW_STR("path", v->source), SW_STR("mountPath", v->path),
                          SW_SUB("readOnly", read_only(v)));
}

static json_t *s3(const struct volume *v)
{
    const char *key = sw_json_str(v->said, "access_key");

    return !*v->source ? NULL : sw_json_object(
        SW_STR("bucket", v->source), SW_STR("path", v->path), SW_STR_OPT("url", sw_json_str(v->said, "url")),
        SW_STR_OPT("accessKeySecret", key), SW_STR_OPT("secretKeyOfAccessKeyId", key ? "AccessKeyId" : NULL),
        SW_STR_OPT("secretKeyOfSecretKey", key ? "SecretKey" : NULL));
}

static json_t *config_map(const struct volume *v)
{
    return !*v->source ? NULL : sw_json_object(SW_STR("configMap", v->source), SW_STR("mountPath", v->path),
                                               SW_STR_OPT("subPath", sw_json_str(v->said, "sub_path")));
}

static json_t *secret(const struct volume *v)
{
    return !*v->source ? NULL : sw_json_object(SW_STR("secret", v->source), SW_STR("mountPath", v->path));
}

static json_t *empty(const struct volume *v)
{
    return *v->source ? NULL : sw_json_object(SW_STR("path", v->path));
}

static const struct volume_kind {
    const char *prefix, *list;
    json_t *(*render)(const struct volume *volume);     /* NULL: its source is not of this kind */
    const char *fields;                                 /* that it takes besides `source` */
} kinds[] = {
    { "pvc:", "pvc", pvc, "read_only size storage_class" },
    { "nfs:", "nfs", nfs, "read_only" },
    { "s3:", "s3", s3, "url access_key" },
    { "config_map:", "configMapVolume", config_map, "sub_path" },
    { "secret:", "secretVolume", secret, "" },
    { "empty", "emptyDirVolume", empty, "" },
    { "/", "hostPath", host_path, "read_only" },
};

static int wrong(const char *path, const char *why, const char *what, struct sw_error *err)
{
    return sw_fail(err, SW_E_SPEC, "runai.volumes.%.100s: %s '%.100s'", path, why, what);
}

static int check_fields(const struct volume *v, const struct volume_kind *kind, struct sw_error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)v->said, name, value)
        if (strcmp(name, "source") != 0 && !strstr(kind->fields, name))
            return wrong(v->path, "a source of this kind has no", name, err);
    if (kind->render == pvc && !*v->source && !sw_json_str(v->said, "size"))
        return wrong(v->path, "a new claim needs a size:", "pvc:", err);
    return 0;
}

static int add_volume(json_t *storage, const char *path, const json_t *said, struct sw_error *err)
{
    const char *source = json_is_string(said) ? json_string_value(said) : sw_json_str(said, "source");
    struct volume v = { .path = strcmp(path, RUNAI_RESULTS) == 0 ? RUNAI_VOLUME : path,
                        .said = json_is_object(said) ? said : NULL };
    const struct volume_kind *kind = kinds;
    json_t *row;

    if (*path != '/' || !source)
        return wrong(path, "it needs an absolute path and a source:", source ? source : "", err);
    while (kind < kinds + SW_COUNT(kinds) && !sw_text_starts(source, kind->prefix))
        kind++;
    if (kind == kinds + SW_COUNT(kinds))
        return wrong(path, "no such kind of source:", source, err);
    v.source = kind->render == host_path ? source : source + strlen(kind->prefix);
    if (check_fields(&v, kind, err) < 0)
        return -1;
    row = kind->render(&v);
    if (!row)
        return wrong(path, "this source cannot be read:", source, err);
    if (!json_object_get(storage, kind->list))
        json_object_set_new(storage, kind->list, json_array());
    json_array_append_new(json_object_get(storage, kind->list), row);
    return 0;
}

json_t *runai_storage(const struct sw_plan *plan, struct sw_error *err)
{
    const json_t *volumes = runai_job_options(plan->options).volumes;
    sw_auto(json) json_t *storage = json_object();
    const char *path;
    json_t *said;

    json_object_foreach((json_t *)volumes, path, said)
        if (add_volume(storage, path, said, err) < 0)
            return NULL;
    return sw_take(storage);
}
