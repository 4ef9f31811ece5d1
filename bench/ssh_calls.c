/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_calls.c - what our own held shell costs: one script many times, least and median of wall time.
 *
 *     ssh_calls NAME TIMES HOSTS USER KEY STATE_DIR < SCRIPT
 *
 * Prints "NAME<TAB>LEAST<TAB>MEDIAN" in microseconds. The first call, which connects, is not counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "net/ssh.h"

static long now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

static int by_size(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct sw_error err = { 0 };
    sw_autofree char *script = sw_file_read("/dev/stdin", 1 << 20, NULL, &err);
    int times = argc == 7 ? atoi(argv[2]) : 0;
    sw_autofree long *taken = sw_alloc((size_t)(times > 0 ? times : 1) * sizeof *taken);
    const struct sw_ssh_call call = { .script = script };
    sw_auto(sw_ssh) struct sw_ssh *ssh = NULL;

    if (times < 1 || !script) {
        fprintf(stderr, "usage: ssh_calls NAME TIMES HOSTS USER KEY STATE_DIR < SCRIPT\n");
        return 64;
    }
    ssh = sw_ssh_open(&(struct sw_ssh_options){ .hosts = argv[3], .user = argv[4], .identity = argv[5],
                                                .state_dir = argv[6] }, &err);
    for (int i = -1; ssh && i < times; i++) {
        sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
        long began = now_us();

        if (sw_ssh_run(ssh, &call, &reply, &err) < 0)
            break;
        if (i >= 0)
            taken[i] = now_us() - began;
    }
    if (err.code != SW_OK) {
        fprintf(stderr, "ssh_calls: %s\n", err.message);
        return sw_code_exit_status(err.code);
    }
    qsort(taken, (size_t)times, sizeof *taken, by_size);
    printf("%s\t%ld\t%ld\n", argv[1], taken[0], taken[times / 2]);
    return 0;
}
