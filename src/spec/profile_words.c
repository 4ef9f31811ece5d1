/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_words.c - the words of NeMo-Run's env.toml, and what they are called here.
 *
 * Teams come with an env.toml that is written for NeMo-Run's executors, and use it for both for a while. So a
 * profile may say `container_image` for `image`, one row each below. A row counts where the job's platform
 * has the key that it leads to, and has no option of that very name itself. Words that only steer NeMo-Run's
 * own machinery have no effect, which is said. A job file knows none of this.
 *
 * Pure.
 */
#include "spec/profiles_internal.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "core/slurm_time.h"

/* ---- values that are written in another way ---------------------------------------------------- */

/* 65536 -> "65536MiB" */
static json_t *mebibytes(const json_t *value)
{
    return json_is_integer(value) ? json_sprintf("%" JSON_INTEGER_FORMAT "MiB", json_integer_value(value))
                                  : NULL;
}

/* "1-04:30:00", "04:00:00": Slurm's own way. */
static json_t *clock_time(const json_t *value)
{
    const char *text = json_string_value(value);
    int64_t ms = 0;
    char out[32];

    if (!text || !strchr(text, ':') || !sw_slurm_time_parse(text, &ms))
        return NULL;
    sw_duration_format(ms, out);
    return json_string(out);
}

static json_t *code_root(const json_t *value)
{
    return json_is_string(value) ? sw_json_object(SW_STR("root", json_string_value(value))) : NULL;
}

static json_t *first(const json_t *value)
{
    json_t *one = json_is_array(value) ? json_array_get(value, 0) : (json_t *)value;

    return json_incref(one);
}

/* [{path = "/a", mount_path = "/mnt", from = "node-nfs:NAME"}] -> {"/mnt": "NAME/a"}; without `from` the
 * platform chooses. Texts such as "/a:/b" are the portable key's. */
static json_t *node_mounts(const json_t *value)
{
    json_t *out, *mount;
    size_t i;

    if (!json_is_object(json_array_get(value, 0)))
        return NULL;
    out = json_object();
    json_array_foreach((json_t *)value, i, mount) {
        const char *from = sw_json_str(mount, "from"), *colon = from ? strchr(from, ':') : NULL;
        const char *at = sw_json_str(mount, "mount_path"), *path = sw_json_str(mount, "path");

        path = !path || (from && strcmp(path, "/") == 0) ? "" : path;
        from = colon ? colon + 1 : from ? from : "";
        if (at)
            json_object_set_new(out, at, json_sprintf("%s%s", from, path));
    }
    return out;
}

/* [{claimName or name, path}] -> {path: "pvc:NAME"} */
static json_t *claims(const json_t *value)
{
    json_t *out, *claim;
    size_t i;

    if (!json_is_array(value))
        return NULL;
    out = json_object();
    json_array_foreach((json_t *)value, i, claim) {
        const char *name = sw_json_str(claim, "claimName"), *path = sw_json_str(claim, "path");

        name = name ? name : sw_json_str(claim, "name");
        if (name && path)
            json_object_set_new(out, path, json_sprintf("pvc:%s", name));
    }
    return out;
}

/* ---- the words ---------------------------------------------------------------------------------- */

static const struct renamed {
    const char *word, *key;
    json_t *(*convert)(const json_t *value);       /* a new reference; NULL: this value is not of that kind */
} renamed[] = {
    { "container_image", "image", NULL },
    { "container", "image", NULL },
    { "gpus_per_node", "gpus", NULL },
    { "env_vars", "env", NULL },
    { "shared_memory_size", "shm", mebibytes },
    { "time", "time", clock_time },
    { "repo_root", "code", code_root },
    { "host", "hostname", NULL },
    { "tunnel", "transport", NULL },
    { "remote_job_dir", "base_dir", NULL },
    { "batch_partition", "partition", NULL },
    { "lustre_mount", "container_mounts", NULL },
    { "mounts", "volumes", node_mounts },
    { "pvcs", "volumes", claims },
    { "node_reservation", "reservation", NULL },
    { "image_pull_secrets", "image_pull_secret", first },
};

/* Words of NeMo-Run's own machinery, or of what is decided in the job file here. */
static const char *const without_effect[] = {
    "nemo_run_dir", "pvc_nemo_run_dir", "workspace", "packager", "packager_include_pattern",
    "run_partition", "build_partition", "build_time", "ntasks_per_node", "nprocs_per_node",
    "nproc_per_node", "startup_commands", "pre_launch_commands", "pip_extras", "run_command",
    "custom_spec", "distributed_framework", "ray_version", "batch_partition", "lustre_mount",
    "container", "dgxcloud_max_args_chars", "identity", "repo_root",
};

static bool is_known(const struct sw_spec_platform *platform, const char *key)
{
    return sw_option_find(sw_spec_keys, key) || sw_option_find(platform->options, key);
}

static bool has_no_effect(const char *word)
{
    for (size_t i = 0; i < SW_COUNT(without_effect); i++)
        if (strcmp(without_effect[i], word) == 0)
            return true;
    return false;
}

static const char *rename_it(const struct sw_spec_platform *platform, const json_t *section, const char *word,
                             const json_t *value, json_t **out)
{
    bool ours = is_known(platform, word);

    for (size_t i = 0; i < SW_COUNT(renamed); i++) {
        const struct renamed *row = &renamed[i];
        bool same = strcmp(row->word, row->key) == 0;

        if (strcmp(row->word, word) != 0 || !is_known(platform, row->key) || (ours && !row->convert) ||
            (!same && json_object_get(section, row->key)))
            continue;
        *out = row->convert ? row->convert(value) : json_incref((json_t *)value);
        if (*out)
            return row->key;
    }
    return NULL;
}

const char *sw_profile_word(const struct sw_spec_platform *platform, const json_t *section, const char *word,
                         const json_t *value, json_t **out)
{
    const char *key = rename_it(platform, section, word, value, out);
    const char *text = json_string_value(value);
    bool path = strcmp(word, "workspace") == 0 && text && *text == '/';      /* Lepton's has a name */

    if (key)
        return key;
    if (has_no_effect(word) && (path || !is_known(platform, word))) {
        *out = NULL;
        return NULL;
    }
    *out = json_incref((json_t *)value);
    return word;
}

bool profile_is_own_word(const char *key)
{
    static const char *const words[] = { "inherit", "extends", "platform", "executor" };

    for (size_t i = 0; i < SW_COUNT(words); i++)
        if (strcmp(words[i], key) == 0)
            return true;
    return false;
}
