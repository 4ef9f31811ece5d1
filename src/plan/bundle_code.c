/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bundle_code.c - the block `code:` of a job, packed: which files it means, and their bytes.
 */
#include "plan/bundle.h"

#include "base/file.h"

int sw_bundle_code(const json_t *code, const char *base_dir, struct sw_bundle *out, char **what,
                   struct sw_error *err)
{
    const char *said = sw_json_str(code, "root");
    sw_autofree char *root = sw_path_absolute(said ? said : ".", base_dir);
    sw_auto(sw_bundle_list) struct sw_bundle_list list = { 0 };
    const struct sw_bundle_rules rules = {
        .root = root, .include = json_object_get(code, "include"),
        .exclude = json_object_get(code, "exclude"), .recipe = sw_json_str(code, "recipe") };

    if (sw_bundle_select(&rules, &list, err) < 0 || sw_bundle_pack(root, &list, out, err) < 0)
        return -1;
    if (what)
        *what = sw_bundle_describe(&list);
    return 0;
}
