/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_registry.c - registries by name, their credentials on the cluster, and a password brought there, for
 * `registry_login: true`.
 *
 * Pyxis does not see the job's environment; enroot reads ~/.config/enroot/.credentials there. The
 * value goes through the connection's standard input into that file: it is in no argument, no script and
 * no other file. Which variable is for which registry core/registry_login.h decides; docker's
 * configuration on this machine is not read for it.
 */
#include "platform/slurm/slurm_internal.h"

#include <ctype.h>
#include <string.h>

#include "core/registry_login.h"
#include "plan/mounts.h"
#include "platform/slurm/slurm_image.h"

/* The registry sends enroot on to another host for a token: enroot looks for a line of both. */
static const struct slurm_registry known[] = {
    { "nvcr.io", { "nvcr.io", "authn.nvidia.com" } },
    { SW_REGISTRY_HUB, { "registry-1.docker.io", "auth.docker.io" } },
};

const struct slurm_registry *slurm_registry_of(const struct slurm_image *image,
                                               struct slurm_registry *unknown)
{
    if (image->kind != SLURM_IMAGE_REGISTRY)
        return NULL;
    for (size_t i = 0; i < SW_COUNT(known); i++)
        if (strcmp(known[i].host, image->ref.registry) == 0)
            return &known[i];
    *unknown = (struct slurm_registry){ .host = image->ref.registry,
                                        .machines = { image->ref.registry } };
    return unknown;
}

/* enroot leaves the port out. Owned. */
static char *machine_of(const char *host)
{
    return sw_strndup(host, strcspn(host, ":"));
}

void slurm_credentials_check(struct sw_buf *out, const struct slurm_registry *registry)
{
    slurm_text_add(out, SLURM_TEXT_CREDENTIALS);
    for (size_t i = 0; i < SW_COUNT(registry->machines) && registry->machines[i]; i++) {
        sw_autofree char *machine = machine_of(registry->machines[i]);

        slurm_call_add(out, "sw_credential_check", (const char *const[]){ machine }, 1);
    }
}

void slurm_credentials_install(struct sw_buf *out, const struct slurm_registry *registry,
                               const char *login)
{
    sw_autofree char *first = machine_of(registry->machines[0]);
    sw_autofree char *second = registry->machines[1] ? machine_of(registry->machines[1]) : NULL;

    slurm_text_add(out, SLURM_TEXT_CREDENTIALS);
    slurm_call_add(out, "sw_credential_install", (const char *const[]){ login, first, second },
                   second ? 3 : 2);
}

/* ---- a password ------------------------------------------------------------------------------- */

static int find_login(struct sw_connection *conn, const struct slurm_image *image,
                      struct sw_registry_login *out, struct sw_error *err)
{
    const char *host = image->ref.registry, *variable = sw_registry_variable(host);
    const struct sw_registry_query query = { .registry = host, .user = image->user,
                                             .env = slurm_of(conn)->env,
                                             .env_context = slurm_of(conn)->env_context };

    if (!sw_registry_login_from_env(&query, out)) {
        sw_fail(err, SW_E_CREDENTIAL, "slurm.registry_login: there is no password for '%s'", host);
        if (variable)
            return sw_hint(err, "export %s, or put it into ~/.config/tao/.env (mode 0600)", variable);
        return sw_hint(err, "set DOCKER_REGISTRY=%s, DOCKER_USERNAME and DOCKER_PASSWORD, or put the "
                            "line into ~/.config/enroot/.credentials on the cluster yourself", host);
    }
    for (const char *c = out->user; *c; c++)
        if (isspace((unsigned char)*c) || iscntrl((unsigned char)*c))
            return sw_fail(err, SW_E_SPEC, "the login for '%s' holds a blank", host);
    return 0;
}

static int send_login(struct sw_connection *conn, const struct slurm_registry *registry,
                      const struct sw_registry_login *login, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    const char *password = sw_secret_reveal(login->secret);
    const struct sw_ssh_piece line[] = { { .bytes = password, .length = strlen(password) },
                                         { .bytes = "\n", .length = 1 } };

    sw_text_once(&script);
    slurm_credentials_install(&script, registry, login->user);
    if (slurm_ask(conn, &(struct sw_ssh_call){ .script = script.data, .input = line,
                                               .input_count = SW_COUNT(line), .repeatable = true },
                  &reply, err) < 0)
        return -1;
    if (reply.exit_code == 0)
        return 0;
    return sw_fail(err, SW_E_REFUSED, "the registry's password could not be stored on the cluster: "
                   "%.300s", sw_buf_text(&reply.errors));
}

int slurm_registry_login(struct sw_connection *conn, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(slurm_image) struct slurm_image image = { 0 };
    sw_auto(sw_registry_login) struct sw_registry_login login = { 0 };
    struct slurm_registry unknown;
    const struct slurm_registry *registry;

    if (!job->options.registry_login || !job->plan->image)
        return 0;
    if (slurm_image_parse(job->plan->image, &image, err) < 0)
        return -1;
    registry = slurm_registry_of(&image, &unknown);
    if (!registry)
        return 0;
    return find_login(conn, &image, &login, err) < 0 ? -1 : send_login(conn, registry, &login, err);
}
