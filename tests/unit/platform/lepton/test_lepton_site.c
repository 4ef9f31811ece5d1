/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lepton_site.c - which group, shape, volume, path and nodes a job gets, and what is refused.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "platform/lepton/lepton_internal.h"

/* With ' for ". */
static json_t *parse(const char *text)
{
    sw_autofree char *copy = sw_strdup(text);
    json_t *json;

    for (char *at = copy; (at = strchr(at, '\'')); at++)
        *at = '"';
    json = json_loads(copy, 0, NULL);
    assert_non_null(json);
    return json;
}

static void a_group_is_found_by_name_or_id_and_never_another(void **state)
{
    sw_auto(json) json_t *groups = parse("[{'metadata':{'id':'g-1','name':'train'}},"
                                         "{'metadata':{'id':'g-2','name':'eval'}}]");
    struct sw_error err = { 0 };

    (void)state;
    assert_ptr_equal(lepton_group_of(groups, "eval", NULL), json_array_get(groups, 1));
    assert_ptr_equal(lepton_group_of(groups, "g-1", NULL), json_array_get(groups, 0));
    assert_null(lepton_group_of(groups, "tra", &err));
    assert_non_null(strstr(err.hint, "train, eval"));
}

static const char shapes_text[] =
    "[{'metadata':{'id':'cpu.large'},'spec':{'cpu':16,'memory_in_mb':65536}},"
    "{'metadata':{'id':'cpu.small'},'spec':{'cpu':2,'memory_in_mb':4096,'accelerator_num':0}},"
    "{'metadata':{'id':'gpu.8xa100'},'spec':{'cpu':64,'memory_in_mb':900000,'accelerator_num':8,"
    "'accelerator_type':'NVIDIA-A100'}},"
    "{'metadata':{'id':'gpu.8xh100-sxm'},'spec':{'cpu':96,'memory_in_mb':900000,'accelerator_num':8,"
    "'accelerator_type':'NVIDIA-H100','node_group_id':'g-1'}},"
    "{'metadata':{'id':'gpu.1xgh200'},'spec':{'cpu':64,'memory_in_mb':400000,'accelerator_num':1,"
    "'accelerator_type':'GH200'}}]";

static void the_smallest_shape_that_fits_is_taken(void **state)
{
    static const struct {
        int gpus;
        const char *type;
        double cpus;
        int64_t memory_mib;
        const char *group, *shape, *arch;
    } rows[] = {
        { 0, NULL, 0, 0, NULL, "cpu.small", "x86_64" },
        { 0, NULL, 3, 0, NULL, "cpu.large", "x86_64" },
        { 0, NULL, 0, 8192, NULL, "cpu.large", "x86_64" },
        { 8, NULL, 0, 0, "g-1", "gpu.8xa100", "x86_64" },
        { 8, "H100", 0, 0, "g-1", "gpu.8xh100-sxm", "x86_64" },
        { 8, "h100", 0, 0, "g-2", NULL, NULL },
        { 1, NULL, 0, 0, NULL, "gpu.1xgh200", "aarch64" },
        { 4, NULL, 0, 0, NULL, NULL, NULL },
        { 0, NULL, 99, 0, NULL, NULL, NULL },
    };
    sw_auto(json) json_t *shapes = parse(shapes_text);

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_plan plan = { .gpus = rows[i].gpus, .gpu_type = (char *)rows[i].type, .cpus = rows[i].cpus,
                                .memory_bytes = rows[i].memory_mib << 20 };
        struct sw_error err = { 0 };
        const json_t *shape = lepton_shape_of(shapes, &plan, rows[i].group, &err);

        if (!sw_text_same(lepton_meta(shape, "id"), rows[i].shape))
            fail_msg("row %zu: %s", i, shape ? lepton_meta(shape, "id") : err.message);
        if (shape)
            assert_string_equal(lepton_arch_of(shape), rows[i].arch);
        else
            assert_non_null(strstr(err.hint, "gpu.8xa100"));
    }
}

