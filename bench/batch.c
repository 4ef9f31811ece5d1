/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - many jobs in one process, through the C API: what a submit and a refresh cost.
 *
 *     batch NAME JOBS REFRESHES [KEY=VALUE...] -- COMMAND...
 *     batch NAME turns - [KEY=VALUE...] -- COMMAND...
 *
 * Submits JOBS jobs one after the other, asks REFRESHES times how all of them are, cancels and
 * removes them. Prints lines like those of measure.c: "NAME submit", "NAME refresh". Starting the
 * program is not part of it, so the difference to `measure ... slipway run -d` is the start.
 *
 * With `turns` it does one thing for each line of its input ("submit", "refresh", "cancel": the job
 * that came first, "wait": a second for the first job, which starts what platforms do for those who
 * wait) and answers with "WALL<TAB>CPU<TAB>ID" in microseconds, so that the caller can let others have
 * a turn in between. A refresh before the first submit is of all that the store has.
 */
#include <slipway.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST = 100000, WAIT_MS = 1000 };

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

struct bench {
    struct sw_session *session;
    struct sw_request *request;
    int submitted, canceled;           /* of `ids` */
};

typedef int act_fn(struct bench *bench, struct sw_error *err);

static int submit_one(struct bench *bench, struct sw_error *err)
{
    if (sw_submit(bench->session, bench->request, ids[bench->submitted], err) < 0)
        return -1;
    bench->submitted++;
    return 0;
}

static int refresh_one(struct bench *bench, struct sw_error *err)
{
    struct sw_list_options active = { .size = sizeof active, .look = SW_LOOK_REFRESH,
                                      .state = "active",
                                      .limit = bench->submitted ? (size_t)bench->submitted : MOST };
    char *answer = sw_list(bench->session, &active, err);

    sw_text_free(answer);
    return answer ? 0 : -1;
}

static int cancel_one(struct bench *bench, struct sw_error *err)
{
    return sw_cancel(bench->session, ids[bench->canceled++], err);
}

/* That it is not over is what is expected. */
static int wait_one(struct bench *bench, struct sw_error *err)
{
    struct sw_error why = { 0 };
    int status;

    if (sw_wait(bench->session, ids[0], WAIT_MS, NULL, NULL, &status, &why) == 0 ||
        why.code == SW_E_TIMEOUT)
        return 0;
    *err = why;
    return -1;
}

static int timed(act_fn *act, struct bench *bench, int i, struct sw_error *err)
{
    long began = now_us(CLOCK_MONOTONIC), cpu_began = now_us(CLOCK_PROCESS_CPUTIME_ID);

    if (act(bench, err) < 0)
        return -1;
    wall[i] = now_us(CLOCK_MONOTONIC) - began;
    cpu[i] = now_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_began;
    return 0;
}

static int times(act_fn *act, struct bench *bench, int count, struct sw_error *err)
{
    for (int i = 0; i < count; i++)
        if (timed(act, bench, i, err) < 0)
            return -1;
    return 0;
}

static const struct turn {
    const char *word;
    act_fn *act;
} turns[] = {
    { "submit\n", submit_one },
    { "refresh\n", refresh_one },
    { "cancel\n", cancel_one },
    { "wait\n", wait_one },
};

/* Until the input ends. */
static int take_turns(struct bench *bench, struct sw_error *err)
{
    char line[32];

    while (bench->submitted < MOST && fgets(line, sizeof line, stdin)) {
        for (size_t i = 0; i < sizeof turns / sizeof *turns; i++)
            if (strcmp(line, turns[i].word) == 0 && timed(turns[i].act, bench, 0, err) < 0)
                return -1;
        printf("%ld\t%ld\t%s\n", wall[0], cpu[0], bench->submitted ? ids[bench->submitted - 1] : "-");
        fflush(stdout);
    }
    return 0;
}

static void tidy_up(struct bench *bench)
{
    for (int i = 0; i < bench->submitted; i++)
        if (i < bench->canceled || sw_cancel(bench->session, ids[i], NULL) == 0)
            sw_remove(bench->session, ids[i], false, NULL);
}

static int run(struct bench *bench, char **argv, struct sw_error *err)
{
    int jobs = atoi(argv[2]), refreshes = atoi(argv[3]);

    if (strcmp(argv[2], "turns") == 0)
        return take_turns(bench, err);
    if (times(submit_one, bench, jobs, err) < 0)
        return -1;
    report(argv[1], "submit", jobs);
    if (times(refresh_one, bench, refreshes, err) < 0)
        return -1;
    report(argv[1], "refresh", refreshes);
    return 0;
}

static bool is_count(const char *text)
{
    int count = atoi(text);

    return count >= 1 && count <= MOST;
}

int main(int argc, char **argv)
{
    struct sw_open_options options = { .size = sizeof options };
    struct sw_error err = { 0 };
    struct bench bench = { 0 };
    int status = 0;

    if (argc <= 4 || (strcmp(argv[2], "turns") != 0 && !(is_count(argv[2]) && is_count(argv[3])))) {
        fprintf(stderr, "usage: batch NAME JOBS REFRESHES [KEY=VALUE...] -- COMMAND...\n"
                        "       batch NAME turns - [KEY=VALUE...] -- COMMAND...\n");
        return 64;
    }
    ids = calloc(MOST, sizeof *ids);
    wall = calloc(MOST, sizeof *wall);
    cpu = calloc(MOST, sizeof *cpu);
    if (!ids || !wall || !cpu)
        return 71;
    bench.request = make_request(argc - 4, argv + 4, &err);
    bench.session = bench.request ? sw_open(&options, &err) : NULL;
    if (!bench.session || run(&bench, argv, &err) < 0)
        status = complain("not everything could be measured", &err);
    if (bench.session)
        tidy_up(&bench);
    sw_request_free(bench.request);
    sw_close(bench.session);
    free(ids);
    free(wall);
    free(cpu);
    return status;
}
