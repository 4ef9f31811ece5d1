/* SPDX-License-Identifier: Apache-2.0 */
/* test_spec_resolve.c - which level wins, and that every value knows where it came from. */
#include "fixture.h"

static const char *const partition_in_environment[] = { "SLURM_PARTITION=env", NULL };

/* One row: what each level says about slurm.partition, and what comes out. */
static const struct {
    struct given given;
    const char *value, *source;
} precedence[] = {
    { { .job = "platform: slurm\nslurm: {partition: file}\n",
        .flags = { "slurm.partition", "flag" },
        .profiles = "[slurm]\npartition = \"profile\"\n",
        .environment = partition_in_environment },
      "flag", "flag --set slurm.partition" },
    { { .job = "platform: slurm\nslurm: {partition: file}\n",
        .profiles = "[slurm]\npartition = \"profile\"\n",
        .environment = partition_in_environment },
      "file", "job.yaml:2:9" },
    { { .job = "platform: slurm\n",
        .profiles = "# first line\n[slurm]\npartition = \"profile\"\n",
        .environment = partition_in_environment },
      "profile", "profile [slurm] env.toml:3" },
    { { .job = "platform: slurm\n", .environment = partition_in_environment },
      "env", "environment SLURM_PARTITION" },
    { { .flags = { "platform", "slurm" } }, NULL, NULL },
};

static void flag_beats_file_beats_profile_beats_environment(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(precedence); i++) {
        sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&precedence[i].given);
        const char *value = sw_json_str(spec->options, "partition");
        const char *source = sw_json_str(spec->sources, "slurm.partition");

        if (!precedence[i].value) {
            assert_null(value);
            continue;
        }
        assert_string_equal(value, precedence[i].value);
        assert_string_equal(source, precedence[i].source);
    }
}

static void defaults_come_last_and_say_so(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){ .job = "command: x\n" });

    (void)state;
    assert_string_equal(spec->platform, "local");
    expect_json(spec->platforms, "[\"local\"]");
    assert_string_equal(sw_json_str(spec->job, "gpus"), "0");
    assert_int_equal(sw_json_int(spec->job, "nodes", 0), 1);
    assert_string_equal(sw_json_str(spec->job, "launcher"), "none");
    assert_string_equal(sw_json_str(spec->job, "grace"), "10s");
    assert_string_equal(sw_json_str(spec->sources, "nodes"), "default");
    assert_string_equal(sw_json_str(spec->sources, "platform"), "default");
    assert_null(json_object_get(spec->job, "retry"));
    expect_json(spec->warnings, "[]");
}

static void defaults_inside_a_group_appear_with_the_group(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec =
        must_resolve(&(struct given){ .job = "guard: {no_output: 45m}\n" });

    (void)state;
    expect_json(json_object_get(spec->job, "guard"),
                "{\"no_output\":\"45m\",\"action\":\"warn\"}");
    assert_string_equal(sw_json_str(spec->sources, "guard.no_output"), "job.yaml:1:9");
    assert_string_equal(sw_json_str(spec->sources, "guard.action"), "default");
}

static void maps_are_merged_key_by_key(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "env: {A: 1, B: file, C: true, D: 0.5}\nconfig: {train: {lr: 0.1, epochs: 3}}\n",
        .flags = { "env.B", "flag", "env", "E=a=b", "config.train.lr", "0.2" },
        .profiles = "[local.env]\nB = \"profile\"\nF = \"profile\"\n",
    });
    const json_t *env = json_object_get(spec->job, "env");
    const json_t *train = json_object_get(json_object_get(spec->job, "config"), "train");

    (void)state;
    assert_string_equal(sw_json_str(env, "A"), "1");
    assert_string_equal(sw_json_str(env, "B"), "flag");
    assert_string_equal(sw_json_str(env, "C"), "true");
    assert_string_equal(sw_json_str(env, "D"), "0.5");
    assert_string_equal(sw_json_str(env, "E"), "a=b");
    assert_string_equal(sw_json_str(env, "F"), "profile");
    assert_true(json_real_value(json_object_get(train, "lr")) == 0.2);
    assert_int_equal(sw_json_int(train, "epochs", 0), 3);
    assert_string_equal(sw_json_str(spec->sources, "env.A"), "job.yaml:1:7");
    assert_string_equal(sw_json_str(spec->sources, "env.B"), "flag --env");
    assert_string_equal(sw_json_str(spec->sources, "env.F"), "profile [local] env.toml:3");
    assert_string_equal(sw_json_str(spec->sources, "config.train.lr"), "flag --set config.train.lr");
    assert_string_equal(sw_json_str(spec->sources, "config.train.epochs"), "job.yaml:2:27");
}

