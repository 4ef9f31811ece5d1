/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.c - how much GPU memory the command took at most, and how busy its GPUs were, for the report.
 *
 * A process of its own asks: a driver in trouble can block its caller for seconds, and the first process
 * of a container has signals to pass on. The driver counts the memory of the device for all processes
 * that use it; in a container that is the job.
 */
#include "runner/runner.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "core/gpu.h"

enum { LOOK_EVERY_MS = 1000 };

/* Without GPUs no process is started for them. "void" and "none" are words of NVIDIA's container
 * runtime. */
static bool may_have_gpus(void)
{
    const char *cuda = getenv("CUDA_VISIBLE_DEVICES"), *nvidia = getenv("NVIDIA_VISIBLE_DEVICES");

    if (cuda)
        return *cuda && strcmp(cuda, "-1") != 0;
    if (!sw_text_empty(nvidia))
        return strcmp(nvidia, "void") != 0 && strcmp(nvidia, "none") != 0;
    return sw_file_exists("/proc/driver/nvidia");
}

/* Is it one of "0,1" or "GPU-1a2b,..."? A UUID may be cut short there. */
bool runner_gpu_is_ours(const struct sw_gpu *gpu, const char *visible)
{
    sw_autofree char *number = sw_format("%d", gpu->index);

    if (!visible)
        return true;
    for (const char *at = visible; *at;) {
        size_t length = strcspn(at, ",");

        if ((strlen(number) == length && strncmp(at, number, length) == 0) ||
            (length > 4 && strncasecmp(at, gpu->uuid, length) == 0))
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

static int our_gpus(struct sw_gpu *gpus)
{
    int found = sw_gpu_list(gpus, SW_GPU_MAX), ours = 0;

    for (int i = 0; i < found; i++)
        if (runner_gpu_is_ours(&gpus[i], getenv("CUDA_VISIBLE_DEVICES")))
            gpus[ours++] = gpus[i];
    return ours;
}

static void note(struct runner_tally *tally, const struct sw_gpu *gpus, int count)
{
    for (int i = 0; i < count; i++) {
        if (gpus[i].memory_used_bytes >= tally->gpu_peak_bytes) {
            tally->gpu_peak_bytes = gpus[i].memory_used_bytes;
            tally->gpu_memory_bytes = gpus[i].memory_bytes;
        }
        if (gpus[i].busy_percent >= 0) {
            tally->gpu_busy_percents += gpus[i].busy_percent;
            tally->gpu_samples++;
        }
    }
    tally->gpus = count;
}

static void watch(struct runner_tally *tally)
{
    struct sw_gpu gpus[SW_GPU_MAX];
    int count = our_gpus(gpus);
    struct sw_gpu_meter *meter = count > 0 ? sw_gpu_meter_open(gpus, count) : NULL;

    while (meter) {                       /* until we are ended */
        sw_gpu_meter_read(meter, gpus);
        note(tally, gpus, count);
        sw_sleep_ms(LOOK_EVERY_MS);
    }
}

pid_t runner_start_gpu_watch(struct runner *runner)
{
    pid_t pid = may_have_gpus() ? runner_fork(RUNNER_PHASE) : -1;

    if (pid != 0)
        return pid;
    signal(SIGINT, SIG_IGN);
    runner_hide_all_secrets(runner->payload);      /* nvidia-smi gets our environment */
    watch(runner->tally);
    _exit(0);
}

void runner_stop_gpu_watch(pid_t pid)
{
    if (pid <= 0 || waitpid(pid, NULL, WNOHANG) != 0)
        return;                                /* reaped already: its number may be another's */
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
