/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_login.c - a registry's password brought to the cluster, for `registry_login: true`.
 *
 * Pyxis does not see the job's environment; enroot reads ~/.config/enroot/.credentials there. The
 * value goes from the environment through a memory file and the connection's standard
 * input into that file: it is in no argument, no script and no other file.
 *
 * Which variable is for which registry is decided as for Docker (docs/decisions/0021): a password goes
 * only where it was made for.
 */
#include "platform/slurm/slurm_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "plan/mounts.h"
#include "platform/slurm/slurm_credentials.h"

struct slurm_login {                     /* borrowed */
    const char *user, *variable;
};

static const char *value_of(struct sw_connection *conn, const char *name)
{
    const char *value = slurm_of(conn)->env(slurm_of(conn)->env_context, name);

    return value && *value ? value : NULL;
}

/* Is DOCKER_PASSWORD for this registry? NULL: Docker Hub, for which it is when nothing more is said. */
static bool is_docker_registry(struct sw_connection *conn, const char *host)
{
    static const char *const hub[] = { "docker.io", "index.docker.io", "registry-1.docker.io" };
    const char *said = value_of(conn, "DOCKER_REGISTRY"), *whose = said ? said : hub[0];

    if (host)
        return sw_text_same(whose, host);
    for (size_t i = 0; i < SW_COUNT(hub); i++)
        if (sw_text_same(whose, hub[i]))
            return true;
    return false;
}

static int login_of(struct sw_connection *conn, const struct slurm_registry *registry,
                    const struct slurm_image *image, struct slurm_login *out, struct sw_error *err)
{
    const char *host = registry->host ? registry->host : "docker.io";
    const char *said = value_of(conn, "DOCKER_USERNAME"), *user = said ? said : image->user;

    if (user && value_of(conn, "DOCKER_PASSWORD") && is_docker_registry(conn, registry->host))
        *out = (struct slurm_login){ user, "DOCKER_PASSWORD" };
    else if (registry->variable)
        *out = (struct slurm_login){ registry->login, registry->variable };
    else {
        sw_fail(err, SW_E_CREDENTIAL, "slurm.registry_login: there is no password for '%s'", host);
        return sw_hint(err, "set DOCKER_REGISTRY=%s, DOCKER_USERNAME and DOCKER_PASSWORD, or put the "
                            "line into ~/.config/enroot/.credentials on the cluster yourself", host);
    }
    for (const char *c = out->user; *c; c++)
        if (isspace((unsigned char)*c) || iscntrl((unsigned char)*c))
            return sw_fail(err, SW_E_SPEC, "the login for '%s' holds a blank", host);
    return 0;
}

static int hold(struct sw_connection *conn, const char *variable, int *fd, struct sw_error *err)
{
    sw_auto(sw_secrets) struct sw_secrets *secrets = sw_secrets_new();

    if (sw_secrets_add(secrets, variable, slurm_of(conn)->env(slurm_of(conn)->env_context, variable), err) < 0)
        return sw_wrap(err, "slurm.registry_login");
    *fd = memfd_create("slipway-login", MFD_CLOEXEC);
    if (*fd < 0 || sw_secrets_send(secrets, *fd) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot hold the password");
    return 0;
}

static int bring(struct sw_connection *conn, const struct slurm_registry *registry,
                 const struct slurm_login *login, int fd, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_ssh_piece password = { .fd = fd };
    struct stat info;

    if (fstat(fd, &info) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot hold the password");
    password.length = (size_t)info.st_size;
    sw_text_once(&script);
    sw_buf_addf(&script, "tr '\\000' '\\n' | sed -n 's/^%s=//p' | {\n", login->variable);
    slurm_credentials_install(&script, registry, login->user);
    sw_buf_add(&script, "}\n");
    if (slurm_ask(conn, &(struct sw_ssh_call){ .script = script.data, .input = &password, .input_count = 1,
                                              .repeatable = true }, &reply, err) < 0)
        return -1;
    if (reply.exit_code == 0)
        return 0;
    return sw_fail(err, SW_E_REFUSED, "the registry's password could not be kept on the cluster: "
                   "%.300s", sw_buf_text(&reply.errors));
}

int slurm_registry_login(struct sw_connection *conn, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(slurm_image) struct slurm_image image = { 0 };
    struct slurm_registry unknown;
    const struct slurm_registry *registry;
    struct slurm_login login = { 0 };
    int fd = -1, result;

    if (!job->options.registry_login || !job->plan->image)
        return 0;
    if (slurm_image_parse(job->plan->image, &image, err) < 0)
        return -1;
    registry = slurm_registry_of(&image, &unknown);
    if (!registry)
        return 0;
    if (login_of(conn, registry, &image, &login, err) < 0)
        return -1;
    result = hold(conn, login.variable, &fd, err);
    if (result == 0)
        result = bring(conn, registry, &login, fd, err);
    if (fd >= 0)
        close(fd);
    return result;
}
