/* SPDX-License-Identifier: Apache-2.0 */
/*
 * await.c - the pause between two looks of somebody who stays.
 *
 * A platform that can tell (its `notice`) ends it early, so that nobody learns of an end a second late
 * or asks ten times a second to avoid that. All open connections count: a change elsewhere costs one
 * look, and nothing is missed.
 */
#include <poll.h>
#include <unistd.h>

#include "api/api_internal.h"
#include "base/clock.h"

enum { BELLS_MOST = 64 };

/* The bells of the open connections; *mute: how many have none. */
static nfds_t find_bells(struct sw_session *session, struct pollfd *bells, size_t *mute)
{
    nfds_t count = 0;

    *mute = 0;
    pthread_mutex_lock(&session->lock);
    for (size_t i = 0; i < session->connection_count; i++) {
        const struct connection *open = &session->connections[i];
        int bell = open->conn && open->platform->wake_fd && count < BELLS_MOST
                       ? open->platform->wake_fd(open->conn) : -1;

        if (bell < 0)
            ++*mute;
        else
            bells[count++] = (struct pollfd){ .fd = bell, .events = POLLIN };
    }
    pthread_mutex_unlock(&session->lock);
    return count;
}

int api_await(struct sw_session *session, int64_t ms)
{
    struct pollfd bells[BELLS_MOST];
    size_t mute;
    nfds_t count = find_bells(session, bells, &mute);
    uint64_t rung;
    int result = mute || !count ? API_NOBODY_TELLS : API_SILENCE;

    if (ms <= 0)
        return result;
    if (!count) {
        sw_sleep_ms(ms);
        return result;
    }
    if (poll(bells, count, (int)ms) <= 0)
        return result;
    for (nfds_t i = 0; i < count; i++)
        if (bells[i].revents)
            (void)!read(bells[i].fd, &rung, sizeof rung);
    return API_NEWS;
}
