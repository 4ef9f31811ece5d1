/* SPDX-License-Identifier: Apache-2.0 */
/* test_bank.c - a skill bank on disk, versions.yaml, and a job that names a model. */
#include "fixture.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "spec/bank.h"

struct here {
    char folder[64];
    char bank[128], versions[128];         /* "NAME=value" of the environment */
    const char *environment[3];
};

static void put(const struct here *here, const char *name, const char *text)
{
    sw_autofree char *path = sw_path_join(here->folder, name), *folder = sw_strdup(path);

    *strrchr(folder, '/') = '\0';
    assert_int_equal(sw_mkdirs(folder, 0700, NULL), 0);
    assert_int_equal(sw_file_write(path, text, strlen(text), 0600, NULL), 0);
}

#define INFO(name) "bank/skills/models/" name "/references/skill_info.yaml"

static int set_up(void **state)
{
    struct here *here = calloc(1, sizeof *here);

    strcpy(here->folder, "/tmp/slipway-bank-XXXXXX");
    if (!mkdtemp(here->folder))
        return -1;
    put(here, INFO("tao-train-dino"),
        "network_arch: dino\nautoml_enabled: true\ncontainer_image: tao.pyt\nrequired_credentials: "
        "[HF_TOKEN]\n"
        "actions: {train: {command: 'dino train -e {config_path}', config_format: yaml, mode: config,\n"
        "  inputs: {data.images: {type: file}}, outputs: {results_dir: {type: folder}}}}\n");
    put(here, "bank/skills/models/tao-train-dino/schemas/train.schema.json", "{\"most\": Infinity}");
    put(here, INFO("tao-train-other"), "network_arch: other\nautoml_enabled: true\nactions: {}\n");
    put(here, INFO("broken"), "a: [\n");
    put(here, INFO("twin-a"),
        "network_arch: twin\nactions: {train: {command: x, container_image: 'r/a:1'}}\n");
    put(here, INFO("twin-b"),
        "network_arch: twin\nactions: {train: {command: x}}\nbackend_contracts: {one: {}, two: {}}\n");
    put(here, "bank/skills/models/no-model/README.md", "nothing");
    put(here, "bank/versions.yaml", "images: {tao: {pyt: 'registry.example.org/tao:1-pyt'}}\n");
    put(here, "mine.yaml", "images: {tao: {pyt: 'registry.example.org/tao:mine'}}\n");
    snprintf(here->bank, sizeof here->bank, "TAO_SKILL_BANK_PATH=%s/bank", here->folder);
    snprintf(here->versions, sizeof here->versions, "TAO_VERSIONS_FILE=%s/mine.yaml", here->folder);
    here->environment[0] = here->bank;
    setenv("HOME", here->folder, 1);
    *state = here;
    return chdir(here->folder);
}

static int tear_down(void **state)
{
    struct here *here = *state;

    if (chdir("/") < 0)
        return -1;
    sw_remove_tree(here->folder, NULL);
    free(here);
    return 0;
}

static struct sw_bank *open_bank(const struct here *here)
{
    struct sw_bank *bank;

    test_environment = here->environment;
    bank = sw_bank_open(test_getenv, NULL, true, NULL);
    assert_non_null(bank);
    return bank;
}

static void models_are_listed_and_a_broken_one_says_why(void **state)
{
    sw_auto(sw_bank) struct sw_bank *bank = open_bank(*state);
    sw_auto(json) json_t *rows = sw_bank_models(bank, NULL);

    assert_int_equal(json_array_size(rows), 5);
    assert_string_equal(sw_json_str(json_array_get(rows, 0), "name"), "broken");
    assert_non_null(sw_json_str(json_array_get(rows, 0), "problem"));
    expect_json(json_array_get(rows, 1), "{\"name\":\"tao-train-dino\",\"network_arch\":\"dino\","
                                         "\"actions\":[\"train\"],\"automl\":true}");
    expect_json(json_array_get(rows, 2),
                "{\"name\":\"tao-train-other\",\"network_arch\":\"other\",\"actions\":[],"
                                         "\"automl\":false,\"reason\":\"schemas/train.schema.json is not "
                                         "there\"}");
}

static const char *image_of(const struct here *here, json_t **found)
{
    sw_auto(sw_bank) struct sw_bank *bank = open_bank(here);

    *found = sw_bank_action(bank, "dino", "train", NULL);
    assert_non_null(*found);
    return sw_json_str(*found, "image");
}

