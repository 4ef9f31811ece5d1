/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_local_paths.c - container paths become places in the job's folder: whole names only,
 * longest first, quoted where the shell needs it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "core/command.h"
#include "platform/local/local_internal.h"

static struct sw_paths *some_paths(const char *results)
{
    sw_auto(json) json_t *inputs = json_pack("[{s:s}, {s:s}, {s:s}, {s:s}]", "path",
                                             "/data/train.json", "path", "/data", "path",
                                             "lists/a.txt", "path", "../../up.txt");
    sw_auto(json) json_t *outputs = json_pack("[{s:s}, {s:s}, {s:s}, {s:s}, {s:s}]", "path",
                                              "/results/", "path", "/results/ckpt", "path",
                                              "/out/model", "path", "/other/model", "path",
                                              "train");

    return sw_paths_new(inputs, outputs, "/j/work", results);
}

static const struct row {
    const char *in, *out;
} values[] = {
    { "/data/train.json", "/j/work/inputs/data/train.json" },
    { "/data", "/j/work/inputs/data" },
    { "/data/val/x", "/j/work/inputs/data/val/x" },
    { "/database", "/database" },
    { "see /data", "see /data" },
    { "/results", "/j/res" },
    { "/results/run/1", "/j/res/run/1" },
    { "/results/ckpt/last", "/j/res/ckpt/last" },
    { "/results2", "/results2" },
    { "/out/model", "/j/res/model" },
    { "/other/model/x", "/j/res/other_model/x" },
    { "/out", "/out" },
    { "lists/a.txt", "/j/work/lists/a.txt" },
    { "../../up.txt", "/j/work/up.txt" },
    { "train", "/j/res/train" },
    { "trainer", "trainer" },
    { "", "" },
};

static void a_value_is_rewritten_when_it_is_a_declared_path(void **state)
{
    sw_auto(sw_paths) struct sw_paths *paths = some_paths("/j/res");

    (void)state;
    for (size_t i = 0; i < SW_COUNT(values); i++) {
        sw_autofree char *got = sw_paths_value(paths, values[i].in);

        assert_string_equal(got, values[i].out);
    }
}

static const struct row commands[] = {
    { "cat /data/train.json", "cat /j/work/inputs/data/train.json" },
    { "cat /data/train.json2", "cat /j/work/inputs/data/train.json2" },
    { "cat /database/x", "cat /database/x" },
    { "cat x/data", "cat x/data" },
    { "a=/data b:/data,/data", "a=/j/work/inputs/data b:/j/work/inputs/data,/j/work/inputs/data" },
    { "x >/results/log 2>&1", "x >/j/res/log 2>&1" },
    { "(cd /results;ls)|wc", "(cd /j/res;ls)|wc" },
    { "echo '/results' \"/results/x\"", "echo '/j/res' \"/j/res/x\"" },
    { "--out=/out/model&", "--out=/j/res/model&" },
    { "dino train -e x", "dino train -e x" },
    { "dino train --out train", "dino train --out /j/res/train" },
    { "x --out=train -d train/a ./train", "x --out=/j/res/train -d /j/res/train/a /j/res/train" },
    { "x > train", "x > train" },
    { "x >train", "x >/j/res/train" },
    { "cat lists/a.txt ./lists/a.txt", "cat /j/work/lists/a.txt /j/work/lists/a.txt" },
    { "echo \\\"/results\\\"", "echo \\\"/j/res\\\"" },
    { "", "" },
};

static void a_command_is_rewritten_at_word_boundaries(void **state)
{
    sw_auto(sw_paths) struct sw_paths *paths = some_paths("/j/res");

    (void)state;
    for (size_t i = 0; i < SW_COUNT(commands); i++) {
        sw_autofree char *got = sw_paths_command(paths, commands[i].in);

        assert_string_equal(got, commands[i].out);
    }
}

static const struct row odd_places[] = {
    { "ls /results", "ls /j/my\\ \\$res" },
    { "ls \"/results/x\"", "ls \"/j/my \\$res/x\"" },
    { "ls '/results'", "ls '/j/my $res'" },
};

static void a_place_with_odd_characters_is_quoted_as_its_surroundings_need(void **state)
{
    sw_auto(sw_paths) struct sw_paths *paths = some_paths("/j/my $res");

    (void)state;
    for (size_t i = 0; i < SW_COUNT(odd_places); i++) {
        sw_autofree char *got = sw_paths_command(paths, odd_places[i].in);

        assert_string_equal(got, odd_places[i].out);
    }
    sw_autofree char *word = sw_paths_word(paths, "--out=/results/a");

    assert_string_equal(word, "--out=/j/my $res/a");
}

static void a_config_is_rewritten_to_its_depths_and_numbers_stay(void **state)
{
    sw_auto(sw_paths) struct sw_paths *paths = some_paths("/j/res");
    sw_auto(json) json_t *config = json_pack("{s:[{s:s}, i, b, n], s:s}", "a", "b", "/data/x", 7, 1,
                                             "/results", "/results");
    sw_auto(json) json_t *got = sw_paths_document(paths, config);
    sw_autofree char *text = sw_json_dump(got);

    (void)state;
    assert_string_equal(text, "{\"a\":[{\"b\":\"/j/work/inputs/data/x\"},7,true,null],"
                              "\"/results\":\"/j/res\"}");
}

