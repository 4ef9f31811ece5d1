/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.c - the one list of platforms, in the order `slipway platforms` prints it. The first is the
 * default.
 */
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "platform/platform.h"

extern const struct sw_platform sw_platform_brev;
extern const struct sw_platform sw_platform_docker;
extern const struct sw_platform sw_platform_kubernetes;
extern const struct sw_platform sw_platform_lepton;
extern const struct sw_platform sw_platform_local;
extern const struct sw_platform sw_platform_ray;
extern const struct sw_platform sw_platform_rehearsal;
extern const struct sw_platform sw_platform_runai;
extern const struct sw_platform sw_platform_slurm;
#ifdef SW_TEST_PLATFORM                      /* one more, in a test program only (tests/contract/rest) */
extern const struct sw_platform SW_TEST_PLATFORM;
#endif

static const struct sw_platform *const platforms[] = {
    &sw_platform_local,
    &sw_platform_docker,
    &sw_platform_slurm,
    &sw_platform_kubernetes,
    &sw_platform_lepton,
    &sw_platform_runai,
    &sw_platform_brev,
    &sw_platform_ray,
    &sw_platform_rehearsal,
#ifdef SW_TEST_PLATFORM
    &SW_TEST_PLATFORM,
#endif
};

const struct sw_platform *sw_platform_at(size_t index)
{
    return index < SW_COUNT(platforms) ? platforms[index] : NULL;
}

const struct sw_platform *sw_platform_find(const char *name)
{
    for (size_t i = 0; i < SW_COUNT(platforms); i++)
        if (strcmp(platforms[i]->name, name) == 0 || sw_text_same(platforms[i]->alias, name))
            return platforms[i];
    return NULL;
}

const struct sw_platform *sw_platform_need(const char *name, struct sw_error *err)
{
    const struct sw_platform *found = sw_platform_find(name);
    const char *names[SW_COUNT(platforms)];
    const char *nearest;

    if (found)
        return found;
    for (size_t i = 0; i < SW_COUNT(platforms); i++)
        names[i] = platforms[i]->name;
    nearest = sw_text_nearest(name, names, SW_COUNT(names));
    sw_fail(err, SW_E_NOT_FOUND, "unknown platform '%s'", name);
    if (nearest)
        sw_hint(err, "did you mean '%s'? `slipway platforms` lists them", nearest);
    else
        sw_hint(err, "`slipway platforms` lists them");
    return NULL;
}
