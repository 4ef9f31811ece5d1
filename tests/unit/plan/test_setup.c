/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_setup.c - `setup:` as words before a command, run by every shell an image may have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "plan/entrypoint.h"
#include "plan/setup.h"

static const char *const shells[][2] = { { "dash", NULL }, { "busybox", "sh" }, { "bash", NULL } };

static struct sw_plan *plan_of(const char *job, struct sw_error *err)
{
    sw_auto(json) json_t *values = json_loads(job, 0, NULL);
    sw_auto(json) json_t *empty = json_object();
    struct sw_spec spec = { .platform = (char *)"docker", .job = values, .options = empty, .sources = empty };

    return sw_plan_make(&spec, "setup-aaaaaaaa", "/base", err);
}

static struct sw_payload *payload_of(const char *job)
{
    struct sw_error err = { 0 };
    sw_auto(sw_plan) struct sw_plan *plan = plan_of(job, &err);
    struct sw_payload *payload = plan ? sw_entrypoint_payload(plan, &err) : NULL;

    if (!payload)
        fail_msg("%s", err.message);
    return payload;
}

static const char *word(const struct sw_payload *payload, size_t i)
{
    return json_string_value(json_array_get(payload->entrypoint, i));
}

static void a_job_without_setup_is_as_before(void **state)
{
    sw_auto(sw_payload) struct sw_payload *payload = payload_of("{\"command\":\"x\"}");

    (void)state;
    sw_setup_place(payload, &(struct sw_setup_place){ .own = "/o" });
    assert_null(payload->entrypoint);
    assert_null(sw_setup_text(payload));
}

static void the_words_say_what_and_where(void **state)
{
    sw_auto(sw_payload) struct sw_payload *payload =
        payload_of("{\"command\":\"x\",\"setup\":[\"one\",\"two 'x'\"],\"cache\":\"/c\"}");
    sw_auto(json) json_t *entry = json_pack("[s, s]", "/init", "--");
    sw_auto(sw_payload) struct sw_payload *other =
        payload_of("{\"command\":\"x\",\"setup\":[\"one\",\"two 'x'\"],\"image\":\"i\"}");

    (void)state;
    assert_string_equal(sw_setup_text(payload), "one\ntwo 'x'");
    assert_string_equal(word(payload, 0), "/bin/sh");
    assert_string_equal(word(payload, 6), "");
    assert_string_equal(word(payload, 7), "/c/.slipway-setup");
    assert_string_equal(word(payload, 8), "fresh");
    assert_int_equal(strlen(word(payload, 5)), 16);
    assert_string_not_equal(word(payload, 5), word(other, 5));         /* another image, another result */
    sw_setup_place(payload, &(struct sw_setup_place){ .own = "/o", .cache = "/k" });
    sw_setup_then(payload, entry);
    assert_string_equal(word(payload, 6), "/o");
    assert_string_equal(word(payload, 7), "/k");
    assert_string_equal(word(payload, 8), "");
    assert_string_equal(word(payload, 9), "/init");
    assert_int_equal(json_array_size(payload->entrypoint), 11);
}

static void what_a_shell_cannot_take_is_refused(void **state)
{
    sw_auto(sw_buf) struct sw_buf job = SW_BUF_INIT;
    struct sw_error err = { 0 };

    (void)state;
    sw_buf_add(&job, "{\"command\":\"x\",\"setup\":[\"");
    for (int i = 0; i < 70 * 1024; i++)
        sw_buf_add_char(&job, 'x');
    sw_buf_add(&job, "\"]}");
    assert_null(plan_of(sw_buf_text(&job), &err));
    assert_int_equal(err.code, SW_E_SPEC);
    assert_non_null(strstr(err.message, "setup: 70 KiB are too long, at most 64"));
}

/* ---- run ------------------------------------------------------------------------------------------ */

struct stage {
    char dir[64];
    const char *const *shell;
};

static bool has_program(const char *name)
{
    sw_autofree char *line = sw_format("command -v %s > /dev/null", name);

    return system(line) == 0;
}

