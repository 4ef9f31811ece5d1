/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.c - container paths on a machine without containers.
 *
 * A job file speaks of "/data/train.json" and "/results" as if it had a container to itself.
 * Here these places are made inside the job's folder, and every mention of a declared path in
 * config, environment and command is rewritten (docs/decisions/0005-container-paths-on-local.md).
 *
 *     output  /results   -> results/          input  /data/a.json -> work/inputs/data/a.json
 *     output  /results/x -> results/x         input  data/a.json  -> work/data/a.json
 *     output  /out/model -> results/model     input  /results/x   -> results/x
 *
 * An output elsewhere keeps its last name, as the runner names it in a container. Of two with the same
 * last name, which go to places of their own (`to`), the second has its whole path here: "out_model".
 *
 * Only whole path names match, the longest declared one first. A relative name of one word
 * ("train") is rewritten in a command only where it is clearly a path, because a subcommand may
 * be called the same.
 *
 * Pure: no I/O.
 */
#include "plan/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

struct mapping {
    char *declared;      /* as the user wrote it, without slashes at the end */
    char *place;         /* where it is on this machine */
    size_t length;       /* of `declared` */
};

struct sw_paths {
    struct mapping *items;
    size_t count;
};

static char *without_end_slashes(const char *path)
{
    size_t length = strlen(path);

    while (length > 1 && path[length - 1] == '/')
        length--;
    return sw_strndup(path, length);
}

/* "." and ".." resolved as if the path began at the root: it can never leave its folder. */
static char *place_below(const char *folder, const char *path)
{
    sw_autofree char *inside = sw_path_absolute(path, "/");

    return strcmp(inside, "/") == 0 ? sw_strdup(folder) : sw_format("%s%s", folder, inside);
}

/* Of /results itself or what is below it; NULL: it is neither. Owned. */
static char *place_in_results(const char *path, const char *results_dir)
{
    sw_autofree char *inside = sw_path_absolute(path, "/");
    size_t length = strlen(SW_RESULTS);

    if (strncmp(inside, SW_RESULTS, length) != 0 || (inside[length] && inside[length] != '/'))
        return NULL;
    return sw_format("%s%s", results_dir, inside + length);
}

static bool is_taken(const struct sw_paths *paths, const char *place)
{
    for (size_t i = 0; i < paths->count; i++)
        if (strcmp(paths->items[i].place, place) == 0)
            return true;
    return false;
}

/* "/model" of "/out/model"; owned. */
static char *last_name(const char *path)
{
    sw_autofree char *inside = sw_path_absolute(path, "/");

    return sw_strdup(strrchr(inside, '/'));
}

static char *output_place(const struct sw_paths *paths, const char *path, const char *results_dir)
{
    sw_autofree char *inside = sw_path_absolute(path, "/"), *last = last_name(path), *named = NULL;
    char *within = place_in_results(path, results_dir);

    if (within)
        return within;
    if (strcmp(inside, "/") == 0)
        return sw_strdup(results_dir);
    named = sw_format("%s%s", results_dir, last);
    if (!is_taken(paths, named))
        return sw_take(named);
    for (char *at = inside + 1; *at; at++)
        if (*at == '/')
            *at = '_';
    return sw_format("%s%s", results_dir, inside);
}

static char *input_place(const char *path, const char *work_dir, const char *results_dir)
{
    sw_autofree char *inputs = sw_format("%s/inputs", work_dir);
    char *within = *path == '/' ? place_in_results(path, results_dir) : NULL;

    return within ? within : place_below(*path == '/' ? inputs : work_dir, path);
}

static void add(struct sw_paths *paths, const char *declared, char *place)
{
    struct mapping item = { .declared = without_end_slashes(declared), .place = place };
    size_t at = paths->count;

    item.length = strlen(item.declared);
    paths->items = sw_realloc_array(paths->items, paths->count + 1, sizeof *paths->items);
    while (at > 0 && paths->items[at - 1].length < item.length) {   /* longest first */
        paths->items[at] = paths->items[at - 1];
        at--;
    }
    paths->items[at] = item;
    paths->count++;
}

struct sw_paths *sw_paths_new(const json_t *inputs, const json_t *outputs,
                                    const char *work_dir, const char *results_dir)
{
    struct sw_paths *paths = sw_new(struct sw_paths);
    size_t i;
    json_t *entry;

    json_array_foreach(inputs, i, entry)
        if (!sw_text_empty(sw_json_str(entry, "path")))
            add(paths, sw_json_str(entry, "path"),
                input_place(sw_json_str(entry, "path"), work_dir, results_dir));
    json_array_foreach(outputs, i, entry)
        if (!sw_text_empty(sw_json_str(entry, "path")))
            add(paths, sw_json_str(entry, "path"),
                output_place(paths, sw_json_str(entry, "path"), results_dir));
    return paths;
}

