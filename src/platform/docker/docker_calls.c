/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_calls.c - single questions to the engine about containers, as functions.
 */
#include "platform/docker/docker_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

json_t *docker_inspect(struct docker_api *api, const char *name, struct sw_error *err)
{
    sw_autofree char *path = docker_path("/containers/", name, "/json");
    json_t *reply = NULL;

    if (docker_ask(api, &(struct docker_call){ .path = path }, &reply, err) < 0)
        return NULL;
    if (!json_is_object(reply)) {
        json_decref(reply);
        sw_fail(err, SW_E_REFUSED, "the engine's answer about '%s' is no description of it", name);
        return NULL;
    }
    return reply;
}

int docker_make(struct docker_api *api, const char *name, const json_t *body, char **id,
                struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
    sw_auto(json) json_t *reply = NULL;

    sw_buf_add(&path, "/containers/create");
    sw_rest_query(&path, "name", name);
    if (docker_ask(api, &(struct docker_call){ .method = "POST", .path = sw_buf_text(&path), .json = body },
                   &reply, err) < 0)
        return -1;
    if (!id)
        return 0;
    *id = sw_strdup(sw_json_str(reply, "Id"));
    return *id ? 0 : sw_fail(err, SW_E_UNREACHABLE, "the engine tells no id of '%s'", name);
}

json_t *docker_list(struct docker_api *api, const char *id, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
    json_t *reply = NULL, *label = id ? json_sprintf("%s=%s", LABEL_ID, id)
                                      : json_string(LABEL_ID);

    sw_buf_add(&path, "/containers/json?all=1");
    docker_query_json(&path, "filters", json_pack("{s:[o]}", "label", label));
    if (docker_ask(api, &(struct docker_call){ .path = sw_buf_text(&path) }, &reply, err) < 0)
        return NULL;
    if (!json_is_array(reply)) {
        json_decref(reply);
        sw_fail(err, SW_E_REFUSED, "the engine's list of containers is no list");
        return NULL;
    }
    return reply;
}

int docker_tell(struct docker_api *api, const char *name, const char *verb, struct sw_error *err)
{
    sw_autofree char *path = docker_path("/containers/", name, verb);
    int64_t stall_ms = sw_text_same(verb, "/start") ? DOCKER_START_MS : DOCKER_ORDER_MS;

    return docker_ask(api, &(struct docker_call){ .method = "POST", .path = path,
                                                  .stall_ms = stall_ms }, NULL, err);
}

/* What is gone already is success. */
static int delete_at(struct docker_api *api, const char *path, struct sw_error *why)
{
    return docker_ask(api, &(struct docker_call){ .method = "DELETE", .path = path }, NULL, why) == 0 ||
                   why->code == SW_E_NOT_FOUND ? 0 : -1;
}

int docker_delete(struct docker_api *api, const char *name, bool force, struct sw_error *err)
{
    sw_autofree char *path = docker_path("/containers/", name, force ? "?v=1&force=1" : "?v=1");
    struct sw_error why = { 0 };

    if (delete_at(api, path, &why) == 0)
        return 0;
    /* Another client removes it at this moment. */
    return docker_api_refusal(api) == DOCKER_REMOVAL_IN_PROGRESS ? 0 : sw_pass(err, &why);
}

int docker_forget(struct docker_api *api, const char *kind, const char *name, struct sw_error *err)
{
    sw_autofree char *path = docker_path(kind, name, "");
    struct sw_error why = { 0 };

    return delete_at(api, path, &why) == 0 ? 0 : sw_pass(err, &why);
}

/* ---- files ----------------------------------------------------------------------------------- */

char *docker_archive_path(const char *container, const char *path)
{
    return sw_rest_path("/containers/%s/archive?path=%s", container, path);
}

struct small_tar {
    struct sw_buf bytes;
};

static int take_tar(void *context, const struct sw_http_reply *so_far, const char *bytes,
                    size_t length)
{
    struct small_tar *tar = context;

    (void)so_far;
    if (tar->bytes.length + length > DOCKER_FILE_MAX)
        return -1;
    sw_buf_add_bytes(&tar->bytes, bytes, length);
    return 0;
}

char *docker_file(struct docker_api *api, const char *name, const char *path, size_t *size,
                  struct sw_error *err)
{
    sw_autofree char *url = docker_archive_path(name, path);
    struct small_tar tar = { SW_BUF_INIT };
    char *content = NULL;

    if (docker_ask(api, &(struct docker_call){ .path = url, .sink = take_tar,
                                               .sink_context = &tar, .stall_ms = DOCKER_LONG_MS },
                   NULL, err) == 0) {
        content = sw_tar_first_file(sw_buf_text(&tar.bytes), tar.bytes.length, size);
        if (!content)
            sw_fail(err, SW_E_NOT_FOUND, "'%s' in the container is no file", path);
    }
    sw_buf_done(&tar.bytes);
    return content;
}

int docker_put(struct docker_api *api, const char *name, const char *folder, const void *tar,
               size_t length, struct sw_error *err)
{
    sw_autofree char *url = docker_archive_path(name, folder);

    return docker_ask(api, &(struct docker_call){ .method = "PUT", .path = url, .bytes = tar,
                                                  .length = (int64_t)length }, NULL, err);
}

/* ---- labels ---------------------------------------------------------------------------------- */

const char *docker_label(const json_t *container, const char *name)
{
    const json_t *labels = json_object_get(container, "Labels");

    if (!labels)
        labels = json_object_get(json_object_get(container, "Config"), "Labels");
    return sw_json_str(labels, name);
}

int docker_label_number(const json_t *container, const char *name, int missing)
{
    const char *text = docker_label(container, name);

    return text && *text >= '0' && *text <= '9' ? atoi(text) : missing;
}
