/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_lend.c - a process that stays keeps a shell ready and lends it to one that has just begun: its three
 * descriptors, for as long as that one wants. So a command need not start ssh and a shell of its own.
 *
 * A shell is lent once and fresh: nothing of one user of it is there for the next. When the borrower closes
 * the descriptors the shell ends, as its own would.
 */
#include "net/ssh_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/text.h"

struct sw_ssh *sw_ssh_twin(const struct sw_ssh *ssh)
{
    struct sw_ssh *twin = sw_new(struct sw_ssh);

    *twin = (struct sw_ssh){
        .hosts = sw_alloc(ssh->host_count * sizeof *twin->hosts), .host_count = ssh->host_count,
        .current = ssh->current, .user = sw_strdup(ssh->user), .identity = sw_strdup(ssh->identity),
        .config_file = sw_strdup(ssh->config_file), .known_hosts = sw_strdup(ssh->known_hosts),
        .port = ssh->port, .accept_new = ssh->accept_new, .local = ssh->local,
        .connect_ms = ssh->connect_ms, .persist_s = ssh->persist_s, .watch = -1,
        .shell = SSH_PROCESS_NONE,
    };
    for (size_t i = 0; i < ssh->host_count; i++)
        twin->hosts[i] = (struct ssh_host){ sw_strdup(ssh->hosts[i].name),
                                            sw_strdup(ssh->hosts[i].control_path) };
    return twin;
}

char *sw_ssh_key(const struct sw_ssh *ssh)
{
    const char *const parts[] = { ssh->hosts[ssh->current].name, ssh->user, ssh->identity, ssh->config_file,
                                  ssh->known_hosts };
    sw_auto(sw_buf) struct sw_buf all = SW_BUF_INIT;
    char digest[SW_DIGEST_HEX];

    if (ssh->local)                  /* a shell on this machine has much of the process that started it */
        return NULL;
    for (size_t i = 0; i < SW_COUNT(parts); i++)
        sw_buf_add_bytes(&all, parts[i] ? parts[i] : "", parts[i] ? strlen(parts[i]) + 1 : 1);
    sw_buf_addf(&all, "%d %d", ssh->port, ssh->accept_new);
    sw_sha256_hex(all.data, all.length, digest);
    return sw_strndup(digest, 32);
}

int sw_ssh_ready(struct sw_ssh *ssh, struct sw_error *err)
{
    return ssh_shell_need(ssh, sw_monotonic_ms() + ssh->connect_ms, err);
}

/* Those that were lent and are over: they are our children still. */
static void reap(struct sw_ssh *ssh)
{
    size_t left = 0;

    for (size_t i = 0; i < ssh->lent_count; i++)
        if (waitpid(ssh->lent[i], NULL, WNOHANG) == 0)
            ssh->lent[left++] = ssh->lent[i];
    ssh->lent_count = left;
}

bool sw_ssh_lend(struct sw_ssh *ssh, int fds[SW_CHANNELS])
{
    reap(ssh);
    if (!ssh_shell_lives(ssh))
        return false;
    fds[0] = ssh->shell.in;
    fds[1] = ssh->shell.out;
    fds[2] = ssh->shell.err;
    ssh->lent = sw_realloc_array(ssh->lent, ssh->lent_count + 1, sizeof *ssh->lent);
    ssh->lent[ssh->lent_count++] = ssh->shell.pid;
    ssh->shell = (struct ssh_process)SSH_PROCESS_NONE;
    ssh_shell_end(ssh);
    return true;
}

const char *sw_ssh_borrow(struct sw_ssh *ssh)
{
    return ssh->borrow && !ssh_shell_lives(ssh) && ssh_shell_borrow(ssh) ? sw_buf_text(&ssh->facts) : NULL;
}

bool ssh_shell_borrow(struct sw_ssh *ssh)
{
    sw_autofree char *key = ssh->borrow ? sw_ssh_key(ssh) : NULL;
    int fds[SW_CHANNELS];
    bool given = key && ssh->borrow(ssh->borrow_context, key, fds, &ssh->facts);

    ssh->borrow = NULL;              /* once: should it break, the next is our own */
    if (given)
        ssh->shell = (struct ssh_process){ .in = fds[0], .out = fds[1], .err = fds[2] };
    return given && ssh_shell_lives(ssh);
}
