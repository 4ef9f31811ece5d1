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
