/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_brev_words.c - lists, types, versions and complaints of the brev program; names of instances.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "platform/brev/brev_internal.h"

static json_t *instances(const char *text)
{
    return brev_read_instances(text, strlen(text), NULL);
}

static void both_shapes_of_lists_are_read(void **state)
{
    static const struct {
        const char *text;
        size_t count;
    } rows[] = {
        { "[]", 0 },
        { "{\"workspaces\":null}", 0 },
        { "{\"workspaces\":[{\"name\":\"a\",\"id\":\"1\"}]}", 1 },
        { "{\"workspaces\":[{\"name\":\"a\",\"id\":\"1\"}],\"nodes\":null}", 1 },
        { "[{\"name\":\"a\",\"id\":\"1\"},{\"name\":\"b\",\"id\":\"2\"}]", 2 },
        { "A new version of brev has been released!\n[{\"name\":\"a\",\"id\":\"1\"}]", 1 },
        { "[{\"name\":\"-oPort=x\",\"id\":\"1\"},{\"name\":\"a\",\"id\":\"../x\"},{\"name\":7},3]", 0 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *list = instances(rows[i].text);

        assert_non_null(list);
        assert_int_equal(json_array_size(list), rows[i].count);
    }
}

static void what_is_no_list_is_out_of_reach(void **state)
{
    static const char *const texts[] = { "", "no instances", "{}", "{\"workspaces\":3}", "[{" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(texts); i++) {
        struct sw_error err = { 0 };

        assert_null(brev_read_instances(texts[i], strlen(texts[i]), &err));
        assert_int_not_equal(err.code, SW_OK);
    }
}

static void every_status_has_its_use(void **state)
{
    static const struct {
        const char *status, *build, *shell;
        enum brev_use use;
    } rows[] = {
        { "RUNNING", "COMPLETED", "READY", BREV_USABLE },
        { "RUNNING", "BUILDING", "NOT READY", BREV_COMING },
        { "UNHEALTHY", "COMPLETED", "READY", BREV_USABLE },
        { "DEPLOYING", "", "NOT READY", BREV_COMING },
        { "STARTING", "PENDING", "NOT READY", BREV_COMING },
        { "STOPPING", "COMPLETED", "NOT READY", BREV_GOING },
        { "STOPPED", "COMPLETED", "NOT READY", BREV_STOPPED },
        { "DELETING", "COMPLETED", "NOT READY", BREV_GOING },
        { "FAILURE", "COMPLETED", "NOT READY", BREV_FAILED },
        { "RUNNING", "CREATE_FAILED", "NOT READY", BREV_FAILED },
        { "HIBERNATING", "COMPLETED", "READY", BREV_UNCLEAR },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *one = json_pack("{s:s,s:s,s:s}", "status", rows[i].status, "build_status",
                                              rows[i].build, "shell_status", rows[i].shell);
        const char *note = NULL;

        assert_int_equal(brev_use(one, &note), rows[i].use);
        assert_non_null(note);
    }
}

static void the_cheapest_types_that_fit_come_first(void **state)
{
    static const char text[] =
        "[{\"type\":\"dear\",\"gpu_name\":\"NVIDIA A100-SXM4-80GB\",\"gpu_count\":2,\"price_per_hour\":9},"
        "{\"type\":\"cheap\",\"gpu_name\":\"A100\",\"gpu_count\":2,\"price_per_hour\":\"3.5\"},"
        "{\"type\":\"cheap\",\"gpu_name\":\"A100\",\"gpu_count\":2,\"price_per_hour\":4},"
        "{\"type\":\"small\",\"gpu_name\":\"A10\",\"gpu_count\":1,\"price_per_hour\":1},"
        "{\"type\":\"unpriced\",\"gpu_name\":\"A100\",\"gpu_count\":8},"
        "{\"type\":\"--evil\",\"gpu_name\":\"A100\",\"gpu_count\":8,\"price_per_hour\":0},"
        "{\"type\":\"plain\",\"gpu_count\":0,\"price_per_hour\":0.1}]";
    static const struct {
        const char *gpu;
        int count;
        const char *names;
    } rows[] = {
        { "A100", 2, "[\"cheap\",\"dear\",\"unpriced\"]" },
        { "a100", 8, "[\"unpriced\"]" },
        { "A10", 1, "[\"small\"]" },
        { NULL, 1, "[\"small\",\"cheap\",\"dear\",\"unpriced\"]" },
        { NULL, 0, "[\"plain\"]" },
        { "H100", 1, "[]" },
    };
    sw_auto(json) json_t *types = brev_read_types(text, strlen(text), NULL);

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *names = brev_choose_types(types, rows[i].gpu, rows[i].count);
        sw_autofree char *got = sw_json_dump(names);

        assert_string_equal(got, rows[i].names);
    }
    assert_true(brev_price(types, "cheap") == 3.5);
    assert_true(brev_price(types, "unpriced") < 0);
    assert_int_equal(brev_gpu_count(types, "dear"), 2);
}

static void a_version_is_a_number_that_grows(void **state)
{
    (void)state;
    assert_int_equal(brev_read_version("\nCurrent version: v0.6.327\n\nHello"), BREV_VERSION(0, 6, 327));
    assert_int_equal(brev_read_version("Current version: 0.6.9"), BREV_VERSION(0, 6, 9));
    assert_int_equal(brev_read_version("Current version: "), -1);
    assert_int_equal(brev_read_version(NULL), -1);
}

