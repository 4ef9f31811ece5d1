/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_permissions.c - may this user do here what a job needs? Each right is asked about by name
 * (SelfSubjectAccessReview); what is missing comes as the roles that an administrator applies.
 *
 * The roles hold all that jobs need, not the missing rights alone: applying them again takes nothing away.
 */
#include "platform/kubernetes/kubernetes_preflight.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

#define REVIEWS "/apis/authorization.k8s.io/v1"

enum when { ALWAYS, SEVERAL_NODES, WITH_VOLUMES, CLUSTER };     /* CLUSTER: of use, and not needed */

static const struct right {
    const char *group, *resource, *verbs;
    enum when when;
    int since;                   /* minor version of the server that asks for it */
} rights[] = {
    { "batch", "jobs", "create get list watch patch delete", ALWAYS, 0 },
    { "", "pods", "get list watch", ALWAYS, 0 },
    { "", "pods/log", "get", ALWAYS, 0 },
    { "", "pods/exec", "get", ALWAYS, 0 },
    { "", "pods/exec", "create", ALWAYS, 35 },
    { "", "configmaps", "create get list delete", ALWAYS, 0 },
    { "", "secrets", "create get delete", ALWAYS, 0 },
    { "", "events", "list", ALWAYS, 0 },
    { "", "services", "create get delete", SEVERAL_NODES, 0 },
    { "", "pods", "create delete", WITH_VOLUMES, 0 },
    { "", "persistentvolumeclaims", "get", WITH_VOLUMES, 0 },
    { "", "nodes", "list", CLUSTER, 0 },
    { "", "pods", "list", CLUSTER, 0 },
};

/* ---- asking -------------------------------------------------------------------------------------- */

/* 1: yes, 0: no. */
static int may(struct sw_connection *conn, const struct right *right, const char *verb, struct sw_error *err)
{
    sw_autofree char *resource = sw_strndup(right->resource, strcspn(right->resource, "/"));
    const char *below = strchr(right->resource, '/');
    sw_auto(json) json_t *answer = NULL, *body = sw_json_object(
        SW_STR("apiVersion", "authorization.k8s.io/v1"), SW_STR("kind", "SelfSubjectAccessReview"),
        SW_SUB("spec", sw_json_object(SW_SUB("resourceAttributes", sw_json_object(
            SW_STR_OPT("namespace", right->when == CLUSTER ? NULL : conn->namespace), SW_STR("verb", verb),
            SW_STR("group", right->group), SW_STR("resource", resource),
            SW_STR_OPT("subresource", below ? below + 1 : NULL))))));

    if (k8s_call(conn, "POST", REVIEWS "/selfsubjectaccessreviews", body, &answer, err) < 0)
        return -1;
    return json_is_true(k8s_at(answer, "status/allowed"));
}

/* Appends "create jobs.batch" for each verb that is missing. */
static int ask(const struct k8s_checks *checks, const struct right *right, struct sw_buf *missing,
               struct sw_error *err)
{
    for (const char *at = right->verbs; *at; at += strspn(at, " ")) {
        sw_autofree char *verb = sw_strndup(at, strcspn(at, " "));
        int allowed = may(checks->conn, right, verb, err);

        if (allowed < 0)
            return -1;
        if (!allowed)
            sw_buf_addf(missing, "%s%s %s%s%s", missing->length ? ", " : "", verb, right->resource,
                        *right->group ? "." : "", right->group);
        at += strlen(verb);
    }
    return 0;
}

static bool is_needed(const struct k8s_checks *checks, const struct right *right)
{
    const struct sw_plan *plan = checks->plan;

    return checks->minor >= right->since && right->when != CLUSTER &&
           (right->when != SEVERAL_NODES || (plan && plan->nodes > 1)) &&
           (right->when != WITH_VOLUMES || checks->has_volumes);
}

/* ---- the roles ------------------------------------------------------------------------------------ */

static void put_rule(struct sw_buf *out, const struct right *right)
{
    sw_buf_addf(out, "- {apiGroups: [\"%s\"], resources: [%s], verbs: [", right->group, right->resource);
    for (const char *at = right->verbs; *at; at++)
        sw_buf_addf(out, *at == ' ' ? ", " : "%c", *at);
    sw_buf_add(out, "]}\n");
}

