/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_arch.h - GPU architectures: those that a machine has against those that an image was built for. Pure.
 *
 * Written `sm_90`, `sm-90`, `sm90`, `9.0` or `90`, with spaces, commas or semicolons between; `+PTX`, and
 * cmake's `-real` and `-virtual`, may follow.
 */
#ifndef SW_CORE_GPU_ARCH_H
#define SW_CORE_GPU_ARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"

enum { SW_GPU_ARCHS_MAX = 64 };

struct sw_gpu_archs {
    struct {
        int sm;                    /* 90 of sm_90 */
        bool code, ptx;            /* built for it; compiled on any later one */
    } items[SW_GPU_ARCHS_MAX];
    size_t count;
};

/* Adds those of a text; what is none (a header, "native") is passed over. */
void sw_gpu_archs_add(struct sw_gpu_archs *archs, const char *text);
/* Those that an image says it was built for, of its environment (["NAME=value", ...]). */
void sw_gpu_archs_of_image(struct sw_gpu_archs *archs, const json_t *environment);
/* "sm_80, sm_90" */
void sw_gpu_archs_text(const struct sw_gpu_archs *archs, struct sw_buf *out);

/* Can every GPU of the machine run what the image has? Code runs on its own architecture and on later ones
 * of the same generation (8.0 on 8.6), PTX on all later ones. What cannot is added to `lacks`. An image that
 * says nothing can: nothing is known against it. */
bool sw_gpu_archs_fit(const struct sw_gpu_archs *machine, const struct sw_gpu_archs *image,
                      struct sw_gpu_archs *lacks);

/* The row "GPU architecture" of a report (core/finding.h): must all of these GPUs run the image, or is one
 * enough (those of a cluster, where the job gets a node that can)? `unseen`: why no GPU is known. */
enum sw_gpu_arch_which { SW_GPU_ARCH_ALL, SW_GPU_ARCH_ANY };
void sw_gpu_arch_row(json_t *rows, const struct sw_gpu_archs *machine, const struct sw_gpu_archs *image,
                     enum sw_gpu_arch_which which, const char *unseen);

#endif
