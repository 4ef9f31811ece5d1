/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c - see peer.h.
 */
#include "peer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { ENOUGH_S = 60 };              /* no scenario takes so long */

static void start(struct peer *peer, int fd)
{
    assert_int_equal(peer->pid, 0);
    peer->pid = fork();
    assert_true(peer->pid >= 0);
    if (peer->pid > 0)
        return;
    if (fd >= 0) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
        dup2(fd, STDIN_FILENO);
    }
    close_range(STDERR_FILENO + 1, ~0u, 0);      /* or it holds our end of the connection, too */
    alarm(ENOUGH_S);
    execl(peer->program, peer->program, peer->scenario, peer->folder, (char *)NULL);
    _exit(127);
}

void peer_serve(void *peer, int fd)
{
    start(peer, fd);
    close(fd);
}

void peer_run(struct peer *peer)
{
    start(peer, -1);
    peer_await(peer);
}

void peer_await(struct peer *peer)
{
    int status = 0;

    assert_true(peer->pid > 0);
    assert_int_equal(waitpid(peer->pid, &status, 0), peer->pid);
    peer->pid = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the peer of '%s' complains: %d", peer->scenario, status);
}