static void the_first_versions_file_that_exists_decides(void **state)
{
    struct here *here = *state;
    sw_auto(json) json_t *of_bank = NULL, *of_folder = NULL, *of_variable = NULL;

    assert_string_equal(image_of(here, &of_bank), "registry.example.org/tao:1-pyt");
    put(here, "versions.yaml", "images: {tao: {pyt: 'registry.example.org/tao:here'}}\n");
    assert_string_equal(image_of(here, &of_folder), "registry.example.org/tao:here");
    here->environment[1] = here->versions;
    assert_string_equal(image_of(here, &of_variable), "registry.example.org/tao:mine");
}

static void what_the_bank_lacks_is_named(void **state)
{
    sw_auto(sw_bank) struct sw_bank *bank = open_bank(*state);
    static const struct { const char *model, *part; } missing[] = {
        { "tao-train-dinu", "did you mean 'tao-train-dino'?" },
        { "twin", "fits several models: twin-a and twin-b" },
        { "broken", "skill_info.yaml:" },
        { "../models/tao-train-dino", "has no model" },
    };

    for (size_t i = 0; i < SW_COUNT(missing); i++) {
        struct sw_error err = { 0 };

        assert_null(sw_bank_action(bank, missing[i].model, "train", &err));
        if (!strstr(err.message, missing[i].part))
            fail_msg("'%s' lacks '%s'", err.message, missing[i].part);
    }
}

static const char *source(const struct sw_spec *spec, const char *key)
{
    const char *found = sw_json_str(spec->sources, key);

    assert_non_null(found);
    return found;
}

static void a_job_with_a_model_takes_what_it_does_not_say_itself(void **state)
{
    struct here *here = *state;
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "model: dino\naction: train\nconfig: {data: {images: s3://b/x/}}\n",
        .environment = here->environment });
    sw_auto(sw_spec) struct sw_spec *own = must_resolve(&(struct given){
        .job = "model: dino\naction: train\nimage: mine:1\ncommand: mine\nsecrets: [HF_TOKEN]\n"
               "config: {data: {images: x}}\n", .environment = here->environment });

    assert_string_equal(sw_json_str(spec->job, "image"), "registry.example.org/tao:1-pyt");
    assert_string_equal(sw_json_str(spec->job, "command"), "dino train -e {config_path}");
    expect_json(json_object_get(spec->job, "config_inputs"), "{\"data.images\":{}}");
    expect_json(json_object_get(spec->job, "config_outputs"), "{\"results_dir\":{\"type\":\"folder\"}}");
    assert_non_null(strstr(source(spec, "image"), "versions.yaml images.tao.pyt"));
    assert_non_null(strstr(source(spec, "command"), "model dino train, "));
    assert_string_equal(source(spec, "model"), "job.yaml:1:1");
    expect_json(spec->warnings, "[\"model tao-train-dino usually needs HF_TOKEN: name it under `secrets`\"]");
    assert_string_equal(sw_json_str(own->job, "image"), "mine:1");
    assert_string_equal(sw_json_str(own->job, "command"), "mine");
    assert_int_equal(json_array_size(own->warnings), 0);
}

static void a_model_that_cannot_be_used_is_a_mistake_at_its_place(void **state)
{
    struct here *here = *state;
    static const struct { const char *job, *part; } mistakes[] = {
        { "model: dino\n", "job.yaml:1:1: 'model' needs 'action', too" },
        { "action: train\n", "job.yaml:1:1: 'action' needs 'model', too" },
        { "model: dino\naction: fly\n", "it has no action 'fly', but: train" },
        { "model: twin-b\naction: train\n", "(it has several backends: one, two): give `image`" },
        { "model: none\naction: train\n", "has no model 'none'" },
    };

    for (size_t i = 0; i < SW_COUNT(mistakes); i++) {
        const char *message = must_fail(&(struct given){ .job = mistakes[i].job,
                                                         .environment = here->environment });

        if (!strstr(message, mistakes[i].part))
            fail_msg("'%s' lacks '%s'", message, mistakes[i].part);
    }
    assert_non_null(strstr(must_fail(&(struct given){ .job = "model: dino\naction: train\n" }),
                           "there is no skill bank"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(models_are_listed_and_a_broken_one_says_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_first_versions_file_that_exists_decides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_the_bank_lacks_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_job_with_a_model_takes_what_it_does_not_say_itself, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_model_that_cannot_be_used_is_a_mistake_at_its_place, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
