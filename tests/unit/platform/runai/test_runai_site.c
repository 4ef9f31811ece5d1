/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_runai_site.c - projects and clusters by name, and nothing chosen silently.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "platform/runai/runai_internal.h"

static const char projects_text[] = "[{\"id\":\"1\",\"name\":\"team-a\",\"clusterId\":\"c1\"},"
                                    "{\"id\":\"2\",\"name\":\"team\",\"clusterId\":\"c1\"},"
                                    "{\"id\":\"3\",\"name\":\"team\",\"clusterId\":\"c2\"}]";

static void a_project_is_found_by_its_whole_name(void **state)
{
    sw_auto(json) json_t *projects = json_loads(projects_text, 0, NULL);
    struct sw_error err = { 0 };

    (void)state;
    assert_string_equal(sw_json_str(runai_find_project(projects, "team-a", NULL, &err), "id"), "1");
    assert_string_equal(sw_json_str(runai_find_project(projects, "team", "c2", &err), "id"), "3");
    assert_null(runai_find_project(projects, "tea", NULL, &err));
    assert_int_equal(err.code, SW_E_NOT_FOUND);
}

static void two_projects_of_one_name_need_a_cluster(void **state)
{
    sw_auto(json) json_t *projects = json_loads(projects_text, 0, NULL);
    struct sw_error err = { 0 };

    (void)state;
    assert_null(runai_find_project(projects, "team", NULL, &err));
    assert_int_equal(err.code, SW_E_SPEC);
    assert_non_null(strstr(err.hint, "runai.cluster"));
}

static void a_cluster_is_found_by_name_or_uuid(void **state)
{
    sw_auto(json) json_t *clusters = json_loads("[{\"uuid\":\"c1\",\"name\":\"north\"}]", 0, NULL);
    struct sw_error err = { 0 };

    (void)state;
    assert_non_null(runai_find_cluster(clusters, "c1", &err));
    assert_non_null(runai_find_cluster(clusters, "north", &err));
    assert_null(runai_find_cluster(clusters, "south", &err));
    assert_int_equal(err.code, SW_E_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_project_is_found_by_its_whole_name),
        cmocka_unit_test(two_projects_of_one_name_need_a_cluster),
        cmocka_unit_test(a_cluster_is_found_by_name_or_uuid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
