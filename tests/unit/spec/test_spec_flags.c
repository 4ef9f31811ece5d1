/* SPDX-License-Identifier: Apache-2.0 */
/* test_spec_flags.c - a flag's text becomes the value its key asks for. */
#include "fixture.h"

static int set(json_t *flags, const char *key, const char *text, struct sw_error *err)
{
    return sw_spec_set_text(flags, test_platforms, SW_COUNT(test_platforms), key, text, err);
}

static const struct { const char *key, *text, *document; } good[] = {
    { "gpus", "H100:8", "{\"gpus\":\"H100:8\"}" },
    { "nodes", "2", "{\"nodes\":2}" },
    { "cpus", "2", "{\"cpus\":2}" },
    { "cpus", "0.5", "{\"cpus\":0.5}" },
    { "time", "12h", "{\"time\":\"12h\"}" },
    { "memory", "64GiB", "{\"memory\":\"64GiB\"}" },
    { "retry.avoid_bad_nodes", "yes", "{\"retry\":{\"avoid_bad_nodes\":true}}" },
    { "slurm.tunnel", "off", "{\"slurm\":{\"tunnel\":false}}" },
    { "retry.on", "gpu", "{\"retry\":{\"on\":[\"gpu\"]}}" },
    { "env.A", "1", "{\"env\":{\"A\":\"1\"}}" },
    { "env", "A=b=c", "{\"env\":{\"A\":\"b=c\"}}" },
    { "env", "A=", "{\"env\":{\"A\":\"\"}}" },
    { "labels.a.b/c", "x", "{\"labels\":{\"a.b/c\":\"x\"}}" },
    { "inputs./data/x.json", "s3://b/x", "{\"inputs\":{\"/data/x.json\":\"s3://b/x\"}}" },
    { "inputs[\"/data/x.json\"]", "s3://b", "{\"inputs\":{\"/data/x.json\":\"s3://b\"}}" },
    { "config[\"a.b\"].c", "1", "{\"config\":{\"a.b\":{\"c\":1}}}" },
    { "config.a[0]", "1", "{\"config\":{\"a[0]\":1}}" },
    { "outputs", "/results", "{\"outputs\":{\"/results\":{}}}" },
    { "outputs", "/results=s3://b", "{\"outputs\":{\"/results\":\"s3://b\"}}" },
    { "slurm.partition", "batch", "{\"slurm\":{\"partition\":\"batch\"}}" },
    { "slurm.partition", "123", "{\"slurm\":{\"partition\":\"123\"}}" },
    { "secrets", "HF_TOKEN", "{\"secrets\":[\"HF_TOKEN\"]}" },
    { "argv", "3", "{\"argv\":[\"3\"]}" },
    { "config.train.epochs", "3", "{\"config\":{\"train\":{\"epochs\":3}}}" },
    { "config.a", "true", "{\"config\":{\"a\":true}}" },
    { "config.a", "null", "{\"config\":{\"a\":null}}" },
    { "config.a", "\"3\"", "{\"config\":{\"a\":\"3\"}}" },
    { "config.a", "hello world", "{\"config\":{\"a\":\"hello world\"}}" },
    { "config.a", "[1]", "{\"config\":{\"a\":\"[1]\"}}" },
};

static void a_text_becomes_the_value_of_its_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(good); i++) {
        sw_auto(json) json_t *flags = json_object();
        struct sw_error err = { 0 };

        if (set(flags, good[i].key, good[i].text, &err) < 0)
            fail_msg("%s=%s: %s", good[i].key, good[i].text, err.message);
        expect_json(flags, good[i].document);
    }
}

static const struct { const char *key, *text, *message; } bad[] = {
    { "gpu", "1", "unknown key 'gpu' (did you mean 'gpus'?)" },
    { "slrm.partition", "x", "unknown key 'slrm' (did you mean 'slurm'?)" },
    { "slurm.partiton", "x", "--set slurm.partiton: unknown key 'partiton' (did you mean 'partition'?)" },
    { "retry.maxi", "1", "--set retry.maxi: unknown key 'maxi' (did you mean 'max'?)" },
    { "", "x", "unknown key ''" },
    { "gpus", "H100", "--gpus: 'H100' is not a number of GPUs such as 8 or H100:8" },
    { "nodes", "two", "--nodes: expected a whole number, found a string" },
    { "nodes", "0", "--nodes: out of range, expected 1 to 4096" },
    { "nodes", "99999999999999999999", "--nodes: expected a whole number, found a string" },
    { "nodes.x", "1", "--set nodes: is not a mapping, but '.x' was given" },
    { "cpus", "inf", "--cpus: expected a number, found a string" },
    { "retry", "3", "--set retry: is a mapping: set its keys as retry.NAME" },
    { "slurm", "x", "--set slurm: is a mapping: set its keys as slurm.NAME" },
    { "env", "A", "--env: expected NAME=VALUE" },
    { "env", "=x", "--env: expected NAME=VALUE" },
    { "inputs", "/a", "--input: expected NAME=VALUE" },
    { "env.1A", "x", "--env: '1A' is not the name of an environment variable" },
    { "secrets", "A=b", "--secret: secrets: 'A=b' is not the name of an environment variable "
                        "(names only, never values)" },
    { "config", "x", "--set config: write config.KEY=VALUE" },
    { "config.a..b", "x", "--set config: the path of the value has an empty part" },
    { "launcher", "slurm", "--launcher: 'slurm' is not one of none, torchrun, mpi, ray" },
};

static void a_wrong_flag_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(bad); i++) {
        sw_auto(json) json_t *flags = json_object();
        struct sw_error err = { 0 };

        assert_int_equal(set(flags, bad[i].key, bad[i].text, &err), -1);
        assert_int_equal(err.code, SW_E_SPEC);
        assert_string_equal(err.message, bad[i].message);
        expect_json(flags, "{}");
    }
}

static void lists_append_and_scalars_replace(void **state)
{
    sw_auto(json) json_t *flags = json_object();

    (void)state;
    assert_int_equal(set(flags, "secrets", "A", NULL), 0);
    assert_int_equal(set(flags, "secrets", "B", NULL), 0);
    assert_int_equal(set(flags, "nodes", "2", NULL), 0);
    assert_int_equal(set(flags, "nodes", "3", NULL), 0);
    expect_json(flags, "{\"secrets\":[\"A\",\"B\"],\"nodes\":3}");
}

static void a_bottomless_path_is_refused(void **state)
{
    sw_auto(json) json_t *flags = json_object();
    sw_auto(sw_buf) struct sw_buf key = SW_BUF_INIT;
    struct sw_error err = { 0 };

    (void)state;
    sw_buf_add(&key, "config");
    for (int i = 0; i < 10000; i++)
        sw_buf_add(&key, ".a");
    assert_int_equal(set(flags, key.data, "1", &err), -1);
    assert_string_equal(err.message, "--set config: the path of the value is too deep");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_becomes_the_value_of_its_type),
        cmocka_unit_test(a_wrong_flag_is_refused_and_changes_nothing),
        cmocka_unit_test(lists_append_and_scalars_replace),
        cmocka_unit_test(a_bottomless_path_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
