/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_login.c - a registry's password brought to the cluster, for `registry_login: true`.
 *
 * Pyxis does not see the job's environment; enroot reads ~/.config/enroot/.credentials there. The
 * value goes from this process's environment through a memory file and the connection's standard
 * input into that file: it is in no argument, no script and no other file.
 */
#include "platform/slurm/slurm_internal.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/mounts.h"
#include "platform/slurm/slurm_credentials.h"

static int hold(const char *variable, int *fd, struct sw_error *err)
{
    sw_auto(sw_secrets) struct sw_secrets *secrets = sw_secrets_new();

    if (sw_secrets_add_env(secrets, variable, err) < 0)
        return sw_wrap(err, "slurm.registry_login");
    *fd = memfd_create("slipway-login", MFD_CLOEXEC);
    if (*fd < 0 || sw_secrets_send(secrets, *fd) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot hold the password");
    return 0;
}

static int bring(struct sw_link *link, const struct slurm_registry *registry, int fd,
                 struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_ssh_piece password = { .fd = fd };
    struct stat info;

    if (fstat(fd, &info) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot hold the password");
    password.length = (size_t)info.st_size;
    sw_text_once(&script);
    sw_buf_addf(&script, "tr '\\000' '\\n' | sed -n 's/^%s=//p' | {\n", registry->variable);
    slurm_credentials_install(&script, registry, NULL);
    sw_buf_add(&script, "}\n");
    if (slurm_ask(link, sw_buf_text(&script), &password, 1, true, &reply, err) < 0)
        return -1;
    if (reply.exit_code == 0)
        return 0;
    return sw_fail(err, SW_E_REFUSED, "the registry's password could not be kept on the cluster: "
                   "%.300s", sw_buf_text(&reply.errors));
}

int slurm_registry_login(struct sw_link *link, const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(slurm_image) struct slurm_image image = { 0 };
    struct slurm_registry unknown;
    const struct slurm_registry *registry;
    int fd = -1, result;

    if (!sw_json_bool(plan->options, "registry_login", false) || !plan->image)
        return 0;
    if (slurm_image_parse(plan->image, &image, err) < 0)
        return -1;
    registry = slurm_registry_of(&image, &unknown);
    if (!registry)
        return 0;
    if (!registry->variable) {
        sw_fail(err, SW_E_UNSUPPORTED, "nobody knows which variable holds the password for '%s'",
                registry->host ? registry->host : "Docker Hub");
        return sw_hint(err, "put the line into ~/.config/enroot/.credentials on the cluster yourself");
    }
    result = hold(registry->variable, &fd, err);
    if (result == 0)
        result = bring(link, registry, fd, err);
    if (fd >= 0)
        close(fd);
    return result;
}
