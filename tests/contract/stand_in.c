/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stand_in.c - see stand_in.h. The folder is in the engine's, which goes with the engine, also when the test
 * is killed; so do the containers of a stand-in that was ended.
 */
#include "stand_in.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "reaper.h"

static char folder[256], port[16];
static pid_t suite, server;
static struct reaper reaper;             /* removes the folder */

static void end_server(void)
{
    if (getpid() != suite)                       /* a client of some case */
        return;
    if (server <= 0)
        return;
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    server = 0;
    reaper_end(&reaper);                         /* a container may still be writing its last file */
}

const char *stand_in_folder(void)
{
    return folder;
}

void stand_in_disturb(const char *words)
{
    sw_autofree char *path = sw_path_join(folder, "faults");

    sw_file_write(path, words ? words : "", words ? strlen(words) : 0, 0600, NULL);
}

/* Without the environment of the case, which names its folder. */
static void become_server(const char *program)
{
    char *const clean[] = { (char *)"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", NULL };
    sw_autofree char *path = sw_path_join(getenv("SLIPWAY_SIM"), program);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execle("/usr/bin/env", "env", "python3", path, folder, getenv("DOCKER_HOST") + strlen("unix://"), NULL,
           clean);
    _exit(127);
}

const char *stand_in_begin(const char *program)
{
    sw_autofree char *path = NULL, *found = NULL;

    if (suite == 0) {
        suite = getpid();
        atexit(end_server);
    }
    end_server();
    snprintf(folder, sizeof folder, "%s/stand-in-XXXXXX", getenv("SLIPWAY_TEST_ENGINE"));
    if (!mkdtemp(folder) || reaper_start(&reaper, folder) < 0)
        abort();
    server = fork();
    if (server == 0)
        become_server(program);
    path = sw_path_join(folder, "port");
    for (int i = 0; i < 6000 && !found; i++, sw_sleep_ms(10))
        found = sw_file_read(path, sizeof port - 1, NULL, NULL);
    if (!found)
        abort();
    snprintf(port, sizeof port, "%s", found);
    return port;
}