static void secrets_add_up_and_other_lists_are_replaced(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "secrets: [NGC_KEY, HF_TOKEN]\nplatform: slurm\nslurm: {mounts: [/a, /b]}\n",
        .flags = { "secrets", "HF_TOKEN", "secrets", "EXTRA", "slurm.mounts", "/c" },
    });

    (void)state;
    expect_json(json_object_get(spec->job, "secrets"), "[\"HF_TOKEN\",\"EXTRA\",\"NGC_KEY\"]");
    assert_string_equal(sw_json_str(spec->sources, "secrets"), "flag --secret, job.yaml:1:1");
    expect_json(json_object_get(spec->options, "mounts"), "[\"/c\"]");
}

static void values_reach_their_normal_form(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "gpus: 8\ntime: 90\nmemory: 1048576\nsecrets: ONE\n"
               "inputs:\n  /a: s3://b/a\n  /c.json: {from: s3://b/c}\n"
               "outputs: [/results]\nplatform: [slurm, lepton]\nargv: [python, -c, 3]\n",
    });

    (void)state;
    assert_string_equal(sw_json_str(spec->job, "gpus"), "8");
    assert_string_equal(sw_json_str(spec->job, "time"), "90");
    assert_string_equal(sw_json_str(spec->job, "memory"), "1048576");
    expect_json(json_object_get(spec->job, "secrets"), "[\"ONE\"]");
    expect_json(json_object_get(spec->job, "inputs"),
                "{\"/a\":{\"from\":\"s3://b/a\"},\"/c.json\":{\"from\":\"s3://b/c\"}}");
    expect_json(json_object_get(spec->job, "outputs"), "{\"/results\":{}}");
    expect_json(json_object_get(spec->job, "argv"), "[\"python\",\"-c\",\"3\"]");
    expect_json(spec->platforms, "[\"slurm\",\"lepton\"]");
    assert_string_equal(spec->platform, "slurm");
    assert_string_equal(sw_json_str(spec->sources, "inputs./a.from"), "job.yaml:6:3");
    assert_string_equal(sw_json_str(spec->sources, "outputs./results"), "job.yaml:8:11");
}

static void the_command_of_the_highest_level_stands_alone(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "command: echo file\n", .flags = { "argv", "echo", "argv", "flag" },
    });

    (void)state;
    assert_null(json_object_get(spec->job, "command"));
    expect_json(json_object_get(spec->job, "argv"), "[\"echo\",\"flag\"]");
}

/* slurm has a row "time" of its own, which is the portable key by another way. */
static const struct {
    struct given given;
    const char *time, *source;
} shared_names[] = {
    { { .job = "platform: slurm\n" }, "4h", "default" },
    { { .job = "platform: slurm\ntime: 12h\n" }, "12h", "job.yaml:2:1" },
    { { .job = "platform: slurm\nslurm: {time: 2h}\n" }, "2h", "job.yaml:2:9" },
    { { .job = "platform: slurm\ntime: 2h\nslurm: {time: 120m}\n" }, "2h", "job.yaml:2:1" },
    { { .job = "platform: slurm\ntime: 12h\n", .flags = { "slurm.time", "1h" } },
      "1h", "flag --set slurm.time" },
    { { .job = "platform: slurm\nslurm: {time: 2h}\n", .flags = { "time", "1h" } },
      "1h", "flag --time" },
    { { .job = "platform: slurm\n", .profiles = "[slurm]\ntime = \"3h\"\n" },
      "3h", "profile [slurm] env.toml:2" },
    { { .job = "platform: slurm\n",
        .environment = (const char *const[]){ "SLURM_TIME=5h", NULL } },
      "5h", "environment SLURM_TIME" },
    { { .job = "platform: slurm\ntime: 12h\n",
        .environment = (const char *const[]){ "SLURM_TIME=nonsense", NULL } },
      "12h", "job.yaml:2:1" },
};

static void a_block_option_with_a_portable_name_is_the_portable_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(shared_names); i++) {
        sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&shared_names[i].given);

        assert_string_equal(sw_json_str(spec->job, "time"), shared_names[i].time);
        assert_string_equal(sw_json_str(spec->options, "time"), shared_names[i].time);
        assert_string_equal(sw_json_str(spec->sources, "time"), shared_names[i].source);
    }
}

/* Who decides on the platform. */
static const struct {
    struct given given;
    const char *platform, *source;
} choices[] = {
    { { .job = "platform: slurm\n", .flags = { "platform", "local" } },
      "local", "flag --platform" },
    { { .job = "platform: slurm\n",
        .environment = (const char *const[]){ "SLIPWAY_PLATFORM=local", NULL } },
      "slurm", "job.yaml:1:1" },
    { { .profiles = "[slurm_big]\npartition = \"x\"\n", .profile = "slurm_big",
        .environment = (const char *const[]){ "SLIPWAY_PLATFORM=local", NULL } },
      "slurm", "profile [slurm_big]" },
    { { .profiles = "[big]\nplatform = \"slurm\"\n", .profile = "big" },
      "slurm", "profile [big]" },
    { { .environment = (const char *const[]){ "SLIPWAY_PLATFORM=slurm", NULL } },
      "slurm", "environment SLIPWAY_PLATFORM" },
};

