/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_calls.c - single questions to the engine about containers and networks, as functions.
 */
#include "platform/docker/docker_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/secret.h"
#include "base/text.h"

static json_t *get(struct docker_api *api, char *path, json_type type, struct sw_error *err)
{
    sw_autofree char *owned = path;
    sw_auto(json) json_t *reply = NULL;

    if (docker_ask(api, &(struct sw_rest_call){ .path = owned }, &reply, err) < 0)
        return NULL;
    if (reply && json_typeof(reply) == type)
        return sw_take(reply);
    sw_fail(err, SW_E_REFUSED, "unexpected answer from the engine to %.200s", owned);
    return NULL;
}

json_t *docker_get(struct docker_api *api, char *path, struct sw_error *err)
{
    return get(api, path, JSON_OBJECT, err);
}

json_t *docker_get_list(struct docker_api *api, char *path, struct sw_error *err)
{
    return get(api, path, JSON_ARRAY, err);
}

int docker_is_there(struct docker_api *api, char *path, struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *found = docker_get(api, path, &why);

    return found ? 1 : why.code == SW_E_NOT_FOUND ? 0 : sw_pass(err, &why);
}

json_t *docker_inspect(struct docker_api *api, const char *name, struct sw_error *err)
{
    return docker_get(api, sw_rest_path("/containers/%s/json", name), err);
}

json_t *docker_inspect_image(struct docker_api *api, const char *name, struct sw_error *err)
{
    return docker_get(api, sw_rest_path("/images/%s/json", name), err);
}

int docker_make(struct docker_api *api, const char *name, const json_t *body, char **id,
                struct sw_error *err)
{
    sw_autofree char *path = sw_rest_path("/containers/create?name=%s", name);
    sw_auto(json) json_t *reply = NULL;

    if (docker_ask(api, &(struct sw_rest_call){ .method = "POST", .path = path, .json = body },
                   &reply, err) < 0)
        return -1;
    if (!id)
        return 0;
    *id = sw_strdup(sw_json_str(reply, "Id"));
    return *id ? 0 : sw_fail(err, SW_E_UNREACHABLE, "the engine returned no id for '%s'", name);
}

json_t *docker_list(struct docker_api *api, const char *id, struct sw_error *err)
{
    json_t *label = id ? json_sprintf("%s=%s", LABEL_ID, id) : json_string(LABEL_ID);

    return docker_get_list(api, docker_filtered("/containers/json?all=1",
                                                json_pack("{s:[o]}", "label", label)), err);
}

int docker_tell(struct docker_api *api, const char *name, const char *verb, struct sw_error *err)
{
    sw_autofree char *encoded = sw_rest_path("/containers/%s", name);
    sw_autofree char *path = sw_format("%s%s", encoded, verb);
    int64_t stall_ms = sw_text_same(verb, "/start") ? DOCKER_START_MS : DOCKER_ORDER_MS;

    return docker_ask(api, &(struct sw_rest_call){ .method = "POST", .path = path,
                                                   .stall_ms = stall_ms }, NULL, err);
}

int docker_forget(struct docker_api *api, char *path, struct sw_error *err)
{
    sw_autofree char *owned = path;
    struct sw_error why = { 0 };

    if (docker_ask(api, &(struct sw_rest_call){ .method = "DELETE", .path = owned }, NULL,
                   &why) == 0 || why.code == SW_E_NOT_FOUND ||
        api->refusal == DOCKER_REMOVAL_IN_PROGRESS)       /* by another client */
        return 0;
    return sw_pass(err, &why);
}

int docker_delete(struct docker_api *api, const char *name, bool force, struct sw_error *err)
{
    return docker_forget(api, sw_rest_path("/containers/%s?v=1&force=%d", name, force), err);
}

/* ---- files ----------------------------------------------------------------------------------- */

char *docker_archive_path(const char *container, const char *path)
{
    return sw_rest_path("/containers/%s/archive?path=%s", container, path);
}

struct archive {
    struct sw_buf bytes;             /* may hold secrets, wiped */
    size_t most;
};

static int take_archive(void *context, const struct sw_http_reply *so_far, const char *bytes,
                        size_t length)
{
    struct archive *archive = context;

    (void)so_far;
    if (archive->bytes.length + length > archive->most)
        return -1;
    sw_buf_reserve_wiping(&archive->bytes, length);
    sw_buf_add_bytes(&archive->bytes, bytes, length);
    return 0;
}

static int get_archive(struct docker_api *api, const char *name, const char *path,
                       struct archive *out, struct sw_error *err)
{
    sw_autofree char *url = docker_archive_path(name, path);