/* The words with this shell, in the stage's folder; its output in the file `out`. Returns the exit status. */
static int run(const struct stage *stage, const struct sw_payload *payload, const char *attempt)
{
    char *words[24] = { (char *)stage->shell[0], (char *)stage->shell[1] };
    size_t count = stage->shell[1] ? 2 : 1;
    int status = 0;
    pid_t pid;

    for (size_t i = 1; i < json_array_size(payload->entrypoint); i++)
        words[count++] = (char *)word(payload, i);
    words[count++] = (char *)"sh";
    words[count++] = (char *)"-c";
    words[count++] = (char *)"echo \"ran with $1 $(ls \"$SLIPWAY_SETUP_DIR\")\"";
    words[count++] = (char *)"sh";
    words[count++] = (char *)"a b";
    pid = fork();
    if (pid == 0) {
        if (chdir(stage->dir) < 0 || !freopen("out", "w", stdout) || dup2(1, 2) < 0)
            _exit(99);
        setenv("SLIPWAY_ATTEMPT", attempt, 1);
        setenv("TMPDIR", stage->dir, 1);
        execvp(words[0], words);
        _exit(99);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_out(const struct stage *stage, const char *part)
{
    sw_autofree char *path = sw_path_join(stage->dir, "out"), *text = sw_file_read(path, 1 << 20, NULL, NULL);

    if (!text || !strstr(text, part))
        fail_msg("%s: no '%s' in: %s", stage->shell[0], part, text ? text : "(nothing)");
}

static size_t times(const struct stage *stage)
{
    sw_autofree char *path = sw_path_join(stage->dir, "count");
    sw_autofree char *text = sw_file_read(path, 1 << 20, NULL, NULL);

    return text ? strlen(text) : 0;
}

static void try_kept(const struct stage *stage)
{
    sw_auto(sw_payload) struct sw_payload *payload =
        payload_of("{\"command\":\"x\",\"setup\":[\"printf x >>co\\\"\\\"unt\","
                   "\"touch $SLIPWAY_SETUP_DIR/made\"]}");
    sw_autofree char *cache = sw_path_join(stage->dir, "cache"), *file = sw_path_join(stage->dir, "uv.lock");

    sw_setup_place(payload, &(struct sw_setup_place){ .cache = cache, .fresh = true });
    sw_remove_tree(cache, NULL);
    assert_int_equal(run(stage, payload, "1"), 0);
    expect_out(stage, "ran with a b made\n");
    assert_int_equal(run(stage, payload, "2"), 0);
    expect_out(stage, "slipway: setup: done before, in ");
    expect_out(stage, "ran with a b made\n");
    assert_int_equal(times(stage), 1);
    assert_int_equal(sw_file_write(file, stage->shell[0], 2, 0600, NULL), 0);
    assert_int_equal(run(stage, payload, "3"), 0);
    assert_int_equal(times(stage), 2);                     /* a file that its tools read is another one */
}

static void try_own(const struct stage *stage, bool fresh, size_t expected)
{
    sw_auto(sw_payload) struct sw_payload *payload =
        payload_of("{\"command\":\"x\",\"setup\":[\"printf x >>co\\\"\\\"unt\"]}");
    sw_autofree char *own = sw_path_join(stage->dir, fresh ? "fresh" : "own");

    sw_setup_place(payload, &(struct sw_setup_place){ .own = own, .cache = own, .fresh = fresh });
    assert_int_equal(run(stage, payload, "1"), 0);
    assert_int_equal(run(stage, payload, "1"), 0);
    assert_int_equal(run(stage, payload, "2"), 0);
    assert_int_equal(times(stage), expected);
}

static void try_alone_and_failing(const struct stage *stage)
{
    sw_auto(sw_payload) struct sw_payload *payload =
        payload_of("{\"command\":\"x\",\"setup\":[\"echo before\",\"exit 9\",\"echo never\"]}");

    assert_int_equal(run(stage, payload, "1"), 9);
    expect_out(stage, "before\n");
    expect_out(stage, "slipway: setup failed with exit code 9: the command was not started\n");
}

static void every_shell_runs_it_as_promised(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(shells); i++) {
        struct stage stage = { "/tmp/slipway-setup-XXXXXX", shells[i] };
        sw_autofree char *count = NULL;

        if (!has_program(shells[i][0]))
            continue;
        assert_non_null(mkdtemp(stage.dir));
        count = sw_path_join(stage.dir, "count");
        try_kept(&stage);
        unlink(count);
        try_own(&stage, false, 1);
        unlink(count);
        try_own(&stage, true, 2);
        try_alone_and_failing(&stage);
        sw_remove_tree(stage.dir, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_without_setup_is_as_before),
        cmocka_unit_test(the_words_say_what_and_where),
        cmocka_unit_test(what_a_shell_cannot_take_is_refused),
        cmocka_unit_test(every_shell_runs_it_as_promised),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
