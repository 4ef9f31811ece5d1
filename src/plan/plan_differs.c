/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_differs.c - do two plans mean the same job, and if not, in what do they differ first?
 *
 * A client that repeats a submit under its own id must find its first job, and one that uses the id for
 * something else must be told. So what the user decides counts, and what only says how this client came to
 * its plan (which file a secret was taken from, which nodes an attempt avoids) does not.
 *
 * Pure. The answer names a key, never a value.
 */
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "plan/plan.h"

static const char *const beside[] = { "job_id", "dotenv", "credentials", "avoid", "rules", "watcher" };

/* Keys of a plan that the job file calls something else. */
static const struct {
    const char *plan, *file;
} names[] = {
    { "argv", "command" }, { "memory_bytes", "memory" }, { "shm_bytes", "shm" }, { "time_ms", "time" },
    { "grace_ms", "grace" }, { "keep_ms", "keep" }, { "gpu_type", "gpus" },
    { "world_size_ranks", "world_size" }, { "base_dir", "the folder that relative paths start from" },
};

static bool counts(const char *key)
{
    for (size_t i = 0; i < SW_COUNT(beside); i++)
        if (strcmp(beside[i], key) == 0)
            return false;
    return true;
}

static const char *name_of(const char *key, const char *platform)
{
    if (strcmp(key, "options") == 0 && platform)
        return platform;
    for (size_t i = 0; i < SW_COUNT(names); i++)
        if (strcmp(names[i].plan, key) == 0)
            return names[i].file;
    return key;
}

/* A field that is not there and one that holds nothing mean the same. */
static bool is_nothing(const json_t *value)
{
    return !value || json_is_null(value) || (json_is_object(value) && json_object_size(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

static bool is_same(const json_t *one, const json_t *other)
{
    return (is_nothing(one) && is_nothing(other)) || (one && other && json_equal(one, other));
}

/* The first key inside, added to `path`, for as long as both are maps. */
static void go_deeper(struct sw_buf *path, const json_t *one, const json_t *other)
{
    const json_t *const sides[] = { one, other };
    const char *key;
    json_t *value;

    if (!json_is_object(one) || !json_is_object(other))
        return;
    for (size_t i = 0; i < SW_COUNT(sides); i++)
        json_object_foreach((json_t *)sides[i], key, value) {
            const json_t *there = json_object_get(sides[1 - i], key);

            if (is_same(value, there))
                continue;
            sw_path_add_key(path, key);
            go_deeper(path, value, there);
            return;
        }
}

/* The plan with its settings by name, and only those whose value is written in it: where a setting was
 * found, and which key signs today, make no other job. Owned. */
static json_t *as_asked(const json_t *plan)
{
    json_t *asked = json_copy((json_t *)plan), *values = json_object();
    const json_t *each;
    size_t i;

    json_array_foreach(json_object_get(plan, "settings"), i, each)
        if (json_object_get(each, "value") && sw_json_str(each, "name"))
            json_object_set(values, sw_json_str(each, "name"), json_object_get(each, "value"));
    json_object_set_new(asked, "settings", values);
    return asked;
}

static char *first_difference(const json_t *first, const json_t *second)
{
    static const char *const soonest[] = { "platform", "command", "argv", "python", "image" };
    const json_t *const sides[] = { first, second };
    const char *platform = sw_json_str(first, "platform"), *found = NULL, *key;
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
    json_t *value;

    for (size_t i = 0; !found && i < SW_COUNT(soonest); i++)
        if (!is_same(json_object_get(first, soonest[i]), json_object_get(second, soonest[i])))
            found = soonest[i];
    for (size_t i = 0; !found && i < SW_COUNT(sides); i++)
        json_object_foreach((json_t *)sides[i], key, value)
            if (!found && counts(key) && !is_same(value, json_object_get(sides[1 - i], key)))
                found = key;
    if (!found)
        return NULL;
    sw_buf_add(&path, name_of(found, platform));
    go_deeper(&path, json_object_get(first, found), json_object_get(second, found));
    return sw_buf_steal(&path);
}

char *sw_plan_difference(const json_t *first, const json_t *second)
{
    sw_auto(json) json_t *one = as_asked(first), *other = as_asked(second);

    return first_difference(one, other);
}

/* Every leaf in which they differ, added to `list`. `path` is left as it was. */
static void add_differences(json_t *list, struct sw_buf *path, const json_t *one, const json_t *other)
{
    const json_t *const sides[] = { one, other };
    size_t length = path->length;
    const char *key;
    json_t *value;

    if (is_same(one, other))
        return;
    if ((one && !json_is_object(one)) || (other && !json_is_object(other))) {
        json_array_append_new(list, sw_json_object(
            SW_STR("key", sw_buf_text(path)), SW_SUB("first", one ? json_incref((json_t *)one) : json_null()),
            SW_SUB("second", other ? json_incref((json_t *)other) : json_null())));
        return;
    }
    for (size_t i = 0; i < SW_COUNT(sides); i++)
        json_object_foreach((json_t *)sides[i], key, value) {
            const json_t *there = json_object_get(sides[1 - i], key);

            if (i == 1 && there)
                continue;                    /* seen from the other side */
            sw_path_add_key(path, key);
            add_differences(list, path, i ? there : value, i ? value : there);
            path->length = length;
            path->data[length] = '\0';
        }
}

json_t *sw_plan_differences(const json_t *first, const json_t *second)
{
    sw_auto(json) json_t *one = as_asked(first), *other = as_asked(second);
    const json_t *const sides[] = { one, other };
    json_t *list = json_array(), *value;
    const char *key;

    for (size_t i = 0; i < SW_COUNT(sides); i++)
        json_object_foreach((json_t *)sides[i], key, value) {
            sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;

            if (!counts(key) || (i == 1 && json_object_get(one, key)))
                continue;
            sw_buf_add(&path, name_of(key, sw_json_str(sides[i], "platform")));
            add_differences(list, &path, json_object_get(one, key), json_object_get(other, key));
        }
    return list;
}
