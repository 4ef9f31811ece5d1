/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dstack.c - a dstack task: commands, image, resources, and the policies by which it rents machines.
 *
 * dstack's amounts are ranges ("8GB..", "2..8"): the least is asked for. Its backends, fleets and prices
 * choose a machine, which a platform does here.
 *
 * Pure.
 */
#include "translate/translate_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

#define MACHINE_WHY "the platform chooses the machine"
#define CLOUD_WHY "the platform is the place: see 'slipway platforms'"
#define CONTAINER_WHY "the container's own settings are in the platform's block"

static const struct translate_variable variables[] = {
    { "DSTACK_NODE_RANK", "NODE_RANK" }, { "DSTACK_NODES_NUM", "NNODES" },
    { "DSTACK_GPUS_PER_NODE", "NUM_GPU_PER_NODE" }, { "DSTACK_MASTER_NODE_IP", "MASTER_ADDR" },
    { "DSTACK_RUN_NAME", "SLIPWAY_JOB_ID" }, { "DSTACK_RUN_ID", "SLIPWAY_JOB_ID" },
    { "DSTACK_GPUS_NUM", NULL }, { "DSTACK_NODES_IPS", NULL }, { "DSTACK_MPI_HOSTFILE", NULL }, { 0 }
};

/* ---- resources ----------------------------------------------------------------------------------- */

static void set_gpus(struct translating *at, const struct translate_word *word, const char *name,
                     const char *count)
{
    sw_autofree char *gpus = name ? sw_format("%s:%s", name, count) : sw_strdup(count);

    translate_set(at, word->line, word->path, "gpus", gpus);
}

/* One part of "A100,H100:40GB:2..": a vendor, a name, a size of memory or a count. */
struct gpu_parts {
    char *name, *count;
    bool memory, many;
};

static void read_part(struct gpu_parts *parts, const char *part)
{
    static const char *const vendors[] = { "nvidia", "amd", "google", "tpu", "intel", "tenstorrent" };

    for (size_t i = 0; i < SW_COUNT(vendors); i++)
        if (sw_text_same_nocase(part, vendors[i]))
            return;
    if (isalpha((unsigned char)*part) && !parts->name) {
        parts->name = sw_strndup(part, strcspn(part, ","));
        parts->many = parts->many || strchr(part, ',');
    } else if (strpbrk(part, "BbGgMmTt")) {
        parts->memory = true;
    } else if (!parts->count) {
        parts->count = sw_strndup(part, strspn(part, "0123456789"));
    }
}

static void gpu_text(struct translating *at, const struct translate_word *word, const char *text)
{
    struct gpu_parts parts = { 0 };

    while (*text) {
        size_t length = strcspn(text, ":");
        sw_autofree char *part = sw_strndup(text, length);

        read_part(&parts, part);
        text += length + (text[length] == ':');
    }
    set_gpus(at, word, parts.name, !sw_text_empty(parts.count) ? parts.count : "1");
    if (parts.memory)
        translate_refuse(at, word, "the memory of a GPU is not asked for: name its type");
    if (parts.many)
        translate_refuse(at, word, "of several types, the first is asked for");
    free(parts.name);
    free(parts.count);
}

static void gpu_map(struct translating *at, const struct translate_word *word)
{
    static const char *const left[] = { "memory", "total_memory", "compute_capability" };
    const json_t *names = json_object_get(word->value, "name");
    const json_t *count = json_object_get(word->value, "count");
    const char *name = json_string_value(json_is_array(names) ? json_array_get(names, 0) : names);
    bool exact = true;
    sw_autofree char *least = count ? translate_least(count, &exact) : NULL;

    set_gpus(at, word, name, !sw_text_empty(least) ? least : "1");
    if (json_array_size(names) > 1)
        translate_refuse(at, word, "of several types, the first is asked for");
    for (size_t i = 0; i < SW_COUNT(left); i++) {
        sw_autofree char *path = translate_below(word->path, left[i]);
        const struct translate_word one = {
            path, json_object_get(word->value, left[i]), translate_line(at, path)
        };

        if (one.value)
            translate_refuse(at, &one, "the memory of a GPU is not asked for: name its type");
    }
}

