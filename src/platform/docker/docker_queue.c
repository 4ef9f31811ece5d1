/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_queue.c - jobs that need GPUs to themselves: they get them, or wait.
 *
 * The labels of the containers say which job holds which GPU; nothing else is stored. A job that must wait
 * gets a container, too, without devices and under another name ("-wait"), with everything inside that it
 * needs; it is never started. When there are GPUs for it, reconcile() makes the real container from it.
 *
 * One client at a time chooses: the lock is a container of a fixed name, which the engine makes only once. A
 * lock that does not change for LOCK_DEAD_MS belongs to a client that died, and is removed. A client that was
 * only slow finds its lock gone before it starts anything: it checks between making containers, whose labels
 * others see from then on, and starting them. So under the lock a container that has devices and was not
 * started will never be started, and is removed.
 */
#include "platform/docker/docker_job.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#define LOCK_NAME "slipway-gpu-lock"

enum {
    LOCK_RETRY_MS = 40,
    LOCK_DEAD_MS = 15000,            /* a lock that is so old was left by a client that died */
    LOCK_WAIT_MS = 120000,
};

/* ---- which GPUs there are -------------------------------------------------------------------- */

/* Of this machine, by the driver's own files; in the order of the bus, as the toolkit counts. */
static json_t *gpus_here(void)
{
    json_t *ids = json_array();
    glob_t found;

    if (glob("/proc/driver/nvidia/gpus/*/information", 0, NULL, &found) != 0)
        return ids;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        sw_autofree char *text = sw_file_read(found.gl_pathv[i], 65536, NULL, NULL);
        const char *line = text ? strstr(text, "GPU UUID:") : NULL;

        if (line) {
            line += strlen("GPU UUID:");
            line += strspn(line, " \t");
            json_array_append_new(ids, json_stringn(line, strcspn(line, " \t\r\n")));
        }
    }
    globfree(&found);
    return ids;
}

static json_t *candidates_of(struct docker_api *api, const json_t *options)
{
    const json_t *ids = docker_job_options(options).gpu_ids;
    const json_t *said = docker_connect_options(options).gpu_devices;
    const json_t *devices = said ? said : docker_connect_options(api->endpoint.options).gpu_devices;
    sw_auto(json) json_t *found = api->endpoint.way == DOCKER_UNIX ? gpus_here() : json_array();

    return docker_gpu_candidates(ids, devices, found);
}

json_t *docker_gpu_inventory(struct docker_api *api, const json_t *options)
{
    sw_auto(json) json_t *all = candidates_of(api, options), *list = docker_list(api, NULL, NULL);
    bool known = !sw_text_same(json_string_value(json_array_get(all, 0)), DOCKER_GPU_ANY);

    if (!known || !list)
        return NULL;
    return sw_json_object(SW_SUB("free", docker_gpu_free(list, all, false)),
                          SW_SUB("all", sw_take(all)));
}

/* ---- the lock -------------------------------------------------------------------------------- */

static void remove_dead_lock(struct docker_api *api, char seen[80], int64_t *since_ms)
{
    sw_auto(json) json_t *holder = docker_inspect(api, LOCK_NAME, NULL);
    const char *id = sw_json_str(holder, "Id");

    if (!id || strcmp(seen, id) != 0) {
        snprintf(seen, 80, "%.79s", id ? id : "");
        *since_ms = sw_monotonic_ms();
    } else if (sw_monotonic_ms() - *since_ms > LOCK_DEAD_MS) {
        docker_delete(api, id, true, NULL);        /* by its id: never a younger one */
    }
}

static int take_lock(struct docker_api *api, const char *image, char **lock, struct sw_error *err)
{
    sw_auto(json) json_t *body = sw_json_object(
        SW_STR("Image", image), SW_SUB("Entrypoint", json_pack("[s]", DOCKER_RUNNER)),
        SW_SUB("Labels", sw_json_object(SW_STR(LABEL_LOCK, "gpu"))));
    int64_t deadline = sw_monotonic_ms() + LOCK_WAIT_MS, since_ms = 0;
    char seen[80] = "";

    for (;;) {
        struct sw_error why = { 0 };

        if (docker_make(api, LOCK_NAME, body, lock, &why) == 0)
            return 0;
        if (why.code != SW_E_CONFLICT || sw_monotonic_ms() > deadline) {
            sw_pass(err, &why);
            return sw_wrap(err, "cannot lock the engine's GPUs");
        }
        remove_dead_lock(api, seen, &since_ms);
        sw_sleep_ms(LOCK_RETRY_MS);
    }
}

