/* SPDX-License-Identifier: Apache-2.0 */
/* test_signature.c - a plan is this user's exactly when nothing of it was changed since. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "core/signature.h"

static char home[64];

static int own_home(void **state)
{
    (void)state;
    snprintf(home, sizeof home, "/tmp/slipway-signature-XXXXXX");
    if (!mkdtemp(home))
        return -1;
    setenv("HOME", home, 1);
    return 0;
}

static int no_home(void **state)
{
    (void)state;
    return sw_remove_tree(home, NULL);
}

static void a_signed_plan_fits_whatever_the_order_of_its_keys(void **state)
{
    sw_auto(json) json_t *plan = json_pack("{s:s, s:[s], s:f}", "job_id", "a", "secrets", "X",
                                           "cpus", 0.5);
    sw_auto(json) json_t *same = json_pack("{s:f, s:s, s:[s]}", "cpus", 0.5, "job_id", "a",
                                           "secrets", "X");
    char signature[SW_DIGEST_HEX];

    (void)state;
    assert_int_equal(sw_signature_make(plan, signature, NULL), 0);
    assert_true(sw_signature_fits(plan, signature));
    assert_true(sw_signature_fits(same, signature));
}

static void a_changed_plan_or_another_key_does_not_fit(void **state)
{
    sw_auto(json) json_t *plan = json_pack("{s:s}", "job_id", "a");
    sw_autofree char *key = sw_signature_key_path();
    char signature[SW_DIGEST_HEX], cut[SW_DIGEST_HEX];

    (void)state;
    assert_int_equal(sw_signature_make(plan, signature, NULL), 0);
    snprintf(cut, sizeof cut, "%.20s", signature);
    assert_false(sw_signature_fits(plan, cut));
    assert_false(sw_signature_fits(plan, ""));
    assert_false(sw_signature_fits(plan, NULL));
    assert_false(sw_signature_fits(NULL, signature));
    json_object_set_new(plan, "hooks", json_object());
    assert_false(sw_signature_fits(plan, signature));
    json_object_del(plan, "hooks");
    assert_true(sw_signature_fits(plan, signature));
    unlink(key);
    assert_false(sw_signature_fits(plan, signature));              /* and none was made for it */
    assert_int_not_equal(access(key, F_OK), 0);
}

static void a_key_that_others_can_read_is_not_used(void **state)
{
    sw_auto(json) json_t *plan = json_object();
    sw_autofree char *key = sw_signature_key_path();
    char signature[SW_DIGEST_HEX];
    struct stat info;

    (void)state;
    assert_int_equal(sw_signature_make(plan, signature, NULL), 0);
    assert_int_equal(stat(key, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    chmod(key, 0644);
    assert_false(sw_signature_fits(plan, signature));
    assert_int_equal(sw_signature_make(plan, signature, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_signed_plan_fits_whatever_the_order_of_its_keys, own_home,
                                        no_home),
        cmocka_unit_test_setup_teardown(a_changed_plan_or_another_key_does_not_fit, own_home,
                                        no_home),
        cmocka_unit_test_setup_teardown(a_key_that_others_can_read_is_not_used, own_home, no_home),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
