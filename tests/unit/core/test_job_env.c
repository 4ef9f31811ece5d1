/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_env.c - the environment that every job finds, and the page that shows it to users. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "core/job_env.h"

static void ranks_learn_where_they_are(void **state)
{
    sw_auto(json) json_t *env = json_object();
    struct sw_job_env known = { .nodes = 2, .node_rank = 1, .gpus_per_node = 4, .master_addr = "n1",
                                .worker_addrs = "n2" };

    (void)state;
    sw_job_env_add(&known, env);
    assert_string_equal(sw_json_str(env, "NODE_RANK"), "1");
    assert_string_equal(sw_json_str(env, "WORLD_SIZE"), "2");       /* TAO: nodes */
    assert_string_equal(sw_json_str(env, "NPROC_PER_NODE"), "4");
    assert_string_equal(sw_json_str(env, "MASTER_PORT"), "29500");
    assert_string_equal(sw_json_str(env, "WORKER_ADDRS"), "n2");
    known.world_size_ranks = true;
    sw_job_env_add(&known, env);
    assert_string_equal(sw_json_str(env, "WORLD_SIZE"), "8");
}

static void a_port_of_the_jobs_own_stays(void **state)
{
    sw_auto(json) json_t *env = json_pack("{s:s}", "MASTER_PORT", "4711");

    (void)state;
    sw_job_env_add(&(struct sw_job_env){ .nodes = 1, .master_port = 5 }, env);
    assert_string_equal(sw_json_str(env, "MASTER_PORT"), "4711");
}

static void defaults_give_way_and_some_are_for_containers(void **state)
{
    sw_auto(json) json_t *env = json_pack("{s:s}", "NCCL_DEBUG", "WARN");
    sw_auto(json) json_t *inside = json_object();

    (void)state;
    sw_job_env_defaults(false, NULL, env);
    assert_string_equal(sw_json_str(env, "NCCL_DEBUG"), "WARN");
    assert_string_equal(sw_json_str(env, "PYTHONUNBUFFERED"), "1");
    assert_null(sw_json_str(env, "PYTHONNOUSERSITE"));
    assert_null(sw_json_str(env, "HF_HOME"));
    sw_job_env_defaults(true, "/base/hf", inside);
    assert_string_equal(sw_json_str(inside, "PYTHONNOUSERSITE"), "1");
    assert_string_equal(sw_json_str(inside, "HF_HOME"), "/base/hf");
}

static void the_shell_sets_the_same_defaults(void **state)
{
    sw_auto(json) json_t *env = json_object();
    sw_autofree char *text = sw_job_env_defaults_shell(true, "/base of/hf");
    const char *name;
    json_t *value;

    (void)state;
    sw_job_env_defaults(true, "/base of/hf", env);
    json_object_foreach(env, name, value) {
        sw_autofree char *line = strcmp(name, "HF_HOME") == 0
            ? sw_strdup("[ -n \"${HF_HOME+set}\" ] || export HF_HOME='/base of/hf'\n")
            : sw_format("[ -n \"${%s+set}\" ] || export %s=%s\n", name, name, json_string_value(value));

        if (!strstr(text, line))
            fail_msg("no '%s' in\n%s", line, text);
    }
}

static void what_would_be_overridden_is_refused(void **state)
{
    (void)state;
    assert_non_null(sw_job_env_taken("WORLD_SIZE"));
    assert_non_null(sw_job_env_taken("SLIPWAY_JOB_DIR"));
    assert_non_null(strstr(sw_job_env_taken("CUDA_VISIBLE_DEVICES"), "'gpus'"));
    assert_null(sw_job_env_taken("MASTER_PORT"));
    assert_null(sw_job_env_taken("NCCL_DEBUG"));
    assert_null(sw_job_env_taken("PATH"));
}

static void the_page_names_every_variable(void **state)
{
    const char *page = getenv("JOB_FILE_PAGE");
    sw_autofree char *text = page ? sw_file_read(page, 1 << 20, NULL, NULL) : NULL;

    (void)state;
    assert_non_null(text);
    for (const struct sw_job_variable *row = sw_job_variables; row->name; row++) {
        sw_autofree char *line = sw_format("| `%s` | %s |", row->name, row->meaning);

        if (!strstr(text, line))
            fail_msg("docs/use/job-file.md has no '%s'", line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_learn_where_they_are),
        cmocka_unit_test(a_port_of_the_jobs_own_stays),
        cmocka_unit_test(defaults_give_way_and_some_are_for_containers),
        cmocka_unit_test(the_shell_sets_the_same_defaults),
        cmocka_unit_test(what_would_be_overridden_is_refused),
        cmocka_unit_test(the_page_names_every_variable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
