/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wake.c - the pause between two refreshes of a caller that waits.
 *
 * A platform with a descriptor that wakes (its `wake_fd`) ends the pause early, so that an end is
 * known without asking ten times a second. All open connections count: a change elsewhere costs one
 * refresh, and nothing is missed.
 */
#include <poll.h>
#include <unistd.h>

#include "api/api_internal.h"
#include "base/clock.h"

enum { WAKE_FDS_MOST = 64 };

/* The wake descriptors of the open connections; *without: how many have none. */
static nfds_t find_wake_fds(struct sw_session *session, struct pollfd *fds, size_t *without)
{
    nfds_t count = 0;

    *without = 0;
    pthread_mutex_lock(&session->lock);
    for (size_t i = 0; i < session->connection_count; i++) {
        const struct connection *open = &session->connections[i];
        int fd = open->conn && open->platform->wake_fd && count < WAKE_FDS_MOST
                       ? open->platform->wake_fd(open->conn) : -1;

        if (fd < 0)
            ++*without;
        else
            fds[count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
    }
    pthread_mutex_unlock(&session->lock);
    return count;
}

int api_wait_for_wake_or(struct sw_session *session, int64_t ms, int fd)
{
    struct pollfd fds[WAKE_FDS_MOST + 1];
    size_t without;
    nfds_t count = find_wake_fds(session, fds, &without);
    uint64_t woken;
    int result = without || !count ? API_NO_WAKE : API_QUIET;

    if (ms <= 0)
        return result;
    if (fd >= 0)
        fds[count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
    if (poll(fds, count, (int)ms) <= 0)
        return result;
    for (nfds_t i = 0; i < count; i++)
        if (fds[i].revents)
            (void)!read(fds[i].fd, &woken, sizeof woken);
    return API_WOKEN;
}

int api_wait_for_wake(struct sw_session *session, int64_t ms)
{
    return api_wait_for_wake_or(session, ms, -1);
}
