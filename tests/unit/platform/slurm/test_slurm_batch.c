/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_slurm_batch.c - plans become batch scripts; golden files hold them, reviewed like code.
 */
#include "shell.h"

#include <stdlib.h>

#include "platform/slurm/slurm_internal.h"

/* A plan from the JSON that the store would keep. */
static struct sw_plan *plan_of(const char *more, const char *options)
{
    sw_auto(json) json_t *plan = json_loads(
        "{\"job_id\":\"dino-abcd2345\",\"name\":\"dino\",\"platform\":\"slurm\",\"nodes\":1,"
        "\"gpus\":0,\"command\":\"train -e {config_path}\",\"env\":{},\"secrets\":[],"
        "\"inputs\":[],\"outputs\":[],\"labels\":{},\"grace_ms\":10000}", 0, NULL);
    sw_auto(json) json_t *parts = json_loads(more, 0, NULL), *block = json_loads(options, 0, NULL);
    struct sw_error err = { 0 };
    struct sw_plan *made;

    assert_non_null(parts);
    assert_non_null(block);
    json_object_update(plan, parts);
    json_object_set(plan, "options", block);
    made = sw_plan_from_json(plan, &err);
    if (!made)
        fail_msg("plan: %s", err.message);
    return made;
}

static int render(const char *more, const char *options, struct sw_buf *batch, struct sw_buf *task,
                  struct sw_error *err)
{
    sw_auto(sw_plan) struct sw_plan *plan = plan_of(more, options);
    sw_auto(slurm_job) struct slurm_job job = { 0 };

    if (slurm_job_init(&job, plan, "/lustre/ann", "tao-job-", 1, err) < 0)
        return -1;
    job.runner[0] = "/lustre/ann/runner/slipway-runner-x86_64-0123";
    if (slurm_batch(batch, &job, err) < 0)
        return -1;
    slurm_entrypoint(task, &job);
    return 0;
}

#define DEFAULTS "\"time_hours\":4,\"requeue\":true,\"use_timeout\":true,\"max_gpus_per_node\":8," \
                 "\"max_cpus_per_task\":128,\"signal_ahead\":\"2m\""

static void batch_scripts_are_as_they_were_reviewed(void **state)
{
    static const struct {
        const char *name, *more, *options;
    } rows[] = {
        { "one-node", "{\"gpus\":4}", "{" DEFAULTS ",\"container\":\"none\"}" },
        { "two-nodes", "{\"gpus\":16,\"launcher\":1,\"time_ms\":7200000}",
          "{" DEFAULTS ",\"partition\":[\"polar\",\"grizzly\"],\"account\":\"edgeai\"}" },
        { "everything",
          "{\"nodes\":3,\"gpus\":2,\"gpu_type\":\"a100\",\"cpus\":8,\"memory_bytes\":68719476736,"
          "\"time_ms\":5000,\"launcher\":2,\"avoid\":[\"n7\"]}",
          "{" DEFAULTS ",\"qos\":\"high\",\"reservation\":\"r1\",\"constraint\":\"a100&ib\","
          "\"nodelist\":[\"n1\",\"n2\"],\"exclude\":[\"n9\"],\"exclusive\":true,"
          "\"array\":\"0-3%2\",\"dependency\":\"afterok:12\",\"begin\":\"now+1hour\","
          "\"licenses\":\"matlab:1\",\"nice\":5,\"comment\":\"it's mine\",\"mail_user\":\"a@b.c\","
          "\"mail_type\":[\"END\",\"FAIL\"],\"requeue\":false,\"gpu_request\":\"gpus-per-node\","
          "\"sbatch_args\":[\"--segment=4\"],\"srun_args\":[\"--label\"],\"setup_lines\":[\"module load x\"],"
          "\"mpi\":\"pmi2\"}" },
        { "cosmos", "{\"nodes\":3,\"gpus\":8}",
          "{" DEFAULTS ",\"cosmos\":{\"policy_nodes\":1,\"rollout_nodes\":2,"
          "\"controller_port\":8082}}" },
        { "oci", "{\"nodes\":2,\"image\":\"/lustre/bundles/box\"}",
          "{" DEFAULTS ",\"container\":\"oci\",\"container_env\":[\"NCCL_SOCKET_IFNAME\"]}" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_buf) struct sw_buf batch = SW_BUF_INIT, task = SW_BUF_INIT;
        sw_autofree char *batch_name = sw_format("%s.batch.txt", rows[i].name);
        sw_autofree char *task_name = sw_format("%s.task.txt", rows[i].name);
        sw_autofree char *batch_text = NULL, *task_text = NULL;
        struct sw_error err = { 0 };

        if (render(rows[i].more, rows[i].options, &batch, &task, &err) < 0)
            fail_msg("%s: %s", rows[i].name, err.message);
        batch_text = sw_format("the batch script:\n%s", sw_buf_text(&batch));
        task_text = sw_format("what each task runs:\n%s", sw_buf_text(&task));
        expect_golden(batch_name, batch_text);
        expect_golden(task_name, task_text);
    }
}