static void release_lock(struct docker_api *api, char **lock)
{
    if (*lock)
        docker_delete(api, *lock, true, NULL);
    free(*lock);
    *lock = NULL;
}

int docker_queue_holds(struct docker_api *api, const char *lock, struct sw_error *err)
{
    sw_auto(json) json_t *mine = docker_inspect(api, lock, err);

    return mine ? 0 : sw_wrap(err, "the lock on the engine's GPUs was lost");
}

/* ---- under the lock -------------------------------------------------------------------------- */

/* Remove what is left over, there and from the list. */
static void sweep(struct docker_api *api, json_t *list,
                  bool (*is_left)(const json_t *list, const json_t *container))
{
    for (size_t i = json_array_size(list); i-- > 0;)
        if (is_left(list, json_array_get(list, i)) &&
            docker_delete(api, sw_json_str(json_array_get(list, i), "Id"), false, NULL) == 0)
            json_array_remove(list, i);
}

/* It has devices, and no client will start it. */
static bool never_starts(const json_t *list, const json_t *container)
{
    (void)list;
    return docker_label(container, LABEL_HOLDS) &&
           sw_text_same(sw_json_str(container, "State"), "created");
}

static bool has_any(const json_t *list, const char *id)
{
    json_t *container;
    size_t i;

    json_array_foreach(list, i, container)
        if (sw_text_same(docker_label(container, LABEL_ID), id) && !docker_gpu_waits(container))
            return true;
    return false;
}

/* A client died after it started the real container: the waiting one is left over. */
static bool has_started(const json_t *list, const json_t *container)
{
    return docker_gpu_waits(container) && has_any(list, docker_label(container, LABEL_ID));
}

/* ---- submit ---------------------------------------------------------------------------------- */

static int enough_at_all(const struct sw_plan *plan, const json_t *candidates, struct sw_error *err)
{
    const char *first = json_string_value(json_array_get(candidates, 0));
    int64_t wanted = (int64_t)plan->nodes * plan->gpus, there;

    if (sw_text_same(first, DOCKER_GPU_ANY) || sw_text_same(first, DOCKER_GPU_ALL)) {
        if (plan->nodes == 1)
            return 0;
        sw_fail(err, SW_E_SPEC, "%d nodes with GPUs on one engine, and its GPUs are unknown",
                plan->nodes);
        return sw_hint(err, "name them: gpu_devices: [0, 1, ...]");
    }
    there = (int64_t)json_array_size(candidates);
    if (wanted <= there)
        return 0;
    sw_fail(err, SW_E_SPEC, "the job needs %lld GPU%s; the engine has %lld", (long long)wanted,
            sw_text_plural((double)wanted), (long long)there);
    return sw_hint(err, "ask for fewer; 'slipway inventory' shows what it has");
}

int docker_gpu_enough(struct docker_api *api, const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(json) json_t *candidates = candidates_of(api, plan->options);

    return enough_at_all(plan, candidates, err);
}

static int choose(struct docker_sending *s, const json_t *candidates, struct sw_error *err)
{
    sw_auto(json) json_t *list = docker_list(s->api, NULL, err), *waiting = NULL, *left = NULL;

    if (!list)
        return -1;
    sweep(s->api, list, never_starts);
    waiting = docker_gpu_waiting(list);
    left = docker_gpu_free(list, candidates, false);
    if (json_array_size(waiting) == 0)
        s->devices = docker_gpu_choose(left, s->plan->nodes, s->plan->gpus);
    /* One of ours that began already is found by its name. */
    s->waits = !s->devices && !has_any(list, s->plan->job_id);
    return 0;
}

static bool is_tegra(struct docker_api *api)
{
    sw_auto(json) json_t *info = docker_get(api, sw_rest_path("/info"), NULL);
    const char *kernel = sw_json_str(info, "KernelVersion");

    return kernel && strstr(kernel, "tegra");
}

