/* SPDX-License-Identifier: Apache-2.0 */
/* test_skill.c - one model of a skill bank: its names, its actions, what they mean for a job. */
#include "fixture.h"

#include "spec/skill.h"

static const char info_text[] =
    "network_arch: dino\n"
    "name: tao-train-dino\n"
    "aliases: [DETR with noise]\n"
    "huggingface_model_ids: [org/Dino-Large]\n"
    "container_image: tao_toolkit.pyt\n"
    "required_credentials: [HF_TOKEN]\n"
    "actions:\n"
    "  train:\n"
    "    command: dino train -e {config_path}\n"
    "    config_format: yaml\n"
    "    mode: config\n"
    "    inputs:\n"
    "      data.train[0].images: {type: file, container_path: /data, metric: 3}\n"
    "      data.val.images: {type: folder}\n"
    "      model.start: {type: file, optional: true}\n"
    "    outputs: {results_dir: {type: folder}, export.file: {type: file}}\n"
    "    upload_excludes: [inputs/]\n"
    "  tool:\n"
    "    command: tool\n"
    "    mode: args\n"
    "    container_image: registry.example.org/tool:1\n"
    "    inputs: [images]\n"
    "    outputs: {out: }\n"
    "  shell: {command: sh run.sh, mode: passthrough, outputs: [/results]}\n";

static json_t *read_yaml(const char *text)
{
    sw_auto(sw_document) struct sw_document *document =
        sw_document_parse(text, strlen(text), SW_YAML, "test.yaml", NULL);

    assert_non_null(document);
    return json_incref(sw_document_value(document));
}

static void a_model_is_found_by_each_of_its_names(void **state)
{
    static const char *const names[] = { "tao-train-dino", "dino", "DINO", "detr WITH noise",
                                         "org/dino-large",
                                         "the-folder" };
    sw_auto(json) json_t *info = read_yaml(info_text);

    (void)state;
    for (size_t i = 0; i < SW_COUNT(names); i++)
        assert_true(sw_skill_is(info, "the-folder", names[i]));
    assert_false(sw_skill_is(info, "the-folder", "din"));
    assert_false(sw_skill_is(info, "the-folder", ""));
}

static void the_image_of_an_action_counts_before_that_of_the_model(void **state)
{
    sw_auto(json) json_t *info = read_yaml(info_text);
    sw_auto(json) json_t *train = sw_skill_action(info, "train", NULL);
    sw_auto(json) json_t *tool = sw_skill_action(info, "tool", NULL);

    (void)state;
    assert_string_equal(sw_json_str(train, "image"), "tao_toolkit.pyt");
    assert_string_equal(sw_json_str(tool, "image"), "registry.example.org/tool:1");
}

/* The metadata of an action, the job's own part, and the keys that follow. */
static const struct { const char *action, *values, *job, *missing; } jobs[] = {
    { "train", "config: {data: {train: [{images: s3://b/t/}]}}",
      "{\"command\":\"dino train -e {config_path}\",\"config_format\":\"yaml\","
      "\"config_inputs\":{\"data.train[0].images\":{\"container_path\":\"/data\"}},"
      "\"config_outputs\":{\"results_dir\":{\"type\":\"folder\",\"exclude\":[\"inputs/\"]},"
      "\"export.file\":{\"type\":\"file\",\"exclude\":[\"inputs/\"]}}}", "[\"data.val.images\"]" },
    { "train", "{}",
      "{\"command\":\"dino train -e {config_path}\",\"config_format\":\"yaml\",\"config\":{},"
      "\"config_inputs\":{},"
      "\"config_outputs\":{\"results_dir\":{\"type\":\"folder\",\"exclude\":[\"inputs/\"]},"
      "\"export.file\":{\"type\":\"file\",\"exclude\":[\"inputs/\"]}}}",
      "[\"data.train[0].images\",\"data.val.images\"]" },
    { "tool", "args: {images: s3://b/i/}",
      "{\"command\":\"tool\",\"config_inputs\":{\"images\":{}},\"config_outputs\":{\"out\":{}}}", "[]" },
    { "shell", "{}", "{\"command\":\"sh run.sh\",\"outputs\":{\"/results\":{}}}", "[]" },
};

