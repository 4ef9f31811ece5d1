/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_walk.c - every key of the job file and every option of every platform is set once: it must change what
 * would be sent or where we connect, or be refused. What acts elsewhere (a time limit of the connection, what
 * the client itself does) is listed here with the file that reads it, and the file is looked at.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "core/option.h"
#include "platform/platform.h"
#include "slipway.h"
#include "spec/spec.h"

/* Rows that no plan can show, and the source that acts on them: it reads a member or key of this name. */
static const struct {
    const char *key, *file;
    const char *name;              /* NULL: the key's own */
} elsewhere[] = {
    { "local.inherit_env", "src/platform/local/local_submit.c" },
    { "docker.tls", "src/platform/docker/docker_endpoint.c" },
    { "docker.certificates", "src/platform/docker/docker_endpoint.c" },
    { "docker.identity", "src/net/ssh.c" },
    { "docker.ssh_config", "src/net/ssh.c", "config_file" },
    { "docker.known_hosts", "src/net/ssh.c" },
    { "docker.accept_new", "src/net/ssh.c" },
    { "docker.connect_timeout", "src/net/ssh.c", "connect_ms" },
    { "docker.keep_connection", "src/net/ssh.c", "persist_ms" },
    { "docker.pull", "src/platform/docker/docker_submit.c" },
    { "docker.user", "src/platform/docker/docker_submit.c" },
    { "docker.run_as", "src/platform/docker/docker_submit.c" },
    { "docker.entrypoint", "src/platform/docker/docker_render.c" },
    { "docker.gpu_ids", "src/platform/docker/docker_queue.c" },
    { "docker.gpu_devices", "src/platform/docker/docker_queue.c" },
    { "docker.auto_remove", "src/platform/docker/docker_cleanup.c" },
    { "brev.cli", "src/platform/brev/brev_cli.c" },
    { "brev.pool_size", "src/platform/brev/brev_create.c" },
    { "brev.ready_timeout", "src/platform/brev/brev_create.c", "ready_ms" },
    { "brev.delete_after", "src/platform/brev/brev_jobs.c" },
    { "brev.socket", "src/platform/brev/brev_engine.c" },
    { "brev.connect_timeout", "src/platform/brev/brev_engine.c" },
    { "brev.keep_connection", "src/platform/brev/brev_engine.c" },
    { "brev.gpu_devices", "src/platform/brev/brev_engine.c" },
    { "brev.pull", "src/platform/docker/docker_submit.c" },
    { "brev.results", "src/platform/docker/docker_submit.c" },
    { "brev.user", "src/platform/docker/docker_submit.c" },
    { "brev.run_as", "src/platform/docker/docker_submit.c" },
    { "brev.entrypoint", "src/platform/docker/docker_render.c" },
    { "brev.gpu_ids", "src/platform/docker/docker_queue.c" },
    { "brev.auto_remove", "src/platform/docker/docker_cleanup.c" },
    { "slurm.ssh_config", "src/net/ssh.c", "config_file" },
    { "slurm.known_hosts", "src/net/ssh.c" },
    { "slurm.accept_new", "src/net/ssh.c" },
    { "slurm.connect_timeout", "src/net/ssh.c", "connect_ms" },
    { "slurm.keep_connection", "src/net/ssh.c", "persist_ms" },
    { "slurm.mail_type", "src/platform/slurm/slurm_batch.c" },
    { "slurm.max_cpus_per_task", "src/platform/slurm/slurm_shape.c" },
    { "slurm.arch", "src/platform/slurm/slurm_upload.c" },
    { "slurm.mpi", "src/platform/slurm/slurm_batch.c" },
    { "slurm.registry_login", "src/platform/slurm/slurm_registry.c" },
    { "slurm.force_reconvert_latest", "src/platform/slurm/slurm_convert.c" },
    { "slurm.sqsh_latest", "src/platform/slurm/slurm_convert.c" },
    { "slurm.conversion_memory_gb", "src/platform/slurm/slurm_convert.c" },
    { "slurm.check", "src/platform/slurm/slurm_submit.c" },
    { "kubernetes.helper_image", "src/platform/kubernetes/kubernetes_helper.c" },
    { "kubernetes.runner_image", "src/platform/kubernetes/kubernetes_render.c" },
    { "kubernetes.queue_priority", "src/platform/kubernetes/kubernetes_render.c" },
    { "kubernetes.runtime", "src/platform/kubernetes/kubernetes_engines.c", "runtime_ref" },
    { "runai.client_id", "src/platform/runai/runai_account.c" },
    { "runai.client_secret", "src/platform/runai/runai_account.c" },
    { "runai.app_id", "src/platform/runai/runai_account.c" },
    { "runai.app_secret", "src/platform/runai/runai_account.c" },
    { "runai.arch", "src/platform/runai/runai_submit.c" },
    { "ray.dashboard_port", "src/platform/ray/ray_address.c" },
    { "ray.token_file", "src/platform/ray/ray.c" },
    { "ray.kubeconfig", "src/platform/ray/ray_address.c" },
    { "ray.context", "src/platform/ray/ray_address.c" },
    { "ray.identity", "src/net/ssh.c" },
    { "ray.ssh_config", "src/net/ssh.c", "config_file" },
    { "ray.known_hosts", "src/net/ssh.c" },
    { "ray.accept_new", "src/net/ssh.c" },
    { "ray.connect_timeout", "src/net/ssh.c", "connect_ms" },
    { "ray.keep_connection", "src/net/ssh.c", "persist_ms" },
    { "ray.start_limit", "src/platform/ray/ray_submit.c", "start_limit_ms" },
    { "ray.cluster_secrets", "src/platform/ray/ray_render.c" },
    { "name", "src/plan/plan.c" },
    { "retry.max", "src/diagnose/retry_decide.c" },
    { "retry.avoid_bad_nodes", "src/diagnose/retry_decide.c" },
    { "guard.no_output", "src/monitor/guard.c" },
    { "guard.idle_gpu", "src/monitor/guard.c" },
    { "guard.action", "src/monitor/guard.c" },
    { "hooks.on_complete", "src/core/job_event.c" },
    { "hooks.on_error", "src/core/job_event.c" },
    { "hooks.on_canceled", "src/core/job_event.c" },
    { "hooks.on_epoch_milestone", "src/core/job_event.c" },
    { "hooks.on_status", "src/core/job_event.c" },
    { "hooks.epoch_milestone_interval", "src/monitor/progress.c" },
    { "notify.command", "src/monitor/hooks.c" },
    { "keep", "src/plan/plan.c" },
    { "watcher", "src/api/watcher.c" },
};

