/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_submit.c - the objects of an attempt are sent, in an order that loses nothing.
 *
 *     1  runner and pull secret, where they are missing: shared, harmless when nothing follows
 *     2  the object as a dry run: the server's validation and admission answer, nothing exists yet
 *     3  the object, suspended: from now on everything else belongs to it
 *     4  ConfigMaps, Secret, Service, owned by it: deleting it deletes them
 *     5  one patch releases it and says that the submit came to its end (K8S_NOTE_SENT)
 *
 * A client that dies before 3 leaves nothing, one that dies before 5 leaves an object that never runs and
 * that reconcile removes. A repeated submit finds what is there and goes on with it. An answer that did
 * not come is asked for once more by name.
 */
#include "platform/kubernetes/kubernetes_submit.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "platform/kit/sending.h"

enum { AGAIN_MS = 300, GOING_MS = 60000, GOING_STEP_MS = 250 };

struct k8s_sending {
    struct sw_connection *conn;
    const struct sw_plan *plan;
    const struct sw_secrets *secrets;
    struct k8s_job_options options;
    const struct k8s_engine *engine;
    struct k8s_site site;
    char name[K8S_NAME_SIZE], runner[K8S_NAME_SIZE], pull[K8S_NAME_SIZE], arch[16], owner[128];
    struct sw_bundle code;
    json_t *products;
    char *ray_cluster;
    json_t *object;                  /* as the server has it */
    bool made;                       /* by this call */
};

static void k8s_sending_auto(struct k8s_sending *s)
{
    sw_bundle_done(&s->code);
    json_decref(s->products);
    free(s->ray_cluster);
    json_decref(s->object);
}

/* ---- what the plan leaves open ------------------------------------------------------------------ */

struct asking { struct sw_connection *conn; struct sw_error err; };

static bool has_group(void *context, const char *group)
{
    struct asking *asking = context;

    return !asking->err.code && k8s_group(asking->conn, group, &asking->err);
}

static int settle_engine(struct k8s_sending *s, struct sw_error *err)
{
    struct asking asking = { .conn = s->conn };
    struct sw_error why = { 0 };

    s->engine = k8s_engine_for(s->plan, has_group, &asking, &why);
    if (asking.err.code)
        return sw_pass(err, &asking.err);
    return s->engine ? 0 : sw_pass(err, &why);
}

/* The runner must fit the node's processor, so nodes that differ need a choice. */
static int settle_nodes(struct k8s_sending *s, struct sw_error *err)
{
    struct k8s_capacity capacity = { 0 };

    s->site.arch = s->arch;
    if (s->options.arch != K8S_ARCH_AUTO)
        snprintf(s->arch, sizeof s->arch, "%s", k8s_arch_name(s->options.arch));
    if (*s->arch && !s->plan->gpu_type)
        return 0;
    if (k8s_capacity_of(s->conn, s->plan, false, &s->products, &capacity, err) < 0)
        return -1;
    s->site.gpu_products = s->products;
    if (*s->arch)
        return 0;
    if (capacity.matching > 0 && !*capacity.arch) {
        sw_fail(err, SW_E_SPEC, "the matching nodes have different processors");
        return sw_hint(err, "choose with 'kubernetes.arch: amd64' or 'arm64'");
    }
    snprintf(s->arch, sizeof s->arch, "%s", *capacity.arch ? capacity.arch : "amd64");
    return 0;
}

static int settle_code(struct k8s_sending *s, struct sw_error *err)
{
    sw_autofree char *folder = sw_path_join(s->conn->root, s->plan->job_id);

    if (sw_code_kept(s->plan, s->site.attempt, folder, &s->code, err) < 0)
        return -1;
    s->site.pieces = (int)((s->code.length + K8S_PIECE - 1) / K8S_PIECE);
    if (s->site.pieces <= K8S_PIECES_MAX)
        return 0;
    sw_fail(err, SW_E_SPEC, "code: the packed code has %zu MB; a job can carry %d MB",
            s->code.length / 1000000, K8S_PIECES_MAX * K8S_PIECE / 1000000);
    return sw_hint(err, "leave large files out with 'code.exclude', or fetch them as 'inputs:'");
}

