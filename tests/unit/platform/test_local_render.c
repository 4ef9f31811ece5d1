/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_local_render.c - what would be started, shown without starting it, and what preflight
 * refuses.
 */
#include "local_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "platform/local/local_internal.h"
#include "platform/local/supervisor.h"

static const char *text_of(const json_t *sends, const char *what)
{
    size_t i;
    json_t *one;

    json_array_foreach(sends, i, one)
        if (strcmp(sw_json_str(one, "what"), what) == 0)
            return sw_json_str(one, "text");
    return NULL;
}

static void render_shows_the_exact_command_and_makes_nothing(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *want = NULL;
    sw_auto(json) json_t *sends = NULL;

    fixture_command(here, "train -e {config_path} -o /results --id {job_id} ${X}");
    here->plan->config = json_pack("{s:i}", "epochs", 3);
    json_array_append_new(here->plan->outputs, json_pack("{s:s}", "path", "/results"));
    json_array_append_new(here->plan->secrets, json_string("HF_TOKEN"));
    sends = sw_platform_local.render(here->conn, here->plan, NULL);
    want = sw_format("train -e %s/local/%s/attempt-1/work/spec.yaml -o %s/local/%s/results"
                     " --id %s ${X}", here->folder, here->plan->job_id, here->folder,
                     here->plan->job_id, here->plan->job_id);
    assert_string_equal(text_of(sends, "command"), want);
    assert_non_null(strstr(text_of(sends, "environment"), "HF_TOKEN (secret)"));
    assert_false(sw_file_exists(local_of(here->conn)->root));
}

static void another_shell_reads_the_command(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *log = NULL;

    fixture_option(here, "shell", json_string("/bin/bash"));
    fixture_launch(here, "[[ x == x ]] && echo $0 yes");
    fixture_wait_over(here, here->id);
    log = fixture_log(here, here->id, 0);
    assert_string_equal(log, "/bin/bash yes\n");
}

static void launchers_that_need_a_cluster_are_refused(void **state)
{
    struct fixture *here = *state;
    struct sw_error err = { 0 };

    fixture_command(here, "true");
    here->plan->launcher = SW_LAUNCHER_MPI;
    assert_int_equal(sw_platform_local.preflight(here->conn, here->plan, &err), -1);
    assert_int_equal(err.code, SW_E_UNSUPPORTED);
    assert_string_equal(err.message, "launcher 'mpi' is not available on local");
}

static void outputs_that_would_be_one_folder_are_refused(void **state)
{
    struct fixture *here = *state;
    struct sw_error err = { 0 };

    fixture_command(here, "true");
    json_array_append_new(here->plan->outputs, json_pack("{s:s}", "path", "/q/b"));
    json_array_append_new(here->plan->outputs, json_pack("{s:s}", "path", "/a/b"));
    json_array_append_new(here->plan->outputs, json_pack("{s:s}", "path", "/a_b"));
    assert_int_equal(sw_platform_local.preflight(here->conn, here->plan, &err), -1);
    assert_non_null(strstr(err.message, "same folder"));
}

static void a_thousand_jobs_are_polled_in_a_blink(void **state)
{
    struct fixture *here = *state;
    sw_auto(json) json_t *status = sw_json_object(SW_STR("state", "Complete"), SW_INT("exit_code", 0));
    struct sw_observation *all = sw_alloc(1000 * sizeof *all);
    char (*ids)[SW_ID_SIZE] = sw_alloc(1000 * sizeof *ids);

    for (int i = 0; i < 1000; i++) {
        sw_autofree char *folder = NULL;

        snprintf(ids[i], sizeof ids[i], "many-job%05d", i);
        folder = local_attempt_folder(here->conn, ids[i], 1);
        assert_int_equal(sw_mkdirs(folder, 0700, NULL), 0);
        assert_int_equal(local_record_write(folder, LOCAL_EXIT, status, NULL), 0);
        all[i].job = fixture_ref(ids[i]);
    }
    assert_int_equal(sw_platform_local.observe(here->conn, all, 1000, NULL), 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(all[i].state, SW_COMPLETE);
    free(all);
    free(ids);
    assert_int_equal(sw_remove_tree(local_of(here->conn)->root, NULL), 0);
}

/* A folder of plain files replaces the cgroup file system: the test reads what would be written. */
static void limits_are_written_into_a_cgroup_beside_our_own(void **state)
{
    struct fixture *here = *state;
    static const char *const files[] = { "memory.max", "memory.swap.max", "memory.oom.group",
                                         "cpu.max" };
    sw_autofree char *ours = sw_format("%s/cg/app.slice/job", here->folder);
    sw_autofree char *control = sw_format("%s/cg/app.slice/cgroup.subtree_control", here->folder);
    sw_autofree char *own = sw_format("%s/cg/app.slice/own.scope", here->folder);
    sw_autofree char *root = sw_format("%s/cg", here->folder);
    sw_autofree char *memory = sw_format("%s/memory.max", ours);
    sw_autofree char *cpu = sw_format("%s/cpu.max", ours);
    sw_autofree char *memory_text = NULL, *cpu_text = NULL;
    struct sup_limits limits;
    sw_auto(json) json_t *facts = json_object();

    assert_int_equal(sw_mkdirs(ours, 0755, NULL), 0);
    assert_int_equal(sw_mkdirs(own, 0755, NULL), 0);
    assert_int_equal(sw_file_write(control, "cpu memory pids\n", 16, 0644, NULL), 0);
    for (size_t i = 0; i < SW_COUNT(files); i++) {
        sw_autofree char *file = sw_format("%s/%s", ours, files[i]);

        assert_int_equal(sw_file_write(file, "", 0, 0644, NULL), 0);
    }
    sup_limits_open(&limits, root, "/app.slice/own.scope", "job", 1 << 30, 2.5);
    assert_non_null(limits.cgroup);
    assert_false(limits.sample);
    memory_text = sw_file_read(memory, 100, NULL, NULL);
    cpu_text = sw_file_read(cpu, 100, NULL, NULL);
    assert_string_equal(memory_text, "1073741824");
    assert_string_equal(cpu_text, "250000 100000");
    sup_limits_close(&limits, facts);
}

static void without_a_writable_cgroup_memory_is_sampled(void **state)
{
    struct fixture *here = *state;
    struct sup_limits limits;
    sw_auto(json) json_t *facts = json_object();

    sup_limits_open(&limits, here->folder, "/nowhere", "job", 1 << 30, 0);
    assert_null(limits.cgroup);
    assert_true(limits.sample);
    sup_limits_close(&limits, facts);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(render_shows_the_exact_command_and_makes_nothing),
        CLAIM(another_shell_reads_the_command),
        CLAIM(launchers_that_need_a_cluster_are_refused),
        CLAIM(outputs_that_would_be_one_folder_are_refused),
        CLAIM(a_thousand_jobs_are_polled_in_a_blink),
        CLAIM(limits_are_written_into_a_cgroup_beside_our_own),
        CLAIM(without_a_writable_cgroup_memory_is_sampled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