static void take_gpu(struct translating *at, const struct translate_word *word)
{
    sw_autofree char *text = translate_scalar(word->value);

    if (json_is_object(word->value))
        gpu_map(at, word);
    else if (text)
        gpu_text(at, word, text);
    else if (!json_is_null(word->value))
        translate_refuse(at, word, "this form is not understood");
}

static void take_cpu(struct translating *at, const struct translate_word *word)
{
    const json_t *count = json_is_object(word->value) ? json_object_get(word->value, "count") : word->value;
    bool exact = true;
    sw_autofree char *least = translate_least(count, &exact);
    const char *number = least && strchr(least, ':') ? strchr(least, ':') + 1 : least;

    if (!sw_text_empty(number))
        translate_set(at, word->line, word->path, "cpus", number);
    if (json_object_get(word->value, "arch") || (least && strchr(least, ':')))
        translate_refuse(at, word, "the processor is the platform's option 'arch'");
}

static void take_size(struct translating *at, const struct translate_word *word, const char *key)
{
    bool exact = true;
    sw_autofree char *least = translate_least(word->value, &exact);
    sw_autofree char *size = least ? translate_size(least, "GiB") : NULL;

    if (size)
        translate_set(at, word->line, word->path, key, size);
    else if (!json_is_null(word->value))
        translate_refuse(at, word, "this is not a size");
}

static void take_memory(struct translating *at, const struct translate_word *word)
{
    take_size(at, word, "memory");
}

static void take_shm(struct translating *at, const struct translate_word *word)
{
    take_size(at, word, "shm");
}

static const struct translate_row resource_rows[] = {
    { "gpu", .take = take_gpu },
    { "cpu", .take = take_cpu },
    { "memory", .take = take_memory },
    { "shm_size", .take = take_shm },
    { "disk", .why = "a job does not size the disk of its machine" },
    { 0 }
};

static void take_resources(struct translating *at, const struct translate_word *word)
{
    translate_object(at, word->value, word->path, resource_rows);
}

/* ---- variables, folders, repositories ----------------------------------------------------------------- */

/* {A: 1}, or [A=1, B]: one without a value is taken from the shell, and so is ${{ secrets.A }}. */
static void take_env(struct translating *at, const struct translate_word *word)
{
    const char *name;
    json_t *value;
    size_t i;

    json_object_foreach((json_t *)word->value, name, value) {
        sw_autofree char *path = translate_below(word->path, name), *text = translate_scalar(value);
        bool secret = !text || strstr(text, "${{");

        translate_env(at, translate_line(at, path), path, name, secret ? NULL : text);
    }
    json_array_foreach((json_t *)word->value, i, value) {
        sw_autofree char *path = sw_format("%s[%zu]", word->path, i), *text = translate_scalar(value);
        char *equals = text ? strchr(text, '=') : NULL;
        bool secret = !equals || strstr(equals, "${{");

        if (equals)
            *equals = '\0';
        if (text)
            translate_env(at, translate_line(at, path), path, text, secret ? NULL : equals + 1);
    }
}

static void take_tags(struct translating *at, const struct translate_word *word)
{
    translate_map(at, word, "labels");
}

/* "NAME:/path", "/host:/path", or maps of the same. */
static void take_volumes(struct translating *at, const struct translate_word *word)
{
    const json_t *value;
    size_t i;

    json_array_foreach(word->value, i, value) {
        sw_autofree char *path = sw_format("%s[%zu]", word->path, i);
        const char *text = json_string_value(value), *host = sw_json_str(value, "instance_path");
        const char *target = sw_json_str(value, "path");
        sw_autofree char *mount = host && target ? sw_format("%s:%s", host, target)
                                  : text         ? sw_strdup(text)
                                                 : NULL;
        const struct translate_word one = { path, value, translate_line(at, path) };

        if (mount && *mount == '/')
            translate_set(at, one.line, path, "mounts", mount);
        else
            translate_refuse(at, &one, "volumes are the platform's own: kubernetes.volumes, docker.mounts");
    }
}

static void set_repository(struct translating *at, const struct translate_word *word, const char *url,
                           const char *ref, const char *target)
{
    sw_autofree char *mount = sw_format("git+%s@%s:%s", url, ref ? ref : "HEAD", target);

    if (!strstr(url, "://") || *target != '/')
        translate_refuse(at, word, "a repository needs https:// and an absolute path in the job");
    else
        translate_set(at, word->line, word->path, "mounts", mount);
}

