/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - the C API in one page: submit a job file, follow its log, wait, find the results.
 *
 *     cc launch.c -o launch $(pkg-config --cflags --libs slipway)
 *     ./launch ../hello/job.yaml
 *
 * It ends with the job's own exit status, so a script can use it like the job itself.
 */
#include <slipway.h>

#include <stdio.h>

static int complain(const struct sw_error *err)
{
    fprintf(stderr, "%s: %s\n", sw_code_name(err->code), err->message);
    if (err->hint[0])
        fprintf(stderr, "hint: %s\n", err->hint);
    return sw_code_exit_status(err->code);
}

/* Log pieces are exact bytes, not texts: they may hold anything, and have no terminator. */
static int print_piece(void *context, int replica, int64_t at_ms, const char *bytes,
                       size_t length)
{
    (void)context;
    (void)replica;
    (void)at_ms;
    return fwrite(bytes, 1, length, stdout) == length ? 0 : -1;
}

static int submit(struct sw_session *session, const char *path, char id[SW_ID_SIZE],
                  struct sw_error *err)
{
    struct sw_request *request = sw_request_new();
    int rc = sw_request_file(request, path, err);

    if (rc == 0)
        rc = sw_request_set(request, "labels.from", "c-api", err);     /* as a flag would */
    if (rc == 0)
        rc = sw_submit(session, request, id, err);
    sw_request_free(request);
    return rc;
}

static int follow_to_the_end(struct sw_session *session, const char *id, int *exit_status,
                             struct sw_error *err)
{
    struct sw_log_options whole = { .size = sizeof whole, .follow = true };
    char *results;

    if (sw_logs(session, id, &whole, print_piece, NULL, err) < 0 ||
        sw_wait(session, id, -1, NULL, NULL, exit_status, err) < 0)
        return -1;
    results = sw_results_dir(session, id, err);
    if (!results)
        return -1;
    printf("%s ended with %d; results in %s\n", id, *exit_status, results);
    sw_text_free(results);
    return 0;
}

int main(int argc, char **argv)
{
    struct sw_open_options options = { .size = sizeof options };
    struct sw_error err = { 0 };
    struct sw_session *session;
    char id[SW_ID_SIZE] = "";
    int exit_status = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: launch JOB.yaml\n");
        return 64;
    }
    session = sw_open(&options, &err);
    if (!session || submit(session, argv[1], id, &err) < 0 ||
        follow_to_the_end(session, id, &exit_status, &err) < 0)
        exit_status = complain(&err);
    sw_close(session);
    return exit_status;
}