static void expect_line(const char *more, const char *options, const char *line, bool there)
{
    sw_auto(sw_buf) struct sw_buf batch = SW_BUF_INIT, task = SW_BUF_INIT;
    struct sw_error err = { 0 };

    if (render(more, options, &batch, &task, &err) < 0)
        fail_msg("%s", err.message);
    if ((strstr(sw_buf_text(&batch), line) != NULL) != there)
        fail_msg("'%s' is %s", line, there ? "missing" : "there");
}

static void resources_follow_the_contract(void **state)
{
    static const struct {
        const char *more, *options, *line;
        bool there;
    } rows[] = {
        { "{\"gpus\":0}", "{" DEFAULTS "}", "--gres", false },
        { "{\"gpus\":0}", "{" DEFAULTS "}", "--cpus-per-task", false },
        { "{\"gpus\":4}", "{" DEFAULTS "}", "#SBATCH --cpus-per-task=64\n", true },
        { "{\"gpus\":4,\"nodes\":2}", "{" DEFAULTS "}", "#SBATCH --cpus-per-task=16\n", true },
        { "{\"gpus\":7}", "{" DEFAULTS "}", "--exclusive", false },
        { "{\"gpus\":8}", "{" DEFAULTS "}", "#SBATCH --exclusive\n", true },
        { "{\"gpus\":16}", "{" DEFAULTS "}", "#SBATCH --nodes=2\n", true },
        { "{\"gpus\":16}", "{" DEFAULTS "}", "#SBATCH --gres=gpu:8\n", true },
        { "{\"gpus\":16}", "{" DEFAULTS "}", "#SBATCH --ntasks=2\n", true },
        { "{}", "{" DEFAULTS "}", "#SBATCH --time=04:00:00\n", true },
        { "{}", "{" DEFAULTS ",\"timeout_hours\":3.8}", "slipway_limit=13680\n", true },
        { "{\"time_ms\":1000}", "{" DEFAULTS "}", "slipway_limit=1\n", true },
        { "{\"memory_bytes\":1}", "{" DEFAULTS "}", "#SBATCH --mem=1M\n", true },
        { "{}", "{" DEFAULTS ",\"mem\":\"0\"}", "#SBATCH --mem=0\n", true },
        { "{}", "{" DEFAULTS ",\"dependency\":\"afterok:1\"}", "--kill-on-invalid-dep=yes\n", true },
        { "{}", "{" DEFAULTS ",\"dependency\":\"afterok:1\"}", "#SBATCH --dependency=afterok:1\n", true },
        { "{}", "{" DEFAULTS ",\"dependency\":\"afterok:1:dino\"}", "# waits for afterok:1:dino:", true },
        { "{}", "{" DEFAULTS ",\"dependency\":\"afterok:1:dino\"}", "#SBATCH --dependency", false },
        { "{}", "{" DEFAULTS "}", "#SBATCH --signal=B:USR1@120\n", true },
        { "{}", "{" DEFAULTS "}", "#SBATCH --open-mode=append\n", true },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++)
        expect_line(rows[i].more, rows[i].options, rows[i].line, rows[i].there);
}

