/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_options.h - how users say which key, configuration and known hosts ssh takes: one set of options for
 * every platform that is reached over ssh.
 *
 * They are rows of a platform's table of options (core/option.h); host and user are the platform's own.
 */
#ifndef SW_NET_SSH_OPTIONS_H
#define SW_NET_SSH_OPTIONS_H

#include "base/json.h"
#include "net/ssh.h"

/* The rows fill the member `ssh`, a struct sw_ssh_options, of TYPE. KEY: variable that names the private key;
 * PREFIX: of the other variables. */
#define SW_SSH_OPTIONS_INTO(TYPE, KEY, PREFIX) \
    { "identity", SW_TEXT, SW_CONNECTION, SW_FILLS(TYPE, ssh.identity), .env = KEY, \
      .help = "private key file for ssh; otherwise the agent and ssh's own choice" }, \
    { "ssh_config", SW_TEXT, SW_CONNECTION, SW_FILLS(TYPE, ssh.config_file), .env = PREFIX "SSH_CONFIG", \
      .help = "configuration file for ssh" }, \
    { "known_hosts", SW_TEXT, SW_CONNECTION, SW_FILLS(TYPE, ssh.known_hosts), .env = PREFIX "KNOWN_HOSTS", \
      .help = "file of known host keys" }, \
    { "accept_new", SW_FLAG, SW_CONNECTION, SW_FILLS(TYPE, ssh.accept_new), .initial = "false", \
      .env = PREFIX "ACCEPT_NEW_HOSTS", \
      .help = "accept the key of an unknown host; a changed key is always refused" }, \
    { "connect_timeout", SW_DURATION, SW_CONNECTION, SW_FILLS(TYPE, ssh.connect_ms), .initial = "20s", \
      .help = "how long a host may take to accept ssh" }, \
    { "keep_connection", SW_DURATION, SW_CONNECTION, SW_FILLS(TYPE, ssh.persist_ms), .initial = "10m", \
      .env = PREFIX "KEEP_CONNECTION", \
      .help = "how long an idle ssh login stays for the next command" }

/* A file named here must be found from every folder; ssh's own forms (~, %h) are left to ssh. */
void sw_ssh_options_settle(json_t *options);

#endif
