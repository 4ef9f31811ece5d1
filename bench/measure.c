/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.c - what one command costs: run it many times, print the medians.
 *
 *     measure [-c] [-n RUNS] NAME COMMAND [ARGUMENT...]
 *
 * One line, tab separated: NAME, wall microseconds, CPU microseconds (user + system), largest
 * resident set in KiB, exit status. In C, since a measuring program of 10 MiB would be most of
 * what it measures: a child's resident set begins with its parent's. Medians, since a busy
 * machine makes means meaningless. The first run only warms the caches; with -c (cold) there is none.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MOST_RUNS = 10000 };

struct sample {
    long wall_us, cpu_us, rss_kib;
    int status;
};

static long now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

static long micros(struct timeval t)
{
    return t.tv_sec * 1000000L + t.tv_usec;
}

static int run_once(char **command, struct sample *out)
{
    posix_spawn_file_actions_t quiet;
    struct rusage used;
    int status, failed;
    pid_t pid;
    long began;

    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    began = now_us();
    failed = posix_spawnp(&pid, command[0], &quiet, NULL, command, environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (failed) {
        fprintf(stderr, "measure: %s: %s\n", command[0], strerror(failed));
        return -1;
    }
    while (wait4(pid, &status, 0, &used) < 0)
        if (errno != EINTR)
            return -1;
    out->wall_us = now_us() - began;
    out->cpu_us = micros(used.ru_utime) + micros(used.ru_stime);
    out->rss_kib = used.ru_maxrss;
    out->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return 0;
}

static int by_size(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;

    return (x > y) - (x < y);
}

static long median(long *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

int main(int argc, char **argv)
{
    static long wall[MOST_RUNS], cpu[MOST_RUNS];
    struct sample sample = { 0 };
    long rss_kib = 0;
    int runs = 21, option, first = -1;

    while ((option = getopt(argc, argv, "+cn:")) == 'n' || option == 'c')
        if (option == 'n')
            runs = atoi(optarg);
        else
            first = 0;
    if (option != -1 || argc - optind < 2 || runs < 1 || runs > MOST_RUNS) {
        fprintf(stderr, "usage: measure [-c] [-n RUNS] NAME COMMAND [ARGUMENT...]\n");
        return 64;
    }
    for (int i = first; i < runs; i++) {
        if (run_once(argv + optind + 1, &sample) < 0)
            return 69;
        if (i < 0)
            continue;
        wall[i] = sample.wall_us;
        cpu[i] = sample.cpu_us;
        if (sample.rss_kib > rss_kib)
            rss_kib = sample.rss_kib;
    }
    printf("%s\t%ld\t%ld\t%ld\t%d\n", argv[optind], median(wall, runs), median(cpu, runs), rss_kib,
           sample.status);
    return 0;
}