static void a_value_that_a_batch_script_cannot_carry_is_refused(void **state)
{
    static const char *const options[] = {
        "{" DEFAULTS ",\"account\":\"a b\"}", "{" DEFAULTS ",\"qos\":\"a#b\"}",
        "{" DEFAULTS ",\"constraint\":\"a\\nb\"}", "{" DEFAULTS ",\"comment\":\"say \\\"x\\\"\"}",
        "{" DEFAULTS ",\"dependency\":\"afterok:dino\\n#SBATCH\"}",
        "{" DEFAULTS ",\"sbatch_args\":[\"--wrap='x'\"]}", "{\"time_hours\":0}",
        "{" DEFAULTS ",\"cosmos\":{\"policy_nodes\":2,\"rollout_nodes\":2}}",
        "{" DEFAULTS ",\"mpi\":\"pmix;touch x\"}", "{" DEFAULTS ",\"mpi\":\"$(touch x)\"}",
        "{" DEFAULTS ",\"mpi\":\"pmix\\ntouch x\"}", "{" DEFAULTS ",\"mpi\":\"`touch x`\"}",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(options); i++) {
        sw_auto(sw_buf) struct sw_buf batch = SW_BUF_INIT, task = SW_BUF_INIT;
        struct sw_error err = { 0 };

        if (render("{\"launcher\":2}", options[i], &batch, &task, &err) == 0)
            fail_msg("%s was accepted", options[i]);
        assert_int_equal(err.code, SW_E_SPEC);
    }
}

/* Words and folders that become part of names, commands and lines of the batch script. */
static void names_cannot_carry_commands(void **state)
{
    static const char *const good[] = { "", "tao-job-", "a.b_c+d:e@f=g,h" };
    static const char *const bad[] = { "x;y", "x y", "$(y)", "x\ny", "`y`", "* ", "../x", "a/b", "'",
                                       "\"", "\\", "%j" };
    static const char *const folders[] = { "/lustre/x\n#SBATCH --x", "/lustre/x y", "/lustre/$(y)", "x",
                                           "/a/../b" };
    sw_auto(sw_plan) struct sw_plan *plan = plan_of("{}", "{" DEFAULTS "}");

    (void)state;
    for (size_t i = 0; i < SW_COUNT(good); i++)
        assert_int_equal(slurm_word_check("job_name_prefix", good[i], NULL), 0);
    for (size_t i = 0; i < SW_COUNT(bad); i++) {
        sw_auto(sw_buf) struct sw_buf batch = SW_BUF_INIT;
        sw_auto(slurm_job) struct slurm_job job = { 0 };

        assert_int_equal(slurm_job_init(&job, plan, "/lustre/ann", bad[i], 1, NULL), 0);
        if (slurm_batch(&batch, &job, NULL) == 0)
            fail_msg("the prefix '%s' was accepted", bad[i]);
    }
    for (size_t i = 0; i < SW_COUNT(folders); i++)
        assert_int_equal(slurm_path_check("sqsh_cache_dir", folders[i], NULL), -1);
}

static void a_cache_of_images_cannot_carry_lines(void **state)
{
    sw_auto(sw_plan) struct sw_plan *plan = plan_of("{\"image\":\"nvcr.io/nvidia/app:1\"}",
        "{" DEFAULTS ",\"conversion_partition\":\"cpu\",\"sqsh_cache_dir\":\"/lustre/x\\ntouch y\"}");
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(slurm_job) struct slurm_job job = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(slurm_job_init(&job, plan, "/lustre/ann", "tao-job-", 1, NULL), 0);
    assert_int_equal(slurm_convert_batch(&script, &job, &err), -1);
    assert_int_equal(err.code, SW_E_SPEC);
    assert_int_equal(slurm_batch(&script, &job, &err), -1);
}

static struct slurm_shape shape_of(const struct sw_plan *plan)
{
    sw_auto(slurm_job) struct slurm_job job = { 0 };

    assert_int_equal(slurm_job_init(&job, plan, "/lustre/ann", "tao-job-", 1, NULL), 0);
    return job.shape;
}

#define OUTPUTS "\"outputs\":[{\"path\":\"/results\",\"to\":\"s3://b/\"}]"

/* TERM comes early enough for the grace, and all that is left until Slurm's own end is the command's, but for
 * what its outputs need. */
