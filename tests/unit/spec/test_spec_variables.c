/* SPDX-License-Identifier: Apache-2.0 */
/* test_spec_variables.c - ${NAME} in texts of a job file, texts as they were written, and x- keys. */
#include "fixture.h"

#include "base/file.h"
#include "base/text.h"

static const char *const ann[] = { "USER=ann", "EMPTY=", "HF_TOKEN=hunter2", "PLAIN=hunter2", NULL };

static char *expand(const char *text, char **why)
{
    const struct spec_variables from = { test_getenv, NULL, NULL, NULL };

    test_environment = ann;
    return spec_expand(&from, text, why);
}

static void a_variable_gives_its_value_or_its_default(void **state)
{
    static const struct { const char *text, *filled; } cases[] = {
        { "", "" }, { "plain", "plain" }, { "${USER}", "ann" }, { "a${USER}b${USER}", "aannbann" },
        { "${NONE:-x}", "x" }, { "${EMPTY:-x}", "x" }, { "${USER:-x}", "ann" }, { "${NONE:-}", "" },
        { "${NONE:-${USER}}", "ann" }, { "${NONE:-a${ALSO:-b}c}d", "abcd" }, { "${NONE:-a:-b}", "a:-b" },
        { "$$", "$" }, { "$${USER}", "${USER}" }, { "$$$${USER}", "$${USER}" }, { "$$${USER}", "$ann" },
        { "${NONE:-$$}", "$" }, { "${NONE:-$${}x}", "${x}" }, { "$", "$" }, { "a$", "a$" }, { "$1", "$1" },
        { "$HOME", "$HOME" }, { "{id}", "{id}" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_autofree char *why = NULL, *filled = expand(cases[i].text, &why);

        if (!filled)
            fail_msg("%s: %s", cases[i].text, why);
        assert_string_equal(filled, cases[i].filled);
    }
}

static void what_cannot_be_filled_in_says_why_and_what_to_do(void **state)
{
    static const struct { const char *text, *part; } cases[] = {
        { "${NONE}", "NONE is not set: export it, add it to .env, or write ${NONE:-DEFAULT}" },
        { "${EMPTY}", "EMPTY is not set" }, { "${NONE:-${ALSO}}", "ALSO is not set" },
        { "${USER", "has no '}'" }, { "a ${", "has no '}'" }, { "${NONE:-${USER}", "has no '}'" },
        { "${}", "neither ${NAME}" }, { "${1A}", "'${1A}' is neither" }, { "${A B}", "neither" },
        { "${USER-x}", "neither" }, { "${USER:?x}", "neither" }, { "${USER:x}", "neither" },
        { "${HF_TOKEN}", "'secrets: [HF_TOKEN]'" }, { "${HF_TOKEN:-x}", "credential" },
        { "${A:-${A:-${A:-${A:-${A:-${A:-${A:-${A:-${A:-x}}}}}}}}}", "neither" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_autofree char *why = NULL, *filled = expand(cases[i].text, &why);

        assert_null(filled);
        if (!strstr(why, cases[i].part))
            fail_msg("%s: %s", cases[i].text, why);
        assert_null(strstr(why, "hunter2"));
    }
}

static void variables_cannot_make_a_text_grow_without_end(void **state)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    sw_autofree char *why = NULL, *filled = NULL;

    (void)state;
    for (int i = 0; i < 400000; i++)
        sw_buf_add(&text, "${USER}");
    filled = expand(sw_buf_text(&text), &why);
    assert_null(filled);
    assert_non_null(strstr(why, "longer than 1 MiB"));
}

static void plan_shows_where_a_variable_came_from(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "name: t-${USER}\n"
               "command: echo ${HOME} $$\n"
               "env: {A: '${USER}/x', B: 'a$$b', C: '${NONE:-c}'}\n"
               "inputs: {/data: 's3://b/${USER}/'}\n"
               "outputs: ['/out/${USER}']\n"
               "mounts: ['/home/${USER}:/data', /x:/y]\n"
               "config: {a: '${env:X}'}\n"
               "image: 'i:${USER}'\n"
               "labels: {who: '${USER}'}\n"
               "workdir: '/home/${USER}'\n", .environment = ann });

    (void)state;
    assert_string_equal(sw_json_str(spec->job, "name"), "t-ann");
    assert_string_equal(sw_json_str(spec->job, "image"), "i:ann");
    assert_string_equal(sw_json_str(spec->job, "workdir"), "/home/ann");
    expect_json(json_object_get(spec->job, "labels"), "{\"who\":\"ann\"}");
    assert_string_equal(sw_json_str(spec->job, "command"), "echo ${HOME} $$");
    expect_json(json_object_get(spec->job, "env"), "{\"A\":\"ann/x\",\"B\":\"a$b\",\"C\":\"c\"}");
    expect_json(json_object_get(spec->job, "inputs"), "{\"/data\":{\"from\":\"s3://b/ann/\"}}");
    expect_json(json_object_get(spec->job, "outputs"), "{\"/out/ann\":{}}");
    expect_json(json_object_get(spec->job, "mounts"), "[\"/home/ann:/data\",\"/x:/y\"]");
    expect_json(json_object_get(spec->job, "config"), "{\"a\":\"${env:X}\"}");
    assert_string_equal(sw_json_str(spec->sources, "name"), "job.yaml:1:1 (USER from the environment)");
    assert_string_equal(sw_json_str(spec->sources, "env.A"), "job.yaml:3:7 (USER from the environment)");
    assert_string_equal(sw_json_str(spec->sources, "env.B"), "job.yaml:3:23");
    assert_string_equal(sw_json_str(spec->sources, "env.C"), "job.yaml:3:34 (NONE is not set: default)");
    assert_string_equal(sw_json_str(spec->sources, "command"), "job.yaml:2:1");
    assert_string_equal(sw_json_str(spec->sources, "mounts"), "job.yaml:6:1 (USER from the environment)");
    assert_int_equal(json_array_size(spec->warnings), 0);
}

