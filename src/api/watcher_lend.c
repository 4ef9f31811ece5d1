/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watcher_lend.c - a command gets a shell on the login node from the watcher, which keeps one ready, instead
 * of starting its own. All that it does with it is the same.
 *
 *     shell VERSION DIGEST KEY        ->  three descriptors and facts, or nothing: start your own
 */
#include "api/api_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "watcher/watcher.h"

enum { PATIENCE_MS = 200 };          /* an own shell is there in less */

bool api_borrow(void *context, const char *key, int fds[SW_CHANNELS], struct sw_buf *facts)
{
    const struct sw_session *session = context;
    sw_auto(sw_watcher_place) struct sw_watcher_place place = { 0 };
    sw_autofree char *first = NULL, *line = NULL;

    if (sw_watcher_place(session->state_dir, &place, NULL) < 0 || access(place.socket, F_OK) < 0)
        return false;
    first = api_stream_line("shell");
    line = sw_format("%s %s\n", first, key);
    return sw_watcher_borrow(&place, line, PATIENCE_MS, fds, facts);
}

/* One of our connections that leads where `key` says. */
static bool lend(struct sw_session *session, const char *key, int *fds, struct sw_buf *facts)
{
    bool found = false;

    for (size_t i = 0; !found; i++) {
        struct connection one;

        pthread_mutex_lock(&session->lock);
        if (i >= session->connection_count) {
            pthread_mutex_unlock(&session->lock);
            return false;
        }
        one = session->connections[i];
        pthread_mutex_unlock(&session->lock);
        found = one.platform->lend && one.platform->lend(one.conn, key, fds, facts);
    }
    return found;
}

void api_lend(struct sw_session *session, const char *key, int fd)
{
    sw_auto(sw_buf) struct sw_buf facts = SW_BUF_INIT;
    int fds[SW_CHANNELS];

    if (lend(session, key, fds, &facts)) {
        sw_watcher_lend(fd, fds, &facts);
        for (size_t i = 0; i < SW_COUNT(fds); i++)
            close(fds[i]);
    }
    close(fd);
    lend(session, key, NULL, NULL);  /* ready for the next */
}
