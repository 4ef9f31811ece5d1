/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bundle_code.c - the block `code:` of a job, packed: which files it means, and their bytes.
 */
#include "plan/bundle.h"

#include "base/file.h"

static int select_code(const json_t *code, const char *root, struct sw_bundle_list *list,
                       struct sw_error *err)
{
    const struct sw_bundle_rules rules = {
        .root = root, .include = json_object_get(code, "include"),
        .exclude = json_object_get(code, "exclude"), .recipe = sw_json_str(code, "recipe") };

    return sw_bundle_select(&rules, list, err);
}

static char *root_of(const json_t *code, const char *base_dir)
{
    const char *said = sw_json_str(code, "root");

    return sw_path_absolute(said ? said : ".", base_dir);
}

int sw_bundle_list_code(const json_t *code, const char *base_dir, char **root, struct sw_bundle_list *out,
                        struct sw_error *err)
{
    sw_autofree char *folder = root_of(code, base_dir);

    if (select_code(code, folder, out, err) < 0)
        return -1;
    *root = sw_take(folder);
    return 0;
}

int sw_bundle_look(const json_t *code, const char *base_dir, char **what, json_t **notes,
                   struct sw_error *err)
{
    sw_autofree char *root = root_of(code, base_dir);
    sw_auto(sw_bundle_list) struct sw_bundle_list list = { 0 };

    if (select_code(code, root, &list, err) < 0)
        return -1;
    *what = sw_bundle_describe(&list);
    *notes = sw_take(list.notes);
    return 0;
}

int sw_bundle_code(const json_t *code, const char *base_dir, struct sw_bundle *out, char **what,
                   struct sw_error *err)
{
    sw_autofree char *root = root_of(code, base_dir);
    sw_auto(sw_bundle_list) struct sw_bundle_list list = { 0 };

    if (select_code(code, root, &list, err) < 0 || sw_bundle_pack(root, &list, out, err) < 0)
        return -1;
    if (what)
        *what = sw_bundle_describe(&list);
    return 0;
}
