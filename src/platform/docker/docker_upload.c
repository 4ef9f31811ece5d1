/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_upload.c - what goes into a container before it starts: runner, payload, plan, certificates,
 * code, secrets; and the user who owns them there.
 *
 * The runner is in a volume of the engine: sent once for each version, mounted read-only into every job's
 * container.
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
 * another client, an engine that refuses), everything travels by archive.
 */
#include "platform/docker/docker_job.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "core/runner_image.h"
#include "plan/bundle.h"
#include "platform/kit/sending.h"

enum {
    VARIABLE_MAX = 96 * 1024,        /* Linux takes 128 KiB for one */
};

void docker_tar_add(struct sw_buf *tar, const char *name, unsigned mode, struct docker_owner owner,
                    const void *bytes, size_t length)
{
    sw_tar_add(tar, &(struct sw_archive_member){
        .name = name, .kind = bytes ? SW_ARCHIVE_FILE : SW_ARCHIVE_FOLDER, .mode = mode,
        .size = (int64_t)length, .uid = owner.uid, .gid = owner.gid }, bytes);
}

static void add_file(struct docker_sending *s, const char *name, unsigned mode,
                     struct docker_owner owner, const void *bytes, size_t length)
{
    sw_autofree char *full = sw_format("%s%s", s->options.read_only ? "./" : ".slipway/", name);

    docker_tar_add(&s->tar, full, mode, owner, bytes, length);
}

static int add_code(struct docker_sending *s, struct docker_owner owner, struct sw_error *err)
{
    sw_autofree char *folder = docker_job_folder(s->conn, s->plan->job_id);
    sw_auto(sw_bundle) struct sw_bundle bundle = { 0 };

    if (sw_code_kept(s->plan, s->site.attempt, folder, &bundle, err) < 0)
        return -1;
    if (bundle.bytes)
        add_file(s, "code.tar.gz", 0644, owner, bundle.bytes, bundle.length);
    return 0;
}

static int add_secrets(struct docker_sending *s, struct docker_owner owner, struct sw_error *err)
{
    struct sw_buf bytes = SW_BUF_INIT;
    int result = sw_sends_secrets(s->plan) ? sw_secrets_bytes(s->secrets, &bytes, err) : 0;

    if (bytes.length)
        add_file(s, "secrets", 0600, owner, bytes.data, bytes.length);
    sw_buf_wipe(&bytes);
    return result;
}

static bool has_results_volume(const struct docker_sending *s)
{
    return !s->site.results && !docker_has_own_results(s->plan);
}

/* A new volume belongs to root: it is given to the user that the job runs as. The engine leaves the folder
 * alone that an archive is put into, so each is named in one for the folder above. */
static void add_volumes(struct docker_sending *s, struct docker_owner owner)
{
    if (!s->site.ends)
        add_file(s, "end/", 0777, owner, NULL, 0);
    if (has_results_volume(s) && !s->options.read_only)
        docker_tar_add(&s->tar, "results/", 0777, owner, NULL, 0);
}

static int pack(struct docker_sending *s, struct docker_owner owner, struct sw_error *err)
{
    size_t size = 0;
    const void *runner = s->runner_volume ? NULL : sw_embedded_runner(s->base.arch, &size, err);

    if (!runner && !s->runner_volume)
        return -1;
    sw_buf_reserve_wiping(&s->tar, size + 65536);
    add_file(s, "", 0755, owner, NULL, 0);
    if (runner)
        add_file(s, "slipway-runner", 0755, owner, runner, size);
    add_file(s, "payload.json", 0644, owner, s->payload, strlen(s->payload));
    add_file(s, "plan.json", 0644, owner, s->plan_text, strlen(s->plan_text));
    if (s->ca.length)
        add_file(s, s->ca_name, 0644, owner, s->ca.data, s->ca.length);
    if (owner.uid != 0)
        add_volumes(s, owner);
    if (add_code(s, owner, err) < 0 || add_secrets(s, owner, err) < 0)
        return -1;
    sw_tar_end(&s->tar);
    return 0;
}

