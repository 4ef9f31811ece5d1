/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_prepare.c - inputs and outputs by their places in config and arguments, without a network:
 * file:// is as remote as any other URI to the rules.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "core/keypath.h"
#include "runner/runner.h"

struct place {
    char folder[64];
    struct runner *runner;
    struct sw_payload *payload;       /* the runner's, once there is one */
};

static int place_open(void **state)
{
    struct place *here = sw_new(struct place);

    snprintf(here->folder, sizeof here->folder, "/tmp/slipway-prepare-XXXXXX");
    if (!mkdtemp(here->folder))
        return -1;
    here->payload = sw_payload_new();
    strcpy(here->payload->job_id, "job-1");
    here->payload->command = sw_strdup("train -e {config_path} -o {results_dir} '{x}'");
    here->payload->scratch_dir = sw_path_join(here->folder, "w");
    unsetenv("TAO_AUTO_RESUME");
    unsetenv("TAO_RESULTS_ROOT");
    setenv("S3_BUCKET_NAME", "my-bucket", 1);
    *state = here;
    return 0;
}

static int place_close(void **state)
{
    struct place *here = *state;

    if (here->runner)
        runner_free(here->runner);
    else
        sw_payload_free(here->payload);
    sw_remove_tree(here->folder, NULL);
    free(here);
    return 0;
}

static struct runner *prepared(struct place *here)
{
    struct sw_error err = { 0 };

    here->runner = runner_new(here->payload);
    if (runner_prepare(here->runner, &err) < 0)
        fail_msg("%s", err.message);
    return here->runner;
}

static void make(const struct place *here, const char *name, const char *text)
{
    sw_autofree char *path = sw_path_join(here->folder, name);
    sw_autofree char *folder = runner_folder_of(path);

    assert_int_equal(sw_mkdirs(folder, 0755, NULL), 0);
    assert_int_equal(sw_file_write(path, text, strlen(text), 0644, NULL), 0);
}

static char *uri(const struct place *here, const char *name)
{
    return sw_format("file://%s/%s", here->folder, name);
}

static void expect_at(const struct runner *runner, const char *key, const char *fmt, ...)
    SW_PRINTF(3, 4);
