/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.c - data without jobs: copy, list and check anything that has a path or a URI.
 */
#include <string.h>

#include "api/api_internal.h"
#include "api/copy.h"
#include "base/clock.h"
#include "base/shown.h"
#include "base/text.h"
#include "storage/transfer.h"

#define WOULD_MOST 100000          /* lines of a dry run that are kept */
#define LEFT_OUT_MOST 100          /* names of what was left out; the count tells of the rest */

/* A client whose credentials come from the environment and the user's own .env. The session (may be NULL)
 * warns of that file. */
struct values_client {
    struct sw_environment *values;
    struct sw_transfer_client *client;
};

static void values_client_auto(struct values_client *with)
{
    sw_transfer_close(with->client);
    sw_environment_free(with->values);
}

static int open_client(struct sw_session *session, int jobs, const char *state_dir,
                       struct values_client *out, struct sw_error *err)
{
    sw_autofree char *home = sw_dotenv_home();
    struct sw_transfer_options options = { .jobs = jobs, .state_dir = state_dir };

    out->values = sw_environment_new();
    sw_dotenv_load(home, out->values, session ? api_warn : NULL, session);
    options.storage.env = sw_environment_get;
    options.storage.env_context = out->values;
    out->client = sw_transfer_open(&options, err);
    return out->client ? 0 : -1;
}

struct api_copying {
    sw_copy_progress_fn *progress;
    void *context;
    json_t *would;                 /* NULL: copy; else the list of what would be copied */
    json_t *left_out;
};

static int on_progress(void *context, const struct sw_copy_progress *progress)
{
    const struct api_copying *copying = context;

    return copying->progress ? copying->progress(copying->context, progress) : 0;
}

static int on_moved(void *context, enum sw_moved_how how, const char *relative,
                    const struct sw_object *object, const struct sw_error *why)
{
    static const char *const words[] = {
        [SW_MOVED_COPIED] = "copy", [SW_MOVED_SAME] = "same", [SW_MOVED_REMOVED] = "remove",
        [SW_MOVED_FAILED] = "fail",
    };
    const struct api_copying *copying = context;

    if (how == SW_MOVED_LEFT_OUT && json_array_size(copying->left_out) < LEFT_OUT_MOST)
        json_array_append_new(copying->left_out, sw_json_text(why->message));
    else if (how != SW_MOVED_LEFT_OUT && how != SW_MOVED_SAME && copying->would &&
             json_array_size(copying->would) < WOULD_MOST)
        json_array_append_new(copying->would,
                              sw_json_object(SW_STR("what", words[how]), SW_STR("name", relative),
                                             SW_INT("size", object->size)));
    return 0;
}

/* Nothing was found there: when not even the bucket is, that is the reason. */
static void name_bucket(struct sw_transfer_client *client, const char *from, struct sw_error *err)
{
    sw_auto(sw_object) struct sw_object object = { .size = -1 };
    struct sw_error why = { 0 };

    if (err && err->code == SW_E_NOT_FOUND && sw_transfer_stat(client, from, &object, &why) < 0 &&
        why.code == SW_E_NOT_FOUND)
        *err = why;
}

char *sw_copy(struct sw_session *session, const char *from, const char *to,
              const struct sw_copy_options *options, sw_copy_progress_fn *progress, void *context,
              struct sw_error *err)
{
    static const struct sw_copy_options none;
    struct sw_copy_report report = { 0 };
    struct api_copying copying = { .progress = progress, .context = context };
    sw_autofree char *from_shown = sw_uri_shown(from), *to_shown = sw_uri_shown(to);
    sw_autofree char *state_dir = sw_strdup(session ? session->state_dir : NULL);
    sw_auto(values_client) struct values_client with = { 0 };
    sw_auto(json) json_t *would = NULL, *left_out = json_array();
    struct sw_copy_rules rules;