/* ".", "https://HOST/NAME.git:/path", {local_path | url, branch, hash, path}. */
static void take_repos(struct translating *at, const struct translate_word *word)
{
    json_t *value;
    size_t i;

    json_array_foreach((json_t *)word->value, i, value) {
        sw_autofree char *path = sw_format("%s[%zu]", word->path, i);
        const struct translate_word one = { path, value, translate_line(at, path) };
        const char *text = json_string_value(value), *local = sw_json_str(value, "local_path");
        const char *url = sw_json_str(value, "url"), *ref = sw_json_str(value, "hash");
        const char *behind = text && strstr(text, "://") ? strchr(strstr(text, "://") + 3, ':') : NULL;
        const char *target = sw_json_str(value, "path");

        ref = ref ? ref : sw_json_str(value, "branch");
        if (text && strstr(text, "://")) {
            sw_autofree char *address = sw_strndup(text, behind ? (size_t)(behind - text) : strlen(text));

            set_repository(at, &one, address, NULL, behind ? behind + 1 : "/workflow");
        } else if (url) {
            set_repository(at, &one, url, ref, target && *target == '/' ? target : "/workflow");
        } else if (text || local) {
            sw_autofree char *folder = sw_strndup(text ? text : local, strcspn(text ? text : local, ":"));

            translate_set(at, one.line, path, "code.root", folder);
        } else {
            translate_refuse(at, &one, "this form is not understood");
        }
    }
}

/* ---- policies ------------------------------------------------------------------------------------------ */

static void take_retry(struct translating *at, const struct translate_word *word)
{
    static const char *const causes[][2] = {
        { "interruption", "preempted" }, { "error", "user" }, { "error", "unknown" }, { "no-capacity", NULL },
    };
    sw_autofree char *events = translate_below(word->path, "on_events"), *duration = NULL;
    const json_t *event;
    size_t i;

    json_array_foreach(json_object_get(word->value, "on_events"), i, event)
        for (size_t k = 0; k < SW_COUNT(causes); k++) {
            if (!sw_text_same(json_string_value(event), causes[k][0]))
                continue;
            if (causes[k][1])
                translate_set(at, translate_line(at, events), events, "retry.on", causes[k][1]);
            else
                translate_leave_out(at, translate_line(at, events), causes[k][0],
                                    "'slipway run --wait-for-capacity' waits for room");
        }
    duration = translate_below(word->path, "duration");
    if (json_object_get(word->value, "duration"))
        translate_leave_out(at, translate_line(at, duration), duration,
                            "'retry.max' counts attempts, not hours");
}

static void take_duration(struct translating *at, const struct translate_word *word, const char *key)
{
    if (json_is_boolean(word->value) || sw_text_same(json_string_value(word->value), "off"))
        return;                                  /* no limit */
    translate_value(at, word, key);
}

static void take_max_duration(struct translating *at, const struct translate_word *word)
{
    take_duration(at, word, "time");
}

static void take_stop_duration(struct translating *at, const struct translate_word *word)
{
    take_duration(at, word, "grace");
}

static void take_utilization(struct translating *at, const struct translate_word *word)
{
    static const struct translate_row rows[] = {
        { "time_window", .key = "guard.idle_gpu" },
        { "min_gpu_utilization", .why = "'guard.idle_gpu' is about GPUs that do nothing at all" },
        { 0 }
    };

    translate_object(at, word->value, word->path, rows);
    translate_set(at, word->line, word->path, "guard.action", "stop");
}

/* 3.10 without quotes is the number 3.1. */
static void take_python(struct translating *at, const struct translate_word *word)
{
    sw_autofree char *text = translate_scalar(word->value);
    sw_autofree char *image = text ? sw_format("python:%s", strcmp(text, "3.1") == 0 ? "3.10" : text) : NULL;

    if (image && !json_object_get(sw_document_value(at->document), "image"))
        translate_set(at, word->line, word->path, "image", image);
    else if (image)
        translate_refuse(at, word, "the version of Python is that of the image");
}

static void take_type(struct translating *at, const struct translate_word *word)
{
    if (!sw_text_same(json_string_value(word->value), "task"))
        translate_refuse(at, word, "a job ends: only what a task has is translated");
}

