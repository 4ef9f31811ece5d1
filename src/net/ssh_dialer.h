/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_dialer.h - an HTTP server on another machine, reached through the shared ssh connection: each HTTP
 * connection is one stream of net/ssh.h.
 *
 *     http.serve = sw_ssh_dial;
 *     http.serve_context = dialer;
 */
#ifndef SW_NET_SSH_DIALER_H
#define SW_NET_SSH_DIALER_H

#include "net/ssh.h"

struct sw_ssh_dialer;

/* `command`: it speaks HTTP on its input and output; constants only. NULL: a server at this port of the
 * host's loopback address. Makes no connection yet; errors as of sw_ssh_open(). */
struct sw_ssh_dialer *sw_ssh_dialer_open(const struct sw_ssh_options *options, const char *command, int port,
                                         struct sw_error *err);
void sw_ssh_dialer_close(struct sw_ssh_dialer *dialer);
SW_DEFINE_AUTO(sw_ssh_dialer, struct sw_ssh_dialer *, sw_ssh_dialer_close)

void sw_ssh_dial(void *dialer, int fd);        /* connect this socket with the server; any thread */
/* Why the last connection ended, with what ssh or the command said. Always -1. */
int sw_ssh_dialer_why(struct sw_ssh_dialer *dialer, struct sw_error *err);
struct sw_ssh *sw_ssh_dialer_ssh(const struct sw_ssh_dialer *dialer);     /* borrowed; NULL: no dialer */

#endif
