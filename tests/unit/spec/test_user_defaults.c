/* SPDX-License-Identifier: Apache-2.0 */
/* test_user_defaults.c - environment over config.toml over what is built in, each with its source. */
#include "fixture.h"

#include "spec/spec.h"

static json_t *resolve_text(const char *toml, const char *const *environment, struct sw_error *err)
{
    sw_auto(sw_document) struct sw_document *file =
        toml ? sw_document_parse(toml, strlen(toml), SW_TOML, "config.toml", err) : NULL;
    const struct sw_user_input input = { .file = file, .platforms = test_platforms,
                                         .platform_count = SW_COUNT(test_platforms), .env = test_getenv };

    test_environment = environment;
    if (toml && !file)
        return NULL;
    return sw_user_defaults_resolve(&input, err);
}

static const char *value_of(const json_t *defaults, const char *part, const char *key)
{
    const json_t *value = json_object_get(json_object_get(defaults, part), key);

    return json_string_value(json_is_array(value) ? json_array_get(value, 0) : value);
}

static void without_a_file_all_is_as_built_in(void **state)
{
    static const char *const none[] = { NULL };
    sw_auto(json) json_t *defaults = resolve_text(NULL, none, NULL);

    (void)state;
    assert_string_equal(value_of(defaults, "values", "time_zone"), "UTC");
    assert_string_equal(value_of(defaults, "values", "color"), "auto");
    assert_string_equal(value_of(defaults, "sources", "color"), "default");
    assert_null(value_of(defaults, "values", "platform"));
    assert_null(value_of(defaults, "values", "columns"));
}

static void the_environment_wins_over_the_file(void **state)
{
    static const char *const set[] = { "SLIPWAY_COLOR=never", "SLIPWAY_COLUMNS=exit,id", NULL };
    static const char file[] = "platform = 'slurm'\ncolumns = ['id', 'state']\n"
                               "time_zone = 'Europe/Berlin'\ncolor = 'always'\n";
    sw_auto(json) json_t *defaults = resolve_text(file, set, NULL);

    (void)state;
    assert_string_equal(value_of(defaults, "values", "platform"), "slurm");
    assert_string_equal(value_of(defaults, "sources", "platform"), "config.toml:1:1");
    assert_string_equal(value_of(defaults, "values", "columns"), "exit");
    assert_string_equal(value_of(defaults, "sources", "columns"), "environment SLIPWAY_COLUMNS");
    assert_string_equal(value_of(defaults, "values", "time_zone"), "Europe/Berlin");
    assert_string_equal(value_of(defaults, "values", "color"), "never");
    assert_string_equal(value_of(defaults, "sources", "color"), "environment SLIPWAY_COLOR");
}

static void a_fault_names_its_place_and_what_was_meant(void **state)
{
    static const struct { const char *toml, *said; } cases[] = {
        { "\ntimezone = 'UTC'\n", "config.toml:2:1: unknown key 'timezone' (did you mean 'time_zone'?)" },
        { "platform = 'slrum'", "config.toml:1:1: unknown platform 'slrum' (did you mean 'slurm'?)" },
        { "color = 'sometimes'", "config.toml:1:1: color: " },
        { "time_zone = 3", "config.toml:1:1: time_zone: expected a string" },
        { "columns = { a = 1 }", "config.toml:1:1: columns: expected" },
        { "color = ", "config.toml:1:" },
    };
    static const char *const none[] = { NULL };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        struct sw_error err = { 0 };

        assert_null(resolve_text(cases[i].toml, none, &err));
        assert_int_equal(err.code, SW_E_SPEC);
        if (strncmp(err.message, cases[i].said, strlen(cases[i].said)) != 0)
            fail_msg("%s", err.message);
    }
}

static void a_job_without_a_platform_takes_the_users(void **state)
{
    static const char *const none[] = { NULL };
    sw_auto(json) json_t *mine = resolve_text("platform = ['slurm', 'local']", none, NULL);
    struct sw_spec_input input = { .platforms = test_platforms, .platform_count = SW_COUNT(test_platforms),
                                   .default_platform = "local", .user_defaults = mine };
    sw_auto(sw_document) struct sw_document *job =
        sw_document_parse("command: a", strlen("command: a"), SW_YAML, "job.yaml", NULL);
    sw_auto(sw_spec) struct sw_spec *spec = NULL;

    (void)state;
    input.job = job;
    spec = sw_spec_resolve(&input, NULL);
    assert_non_null(spec);
    assert_string_equal(spec->platform, "slurm");
    assert_int_equal(json_array_size(spec->platforms), 2);
    assert_string_equal(sw_json_str(spec->sources, "platform"), "config.toml:1:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_file_all_is_as_built_in),
        cmocka_unit_test(the_environment_wins_over_the_file),
        cmocka_unit_test(a_fault_names_its_place_and_what_was_meant),
        cmocka_unit_test(a_job_without_a_platform_takes_the_users),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
