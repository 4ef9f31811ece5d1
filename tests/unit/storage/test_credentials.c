/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_credentials.c - where keys are looked for, in which order, and what is said when one is missing.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/file.h"
#include "storage/credentials.h"

/* An environment of the test's own: name, value, ..., NULL. */
static const char *lookup(void *context, const char *name)
{
    for (const char *const *pair = context; *pair; pair += 2)
        if (strcmp(pair[0], name) == 0)
            return pair[1];
    return NULL;
}

static int settings(const char *const *environment, struct s3_settings *out, struct sw_error *err)
{
    struct sw_storage_options options = { lookup, (void *)environment };

    return s3_settings_read(&options, out, err);
}

static void aws_names_win_over_tao_names(void **state)
{
    static const char *const both[] = { "ACCESS_KEY", "tao", "SECRET_KEY", "t",
                                        "AWS_ACCESS_KEY_ID", "aws", "AWS_SECRET_ACCESS_KEY", "a",
                                        "AWS_SESSION_TOKEN", "tok", NULL };
    static const char *const tao[] = { "ACCESS_KEY", "tao", "SECRET_KEY", "t",
                                       "S3_ENDPOINT_URL", "http://h:9000/", "CLOUD_REGION", "eu-x",
                                       NULL };
    struct s3_settings found;

    (void)state;
    assert_int_equal(settings(both, &found, NULL), 0);
    assert_string_equal(found.keys.access, "aws");
    assert_string_equal(found.keys.token, "tok");
    assert_string_equal(found.region, "us-east-1");
    assert_null(found.endpoint);
    s3_settings_done(&found);
    assert_int_equal(settings(tao, &found, NULL), 0);
    assert_string_equal(found.keys.access, "tao");
    assert_string_equal(found.endpoint, "http://h:9000");
    assert_string_equal(found.region, "eu-x");
    s3_settings_done(&found);
}

static void half_a_pair_names_the_other_half(void **state)
{
    static const char *const half[] = { "ACCESS_KEY", "tao-value", NULL };
    struct s3_settings found;
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(settings(half, &found, &err), -1);
    assert_int_equal(err.code, SW_E_CREDENTIAL);
    assert_non_null(strstr(err.message, "SECRET_KEY"));
    assert_null(strstr(err.message, "tao-value"));
}

static void no_keys_at_all_is_no_error(void **state)
{
    static const char *const nothing[] = { "HOME", "/nonexistent", NULL };
    struct s3_settings found;

    (void)state;
    assert_int_equal(settings(nothing, &found, NULL), 0);
    assert_null(found.keys.access);
    s3_settings_done(&found);
}

static int with_home(void **state)
{
    char *home = sw_strdup("/tmp/test-credentials-XXXXXX");

    if (!mkdtemp(home))
        return -1;
    *state = home;
    return 0;
}

static int without_home(void **state)
{
    int result = sw_remove_tree(*state, NULL);

    free(*state);
    return result;
}

static void write_ini(const char *home, const char *name, const char *text)
{
    sw_autofree char *path = sw_format("%s/.aws/%s", home, name);
    sw_autofree char *folder = sw_format("%s/.aws", home);

    sw_mkdirs(folder, 0700, NULL);
    assert_int_equal(sw_file_write(path, text, strlen(text), 0600, NULL), 0);
}

static void profiles_are_read_from_both_files(void **state)
{
    const char *const usual[] = { "HOME", *state, NULL };
    const char *const dev[] = { "HOME", *state, "AWS_PROFILE", "dev", NULL };
    struct s3_settings found;

    write_ini(*state, "credentials", "[default]\naws_access_key_id = one\n"
                                     "aws_secret_access_key=sec=ret \n"
                                     "[dev]\naws_access_key_id=two\naws_secret_access_key=x\n");
    write_ini(*state, "config", "[default]\nregion = eu-west-1\n"
                                "[profile dev]\nregion=ap-1\nendpoint_url = https://dev:1\n");
    assert_int_equal(settings(usual, &found, NULL), 0);
    assert_string_equal(found.keys.access, "one");
    assert_string_equal(found.keys.secret, "sec=ret");
    assert_string_equal(found.region, "eu-west-1");
    s3_settings_done(&found);
    assert_int_equal(settings(dev, &found, NULL), 0);
    assert_string_equal(found.keys.access, "two");
    assert_string_equal(found.region, "ap-1");
    assert_string_equal(found.endpoint, "https://dev:1");
    s3_settings_done(&found);
}

static void a_credential_process_is_asked(void **state)
{
    const char *const usual[] = { "HOME", *state, NULL };
    struct s3_settings found;
    struct sw_error err = { 0 };

    write_ini(*state, "credentials", "");
    write_ini(*state, "config", "[default]\ncredential_process = echo '{\"Version\":1,"
                                "\"AccessKeyId\":\"p\",\"SecretAccessKey\":\"q\"}'\n");
    assert_int_equal(settings(usual, &found, NULL), 0);
    assert_string_equal(found.keys.access, "p");
    s3_settings_done(&found);
    write_ini(*state, "config", "[default]\ncredential_process = false\n");
    assert_int_equal(settings(usual, &found, &err), -1);
    assert_int_equal(err.code, SW_E_CREDENTIAL);
}

static void what_we_cannot_do_is_said_by_name(void **state)
{
    const char *const usual[] = { "HOME", *state, NULL };
    struct s3_settings found;
    struct sw_error err = { 0 };

    write_ini(*state, "credentials", "");
    write_ini(*state, "config", "[default]\nrole_arn = arn:aws:iam::1:role/x\n");
    assert_int_equal(settings(usual, &found, &err), -1);
    assert_non_null(strstr(err.message, "role_arn"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aws_names_win_over_tao_names),
        cmocka_unit_test(half_a_pair_names_the_other_half),
        cmocka_unit_test(no_keys_at_all_is_no_error),
        cmocka_unit_test_setup_teardown(profiles_are_read_from_both_files, with_home, without_home),
        cmocka_unit_test_setup_teardown(a_credential_process_is_asked, with_home, without_home),
        cmocka_unit_test_setup_teardown(what_we_cannot_do_is_said_by_name, with_home, without_home),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
