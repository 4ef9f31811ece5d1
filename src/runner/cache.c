/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.c - inputs on a mount that many jobs share: s3://bucket/path is <mount>/bucket/path.
 *
 * A file there is used only when a record beside the cache (<mount>/.slipway-cache/) says that it
 * was fetched whole, with the length and the ETag that the server still names, and it still has that
 * length. Anything else is fetched again and takes its name by rename, so a job that reads the old
 * one goes on reading it. That a file is there never proves that it is complete.
 */
#include "runner/runner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "runner/lease.h"

enum { RECORD_MAX = 256 * 1024 * 1024 };

struct cache_visit {
    const char *path;              /* of the file or folder in the cache */
    json_t *files;                 /* what the record said: name -> {"etag","size"} */
    json_t *now;                   /* what it will say */
    char **only;                   /* names that have to be fetched */
    size_t only_count;
    int64_t same;
    const struct runner_fetch_request *request;
    bool is_folder;
};

static void visit_auto(struct cache_visit *visit)
{
    json_decref(visit->files);
    json_decref(visit->now);
    for (size_t i = 0; i < visit->only_count; i++)
        free(visit->only[i]);
    free(visit->only);
}

static bool is_as_recorded(const struct cache_visit *visit, const char *name,
                           const struct sw_object *object)
{
    const json_t *known = json_object_get(visit->files, name);
    sw_autofree char *path = *name ? sw_path_join(visit->path, name) : sw_strdup(visit->path);
    struct stat info;

    return known && object->etag && sw_text_same(sw_json_str(known, "etag"), object->etag) &&
           sw_json_int(known, "size", -1) == object->size && stat(path, &info) == 0 &&
           S_ISREG(info.st_mode) && info.st_size == object->size;
}

static void record(struct cache_visit *visit, const char *name, const struct sw_object *object)
{
    json_object_set_new(visit->now, name, sw_json_object(SW_STR_OPT("etag", object->etag),
                                                         SW_INT("size", object->size)));
}

static bool is_wanted(const struct runner_fetch_request *request, const char *name)
{
    for (size_t i = 0; i < request->only_count; i++)
        if (strcmp(request->only[i], name) == 0)
            return true;
    return request->only_count == 0;
}

static int compare(void *context, struct sw_object *object)
{
    struct cache_visit *visit = context;
    const char *name = object->name ? object->name : "";

    if (object->kind != SW_OBJECT_FILE || !is_wanted(visit->request, name))
        return 0;
    if (is_as_recorded(visit, name, object)) {
        record(visit, name, object);
        visit->same++;
        return 0;
    }
    visit->only = sw_realloc_array(visit->only, visit->only_count + 1, sizeof *visit->only);
    visit->only[visit->only_count++] = sw_strdup(name);
    return 0;
}

/* What arrived is what the record says, not what the listing promised. */
static int arrived(void *context, enum sw_moved_how how, const char *relative,
                   const struct sw_object *object, const struct sw_error *why)
{
    struct cache_visit *visit = context;

    (void)why;
    if ((how == SW_MOVED_COPIED || how == SW_MOVED_SAME) && object)
        record(visit, visit->is_folder ? relative : "", object);
    return 0;
}

/* What the record knew and the server does not have any more would mislead a job that reads the
 * folder. Files that the record never knew belong to other jobs. */
static void remove_vanished(const struct cache_visit *visit)
{
    const char *name;
    json_t *entry;

    if (!visit->is_folder || visit->request->only_count)
        return;
    json_object_foreach(visit->files, name, entry) {
        sw_autofree char *path = sw_path_join(visit->path, name);

        if (!json_object_get(visit->now, name) && sw_name_check(name, NULL) == 0)
            unlink(path);
    }
}

static json_t *read_record(const char *path, const char *uri)
{
    size_t length = 0;
    sw_autofree char *text = sw_file_exists(path) ? sw_file_read(path, RECORD_MAX, &length, NULL)
                                                  : NULL;
    sw_auto(json) json_t *json = text ? json_loadb(text, length, 0, NULL) : NULL;
    json_t *files = json_object_get(json, "files");

    if (json_is_object(files) && sw_text_same(sw_json_str(json, "uri"), uri))
        return json_incref(files);
    return json_object();
}

