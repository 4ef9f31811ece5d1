/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beside.c - `slipway-runner beside [TERM=NAME] NAME=VALUE COMMAND...`: become a command that sees what the
 * job sees.
 *
 * Only a process of the job knows its environment, secrets included, and its folder: the first one that has
 * this variable and is none of ours. While there is none (inputs are being fetched) we wait for a moment, and
 * then take what we were started with.
 */
#include "runner/runner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "core/stream.h"

extern char **environ;

enum { ENVIRON_MAX = 4 << 20, PATIENCE_MS = 5000, EACH_MS = 20, NOT_FOUND = 127, NOT_STARTED = 126 };

/* The variables of a process with this mark; NULL: it has none, is a runner, or is not ours to see. */
static char **variables_of(const char *pid, const char *mark)
{
    char path[64], exe[4096] = "", own[4096] = "";
    size_t length = 0, count = 0;
    bool marked = false;
    char *text, **all;

    snprintf(path, sizeof path, "/proc/%s/exe", pid);
    if (readlink(path, exe, sizeof exe - 1) < 0 ||
        readlink("/proc/self/exe", own, sizeof own - 1) < 0 || strcmp(exe, own) == 0)
        return NULL;
    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    text = sw_file_read(path, ENVIRON_MAX, &length, NULL);
    if (!text)
        return NULL;
    all = sw_realloc_array(NULL, length + 1, sizeof *all);
    for (char *at = text; at < text + length; at += strlen(at) + 1) {
        marked = marked || strcmp(at, mark) == 0;
        all[count++] = at;
    }
    all[count] = NULL;
    return marked ? all : NULL;             /* a few leaks on the way to exec() */
}

static bool take_over(const char *mark)
{
    sw_auto(json) json_t *names = sw_folder_names("/proc", NULL);
    int first = 0;
    char **found = NULL, folder[64];
    size_t i;
    json_t *name;

    json_array_foreach(names, i, name) {
        int pid = atoi(json_string_value(name));
        char **theirs = pid > 0 && (!first || pid < first)
                            ? variables_of(json_string_value(name), mark) : NULL;

        if (theirs) {
            first = pid;
            found = theirs;
        }
    }
    if (!found)
        return false;
    snprintf(folder, sizeof folder, "/proc/%d/cwd", first);
    environ = found;
    return chdir(folder) == 0;
}

int runner_beside(const char *mark, char *const argv[])
{
    /* where a command is started without variables of its own */
    bool told = strncmp(mark, "TERM=", 5) == 0;
    const char *terminal = told ? mark + 5 : getenv("TERM");
    int64_t until = sw_monotonic_ms() + PATIENCE_MS;
    int why;

    mark = told ? *argv++ : mark;
    unsetenv(SW_PAYLOAD_VARIABLE);          /* the runner's own */
    unsetenv(SW_PLAN_VARIABLE);
    while (!take_over(mark) && sw_monotonic_ms() < until)
        sw_sleep_ms(EACH_MS);
    if (terminal)
        setenv("TERM", terminal, 1);        /* the terminal is the caller's */
    if (strcmp(argv[0], SW_EXEC_RUNNER) == 0)
        execv("/proc/self/exe", argv);
    execvp(argv[0], argv);
    why = errno;
    fprintf(stderr, "slipway: cannot start '%s': %s\n", argv[0], strerror(why));
    return why == ENOENT ? NOT_FOUND : NOT_STARTED;
}