static void an_action_becomes_keys_of_a_job_file(void **state)
{
    sw_auto(json) json_t *info = read_yaml(info_text);

    (void)state;
    for (size_t i = 0; i < SW_COUNT(jobs); i++) {
        sw_auto(json) json_t *values = read_yaml(jobs[i].values), *missing = json_array();
        sw_auto(json) json_t *action = sw_skill_action(info, jobs[i].action, NULL);
        sw_auto(json) json_t *job = sw_skill_job(action, values, missing);

        expect_json(job, jobs[i].job);
        expect_json(missing, jobs[i].missing);
    }
}

static const struct { const char *info, *message; } faults[] = {
    { "actions: {a: {command: x}}", "it has no action 'train', but: a" },
    { "actions: [train]", "it has no action 'train', but: none" },
    { "actions: {train: {}}", "it has no command" },
    { "actions: {train: {command: 3}}", "command, mode, config_format and image are not all strings" },
    { "container_image: [a]\nactions: {train: {command: x}}",
      "command, mode, config_format and image are not all strings" },
    { "actions: {train: {command: x, mode: other}}", "'mode' is not config, args or passthrough" },
    { "actions: {train: {command: x, config_format: xml}}", "'config_format' is not yaml, json or toml" },
    { "actions: {train: {command: x, inputs: 3}}", "'inputs' is not a mapping of places" },
    { "actions: {train: {command: x, outputs: {a: 3}}}", "'outputs' is not a mapping of places" },
    { "actions: {train: {command: x, upload_excludes: [3]}}", "'upload_excludes' is not a list of strings" },
    { "required_credentials: A\nactions: {train: {command: x}}",
      "'required_credentials' is not a list of strings" },
};

static void an_action_that_makes_no_sense_is_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(faults); i++) {
        sw_auto(json) json_t *info = read_yaml(faults[i].info);
        struct sw_error err = { 0 };

        assert_null(sw_skill_action(info, "train", &err));
        assert_string_equal(err.message, faults[i].message);
        assert_int_equal(err.code, SW_E_SPEC);
    }
}

static void a_dotted_word_is_a_key_and_a_reference_is_none(void **state)
{
    (void)state;
    assert_true(sw_versions_is_key("tao_toolkit.pyt"));
    assert_true(sw_versions_is_key("pyt"));
    assert_false(sw_versions_is_key("nvcr.io/x:1"));
    assert_false(sw_versions_is_key("ubuntu:24.04"));
    assert_false(sw_versions_is_key(""));
    assert_false(sw_versions_is_key("a..b"));
    assert_false(sw_versions_is_key(".a"));
}

static void a_key_of_versions_leads_to_an_image(void **state)
{
    sw_auto(json) json_t *versions = read_yaml("images: {tao: {pyt: r/i:1, list: []}}\nwheels: {a: b}\n");
    struct sw_error err = { 0 };

    (void)state;
    assert_string_equal(sw_versions_image(versions, "tao.pyt", NULL), "r/i:1");
    assert_null(sw_versions_image(versions, "tao.tf", &err));
    assert_int_equal(err.code, SW_E_NOT_FOUND);
    err = (struct sw_error){ 0 };
    assert_null(sw_versions_image(versions, "tao.list", &err));
    assert_int_equal(err.code, SW_E_SPEC);
    assert_null(sw_versions_image(versions, "tao", NULL));
    assert_null(sw_versions_image(versions, "tao.pyt.more", NULL));
}

static void a_schema_may_have_pythons_numbers(void **state)
{
    char good[] = "{\"least\": -Infinity, \"most\": Infinity, \"text\": \"Infinity \\\" NaN\", \"n\": [NaN]}";
    char list[] = "[1]", cut[] = "{\"a\": Infi";

    (void)state;
    assert_int_equal(sw_skill_schema(good, strlen(good), NULL), 0);
    assert_non_null(strstr(good, "\"Infinity \\\" NaN\""));
    assert_int_equal(sw_skill_schema(list, strlen(list), NULL), -1);
    assert_int_equal(sw_skill_schema(cut, strlen(cut), NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_found_by_each_of_its_names),
        cmocka_unit_test(the_image_of_an_action_counts_before_that_of_the_model),
        cmocka_unit_test(an_action_becomes_keys_of_a_job_file),
        cmocka_unit_test(an_action_that_makes_no_sense_is_refused_by_name),
        cmocka_unit_test(a_dotted_word_is_a_key_and_a_reference_is_none),
        cmocka_unit_test(a_key_of_versions_leads_to_an_image),
        cmocka_unit_test(a_schema_may_have_pythons_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
