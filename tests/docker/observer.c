/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observer.c - `observer observe|reconcile STATE_DIR JOB...`: call the docker platform's observe() once for
 * all these jobs, and reconcile() after it when asked to. Prints "JOB=STATE/REASON" for each, with '*' where
 * the observation needs reconcile(). A job that begins with '?' is one whose submit was not confirmed.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "core/state.h"
#include "platform/platform.h"

int main(int argc, char **argv)
{
    const struct sw_platform *platform = sw_platform_find("docker");
    struct sw_error err = { 0 };
    struct sw_connection *conn = argc > 3 ? platform->open(&(struct sw_connect_options){
                                                .state_dir = argv[2] }, &err) : NULL;
    size_t count = argc > 3 ? (size_t)argc - 3 : 0;
    sw_autofree struct sw_observation *seen = sw_alloc((count + 1) * sizeof *seen);

    if (!conn)
        return fprintf(stderr, "observer: %s\n", err.message), 1;
    for (size_t i = 0; i < count; i++) {
        bool confirmed = argv[3 + i][0] != '?';

        seen[i] = (struct sw_observation){ .job = { .id = argv[3 + i] + !confirmed, .attempt = 1,
                                                    .remote_id = confirmed ? argv[3 + i] : NULL } };
    }
    if (platform->observe(conn, seen, count, &err) < 0)
        return fprintf(stderr, "observer: %s\n", err.message), 1;
    if (strcmp(argv[1], "reconcile") == 0)
        platform->reconcile(conn, seen, count);
    for (size_t i = 0; i < count; i++) {
        printf("%s=%s/%s%s\n", seen[i].job.id, sw_state_name(seen[i].state), seen[i].reason,
               seen[i].needs_reconcile ? "*" : "");
        sw_observation_done(&seen[i]);
    }
    platform->close(conn);
    return 0;
}
