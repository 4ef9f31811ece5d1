/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_chunks.c - bytes in variables, and the shell text that puts them together, run by every shell an
 * image may have.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "platform/kit/chunks.h"

static const char *const shells[][2] = { { "dash", NULL }, { "busybox", "sh" }, { "bash", NULL } };

struct chunks_folder {
    char folder[64];
};

static int place_open(void **state)
{
    struct chunks_folder *here = sw_new(struct chunks_folder);

    snprintf(here->folder, sizeof here->folder, "/tmp/slipway-chunks-XXXXXX");
    *state = here;
    return mkdtemp(here->folder) ? 0 : -1;
}

static int place_close(void **state)
{
    struct chunks_folder *here = *state;

    sw_remove_tree(here->folder, NULL);
    free(here);
    return 0;
}

static pid_t start(const struct chunks_folder *here, const char *const shell[2], const char *script,
                   const json_t *env)
{
    pid_t pid = fork();

    if (pid == 0) {
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)env, name, value)
            setenv(name, json_string_value(value), 1);
        if (chdir(here->folder) < 0 || !freopen("said", "a", stderr))
            _exit(99);
        if (shell[1])
            execlp(shell[0], shell[0], shell[1], "-c", script, (char *)NULL);
        execlp(shell[0], shell[0], "-c", script, (char *)NULL);
        _exit(99);
    }
    return pid;
}

