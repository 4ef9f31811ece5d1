/* SPDX-License-Identifier: Apache-2.0 */
/* test_translate.c - what the words of other tools become, and what is said of those that become nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "translate/translate.h"

static const struct sw_option slurm_options[] = {
    { "partition", SW_TEXTS }, { "account", SW_TEXT }, { "qos", SW_TEXT }, { "array", SW_TEXT },
    { "gres", SW_TEXT }, { "mem", SW_TEXT }, { "exclusive", SW_FLAG }, { "requeue", SW_FLAG },
    { "signal_ahead", SW_DURATION }, { "sbatch_args", SW_TEXTS }, { "srun_args", SW_TEXTS },
    { "mpi", SW_TEXT }, { "mail_type", SW_TEXTS }, { "dependency", SW_TEXT }, { "constraint", SW_TEXT },
    { "hostname", SW_TEXTS, SW_CONNECTION }, { "mount_home", SW_FLAG }, { 0 }
};
static const struct sw_option kubernetes_options[] = { { "queue", SW_TEXT }, { 0 } };
static const struct sw_option brev_options[] = { { "pool", SW_TEXT }, { 0 } };
static const struct sw_spec_platform platforms[] = {
    { "slurm", slurm_options }, { "kubernetes", kubernetes_options }, { "brev", brev_options },
};

static struct sw_translation *translate(const char *text, const char *tool, struct sw_error *err)
{
    const struct sw_translate_input input = {
        .text = text, .length = strlen(text), .name = "file", .tool = tool, .platforms = platforms,
        .platform_count = SW_COUNT(platforms),
    };

    return sw_translate(&input, err);
}

/* The job as compact JSON must hold this text. */
static void expect_in(const struct sw_translation *made, const char *part)
{
    sw_autofree char *job = sw_json_dump(made->job);

    if (!strstr(job, part))
        fail_msg("%s is not in %s", part, job);
}

static void expect_left_out(const struct sw_translation *made, int line, const char *what)
{
    sw_autofree char *all = sw_json_dump(made->left_out);
    const json_t *each;
    size_t i;

    json_array_foreach(made->left_out, i, each)
        if (sw_json_int(each, "line", -1) == line && strstr(sw_json_str(each, "what"), what) &&
            !sw_text_empty(sw_json_str(each, "why")))
            return;
    fail_msg("line %d, %s is not in %s", line, what, all);
}

