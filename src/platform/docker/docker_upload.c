/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_upload.c - what goes into a container before it starts: runner, payload, plan, certificates,
 * code, secrets; and the user who owns them there.
 */
#include "platform/docker/docker_submit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "core/runner_image.h"
#include "plan/bundle.h"

enum { CODE_MAX = 512 * 1024 * 1024, SECRETS_MAX = 1024 * 1024 };

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
    const struct sw_plan *plan = s->plan;
    sw_autofree char *folder = docker_job_folder(s->conn, plan->job_id);
    sw_autofree char *kept = sw_path_join(folder, "code.tar.gz"), *bytes = NULL;
    sw_auto(sw_bundle) struct sw_bundle bundle = { 0 };

    if (!plan->code)
        return 0;
    /* A later attempt runs the same code, whatever was edited since. */
    if (s->site.attempt > 1 && sw_file_exists(kept)) {
        bytes = sw_file_read(kept, CODE_MAX, &bundle.length, err);
        if (!bytes)
            return -1;
        bundle.bytes = sw_take(bytes);
    } else if (sw_bundle_code(plan->code, plan->base_dir, &bundle, NULL, err) < 0 ||
               sw_mkdirs(folder, 0700, err) < 0 ||
               sw_file_write(kept, bundle.bytes, bundle.length, 0600, err) < 0) {
        return -1;
    }
    add_file(s, "code.tar.gz", 0644, owner, bundle.bytes, bundle.length);
    return 0;
}

/* Their only way out is through a descriptor: into memory that no disk ever sees. */
static int add_secrets(struct docker_sending *s, struct docker_owner owner, struct sw_error *err)
{
    sw_autofd int fd = memfd_create("secrets", MFD_CLOEXEC);
    off_t length;
    char *bytes;

    if (json_array_size(s->plan->secrets) + json_array_size(s->plan->credentials) == 0)
        return 0;
    if (fd < 0 || sw_secrets_send(s->secrets, fd) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot pass the secrets on");
    length = lseek(fd, 0, SEEK_END);
    if (length < 0 || length > SECRETS_MAX)
        return sw_fail(err, SW_E_SPEC, "the secrets are larger than %d bytes", SECRETS_MAX);
    bytes = sw_alloc((size_t)length + 1);
    if (pread(fd, bytes, (size_t)length, 0) != length) {
        free(bytes);
        return sw_fail_errno(err, SW_E_IO, "cannot pass the secrets on");
    }
    add_file(s, "secrets", 0600, owner, bytes, (size_t)length);
    explicit_bzero(bytes, (size_t)length);
    free(bytes);
    return 0;
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
        return sw_wrap(err, "cannot find out who '%s' is in the image", user);
    if (docker_user_lookup(passwd, user, owner))
        return 0;
    return sw_fail(err, SW_E_SPEC, "the image has no user '%s'", user);
}

static char *json_of(const struct sw_payload *payload)
{
    sw_auto(json) json_t *document = sw_payload_to_json(payload);

    return sw_json_dump(document);
}

int docker_pack_begin(struct docker_sending *s, struct sw_error *err)
{
    sw_auto(sw_payload) struct sw_payload *payload = docker_render_payload(s->plan, &s->site, err);
    sw_auto(json) json_t *plan = sw_plan_to_json(s->plan);

    if (!payload)
        return -1;
    s->payload = json_of(payload);
    s->plan_text = sw_json_dump(plan);
    if (!strstr(s->payload, "://"))
        return 0;            /* no URI: the runner transfers nothing and needs no certificates */
    if (sw_payload_take_ca(payload, sw_plan_ca(s->plan), &s->ca, err) < 0)
        return -1;
    free(s->payload);
    s->payload = json_of(payload);
    s->ca_name = sw_take(payload->ca);
    return 0;
}

int docker_pack(struct docker_sending *s, struct sw_error *err)
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

/* A read-only root takes archives only where a volume is: below our own folder. */
const char *docker_archive_folder(const struct docker_sending *s)
{
    return s->options.read_only ? DOCKER_HOME : "/";
}
