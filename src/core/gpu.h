/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.h - the GPUs of this machine: what there is, and what they do.
 *
 * Seen through NVML, loaded at run time (gpu_nvml.c); a static program cannot load it and asks
 * nvidia-smi and the driver's own files (gpu_proc.c, gpu_smi.c). Without a driver there are none.
 * Who may use which is the business of platforms.
 */
#ifndef SW_CORE_GPU_H
#define SW_CORE_GPU_H

#include "base/json.h"

enum { SW_GPU_MAX = 64 };

struct sw_gpu {
    int index;
    char uuid[96];
    char name[96];
    int64_t memory_bytes, memory_used_bytes;
    int busy_percent;                  /* -1: not known */
};

/* All devices; 0 when the machine has none or no driver. */
int sw_gpu_list(struct sw_gpu *out, int room);

/* What to say about a job that does not mention GPUs, where there are some; NULL: nothing. Owned. */
char *sw_gpu_unasked(void);

/* ---- meter: the same devices looked at again and again ------------------------------------------ */

struct sw_gpu_meter;                      /* keeps NVML open; opening it takes longer than a look */

struct sw_gpu_meter *sw_gpu_meter_open(const struct sw_gpu *gpus, int count);     /* NULL: no NVML */
void sw_gpu_meter_close(struct sw_gpu_meter *meter);
/* Fills in used memory and load of each (`gpus` as given to open). */
void sw_gpu_meter_read(struct sw_gpu_meter *meter, struct sw_gpu *gpus);
/* What went wrong with them since open: "gpu_lost", "ecc_uncorrected", into `facts`. */
void sw_gpu_meter_facts(struct sw_gpu_meter *meter, json_t *facts);
/* The PCI address of a device, "0000:3b:00" as the kernel writes it; false: not known. */
bool sw_gpu_meter_pci(struct sw_gpu_meter *meter, int which, char out[32]);

#endif
