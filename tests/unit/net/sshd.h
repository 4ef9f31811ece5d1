/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sshd.h - a real sshd of the test's own, in namespaces of the test's own.
 *
 * Everything (server, sessions, masters) runs below one process that is PID 1 of its namespace,
 * with a loopback and a /run of its own: it ends with the test, however the test ends.
 */
#ifndef TESTS_UNIT_NET_SSHD_H
#define TESTS_UNIT_NET_SSHD_H

#include <stdbool.h>
#include <sys/types.h>

struct sshd {
    char folder[64];             /* keys, configuration, log; 0700 */
    char known_hosts[96], key[96], log[96];
    char user[64];
    int port;
    pid_t pid;                   /* the listener; 0: none */
};

/* Go on in namespaces of our own; only returns there. Exits with 77 where that is not allowed. */
void sshd_enter_namespaces(void);

void sshd_make(struct sshd *sshd);                           /* keys and a folder */
void sshd_start(struct sshd *sshd, const char *more_config); /* listens when it returns */
void sshd_stop(struct sshd *sshd);                           /* the listener only */
void sshd_kill_sessions(const struct sshd *sshd, int signal);/* every sshd but the listener */
void sshd_new_host_key(struct sshd *sshd);
void sshd_trust(struct sshd *sshd, const char *hosts);       /* "127.0.0.1,127.0.0.2" known */
int sshd_logins(const struct sshd *sshd);                    /* how many were accepted so far */
void sshd_remove(struct sshd *sshd);

int run_program(const char *const argv[]);                   /* exit code */

#endif