    return docker_ask(api, &(struct sw_rest_call){ .path = url, .sink = take_archive,
                                                   .sink_context = out, .stall_ms = DOCKER_LONG_MS },
                      NULL, err);
}

char *docker_file(struct docker_api *api, const char *name, const char *path, size_t *size,
                  struct sw_error *err)
{
    struct archive tar = { SW_BUF_INIT, DOCKER_FILE_MAX };
    char *content = NULL;

    if (get_archive(api, name, path, &tar, err) == 0) {
        content = sw_tar_first_file(sw_buf_text(&tar.bytes), tar.bytes.length, size);
        if (!content)
            sw_fail(err, SW_E_NOT_FOUND, "'%s' in the container is not a file", path);
    }
    sw_buf_wipe(&tar.bytes);
    return content;
}

int docker_find_file(struct docker_api *api, const char *name, const char *path, char **text,
                     size_t *size, struct sw_error *err)
{
    struct sw_error why = { 0 };

    *text = docker_file(api, name, path, size, &why);
    return *text || why.code == SW_E_NOT_FOUND ? 0 : sw_pass(err, &why);
}

int docker_move_files(struct docker_api *api, const char *from, const char *to,
                      struct sw_error *err)
{
    struct archive tar = { SW_BUF_INIT, DOCKER_FILES_MAX };
    int result = get_archive(api, from, DOCKER_HOME, &tar, err);

    if (result == 0)
        result = docker_put(api, to, "/", tar.bytes.data, tar.bytes.length, err);
    sw_buf_wipe(&tar.bytes);
    return result;
}

int docker_put(struct docker_api *api, const char *name, const char *folder, const void *tar,
               size_t length, struct sw_error *err)
{
    sw_autofree char *url = docker_archive_path(name, folder);

    return docker_ask(api, &(struct sw_rest_call){ .method = "PUT", .path = url, .bytes = tar,
                                                   .length = (int64_t)length }, NULL, err);
}

/* ---- networks -----------------------------------------------------------------------------------
 * Ours is made when it is missing, and removed with the last container in it. An engine lets two clients
 * make two networks of one name at the same moment, and then takes the name for neither. No container can
 * be in the younger ones, since only names are used to join; so a client that finds them removes all but
 * the oldest. */

enum { SETTLE_PAUSE_MS = 50 };

int docker_network_make(struct docker_api *api, const char *name, struct sw_error *err)
{
    sw_auto(json) json_t *body = docker_render_network(name);
    struct sw_error why = { 0 };

    if (docker_ask(api, &(struct sw_rest_call){ .method = "POST", .path = "/networks/create",
                                                .json = body }, NULL, &why) == 0 ||
        why.code == SW_E_CONFLICT)               /* another client was faster */
        return 0;
    sw_pass(err, &why);
    return sw_wrap(err, "cannot create the network '%s'", name);
}

/* Older: made before, or at the same time with the smaller id; every client says the same of two. */
static bool is_older(const json_t *one, const json_t *other)
{
    const char *made = sw_json_str(one, "Created"), *made_other = sw_json_str(other, "Created");
    const char *id = sw_json_str(one, "Id"), *id_other = sw_json_str(other, "Id");
    int order = made && made_other ? strcmp(made, made_other) : 0;

    return order < 0 || (order == 0 && id && id_other && strcmp(id, id_other) < 0);
}

static bool is_ours(const json_t *network, const char *name)
{
    return sw_text_same(sw_json_str(network, "Name"), name) &&
           docker_label(network, "slipway.network") && sw_json_str(network, "Id");
}

void docker_network_settle(struct docker_api *api, const char *name)
{
    sw_auto(json) json_t *all = docker_get_list(
        api, docker_filtered("/networks", json_pack("{s:[s]}", "name", name)), NULL);
    const json_t *oldest = NULL;
    json_t *network;
    size_t i;

    if (!all)
        return;
    json_array_foreach(all, i, network)
        if (is_ours(network, name) && (!oldest || is_older(network, oldest)))
            oldest = network;
    json_array_foreach(all, i, network)
        if (is_ours(network, name) && network != oldest)
            docker_forget(api, sw_rest_path("/networks/%s", sw_json_str(network, "Id")), NULL);
    sw_sleep_ms(SETTLE_PAUSE_MS);                /* another client may be about to make one more */
}

void docker_network_drop(struct docker_api *api, const char *name)
{
    sw_auto(json) json_t *network = docker_get(api, sw_rest_path("/networks/%s", name), NULL);

    if (docker_label(network, "slipway.network") &&
        json_object_size(json_object_get(network, "Containers")) == 0)
        docker_forget(api, sw_rest_path("/networks/%s", name), NULL);
}
