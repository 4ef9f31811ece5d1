/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.c - the command that connects to a port from beside a job (relay.sh).
 */
#include "platform/kit/port.h"

#include <stdio.h>

#include "base/buf.h"

static const char *const relay_text[] = {
#include "platform/kit/relay.sh.inc"
    NULL
};

void sw_relay_init(struct sw_relay *relay, int port)
{
    struct sw_buf script = SW_BUF_INIT;

    for (size_t i = 0; relay_text[i]; i++)
        sw_buf_add(&script, relay_text[i]);
    relay->script = sw_buf_steal(&script);
    snprintf(relay->port, sizeof relay->port, "%d", port);
    relay->argv[0] = (char *)"sh";
    relay->argv[1] = (char *)"-c";
    relay->argv[2] = relay->script;
    relay->argv[3] = (char *)"sh";
    relay->argv[4] = relay->port;
    relay->argv[5] = NULL;
}

void sw_relay_done(struct sw_relay *relay)
{
    free(relay->script);
}
