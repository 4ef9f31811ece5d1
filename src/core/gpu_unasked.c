/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_unasked.c - a word for users who forget `--gpus`: a job that does not ask for GPUs sees none, and would
 * train on the CPUs of a machine that has eight of them.
 */
#include "core/gpu.h"

#include <stdlib.h>

#include "base/text.h"

char *sw_gpu_unasked(void)
{
    struct sw_gpu gpus[SW_GPU_MAX];
    const char *own = getenv("CUDA_VISIBLE_DEVICES");
    int count = sw_gpu_list(gpus, SW_GPU_MAX);

    if (count <= 0)
        return NULL;
    return sw_format("this machine has %d GPU%s and the job asks for none (--gpus N)%s", count,
                     sw_text_plural(count),
                     sw_text_empty(own) ? "" : "; CUDA_VISIBLE_DEVICES of this shell is not passed on");
}
