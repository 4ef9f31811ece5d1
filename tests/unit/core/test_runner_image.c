/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_runner_image.c - the runner's bytes are found beside the program, or inside it.
 */
#include "core/runner_image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"

static void an_unknown_kind_of_machine_has_no_runner(void **state)
{
    struct sw_error err = { 0 };
    size_t size;

    (void)state;
    assert_null(sw_embedded_runner("sparc", &size, &err));
    assert_int_equal(err.code, SW_E_NOT_FOUND);
    assert_non_null(strstr(err.hint, "aarch64"));
}

static void a_runner_lies_where_the_helpers_are(void **state)
{
    char folder[] = "/tmp/slipway-runner-image-XXXXXX";
    struct sw_error err = { 0 };
    sw_autofree char *path = NULL;
    const void *bytes, *again;
    size_t size = 0;

    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("SLIPWAY_LIBEXEC_DIR", folder, 1);
    unsetenv("SLIPWAY_RUNNERS");
    path = sw_path_join(folder, "slipway-runner-aarch64");
    assert_int_equal(sw_file_write(path, "ELF", 3, 0700, NULL), 0);
    bytes = sw_embedded_runner("aarch64", &size, &err);
    assert_non_null(bytes);
    assert_int_equal(size, 3);
    assert_memory_equal(bytes, "ELF", 3);
    assert_int_equal(sw_remove_tree(folder, NULL), 0);
    again = sw_embedded_runner("aarch64", &size, &err);
    assert_ptr_equal(again, bytes);
}

static void what_the_program_carries_comes_first(void **state)
{
    static const char inside[] = "inside";
    size_t size = 0;

    (void)state;
    sw_runner_image_inside("x86_64", inside, sizeof inside);
    assert_ptr_equal(sw_embedded_runner("x86_64", &size, NULL), inside);
    assert_int_equal(size, sizeof inside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_kind_of_machine_has_no_runner),
        cmocka_unit_test(a_runner_lies_where_the_helpers_are),
        cmocka_unit_test(what_the_program_carries_comes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
