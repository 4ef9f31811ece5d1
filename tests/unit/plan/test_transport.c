/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_transport.c - how code travels, and the shell text that puts it together, run by every
 * shell an image may have.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "plan/bundle.h"

static const char *const shells[][2] = { { "dash", NULL }, { "busybox", "sh" }, { "bash", NULL } };

struct place {
    char folder[64];
};

static int place_open(void **state)
{
    struct place *here = sw_new(struct place);

    snprintf(here->folder, sizeof here->folder, "/tmp/slipway-transport-XXXXXX");
    *state = here;
    return mkdtemp(here->folder) ? 0 : -1;
}

static int place_close(void **state)
{
    struct place *here = *state;

    sw_remove_tree(here->folder, NULL);
    free(here);
    return 0;
}

static pid_t start(const struct place *here, const char *const shell[2], const char *script,
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

static void every_platform_has_its_way(void **state)
{
    static const struct {
        const char *platform;
        enum sw_transport_kind kind;
        size_t chunk;
    } rows[] = {
        { "local", SW_BY_EXEC, 0 },          { "docker", SW_BY_ARCHIVE, 0 },
        { "slurm", SW_BY_SHARED_FOLDER, 0 }, { "kubernetes", SW_BY_CONFIG_MAP, 0 },
        { "lepton", SW_BY_ENVIRONMENT, 98304 }, { "runai", SW_BY_ENVIRONMENT, 9000 },
        { "ray", SW_BY_WORKING_DIR, 0 },     { "brev", SW_BY_COPY, 0 },
    };
    struct sw_error err = { 0 };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        const struct sw_transport *way = sw_transport_for(rows[i].platform, NULL);

        assert_non_null(way);
        assert_int_equal(way->kind, rows[i].kind);
        assert_int_equal(way->chunk, rows[i].chunk);
    }
    assert_null(sw_transport_for("moon", &err));
    assert_int_equal(sw_transport_fits(sw_transport_for("kubernetes", NULL), 2 << 20, &err), -1);
    assert_int_equal(sw_transport_fits(sw_transport_for("slurm", NULL), 2 << 20, NULL), 0);
}

static void make_noise(struct sw_buf *out, size_t length)
{
    unsigned value = 1;
    sw_auto(sw_buf) struct sw_buf noise = SW_BUF_INIT;

    for (size_t i = 0; i < length; i++) {
        value = value * 1103515245 + 12345;
        sw_buf_add_char(&noise, (char)(value >> 16));
    }
    sw_gzip(noise.data, noise.length, out);
}

static void pieces_in_variables_are_put_together(void **state)
{
    static const size_t chunks[] = { 9000, 96 * 1024 };
    struct place *here = *state;
    sw_auto(sw_buf) struct sw_buf bytes = SW_BUF_INIT, script = SW_BUF_INIT;
    sw_autofree char *path = sw_path_join(here->folder, "it's");

    make_noise(&bytes, 200000);
    sw_transport_assemble(&script, "SLIPWAY_CODE", "it's");
    sw_buf_add(&script, "env | grep -c ^SLIPWAY_CODE > left; exit 0\n");
    for (size_t i = 0; i < SW_COUNT(shells) * SW_COUNT(chunks); i++) {
        const char *const *shell = shells[i / SW_COUNT(chunks)];
        sw_auto(json) json_t *env = sw_transport_variables("SLIPWAY_CODE", bytes.data, bytes.length,
                                                           chunks[i % SW_COUNT(chunks)]);
        sw_autofree char *left = NULL, *left_path = sw_path_join(here->folder, "left"), *got = NULL;
        size_t length = 0;

        if (!has_shell(shell))
            continue;
        assert_int_equal(finish(start(here, shell, sw_buf_text(&script), env)), 0);
        got = sw_file_read(path, 1000000, &length, NULL);
        assert_int_equal(length, bytes.length);
        assert_memory_equal(got, bytes.data, length);
        left = sw_file_read(left_path, 100, NULL, NULL);
        assert_string_equal(left, "0\n");             /* the command's environment is clean */
        unlink(path);
    }
}

static void a_missing_piece_is_told(void **state)
{
    struct place *here = *state;
    sw_auto(sw_buf) struct sw_buf bytes = SW_BUF_INIT, script = SW_BUF_INIT;
    sw_auto(json) json_t *env = NULL;
    sw_autofree char *said = sw_path_join(here->folder, "said"), *text = NULL;

    make_noise(&bytes, 30000);
    env = sw_transport_variables("P", bytes.data, bytes.length, 9000);
    json_object_del(env, "P_2");
    sw_transport_assemble(&script, "P", "out");
    assert_int_equal(finish(start(here, shells[0], sw_buf_text(&script), env)), 74);
    text = sw_file_read(said, 10000, NULL, NULL);
    assert_non_null(strstr(text, "P_2 is missing"));
}

static json_t *rank(const char *number)
{
    return json_pack("{s:s}", "NODE_RANK", number);
}

static void node_0_unpacks_and_the_others_wait(void **state)
{
    struct place *here = *state;
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_autofree char *make = sw_format("cd %s && mkdir t && echo hi > t/f && tar czf c.tgz -C t f",
                                       here->folder);

    assert_int_equal(system(make), 0);
    for (size_t i = 0; i < SW_COUNT(shells); i++) {
        sw_autofree char *folder = sw_format("out %zu", i);
        sw_autofree char *file = sw_format("%s/%s/f", here->folder, folder);
        sw_auto(json) json_t *zero = rank("0"), *one = rank("1");
        pid_t waiting;

        if (!has_shell(shells[i]))
            continue;
        sw_buf_clear(&script);
        sw_transport_unpack_once(&script, "c.tgz", folder, "0123456789abcdef0123", 20);
        sw_buf_add(&script, "exit 0\n");
        waiting = start(here, shells[i], sw_buf_text(&script), one);
        assert_int_equal(finish(start(here, shells[i], sw_buf_text(&script), zero)), 0);
        assert_int_equal(finish(waiting), 0);
        assert_true(sw_file_exists(file));
        unlink(file);
        /* The same content again: nothing is unpacked. */
        assert_int_equal(finish(start(here, shells[i], sw_buf_text(&script), zero)), 0);
        assert_false(sw_file_exists(file));
    }
}

static void a_failure_of_node_0_and_a_wait_without_end_are_told(void **state)
{
    struct place *here = *state;
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT, short_one = SW_BUF_INIT;
    sw_auto(json) json_t *zero = rank("0"), *one = rank("1");
    sw_autofree char *said = sw_path_join(here->folder, "said"), *text = NULL;
    pid_t waiting;

    sw_transport_unpack_once(&script, "missing.tgz", "out", "aa", 30);
    waiting = start(here, shells[0], sw_buf_text(&script), one);
    assert_int_equal(finish(start(here, shells[0], sw_buf_text(&script), zero)), 74);
    assert_int_equal(finish(waiting), 74);
    sw_transport_unpack_once(&short_one, "missing.tgz", "other", "aa", 1);
    assert_int_equal(finish(start(here, shells[0], sw_buf_text(&short_one), one)), 74);
    text = sw_file_read(said, 10000, NULL, NULL);
    assert_non_null(strstr(text, "node 0 could not unpack"));
    assert_non_null(strstr(text, "within 1 s"));
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, place_open, place_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_platform_has_its_way),
        CLAIM(pieces_in_variables_are_put_together),
        CLAIM(a_missing_piece_is_told),
        CLAIM(node_0_unpacks_and_the_others_wait),
        CLAIM(a_failure_of_node_0_and_a_wait_without_end_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
