/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_paths.c - files of the engine's machine, for `check` and `ls`.
 *
 * An engine on this machine sees what we see. Of any other only the engine itself can tell: whether
 * a path is there, by a container that cannot be made (docker_checks.c); what is in a folder, by a
 * short container that sees nothing else and runs our runner. Its image is empty and made for it, so
 * that none of the engine's own is needed; both are gone afterwards.
 */
#include "platform/docker/docker_job.h"

#include <string.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/text.h"
#include "core/id.h"
#include "core/runner_image.h"

#define LOOK   "/look"               /* where the folder is in that container */
#define ANSWER DOCKER_HOME "/names.json"

/* Owned absolute path. On another machine a relative one has no meaning. */
static char *path_there(const struct sw_connection *conn, const char *path, struct sw_error *err)
{
    if (sw_text_starts(path, "file://"))
        path += strlen("file://");
    if (!docker_is_local(conn) && *path != '/') {
        sw_fail(err, SW_E_USAGE, "'%s' is not an absolute path, and the engine at %s is on another machine",
                path, docker_of(conn)->endpoint.text);
        sw_hint(err, "write the absolute path on that machine");
        return NULL;
    }
    return sw_path_absolute(path, NULL);
}

static json_t *binding(const char *path)
{
    return sw_json_object(SW_STR("Type", "bind"), SW_STR("Source", path), SW_STR("Target", LOOK),
                          SW_SUB("ReadOnly", json_true()));
}

static int check_there(struct docker_api *api, const char *path, bool *exists, struct sw_error *err)
{
    sw_auto(json) json_t *mount = binding(path);
    struct sw_error why = { 0 };
    int seen = api ? docker_sees(api, mount, &why) : -1;

    *exists = seen > 0;
    if (seen >= 0)
        return 0;
    if (api)
        sw_pass(err, &why);
    return sw_wrap(err, "cannot check '%s'", path);
}

int docker_check_path(struct sw_connection *conn, const char *path, bool *exists, struct sw_error *err)
{
    sw_autofree char *place = path_there(conn, path, err);
    sw_auto(docker_lent) struct docker_api *api = NULL;

    if (!place)
        return -1;
    if (docker_is_local(conn))
        return sw_file_look(place, exists, err);
    api = docker_borrow(conn, err);
    return check_there(api, place, exists, err);
}

/* ---- containers that only show files ------------------------------------------------------------ */

/* An image with nothing in it, for the engine's own kind of processor. */
static int make_image(struct docker_look *look, struct sw_error *err)
{
    sw_autofree char *path = sw_rest_path("/images/create?fromSrc=-&tag=look&repo=%s", look->name);
    sw_autofree char *image = sw_format("%s:look", look->name);
    sw_auto(docker_base) struct docker_base base = { 0 };
    sw_auto(sw_buf) struct sw_buf tar = SW_BUF_INIT;
    sw_auto(json) json_t *inspected = NULL;

    docker_tar_add(&tar, "empty/", 0755, (struct docker_owner){ 0, 0 }, NULL, 0);
    sw_tar_end(&tar);
    if (docker_ask(look->api, &(struct sw_rest_call){ .method = "POST", .path = path,
                                                      .bytes = tar.data,
                                                      .length = (int64_t)tar.length },
                   NULL, err) < 0 ||
        !(inspected = docker_inspect_image(look->api, image, err)))
        return -1;
    docker_base_read(&base, inspected);
    look->arch = sw_take(base.arch);
    return 0;
}

int docker_look_open(struct docker_look *look, struct docker_api *api, json_t *host,
                     struct sw_error *err)
{
    sw_autofree char *image = NULL;
    sw_auto(json) json_t *body = NULL;

    look->api = api;
    sw_id_make("look", look->name);
    json_object_set_new(host, "NetworkMode", json_string("none"));
    image = sw_format("%s:look", look->name);
    body = sw_json_object(
        SW_STR("Image", image), SW_SUB("Entrypoint", json_array()),
        SW_SUB("Cmd", json_pack("[ssss]", DOCKER_RUNNER, "list", LOOK, ANSWER)),
        SW_STR("User", "0"), SW_SUB("Labels", sw_json_object(SW_STR(LABEL_ID, look->name))),
        SW_SUB("HostConfig", host));
    return make_image(look, err) < 0 ? -1 : docker_make(api, look->name, body, NULL, err);
}

