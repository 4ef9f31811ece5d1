/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skypilot.c - a SkyPilot task: resources, setup and run, files and variables.
 *
 * SkyPilot chooses a cloud, a region and a machine; here a platform does that, so all words of that choice
 * are left out. A field of `any_of` or `ordered` stands for a list of choices, of which the first is taken.
 *
 * Pure.
 */
#include "translate/translate_internal.h"

#include <string.h>

#include "base/text.h"

#define MACHINE_WHY "the platform chooses the machine"
#define CLOUD_WHY "the platform is the place: see 'slipway platforms'"

static const struct translate_variable variables[] = {
    { "SKYPILOT_NODE_RANK", "NODE_RANK" }, { "SKYPILOT_NUM_NODES", "NNODES" },
    { "SKYPILOT_NUM_GPUS_PER_NODE", "NUM_GPU_PER_NODE" }, { "SKYPILOT_TASK_ID", "SLIPWAY_JOB_ID" },
    { "SKYPILOT_NODE_IPS", NULL }, { "SKYPILOT_SETUP_NODE_RANK", NULL }, { 0 }
};

/* ---- resources ----------------------------------------------------------------------------------- */

/* "H100:8", "H100", {H100: 8}, [H100:8, A100:8]. */
static void take_accelerators(struct translating *at, const struct translate_word *word)
{
    const json_t *value = word->value, *first = json_is_array(value) ? json_array_get(value, 0) : value;
    sw_autofree char *text = NULL, *gpus = NULL;

    if (json_is_object(first) && json_object_size(first) > 0) {
        const char *type = json_object_iter_key(json_object_iter((json_t *)first));
        sw_autofree char *count = translate_scalar(json_object_get(first, type));

        text = sw_format("%s:%s", type, count ? count : "1");
    } else {
        text = translate_scalar(first);
    }
    if (!text) {
        if (!json_is_null(value))
            translate_refuse(at, word, "this form is not understood");
        return;
    }
    gpus = strchr(text, ':') ? sw_strdup(text) : sw_format("%s:1", text);
    translate_set(at, word->line, word->path, "gpus", gpus);
    if (json_array_size(value) > 1 || (json_is_object(first) && json_object_size(first) > 1))
        translate_refuse(at, word, "of several types, the first is asked for");
}

static void take_cpus(struct translating *at, const struct translate_word *word)
{
    bool exact = true;
    sw_autofree char *least = translate_least(word->value, &exact);

    if (least)
        translate_set(at, word->line, word->path, "cpus", least);
}

static void take_memory(struct translating *at, const struct translate_word *word)
{
    bool exact = true;
    sw_autofree char *least = translate_least(word->value, &exact);
    sw_autofree char *size = least ? translate_size(least, "GiB") : NULL;

    if (size)
        translate_set(at, word->line, word->path, "memory", size);
    else if (!json_is_null(word->value))
        translate_refuse(at, word, "this is not a size");
}

static void take_image(struct translating *at, const struct translate_word *word)
{
    const char *image = json_string_value(word->value);

    if (image && sw_text_starts(image, "docker:"))
        translate_set(at, word->line, word->path, "image", image + strlen("docker:"));
    else if (!json_is_null(word->value))
        translate_refuse(at, word, "a machine image of a cloud: a job runs in a container image");
}

static void take_labels(struct translating *at, const struct translate_word *word)
{
    translate_map(at, word, "labels");
}

static void take_recovery(struct translating *at, const struct translate_word *word)
{
    static const struct translate_row rows[] = {
        { "max_restarts_on_errors", .key = "retry.max" },
        { "strategy", .why = "'retry' decides when an attempt is repeated" },
        { "recover_on_exit_codes", .why = "'retry.on' names causes, not exit codes" },
        { 0 }
    };

    if (json_is_object(word->value))
        translate_object(at, word->value, word->path, rows);
    else if (json_is_string(word->value) && !sw_text_same_nocase(json_string_value(word->value), "none"))
        translate_refuse(at, word, "'retry' decides when an attempt is repeated");
}

