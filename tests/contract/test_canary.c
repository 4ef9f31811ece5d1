/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_canary.c - the search for the secret finds it: a check of the check.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "canary.h"

struct place {
    char dir[32];
    struct canary *canary;
};

static int set_up(void **state)
{
    struct place *place = sw_new(struct place);

    snprintf(place->dir, sizeof place->dir, "/tmp/canary-XXXXXX");
    if (!mkdtemp(place->dir))
        return -1;
    place->canary = canary_new();
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;

    canary_free(place->canary);
    sw_remove_tree(place->dir, NULL);
    free(place);
    return 0;
}

/* Let a shell write the secret in some spelling after `ahead` other bytes, then search. */
static void expect_found(struct place *place, const char *recipe)
{
    sw_autofree char *command = sw_format("mkdir -p %s/deep; (%s) >%s/deep/file", place->dir,
                                          recipe, place->dir);

    assert_null(canary_found(place->canary));
    assert_int_equal(system(command), 0);
    canary_search(place->canary, place->dir);
    if (!canary_found(place->canary))
        fail_msg("not found: %s", recipe);
}

static void it_is_found_plain_far_inside_a_file(void **state)
{
    expect_found(*state, "head -c 262140 /dev/zero; printf %s \"$CANARY_TOKEN\"; echo x");
}

static void it_is_found_in_base64(void **state)
{
    expect_found(*state, "printf %s \"$CANARY_TOKEN\" | base64 -w0");
}

static void it_is_found_in_base64_after_one_byte(void **state)
{
    expect_found(*state, "printf %s \"x$CANARY_TOKEN,yz\" | base64 -w0");
}

static void it_is_found_in_base64_after_two_bytes(void **state)
{
    expect_found(*state, "printf %s \"xy$CANARY_TOKEN and more\" | base64 -w0");
}

static void it_is_found_url_escaped(void **state)
{
    expect_found(*state,
                 "printf %s \"$CANARY_TOKEN\" | sed 's,/,%2F,g; s,+,%2B,g; s,=,%3D,g'");
}

static void it_is_found_in_an_argument_list(void **state)
{
    struct place *place = *state;
    int64_t deadline = sw_monotonic_ms() + 5000;
    pid_t child = fork();

    if (child == 0) {
        execl("/bin/sleep", canary_value(place->canary), "5", (char *)NULL);
        _exit(127);
    }
    while (!canary_found(place->canary) && sw_monotonic_ms() < deadline)
        sw_sleep_ms(5);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_non_null(canary_found(place->canary));
}

static void it_is_not_found_where_it_is_not(void **state)
{
    struct place *place = *state;
    sw_autofree char *path = sw_path_join(place->dir, "file");

    assert_int_equal(sw_file_write(path, "[redacted] cny/ +k=", 19, 0600, NULL), 0);
    canary_search(place->canary, place->dir);
    canary_heard(place->canary, "missing", "nothing");
    assert_null(canary_found(place->canary));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(it_is_found_plain_far_inside_a_file),
        CASE(it_is_found_in_base64),
        CASE(it_is_found_in_base64_after_one_byte),
        CASE(it_is_found_in_base64_after_two_bytes),
        CASE(it_is_found_url_escaped),
        CASE(it_is_found_in_an_argument_list),
        CASE(it_is_not_found_where_it_is_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
