/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_run.c - the runner as a program: exit codes, signals passed on, preparing and collecting.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/payload.h"

struct place {
    char folder[64];
    struct sw_payload *payload;
};

static int place_open(void **state)
{
    struct place *here = sw_new(struct place);

    snprintf(here->folder, sizeof here->folder, "/tmp/slipway-run-XXXXXX");
    if (!mkdtemp(here->folder))
        return -1;
    here->payload = sw_payload_new();
    snprintf(here->payload->job_id, sizeof here->payload->job_id, "test-aaaaaaaa");
    here->payload->command_dir = sw_strdup(here->folder);
    here->payload->scratch_dir = sw_path_join(here->folder, "work");
    here->payload->results_dir = sw_path_join(here->folder, "results");
    here->payload->grace_ms = 5000;
    *state = here;
    return 0;
}

static int place_close(void **state)
{
    struct place *here = *state;

    sw_remove_tree(here->folder, NULL);
    sw_payload_free(here->payload);
    free(here);
    return 0;
}

static char *in(struct place *here, const char *name)
{
    return sw_path_join(here->folder, name);
}

static pid_t start(struct place *here, const char *mode)
{
    sw_autofree char *path = in(here, "payload.json");
    sw_autofree char *report = in(here, "report.json");
    sw_autofree char *out = in(here, "out");
    sw_auto(json) json_t *json = sw_payload_to_json(here->payload);
    sw_autofree char *text = sw_json_dump(json);
    pid_t pid;

    assert_int_equal(sw_file_write(path, text, strlen(text), 0600, NULL), 0);
    pid = fork();
    if (pid == 0) {
        int fd = open(out, O_WRONLY | O_CREAT | O_APPEND, 0600);

        dup2(fd, 1);
        dup2(fd, 2);
        execl(getenv("SLIPWAY_RUNNER"), "slipway-runner", mode, "--report", report, path, NULL);
        _exit(99);
    }
    return pid;
}

static int finish(pid_t pid)
{
    int status = 0;

    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int run(struct place *here, const char *command)
{
    free(here->payload->command);
    here->payload->command = sw_strdup(command);
    return finish(start(here, "run"));
}

static int64_t reported(struct place *here, const char *key)
{
    sw_autofree char *path = in(here, "report.json");
    size_t length = 0;
    sw_autofree char *text = sw_file_read(path, 10000, &length, NULL);
    sw_auto(json) json_t *json = text ? sw_json_parse(text, length, path, NULL) : NULL;

    return sw_json_int(json, key, -1);
}

static void wait_for_file(const char *path)
{
    for (int64_t deadline = sw_monotonic_ms() + 30000; !sw_file_exists(path); sw_sleep_ms(5))
        if (sw_monotonic_ms() > deadline)
            fail_msg("'%s' never appears", path);
}

static void the_exit_code_is_the_commands(void **state)
{
    assert_int_equal(run(*state, "exit 0"), 0);
    assert_int_equal(run(*state, "exit 3"), 3);
    assert_int_equal(reported(*state, "exit_code"), 3);
    assert_int_equal(reported(*state, "signal"), 0);
}

static void a_signal_is_128_more_and_the_report_names_it(void **state)
{
    assert_int_equal(run(*state, "kill -KILL $$"), 137);
    assert_int_equal(reported(*state, "signal"), SIGKILL);
}

static void term_is_passed_on_to_the_whole_group(void **state)
{
    struct place *here = *state;
    sw_autofree char *ready = in(here, "ready");
    sw_autofree char *heard = in(here, "heard");
    pid_t pid;

    here->payload->command =
        sw_strdup("trap 'wait; exit 9' TERM; sh -c 'trap \"touch heard; exit 0\" TERM; touch ready;"
                  " while true; do sleep 0.02; done' & wait; wait");
    pid = start(here, "run");
    wait_for_file(ready);
    kill(pid, SIGTERM);
    assert_int_equal(finish(pid), 9);
    assert_true(sw_file_exists(heard));
}

static void a_command_deaf_to_term_is_killed_after_the_grace(void **state)
{
    struct place *here = *state;
    sw_autofree char *ready = in(here, "ready");
    pid_t pid;

    here->payload->grace_ms = 100;
    here->payload->command = sw_strdup("trap '' TERM; touch ready; while true; do sleep 1; done");
    pid = start(here, "run");
    wait_for_file(ready);
    kill(pid, SIGTERM);
    assert_int_equal(finish(pid), 128 + SIGKILL);
}

static void words_are_run_without_a_shell(void **state)
{
    struct place *here = *state;
    sw_autofree char *out = in(here, "out");
    sw_autofree char *text = NULL;

    here->payload->argv = json_pack("[s, s, s]", "printf", "%s", "$HOME `x` *");
    assert_int_equal(finish(start(here, "run")), 0);
    text = sw_file_read(out, 1000, NULL, NULL);
    assert_string_equal(text, "$HOME `x` *");
}

static void prepare_links_inputs_makes_outputs_and_writes_the_config(void **state)
{
    struct place *here = *state;
    sw_autofree char *source = in(here, "source"), *target = in(here, "a/b/input");
    sw_autofree char *folder = in(here, "results/x"), *config = in(here, "w/spec.yaml");
    sw_autofree char *text = NULL, *spec = NULL;

    assert_int_equal(sw_file_write(source, "hello", 5, 0600, NULL), 0);
    here->payload->command = sw_strdup("true");
    here->payload->inputs = json_pack("[{s:s, s:s}]", "path", target, "from", source);
    here->payload->outputs = json_pack("[{s:s}]", "path", folder);
    here->payload->config = json_pack("{s:s}", "answer", "no");
    here->payload->config_path = sw_strdup(config);
    assert_int_equal(finish(start(here, "prepare")), 0);
    assert_int_equal(finish(start(here, "prepare")), 0);      /* once more does no harm */
    text = sw_file_read(target, 100, NULL, NULL);
    spec = sw_file_read(config, 100, NULL, NULL);
    assert_string_equal(text, "hello");
    assert_non_null(spec);
    assert_null(strstr(spec, "answer: no\n"));                /* quoted: a text, not false */
    assert_true(sw_file_exists(folder));
}

static void a_missing_input_is_named(void **state)
{
    struct place *here = *state;
    sw_autofree char *target = in(here, "input"), *out = in(here, "out"), *text = NULL;

    here->payload->command = sw_strdup("true");
    here->payload->inputs = json_pack("[{s:s, s:s}]", "path", target, "from", "/no/such/input");
    assert_int_equal(finish(start(here, "prepare")), 74);
    text = sw_file_read(out, 1000, NULL, NULL);
    assert_non_null(strstr(text, "/no/such/input"));
}

static void collect_brings_every_output_it_can(void **state)
{
    struct place *here = *state;
    sw_autofree char *one = in(here, "one"), *file = in(here, "one/f"), *to = in(here, "to/deep");
    sw_autofree char *arrived = in(here, "to/deep/f");

    assert_int_equal(sw_mkdirs(one, 0755, NULL), 0);
    assert_int_equal(sw_file_write(file, "x", 1, 0600, NULL), 0);
    here->payload->command = sw_strdup("true");
    here->payload->outputs = json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s}]", "path", one, "to",
                                       "/proc/nowhere", "path", one, "to", to, "path", one);
    assert_int_equal(finish(start(here, "collect")), 74);
    assert_true(sw_file_exists(arrived));
}