/* The one backend that is a platform here, too. */
static bool is_kubernetes(const json_t *backends)
{
    return json_array_size(backends) == 1 &&
           sw_text_same(json_string_value(json_array_get(backends, 0)), "kubernetes");
}

static void take_backends(struct translating *at, const struct translate_word *word)
{
    if (!is_kubernetes(word->value) && !json_is_null(word->value))
        translate_refuse(at, word, CLOUD_WHY);
}

static void take_later(struct translating *at, const struct translate_word *word)
{
    (void)at;
    (void)word;                             /* commands: after everything else */
}

static const struct translate_row rows[] = {
    { "type", .take = take_type },
    { "name", .key = "name" },
    { "image", .key = "image" },
    { "nodes", .key = "nodes" },
    { "commands", .take = take_later },
    { "init", .take = take_later },
    { "setup", .take = take_later },
    { "env", .take = take_env },
    { "working_dir", .key = "workdir" },
    { "resources", .take = take_resources },
    { "python", .take = take_python },
    { "volumes", .take = take_volumes },
    { "repos", .take = take_repos },
    { "tags", .take = take_tags },
    { "retry", .take = take_retry },
    { "max_duration", .take = take_max_duration },
    { "stop_duration", .take = take_stop_duration },
    { "utilization_policy", .take = take_utilization },
    { "ports", .why = "a job opens none to the outside; 'slipway forward JOB PORT' reaches them" },
    { "port", .why = "a job opens none to the outside; 'slipway forward JOB PORT' reaches them" },
    { "files", .why = "files of this machine travel with 'code', or come from s3://" },
    { "registry_auth", .why = "credentials of a registry come from docker's logins or NGC_KEY" },
    { "entrypoint", .why = CONTAINER_WHY },
    { "user", .why = CONTAINER_WHY },
    { "privileged", .why = CONTAINER_WHY },
    { "docker", .why = CONTAINER_WHY },
    { "shell", .why = "the command is read by sh, or by bash where it needs it" },
    { "nvcc", .why = "what is installed is the image's" },
    { "single_branch", .why = "a repository is taken at one commit" },
    { "home_dir", .why = "it has no effect in dstack either" },
    { "priority", .why = "a priority is the platform's own setting" },
    { "spot_policy", .why = "preemptible machines are the platform's own setting" },
    { "max_price", .why = "there is no limit on prices" },
    { "backends", .take = take_backends },
    { "regions", .why = CLOUD_WHY },
    { "availability_zones", .why = CLOUD_WHY },
    { "instance_types", .why = MACHINE_WHY },
    { "instance_name", .why = MACHINE_WHY },
    { "reservation", .why = MACHINE_WHY },
    { "fleets", .why = MACHINE_WHY },
    { "pool_name", .why = MACHINE_WHY },
    { "creation_policy", .why = MACHINE_WHY },
    { "idle_duration", .why = "machines end with their job" },
    { "termination_policy", .why = "machines end with their job" },
    { "startup_order", .why = "all nodes of a job start together" },
    { "stop_criteria", .why = "a job ends when its first node's command ends" },
    { "schedule", .why = "a job starts when it is submitted" },
    { 0 }
};

/* ---- the whole --------------------------------------------------------------------------------- */

/* dstack stops at the first command that fails. */
static char *joined(const json_t *commands)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const json_t *each;
    size_t i;

    if (json_array_size(commands) > 1)
        sw_buf_add(&out, "set -e\n");
    json_array_foreach(commands, i, each)
        sw_buf_addf(&out, "%s%s", json_is_string(each) ? json_string_value(each) : "",
                    i + 1 < json_array_size(commands) ? "\n" : "");
    return sw_buf_steal(&out);
}

void translate_dstack(struct translating *at)
{
    const json_t *task = sw_document_value(at->document);
    sw_autofree char *commands = joined(json_object_get(task, "commands"));
    sw_autofree char *init = joined(json_object_get(task, "init"));

    translate_object(at, task, NULL, rows);
    translate_command(at, *commands ? translate_line(at, "commands") : 0, "commands", commands, variables);
    translate_setup(at, translate_line(at, "init"), "init", init, variables);
    translate_rented(at, is_kubernetes(json_object_get(task, "backends")) ? "kubernetes" : NULL);
}
