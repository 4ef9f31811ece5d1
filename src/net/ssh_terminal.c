/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_terminal.c - a command on the terminal of our caller, through the shared connection (ssh.h).
 *
 * The ssh client knows best how to hand a terminal over, so it gets the caller's own. Unlike every other
 * process that this library starts, it stays in the process group that the terminal belongs to.
 */
#include "net/ssh_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/proc.h"

struct on_terminal {
    char *const *argv;
    const int *fds;
};

static void become_client(void *context, struct sw_start_failure *why)
{
    const struct on_terminal *client = context;

    sw_proc_take_fds(client->fds);
    execvp(client->argv[0], client->argv);
    why->error = errno;
}

pid_t sw_ssh_terminal(struct sw_ssh *ssh, const char *command, const int fds[3], struct sw_error *err)
{
    sw_auto(ssh_arguments) struct ssh_arguments arguments = { .count = 0 };
    char *const local[] = { (char *)"/bin/sh", (char *)"-c", (char *)command, NULL };
    struct on_terminal client = { ssh->local ? local : arguments.list, fds };
    struct sw_start_failure why;
    pid_t pid;

    if (ssh_some_master(ssh, err) < 0)
        return -1;
    if (!ssh->local)
        ssh_arguments_make(&arguments, ssh, ssh->hosts[ssh->current].control_path, SSH_TERMINAL, command);
    pid = sw_proc_start(become_client, &client, &why, err);
    if (pid > 0)
        ssh->counters.processes++;
    return pid > 0 || !why.error ? pid : sw_fail(err, SW_E_IO, "cannot run %s: %s", client.argv[0],
                                                 strerror(why.error));
}