static int check_collect(const struct sw_plan *plan, struct sw_error *err)
{
    const char *lost = plan->only_collect ? k8s_output_lost(plan) : NULL;

    return lost ? sw_fail(err, SW_E_REFUSED, "output '%s' was lost with its pod; only what is on a volume "
                                             "can be copied again", lost) : 0;
}

/* The cluster that a guest names; the name that a cluster which stays takes. */
static int settle_ray(struct k8s_sending *s, struct sw_error *err)
{
    const char *named = k8s_ray_named(s->plan);

    if (named && !(s->ray_cluster = k8s_ray_find(s->conn, named, err)))
        return -1;
    s->site.ray_cluster = s->ray_cluster;
    return k8s_ray_stays(s->plan) ? k8s_ray_free(s->conn, s->plan, err) : 0;
}

static int settle(struct k8s_sending *s, struct sw_error *err)
{
    sw_owner_name(s->owner);
    s->site.owner = s->owner;
    s->site.namespace = s->conn->namespace;
    s->site.has_secrets = sw_sends_secrets(s->plan);
    s->site.restricted = s->options.security == K8S_SECURITY_RESTRICTED;
    k8s_name(s->name, s->plan->job_id, s->site.attempt);
    if (check_collect(s->plan, err) < 0 || settle_engine(s, err) < 0 || settle_nodes(s, err) < 0 ||
        settle_code(s, err) < 0 || settle_ray(s, err) < 0)
        return -1;
    if (s->options.runner != K8S_RUNNER_IMAGE) {
        if (k8s_runner(s->conn, s->arch, s->options.runner, s->runner, err) < 0)
            return -1;
        s->site.runner = s->runner;
    }
    if (k8s_pull_secret(s->conn, s->plan, s->pull, err) < 0)
        return -1;
    s->site.pull_secret = *s->pull ? s->pull : NULL;
    return 0;
}

/* ---- the object --------------------------------------------------------------------------------- */

/* With `warnings` (may be NULL) what the server warns of. */
static int post_object(struct k8s_sending *s, bool dry, json_t **made, bool *violates, struct sw_error *err)
{
    sw_auto(json) json_t *body = k8s_render_object(s->plan, &s->site, s->engine, err);
    sw_autofree char *path = k8s_engine_path(s->conn, s->engine, NULL);
    const struct sw_rest_pair query[] = { { "fieldValidation", "Strict" },
                                          { "dryRun", dry ? "All" : NULL }, { 0 } };
    sw_auto(sw_rest_seen) struct sw_rest_seen seen = { 0 };
    const struct sw_rest_call call = { .method = "POST", .path = path, .query = query, .json = body,
                                       .repeatable = true, .seen = &seen };
    int result;

    if (!body)
        return -1;
    result = sw_rest_call(s->conn->rest, &call, made, err);
    if (violates)
        *violates = strstr(sw_buf_text(&seen.headers), "would violate PodSecurity") != NULL;
    return result;
}

/* The server's own schema answers: a KubeRay before 1.6 does not know the field. */
static bool lacks_ray_auth(const struct k8s_sending *s, const struct sw_error *why)
{
    return s->engine->choice == K8S_RAYJOB && !s->site.no_ray_auth && why->code != SW_E_UNREACHABLE &&
           strstr(why->message, "authOptions") && strstr(why->message, "unknown field");
}

/* A namespace that demands restricted pods says so as a warning; then they are. */
static int dry_run(struct k8s_sending *s, struct sw_error *err)
{
    bool violates = false;
    struct sw_error why = { 0 };
    int result = post_object(s, true, NULL, &violates, &why);

    if (result < 0 && lacks_ray_auth(s, &why)) {
        k8s_warn(s->conn, "KubeRay is older than 1.6: the Ray cluster has no token, and its dashboard is "
                 "open to every pod that can reach it");
        s->site.no_ray_auth = true;
        why = (struct sw_error){ 0 };
        result = post_object(s, true, NULL, &violates, &why);
    }
    if (result < 0 && why.code != SW_E_CONFLICT) {
        sw_pass(err, &why);
        return sw_wrap(err, "the cluster rejects this job");
    }
    if (violates && s->options.security == K8S_SECURITY_AUTO)
        s->site.restricted = true;
    return 0;
}