/* "slipway-ann" of "ann@example.com": no two users share a role, so that none changes another's. */
static char *role_name(const char *user)
{
    char *name = sw_format("slipway-%s", user);

    for (char *at = name; *at; at++)
        *at = isalnum((unsigned char)*at) ? (char)tolower((unsigned char)*at) : '-';
    return name;
}

static void put_head(struct sw_buf *out, const char *kind, const char *name, const char *namespace)
{
    sw_buf_addf(out, "apiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata: {name: %s", kind, name);
    sw_buf_addf(out, namespace ? ", namespace: %s}\n" : "}\n", namespace);
}

static void put_role(struct sw_buf *out, const char *user, const char *namespace, const struct right *own)
{
    const char *kind = namespace ? "Role" : "ClusterRole";
    const char *binding = namespace ? "RoleBinding" : "ClusterRoleBinding";
    sw_autofree char *name = role_name(user);
    sw_auto(json) json_t *quoted = sw_json_text(user);
    sw_autofree char *subject = json_dumps(quoted, JSON_ENCODE_ANY);

    put_head(out, kind, name, namespace);
    sw_buf_add(out, "rules:\n");
    for (size_t i = 0; i < SW_COUNT(rights); i++)
        if ((rights[i].when == CLUSTER) == !namespace)
            put_rule(out, &rights[i]);
    if (own)
        put_rule(out, own);
    sw_buf_add(out, "---\n");
    put_head(out, binding, name, namespace);
    sw_buf_addf(out, "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %s, name: %s}\n", kind, name);
    sw_buf_addf(out, "subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]\n", subject);
}

/* As the server knows the user; a service account has such a name, too. */
static char *user_name(struct sw_connection *conn)
{
    sw_auto(json) json_t *answer = NULL, *body = sw_json_object(
        SW_STR("apiVersion", "authentication.k8s.io/v1"), SW_STR("kind", "SelfSubjectReview"));
    const char *name;

    k8s_call(conn, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body, &answer, NULL);
    name = json_string_value(k8s_at(answer, "status/userInfo/username"));
    return sw_strdup(name ? name : "USER");
}

static char *roles(const struct k8s_checks *checks, const char *namespace, const struct right *own)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_autofree char *user = user_name(checks->conn);

    sw_buf_add(&out, "an administrator applies this (kubectl apply -f -):\n");
    put_role(&out, user, namespace, own);
    return sw_buf_steal(&out);
}

/* ---- the checks ----------------------------------------------------------------------------------- */

static void check_cluster(const struct k8s_checks *checks)
{
    sw_auto(sw_buf) struct sw_buf missing = SW_BUF_INIT;
    sw_autofree char *message = NULL, *fix = NULL;

    for (size_t i = 0; i < SW_COUNT(rights); i++)
        if (rights[i].when == CLUSTER && ask(checks, &rights[i], &missing, NULL) < 0)
            return;
    if (!missing.length)
        return;
    message = sw_format("%s in the whole cluster; jobs that can never fit are not refused then, and free "
                        "GPUs are not known", sw_buf_text(&missing));
    fix = roles(checks, NULL, NULL);
    k8s_finding(checks->rows, "cluster permissions", K8S_NOT_SET_UP, message, fix);
}

void k8s_check_permissions(const struct k8s_checks *checks)
{
    const struct k8s_engine *engine = checks->engine;
    bool other = engine && strcmp(engine->group, "batch") != 0;
    const struct right own = { other ? engine->group : "batch", other ? engine->plural : "jobs",
                               "create get list watch patch delete", ALWAYS, 0 };
    sw_auto(sw_buf) struct sw_buf missing = SW_BUF_INIT;
    sw_autofree char *message = NULL, *fix = NULL;
    struct sw_error why = { 0 };

    for (size_t i = 0; i < SW_COUNT(rights); i++)
        if (is_needed(checks, &rights[i]) && ask(checks, &rights[i], &missing, &why) < 0) {
            k8s_finding(checks->rows, "permissions", K8S_WRONG, why.message, why.hint);
            return;
        }
    if (other)
        ask(checks, &own, &missing, NULL);
    message = sw_format(missing.length ? "missing in namespace %s: %s" : "all that jobs in %s need%s",
                        checks->conn->namespace, sw_buf_text(&missing));
    fix = missing.length ? roles(checks, checks->conn->namespace, other ? &own : NULL) : NULL;
    k8s_finding(checks->rows, "permissions", missing.length ? K8S_WRONG : K8S_FINE, message, fix);
    check_cluster(checks);
}
