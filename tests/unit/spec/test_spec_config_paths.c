/* SPDX-License-Identifier: Apache-2.0 */
/* test_spec_config_paths.c - inputs and outputs that name places of the config, and what is wrong there. */
#include "fixture.h"

static void places_and_their_short_forms_are_taken(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){ .job =
        "command: x\n"
        "config: {data: {ann: s3://b/a.json, images: [s3://b/i/, s3://b/j/]}}\n"
        "config_inputs:\n"
        "  data.ann:\n"
        "  data.images: {container_path: /i, selective: {annotation: data.ann, keys: f}}\n"
        "config_outputs: [train.results_dir]\n"
        "cache: /mnt/lustre\n"
        "code: {recipe: dino}\n" });

    (void)state;
    expect_json(json_object_get(spec->job, "config_inputs"),
                "{\"data.ann\":{},\"data.images\":{\"container_path\":\"/i\",\"selective\":"
                "{\"annotation\":\"data.ann\",\"keys\":[\"f\"]}}}");
    expect_json(json_object_get(spec->job, "config_outputs"),
                "{\"train.results_dir\":{\"type\":\"folder\"}}");
    expect_json(json_object_get(spec->job, "code"), "{\"recipe\":\"dino\",\"root\":\".\"}");
}

static void names_of_args_are_places_too(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){ .job =
        "command: x\n"
        "args: {data: s3://b/d/, epochs: 3, amp: true, sizes: [1, 2]}\n"
        "flags: [verbose, --fast]\n"
        "config_inputs: {data: /data}\n"
        "config_outputs: {output-dir: folder, log: file}\n",
        .flags = { "args.epochs", "5" } });

    (void)state;
    sw_spec_free(must_resolve(&(struct given){ .job =
        "command: x\nconfig_format: toml\nconfig: {r: null, s: {t: null}}\nconfig_outputs: [r, s.t]\n" }));
    expect_json(json_object_get(spec->job, "args"),
                "{\"epochs\":5,\"data\":\"s3://b/d/\",\"amp\":true,\"sizes\":[1,2]}");
    expect_json(json_object_get(spec->job, "config_inputs"),
                "{\"data\":{\"container_path\":\"/data\"}}");
}

static void an_input_may_follow_another_inputs_annotation(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){ .job =
        "command: x\n"
        "inputs:\n"
        "  /a.json: s3://b/a.json\n"
        "  /i: {from: s3://b/i/, extract: false, selective: {annotation: /a.json, keys: [f]}}\n" });

    (void)state;
    assert_non_null(json_object_get(spec->job, "inputs"));
}

static const struct {
    const char *job, *why;
} wrong[] = {
    { "command: x\nconfig: {data: {train: a}}\nconfig_inputs: {data.trian: /d}\n",
      "job.yaml:3:17: config_inputs: 'data.trian' is not a place of config (did you mean "
      "'data.train'?)" },
    { "command: x\nargs: {data: a}\nconfig_inputs:\n  dota: {}\n",
      "job.yaml:4:3: config_inputs: 'dota' is not one of the args (did you mean 'data'?)" },
    { "command: x\nconfig: {a: 1}\nargs: {b: 1}\n",
      "job.yaml:3:8: args: use 'config' or 'args', not both" },
    { "command: x\nconfig_inputs: [a]\n",
      "job.yaml:2:17: config_inputs and config_outputs name places of 'config' or 'args', and the "
      "job has neither" },
    { "command: x\nargs: {a: {b: 1}}\n",
      "job.yaml:2:12: args: 'a' is a mapping: an option takes one value or a list" },
    { "command: x\nargs: {a: }\n",
      "job.yaml:2:8: args: 'a' has no value (put an option without one in 'flags')" },
    { "command: x\nargs: [a]\n", "job.yaml:2:1: args: expected a mapping of options, each becomes --NAME "
                                 "VALUE" },
    { "command: x\nconfig: {a: s3://b/a, i: s3://b/i/}\nconfig_inputs:\n"
      "  i: {selective: {annotation: a, keys: [f]}}\n  a: {}\n",
      "job.yaml:4:19: config_inputs: 'i' selects by an annotation that has to be declared before it" },
    { "command: x\nconfig: {a: s3://b/a}\nconfig_inputs:\n"
      "  a: {selective: {annotation: an, keys: [f]}}\n",
      "job.yaml:4:19: config_inputs: 'a' follows the annotation 'an', which is not a place of config "
      "(did you mean 'a'?)" },
    { "command: x\nconfig: {a: s3://b/a}\nconfig_inputs:\n  a: {selective: {annotation: a}}\n",
      "config_inputs.a.selective: 'keys' is required" },
    { "command: x\nconfig: {a: s3://b/a}\nconfig_inputs:\n  a: {container_paths: /x}\n",
      "(did you mean 'container_path'?)" },
    { "command: x\nconfig: {a: 1}\nconfig_outputs: {a: dir}\n",
      "'dir' is not one of folder, file" },
    { "command: x\nconfig: {a: 1}\nconfig_inputs: [a]\nconfig_outputs: [a]\n",
      "job.yaml:4:18: config_outputs: 'a' is one of the config_inputs, too" },
    { "command: x\nconfig: {a: 1}\nconfig_outputs: [a..b]\n", "is not a place such as" },
    { "command: x\ninputs: {/i: {from: s3://b/i/, selective: {annotation: /no, keys: [f]}}}\n",
      "inputs: '/i' selects by an annotation that has to be an input declared before it" },
    { "command: x\nconfig_format: toml\nconfig: {a: {b: null, c: [1, null], d: 1}}\n",
      "job.yaml:3:14: config.a.b: has no value, which TOML cannot express (config_format: yaml and json "
      "can)\n"
      "job.yaml:3:23: config.a.c[1]: has no value" },
    { "command: x\ncache: lustre\n", "job.yaml:2:1: cache: 'lustre' is not an absolute path without '..'" },
    { "command: x\ncode: {recipe: a/b}\n", "'a/b' is not the name of a folder below recipes/" },
    { "command: x\nflags: [a=b]\n", "job.yaml:2:9: flags: 'a=b' is not the name of an option" },
};

static void a_slip_of_the_pen_is_reported_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(wrong); i++) {
        const char *said = must_fail(&(struct given){ .job = wrong[i].job });

        if (!strstr(said, wrong[i].why))
            fail_msg("wanted: %s\nsaid:   %s", wrong[i].why, said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_and_their_short_forms_are_taken),
        cmocka_unit_test(names_of_args_are_places_too),
        cmocka_unit_test(an_input_may_follow_another_inputs_annotation),
        cmocka_unit_test(a_slip_of_the_pen_is_reported_with_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