void docker_look_close(struct docker_look *look)
{
    if (!look->api)
        return;
    docker_delete(look->api, look->name, true, NULL);
    docker_forget(look->api, sw_rest_path("/images/%s:look", look->name), NULL);
    free(look->arch);
}

int docker_fill_volume(struct docker_sending *s, const char *name, json_t *mount, const void *tar,
                       size_t length, struct sw_error *err)
{
    sw_auto(json) json_t *labels = sw_json_object(SW_STR(LABEL_ID, name)), *body = NULL;
    int result;

    docker_render_marks(labels, s->plan);
    body = sw_json_object(
        SW_STR("Image", s->image), SW_SUB("Cmd", json_pack("[s]", DOCKER_RUNNER)),
        SW_SUB("Labels", sw_take(labels)),
        SW_SUB("HostConfig", json_pack("{s:[o]}", "Mounts", mount)));
    result = docker_make(s->api, name, body, NULL, err);
    if (result == 0)
        result = docker_put(s->api, name, DOCKER_FILL, tar, length, err);
    docker_delete(s->api, name, true, NULL);
    return result;
}

/* ---- what is in a folder over there ---------------------------------------------------------- */

static int put_runner(const struct docker_look *look, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf tar = SW_BUF_INIT;
    size_t size = 0;
    const void *runner = sw_embedded_runner(look->arch, &size, err);

    if (!runner)
        return -1;
    docker_tar_add(&tar, ".slipway/", 0755, (struct docker_owner){ 0, 0 }, NULL, 0);
    docker_tar_add(&tar, ".slipway/slipway-runner", 0755, (struct docker_owner){ 0, 0 }, runner,
                   size);
    sw_tar_end(&tar);
    return docker_put(look->api, look->name, "/", tar.data, tar.length, err);
}

static json_t *list_there(struct docker_api *api, const char *path, struct sw_error *err)
{
    sw_auto(docker_look) struct docker_look look = { 0 };
    sw_autofree char *wait = NULL, *text = NULL;
    sw_auto(json) json_t *answer = NULL;
    const json_t *names;
    size_t size = 0;

    if (docker_look_open(&look, api, json_pack("{s:[o]}", "Mounts", binding(path)), err) < 0 ||
        put_runner(&look, err) < 0 || docker_tell(api, look.name, "/start", err) < 0)
        return NULL;
    wait = sw_rest_path("/containers/%s/wait?condition=not-running", look.name);
    if (docker_ask(api, &(struct sw_rest_call){ .method = "POST", .path = wait }, NULL, err) < 0)
        return NULL;
    text = docker_file(api, look.name, ANSWER, &size, err);
    answer = text ? sw_json_parse(text, size, "the names", err) : NULL;
    names = json_object_get(answer, "names");
    if (answer && !json_is_array(names)) {
        const char *message = sw_json_str(answer, "message");

        sw_fail(err, SW_E_IO, "%s", message ? message : "the runner there gives no answer");
        return NULL;
    }
    return json_incref((json_t *)names);
}

json_t *docker_list_path(struct sw_connection *conn, const char *path, struct sw_error *err)
{
    const char *engine = docker_of(conn)->endpoint.text;
    sw_autofree char *place = path_there(conn, path, err);
    sw_auto(docker_lent) struct docker_api *api = NULL;
    bool exists = false;
    json_t *names;

    if (!place)
        return NULL;
    if (docker_is_local(conn))
        return sw_folder_names(place, err);
    api = docker_borrow(conn, err);
    if (check_there(api, place, &exists, err) < 0)
        return NULL;
    if (!exists) {
        sw_fail(err, SW_E_NOT_FOUND, "no '%s' on the machine of %s", place, engine);
        return NULL;
    }
    names = list_there(api, place, err);
    if (!names)
        sw_wrap(err, "cannot list '%s' on the machine of %s", place, engine);
    return names;
}