static int write_record(const char *path, const struct cache_visit *visit, struct sw_error *err)
{
    sw_auto(json) json_t *json = sw_json_object(SW_INT("version", 1),
                                                SW_STR("uri", visit->request->uri),
                                                SW_SUB("files", json_object()));
    json_t *files = json_object_get(json, "files");
    sw_autofree char *text = NULL;

    if (visit->request->only_count)                 /* a part was asked for: the rest stays known */
        json_object_update(files, visit->files);
    json_object_update(files, visit->now);
    text = sw_json_dump(json);
    return sw_file_write(path, text, strlen(text), 0666, err);
}

static int refresh(struct runner *runner, struct cache_visit *visit, const struct sw_object *object,
                   struct sw_error *err)
{
    struct sw_copy_rules rules = { .recursive = visit->is_folder, .force = true,
                                   .moved = arrived, .context = visit };
    struct sw_copy_report report = { 0 };
    sw_autofree char *folder = runner_folder_of(visit->path);
    int result;

    if (visit->is_folder) {
        if (sw_transfer_list(runner->client, visit->request->uri, true, compare, visit, err) < 0)
            return -1;
        rules.only = (const char *const *)visit->only;
        rules.only_count = visit->only_count;
    } else if (is_as_recorded(visit, "", object)) {
        record(visit, "", object);
        visit->same++;
    }
    if (visit->same && (visit->is_folder ? visit->only_count == 0 : true)) {
        runner_log("input %s: %lld file%s from the shared cache", visit->request->uri,
                   (long long)visit->same, sw_text_plural((double)visit->same));
        return 0;
    }
    if (sw_mkdirs(visit->is_folder ? visit->path : folder, 0777, err) < 0)
        return -1;
    result = runner_copy_counted(runner, RUNNER_IN, visit->request->uri, visit->path, &rules, &report, err);
    runner_log("input %s: %lld file%s, %lld bytes fetched into the shared cache, %lld cached",
               visit->request->uri, (long long)report.files, sw_text_plural((double)report.files),
               (long long)report.bytes, (long long)visit->same);
    return result;
}

static char *no_cache(struct sw_error *err, const char *path)
{
    return sw_null(sw_fail_errno(err, SW_E_UNSUPPORTED, "cannot write to '%s'", path));
}

/* A key may hold any bytes, ".." too; a path below the mount may not. */
static bool leads_out(const char *path)
{
    return strstr(path, "/../") || sw_text_ends(path, "/..");
}

char *runner_cache_fetch(struct runner *runner, const struct runner_fetch_request *request,
                         const struct sw_object *object, struct sw_error *err)
{
    __attribute__((cleanup(visit_auto))) struct cache_visit visit = {
        .request = request, .is_folder = object->kind == SW_OBJECT_FOLDER, .now = json_object() };
    sw_autofree char *path = runner_mount_path(runner->payload->cache_dir, request->uri);
    sw_autofree char *records = sw_path_join(runner->payload->cache_dir, ".slipway-cache");
    sw_autofree char *file = NULL, *lock = NULL;
    sw_auto(lease) struct lease *lease = NULL;
    char hash[SW_DIGEST_HEX];
    int result;

    while (strlen(path) > 1 && path[strlen(path) - 1] == '/')
        path[strlen(path) - 1] = '\0';
    if (leads_out(path))
        return sw_null(sw_fail(err, SW_E_UNSUPPORTED, "'%s' is not a path of the cache",
                               request->uri));
    visit.path = path;
    sw_sha256_hex(request->uri, strlen(request->uri), hash);
    hash[32] = '\0';
    file = sw_format("%s/%s.json", records, hash);
    lock = sw_format("%s/%s.lock", records, hash);
    if (sw_mkdirs(records, 0777, NULL) < 0 || access(records, W_OK) < 0)
        return no_cache(err, records);
    if (lease_take(lock, NULL, &lease, err) < 0)
        return NULL;
    visit.files = read_record(file, request->uri);
    result = refresh(runner, &visit, object, err);
    if (result == 0)
        remove_vanished(&visit);
    if (write_record(file, &visit, result == 0 ? err : NULL) < 0)
        result = -1;
    return result == 0 ? sw_take(path) : NULL;
}