int docker_queue_submit(struct docker_sending *s, struct sw_error *err)
{
    sw_auto(json) json_t *candidates = candidates_of(s->api, s->plan->options);
    sw_autofree char *choice = sw_json_joined(candidates, ",");
    int result;

    if (enough_at_all(s->plan, candidates, err) < 0)
        return -1;
    s->site.choice = choice;
    s->site.by_runtime = sw_text_same(s->options.runtime, "nvidia") || is_tegra(s->api);
    if (take_lock(s->api, s->image, &s->lock, err) < 0)
        return -1;
    result = choose(s, candidates, err);
    if (result == 0)
        result = docker_make_and_start(s, err);
    release_lock(s->api, &s->lock);
    s->site.choice = NULL;
    return result;
}

/* ---- starting what waits --------------------------------------------------------------------- */

struct queued_job {                  /* a waiting job and what it gets */
    const char *id;
    const json_t *waits[DOCKER_NODES_MAX];     /* by rank; borrowed from the list */
    char *made[DOCKER_NODES_MAX];
    int nodes;
    json_t *devices;
    bool plain_limits;               /* the engine may not raise limits */
};

static void queued_job_auto(struct queued_job *queued)
{
    json_decref(queued->devices);
    for (int i = 0; i < DOCKER_NODES_MAX; i++)
        free(queued->made[i]);
}

static bool queued_job_read(struct queued_job *queued, const json_t *list, const char *id)
{
    json_t *container;
    size_t i;

    queued->id = id;
    json_array_foreach(list, i, container) {
        int rank = docker_label_number(container, LABEL_RANK, -1);

        if (!docker_gpu_waits(container) || !sw_text_same(docker_label(container, LABEL_ID), id) ||
            rank < 0 || rank >= DOCKER_NODES_MAX)
            continue;
        queued->waits[rank] = container;
        queued->nodes = docker_label_number(container, LABEL_NODES, 1);
    }
    for (int rank = 0; rank < queued->nodes; rank++)
        if (rank >= DOCKER_NODES_MAX || !queued->waits[rank])
            return false;            /* its submit is not done yet */
    return queued->nodes > 0;
}

static json_t *queued_job_devices(const struct queued_job *queued, const json_t *list, bool ignore_created)
{
    const json_t *first = queued->waits[0];
    sw_auto(json) json_t *choice = docker_gpu_split(docker_label(first, LABEL_CHOICE));
    sw_auto(json) json_t *left = docker_gpu_free(list, choice, ignore_created);

    return docker_gpu_choose(left, queued->nodes, docker_label_number(first, LABEL_WANTS, 1));
}

/* The real container from the one that waits: the same, with devices. */
static int make_real(struct docker_api *api, struct queued_job *queued, int rank, struct sw_error *err)
{
    const char *wait = sw_json_str(queued->waits[rank], "Id");
    sw_auto(json) json_t *inspected = docker_inspect(api, wait, err), *body = NULL;
    const char *name = sw_json_str(inspected, "Name");
    sw_autofree char *real = NULL;

    if (!inspected || !name || !sw_text_ends(name, DOCKER_WAIT))
        return inspected ? sw_fail(err, SW_E_CONFLICT, "not a waiting container") : -1;
    name += *name == '/';
    real = sw_strndup(name, strlen(name) - strlen(DOCKER_WAIT));
    body = json_deep_copy(json_object_get(inspected, "Config"));
    json_object_set(body, "HostConfig", json_object_get(inspected, "HostConfig"));
    if (queued->plain_limits)
        docker_render_plain_limits(json_object_get(body, "HostConfig"));
    docker_render_devices(body, json_array_get(queued->devices, (size_t)rank),
                          docker_label(inspected, LABEL_RUNTIME) != NULL);
    return docker_make(api, real, body, &queued->made[rank], err);
}

static void remove_made(struct docker_api *api, struct queued_job *queued)
{
    for (int rank = 0; rank < queued->nodes; rank++)
        if (queued->made[rank]) {
            docker_delete(api, queued->made[rank], false, NULL);
            free(sw_take(queued->made[rank]));
        }
}

static int make_all(struct docker_api *api, struct queued_job *queued, struct sw_error *err)
{
    for (int rank = 0; rank < queued->nodes; rank++)
        if (make_real(api, queued, rank, err) < 0 ||
            docker_move_files(api, sw_json_str(queued->waits[rank], "Id"), queued->made[rank],
                              err) < 0)
            return -1;
    return 0;
}

