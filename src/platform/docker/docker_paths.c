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
#include "platform/docker/docker_checks.h"

#define LOOK   "/look"               /* where the folder is in that container */
#define ANSWER DOCKER_HOME "/names.json"

/* Owned absolute path. On another machine a relative one has no meaning. */
static char *path_there(const struct sw_connection *conn, const char *path, struct sw_error *err)
{
    if (sw_text_starts(path, "file://"))
        path += strlen("file://");
    if (docker_of(conn)->endpoint.way != DOCKER_UNIX && *path != '/') {
        sw_fail(err, SW_E_USAGE, "'%s' is no whole path, and the engine at %s is on another machine",
                path, docker_of(conn)->endpoint.text);
        sw_hint(err, "write the path as it is there, from / on");
        return NULL;
    }
    return sw_path_absolute(path, NULL);
}

static json_t *binding(const char *path)
{
    return sw_json_object(SW_STR("Type", "bind"), SW_STR("Source", path), SW_STR("Target", LOOK),
                          SW_SUB("ReadOnly", json_true()));
}

static int check_there(struct sw_connection *conn, const char *path, bool *exists, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    sw_auto(json) json_t *mount = binding(path);
    struct sw_error why = { 0 };
    int seen;

    if (docker_borrow(conn, &lent, err) < 0)
        return -1;
    seen = docker_sees(lent.api, mount, &why);
    if (seen >= 0) {
        *exists = seen;
        return 0;
    }
    if (err)
        *err = why;
    return sw_wrap(err, "cannot look at '%s'", path);
}

int docker_check_path(struct sw_connection *conn, const char *path, bool *exists, struct sw_error *err)
{
    sw_autofree char *place = path_there(conn, path, err);

    if (!place)
        return -1;
    return docker_of(conn)->endpoint.way == DOCKER_UNIX ? sw_file_look(place, exists, err)
                                          : check_there(conn, place, exists, err);
}

/* ---- what is in a folder over there ---------------------------------------------------------- */

int docker_look_image(struct docker_api *api, const char *name, char **arch, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT, tar = SW_BUF_INIT;
    sw_auto(docker_base) struct docker_base base = { 0 };
    sw_autofree char *about = docker_path("/images/", name, ":look/json");
    sw_auto(json) json_t *inspected = NULL;

    docker_tar_add(&tar, "empty/", 0755, (struct docker_owner){ 0, 0 }, NULL, 0);
    sw_tar_end(&tar);
    sw_buf_add(&path, "/images/create?fromSrc=-&tag=look");
    sw_rest_query(&path, "repo", name);
    if (docker_ask(api, &(struct docker_call){ .method = "POST", .path = sw_buf_text(&path),
                                               .bytes = tar.data, .length = (int64_t)tar.length },
                   NULL, err) < 0 ||
        docker_ask(api, &(struct docker_call){ .path = about }, &inspected, err) < 0)
        return -1;
    docker_base_read(&base, inspected);
    if (arch)
        *arch = sw_take(base.arch);
    return 0;
}

void docker_look_over(struct docker_api *api, const char *name)
{
    sw_autofree char *image = docker_path("/images/", name, ":look");

    docker_delete(api, name, true, NULL);
    docker_ask(api, &(struct docker_call){ .method = "DELETE", .path = image }, NULL, NULL);
}

int docker_look_container(struct docker_api *api, const char *name, json_t *host,
                          struct sw_error *err)
{
    sw_autofree char *image = sw_format("%s:look", name);
    sw_auto(json) json_t *body = sw_json_object(
        SW_STR("Image", image), SW_SUB("Entrypoint", json_array()),
        SW_SUB("Cmd", json_pack("[ssss]", DOCKER_RUNNER, "list", LOOK, ANSWER)),
        SW_STR("User", "0"), SW_SUB("Labels", sw_json_object(SW_STR(LABEL_ID, name))),
        SW_SUB("HostConfig", host));

    json_object_set_new(host, "NetworkMode", json_string("none"));
    return docker_make(api, name, body, NULL, err);
}

static int put_runner(struct docker_api *api, const char *name, const char *arch,
                      struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf tar = SW_BUF_INIT;
    size_t size = 0;
    const void *runner = sw_embedded_runner(arch, &size, err);

    if (!runner)
        return -1;
    docker_tar_add(&tar, ".slipway/", 0755, (struct docker_owner){ 0, 0 }, NULL, 0);
    docker_tar_add(&tar, ".slipway/slipway-runner", 0755, (struct docker_owner){ 0, 0 }, runner,
                   size);
    sw_tar_end(&tar);
    return docker_put(api, name, "/", tar.data, tar.length, err);
}

static json_t *ask_container(struct docker_api *api, const char *name, struct sw_error *err)
{
    sw_autofree char *path = docker_path("/containers/", name, "/wait?condition=not-running");
    sw_auto(json) json_t *answer = NULL;
    sw_autofree char *text = NULL;
    size_t size = 0;

    if (docker_tell(api, name, "/start", err) < 0 ||
        docker_ask(api, &(struct docker_call){ .method = "POST", .path = path }, NULL, err) < 0)
        return NULL;
    text = docker_file(api, name, ANSWER, &size, err);
    answer = text ? sw_json_parse(text, size, "the names", err) : NULL;
    if (answer && !json_is_array(json_object_get(answer, "names"))) {
        const char *message = sw_json_str(answer, "message");

        sw_fail(err, SW_E_IO, "%s", message ? message : "the runner over there says nothing");
        return NULL;
    }
    return json_incref(json_object_get(answer, "names"));
}

static json_t *list_there(struct sw_connection *conn, const char *path, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    sw_autofree char *arch = NULL;
    char name[SW_ID_SIZE];
    json_t *names = NULL;

    if (docker_borrow(conn, &lent, err) < 0)
        return NULL;
    sw_id_make("look", name);
    if (docker_look_image(lent.api, name, &arch, err) == 0 &&
        docker_look_container(lent.api, name, json_pack("{s:[o]}", "Mounts", binding(path)),
                              err) == 0 &&
        put_runner(lent.api, name, arch, err) == 0)
        names = ask_container(lent.api, name, err);
    docker_look_over(lent.api, name);
    return names;
}

json_t *docker_list_path(struct sw_connection *conn, const char *path, struct sw_error *err)
{
    sw_autofree char *place = path_there(conn, path, err);
    bool exists = false;
    json_t *names;

    if (!place)
        return NULL;
    if (docker_of(conn)->endpoint.way == DOCKER_UNIX)
        return sw_folder_names(place, err);
    if (check_there(conn, place, &exists, err) < 0)
        return NULL;
    if (!exists) {
        sw_fail(err, SW_E_NOT_FOUND, "there is no '%s' on the machine of %s", place,
                docker_of(conn)->endpoint.text);
        return NULL;
    }
    names = list_there(conn, place, err);
    if (!names)
        sw_wrap(err, "cannot list '%s' on the machine of %s", place, docker_of(conn)->endpoint.text);
    return names;
}
