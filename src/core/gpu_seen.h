/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_seen.h - GPUs without NVML: a static program cannot load a library.
 */
#ifndef SW_CORE_GPU_SEEN_H
#define SW_CORE_GPU_SEEN_H

#include "core/gpu.h"

struct sw_gpu_seen {
    struct sw_gpu gpu;
    char pci[32];                      /* "0000:3b:00", as the kernel writes it; "": not known */
    int64_t ecc_errors;                /* uncorrected since boot; 0 where there is no ECC */
};

/* What the driver tells in <root>/driver/nvidia/gpus (root: "/proc"): no memory, no load. */
int sw_gpu_seen_in_proc(const char *root, struct sw_gpu_seen *out, int room);

/* What nvidia-smi tells, all of it. -1: there is no nvidia-smi, or it failed; `lost` then says
 * whether it failed because a device fell off the bus. */
int sw_gpu_seen_by_smi(struct sw_gpu_seen *out, int room, bool *lost);

/* One line of its answer; false: not about a usable device. Changes `line`. */
bool sw_gpu_seen_line(char *line, struct sw_gpu_seen *out);

#endif