/* "k8s" and "slurm" are platforms here, too. */
static const char *platform_of_cloud(const char *cloud)
{
    static const char *const known[][2] = {
        { "k8s", "kubernetes" }, { "kubernetes", "kubernetes" }, { "slurm", "slurm" },
    };

    for (size_t i = 0; i < SW_COUNT(known); i++)
        if (sw_text_same_nocase(cloud, known[i][0]))
            return known[i][1];
    return NULL;
}

static void take_infra(struct translating *at, const struct translate_word *word)
{
    const char *text = json_string_value(word->value);

    if (!json_is_null(word->value) && !(text && platform_of_cloud(text)))
        translate_refuse(at, word, CLOUD_WHY);
}

static void take_choices(struct translating *at, const struct translate_word *word);

static const struct translate_row resource_rows[] = {
    { "accelerators", .take = take_accelerators },
    { "cpus", .take = take_cpus },
    { "memory", .take = take_memory },
    { "image_id", .take = take_image },
    { "labels", .take = take_labels },
    { "job_recovery", .take = take_recovery },
    { "spot_recovery", .take = take_recovery },
    { "any_of", .take = take_choices },
    { "ordered", .take = take_choices },
    { "infra", .take = take_infra },
    { "cloud", .take = take_infra },
    { "region", .why = CLOUD_WHY },
    { "zone", .why = CLOUD_WHY },
    { "instance_type", .why = MACHINE_WHY },
    { "use_spot", .why = "preemptible machines are the platform's own setting" },
    { "disk_size", .why = "a job does not size the disk of its machine" },
    { "disk_tier", .why = "a job does not choose the disk of its machine" },
    { "local_disk", .why = "a job does not choose the disk of its machine" },
    { "network_tier", .why = MACHINE_WHY },
    { "max_hourly_cost", .why = "there is no limit on prices" },
    { "accelerator_args", .why = MACHINE_WHY },
    { "ports", .why = "a job opens none to the outside; 'slipway forward JOB PORT' reaches them" },
    { "autostop", .why = "machines end with their job" },
    { "priority", .why = "a priority is the platform's own setting" },
    { "volumes", .why = "volumes are the platform's own: kubernetes.volumes, docker.mounts" },
    { "hooks", .why = "'hooks' of a job file run where the job is watched" },
    { 0 }
};

static void take_choices(struct translating *at, const struct translate_word *word)
{
    const json_t *first = json_array_get(word->value, 0);
    sw_autofree char *path = sw_format("%s[0]", word->path);

    if (json_is_object(first))
        translate_object(at, first, path, resource_rows);
    if (json_array_size(word->value) > 1)
        translate_leave_out(at, word->line, word->path, "of several choices, the first is taken");
}

static void take_resources(struct translating *at, const struct translate_word *word)
{
    if (json_is_object(word->value))
        translate_object(at, word->value, word->path, resource_rows);
    else if (!json_is_null(word->value))
        translate_refuse(at, word, "this form is not understood");
}

/* ---- files and variables ------------------------------------------------------------------------------ */

static void take_variables(struct translating *at, const struct translate_word *word, bool secret)
{
    const char *name;
    json_t *value;

    if (!json_is_object(word->value) && !json_is_null(word->value))
        translate_refuse(at, word, "this form is not understood");
    json_object_foreach((json_t *)word->value, name, value) {
        sw_autofree char *path = translate_below(word->path, name), *text = translate_scalar(value);
        int line = translate_line(at, path);

        if (secret && !sw_text_empty(text))
            translate_leave_out(at, line, path, "a secret's value is not written into a job file: export it");
        translate_env(at, line, path, name, secret || sw_text_empty(text) ? NULL : text);
    }
}

static void take_envs(struct translating *at, const struct translate_word *word)
{
    take_variables(at, word, false);
}

static void take_secrets(struct translating *at, const struct translate_word *word)
{
    take_variables(at, word, true);
}