/* Of this attempt, by its labels, and of this job store. */
static bool is_ours(const struct k8s_sending *s, const json_t *object)
{
    return sw_text_same(k8s_label(object, K8S_LABEL_ID), s->plan->job_id) &&
           k8s_label_number(object, K8S_LABEL_ATTEMPT, -1) == s->site.attempt &&
           (!s->plan->store_id || sw_text_same(k8s_label(object, K8S_LABEL_STORE), s->plan->store_id));
}

/* The name is taken: by this attempt, or by one that is being removed. 1: it is gone now; 0: s->object. */
static int find_object(struct k8s_sending *s, struct sw_error *err)
{
    sw_autofree char *path = k8s_engine_path(s->conn, s->engine, s->name);
    int64_t until_ms = sw_monotonic_ms() + GOING_MS;

    for (;;) {
        sw_auto(json) json_t *found = NULL;
        struct sw_error why = { 0 };

        if (k8s_call(s->conn, NULL, path, NULL, &found, &why) < 0)
            return why.code == SW_E_NOT_FOUND ? 1 : sw_pass(err, &why);
        if (!k8s_meta(found, "deletionTimestamp")) {
            s->object = sw_take(found);
            break;
        }
        if (sw_monotonic_ms() > until_ms)
            return sw_fail(err, SW_E_CONFLICT, "%s '%s' is still being removed", s->engine->kind, s->name);
        sw_sleep_ms(GOING_STEP_MS);
    }
    if (is_ours(s, s->object))
        return 0;
    sw_fail(err, SW_E_CONFLICT, "%s '%s' in namespace '%s' belongs to another job",
            s->engine->kind, s->name, s->conn->namespace);
    return sw_hint(err, "remove it, or give the job another name");
}

static int create_once(struct k8s_sending *s, struct sw_error *err)
{
    struct sw_error why = { 0 };
    int gone;

    if (post_object(s, false, &s->object, NULL, &why) == 0) {
        s->made = true;
        return 0;
    }
    if (why.code != SW_E_CONFLICT)
        return sw_pass(err, &why);
    gone = find_object(s, err);
    return gone > 0 ? sw_fail(err, SW_E_UNREACHABLE, "%s '%s' was just "
                                                     "removed", s->engine->kind, s->name) : gone;
}

/* Whether an unanswered call was carried out is not known: if it was, the object has our name and labels. */
static int create_object(struct k8s_sending *s, struct sw_error *err)
{
    struct sw_error why = { 0 };

    if (create_once(s, &why) == 0)
        return 0;
    if (why.code == SW_E_UNREACHABLE) {
        sw_sleep_ms(AGAIN_MS);
        why = (struct sw_error){ 0 };
        if (create_once(s, &why) == 0)
            return 0;
    }
    return sw_pass(err, &why);
}

/* ---- what belongs to it ------------------------------------------------------------------------- */

static json_t *head_of(const struct k8s_sending *s, const char *kind, const char *name)
{
    json_t *head = k8s_render_head(s->plan, &s->site, kind, name);

    k8s_render_owned(head, s->object);
    return head;
}

/* The object of that name is another owner's, who is gone: it only waits for its removal. */
static int make_room(struct k8s_sending *s, const char *plural, const char *name, struct sw_error *err)
{
    sw_autofree char *path = k8s_path(s->conn, "v1", plural, name);
    sw_auto(json) json_t *found = NULL;
    const json_t *owner;
    struct sw_error why = { 0 };

    if (k8s_call(s->conn, NULL, path, NULL, &found, &why) < 0)
        return why.code == SW_E_NOT_FOUND ? 1 : sw_pass(err, &why);
    owner = json_array_get(json_object_get(json_object_get(found, "metadata"), "ownerReferences"), 0);
    if (sw_text_same(sw_json_str(owner, "uid"), k8s_meta(s->object, "uid")))
        return 0;                                  /* of this attempt, by an earlier call */
    if (!sw_text_same(k8s_label(found, K8S_LABEL_ID), s->plan->job_id))
        return sw_fail(err, SW_E_CONFLICT, "'%s' of %s belongs to another job", name, plural);
    return k8s_delete(s->conn, path, k8s_meta(found, "uid"), err) < 0 ? -1 : 1;
}