static void lustre_comes_before_filestore_before_the_first(void **state)
{
    static const struct { const char *volumes, *taken; } rows[] = {
        { "[{'name':'a'},{'name':'my-filestore'},{'name':'Lustre-1'}]", "Lustre-1" },
        { "[{'name':'a'},{'name':'my-filestore'}]", "my-filestore" },
        { "[{'name':'a'},{'name':'b'}]", "a" },
        { "[]", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *text = sw_format("{'spec':{'volumes':%s}}", rows[i].volumes);
        sw_auto(json) json_t *group = parse(text);

        assert_true(sw_text_same(sw_json_str(lepton_volume_of(group), "name"), rows[i].taken));
    }
}

static void a_path_is_mounted_only_where_a_permission_allows_it(void **state)
{
    static const char both[] = "[{'path_prefix':'/team/me'},{'path_prefix':'/shared/'}]";
    static const struct {
        const char *permissions;
        struct lepton_wanted wanted;
        const char *path, *at;
    } rows[] = {
        { both, { 0 }, "/team/me", "/mnt/lustre" },
        { "[]", { 0 }, "/", "/mnt/lustre" },
        { both, { .path = "/team/me/x", .at = "/data" }, "/team/me/x", "/data" },
        { both, { .path = "/shared" }, "/shared", "/mnt/lustre" },
        { both, { .path = "/team/mean" }, NULL, NULL },
        { both, { .path = "/" }, NULL, NULL },
        { both, { .at = "/usr/" }, NULL, NULL },
        { both, { .path = "/team/me/../you" }, NULL, NULL },
        { both, { .path = "/team/me/a..b" }, "/team/me/a..b", "/mnt/lustre" },
        { "[]", { .path = "/.." }, NULL, NULL },
        { "[{'path_prefix':'/bob','allowed_users':['bob']},{'path_prefix':'/all','allowed_users':['*']}]",
          { 0 }, "/all", "/mnt/lustre" },
        { "[{'path_prefix':'/bob','allowed_users':['bob']}]", { 0 }, "/bob", "/mnt/lustre" },
        { both, { .at = "/usr/data", .read_only = true }, "/team/me", "/usr/data" },
    };
    sw_auto(json) json_t *volume = parse("{'name':'lustre','from':'nfs'}");

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *permissions = parse(rows[i].permissions);
        sw_auto(json) json_t *mount = lepton_mount_of(volume, permissions, &rows[i].wanted, NULL);

        if (!sw_text_same(sw_json_str(mount, "path"), rows[i].path) ||
            !sw_text_same(sw_json_str(mount, "mount_path"), rows[i].at))
            fail_msg("row %zu", i);
        if (mount)
            assert_string_equal(sw_json_str(mount, "from"), "node-nfs:lustre");
    }
}

static void nodes_to_avoid_are_left_out(void **state)
{
    sw_auto(json) json_t *nodes = parse("[{'metadata':{'id':'n-1','name':'one'}},{'metadata':{'id':'n-2'}}]");
    sw_auto(json) json_t *one = parse("['one']"), *both = parse("['one','n-2']");
    sw_auto(json) json_t *left = lepton_nodes_but(nodes, NULL, one, NULL);
    sw_autofree char *text = sw_json_dump(left);
    struct sw_error err = { 0 };

    (void)state;
    assert_string_equal(text, "[\"n-2\"]");
    assert_null(lepton_nodes_but(nodes, NULL, both, &err));
    assert_null(lepton_nodes_but(nodes, one, one, &err));
    assert_int_equal(err.code, SW_E_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_is_found_by_name_or_id_and_never_another),
        cmocka_unit_test(the_smallest_shape_that_fits_is_taken),
        cmocka_unit_test(lustre_comes_before_filestore_before_the_first),
        cmocka_unit_test(a_path_is_mounted_only_where_a_permission_allows_it),
        cmocka_unit_test(nodes_to_avoid_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
