/* SPDX-License-Identifier: Apache-2.0 */
/* test_trust.c - which variables of a folder's .env need trust, and where a job's values come from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "base/file.h"
#include "core/job_values.h"
#include "core/option.h"

static void variables_that_steer_us_need_trust_and_values_do_not(void **state)
{
    static const char *const steer[] = {
        "PATH", "LD_PRELOAD", "LD_AUDIT", "GIT_SSH_COMMAND", "SSH_ASKPASS", "SSH_HOST", "DOCKER_HOST",
        "DOCKER_CONFIG", "DOCKER_REGISTRY", "SLIPWAY_LIBEXEC_DIR", "SLIPWAY_RUNNERS",
        "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_PROFILE", "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_S3", "S3_ENDPOINT_URL", "HF_ENDPOINT", "HF_TOKEN_PATH", "NGC_CLI_API_URL",
        "https_proxy", "HTTPS_PROXY", "all_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
        "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "TAR_OPTIONS", "BASH_ENV", "HOME", "TMPDIR",
    };
    static const char *const values[] = {
        "HF_TOKEN", "NGC_KEY", "NGC_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN", "ACCESS_KEY", "SECRET_KEY", "AWS_REGION", "WANDB_API_KEY",
        "DOCKER_USERNAME", "DOCKER_PASSWORD", "SLURM_PARTITION", "SLACK_WEBHOOK", "MY_PATH",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(steer); i++)
        if (!sw_variable_is_sensitive(steer[i]))
            fail_msg("%s needs no trust", steer[i]);
    for (size_t i = 0; i < SW_COUNT(values); i++)
        if (sw_variable_is_sensitive(values[i]))
            fail_msg("%s needs trust", values[i]);
}

static void how_to_connect_always_needs_trust(void **state)
{
    const struct sw_option host = { "host", SW_TEXT, SW_CONNECTION };
    const struct sw_option setup = { "setup", SW_TEXT, .trust = SW_TRUST_PROFILE };
    const struct sw_option nodes = { "nodes", SW_WHOLE };

    (void)state;
    assert_int_equal(sw_option_trust(&host), SW_TRUST_ALWAYS);
    assert_int_equal(sw_option_trust(&setup), SW_TRUST_PROFILE);
    assert_int_equal(sw_option_trust(&nodes), SW_TRUST_NONE);
}

/* The folder's file, then the user's own; what steers us only from a file that is still the trusted one. */
static void a_later_attempt_takes_values_from_the_file_of_the_first(void **state)
{
    static const char mine[] = "TEST_VALUE=folder\nGIT_VALUE=folder\n";
    static const char home[] = "TEST_VALUE=home\nTEST_HOME=home\n";
    char folder[] = "/tmp/slipway-values-XXXXXX", sha256[SW_DIGEST_HEX];
    sw_autofree char *config = NULL, *path = NULL, *own = NULL;
    sw_auto(json) json_t *dotenv = NULL;

    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("HOME", folder, 1);
    config = sw_path_join(folder, ".config/tao");
    own = sw_path_join(config, ".env");
    path = sw_path_join(folder, ".env");
    assert_int_equal(sw_mkdirs(config, 0700, NULL), 0);
    assert_int_equal(sw_file_write(own, home, strlen(home), 0600, NULL), 0);
    assert_int_equal(sw_file_write(path, mine, strlen(mine), 0600, NULL), 0);
    sw_sha256_hex(mine, strlen(mine), sha256);
    dotenv = sw_json_object(SW_STR("path", path), SW_STR("sha256", sha256), SW_BOOL("trusted", true));
    for (int changed = 0; changed < 2; changed++) {
        sw_auto(sw_environment) struct sw_environment *values = NULL;
        const char *git = changed ? NULL : "folder";

        if (changed)
            assert_int_equal(sw_file_write(path, "TEST_VALUE=folder\nGIT_VALUE=x\n", 30, 0600, NULL), 0);
        values = sw_job_values(dotenv);
        assert_string_equal(sw_environment_get(values, "TEST_VALUE"), "folder");
        assert_string_equal(sw_environment_get(values, "TEST_HOME"), "home");
        if (git)
            assert_string_equal(sw_environment_get(values, "GIT_VALUE"), git);
        else
            assert_null(sw_environment_get(values, "GIT_VALUE"));
    }
    assert_int_equal(sw_remove_tree(folder, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_that_steer_us_need_trust_and_values_do_not),
        cmocka_unit_test(how_to_connect_always_needs_trust),
        cmocka_unit_test(a_later_attempt_takes_values_from_the_file_of_the_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
