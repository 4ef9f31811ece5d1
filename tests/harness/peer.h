/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h - the other end of a connection is a program of the tests: it gets the socket as its input, so no
 * port is needed. It ends with the connection, also when the test is killed.
 */
#ifndef SW_TESTS_PEER_H
#define SW_TESTS_PEER_H

#include <sys/types.h>

struct peer {
    const char *program, *scenario, *folder;     /* its arguments; folder may be NULL */
    pid_t pid;                                   /* of the last one; 0: none */
};

/* struct sw_http_options.serve, with a struct peer as its context. The one before must be awaited. */
void peer_serve(void *peer, int fd);
/* Run it without a connection. */
void peer_run(struct peer *peer);
/* Fails the test unless it ended, and without complaint. */
void peer_await(struct peer *peer);

#endif