static void a_time_limit_leaves_the_command_its_time(void **state)
{
    static const struct {
        const char *more, *options;
        int64_t limit_minutes, soft_s, grace_ms;
    } rows[] = {
        { "{}", "{" DEFAULTS "}", 240, 14400 - 120, 115000 },
        { "{\"time_ms\":600000}", "{" DEFAULTS "}", 10, 480, 115000 },
        { "{\"time_ms\":3600000,\"grace_ms\":600000}", "{" DEFAULTS "}", 60, 3600 - 605, 600000 },
        { "{\"time_ms\":5000}", "{" DEFAULTS "}", 3, 5, 10000 },
        { "{\"time_ms\":5000,\"grace_ms\":600000}", "{" DEFAULTS "}", 11, 5, 600000 },
        { "{}", "{\"time_hours\":4,\"use_timeout\":false,\"signal_ahead\":\"5m\"}", 240, 0, 295000 },
        { "{}", "{\"time_hours\":4,\"use_timeout\":false,\"signal_ahead\":\"0s\"}", 240, 0, 10000 },
        { "{" OUTPUTS "}", "{" DEFAULTS "}", 240, 14400 - 120, 85000 },
        { "{" OUTPUTS ",\"grace_ms\":100000}", "{" DEFAULTS "}", 240, 14400 - 205, 100000 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_plan) struct sw_plan *plan = plan_of(rows[i].more, rows[i].options);
        struct slurm_shape shape = shape_of(plan);

        if (shape.limit_minutes != rows[i].limit_minutes || shape.soft_s != rows[i].soft_s ||
            shape.time_grace_ms != rows[i].grace_ms)
            fail_msg("%s: %lld min, %lld s, %lld ms", rows[i].more, (long long)shape.limit_minutes,
                     (long long)shape.soft_s, (long long)shape.time_grace_ms);
    }
}

/* In steps of 7 s up to 20 minutes, with little and with much grace. */
static void more_time_never_gives_less(void **state)
{
    static const int64_t graces_ms[] = { 0, 10000, 90000, 300000 };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(graces_ms); i++) {
        int64_t soft_s = 0, minutes = 0;

        for (int64_t asked_s = 1; asked_s < 1200; asked_s += asked_s < 60 ? 1 : 7) {
            sw_autofree char *more = sw_format("{\"time_ms\":%lld,\"grace_ms\":%lld}",
                                               (long long)asked_s * 1000, (long long)graces_ms[i]);
            sw_auto(sw_plan) struct sw_plan *plan = plan_of(more, "{" DEFAULTS "}");
            struct slurm_shape shape = shape_of(plan);

            assert_true(shape.soft_s >= soft_s && shape.soft_s <= asked_s);
            assert_true(shape.limit_minutes >= minutes);
            /* no more than the command's time and its end, in whole minutes */
            assert_true(60 * (shape.limit_minutes - 1) < (asked_s > shape.soft_s + shape.ahead_s
                                                              ? asked_s : shape.soft_s + shape.ahead_s));
            assert_true(60 * shape.limit_minutes >= shape.soft_s + graces_ms[i] / 1000 + 5);
            soft_s = shape.soft_s;
            minutes = shape.limit_minutes;
        }
    }
}

/* Behind our mark, which stays as it was for jobs of older versions. */
static void a_job_says_whose_it_is(void **state)
{
    sw_auto(sw_plan) struct sw_plan *plan = plan_of("{}", "{" DEFAULTS ",\"comment\":\"mine\"}");
    sw_auto(sw_buf) struct sw_buf batch = SW_BUF_INIT;
    sw_auto(slurm_job) struct slurm_job job = { 0 };

    (void)state;
    free(plan->store_id);
    plan->store_id = sw_strdup("k7w2q9");
    plan->owner_uid = 1000;
    assert_int_equal(slurm_job_init(&job, plan, "/lustre/ann", "tao-job-", 1, NULL), 0);
    assert_int_equal(slurm_batch(&batch, &job, NULL), 0);
    assert_non_null(strstr(sw_buf_text(&batch),
                           "#SBATCH --comment=\"slipway:dino-abcd2345:1 store=k7w2q9 uid=1000 mine\"\n"));
    assert_true(slurm_is_ours(&(struct slurm_mark){ "x", job.names.comment }, "y",
                              "slipway:dino-abcd2345:1 store=k7w2q9 uid=1000 mine"));
}

