/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_runner.c - the runner in a volume of the engine: sent once for each version, mounted read-only
 * into every job's container.
 *
 * The volume is named after the digest of its content and belongs to no store; `gc` removes it on request
 * when no container uses it. The engine makes an empty one together with the first container that names
 * it, and then a container that is never started fills it. In there the runner gets its name last, as a
 * hard link to bytes that the same client wrote before: what has the name is whole, whether a client was
 * killed over it or two clients send it at the same time. A container that names the volume keeps it, so
 * what was seen after the create call stays.
 *
 * A job whose payload needs no file besides (no code, no secrets, no certificates, root in the container)
 * gets it in a variable: then nothing is put into the container at all, which costs an engine up to 90 ms.
 * Where the volume cannot be used (Podman, a read-only root, a job that waits for GPUs and is made again by
 * another client, an engine that refuses), everything travels by archive as docker_upload.c has it.
 */
#include "platform/docker/docker_submit.h"

#include <assert.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "core/id.h"
#include "core/runner_image.h"
#include "plan/paths.h"

enum { VARIABLE_MAX = 96 * 1024 };               /* Linux takes 128 KiB for one */

/* ---- which way ------------------------------------------------------------------------------- */

static bool is_root(const struct docker_sending *s)
{
    const char *user = s->user ? s->user : s->base.user;
    struct docker_owner owner;

    if (!*user || (strncmp(user, "root", 4) == 0 && (!user[4] || user[4] == ':')))
        return true;
    return docker_user_numbers(user, &owner) && owner.uid == 0;
}

static bool fits_variables(const struct docker_sending *s)
{
    return is_root(s) && !s->plan->code && !s->ca.length &&
           json_array_size(s->plan->secrets) + json_array_size(s->plan->credentials) == 0 &&
           strlen(s->payload) < VARIABLE_MAX && strlen(s->plan_text) < VARIABLE_MAX;
}

void docker_runner_choose(struct docker_sending *s)
{
    char hash[SW_DIGEST_HEX];
    size_t size = 0;
    const void *runner;

    assert(s->payload && s->plan_text && !s->runner_volume);
    if (s->waits || s->site.podman || s->options.read_only)
        return;
    runner = sw_embedded_runner(s->base.arch, &size, NULL);
    if (!runner)
        return;
    sw_sha256_hex(runner, size, hash);
    s->runner_volume = sw_format("slipway-runner-%.32s", hash);
    s->by_variable = fits_variables(s);
}

bool docker_runner_do_without(struct docker_sending *s)
{
    if (!s->runner_volume || docker_forget_made(s) < 0)
        return false;
    free(s->runner_volume);
    s->runner_volume = NULL;
    s->by_variable = false;
    return true;
}

/* ---- the container's description ------------------------------------------------------------- */

static json_t *mount_at(const struct docker_sending *s, const char *target, bool read_only)
{
    json_t *mount = docker_render_volume(s->runner_volume, target, read_only, NULL);

    json_object_set_new(mount, "VolumeOptions", sw_json_object(
        SW_SUB("NoCopy", json_true()),
        SW_SUB("Labels", sw_json_object(SW_STR(LABEL_CACHE, "runner")))));
    return mount;
}

void docker_runner_render(const struct docker_sending *s, json_t *body)
{
    json_t *words = json_object_get(body, "Cmd"), *env = json_object_get(body, "Env");

    if (!s->runner_volume)
        return;
    json_array_append_new(json_object_get(json_object_get(body, "HostConfig"), "Mounts"),
                          mount_at(s, DOCKER_BIN, true));
    json_object_set_new(body, "Entrypoint", json_pack("[s]", DOCKER_BIN "/slipway-runner"));
    if (!s->by_variable)
        return;
    json_array_set_new(words, json_array_size(words) - 1, json_string(SW_PAYLOAD_IN_VARIABLE));
    json_array_append_new(env, json_sprintf(SW_PAYLOAD_VARIABLE "=%s", s->payload));
    json_array_append_new(env, json_sprintf(SW_PLAN_VARIABLE "=%s", s->plan_text));
}

/* ---- the volume's content -------------------------------------------------------------------- */

/* 1: the runner is there, whole; 0: it is not; -1 + err. */
static int is_filled(struct docker_sending *s, struct sw_error *err)
{
    sw_autofree char *path = docker_archive_path(s->ids[0], DOCKER_BIN "/slipway-runner");
    struct sw_error why = { 0 };

    if (docker_ask(s->api, &(struct sw_rest_call){ .method = "HEAD", .path = path,
                                                   .changes_nothing = true }, NULL, &why) == 0)
        return 1;
    return why.code == SW_E_NOT_FOUND ? 0 : sw_pass(err, &why);
}

/* The bytes have a name of this client's own: another one that fills the volume never writes into them. */
static int fill(struct docker_sending *s, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf tar = SW_BUF_INIT;
    char name[SW_ID_SIZE];
    const struct sw_archive_member last = { .name = "slipway-runner", .kind = SW_ARCHIVE_HARD_LINK,
                                            .target = name, .mode = 0755 };
    size_t size = 0;
    const void *runner = sw_embedded_runner(s->base.arch, &size, err);

    if (!runner)
        return -1;
    sw_id_make("runner", name);
    docker_tar_add(&tar, name, 0755, (struct docker_owner){ 0, 0 }, runner, size);
    sw_tar_add(&tar, &last, NULL);
    sw_tar_end(&tar);
    return docker_fill_volume(s, name, mount_at(s, DOCKER_FILL, false), tar.data, tar.length, err);
}

int docker_runner_ensure(struct docker_sending *s, struct sw_error *err)
{
    struct sw_error why = { 0 };
    int filled;

    if (!s->runner_volume || s->begun[0])
        return 0;
    filled = is_filled(s, err);
    if (filled == 0) {
        fill(s, &why);                     /* it also fails when another client was faster */
        filled = is_filled(s, err);
    }
    return filled > 0 ? 0 : filled < 0 ? -1
           : sw_fail(err, SW_E_REFUSED, "the engine does not keep the runner in a volume: %.200s",
                     why.message);
}
