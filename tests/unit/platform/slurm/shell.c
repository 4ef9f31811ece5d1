/* SPDX-License-Identifier: Apache-2.0 */
/* shell.c - shell texts run for real (shell.h). */
#include "shell.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { DEADLINE_MS = 60000 };

const char *const stage_shells[2] = { "bash", "dash" };

int stage_set(void **state)
{
    struct stage *stage = sw_new(struct stage);
    sw_autofree char *bin = NULL, *path = NULL;
    static char *first_path;

    strcpy(stage->folder, "/tmp/slipway-slurm-test-XXXXXX");
    assert_non_null(mkdtemp(stage->folder));
    if (!first_path)
        first_path = sw_strdup(getenv("PATH"));
    bin = stage_path(stage, "bin");
    mkdir(bin, 0700);
    path = sw_format("%s:%s", bin, first_path);
    setenv("PATH", path, 1);
    setenv("TMPDIR", stage->folder, 1);
    setenv("HERE", stage->folder, 1);
    *state = stage;
    return 0;
}

int stage_clear(void **state)
{
    struct stage *stage = *state;

    for (size_t i = 0; i < stage->count; i++)
        if (stage->started[i] > 0) {
            kill(-stage->started[i], SIGKILL);
            waitpid(stage->started[i], NULL, 0);
        }
    sw_remove_tree(stage->folder, NULL);
    free(stage);
    return 0;
}

char *stage_path(const struct stage *stage, const char *name)
{
    return sw_format("%s/%s", stage->folder, name);
}

void stage_write(const struct stage *stage, const char *name, const char *text)
{
    sw_autofree char *path = stage_path(stage, name);

    assert_int_equal(sw_file_write(path, text, strlen(text), 0600, NULL), 0);
}

char *stage_read(const struct stage *stage, const char *name)
{
    sw_autofree char *path = stage_path(stage, name);
    char *text = sw_file_read(path, 1 << 20, NULL, NULL);

    return text ? text : sw_strdup("");
}

void stage_program(const struct stage *stage, const char *name, const char *text)
{
    sw_autofree char *path = sw_format("%s/bin/%s", stage->folder, name);
    sw_autofree char *whole = sw_format("#!/bin/sh\n%s", text);

    assert_int_equal(sw_file_write(path, whole, strlen(whole), 0700, NULL), 0);
}

size_t stage_lines(const struct stage *stage, const char *name)
{
    sw_autofree char *text = stage_read(stage, name);
    size_t lines = 0;

    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    return lines;
}

static void into(const char *path, int fd)
{
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

    dup2(file, fd);
    close(file);
}

pid_t stage_start(struct stage *stage, const char *shell, const char *name, const char *text)
{
    sw_autofree char *script = sw_format("%s/%s.sh", stage->folder, name);
    sw_autofree char *out = sw_format("%s/%s.out", stage->folder, name);
    sw_autofree char *err = sw_format("%s/%s.err", stage->folder, name);
    sw_autofree char *in = sw_format("%s/%s.in", stage->folder, name);
    pid_t pid;

    assert_true(stage->count < SW_COUNT(stage->started));
    assert_int_equal(sw_file_write(script, text, strlen(text), 0700, NULL), 0);
    pid = fork();
    if (pid == 0) {
        int input = open(in, O_RDONLY);

        setpgid(0, 0);
        dup2(input >= 0 ? input : open("/dev/null", O_RDONLY), 0);
        into(out, 1);
        into(err, 2);
        execlp(shell, shell, script, (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    setpgid(pid, pid);
    stage->started[stage->count++] = pid;
    return pid;
}

static void forget(struct stage *stage, pid_t pid)
{
    for (size_t i = 0; i < stage->count; i++)
        if (stage->started[i] == pid)
            stage->started[i] = stage->started[--stage->count];
}

int stage_wait(struct stage *stage, pid_t pid)
{
    int64_t until = sw_monotonic_ms() + DEADLINE_MS;
    int status;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (sw_monotonic_ms() > until)
            fail_msg("a script did not end within %d ms", DEADLINE_MS);
        usleep(20000);
    }
    forget(stage, pid);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int stage_run(struct stage *stage, const char *shell, const char *name, const char *text)
{
    return stage_wait(stage, stage_start(stage, shell, name, text));
}

void stage_kill(struct stage *stage, pid_t pid)
{
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
    forget(stage, pid);
}

void stage_until(const struct stage *stage, const char *name)
{
    sw_autofree char *path = stage_path(stage, name);
    int64_t until = sw_monotonic_ms() + DEADLINE_MS;

    while (!sw_file_exists(path)) {
        if (sw_monotonic_ms() > until)
            fail_msg("'%s' did not come", name);
        usleep(20000);
    }
}

/* SLIPWAY_GOLDEN=write makes them anew, for a person to review. */
void expect_golden(const char *name, const char *text)
{
    sw_autofree char *path = sw_format("%s/%s", getenv("GOLDEN"), name);
    sw_autofree char *known = NULL;

    if (getenv("SLIPWAY_GOLDEN"))
        sw_file_write(path, text, strlen(text), 0644, NULL);
    known = sw_file_read(path, 1 << 20, NULL, NULL);
    if (!known)
        fail_msg("no golden file '%s'", path);
    assert_string_equal(text, known);
}