static void collect_leaves_out_what_is_excluded(void **state)
{
    struct place *here = *state;
    sw_autofree char *deep = in(here, "one/cache/deep"), *to = in(here, "to");
    static const struct {
        const char *made, *copied;
        bool arrives;
    } files[] = {
        { "one/model.pth", "to/model.pth", true },
        { "one/x.tmp", "to/x.tmp", false },
        { "one/cache/deep/y.tmp", "to/cache/deep/y.tmp", false },
        { "one/cache/z", "to/cache/z", false },
    };
    sw_autofree char *one = in(here, "one");

    assert_int_equal(sw_mkdirs(deep, 0755, NULL), 0);
    for (size_t i = 0; i < SW_COUNT(files); i++) {
        sw_autofree char *path = in(here, files[i].made);

        assert_int_equal(sw_file_write(path, "x", 1, 0600, NULL), 0);
    }
    here->payload->command = sw_strdup("true");
    here->payload->outputs = json_pack("[{s:s, s:s, s:[s, s]}]", "path", one, "to", to, "exclude",
                                       "*.tmp", "cache/");
    assert_int_equal(finish(start(here, "collect")), 0);
    for (size_t i = 0; i < SW_COUNT(files); i++) {
        sw_autofree char *path = in(here, files[i].copied);

        assert_int_equal(sw_file_exists(path), files[i].arrives);
    }
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, place_open, place_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(the_exit_code_is_the_commands),
        CLAIM(a_signal_is_128_more_and_the_report_names_it),
        CLAIM(term_is_passed_on_to_the_whole_group),
        CLAIM(a_command_deaf_to_term_is_killed_after_the_grace),
        CLAIM(words_are_run_without_a_shell),
        CLAIM(prepare_links_inputs_makes_outputs_and_writes_the_config),
        CLAIM(a_missing_input_is_named),
        CLAIM(collect_brings_every_output_it_can),
        CLAIM(collect_leaves_out_what_is_excluded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
