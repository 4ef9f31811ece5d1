/* SPDX-License-Identifier: Apache-2.0 */
/*
 * later.c - for the program that loads it (LD_PRELOAD) it is later: by as many milliseconds as the file
 * SLIPWAY_TEST_LATER holds, a number of 64 bits that may grow while the program runs.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *later_ms;

__attribute__((constructor)) static void look_around(void)
{
    const char *path = getenv("SLIPWAY_TEST_LATER");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = fd >= 0 ? mmap(NULL, sizeof *later_ms, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

    later_ms = at == MAP_FAILED ? NULL : at;
    if (fd >= 0)
        close(fd);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *out)
{
    static int (*real)(clockid_t clock, struct timespec *out);
    int result;

    if (!real)
        real = (__extension__(__typeof__(real))dlsym(RTLD_NEXT, "clock_gettime"));
    result = real(clock, out);
    if (result == 0 && clock == CLOCK_REALTIME && later_ms)
        out->tv_sec += (time_t)(*later_ms / 1000);
    return result;
}