static int finish(pid_t pid)
{
    int status = 0;

    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool has_shell(const char *const shell[2])
{
    sw_autofree char *line = sw_format("command -v %s > /dev/null", shell[0]);

    return system(line) == 0;
}

/* Bytes that gzip cannot make shorter. */
static char *noise(size_t length)
{
    unsigned value = 1;
    char *bytes = sw_alloc(length);

    for (size_t i = 0; i < length; i++) {
        value = value * 1103515245 + 12345;
        bytes[i] = (char)(value >> 16);
    }
    return bytes;
}

static json_t *variables(const char *prefix, const char *bytes, size_t length, size_t chunk)
{
    const struct sw_chunk_limits limits = { "moon", chunk, 0 };
    json_t *env = json_object();

    assert_int_equal(sw_chunks_put(env, prefix, bytes, length, &limits, NULL), 0);
    return env;
}

static void pieces_are_as_long_as_the_platform_takes(void **state)
{
    static const size_t limits[] = { 9000, 96 * 1024 };
    sw_autofree char *bytes = noise(300000);

    (void)state;
    for (size_t i = 0; i < SW_COUNT(limits); i++) {
        sw_auto(json) json_t *env = variables("P", bytes, 300000, limits[i]);
        const char *name;
        json_t *value;

        assert_int_equal(json_string_length(json_object_get(env, "P_0")), limits[i]);
        assert_int_equal(atoi(sw_json_str(env, "P_COUNT")), json_object_size(env) - 1);
        json_object_foreach(env, name, value)
            assert_in_range(json_string_length(value), 1, limits[i]);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    const struct sw_chunk_limits limits = { "moon", 9000, 20000 };
    sw_auto(json) json_t *env = json_object();
    sw_autofree char *bytes = noise(30000);
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(sw_chunks_put(env, "P", bytes, 30000, &limits, &err), -1);
    assert_int_equal(err.code, SW_E_SPEC);
    assert_non_null(strstr(err.message, "too large to send to moon"));
    assert_int_equal(json_object_size(env), 0);
}

static void pieces_in_variables_are_put_together(void **state)
{
    static const size_t limits[] = { 9000, 96 * 1024 };
    const size_t length = 200000;
    struct chunks_folder *here = *state;
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_autofree char *path = sw_path_join(here->folder, "it's"), *bytes = noise(length);

    sw_buf_add(&script, "set -u\n");
    sw_chunks_shell(&script, "SLIPWAY_CODE", "it's");
    sw_buf_add(&script, "env | grep -c ^SLIPWAY_CODE > left; exit 0\n");
    for (size_t i = 0; i < SW_COUNT(shells) * SW_COUNT(limits); i++) {
        const char *const *shell = shells[i / SW_COUNT(limits)];
        sw_auto(json) json_t *env = variables("SLIPWAY_CODE", bytes, length, limits[i % SW_COUNT(limits)]);
        sw_autofree char *left = NULL, *left_path = sw_path_join(here->folder, "left"), *got = NULL;
        size_t size = 0;

        if (!has_shell(shell))
            continue;
        assert_int_equal(finish(start(here, shell, sw_buf_text(&script), env)), 0);
        got = sw_file_read(path, 1000000, &size, NULL);
        assert_int_equal(size, length);
        assert_memory_equal(got, bytes, size);
        left = sw_file_read(left_path, 100, NULL, NULL);
        assert_string_equal(left, "0\n");             /* the command's environment is clean */
        unlink(path);
    }
}

static void a_missing_piece_is_named(void **state)
{
    struct chunks_folder *here = *state;
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_autofree char *bytes = noise(30000);
    sw_auto(json) json_t *env = variables("P", bytes, 30000, 9000);
    sw_autofree char *said = sw_path_join(here->folder, "said"), *text = NULL;

    json_object_del(env, "P_2");
    sw_chunks_shell(&script, "P", "out");
    assert_int_equal(finish(start(here, shells[0], sw_buf_text(&script), env)), 74);
    text = sw_file_read(said, 10000, NULL, NULL);
    assert_non_null(strstr(text, "P_2 is missing"));
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, place_open, place_close)

/* What a job of several ranks sees, by rank; "-": the platform says nothing, so there is one. */
static void ranks_find_each_other_by_the_platforms_variables(void **state)
{
    static const struct { const char *index, *total, *seen; } cases[] = {
        { NULL, NULL, "0 1 127.0.0.1 29400 \n" },
        { "0", "1", "0 1 127.0.0.1 29400 \n" },
        { "0", "3", "0 3 w-0.j-svc 29400 w-1.j-svc,w-2.j-svc\n" },
        { "2", "3", "2 3 w-0.j-svc 29400 w-1.j-svc,w-2.j-svc\n" },
    };
    struct chunks_folder *here = *state;
    static const char script[] =
        "echo $NODE_RANK $NNODES $MASTER_ADDR $MASTER_PORT \"$WORKER_ADDRS\" > ranks\n";
    sw_auto(sw_buf) struct sw_buf line = SW_BUF_INIT, command = SW_BUF_INIT;
    sw_autofree char *path = sw_path_join(here->folder, "ranks");

    sw_buf_add(&line, "set -u\n");
    sw_chunks_rendezvous(&line, &(struct sw_chunks_ranks){
        "CLOUD_INDEX", "CLOUD_TOTAL", "$CLOUD_PREFIX-$sw_rank.$CLOUD_DOMAIN", 29400 });
    sw_chunks_command(&command, "SLIPWAY_JOB", sw_buf_text(&line));
    for (size_t i = 0; i < SW_COUNT(shells) * SW_COUNT(cases); i++) {
        const char *const *shell = shells[i / SW_COUNT(cases)];
        size_t which = i % SW_COUNT(cases);
        sw_auto(json) json_t *env = variables("SLIPWAY_JOB", script, sizeof script - 1, 9000);
        sw_auto(json) json_t *cloud = sw_json_object(
            SW_STR_OPT("CLOUD_INDEX", cases[which].index), SW_STR_OPT("CLOUD_TOTAL", cases[which].total),
            SW_STR("CLOUD_PREFIX", "w"), SW_STR("CLOUD_DOMAIN", "j-svc"), SW_STR("SLIPWAY_TMP",
                    here->folder));
        sw_autofree char *seen = NULL;

        json_object_update(env, cloud);

        if (!has_shell(shell))
            continue;
        assert_int_equal(finish(start(here, shell, sw_buf_text(&command), env)), 0);
        seen = sw_file_read(path, 1024, NULL, NULL);
        assert_string_equal(seen, cases[which].seen);
    }
}

/* The command runs what is in the variables, with the lines before it, wherever a file can be written. */
static void the_command_runs_the_script_of_the_variables(void **state)
{
    struct chunks_folder *here = *state;
    sw_auto(sw_buf) struct sw_buf command = SW_BUF_INIT;
    sw_autofree char *path = sw_path_join(here->folder, "ran");
    static const char script[] = "echo \"$GREETING ${SLIPWAY_JOB_COUNT-gone}\" > ran\n";

    sw_chunks_command(&command, "SLIPWAY_JOB", "export GREETING=hello\n");
    for (size_t i = 0; i < SW_COUNT(shells); i++) {
        sw_auto(json) json_t *env = variables("SLIPWAY_JOB", script, sizeof script - 1, 9000);
        sw_autofree char *ran = NULL;

        if (!has_shell(shells[i]))
            continue;
        json_object_set_new(env, "SLIPWAY_TMP", json_string(here->folder));
        assert_int_equal(finish(start(here, shells[i], sw_buf_text(&command), env)), 0);
        ran = sw_file_read(path, 1024, NULL, NULL);
        assert_string_equal(ran, "hello gone\n");
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_as_long_as_the_platform_takes),
        cmocka_unit_test(what_does_not_fit_is_refused),
        CLAIM(pieces_in_variables_are_put_together),
        CLAIM(a_missing_piece_is_named),
        CLAIM(ranks_find_each_other_by_the_platforms_variables),
        CLAIM(the_command_runs_the_script_of_the_variables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
