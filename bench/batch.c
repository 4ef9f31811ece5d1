/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - many jobs in one process, through the C API: what a submit and a refresh cost.
 *
 *     batch NAME JOBS REFRESHES|- [KEY=VALUE...] -- COMMAND...
 *
 * Submits JOBS jobs one after the other, asks REFRESHES times how all of them are, cancels and
 * removes them. Prints lines like those of measure.c: "NAME submit", "NAME refresh". Starting the
 * program is not part of it, so the difference to `measure ... slipway run -d` is the start.
 *
 * With - for REFRESHES it says "ready" when all are submitted and answers each line of its standard
 * input with one refresh and its time: so that another way can take turns with it.
 */
#include <slipway.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST = 100000 };

static char (*ids)[SW_ID_SIZE];
static long *wall, *cpu;

static long now_us(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

static int complain(const char *what, const struct sw_error *err)
{
    fprintf(stderr, "batch: %s: %s\n", what, err->message);
    return sw_code_exit_status(err->code);
}

static int by_size(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;

    return (x > y) - (x < y);
}

static void report(const char *name, const char *what, int count)
{
    struct rusage used;

    qsort(wall, (size_t)count, sizeof *wall, by_size);
    qsort(cpu, (size_t)count, sizeof *cpu, by_size);
    getrusage(RUSAGE_SELF, &used);
    printf("%s %s\t%ld\t%ld\t%ld\t0\n", name, what, wall[count / 2], cpu[count / 2],
           used.ru_maxrss);
}

static struct sw_request *make_request(int argc, char **argv, struct sw_error *err)
{
    struct sw_request *request = sw_request_new();
    int i;

    for (i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char *value = strchr(argv[i], '=');

        if (!value)
            break;
        *value = '\0';
        if (sw_request_set(request, argv[i], value + 1, err) < 0)
            return NULL;
    }
    if (i + 1 >= argc ||
        sw_request_argv(request, argc - i - 1, (const char *const *)argv + i + 1, err) < 0)
        return NULL;
    return request;
}

static int submit_all(struct sw_session *session, const struct sw_request *request, int jobs,
                      struct sw_error *err)
{
    for (int i = 0; i < jobs; i++) {
        long began = now_us(CLOCK_MONOTONIC), cpu_began = now_us(CLOCK_PROCESS_CPUTIME_ID);

        if (sw_submit(session, request, ids[i], err) < 0)
            return -1;
        wall[i] = now_us(CLOCK_MONOTONIC) - began;
        cpu[i] = now_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_began;
    }
    return 0;
}

static int refresh_once(struct sw_session *session, int jobs, int place, struct sw_error *err)
{
    struct sw_list_options active = { .size = sizeof active, .look = SW_LOOK_REFRESH,
                                      .state = "active", .limit = (size_t)jobs };
    long began = now_us(CLOCK_MONOTONIC), cpu_began = now_us(CLOCK_PROCESS_CPUTIME_ID);
    char *answer = sw_list(session, &active, err);

    if (!answer)
        return -1;
    sw_text_free(answer);
    wall[place] = now_us(CLOCK_MONOTONIC) - began;
    cpu[place] = now_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_began;
    return 0;
}

static int refresh_all(struct sw_session *session, int jobs, int refreshes, struct sw_error *err)
{
    for (int i = 0; i < refreshes; i++)
        if (refresh_once(session, jobs, i, err) < 0)
            return -1;
    return 0;
}

static int refresh_in_turns(struct sw_session *session, int jobs, const char *name,
                            struct sw_error *err)
{
    char line[16];

    printf("ready\n");
    while (fflush(stdout) == 0 && fgets(line, sizeof line, stdin)) {
        if (refresh_once(session, jobs, 0, err) < 0)
            return -1;
        report(name, "refresh", 1);
    }
    return 0;
}

static void tidy_up(struct sw_session *session, int jobs)
{
    for (int i = 0; i < jobs && ids[i][0]; i++)
        if (sw_cancel(session, ids[i], NULL) == 0)
            sw_remove(session, ids[i], false, NULL);
}

int main(int argc, char **argv)
{
    struct sw_open_options options = { .size = sizeof options };
    struct sw_error err = { 0 };
    struct sw_session *session;
    struct sw_request *request;
    int jobs = argc > 4 ? atoi(argv[2]) : 0, refreshes = argc > 4 ? atoi(argv[3]) : 0;
    bool turns = argc > 4 && strcmp(argv[3], "-") == 0;
    int status = 0;

    if (jobs < 1 || jobs > MOST || (!turns && (refreshes < 1 || refreshes > MOST))) {
        fprintf(stderr, "usage: batch NAME JOBS REFRESHES [KEY=VALUE...] -- COMMAND...\n");
        return 64;
    }
    ids = calloc(MOST, sizeof *ids);
    wall = calloc(MOST, sizeof *wall);
    cpu = calloc(MOST, sizeof *cpu);
    if (!ids || !wall || !cpu)
        return 71;
    request = make_request(argc - 4, argv + 4, &err);
    session = request ? sw_open(&options, &err) : NULL;
    if (!session) {
        status = complain("cannot begin", &err);
    } else if (submit_all(session, request, jobs, &err) < 0) {
        status = complain("cannot submit", &err);
    } else {
        report(argv[1], "submit", jobs);
        if ((turns ? refresh_in_turns(session, jobs, argv[1], &err)
                   : refresh_all(session, jobs, refreshes, &err)) < 0)
            status = complain("cannot refresh", &err);
        else if (!turns)
            report(argv[1], "refresh", refreshes);
    }
    if (session)
        tidy_up(session, jobs);
    sw_request_free(request);
    sw_close(session);
    free(ids);
    free(wall);
    free(cpu);
    return status;
}