static const struct torch_row {
    const char *in, *out;
} torch_rows[] = {
    { "python train.py --lr 1", " train.py --lr 1" },
    { "/usr/bin/python3.11 train.py", " train.py" },
    { "python -m pkg.train x", " -m pkg.train x" },
    { "python -u train.py", " --no-python python -u train.py" },
    { "train.py x", " train.py x" },
    { "bash run.sh", NULL },
    { "pythonic x", NULL },
};

static void torchrun_stands_before_python_commands_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(torch_rows); i++) {
        sw_autofree char *got = sw_command_torchrun(torch_rows[i].in, 2, 4);
        sw_autofree char *want =
            !torch_rows[i].out ? NULL
                               : sw_format("torchrun --nnodes 2 --nproc-per-node 4"
                                           " --node-rank \"$NODE_RANK\""
                                           " --master-addr \"$MASTER_ADDR\""
                                           " --master-port \"$MASTER_PORT\"%s",
                                           torch_rows[i].out);

        if (!want)
            assert_null(got);
        else
            assert_string_equal(got, want);
    }
}

static const struct {
    const char *name;
    bool is;
} names[] = {
    { "HF_TOKEN", true }, { "NGC_KEY", true }, { "AWS_SECRET_ACCESS_KEY", true },
    { "DB_PASSWORD", true }, { "X_API_KEY", true }, { "PATH", false }, { "TOKENIZERS_PARALLELISM", false },
    { "_TOKEN", false }, { "CONDA_PREFIX", false }, { "SECRET_KEY", true },
};

static void credentials_are_known_by_name_and_ending(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(names); i++)
        assert_int_equal(local_env_is_credential(names[i].name),
                         names[i].is);
}

static void file_uris_are_paths_and_others_are_named(void **state)
{
    struct sw_error err = { 0 };
    sw_autofree char *plain = local_source_path("a/b", "/base", NULL);
    sw_autofree char *uri = local_source_path("file:///x/y", "/base", NULL);

    (void)state;
    assert_string_equal(plain, "/base/a/b");
    assert_string_equal(uri, "/x/y");
    assert_null(local_source_path("file://host/x", "/base", NULL));
    assert_null(local_source_path("hf_model://org/name", "/base", &err));
    assert_int_equal(err.code, SW_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "hf_model://"));
}

/* What of a job file counts as naming /results, and what the command then means by it. */
static const struct named_row {
    const char *keys, *command, *means;
    bool missed;                  /* the command alone names it */
} named[] = {
    { "{}", "ls /results", "ls /results", true },
    { "{}", "ls /results2 x/results", "ls /results2 x/results", false },
    { "{}", "ls {results_dir}", "ls {results_dir}", false },
    { "{\"outputs\": [{\"path\": \"/results/a\"}]}", "ls /results/b", "ls /j/res/b", false },
    { "{\"inputs\": [{\"path\": \"/results/a\", \"from\": \"x\"}]}", "ls /results/a", "ls /j/res/a",
      false },
    { "{\"checkpoint\": {\"dir\": \"/results/c\"}}", "ls /results", "ls /j/res", false },
    { "{\"config\": {\"a\": [{\"b\": \"/results\"}]}}", "ls /results", "ls /j/res", false },
    { "{\"env\": {\"OUT\": \"/results/x\"}}", "ls /results", "ls /j/res", false },
    { "{\"env\": {\"OUT\": \"see /results\"}}", "ls /results", "ls /results", true },
    { "{\"config_inputs\": [{\"key\": \"k\", \"container_path\": \"/results/i\"}]}", "ls /results",
      "ls /j/res", false },
};

static void results_are_mapped_when_the_job_file_names_them_and_missed_when_only_the_command_does(
    void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(named); i++) {
        sw_auto(json) json_t *keys = json_loads(named[i].keys, 0, NULL);
        const struct sw_plan plan = {
            .command = (char *)named[i].command, .inputs = json_object_get(keys, "inputs"),
            .outputs = json_object_get(keys, "outputs"), .config = json_object_get(keys, "config"),
            .env = json_object_get(keys, "env"), .checkpoint = json_object_get(keys, "checkpoint"),
            .config_inputs = json_object_get(keys, "config_inputs") };
        sw_auto(sw_paths) struct sw_paths *paths = sw_paths_of_plan(&plan, "/j/work", "/j/res");
        sw_autofree char *means = sw_paths_command(paths, plan.command);

        assert_string_equal(means, named[i].means);
        assert_int_equal(sw_paths_misses_results(&plan), named[i].missed);
    }
}

static void results_in_a_word_of_the_command_are_missed_too(void **state)
{
    sw_auto(json) json_t *argv = json_pack("[s, s, s]", "sh", "-c", "echo x >/results/foo");
    const struct sw_plan plan = { .argv = argv };

    (void)state;
    assert_true(sw_paths_misses_results(&plan));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_rewritten_when_it_is_a_declared_path),
        cmocka_unit_test(a_command_is_rewritten_at_word_boundaries),
        cmocka_unit_test(
            results_are_mapped_when_the_job_file_names_them_and_missed_when_only_the_command_does),
        cmocka_unit_test(results_in_a_word_of_the_command_are_missed_too),
        cmocka_unit_test(a_place_with_odd_characters_is_quoted_as_its_surroundings_need),
        cmocka_unit_test(a_config_is_rewritten_to_its_depths_and_numbers_stay),
        cmocka_unit_test(torchrun_stands_before_python_commands_only),
        cmocka_unit_test(credentials_are_known_by_name_and_ending),
        cmocka_unit_test(file_uris_are_paths_and_others_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