    state_dir = state_dir ? state_dir : api_state_dir();
    options = options ? options : &none;
    rules = (struct sw_copy_rules){
        .recursive = options->recursive, .force = options->force, .checksum = options->checksum,
        .remove_extra = options->remove_extra, .dry_run = options->dry_run,
        .include = options->include, .include_count = options->include_count,
        .exclude = options->exclude, .exclude_count = options->exclude_count,
        .follow_links = options->follow_links,
        .progress = on_progress, .moved = on_moved, .context = &copying,
    };
    copying.left_out = left_out;
    if (options->dry_run)
        copying.would = would = json_array();
    if (open_client(session, options->jobs, state_dir, &with, err) < 0)
        return NULL;
    if (sw_transfer_copy(with.client, from, to, &rules, &report, err) < 0) {
        name_bucket(with.client, from, err);
        return NULL;
    }
    return api_document("cp", sw_json_object(
        SW_INT("files", report.files), SW_INT("bytes", report.bytes), SW_INT("same", report.same),
        SW_INT("removed", report.removed), SW_INT("failed", report.failed),
        SW_INT("elapsed_ms", report.elapsed_ms), SW_STR("from", from_shown), SW_STR("to", to_shown),
        SW_INT("left_out", report.left_out), SW_SUB("left_out_names", sw_take(left_out)),
        SW_SUB("would", sw_take(would))));
}

int api_check_uri(struct sw_session *session, const char *uri, bool *exists, struct sw_error *err)
{
    sw_auto(values_client) struct values_client with = { 0 };
    sw_auto(sw_object) struct sw_object found = { .size = -1 };

    struct sw_error why = { 0 };

    if (open_client(session, 0, NULL, &with, err) < 0)
        return -1;
    *exists = sw_transfer_stat(with.client, uri, &found, &why) == 0 && found.kind != SW_OBJECT_NONE;
    if (why.code == SW_OK || why.code == SW_E_NOT_FOUND)        /* not even its bucket */
        return 0;
    return sw_pass(err, &why);
}

static int append_name(void *context, struct sw_object *object)
{
    json_array_append_new(context, sw_json_text(object->name));
    return 0;
}

char *api_list_uri(struct sw_session *session, const char *uri, struct sw_error *err)
{
    sw_auto(values_client) struct values_client with = { 0 };
    sw_auto(json) json_t *names = json_array();

    if (open_client(session, 0, NULL, &with, err) < 0 ||
        sw_transfer_list(with.client, uri, false, append_name, names, err) < 0)
        return NULL;
    return api_text(sw_take(names));
}

static int append_object(void *context, struct sw_object *object)
{
    static const char *const kinds[] = { "none", "file", "folder" };
    char at[40];
    const char *modified = object->mtime_ms ? at : NULL;

    sw_time_format(object->mtime_ms, at);
    json_array_append_new(context,
                          sw_json_object(SW_STR("name", object->name),
                                         SW_STR("kind", kinds[object->kind]),
                                         object->size < 0 ? SW_NULL("size")
                                                          : SW_INT("size", object->size),
                                         SW_STR_OPT("modified", modified),
                                         SW_STR_OPT("etag", object->etag)));
    return 0;
}

char *sw_list_uri(struct sw_session *session, const char *uri, bool recursive, struct sw_error *err)
{
    sw_auto(values_client) struct values_client with = { 0 };
    sw_auto(json) json_t *objects = json_array();
    sw_auto(sw_object) struct sw_object self = { .size = -1 };
    sw_autofree char *shown = sw_uri_shown(uri);

    if (open_client(session, 0, NULL, &with, err) < 0 ||
        sw_transfer_stat(with.client, uri, &self, err) < 0)
        return NULL;
    if (self.kind == SW_OBJECT_NONE)
        return sw_null(sw_fail(err, SW_E_NOT_FOUND, "nothing found at '%s'", uri));
    if (self.kind == SW_OBJECT_FILE) {
        free(self.name);
        self.name = sw_uri_name(uri);
        append_object(objects, &self);
    } else if (sw_transfer_list(with.client, uri, recursive, append_object, objects, err) < 0) {
        return NULL;
    }
    return api_document("ls", sw_json_object(SW_STR("uri", shown), SW_SUB("objects", sw_take(objects))));
}

char *sw_check_uri(struct sw_session *session, const char *uri, struct sw_error *err)
{
    static const char *const kinds[] = { "none", "file", "folder" };
    sw_auto(values_client) struct values_client with = { 0 };
    sw_auto(sw_object) struct sw_object found = { .size = -1 };
    sw_autofree char *shown = sw_uri_shown(uri);

    if (open_client(session, 0, NULL, &with, err) < 0 ||
        sw_transfer_stat(with.client, uri, &found, err) < 0)
        return NULL;
    return api_document_other("check", sw_json_object(
        SW_STR("uri", shown), SW_BOOL("exists", found.kind != SW_OBJECT_NONE),
        SW_STR("kind", kinds[found.kind]),
        found.size < 0 ? SW_NULL("size") : SW_INT("size", found.size), SW_STR("etag", found.etag)));
}
