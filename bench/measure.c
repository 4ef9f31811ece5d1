/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.c - what one command costs: run it many times, print the medians.
 *
 *     measure [-c] [-n RUNS] [-p PID] NAME COMMAND [ARGUMENT...]
 *
 * One line, tab separated: NAME, wall microseconds, CPU microseconds (user + system), largest
 * resident set in KiB, exit status, and with -p the CPU microseconds that another process (a server)
 * spent meanwhile. In C, since a measuring program of 10 MiB would be most of
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
    long wall_us, cpu_us, rss_kib, server_us;
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

/* CPU time of a process so far; 0: there is none. */
static long spent_us(pid_t pid)
{
    char path[32], line[1024];
    unsigned long user = 0, system = 0;
    FILE *file;
    const char *rest;

    if (!pid)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (!file)
        return 0;
    rest = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    fclose(file);
    if (!rest || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        return 0;
    return (long)((user + system) * 1000000 / (unsigned long)sysconf(_SC_CLK_TCK));
}

static int run_once(char **command, pid_t server, struct sample *out)
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
    out->server_us = -spent_us(server);
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
    out->server_us += spent_us(server);
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
    static long wall[MOST_RUNS], cpu[MOST_RUNS], server_us[MOST_RUNS];
    struct sample sample = { 0 };
    long rss_kib = 0;
    int runs = 21, option, first = -1;
    pid_t server = 0;

    while ((option = getopt(argc, argv, "+cn:p:")) == 'n' || option == 'c' || option == 'p')
        if (option == 'n')
            runs = atoi(optarg);
        else if (option == 'p')
            server = (pid_t)atoi(optarg);
        else
            first = 0;
    if (option != -1 || argc - optind < 2 || runs < 1 || runs > MOST_RUNS) {
        fprintf(stderr, "usage: measure [-c] [-n RUNS] [-p PID] NAME COMMAND [ARGUMENT...]\n");
        return 64;
    }
    for (int i = first; i < runs; i++) {
        if (run_once(argv + optind + 1, server, &sample) < 0)
            return 69;
        if (i < 0)
            continue;
        wall[i] = sample.wall_us;
        cpu[i] = sample.cpu_us;
        server_us[i] = sample.server_us;
        if (sample.rss_kib > rss_kib)
            rss_kib = sample.rss_kib;
    }
    printf("%s\t%ld\t%ld\t%ld\t%d", argv[optind], median(wall, runs), median(cpu, runs), rss_kib,
           sample.status);
    if (server)
        printf("\t%ld", median(server_us, runs));
    putchar('\n');
    return 0;
}
