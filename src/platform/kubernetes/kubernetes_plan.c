/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_plan.c - what `slipway plan` shows: the objects that submit would send, without asking the
 * cluster.
 *
 * What only the cluster knows is shown as far as it can be: the engine of `auto` as a plain Job, the
 * runner without its architecture. A Secret is shown with the names of what it holds, never with a value.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include "base/text.h"
#include "platform/kit/sending.h"

/* What launchers need is taken to be there: only `auto` has a choice. */
static bool may_have(void *context, const char *group)
{
    (void)context;
    return !sw_text_same(group, "jobset.x-k8s.io");
}

static void show(json_t *sends, const char *plural, const char *name, json_t *document)
{
    sw_autofree char *what = sw_format("POST %s '%s'", plural, name), *text = sw_json_dump_pretty(document);

    json_array_append_new(sends, sw_json_object(SW_STR("what", what), SW_STR("text", text)));
    json_decref(document);
}

/* The payload as a document, since people read it. */
static json_t *files_of(const struct sw_plan *plan, const struct k8s_site *site, const char *name,
                        struct sw_error *err)
{
    sw_auto(sw_payload) struct sw_payload *payload = k8s_render_payload(plan, site, err);
    json_t *files = payload ? k8s_render_head(plan, site, "ConfigMap", name) : NULL;

    if (files)
        json_object_set_new(files, "data",
                            sw_json_object(SW_SUB("payload.json", sw_payload_to_json(payload))));
    if (files && plan->launcher == SW_LAUNCHER_RAY)
        k8s_ray_files(plan, json_object_get(files, "data"));
    return files;
}

static json_t *secret_of(const struct sw_plan *plan, const struct k8s_site *site, const char *name)
{
    json_t *secret = k8s_render_head(plan, site, "Secret", name);
    json_t *names = json_array();

    json_array_extend(names, plan->secrets);
    json_array_extend(names, plan->credentials);
    json_object_set_new(secret, "data", sw_json_object(SW_SUB("secrets", names)));
    return secret;
}

/* Outputs that no destination and no volume keeps are lost with the pod. */
static void warn_of_lost(struct sw_connection *conn, const struct sw_plan *plan)
{
    sw_autofree char *kept = k8s_results_source(plan);
    json_t *output;
    size_t i;

    json_array_foreach(plan->outputs, i, output)
        if (!kept && !sw_json_str(output, "to"))
            k8s_warn(conn, "output '%s' stays in the pod and is lost with it; name a destination with 'to:', "
                     "or mount a volume at /results ('kubernetes.volumes')", sw_json_str(output, "path"));
}

json_t *kubernetes_render(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    struct k8s_job_options options = k8s_job_options(plan->options);
    struct k8s_site site = { .attempt = 1, .ray_cluster = k8s_ray_named(plan),
                             .namespace = conn->namespace, .owner = "",
                             .arch = k8s_arch_name(options.arch), .runner = "slipway-runner",
                             .pull_secret = options.image_pull_secret,
                             .has_secrets = sw_sends_secrets(plan),
                             .restricted = options.security == K8S_SECURITY_RESTRICTED };
    const struct k8s_engine *engine = k8s_engine_for(plan, may_have, NULL, err);
    json_t *object = engine ? k8s_render_object(plan, &site, engine, err) : NULL;
    sw_auto(json) json_t *sends = json_array();
    char name[K8S_NAME_SIZE];
    json_t *files;

    if (!object)
        return NULL;
    k8s_name(name, plan->job_id, 1);
    show(sends, engine->plural, name, object);
    files = files_of(plan, &site, name, err);
    if (!files)
        return NULL;
    show(sends, "configmaps", name, files);
    if (site.has_secrets)
        show(sends, "secrets", name, secret_of(plan, &site, name));
    if (plan->nodes > 1 && engine->needs_service)
        show(sends, "services", name, k8s_render_service(plan, &site));
    warn_of_lost(conn, plan);
    return sw_take(sends);
}