/* {source, mode, ...}: a bucket that is mounted there is copied here. */
static void take_storage(struct translating *at, const char *target, const struct translate_word *word)
{
    const json_t *source = json_object_get(word->value, "source");
    sw_autofree char *from = translate_scalar(json_is_array(source) ? json_array_get(source, 0) : source);
    const char *mode = sw_json_str(word->value, "mode");

    if (!from) {
        translate_refuse(at, word, "a new bucket: name its address in 'outputs'");
        return;
    }
    translate_input(at, word->line, word->path, target, from);
    if (sw_text_same_nocase(mode, "MOUNT") || sw_text_same_nocase(mode, "MOUNT_CACHED"))
        translate_refuse(at, word, "buckets are copied, not mounted; name what the job writes in 'outputs'");
}

static void take_file_mounts(struct translating *at, const struct translate_word *word)
{
    const char *target;
    json_t *value;

    json_object_foreach((json_t *)word->value, target, value) {
        sw_autofree char *path = translate_below(word->path, target);
        const struct translate_word one = { path, value, translate_line(at, path) };

        if (json_is_object(value))
            take_storage(at, target, &one);
        else if (json_is_string(value))
            translate_input(at, one.line, path, target, json_string_value(value));
        else
            translate_refuse(at, &one, "this form is not understood");
    }
}

/* A folder of this machine, or {url, ref}. */
static void take_workdir(struct translating *at, const struct translate_word *word)
{
    const char *url = sw_json_str(word->value, "url"), *ref = sw_json_str(word->value, "ref");
    sw_autofree char *mount = url ? sw_format("git+%s@%s:/workdir", url, ref ? ref : "HEAD") : NULL;

    if (json_is_string(word->value)) {
        translate_value(at, word, "code.root");
    } else if (url && strstr(url, "://")) {
        if (translate_set(at, word->line, word->path, "mounts", mount))
            translate_set(at, word->line, word->path, "workdir", "/workdir");
    } else if (!json_is_null(word->value)) {
        translate_refuse(at, word, "a repository needs an address such as https://HOST/NAME.git");
    }
}

static void take_later(struct translating *at, const struct translate_word *word)
{
    (void)at;
    (void)word;                             /* setup and run: after everything else */
}

static const struct translate_row rows[] = {
    { "name", .key = "name" },
    { "workdir", .take = take_workdir },
    { "num_nodes", .key = "nodes" },
    { "resources", .take = take_resources },
    { "envs", .take = take_envs },
    { "secrets", .take = take_secrets },
    { "file_mounts", .take = take_file_mounts },
    { "setup", .take = take_later },
    { "run", .take = take_later },
    { "volumes", .why = "volumes are the platform's own: kubernetes.volumes, docker.mounts" },
    { "service", .why = "a job is no service: it ends" },
    { "pool", .why = "a job has no pool of workers" },
    { "config", .why = "settings of SkyPilot itself" },
    { "experimental", .why = "settings of SkyPilot itself" },
    { "event_callback", .why = "'hooks' and 'notify' act on a job's changes" },
    { "inputs", .why = "'inputs' of a job file are its data, each with a path" },
    { "outputs", .why = "'outputs' of a job file are its results, each with a path" },
    { 0 }
};

/* "k8s/context", "slurm/cluster". */
static const char *platform_of(const json_t *task)
{
    const json_t *resources = json_object_get(task, "resources");
    const char *infra = sw_json_str(resources, "infra"), *cloud = sw_json_str(resources, "cloud");
    sw_autofree char *first = NULL;

    infra = infra ? infra : cloud ? cloud : "";
    first = sw_strndup(infra, strcspn(infra, "/"));
    return platform_of_cloud(first);
}

void translate_skypilot(struct translating *at)
{
    const json_t *task = sw_document_value(at->document);
    const char *run = sw_json_str(task, "run"), *setup = sw_json_str(task, "setup");

    translate_object(at, task, NULL, rows);
    translate_command(at, run ? translate_line(at, "run") : 0, "run", run ? run : "", variables);
    if (setup)
        translate_setup(at, translate_line(at, "setup"), "setup", setup, variables);
    translate_rented(at, platform_of(task));
}
