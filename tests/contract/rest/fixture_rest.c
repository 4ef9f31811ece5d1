/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture_rest.c - the service in ./server, started once for each run of the suite.
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

#define KEY "key-of-the-contract"

static char folder[64];
static pid_t server;

static void write_file(const char *name, const char *text)
{
    sw_autofree char *path = sw_path_join(folder, name);

    if (sw_file_write(path, text, strlen(text), 0600, NULL) < 0)
        abort();
}

static void start_server(void)
{
    sw_autofree char *path = sw_path_join(folder, "port"), *port = NULL, *url = NULL;
    char *const clean[] = { (char *)"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", NULL };

    server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execle("/usr/bin/env", "env", "python3", getenv("SLIPWAY_REST_SERVER"), folder, (char *)NULL, clean);
        _exit(127);
    }
    for (int i = 0; i < 1000 && !sw_file_exists(path); i++)
        sw_sleep_ms(10);
    port = sw_file_read(path, 16, NULL, NULL);
    url = sw_format("http://127.0.0.1:%s", port ? port : "1");
    setenv("REST_URL", url, 1);
    setenv("REST_API_KEY", KEY, 1);
}

static pid_t owner;

static void end_server(void)
{
    if (getpid() != owner)
        return;
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    sw_remove_tree(folder, NULL);
}

static void disturb(const char *dir, const char *api)
{
    (void)dir;
    write_file("faults", api ? api : "");
}

/* A server that is killed between two cases must not be missed. */
static void begin(const char *dir)
{
    if (!*folder) {
        snprintf(folder, sizeof folder, "/tmp/rest-service-XXXXXX");
        if (!mkdtemp(folder))
            abort();
        owner = getpid();
        atexit(end_server);
        write_file("key", KEY);
    } else {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
    disturb(dir, NULL);
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
    },
};