static void every_form_of_a_directive_is_read(void **state)
{
    static const struct { const char *directive, *becomes; } rows[] = {
        { "--nodes=4", "\"nodes\":4" }, { "--nodes 4", "\"nodes\":4" }, { "-N 4", "\"nodes\":4" },
        { "-N4", "\"nodes\":4" }, { "-J 'two words'", "\"name\":\"two words\"" },
        { "--job-name=\"a b\" # why", "\"name\":\"a b\"" }, { "-p a,b", "\"partition\":[\"a\",\"b\"]" },
        { "-t 90", "\"time\":\"1h30m\"" }, { "-t 1-2:30", "\"time\":\"1d2h30m\"" },
        { "--mem=16G", "\"memory\":\"16GiB\"" }, { "--mem=1500", "\"memory\":\"1500MiB\"" },
        { "--mem=0", "\"mem\":\"0\"" }, { "--gres=gpu:2", "\"gpus\":\"2\"" },
        { "--gres=gpu:a100:2", "\"gpus\":\"a100:2\"" },
        { "--gres=gpu:1,nvme:1", "\"gres\":\"gpu:1,nvme:1\"" },
        { "-G 8 -N 2", "\"gpus\":\"4\"" }, { "--gpus-per-task=2 -n 2", "\"gpus\":\"4\"" },
        { "-c 4 --ntasks-per-node=2", "\"cpus\":8" }, { "--exclusive", "\"exclusive\":true" },
        { "--no-requeue", "\"requeue\":false" }, { "--signal=TERM@60", "\"signal_ahead\":\"60s\"" },
        { "--hint=nomultithread", "\"sbatch_args\":[\"--hint=nomultithread\"]" },
        { "--container-image=ubuntu", "\"image\":\"ubuntu\"" }, { "-D /work", "\"workdir\":\"/work\"" },
        { "--export=NONE,A=1", "\"env\":{\"A\":\"1\"}" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *script = sw_format("#!/bin/sh\n#SBATCH %s\nhostname\n", rows[i].directive);
        sw_auto(sw_translation) struct sw_translation *made = translate(script, NULL, NULL);

        assert_non_null(made);
        expect_in(made, rows[i].becomes);
        expect_in(made, "\"command\":\"hostname\\n\"");
    }
}

static void directives_without_a_counterpart_are_named_with_their_line(void **state)
{
    sw_auto(sw_translation) struct sw_translation *made = translate(
        "#!/bin/sh\n#SBATCH -o out.log\n#SBATCH --test-only\n#SBATCH --no-such=1\n#SBATCH --signal=USR1@9\n"
        "hostname\n#SBATCH -N 3\n", NULL, NULL);

    (void)state;
    expect_left_out(made, 2, "-o out.log");
    expect_left_out(made, 3, "--test-only");
    expect_left_out(made, 4, "--no-such=1");
    expect_left_out(made, 5, "--signal=USR1@9");
    expect_left_out(made, 7, "#SBATCH");
    assert_int_equal(json_array_size(made->left_out), 5);
}

static void srun_goes_and_its_options_become_keys(void **state)
{
    sw_auto(sw_translation) struct sw_translation *made = translate(
        "#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8\nIMAGE=ubuntu\nexport MASTER_ADDR=$(x)\n"
        "srun --container-image=$IMAGE \\\n  --container-mounts=/a:/a,/b:/b --mystery=$NOPE -K0 python "
        "\\\n  train.py\n",
        NULL, NULL);

    (void)state;
    expect_in(made, "\"command\":\"IMAGE=ubuntu\\npython \\\\\\n  train.py\\n\"");
    expect_in(made, "\"image\":\"ubuntu\"");
    expect_in(made, "\"mounts\":[\"/a:/a\",\"/b:/b\"]");
    expect_in(made, "\"srun_args\":[\"--kill-on-bad-exit=0\"]");
    expect_in(made, "\"launcher\":\"mpi\"");
    expect_left_out(made, 3, "MASTER_ADDR");
    expect_left_out(made, 4, "--mystery");
}

static void credentials_are_never_copied(void **state)
{
    static const char *const files[] = {
        "#!/bin/sh\n#SBATCH --export=ALL,HF_TOKEN=canary\nexport WANDB_API_KEY='canary'\nhostname\n",
        "resources: {cpus: 1}\nenvs: {HF_TOKEN: canary}\nsecrets: {A_KEY: canary}\nrun: ls\n",
        "type: task\ncommands: [ls]\nregistry_auth: {username: u, password: canary}\nenv: "
        "[\"API_KEY=canary\"]\n",
        "executor: {_target_: nemo_run.SlurmExecutor, env_vars: {HF_TOKEN: canary}, api_key: "
        "canary}\nscript: ls\n",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(files); i++) {
        sw_auto(sw_translation) struct sw_translation *made = translate(files[i], NULL, NULL);
        sw_autofree char *job = sw_json_dump(made->job), *left = sw_json_dump(made->left_out);

        assert_null(strstr(job, "canary"));
        assert_null(strstr(left, "canary"));
    }
}

static void values_that_another_tool_fills_in_are_left_out(void **state)
{
    sw_auto(sw_translation) struct sw_translation *made = translate(
        "envs:\n  A: ${HOME}/x\n  B: plain\nrun: echo ${A}\n", NULL, NULL);

    (void)state;
    expect_left_out(made, 2, "envs.A");
    expect_in(made, "\"env\":{\"B\":\"plain\"}");
    expect_in(made, "\"command\":\"echo ${A}\"");
}

static void a_script_for_bash_is_handed_to_bash(void **state)
{
    sw_auto(sw_translation) struct sw_translation *plain = translate("run: ls\n", "skypilot", NULL);
    sw_auto(sw_translation) struct sw_translation *bash = translate("run: '[[ -d x ]] && ls'\n", "skypilot",
                                                                    NULL);

    (void)state;
    expect_in(plain, "\"command\":\"ls\"");
    expect_in(bash, "\"argv\":[\"bash\",\"-c\",\"[[ -d x ]] && ls\"]");
}

static void the_forms_of_gpus_are_read(void **state)
{
    static const struct { const char *file, *becomes; } rows[] = {
        { "resources: {accelerators: H100}\nrun: ls\n", "\"gpus\":\"H100:1\"" },
        { "resources: {accelerators: {A100: 4}}\nrun: ls\n", "\"gpus\":\"A100:4\"" },
        { "resources: {accelerators: [L4:2, T4:2]}\nrun: ls\n", "\"gpus\":\"L4:2\"" },
        { "resources: {any_of: [{accelerators: L4:2}, {accelerators: T4}]}\nrun: ls\n", "\"gpus\":\"L4:2\"" },
        { "type: task\nresources: {gpu: 24GB}\ncommands: [ls]\n", "\"gpus\":\"1\"" },
        { "type: task\nresources: {gpu: 'nvidia:A100,H100:40GB:2..'}\ncommands: [ls]\n",
        "\"gpus\":\"A100:2\"" },
        { "type: task\nresources: {gpu: 4}\ncommands: [ls]\n", "\"gpus\":\"4\"" },
        { "type: task\nresources: {gpu: {name: [H100], count: 2..4}}\ncommands: [ls]\n",
        "\"gpus\":\"H100:2\"" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_translation) struct sw_translation *made = translate(rows[i].file, NULL, NULL);

        assert_non_null(made);
        expect_in(made, rows[i].becomes);
    }
}

static void a_file_of_no_tool_is_refused_with_the_way_out(void **state)
{
    struct sw_error err = { 0 };

    (void)state;
    assert_null(translate("a: 1\n", NULL, &err));
    assert_int_equal(err.code, SW_E_USAGE);
    assert_non_null(strstr(err.hint, "--as"));
    err = (struct sw_error){ 0 };
    assert_null(translate("run: ls\n", "pbs", &err));
    assert_int_equal(err.code, SW_E_USAGE);
    err = (struct sw_error){ 0 };
    assert_null(translate("- 1\n", "skypilot", &err));
    assert_int_equal(err.code, SW_E_SPEC);
}

static void draft(const json_t *files, struct sw_draft *out)
{
    const struct sw_draft_input input = {
        .folder = "project", .files = files, .platforms = platforms, .platform_count = SW_COUNT(platforms),
    };

    sw_draft_make(&input, out);
}

static void a_folder_with_a_training_script_runs_it(void **state)
{
    sw_auto(json) json_t *files = json_pack("{s:s, s:s, s:s}", "helper.py", "x = 1", "train.py",
                                            "import torch.distributed", "requirements.txt", "torch");
    sw_auto(sw_draft) struct sw_draft made = { 0 };

    (void)state;
    draft(files, &made);
    assert_null(made.translated);
    assert_string_equal(sw_json_str(made.job, "command"), "python train.py");
    assert_string_equal(sw_json_str(made.job, "name"), "train");
    assert_string_equal(sw_json_str(made.ideas, "launcher"), "torchrun");
}

static void a_folder_with_one_file_of_another_tool_is_that_file(void **state)
{
    sw_auto(json) json_t *files = json_pack("{s:s, s:s}", "go.sbatch", "#!/bin/sh\n#SBATCH -N 1\nls\n",
                                            "train.py", "");
    sw_auto(json) json_t *two = json_pack("{s:s, s:s}", "a.sh", "#SBATCH -N 1\nls\n", "b.yaml", "run: ls\n");
    sw_auto(sw_draft) struct sw_draft one = { 0 }, several = { 0 };

    (void)state;
    draft(files, &one);
    assert_string_equal(one.translated, "go.sbatch");
    draft(two, &several);
    assert_null(several.translated);
    assert_int_equal(json_array_size(several.remarks), 3);      /* both files, and that no script was found */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_a_directive_is_read),
        cmocka_unit_test(directives_without_a_counterpart_are_named_with_their_line),
        cmocka_unit_test(srun_goes_and_its_options_become_keys),
        cmocka_unit_test(credentials_are_never_copied),
        cmocka_unit_test(values_that_another_tool_fills_in_are_left_out),
        cmocka_unit_test(a_script_for_bash_is_handed_to_bash),
        cmocka_unit_test(the_forms_of_gpus_are_read),
        cmocka_unit_test(a_file_of_no_tool_is_refused_with_the_way_out),
        cmocka_unit_test(a_folder_with_a_training_script_runs_it),
        cmocka_unit_test(a_folder_with_one_file_of_another_tool_is_that_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