static void a_name_says_which_job_and_store_it_was_created_for(void **state)
{
    struct brev_mark mark;
    char name[BREV_NAME_SIZE];

    (void)state;
    brev_name(name, "slipway", "train-abcdefgh", "0123456789abcdef", 1);
    assert_string_equal(name, "slipway_train-abcdefgh_01234567");
    assert_true(brev_name_read(name, &mark));
    assert_string_equal(mark.job, "train-abcdefgh");
    assert_string_equal(mark.store, "01234567");
    brev_name(name, "my_pool", "train-abcdefgh", "0123456789abcdef", 12);
    assert_string_equal(name, "my_pool_train-abcdefgh_01234567_12");
    assert_true(brev_name_read(name, &mark));
    assert_int_equal(mark.attempt, 12);
    assert_string_equal(mark.job, "train-abcdefgh");
    brev_name(name, "a-pool-of-many-letters", "a2345678901234567890123456789012345", "0123456789abcdef", 999);
    assert_true(strlen(name) <= BREV_NAME_MAX && brev_name_valid(name));
    assert_true(brev_name_read(name, &mark));
}

static void other_names_are_not_taken_for_ours(void **state)
{
    static const char *const names[] = { "bench", "a_b", "_train_01234567", "x_train_0123456",
                                         "x_train_0123456g", "x__01234567", "x_UPPER_01234567", "01234567" };
    struct brev_mark mark;

    (void)state;
    for (size_t i = 0; i < SW_COUNT(names); i++)
        assert_false(brev_name_read(names[i], &mark));
}

/* One sentence for each row of the table, and some that hold its words by chance. */
static void complaints_have_codes(void **state)
{
    static const struct {
        const char *said;
        enum sw_code code;
    } rows[] = {
        { "Error: duplicate workspace with name x", SW_E_CONFLICT },
        { "You are currently logged out, continue? [y/n]: ", SW_E_CREDENTIAL },
        { "Please log in: brev login", SW_E_CREDENTIAL },
        { "Error: Unauthorized", SW_E_CREDENTIAL },
        { "rpc error: code = Unauthenticated desc = no token", SW_E_CREDENTIAL },
        { "GET /api/me: status 401: no", SW_E_CREDENTIAL },
        { "https://service: 403", SW_E_CREDENTIAL },
        { "unable to read from stdin: EOF", SW_E_CREDENTIAL },
        { "prompt failed: no TTY", SW_E_CREDENTIAL },
        { "Error: unknown flag: --detached", SW_E_UNSUPPORTED },
        { "Error: unknown shorthand flag: 'd' in -d", SW_E_UNSUPPORTED },
        { "Error: unknown command \"search\" for \"brev\"", SW_E_UNSUPPORTED },
        { "lookup brevapi: no such host", SW_E_UNREACHABLE },
        { "dial tcp 192.0.2.1:443: network is unreachable", SW_E_UNREACHABLE },
        { "read: connection reset by peer", SW_E_UNREACHABLE },
        { "connect: connection refused", SW_E_UNREACHABLE },
        { "net/http: TLS handshake timeout", SW_E_UNREACHABLE },
        { "context deadline exceeded", SW_E_UNREACHABLE },
        { "Post \"https://service\": unexpected EOF", SW_E_UNREACHABLE },
        { "502 Bad Gateway", SW_E_UNREACHABLE },
        { "status 503", SW_E_UNREACHABLE },
        { "insufficient capacity", SW_E_REFUSED },
        { "instance i4013503 could not be built", SW_E_REFUSED },
        { "type catalog incomplete", SW_E_REFUSED },
        { "", SW_E_REFUSED },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_error err = { 0 };

        assert_int_equal(brev_explain(rows[i].said, &err), -1);
        assert_int_equal(err.code, rows[i].code);
        assert_true(err.code == SW_E_REFUSED || strstr(err.message, rows[i].said));
    }
}

static void ssh_reaches_the_machine_by_its_own_entry(void **state)
{
    static const char config[] = "# Host not-this\nHost one\n  Port 1\nHost\tone-host \n  Port 2\nHost two\n";
    sw_autofree char *one = brev_ssh_alias(config, "one"), *two = brev_ssh_alias(config, "two");

    (void)state;
    assert_string_equal(one, "one-host");
    assert_string_equal(two, "two");
    assert_null(brev_ssh_alias(config, "on"));
    assert_null(brev_ssh_alias(config, "not-this"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_shapes_of_lists_are_read),
        cmocka_unit_test(what_is_no_list_is_out_of_reach),
        cmocka_unit_test(every_status_has_its_use),
        cmocka_unit_test(the_cheapest_types_that_fit_come_first),
        cmocka_unit_test(a_version_is_a_number_that_grows),
        cmocka_unit_test(a_name_says_which_job_and_store_it_was_created_for),
        cmocka_unit_test(other_names_are_not_taken_for_ours),
        cmocka_unit_test(complaints_have_codes),
        cmocka_unit_test(ssh_reaches_the_machine_by_its_own_entry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
