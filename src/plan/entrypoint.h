/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entrypoint.h - plan in, payload out: the one maker of what the runner does; and a script that carries
 * payload, runner and code in one file.
 */
#ifndef SW_PLAN_ENTRYPOINT_H
#define SW_PLAN_ENTRYPOINT_H

#include "core/mount.h"
#include "core/payload.h"
#include "plan/bundle.h"
#include "plan/plan.h"

/* The payload of a job in a container: paths are used as they are written, folders that depend on the
 * environment there are left to the runner. A platform then changes what it alone knows;
 * for a job without a container sw_paths_payload() replaces the paths. NULL + err. */
struct sw_payload *sw_entrypoint_payload(const struct sw_plan *plan, struct sw_error *err);

/* Start the command under torchrun, one process for each GPU of a node; what is no python command
 * stays as it is. */
void sw_entrypoint_torchrun(struct sw_payload *payload, int nodes, int gpus);

/* The ranks are a Ray cluster, the command its driver on rank 0. */
void sw_entrypoint_ray(struct sw_payload *payload, const struct sw_plan *plan);

/* Several ranks in containers: marks the outputs ("own") that lie neither in /results, nor below `shared`
 * (may be NULL), nor in a mount, so that each rank has its own and brings it itself. */
void sw_entrypoint_mark_own(json_t *outputs, const char *shared, const struct sw_mounts *mounts);

/* What will happen, step by step, for people. */
void sw_entrypoint_describe(struct sw_buf *out, const struct sw_payload *payload);

struct sw_runner_bytes {
    const char *arch;             /* "x86_64", "aarch64"; NULL: whatever this machine is */
    const void *bytes;
    size_t size;
};

/* One POSIX shell script: needs sh, base64, gzip and the basic file commands, no argument and no
 * other file. With an argument, the file of another payload, the runner does that one instead.
 * `code` may be NULL; `ca` is what sw_payload_take_ca() gave. */
void sw_entrypoint_script(struct sw_buf *out, const struct sw_payload *payload,
                          const struct sw_runner_bytes *runners, size_t count,
                          const struct sw_bundle *code, const struct sw_buf *ca);

#endif