void sw_paths_free(struct sw_paths *paths)
{
    if (!paths)
        return;
    for (size_t i = 0; i < paths->count; i++) {
        free(paths->items[i].declared);
        free(paths->items[i].place);
    }
    free(paths->items);
    free(paths);
}

const char *sw_paths_of(const struct sw_paths *paths, const char *declared)
{
    sw_autofree char *plain = without_end_slashes(declared);

    for (size_t i = 0; i < paths->count; i++)
        if (strcmp(paths->items[i].declared, plain) == 0)
            return paths->items[i].place;
    return NULL;
}

static const struct mapping *mapping_at(const struct sw_paths *paths, const char *at,
                                        const char *ends)
{
    for (size_t i = 0; i < paths->count; i++) {
        const struct mapping *item = &paths->items[i];

        if (strncmp(at, item->declared, item->length) == 0 &&
            (at[item->length] == '\0' || strchr(ends, at[item->length])))
            return item;
    }
    return NULL;
}

char *sw_paths_value(const struct sw_paths *paths, const char *value)
{
    const struct mapping *item = mapping_at(paths, value, "/");

    return item ? sw_format("%s%s", item->place, value + item->length) : sw_strdup(value);
}

json_t *sw_paths_document(const struct sw_paths *paths, const json_t *document)
{
    json_t *copy, *value;
    const char *key;
    size_t i;

    if (json_is_string(document)) {
        sw_autofree char *mapped = sw_paths_value(paths, json_string_value(document));

        return sw_json_text(mapped);
    }
    if (json_is_object(document)) {
        copy = json_object();
        json_object_foreach((json_t *)document, key, value)
            json_object_set_new(copy, key, sw_paths_document(paths, value));
        return copy;
    }
    if (json_is_array(document)) {
        copy = json_array();
        json_array_foreach(document, i, value)
            json_array_append_new(copy, sw_paths_document(paths, value));
        return copy;
    }
    return document ? json_deep_copy(document) : NULL;
}

json_t *sw_paths_entries(const struct sw_paths *paths, const json_t *entries, const char *key)
{
    json_t *all = json_deep_copy(entries), *entry;
    size_t i;

    json_array_foreach(all, i, entry) {
        const char *path = sw_json_str(entry, key);

        if (path && sw_paths_of(paths, path))
            json_object_set_new(entry, key, sw_json_text(sw_paths_of(paths, path)));
    }
    return all;
}

/* ---- commands -------------------------------------------------------------------------- */

static const char before_a_path[] = " \t\n'\"=:,(<>;|&`[{";
static const char after_a_path[] = " \t\n'\"\\/:,)<>;|&`]}";

static bool is_boundary(const char *command, const char *at)
{
    return at == command || strchr(before_a_path, at[-1]);
}

/* Is the word before this one an option ("--out results")? */
static bool follows_an_option(const char *command, const char *at)
{
    const char *word;

    while (at > command && (at[-1] == ' ' || at[-1] == '\t'))
        at--;
    word = at;
    while (word > command && !strchr(" \t\n", word[-1]))
        word--;
    return word < at && *word == '-';
}

static bool is_clearly_a_path(const struct mapping *item, const char *command, const char *at)
{
    if (strchr(item->declared, '/') || at[item->length] == '/')
        return true;
    if (at > command && strchr("=<>", at[-1]))
        return true;
    return follows_an_option(command, at);
}

/* "./out" for a declared "out". */
static const struct mapping *mapping_after_dot(const struct sw_paths *paths, const char *at)
{
    const struct mapping *item = NULL;

    if (at[0] == '.' && at[1] == '/')
        item = mapping_at(paths, at + 2, after_a_path);
    return item && *item->declared != '/' ? item : NULL;
}

static void add_escaped(struct sw_buf *out, const char *text, char quote, bool shell)
{
    for (; *text; text++) {
        if (shell && quote == '\'' && *text == '\'') {
            sw_buf_add(out, "'\\''");
            continue;
        }
        if (shell && ((quote == '"' && strchr("\"$`\\", *text)) ||
                      (!quote && strchr(" \t\n\"'$`\\*?[]{}()<>;|&#~!", *text))))
            sw_buf_add_char(out, '\\');
        sw_buf_add_char(out, *text);
    }
}