static void expect_at(const struct runner *runner, const char *key, const char *fmt, ...)
{
    const json_t *value = sw_keypath_get(runner->config, key);
    char wanted[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(wanted, sizeof wanted, fmt, args);
    va_end(args);
    assert_true(json_is_string(value));
    assert_string_equal(json_string_value(value), wanted);
}

static void outputs_become_folders_with_destinations(void **state)
{
    struct place *here = *state;
    struct runner *runner;
    const json_t *first;

    here->payload->config = json_pack("{s:{s:s, s:s, s:s}}", "train", "output_dir", "out",
                                      "fixed", "/tmp", "there", "s3://b/x/");
    here->payload->config_outputs = json_pack("[{s:s}, {s:s}, {s:s}]", "key", "train.output_dir",
                                              "key", "train.fixed", "key", "train.there");
    runner = prepared(here);
    expect_at(runner, "train.output_dir", "%s/w/train_output_dir", here->folder);
    first = json_array_get(runner->outputs, 0);
    assert_string_equal(sw_json_str(first, "to"),                       /* vector 4 */
                        "s3://my-bucket/results/job-1/train_output_dir");
    expect_at(runner, "train.fixed", "/tmp");
    assert_null(sw_json_str(json_array_get(runner->outputs, 1), "to"));
    assert_string_equal(sw_json_str(json_array_get(runner->outputs, 2), "to"), "s3://b/x/");
}

static void on_a_mount_nothing_is_uploaded(void **state)
{
    struct place *here = *state;
    struct runner *runner;

    setenv("TAO_RESULTS_ROOT", here->folder, 1);
    here->payload->config = json_pack("{s:{s:n}}", "train", "output_dir");
    here->payload->config_outputs = json_pack("[{s:s}]", "key", "train.output_dir");
    runner = prepared(here);
    expect_at(runner, "train.output_dir", "%s/job-1/train_output_dir", here->folder);
    assert_null(sw_json_str(json_array_get(runner->outputs, 0), "to"));  /* vector 5 */
}

static void arguments_become_options(void **state)
{
    struct place *here = *state;
    sw_autofree char *wanted = NULL;

    setenv("TAO_RESULTS_ROOT", here->folder, 1);
    here->payload->args = json_pack("{s:s}", "output-dir", "output");
    here->payload->config_outputs = json_pack("[{s:s}]", "key", "output-dir");
    here->payload->flags = json_pack("[s]", "fast");
    wanted = sw_format("train -e {config_path} -o {results_dir} '{x}' --output-dir "
                       "'%s/job-1/output_dir' --fast", here->folder);    /* vector 8 */
    assert_string_equal(prepared(here)->command, wanted);
}

static void inputs_are_staged_lists_and_archives_too(void **state)
{
    struct place *here = *state;
    sw_autofree char *a = NULL, *b = NULL, *line = NULL;
    struct runner *runner;

    make(here, "src/a.json", "[]");
    make(here, "src/data/f", "x");
    line = sw_format("cd %s/src && tar czf data.tar.gz data", here->folder);
    assert_int_equal(system(line), 0);
    a = uri(here, "src/a.json");
    b = uri(here, "src/data.tar.gz");
    here->payload->config = json_pack("{s:s, s:[s, s], s:s, s:s}", "one", a, "many", "plain", a,
                                      "archive", b, "other", a);
    here->payload->config_inputs = json_pack("[{s:s}, {s:s}, {s:s}]", "key", "one", "key", "many",
                                             "key", "archive");
    runner = prepared(here);
    expect_at(runner, "one", "%s/w/inputs/one/a.json", here->folder);
    expect_at(runner, "many[0]", "plain");
    expect_at(runner, "many[1]", "%s/w/inputs/many/1/a.json", here->folder);
    expect_at(runner, "archive", "%s/w/inputs/archive/data", here->folder);
    expect_at(runner, "other", "%s", a);                  /* not declared: left alone */
}

static void the_config_is_written_and_the_command_knows_where(void **state)
{
    struct place *here = *state;
    sw_autofree char *path = sw_path_join(here->folder, "w/spec.toml"), *text = NULL;
    sw_autofree char *command = sw_format("train -e %s -o %s/w '{x}'", path, here->folder);
    struct runner *runner;

    here->payload->config = json_pack("{s:i}", "epochs", 3);
    here->payload->config_format = SW_TOML;
    runner = prepared(here);
    text = sw_file_read(path, 1000, NULL, NULL);
    assert_string_equal(text, "epochs = 3\n");
    assert_string_equal(runner->command, command);
}

static void a_second_rank_reads_what_the_first_found_out(void **state)
{
    struct place *here = *state;
    struct runner *first = prepared(here), *second;
    sw_auto(json) json_t *payload_json = sw_payload_to_json(here->payload);
    struct sw_error err = { 0 };

    second = runner_new(sw_payload_from_json(payload_json, &err));
    assert_int_equal(runner_load_prepared(second, &err), 0);
    assert_string_equal(second->command, first->command);
    runner_free(second);
}

static void a_new_attempt_goes_on_from_its_checkpoint(void **state)
{
    struct place *here = *state;
    sw_autofree char *out = sw_path_join(here->folder, "out");

    make(here, "out/model_1.pth", "old");
    make(here, "out/model_2.pth", "PK\3\4cut off");
    here->payload->config = json_pack("{s:{s:s, s:n}, s:{s:s}}", "train", "dir", out,
                                      "resume_training_checkpoint_path", "b",
                                      "resume_training_checkpoint_path", "mine");
    here->payload->config_outputs = json_pack("[{s:s}]", "key", "train.dir");
    expect_at(prepared(here), "train.resume_training_checkpoint_path", "%s/model_1.pth", out);
    expect_at(here->runner, "b.resume_training_checkpoint_path", "mine");
}

static void annotations_choose_files(void **state)
{
    static const struct {
        const char *name, *text, *format, *chosen;
    } rows[] = {
        { "a.json", "[{\"video\":\"v/1.mp4\"},{\"video\":\"./v/2.mp4\",\"x\":1},"
                    "{\"video\":\"v/1.mp4\"}]", "json", "[\"v/1.mp4\",\"v/2.mp4\"]" },
        { "b.json", "{\"data\":{\"k\":{\"video\":[\"1\",\"2\"]}}}", NULL, "[\"1\",\"2\"]" },
        { "c.jsonl", "{\"image\":\"i\"}\n\n{\"video\":\"w\"}\n", "jsonl", "[\"i\",\"w\"]" },
        { "d.csv", "id,video,image\r\n1,\"a,b\"\"c\",x\r\n2,q,\r\n", "csv",
          "[\"a,b\\\"c\",\"x\",\"q\"]" },
    };
    struct place *here = *state;
    sw_auto(json) json_t *keys = json_pack("[s, s]", "video", "image");
    struct sw_error err = { 0 };

    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *path = sw_path_join(here->folder, rows[i].name), *text = NULL;
        sw_auto(json) json_t *names = NULL;

        make(here, rows[i].name, rows[i].text);
        names = runner_selected(path, rows[i].format, keys, &err);
        if (!names)
            fail_msg("%s: %s", rows[i].name, err.message);
        text = sw_json_dump(names);
        assert_string_equal(text, rows[i].chosen);
    }
    {
        sw_autofree char *path = sw_path_join(here->folder, "a.json");

        assert_null(runner_selected(path, "parquet", keys, &err));
        assert_int_equal(err.code, SW_E_UNSUPPORTED);
    }
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, place_open, place_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(outputs_become_folders_with_destinations),
        CLAIM(on_a_mount_nothing_is_uploaded),
        CLAIM(arguments_become_options),
        CLAIM(inputs_are_staged_lists_and_archives_too),
        CLAIM(the_config_is_written_and_the_command_knows_where),
        CLAIM(a_second_rank_reads_what_the_first_found_out),
        CLAIM(a_new_attempt_goes_on_from_its_checkpoint),
        CLAIM(annotations_choose_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