/* What a type cannot guess. */
static const struct {
    const char *key, *value;
} samples[] = {
    { "slurm.max_gpus_per_node", "1" },
};

struct fixture {
    char dir[64];
    struct sw_session *session;
    struct sw_buf warnings;
};

static void keep(void *context, const char *text)
{
    sw_buf_addf(context, "%s\n", text);
}

/* A cluster that is never asked. */
static int write_kubeconfig(const char *home)
{
    static const char text[] =
        "current-context: here\n"
        "clusters: [{name: one, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        "users: [{name: ann, user: {token: abc}}]\n"
        "contexts: [{name: here, context: {cluster: one, user: ann}},\n"
        "           {name: sample, context: {cluster: one, user: ann, namespace: other}}]\n";
    sw_autofree char *folder = sw_path_join(home, ".kube"), *path = sw_path_join(folder, "config");

    return sw_mkdirs(folder, 0700, NULL) < 0 ? -1 : sw_file_write(path, text, sizeof text - 1, 0600, NULL);
}

static int open_fixture(void **state)
{
    struct fixture *here = calloc(1, sizeof *here);
    struct sw_open_options options = { .size = sizeof options, .state_dir = here->dir, .warn = keep,
                                       .warn_context = &here->warnings };

    strcpy(here->dir, "/tmp/slipway-api-XXXXXX");
    if (!mkdtemp(here->dir) || write_kubeconfig(here->dir) < 0)
        return -1;
    options.project_dir = here->dir;
    setenv("HOME", here->dir, 1);
    setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock", 1);
    setenv("SLURM_HOSTNAME", "localhost", 1);
    setenv("SLURM_PORT", "1", 1);
    setenv("SLURM_BASE_RESULTS_DIR", "/lustre/ann", 1);
    here->session = sw_open(&options, NULL);
    *state = here;
    return here->session ? 0 : -1;
}

static int close_fixture(void **state)
{
    struct fixture *here = *state;

    sw_close(here->session);
    sw_remove_tree(here->dir, NULL);
    sw_buf_done(&here->warnings);
    free(here);
    return 0;
}

/* A fingerprint of the plan changes with every key, and means nothing. */
static void blank(char *text, const char *label)
{
    for (char *at = strstr(text, label); at; at = strstr(at, label)) {
        at += strlen(label);
        for (char *c = at + strspn(at, "\\\": "); *c && !strchr("\\\"", *c); c++)
            *c = '-';
    }
}

/* What would be sent and where to, as one text; an error is its message. Owned. */
static char *outcome(struct fixture *here, const char *platform, const char *key, const char *value)
{
    struct sw_request *made = sw_request_new();
    struct sw_error err = { 0 };
    sw_auto(json) json_t *plan = NULL, *part = NULL;
    char *text = NULL;
    bool refused;

    sw_request_id(made, "walk-abcdefgh", NULL);
    sw_request_set(made, "platform", platform, NULL);
    sw_request_set(made, "command", "true", NULL);
    if (strcmp(platform, "local") != 0 && strcmp(platform, "ray") != 0)
        sw_request_set(made, "image", "busybox:1", NULL);
    sw_request_set(made, "gpus", strcmp(platform, "local") ? "2" : "0", NULL);
    sw_request_set(made, "nodes", strcmp(platform, "ray") ? "2" : "1", NULL);
    sw_request_set(made, "config.a", "1", NULL);
    sw_buf_clear(&here->warnings);
    refused = key && sw_request_set(made, key, value, &err) < 0;
    if (!refused)
        text = sw_plan_job(here->session, made, &err);
    sw_request_free(made);
    plan = text ? json_loads(text, 0, NULL) : NULL;
    sw_text_free(text);
    if (!plan)
        return sw_format("error: %s", err.message);
    part = sw_json_object(SW_SUB_COPY("sends", json_object_get(plan, "sends")),
                          SW_SUB_COPY("place", json_object_get(plan, "place")),
                          SW_STR("warnings", sw_buf_text(&here->warnings)));
    text = sw_json_dump(part);
    blank(text, "slipway.plan");
    blank(text, "slipway.signature");
    return text;
}

