/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rendezvous.c - the variables by which the ranks of a job find each other.
 *
 * The same names on every platform. WORLD_SIZE counts nodes, as TAO's entry point expects;
 * `world_size: ranks` counts processes, as a plain torch script expects.
 */
#include "plan/plan.h"

static void set_number(json_t *env, const char *name, int value)
{
    json_object_set_new(env, name, json_sprintf("%d", value));
}

void sw_rendezvous_env(const struct sw_rendezvous *r, json_t *env)
{
    int per_node = r->gpus_per_node > 0 ? r->gpus_per_node : 1;

    set_number(env, "NNODES", r->nodes);
    set_number(env, "NPROC_PER_NODE", per_node);
    set_number(env, "NODE_RANK", r->node_rank);
    set_number(env, "NUM_GPU_PER_NODE", r->gpus_per_node);
    set_number(env, "WORLD_SIZE", r->world_size_ranks ? r->nodes * per_node : r->nodes);
    json_object_set_new(env, "MASTER_ADDR", json_string(r->master_addr));
    set_number(env, "MASTER_PORT", r->master_port);
    json_object_set_new(env, "WORKER_ADDRS", json_string(r->worker_addrs));
}