static void the_platform_follows_the_same_precedence(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(choices); i++) {
        sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&choices[i].given);

        assert_string_equal(spec->platform, choices[i].platform);
        assert_string_equal(sw_json_str(spec->sources, "platform"), choices[i].source);
    }
}

static void a_literal_credential_in_env_earns_a_warning_without_its_value(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "env: {HF_TOKEN: hunter2, A: b, DB_PASSWORD: '', MY_SECRET_ID: x}\n" });
    const char *first = json_string_value(json_array_get(spec->warnings, 0));

    (void)state;
    assert_int_equal(json_array_size(spec->warnings), 2);
    assert_non_null(strstr(first, "job.yaml:1:7: env.HF_TOKEN"));
    assert_non_null(strstr(first, "secrets"));
    assert_null(strstr(first, "hunter2"));
}

static void lists_in_the_environment_are_split_at_commas(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "platform: slurm\n",
        .environment = (const char *const[]){ "SLURM_MOUNTS=/a,/b", NULL } });

    (void)state;
    expect_json(json_object_get(spec->options, "mounts"), "[\"/a\",\"/b\"]");
}

static void a_key_without_a_value_counts_as_not_given(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec =
        must_resolve(&(struct given){ .job = "env:\nimage: ~\nslurm:\ncommand: x\n" });

    (void)state;
    assert_null(json_object_get(spec->job, "env"));
    assert_null(json_object_get(spec->job, "image"));
}

static void every_source_speaks_of_a_value(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "platform: slurm\nenv: {A: 1}\ninputs: {/a.json: x}\nconfig: {a.b: {c: [1]}}\n"
               "outputs: [/r]\nslurm: {partition: p}\nlepton: {node_group: g}\nguard: {}\n" });
    const char *path;
    json_t *source;

    (void)state;
    json_object_foreach(spec->sources, path, source)
        if (!sw_spec_value(spec, path))
            fail_msg("%s has a source but no value", path);
    assert_string_equal(json_string_value(sw_spec_value(spec, "inputs[\"/a.json\"].from")), "x");
    assert_string_equal(json_string_value(sw_spec_value(spec, "slurm.partition")), "p");
    assert_null(sw_spec_value(spec, "lepton.node_group"));
    assert_null(sw_spec_value(spec, "no.such.path"));
}

/* Which partition a connection to slurm, outside of any job, is opened with. */
static void a_connection_takes_only_what_belongs_to_its_platform(void **state)
{
    static const char text[] = "[slurm]\npartition = \"plain\"\n[slurm_big]\npartition = \"big\"\n"
                               "[lepton_x]\nnode_group = \"g\"\n";
    static const struct { const char *profile, *partition; } cases[] = {
        { NULL, "plain" }, { "slurm_big", "big" }, { "lepton_x", "plain" }, { "gone", "plain" },
    };
    sw_auto(sw_profiles) struct sw_profiles *profiles =
        spec_profiles_parse(text, strlen(text), "env.toml", NULL);
    struct sw_spec_input input = {
        .profiles = profiles, .platforms = test_platforms,
        .platform_count = SW_COUNT(test_platforms), .env = test_getenv,
    };

    (void)state;
    test_environment = (const char *const[]){ "SLIPWAY_PLATFORM=lepton", NULL };
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(json) json_t *options = NULL;

        input.profile = cases[i].profile;
        options = sw_spec_place_options(&input, "slurm", NULL);
        assert_string_equal(sw_json_str(options, "partition"), cases[i].partition);
        assert_string_equal(sw_json_str(options, "qos"), "normal");
    }
    input.profile = NULL;
    json_decref(sw_spec_place_options(&input, "lepton", NULL));   /* though it lacks node_group */
    assert_null(sw_spec_place_options(&input, "nowhere", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flag_beats_file_beats_profile_beats_environment),
        cmocka_unit_test(defaults_come_last_and_say_so),
        cmocka_unit_test(defaults_inside_a_group_appear_with_the_group),
        cmocka_unit_test(maps_are_merged_key_by_key),
        cmocka_unit_test(secrets_add_up_and_other_lists_are_replaced),
        cmocka_unit_test(values_reach_their_normal_form),
        cmocka_unit_test(the_command_of_the_highest_level_stands_alone),
        cmocka_unit_test(a_block_option_with_a_portable_name_is_the_portable_value),
        cmocka_unit_test(the_platform_follows_the_same_precedence),
        cmocka_unit_test(a_literal_credential_in_env_earns_a_warning_without_its_value),
        cmocka_unit_test(lists_in_the_environment_are_split_at_commas),
        cmocka_unit_test(a_key_without_a_value_counts_as_not_given),
        cmocka_unit_test(every_source_speaks_of_a_value),
        cmocka_unit_test(a_connection_takes_only_what_belongs_to_its_platform),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
