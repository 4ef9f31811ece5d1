/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture_rest.c - the service in ./server, killed and started again before each case; and the registry of
 * the suite, which has its platform besides all others.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/file.h"
#include "../fixture.h"

#define SW_TEST_PLATFORM sw_platform_rest
#include "platform/registry.c"

static char folder[64], port[16] = "0";
static pid_t suite, server;

static void write_file(const char *name, const char *text)
{
    sw_autofree char *path = sw_path_join(folder, name);

    sw_file_write(path, text, strlen(text), 0600, NULL);
}

static void kill_server(void)
{
    if (server > 0 && getpid() == suite && kill(server, SIGKILL) == 0)
        waitpid(server, NULL, 0);
}

static void end_suite(void)
{
    kill_server();
    if (getpid() == suite)               /* and not a client of some case */
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
        execle("/usr/bin/env", "env", "python3", getenv("SLIPWAY_REST_SERVER"), folder, port, NULL, clean);
        _exit(127);
    }
    for (int i = 0; i < 3000 && !found; i++, sw_sleep_ms(10))
        found = sw_file_read(path, sizeof port - 1, NULL, NULL);
    url = sw_format("http://127.0.0.1:%s", found ? found : "1");
    snprintf(port, sizeof port, "%s", found ? found : "1");
    setenv("REST_URL", url, 1);
}

static void disturb(const char *dir, const char *api)
{
    (void)dir, write_file("faults", api ? api : "");
}

static void begin(const char *dir)
{
    if (!*folder && mkdtemp(strcpy(folder, "/tmp/rest-service-XXXXXX"))) {
        suite = getpid();
        atexit(end_suite);
        write_file("token", "token-of-the-suite");
    }
    setenv("REST_TOKEN", "token-of-the-suite", 1);
    disturb(dir, NULL);
    kill_server();
    start_server();
}

const struct fixture fixture_rest = {
    .name = "rest", .begin = begin, .disturb = disturb, .command_key = "command",
    .queue = { { "gpus", "1" } },                                   /* the service has one GPU */
    .lacks = {
        [2] = "the service limits no job's memory",
        [4] = "a service elsewhere does not see this machine's files; data goes through object storage",
        [6] = "the service runs no command beside a job",
    },
};
