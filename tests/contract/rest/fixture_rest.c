/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture_rest.c - the service in ./server: one for each run of the suite, killed and started again before
 * each case, as its jobs do not mind.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "fixture.h"

#define TOKEN "token-of-the-contract"

static char folder[64], port[16] = "0";
static pid_t suite, server;

static void write_file(const char *name, const char *text)
{
    sw_autofree char *path = sw_path_join(folder, name);

    if (sw_file_write(path, text, strlen(text), 0600, NULL) < 0)
        abort();
}

static void kill_server(void)
{
    if (server > 0 && getpid() == suite) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
}

static void end_suite(void)
{
    kill_server();
    if (getpid() == suite)
        sw_remove_tree(folder, NULL);
}

/* Without the environment of the case: a process that names its folder counts as one of its jobs'. */
static void start_server(void)
{
    sw_autofree char *path = sw_path_join(folder, "port"), *found = NULL, *url = NULL;
    char *const clean[] = { (char *)"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", NULL };

    unlink(path);
    server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execle("/usr/bin/env", "env", "python3", getenv("SLIPWAY_REST_SERVER"), folder, port, (char *)NULL, clean);
        _exit(127);
    }
    for (int i = 0; i < 2000 && !sw_file_exists(path); i++)
        sw_sleep_ms(10);
    found = sw_file_read(path, sizeof port - 1, NULL, NULL);
    snprintf(port, sizeof port, "%s", found ? found : "1");
    url = sw_format("http://127.0.0.1:%s", port);
    setenv("REST_URL", url, 1);
    setenv("REST_TOKEN", TOKEN, 1);
}

static void disturb(const char *dir, const char *api)
{
    (void)dir;
    write_file("faults", api ? api : "");
}

static void begin(const char *dir)
{
    if (!*folder) {
        snprintf(folder, sizeof folder, "/tmp/rest-service-XXXXXX");
        if (!mkdtemp(folder))
            abort();
        suite = getpid();
        atexit(end_suite);
        write_file("token", TOKEN);
    }
    disturb(dir, NULL);
    kill_server();
    start_server();
}

const struct fixture fixture_rest = {
    .name = "rest",
    .begin = begin,
    .queue = { { "gpus", "1" } },                                   /* the service has one GPU */
    .command_key = "command",
    .disturb = disturb,
    .lacks = {
        [2] = "the service limits no job's memory",
        [4] = "a service elsewhere does not see this machine's files; data goes through object storage",
        [6] = "the service runs no command beside a job",
    },
};
