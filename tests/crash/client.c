/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - `crash-client submit|splits|cancel|remove ...`: the program that dies. Only the public API.
 */
#include <stdio.h>
#include <string.h>

#include "slipway.h"

static int submit(struct sw_session *session, char **words, bool splits, struct sw_error *err)
{
    struct sw_request *request = sw_request_new();
    char id[SW_ID_SIZE];
    int result;

    /* PLATFORM ID KEY VALUE: the key is what makes the job do something on that platform. */
    result = sw_request_set(request, "platform", words[0], err) < 0 ||
             sw_request_id(request, words[1], err) < 0 ||
             sw_request_set(request, "command", "true", err) < 0 ||
             sw_request_set(request, words[2], words[3], err) < 0 ||
             sw_request_set(request, "grace", "2s", err) < 0 ||
             sw_request_set(request, "retry.max", "0", err) < 0 ||    /* one attempt, one mark */
             sw_request_set(request, "secrets", "CRASH_SECRET", err) < 0 ||
             (splits && sw_request_set(request, "splits", "3", err) < 0) ||
             sw_submit_many(session, request, id, NULL, NULL, err) < 0;
    sw_request_free(request);
    return result ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct sw_open_options options = { .size = sizeof options };
    struct sw_error err = { 0 };
    struct sw_session *session;
    int result = -1;

    if (argc < 4)
        return 64;
    options.state_dir = argv[2];
    options.project_dir = argv[2];
    session = sw_open(&options, &err);
    if (session && argc == 7 && (strcmp(argv[1], "submit") == 0 || strcmp(argv[1], "splits") == 0))
        result = submit(session, argv + 3, strcmp(argv[1], "splits") == 0, &err);
    else if (session && strcmp(argv[1], "cancel") == 0)
        result = sw_cancel(session, argv[3], &err);
    else if (session && strcmp(argv[1], "remove") == 0)
        result = sw_remove(session, argv[3], false, &err);
    sw_close(session);
    if (result < 0)
        fprintf(stderr, "crash-client: %s\n", err.message);
    return result < 0 ? 1 : 0;
}
