/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_relay.c - `slipway-runner relay`: a runner elsewhere, seen in this container. The program is real.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#define BEGINS "slipway: report {\"begins\":true}\n"
#define REPORT(id, code) "slipway: report {\"job_id\":\"" id "\",\"phase\":\"over\",\"exit_code\":" code "}\n"

static char folder[] = "/tmp/slipway-relay-XXXXXX";

static int begin(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return sw_remove_tree(folder, NULL);
}

static pid_t start(const char *script)
{
    sw_autofree char *report = sw_path_join(folder, "report"), *out = sw_path_join(folder, "out");
    pid_t child = fork();

    if (child != 0)
        return child;
    if (!freopen(out, "w", stdout))
        _exit(99);
    execl(getenv("SLIPWAY_RUNNER"), "slipway-runner", "relay", "--report", report, "j-1", "sh", "-c", script,
          (char *)NULL);
    _exit(99);
}

static int code_of(pid_t child)
{
    int status = 0;

    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *text_of(const char *name)
{
    sw_autofree char *path = sw_path_join(folder, name);
    char *text = sw_file_read(path, 1 << 20, NULL, NULL);

    assert_non_null(text);
    return text;
}

static json_t *report(void)
{
    sw_autofree char *text = text_of("report");

    return sw_json_parse(text, strlen(text), "report", NULL);
}

static void the_end_that_the_log_reports_is_ours(void **state)
{
    sw_autofree char *out = NULL;
    sw_auto(json) json_t *left = NULL;

    (void)state;
    assert_int_equal(code_of(start("printf 'one\ntwo " REPORT("j-1", "3") "'; echo more; exit 1")), 3);
    out = text_of("out");
    assert_string_equal(out, BEGINS "one\ntwo " REPORT("j-1", "3"));
    left = report();
    assert_int_equal(sw_json_int(left, "exit_code", -1), 3);
    assert_string_equal(sw_json_str(left, "phase"), "over");
}

static void a_report_of_another_job_is_only_a_line(void **state)
{
    sw_auto(json) json_t *left = NULL;

    (void)state;
    assert_int_equal(code_of(start("printf '" REPORT("j-2", "0") "'")), 74);
    left = report();
    assert_string_equal(sw_json_str(left, "phase"), "lost");
}

static void a_heartbeat_is_not_the_end(void **state)
{
    (void)state;
    assert_int_equal(code_of(start("echo 'slipway: report {\"job_id\":\"j-1\",\"phase\":\"prepare\"}'; "
                                   "printf '" REPORT("j-1", "0") "'")), 0);
}

static void a_command_that_hangs_behind_the_report_is_ended(void **state)
{
    (void)state;
    assert_int_equal(code_of(start("printf '" REPORT("j-1", "5") "'; exec sleep 1000")), 5);
}

static void a_term_ends_it_while_nothing_was_printed(void **state)
{
    sw_auto(json) json_t *left = NULL;
    sw_autofree char *ready = sw_path_join(folder, "ready");
    sw_autofree char *script = sw_format("touch %s; exec sleep 1000", ready);
    int64_t until_ms = sw_monotonic_ms() + 60000;
    pid_t child;

    (void)state;
    child = start(script);
    while (!sw_file_exists(ready) && sw_monotonic_ms() < until_ms)
        sw_sleep_ms(20);
    kill(child, SIGTERM);
    assert_int_equal(code_of(child), 74);
    left = report();
    assert_true(sw_json_bool(left, "stopped", false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_that_the_log_reports_is_ours),
        cmocka_unit_test(a_report_of_another_job_is_only_a_line),
        cmocka_unit_test(a_heartbeat_is_not_the_end),
        cmocka_unit_test(a_command_that_hangs_behind_the_report_is_ended),
        cmocka_unit_test(a_term_ends_it_while_nothing_was_printed),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