static const char *sample_of(const struct sw_option *row, const char *key, size_t try)
{
    for (size_t i = 0; i < SW_COUNT(samples); i++)
        if (strcmp(samples[i].key, key) == 0)
            return try == 0 ? samples[i].value : NULL;
    if (row->choices && row->type == SW_CHOICE)
        return row->choices[try];
    if (try > 1)
        return NULL;
    switch (row->type) {
    case SW_FLAG:     return try ? "true" : "false";
    case SW_WHOLE:    return try ? "3" : "7";
    case SW_NUMBER:   return try ? "3.5" : "7";
    case SW_DURATION: return try ? "77s" : "33m";
    case SW_SIZE:     return try ? "77MiB" : "3GiB";
    case SW_GPUS:     return try ? "H100:4" : "1";
    default:          return try ? NULL : "sample";
    }
}

static bool is_word(const char *text, const char *at, size_t length)
{
    return at > text && strchr("\".>", at[-1]) && !isalnum((unsigned char)at[length]) && at[length] != '_';
}

/* "name", .name or ->name: for what reads it. */
static bool is_read(const char *file, const char *name)
{
    sw_autofree char *path = sw_format("%s/%s", getenv("SOURCE_ROOT"), file);
    sw_autofree char *text = sw_file_read(path, 1 << 20, NULL, NULL);

    for (const char *at = text; at && (at = strstr(at, name)); at++)
        if (is_word(text, at, strlen(name)))
            return true;
    return false;
}

static void what_acts_elsewhere_is_read_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(elsewhere); i++) {
        const char *dot = strrchr(elsewhere[i].key, '.');
        const char *name = elsewhere[i].name ? elsewhere[i].name : dot ? dot + 1 : elsewhere[i].key;

        if (!is_read(elsewhere[i].file, name))
            fail_msg("%s does not read %s", elsewhere[i].file, elsewhere[i].key);
    }
}

static bool is_elsewhere(const char *key)
{
    for (size_t i = 0; i < SW_COUNT(elsewhere); i++)
        if (strcmp(elsewhere[i].key, key) == 0)
            return true;
    return false;
}

static bool changes(struct fixture *here, const char *platform, const struct sw_option *row,
                    const char *key, const char *before)
{
    const char *value;

    for (size_t try = 0; (value = sample_of(row, key, try)); try++) {
        sw_autofree char *after = outcome(here, platform, key, value);

        if (strcmp(before, after) != 0)
            return true;
    }
    return false;
}

static size_t walk(struct fixture *here, const char *platform, const struct sw_option *rows,
                   const char *above, const char *before)
{
    size_t dead = 0;

    for (const struct sw_option *row = rows; row->name; row++) {
        sw_autofree char *key = sw_format("%s%s%s", above, *above ? "." : "", row->name);

        if (row->type == SW_GROUP) {
            dead += walk(here, platform, row->fields, key, before);
        } else if (!is_elsewhere(key) && !changes(here, platform, row, key, before)) {
            fprintf(stderr, "%s: %s changes nothing\n", platform, key);
            dead++;
        }
    }
    return dead;
}

static void every_option_fills_a_member_of_its_type(void **state)
{
    const struct sw_platform *platform;

    (void)state;
    for (size_t i = 0; (platform = sw_platform_at(i)); i++)
        for (const struct sw_option *row = platform->options; row->name; row++)
            if (!sw_option_fits(row))
                fail_msg("%s.%s fills no member of its type", platform->name, row->name);
}

static void every_option_acts(void **state)
{
    const struct sw_platform *platform;
    size_t dead = 0;

    for (size_t i = 0; (platform = sw_platform_at(i)); i++) {
        sw_autofree char *before = outcome(*state, platform->name, NULL, NULL);

        if (sw_text_starts(before, "error: "))
            fail_msg("%s: %s", platform->name, before);
        dead += walk(*state, platform->name, platform->options, platform->name, before);
    }
    assert_int_equal(dead, 0);
}

static void every_key_acts(void **state)
{
    static const char *const platforms[] = { "local", "docker", "slurm", "kubernetes" };
    size_t dead = 0;

    for (size_t i = 0; i < SW_COUNT(platforms); i++) {
        sw_autofree char *before = outcome(*state, platforms[i], NULL, NULL);

        dead += walk(*state, platforms[i], sw_spec_keys, "", before);
    }
    assert_int_equal(dead, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_acts_elsewhere_is_read_there),
        cmocka_unit_test(every_option_fills_a_member_of_its_type),
        cmocka_unit_test_setup_teardown(every_option_acts, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(every_key_acts, open_fixture, close_fixture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