/* Beside its volumes a read-only container takes nothing: another one that has the same does, and is never
 * started. */
static int hand_over_volumes(struct docker_sending *s, int rank, struct docker_owner owner,
                             struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf tar = SW_BUF_INIT;
    sw_auto(docker_look) struct docker_look look = { 0 };

    docker_tar_add(&tar, ".slipway/", 0755, owner, NULL, 0);
    if (has_results_volume(s))
        docker_tar_add(&tar, "results/", 0777, owner, NULL, 0);
    sw_tar_end(&tar);
    if (docker_look_open(&look, s->api, json_pack("{s:[s]}", "VolumesFrom", s->ids[rank]), err) < 0)
        return -1;
    return docker_put(s->api, look.name, "/", tar.data, tar.length, err);
}

/* A user's name is looked up in the image, which is read through the container made from it. */
static int find_owner(struct docker_sending *s, const char *container, struct docker_owner *owner,
                      struct sw_error *err)
{
    const char *user = s->user ? s->user : s->base.user;
    sw_autofree char *passwd = NULL;

    *owner = (struct docker_owner){ 0, 0 };
    if (!*user || docker_user_numbers(user, owner))
        return 0;
    passwd = docker_file(s->api, container, "/etc/passwd", NULL, err);
    if (!passwd)
        return sw_wrap(err, "cannot look up the user '%s' in the image", user);
    if (docker_user_lookup(passwd, user, owner))
        return 0;
    return sw_fail(err, SW_E_SPEC, "the image has no user '%s'", user);
}

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
           !sw_sends_secrets(s->plan) &&
           strlen(s->payload) < VARIABLE_MAX && strlen(s->plan_text) < VARIABLE_MAX;
}

static void choose_way(struct docker_sending *s)
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

bool docker_upload_otherwise(struct docker_sending *s)
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

void docker_upload_render(const struct docker_sending *s, json_t *body)
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

static int ensure_runner(struct docker_sending *s, struct sw_error *err)
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
           : sw_fail(err, SW_E_REFUSED, "the engine does not store the runner in a volume: %.200s",
                     why.message);
}

/* ---- all of it ---------------------------------------------------------------------------------- */

static int make_payload(struct docker_sending *s, struct sw_error *err)
{
    sw_auto(sw_payload) struct sw_payload *payload = docker_render_payload(s->plan, &s->site, err);
    sw_auto(json) json_t *plan = sw_plan_to_json(s->plan);

    s->payload = payload ? sw_payload_text(payload, s->plan, &s->ca, err) : NULL;
    if (!s->payload)
        return -1;
    s->plan_text = sw_json_dump(plan);
    s->ca_name = sw_take(payload->ca);
    return 0;
}

int docker_upload_begin(struct docker_sending *s, struct sw_error *err)
{
    if (make_payload(s, err) < 0)
        return -1;
    choose_way(s);
    return 0;
}

/* Fill `tar`; it stays empty where none is needed. */
static int pack_all(struct docker_sending *s, struct sw_error *err)
{
    struct docker_owner owner;

    sw_buf_wipe(&s->tar);
    if (s->by_variable)
        return 0;
    if (find_owner(s, s->ids[0], &owner, err) < 0 || pack(s, owner, err) < 0)
        return -1;
    for (int rank = 0; owner.uid != 0 && s->options.read_only && rank < s->plan->nodes; rank++)
        if (!s->begun[rank] && hand_over_volumes(s, rank, owner, err) < 0)
            return -1;
    return 0;
}

int docker_upload(struct docker_sending *s, struct sw_error *err)
{
    /* A read-only root takes archives only where a volume is: below our own folder. */
    const char *folder = s->options.read_only ? DOCKER_HOME : "/";

    if (ensure_runner(s, err) < 0 || pack_all(s, err) < 0)
        return -1;
    for (int rank = 0; rank < s->plan->nodes && s->tar.length; rank++)
        if (!s->begun[rank] && docker_put(s->api, s->ids[rank], folder, s->tar.data, s->tar.length,
                                          err) < 0)
            return sw_wrap(err, "cannot put the job's files into its container");
    return 0;
}
