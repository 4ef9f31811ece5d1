/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_queue.c - jobs that wait for GPUs.
 */
#include "platform/docker/docker_job.h"

json_t *docker_gpu_inventory(struct docker_api *api, const json_t *options)
{
    (void)api, (void)options;
    return NULL;
}