static int start_all(struct docker_api *api, const struct queued_job *queued)
{
    for (int rank = 0; rank < queued->nodes; rank++) {
        sw_auto(json) json_t *made = docker_inspect(api, queued->made[rank], NULL);
        const char *network = sw_json_str(json_object_get(made, "HostConfig"), "NetworkMode");

        if (docker_start(api, queued->made[rank], network, NULL) < 0)
            return -1;
    }
    return 0;
}

/* Before anything starts: is the lock still ours, and was the job not canceled meanwhile? A start that
 * the engine refuses is the job's end, which its container shows; it waits no more. For an engine that
 * may not raise limits it is made again without them, as by a submit. */
static int run_queued(struct docker_api *api, struct queued_job *queued, const char *lock,
                      struct sw_error *err)
{
    sw_auto(json) json_t *wait = NULL;

    if (make_all(api, queued, err) < 0 ||
        !(wait = docker_inspect(api, sw_json_str(queued->waits[0], "Id"), err)) ||
        docker_queue_holds(api, lock, err) < 0) {
        remove_made(api, queued);
        return -1;
    }
    if (start_all(api, queued) < 0 && api->refusal == DOCKER_LIMIT_DENIED) {
        remove_made(api, queued);
        queued->plain_limits = true;
        if (make_all(api, queued, NULL) == 0)
            start_all(api, queued);
    }
    for (int rank = 0; rank < queued->nodes; rank++)
        docker_delete(api, sw_json_str(queued->waits[rank], "Id"), false, NULL);
    return 0;
}

/* Strictly first come, first served: a large job is never overtaken for ever. */
static int serve(struct docker_api *api, const char *lock, struct sw_error *err)
{
    for (;;) {
        sw_auto(json) json_t *list = docker_list(api, NULL, err), *waiting = NULL;
        sw_auto(queued_job) struct queued_job queued = { 0 };
        const char *first;

        if (!list)
            return -1;
        sweep(api, list, never_starts);
        sweep(api, list, has_started);
        waiting = docker_gpu_waiting(list);
        first = json_string_value(json_array_get(waiting, 0));
        if (!first || !queued_job_read(&queued, list, first))
            return 0;
        queued.devices = queued_job_devices(&queued, list, false);
        if (!queued.devices)
            return 0;
        if (run_queued(api, &queued, lock, err) < 0)
            return -1;
    }
}

int docker_queue_advance(struct docker_api *api, const json_t *list, struct sw_error *err)
{
    sw_auto(json) json_t *waiting = docker_gpu_waiting(list), *devices = NULL;
    sw_auto(queued_job) struct queued_job queued = { 0 };
    const char *first = json_string_value(json_array_get(waiting, 0));
    sw_autofree char *lock = NULL;
    int result;

    if (!first || !queued_job_read(&queued, list, first))
        return 0;
    devices = queued_job_devices(&queued, list, true);
    if (!devices && !has_any(list, first))
        return 0;
    if (take_lock(api, sw_json_str(queued.waits[0], "ImageID"), &lock, err) < 0)
        return -1;
    result = serve(api, lock, err);
    release_lock(api, &lock);
    return result;
}

void docker_queue_explain(const json_t *list, const char *id, char *out, size_t size)
{
    sw_auto(json) json_t *waiting = docker_gpu_waiting(list), *choice = NULL, *left = NULL;
    sw_auto(queued_job) struct queued_job queued = { 0 };
    size_t ahead = 0;
    int wants;

    while (ahead < json_array_size(waiting) &&
           !sw_text_same(json_string_value(json_array_get(waiting, ahead)), id))
        ahead++;
    if (!queued_job_read(&queued, list, id)) {
        snprintf(out, size, "it is being made");
        return;
    }
    choice = docker_gpu_split(docker_label(queued.waits[0], LABEL_CHOICE));
    left = docker_gpu_free(list, choice, false);
    wants = docker_label_number(queued.waits[0], LABEL_WANTS, 1) * queued.nodes;
    if (sw_text_same(json_string_value(json_array_get(choice, 0)), DOCKER_GPU_ANY))
        snprintf(out, size, "waiting for the engine's GPUs: another job uses them, %zu job%s ahead",
                 ahead, sw_text_plural(ahead));
    else
        snprintf(out, size, "waiting for %d GPU%s: %zu of %zu free, %zu job%s ahead", wants,
                 sw_text_plural(wants), json_array_size(left), json_array_size(choice), ahead,
                 sw_text_plural(ahead));
}