/* Send one of them: post() is called again when something of that name had to go first. */
static int send_owned(struct k8s_sending *s, const char *plural, const char *name,
                      int (*post)(struct k8s_sending *s, int index, struct sw_error *err), int index,
                      struct sw_error *err)
{
    for (int tries = 0;; tries++) {
        struct sw_error why = { 0 };
        int room;

        if (post(s, index, &why) == 0)
            return 0;
        if (why.code == SW_E_UNREACHABLE && tries == 0) {
            sw_sleep_ms(AGAIN_MS);
            continue;
        }
        if (why.code != SW_E_CONFLICT || tries > 2)
            return sw_pass(err, &why);
        room = make_room(s, plural, name, err);
        if (room <= 0)
            return room;
    }
}

static char *piece_name(const struct k8s_sending *s, int index)
{
    return index < 0 ? sw_strdup(s->name) : sw_format("%s-code-%d", s->name, index);
}

/* The job's files; with an index a piece of its code. */
static int post_files(struct k8s_sending *s, int index, struct sw_error *err)
{
    sw_autofree char *path = k8s_path(s->conn, "v1", "configmaps", NULL), *name = piece_name(s, index);
    sw_auto(json) json_t *body = head_of(s, "ConfigMap", name), *plan = sw_plan_to_json(s->plan);
    sw_auto(sw_buf) struct sw_buf pem = SW_BUF_INIT;
    sw_autofree char *text = NULL, *plan_text = sw_json_dump(plan);

    if (index < 0) {
        sw_auto(sw_payload) struct sw_payload *payload = k8s_render_payload(s->plan, &s->site, err);

        text = payload ? sw_payload_text(payload, s->plan, &pem, err) : NULL;
        if (!text)
            return -1;
        json_object_set_new(body, "data", sw_json_object(
            SW_STR("payload.json", text), SW_STR("plan.json", plan_text),
            SW_STR_OPT(SW_PAYLOAD_CA, pem.length ? sw_buf_text(&pem) : NULL)));
        if (s->engine->choice == K8S_RAYJOB)
            k8s_ray_files(s->plan, json_object_get(body, "data"));
    } else {
        size_t from = (size_t)index * K8S_PIECE, left = s->code.length - from;
        sw_autofree char *encoded = sw_base64(s->code.bytes + from, left < K8S_PIECE ? left : K8S_PIECE);
        sw_autofree char *key = sw_format("code.tar.gz.%d", index);

        json_object_set_new(body, "binaryData", sw_json_object(SW_STR(key, encoded)));
    }
    return k8s_call(s->conn, "POST", path, body, NULL, err);
}

static int post_secret(struct k8s_sending *s, int index, struct sw_error *err)
{
    sw_auto(json) json_t *head = head_of(s, "Secret", s->name);
    struct sw_buf bytes = SW_BUF_INIT;
    int result = sw_secrets_bytes(s->secrets, &bytes, err);

    (void)index;
    if (result == 0)
        result = k8s_create_secret(s->conn, head, "secrets", &bytes, err);
    sw_buf_wipe(&bytes);
    return result;
}

static int post_service(struct k8s_sending *s, int index, struct sw_error *err)
{
    sw_autofree char *path = k8s_path(s->conn, "v1", "services", NULL);
    sw_auto(json) json_t *body = k8s_render_service(s->plan, &s->site);

    (void)index;
    k8s_render_owned(body, s->object);
    return k8s_call(s->conn, "POST", path, body, NULL, err);
}

static int send_files(struct k8s_sending *s, struct sw_error *err)
{
    for (int i = -1; i < s->site.pieces; i++) {
        sw_autofree char *name = piece_name(s, i);

        if (send_owned(s, "configmaps", name, post_files, i, err) < 0)
            return sw_wrap(err, "cannot send the job's files");
    }
    if (s->site.has_secrets && send_owned(s, "secrets", s->name, post_secret, 0, err) < 0)
        return sw_wrap(err, "cannot send the job's secrets");
    if (s->plan->nodes > 1 && s->engine->needs_service &&
        send_owned(s, "services", s->name, post_service, 0, err) < 0)
        return sw_wrap(err, "cannot create the job's service");
    return 0;
}

