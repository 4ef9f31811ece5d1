/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - starts the watcher: as a unit of the user's service manager where one runs, else detached.
 *
 * A unit has a log, limits and a name of its own, and is not ended with the session that started it. It does
 * end with the manager itself, which leaves with the user's last session unless the user "lingers".
 */
#include "watcher/watcher.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"

enum { ARGUMENTS = 16 };

static bool has_user_manager(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    sw_autofree char *path = runtime ? sw_path_join(runtime, "systemd/private") : NULL;
    struct stat info;

    return path && stat(path, &info) == 0 && S_ISSOCK(info.st_mode);
}

bool sw_watcher_lingers(void)
{
    const struct passwd *user = getpwuid(geteuid());
    sw_autofree char *path = user ? sw_path_join("/var/lib/systemd/linger", user->pw_name) : NULL;

    return path && access(path, F_OK) == 0;
}

/* A name for the program that says which one it shall be: several live in one file. Owned; NULL: it has no
 * file any more. */
static char *named(const struct sw_watcher_place *place, const char *program)
{
    size_t length = (size_t)(strrchr(place->socket, '/') - place->socket);
    sw_autofree char *link = sw_format("%.*s/slipway-watcher", (int)length, place->socket);
    sw_autofree char *fresh = sw_format("%s.%d", link, (int)getpid());
    char target[4096];
    ssize_t n;

    if (!sw_text_same(program, SW_PROC_SELF))
        return sw_strdup(program);
    n = readlink(program, target, sizeof target - 1);
    if (n <= 0)
        return NULL;
    target[n] = '\0';
    if (access(target, X_OK) < 0)
        return NULL;
    unlink(fresh);
    if (symlink(target, fresh) < 0 || rename(fresh, link) < 0)
        return NULL;
    return sw_take(link);
}

/* "http://user:password@proxy": what a unit is started with, others can read. */
static bool holds_password(char *const environment[])
{
    for (; *environment; environment++) {
        const char *user = strstr(*environment, "://");
        size_t length = user ? strcspn(user += 3, "/@") : 0;

        if (length > 0 && user[length] == '@' && memchr(user, ':', length))
            return true;
    }
    return false;
}

static bool start_unit(const struct sw_watcher_place *place, const char *program, char *const environment[])
{
    static const char *const words[] = {
        "systemd-run", "--user", "--quiet", "--collect", "--description=Slipway watcher",
        "--property=UMask=0077", "--property=WorkingDirectory=/", "--property=LimitCORE=0" };
    sw_autofree char *path = named(place, program);
    sw_autofree char *unit = sw_format("--unit=slipway-watcher-%s", strrchr(place->socket, '/') + 1);
    sw_auto(sw_buf) struct sw_buf said = SW_BUF_INIT;
    size_t count = 0, variables = 0;
    sw_autofree char **argv = NULL, **set = NULL;
    int status = -1;

    while (environment[variables])
        variables++;
    argv = sw_alloc((variables + ARGUMENTS) * sizeof *argv);
    set = sw_alloc((variables + 1) * sizeof *set);
    for (size_t i = 0; i < SW_COUNT(words); i++)
        argv[count++] = (char *)words[i];
    argv[count++] = unit;
    for (size_t i = 0; i < variables; i++)
        argv[count++] = set[i] = sw_format("--setenv=%s", environment[i]);
    argv[count++] = (char *)"--";
    argv[count++] = path;
    argv[count++] = place->state_dir;
    argv[count] = NULL;
    if (path && sw_proc_ask(argv, "", &said, &status, NULL) < 0)
        status = -1;
    for (size_t i = 0; i < variables; i++)
        free(set[i]);
    return status == 0;
}

int sw_watcher_launch(const struct sw_watcher_place *place, char *const environment[],
                      enum sw_watcher_kind *kind, struct sw_error *err)
{
    sw_autofree char *program = sw_helper_path("slipway-watcher", err);
    char *argv[] = { (char *)"slipway-watcher", place->state_dir, NULL };

    if (!program)
        return -1;
    *kind = SW_WATCHER_UNIT;
    if (has_user_manager() && !holds_password(environment) && start_unit(place, program, environment))
        return 0;
    *kind = SW_WATCHER_DETACHED;
    return sw_proc_detach(program, argv, environment, err);
}
