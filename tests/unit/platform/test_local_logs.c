/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_local_logs.c - logs: exact bytes, any size in bounded memory, secrets filtered, a full
 * disk noticed.
 */
#include "local_fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

static long peak_kib(const char *pid)
{
    sw_autofree char *path = sw_format("/proc/%s/status", pid);
    sw_autofree char *text = sw_file_read(path, 65536, NULL, NULL);
    const char *line = text ? strstr(text, "VmHWM:") : NULL;

    return line ? atol(line + 6) : 0;
}

static void a_large_log_is_whole_and_its_supervisor_small(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *go_on = sw_format("%s/go-on", here->folder);
    const char *id = fixture_launch(here, "head -c 200000000 /dev/zero | tr '\\0' x; touch done;"
                                        "while [ ! -e go-on ]; do sleep 0.02; done");
    sw_autofree char *done = sw_format("%s/done", here->folder);
    struct sw_jobref job = fixture_ref(id);
    int64_t size = 0;

    fixture_wait_file(done);
    fixture_look(here, id);
    assert_in_range(peak_kib(here->seen.remote_id), 1, 64 * 1024);
    assert_int_equal(sw_file_write(go_on, "", 0, 0600, NULL), 0);
    fixture_wait_over(here, id);
    assert_int_equal(here->seen.state, SW_COMPLETE);
    assert_int_equal(sw_platform_local.log_size(here->conn, &job, 0, &size, NULL), 0);
    assert_int_equal(size, 200000000);
}

static void a_log_is_read_by_offset(void **state)
{
    struct fixture *here = *state;
    const char *id = fixture_launch(here, "printf 0123456789");
    struct sw_jobref job = fixture_ref(id);
    char bytes[8];

    fixture_wait_over(here, id);
    assert_int_equal(sw_platform_local.log_read(here->conn, &job, 0, 4, bytes, 3, NULL), 3);
    assert_memory_equal(bytes, "456", 3);
    assert_int_equal(sw_platform_local.log_read(here->conn, &job, 0, 10, bytes, 3, NULL), 0);
    assert_int_equal(sw_platform_local.log_read(here->conn, &job, 9, 0, bytes, 3, NULL), 0);
}

/* Every file of the job is searched for the value. */
static int search(void *context, const char *relative, const struct stat *info)
{
    struct fixture *here = context;
    sw_autofree char *path = sw_path_join(here->folder, relative);
    sw_autofree char *text = S_ISREG(info->st_mode) ? sw_file_read(path, 1 << 20, NULL, NULL) : NULL;

    if (text && strstr(text, "canary-secret"))
        fail_msg("the secret is in %s", relative);
    return 0;
}

static void a_secret_reaches_the_job_and_stands_nowhere(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *log = NULL;

    setenv("MY_TOKEN", "canary-secret-value", 1);
    assert_int_equal(sw_secrets_add_env(here->secrets, "MY_TOKEN", NULL), 0);
    unsetenv("MY_TOKEN");
    json_array_append_new(here->plan->secrets, json_string("MY_TOKEN"));
    fixture_launch(here, "echo length ${#MY_TOKEN}; echo $MY_TOKEN;"
                       "printf canary-; sleep 0.1; printf secret-value; echo");
    fixture_wait_over(here, here->id);
    log = fixture_log(here, here->id, 0);
    assert_string_equal(log, "length 19\n[redacted]\n[redacted]\n");
    assert_int_equal(sw_walk(here->folder, search, here, NULL), 0);
}

static void a_secret_that_did_not_arrive_stops_the_submit(void **state)
{
    struct fixture *here = *state;
    struct sw_submission receipt = { 0 };
    struct sw_error err = { 0 };

    json_array_append_new(here->plan->secrets, json_string("MY_TOKEN"));
    fixture_command(here, "true");
    assert_int_equal(sw_platform_local.submit(here->conn, here->plan, 1, here->secrets, &receipt,
                                              &err), -1);
    assert_non_null(strstr(err.message, "secrets"));
    assert_int_equal(fixture_look(here, here->plan->job_id)->presence, SW_ABSENT);
}

/* The limit on file sizes replaces a full disk: write() fails in the same way. */
static void a_log_that_cannot_be_written_is_said_and_counted(void **state)
{
    struct fixture *here = *state;
    struct rlimit before, small;
    struct sw_evidence evidence = { 0 };
    struct sw_jobref job;

    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){ .rlim_cur = 1 << 20, .rlim_max = before.rlim_max };
    setrlimit(RLIMIT_FSIZE, &small);
    fixture_option(here, "disk_wait", json_string("1s"));
    fixture_launch(here, "head -c 1500000 /dev/zero | tr '\\0' x");
    setrlimit(RLIMIT_FSIZE, &before);
    job = fixture_ref(here->id);
    fixture_wait_over(here, here->id);
    assert_int_equal(here->seen.state, SW_ERROR);
    assert_string_equal(here->seen.reason, "disk");
    fixture_evidence(here, &job, &evidence);
    assert_true(sw_json_int(evidence.facts, "log_bytes_lost", 0) > 0);
    sw_evidence_done(&evidence);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(a_large_log_is_whole_and_its_supervisor_small),
        CLAIM(a_log_is_read_by_offset),
        CLAIM(a_secret_reaches_the_job_and_stands_nowhere),
        CLAIM(a_secret_that_did_not_arrive_stops_the_submit),
        CLAIM(a_log_that_cannot_be_written_is_said_and_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
