/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_dial.c - an engine on another machine, reached through ssh.
 */
#include "platform/docker/docker_internal.h"

struct docker_dialer {
    const struct docker_where *where;
};

struct docker_dialer *docker_dialer_open(const struct docker_where *where, struct sw_error *err)
{
    sw_fail(err, SW_E_UNSUPPORTED, "an engine over ssh (%s) is not available yet", where->text);
    return NULL;
}

void docker_dialer_close(struct docker_dialer *dialer)
{
    free(dialer);
}

int docker_dial(void *dialer)
{
    (void)dialer;
    return -1;
}

const char *docker_dialer_words(struct docker_dialer *dialer)
{
    (void)dialer;
    return "";
}
