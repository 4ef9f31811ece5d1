/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scene.h - a plan on its way to Kubernetes, as the tests of what is rendered begin with it. After cmocka.h.
 */
#ifndef SW_TESTS_KUBERNETES_SCENE_H
#define SW_TESTS_KUBERNETES_SCENE_H

#include "platform/kubernetes/kubernetes_internal.h"
#include "../plan_fixture.h"

struct scene {
    struct sw_plan *plan;
    struct k8s_site site;
};

static inline struct scene *scene_new(const char *image)
{
    struct scene *scene = calloc(1, sizeof *scene);

    scene->plan = plan_fixture("kubernetes", image, NULL);
    scene->plan->store_id = sw_strdup("0123456789abcdef");
    scene->plan->owner_uid = 1000;
    scene->site = (struct k8s_site){ .attempt = 1, .namespace = "train", .arch = "amd64", .owner = "me@here",
                                     .runner = "slipway-runner-amd64-0123456789ab" };
    return scene;
}

static inline int scene_end(void **state)
{
    struct scene *scene = *state;

    sw_plan_free(scene->plan);
    free(scene);
    return 0;
}

static inline void option(const struct scene *scene, const char *name, json_t *value)
{
    json_object_set_new(scene->plan->options, name, value);
}

static inline json_t *object_of(const struct scene *scene, const char *engine)
{
    struct sw_error err = { 0 };
    json_t *object = k8s_render_object(scene->plan, &scene->site, k8s_engine_named(engine), &err);

    if (!object)
        fail_msg("%s", err.message);
    return object;
}

#endif
