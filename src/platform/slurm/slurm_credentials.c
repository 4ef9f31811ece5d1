/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_credentials.c - registries by name, and the texts about their credentials.
 *
 * Pure: no I/O.
 */
#include "platform/slurm/slurm_credentials.h"

#include <string.h>


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

static void add_machines(struct sw_buf *out, const struct slurm_registry *registry,
                         const char *before)
{
    for (size_t i = 0; i < SW_COUNT(registry->machines) && registry->machines[i]; i++) {
        size_t length = strcspn(registry->machines[i], ":");       /* enroot leaves the port out */
        sw_autofree char *machine = sw_strndup(registry->machines[i], length);

        sw_buf_add(out, before);
        sw_buf_add_quoted(out, machine);
        if (*before != ' ')
            sw_buf_add_char(out, '\n');
    }
}

void slurm_credentials_check(struct sw_buf *out, const struct slurm_registry *registry)
{
    slurm_text_add(out, SLURM_TEXT_CREDENTIALS);
    add_machines(out, registry, "sw_credential_check ");
}

void slurm_credentials_install(struct sw_buf *out, const struct slurm_registry *registry,
                               const char *login)
{
    slurm_text_add(out, SLURM_TEXT_CREDENTIALS);
    sw_buf_add(out, "sw_credential_install ");
    sw_buf_add_quoted(out, login);
    add_machines(out, registry, " ");
    sw_buf_add_char(out, '\n');
}