static char *rewrite(const struct sw_paths *paths, const char *command, bool shell)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    char quote = '\0';

    for (const char *at = command; *at;) {
        const struct mapping *item = NULL;
        size_t skip = 0;

        if (is_boundary(command, at)) {
            item = mapping_at(paths, at, after_a_path);
            if (item && !is_clearly_a_path(item, command, at))
                item = NULL;
            else if (!item && (item = mapping_after_dot(paths, at)))
                skip = 2;
        }
        if (item) {
            add_escaped(&out, item->place, quote, shell);
            at += skip + item->length;
            continue;
        }
        if (shell && *at == '\\' && quote != '\'' && at[1])
            sw_buf_add_char(&out, *at++);
        else if (!quote && (*at == '\'' || *at == '"'))
            quote = *at;
        else if (*at == quote)
            quote = '\0';
        sw_buf_add_char(&out, *at++);
    }
    return out.data ? sw_buf_steal(&out) : sw_strdup("");
}

char *sw_paths_command(const struct sw_paths *paths, const char *command)
{
    return rewrite(paths, command, true);
}

char *sw_paths_word(const struct sw_paths *paths, const char *word)
{
    return rewrite(paths, word, false);
}

int sw_paths_check_outputs(const json_t *outputs, struct sw_error *err)
{
    sw_auto(sw_paths) struct sw_paths *paths = sw_new(struct sw_paths);
    size_t i;
    json_t *entry;

    json_array_foreach(outputs, i, entry) {
        const char *path = sw_json_str(entry, "path");
        sw_autofree char *name = NULL;

        if (sw_text_empty(path) || sw_json_str(entry, "to"))
            continue;
        name = place_in_results(path, "");
        if (!name)
            name = last_name(path);
        for (size_t k = 0; k < paths->count; k++)
            if (strcmp(paths->items[k].place, name) == 0) {
                sw_fail(err, SW_E_SPEC, "outputs '%s' and '%s' would both be '%s' in the results",
                        paths->items[k].declared, path, *name ? name + 1 : "/");
                return sw_hint(err, "rename one of them, or give it a destination with `to:`");
            }
        add(paths, path, sw_take(name));
    }
    return 0;
}

/* ---- /results ------------------------------------------------------------------------------ */

static bool is_in_results(const char *text)
{
    size_t length = strlen(SW_RESULTS);

    return text && strncmp(text, SW_RESULTS, length) == 0 && (!text[length] || text[length] == '/');
}

/* Does any text in the document name it? */
static bool has_results(const json_t *document)
{
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_string(document))
        return is_in_results(json_string_value(document));
    json_object_foreach((json_t *)document, key, value)
        if (has_results(value))
            return true;
    json_array_foreach(document, i, value)
        if (has_results(value))
            return true;
    return false;
}

static bool any_has_results(const json_t *entries, const char *key)
{
    size_t i;
    json_t *entry;

    json_array_foreach(entries, i, entry)
        if (is_in_results(sw_json_str(entry, key)))
            return true;
    return false;
}

static bool declares_results(const struct sw_plan *plan)
{
    return any_has_results(plan->inputs, "path") || any_has_results(plan->outputs, "path") ||
           any_has_results(plan->config_inputs, "container_path") ||
           is_in_results(sw_json_str(plan->checkpoint, "dir")) || has_results(plan->config) ||
           has_results(plan->args) || has_results(plan->env);
}

/* With the folders that config_inputs name: they are paths of the job, too. */
static json_t *all_inputs(const struct sw_plan *plan)
{
    json_t *all = plan->inputs ? json_copy(plan->inputs) : json_array(), *entry;
    size_t i;

    json_array_foreach(plan->config_inputs, i, entry)
        if (sw_json_str(entry, "container_path"))
            json_array_append_new(all, sw_json_object(
                SW_SUB_COPY("path", json_object_get(entry, "container_path"))));
    return all;
}

struct sw_paths *sw_paths_of_plan(const struct sw_plan *plan, const char *work_dir,
                                  const char *results_dir)
{
    sw_auto(json) json_t *inputs = all_inputs(plan);
    struct sw_paths *paths = sw_paths_new(inputs, plan->outputs, work_dir, results_dir);

    if (!sw_paths_of(paths, SW_RESULTS) && declares_results(plan))
        add(paths, SW_RESULTS, sw_strdup(results_dir));
    return paths;
}

static bool is_rewritten(const struct sw_paths *paths, const json_t *words)
{
    size_t i;
    json_t *word;

    json_array_foreach(words, i, word) {
        sw_autofree char *other = sw_paths_word(paths, json_string_value(word));

        if (strcmp(other, json_string_value(word)) != 0)
            return true;
    }
    return false;
}

bool sw_paths_misses_results(const struct sw_plan *plan)
{
    sw_auto(sw_paths) struct sw_paths *paths = sw_new(struct sw_paths);
    sw_autofree char *other = NULL;

    if (declares_results(plan))
        return false;
    add(paths, SW_RESULTS, sw_strdup("/"));
    other = plan->command ? sw_paths_command(paths, plan->command) : NULL;
    return (other && strcmp(other, plan->command) != 0) || is_rewritten(paths, plan->argv) ||
           is_rewritten(paths, json_object_get(plan->python, "args"));
}