/* "spec.runPolicy.suspend" -> {"spec": {"runPolicy": {"suspend": false}}} */
static json_t *released(const char *path)
{
    json_t *whole = json_false();
    sw_autofree char *text = sw_strdup(path);

    for (char *dot; (dot = strrchr(text, '.')); *dot = '\0')
        whole = sw_json_object(SW_SUB(dot + 1, whole));
    return sw_json_object(SW_SUB(text, whole));
}

/* Kueue releases by itself what it admits. */
static int release(struct k8s_sending *s, struct sw_error *err)
{
    bool by_kueue = k8s_is_kueues(s->plan, s->engine);
    sw_autofree char *path = k8s_engine_path(s->conn, s->engine, s->name);
    sw_auto(json) json_t *patch = s->engine->suspend && !by_kueue && !s->site.ray_cluster
                                      ? released(s->engine->suspend) : json_object();
    struct sw_error why = { 0 };

    json_object_set_new(patch, "metadata", sw_json_object(
        SW_STR("uid", k8s_meta(s->object, "uid")),
        SW_SUB("annotations", sw_json_object(SW_STR(K8S_NOTE_SENT, "true")))));
    if (k8s_call(s->conn, "PATCH", path, patch, NULL, &why) == 0)
        return 0;
    if (why.code == SW_E_UNREACHABLE) {
        sw_sleep_ms(AGAIN_MS);
        why = (struct sw_error){ 0 };
        if (k8s_call(s->conn, "PATCH", path, patch, NULL, &why) == 0)
            return 0;
    }
    return sw_pass(err, &why);
}

/* ---- all of it ---------------------------------------------------------------------------------- */

/* Nothing of a job that was refused stays; where that is not certain, it may be there. */
static int take_back(struct k8s_sending *s, struct sw_error *err)
{
    sw_autofree char *path = k8s_engine_path(s->conn, s->engine, s->name);

    if (!s->made || err->code == SW_E_UNREACHABLE ||
        k8s_delete(s->conn, path, k8s_meta(s->object, "uid"), NULL) == 0)
        return -1;
    sw_wrap(err, "rejected, and what had been created could not be removed");
    err->code = SW_E_UNREACHABLE;
    return -1;
}

static int send(struct k8s_sending *s, struct sw_error *err)
{
    struct sw_error why = { 0 };

    if (settle(s, err) < 0 || dry_run(s, err) < 0 || create_object(s, err) < 0)
        return -1;
    if (k8s_note(s->object, K8S_NOTE_SENT) || (send_files(s, &why) == 0 && release(s, &why) == 0))
        return 0;
    take_back(s, &why);
    return sw_pass(err, &why);
}

void k8s_fill_submission(const json_t *object, const char *engine, const struct sw_plan *plan,
                         struct sw_submission *out)
{
    const char *uid = k8s_meta(object, "uid");
    bool guest = k8s_at(object, "spec/clusterSelector") != NULL;

    snprintf(out->remote_id, sizeof out->remote_id, "%s", uid ? uid : "");
    out->details = sw_json_object(SW_STR("engine", engine),
                                  SW_STR_OPT("store", k8s_label(object, K8S_LABEL_STORE)),
                                  SW_SUB("guest", guest ? json_true() : NULL));
    out->results_dir = plan ? k8s_results_source(plan) : NULL;
}

int kubernetes_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                      const struct sw_secrets *secrets, struct sw_submission *receipt, struct sw_error *err)
{
    sw_auto(k8s_sending) struct k8s_sending s = { .conn = conn, .plan = plan, .secrets = secrets,
                                                  .options = k8s_job_options(plan->options),
                                                  .site.attempt = attempt };

    if (send(&s, err) < 0)
        return sw_wrap(err, "cannot start '%s'", plan->job_id);
    k8s_fill_submission(s.object, s.engine->name, plan, receipt);
    return 0;
}