static void base_folders_are_checked(void **state)
{
    static const char *const good[] = { "/lustre", "/lustre/fs1/users/ann-b_c.d" };
    static const char *const bad[] = { "", "/", "lustre", "/a/../b", "/a b", "/a$b", "/a%b", "/a'b" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(good); i++)
        assert_int_equal(slurm_base_check(good[i], NULL), 0);
    for (size_t i = 0; i < SW_COUNT(bad); i++)
        assert_int_equal(slurm_base_check(bad[i], NULL), -1);
}

static void scripts_are_accepted_by_the_shells_that_read_them(void **state)
{
    struct stage *stage = *state;
    sw_auto(sw_buf) struct sw_buf batch = SW_BUF_INIT, task = SW_BUF_INIT;
    struct sw_error err = { 0 };

    assert_int_equal(render("{\"gpus\":2,\"nodes\":2}", "{" DEFAULTS "}", &batch, &task, &err), 0);
    stage_write(stage, "batch", sw_buf_text(&batch));
    stage_write(stage, "task", sw_buf_text(&task));
    assert_int_equal(stage_run(stage, "bash", "check", "bash -n $HERE/batch && bash -n $HERE/task"),
                     0);
    assert_int_equal(stage_run(stage, "dash", "check", "dash -n $HERE/task"), 0);
}

#define IMAGE     "{\"image\":\"nvcr.io/nvidia/app:1\"}"
#define CONVERTED DEFAULTS ",\"conversion_partition\":\"cpu\",\"account\":\"edgeai\""

static void a_conversion_is_a_job_of_its_own_where_it_can_be(void **state)
{
    static const struct {
        const char *more, *options;
        bool elsewhere;
    } rows[] = {
        { IMAGE, "{" CONVERTED "}", true },
        { IMAGE, "{" CONVERTED ",\"dependency\":\"afterok:1,afterany:2\"}", true },
        { IMAGE, "{" CONVERTED ",\"dependency\":\"afterok:1?afterok:2\"}", false },
        { IMAGE, "{" CONVERTED ",\"use_sqsh\":false}", false },
        { IMAGE, "{" CONVERTED ",\"container\":\"none\"}", false },
        { IMAGE, "{" CONVERTED ",\"container\":\"oci\"}", false },
        { IMAGE, "{" DEFAULTS "}", false },
        { "{\"image\":\"/lustre/app.sqsh\"}", "{" CONVERTED "}", false },
        { "{}", "{" CONVERTED "}", false },
    };
    sw_auto(sw_plan) struct sw_plan *plan = plan_of(IMAGE, "{" CONVERTED "}");
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(slurm_job) struct slurm_job job = { 0 };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_plan) struct sw_plan *one = plan_of(rows[i].more, rows[i].options);
        sw_auto(slurm_job) struct slurm_job other = { 0 };

        assert_int_equal(slurm_job_init(&other, one, "/lustre/ann", "tao-job-", 1, NULL), 0);
        if (slurm_converts_elsewhere(&other) != rows[i].elsewhere)
            fail_msg("%s %s", rows[i].more, rows[i].options);
    }
    assert_int_equal(slurm_job_init(&job, plan, "/lustre/ann", "tao-job-", 1, NULL), 0);
    assert_int_equal(slurm_convert_batch(&script, &job, NULL), 0);
    expect_golden("convert.sh", sw_buf_text(&script));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_scripts_are_as_they_were_reviewed),
        cmocka_unit_test(resources_follow_the_contract),
        cmocka_unit_test(a_value_that_a_batch_script_cannot_carry_is_refused),
        cmocka_unit_test(a_conversion_is_a_job_of_its_own_where_it_can_be),
        cmocka_unit_test(names_cannot_carry_commands),
        cmocka_unit_test(a_cache_of_images_cannot_carry_lines),
        cmocka_unit_test(a_time_limit_leaves_the_command_its_time),
        cmocka_unit_test(more_time_never_gives_less),
        cmocka_unit_test(a_job_says_whose_it_is),
        cmocka_unit_test(base_folders_are_checked),
        cmocka_unit_test_setup_teardown(scripts_are_accepted_by_the_shells_that_read_them, stage_set,
                                        stage_clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
