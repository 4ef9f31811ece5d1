/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watcher.c - `watcher EVERY_MS JOB...`: stay with jobs until they are over; each round is a line
 * "JOB=STATE/REASON/CODE ...". The program's own watch looks every second; the tests of news want
 * a client that would wait for an hour.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "slipway.h"

static int print_round(void *context, const char *text)
{
    sw_auto(json) json_t *document = sw_json_parse(text, strlen(text), "answer", NULL);
    json_t *job;
    size_t i;

    (void)context;
    json_array_foreach(json_object_get(document, "jobs"), i, job)
        printf("%s%s=%s/%s/%lld", i ? " " : "", sw_json_str(job, "id"), sw_json_str(job, "status"),
               sw_json_str(job, "reason"), (long long)sw_json_int(job, "exit_code", -1));
    printf("\n");
    return fflush(stdout);
}

int main(int argc, char **argv)
{
    struct sw_open_options open = { .size = sizeof open };
    struct sw_watch_options options = { .size = sizeof options };
    struct sw_error err = { 0 };
    struct sw_session *session = argc > 2 ? sw_open(&open, &err) : NULL;
    int result;

    if (!session)
        return fprintf(stderr, "watcher: %s\n", argc > 2 ? err.message : "EVERY_MS JOB..."), 1;
    options.every_ms = atoll(argv[1]);
    result = sw_watch(session, (const char *const *)argv + 2, (size_t)argc - 2, &options, print_round,
                      NULL, &err);
    if (result < 0)
        fprintf(stderr, "watcher: %s\n", err.message);
    sw_close(session);
    return result < 0;
}