static void a_variable_that_is_not_set_is_an_error_with_its_place(void **state)
{
    const char *message = must_fail(&(struct given){
        .job = "command: x\nenv:\n  A: ${NONE}\nmounts:\n  - /a:/b\n  - ${ALSO}:/c\nimage: ${\n",
        .environment = ann });

    (void)state;
    assert_non_null(strstr(message, "job.yaml:3:3: env.A: ${NONE}: NONE is not set"));
    assert_non_null(strstr(message, "job.yaml:6:5: mounts[1]: ${ALSO}"));
    assert_non_null(strstr(message, "job.yaml:7:1: image: a '${' has no '}'"));
}

static void a_secret_never_becomes_text(void **state)
{
    (void)state;
    assert_non_null(strstr(must_fail(&(struct given){
        .job = "command: x\nenv: {A: '${HF_TOKEN}'}\n", .environment = ann }),
        "job.yaml:2:7: env.A: ${HF_TOKEN} would write a credential into the job: name it in "
        "'secrets: [HF_TOKEN]'"));
    assert_non_null(strstr(must_fail(&(struct given){
        .job = "command: x\nimage: i:${PLAIN}\n", .flags = { "secrets", "PLAIN" }, .environment = ann }),
        "job.yaml:2:1: image: ${PLAIN} is one of 'secrets:'"));
}

static void flags_and_profiles_are_taken_as_they_are(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "command: x\n", .flags = { "image", "i:${USER}", "env.B", "$${B}" },
        .profiles = "[local]\nenv = { A = \"${USER}\" }\n", .environment = ann });

    (void)state;
    assert_string_equal(sw_json_str(spec->job, "image"), "i:${USER}");
    expect_json(json_object_get(spec->job, "env"), "{\"B\":\"$${B}\",\"A\":\"${USER}\"}");
}

static void a_name_without_braces_stays_and_is_warned_about(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "command: echo $HOME\nenv: {A: $HOME/x, B: $$HOME, C: a$1}\n", .environment = ann });

    (void)state;
    assert_string_equal(sw_json_str(json_object_get(spec->job, "env"), "A"), "$HOME/x");
    expect_json(spec->warnings,
                "[\"job.yaml:2:7: env.A: $HOME stays as it is: write ${HOME} for its value, $$HOME for "
                "the text\"]");
}

/* "`name`, `image`, ..." of every row whose texts take part. */
static void add_rows(struct sw_buf *out, const struct sw_option *rows, const char *above)
{
    for (; rows && rows->name; rows++) {
        sw_autofree char *path = sw_format("%s%s%s", above, *above ? "." : "", rows->name);

        if (rows->variables)
            sw_buf_addf(out, "%s`%s`", out->length ? ", " : "", path);
        add_rows(out, rows->fields, path);
    }
}

static void the_manual_lists_the_keys_that_take_part(void **state)
{
    sw_auto(sw_buf) struct sw_buf keys = SW_BUF_INIT;
    size_t length;
    sw_autofree char *manual = sw_file_read(getenv("JOB_FILE_MANUAL"), 1 << 20, &length, NULL);

    (void)state;
    add_rows(&keys, sw_spec_keys, "");
    for (char *at = manual; at && *at; at++)
        if (*at == '\n')
            *at = ' ';
    if (!manual || !strstr(manual, sw_buf_text(&keys)))
        fail_msg("docs/use/job-file.md lacks: %s", sw_buf_text(&keys));
}

/* ---- texts as they were written ------------------------------------------------------------------ */

static void env_labels_and_args_keep_the_text_that_was_written(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "x-more: &more {P: 3.10, Q: 1e3}\n"
               "command: x\n"
               "env: {<<: *more, H: 0x10, I: +5, Y: yes, D: 2026-01-01, T: True, F: false, N: 7, P: 3.20,\n"
               "      A: }\n"
               "labels: {v: 1.50}\n"
               "flags: [3.10]\n"
               "args: {lr: 1e-4, n: 3, f: 0.5, deep: [1.50], b: true, v: '${X}'}\n",
        .flags = { "args.wd", "1e-2", "args.k", "2" } });

    (void)state;
    expect_json(json_object_get(spec->job, "env"),
                "{\"H\":\"0x10\",\"I\":\"+5\",\"Y\":\"yes\",\"D\":\"2026-01-01\",\"T\":\"True\","
                "\"F\":\"false\",\"N\":\"7\",\"P\":\"3.20\",\"Q\":\"1e3\"}");
    expect_json(json_object_get(spec->job, "labels"), "{\"v\":\"1.50\"}");
    expect_json(json_object_get(spec->job, "flags"), "[\"3.10\"]");
    expect_json(json_object_get(spec->job, "args"),
                "{\"wd\":\"1e-2\",\"k\":2,\"lr\":\"1e-4\",\"n\":3,\"f\":0.5,\"deep\":[1.5],\"b\":true,"
                "\"v\":\"${X}\"}");
}

static void profiles_keep_their_texts_too(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "command: x\n", .profiles = "[local]\nenv = { P = 3.10, N = 1_000, X = 0x1F }\n" });

    (void)state;
    expect_json(json_object_get(spec->job, "env"), "{\"P\":\"3.10\",\"N\":\"1_000\",\"X\":\"0x1F\"}");
}

static void what_is_kept_of_a_job_file_keeps_the_texts(void **state)
{
    static const char text[] =
        "{\"env\": {\"P\": 3.10, \"N\": 1}, \"config\": {\"lr\": 1e-4}, \"command\": \"x\"}";
    sw_auto(sw_document) struct sw_document *job =
        sw_document_parse(text, strlen(text), SW_JSON, "job.json", NULL);
    sw_auto(json) json_t *kept = sw_spec_written(job);

    (void)state;
    expect_json(kept, "{\"env\":{\"P\":\"3.10\",\"N\":1},\"config\":{\"lr\":0.0001},\"command\":\"x\"}");
}

static void a_bare_number_is_seconds_also_in_retry(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec =
        must_resolve(&(struct given){ .job = "command: x\nretry: {wait: 5}\n" });

    (void)state;
    expect_json(json_object_get(spec->job, "retry"), "{\"wait\":\"5\"}");
}

static void keys_that_begin_with_x_are_a_home_for_anchors(void **state)
{
    sw_auto(sw_spec) struct sw_spec *spec = must_resolve(&(struct given){
        .job = "x-env: &env {A: 1}\nx-any: [1, {b: ~}]\ncommand: x\nenv: *env\n" });

    (void)state;
    expect_json(json_object_get(spec->job, "env"), "{\"A\":\"1\"}");
    assert_null(json_object_get(spec->job, "x-env"));
    assert_non_null(strstr(must_fail(&(struct given){ .job = "command: x\nretry: {x-a: 1}\n" }),
                           "retry.x-a"));
    assert_non_null(strstr(must_fail(&(struct given){ .job = "command: x\nxa: 1\n" }), "unknown key 'xa'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_variable_gives_its_value_or_its_default),
        cmocka_unit_test(what_cannot_be_filled_in_says_why_and_what_to_do),
        cmocka_unit_test(variables_cannot_make_a_text_grow_without_end),
        cmocka_unit_test(plan_shows_where_a_variable_came_from),
        cmocka_unit_test(a_variable_that_is_not_set_is_an_error_with_its_place),
        cmocka_unit_test(a_secret_never_becomes_text),
        cmocka_unit_test(flags_and_profiles_are_taken_as_they_are),
        cmocka_unit_test(a_name_without_braces_stays_and_is_warned_about),
        cmocka_unit_test(the_manual_lists_the_keys_that_take_part),
        cmocka_unit_test(env_labels_and_args_keep_the_text_that_was_written),
        cmocka_unit_test(profiles_keep_their_texts_too),
        cmocka_unit_test(what_is_kept_of_a_job_file_keeps_the_texts),
        cmocka_unit_test(a_bare_number_is_seconds_also_in_retry),
        cmocka_unit_test(keys_that_begin_with_x_are_a_home_for_anchors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
