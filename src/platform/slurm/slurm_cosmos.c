/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_cosmos.c - the roles of Cosmos-RL: some nodes train (policy), the others generate (rollout), and
 * the first one also runs the controller that all of them ask.
 *
 * Names and shapes of the variables are those that Cosmos-RL's own launchers read, so that they can be
 * started as they are: COSMOS_CONTROLLER_HOST is HOST:PORT, lists of nodes have blanks between. The rank
 * within the role and the role itself are ours.
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

static const json_t *cosmos_of(const struct sw_plan *plan)
{
    const json_t *cosmos = json_object_get(plan->options, "cosmos");

    return json_is_object(cosmos) ? cosmos : NULL;
}

void slurm_cosmos_environment(json_t *env, const struct slurm_job *job)
{
    if (!cosmos_of(job->plan))
        return;
    if (!json_object_get(env, "COSMOS_CACHE"))
        json_object_set_new(env, "COSMOS_CACHE", json_sprintf("%s/.cache/cosmos", job->names->base));
    if (!json_object_get(env, "CUDA_OVERRIDE_VERSION"))
        json_object_set_new(env, "CUDA_OVERRIDE_VERSION", json_string("12.8"));
}

static const char roles_text[] =
    "POLICY_NODES= ROLLOUT_NODES= slipway_count=0\n"
    "IFS=,\n"
    "for slipway_node in $slipway_hosts; do\n"
    "    if [ \"$slipway_count\" -lt \"$NUM_POLICY_NODES\" ]; then\n"
    "        POLICY_NODES=\"${POLICY_NODES:+$POLICY_NODES }$slipway_node\"\n"
    "    else\n"
    "        ROLLOUT_NODES=\"${ROLLOUT_NODES:+$ROLLOUT_NODES }$slipway_node\"\n"
    "    fi\n"
    "    slipway_count=$((slipway_count + 1))\n"
    "done\n"
    "unset IFS\n"
    "if [ \"$NODE_RANK\" -lt \"$NUM_POLICY_NODES\" ]; then\n"
    "    COSMOS_ROLE=policy COSMOS_ROLE_RANK=$NODE_RANK LOCAL_NODE_LIST=$POLICY_NODES\n"
    "else\n"
    "    COSMOS_ROLE=rollout COSMOS_ROLE_RANK=$((NODE_RANK - NUM_POLICY_NODES)) "
    "LOCAL_NODE_LIST=$ROLLOUT_NODES\n"
    "fi\n"
    "COSMOS_CONTROLLER=0\n"
    "[ \"$NODE_RANK\" != 0 ] || COSMOS_CONTROLLER=1\n"
    "CONTROLLER_NODE=$MASTER_ADDR COSMOS_CONTROLLER_HOST=$MASTER_ADDR:$CONTROLLER_PORT\n"
    "export TOTAL_NODES NUM_POLICY_NODES NUM_ROLLOUT_NODES POLICY_NODES ROLLOUT_NODES \\\n"
    "    LOCAL_NODE_LIST CONTROLLER_NODE CONTROLLER_PORT COSMOS_CONTROLLER_HOST COSMOS_CONTROLLER \\\n"
    "    COSMOS_ROLE COSMOS_ROLE_RANK\n";

void slurm_cosmos_roles(struct sw_buf *out, const struct slurm_job *job)
{
    const json_t *cosmos = cosmos_of(job->plan);
    long long policy = sw_json_int(cosmos, "policy_nodes", 1);

    if (!cosmos)
        return;
    slurm_set_number(out, "TOTAL_NODES", job->shape->nodes);
    slurm_set_number(out, "NUM_POLICY_NODES", policy);
    slurm_set_number(out, "NUM_ROLLOUT_NODES", job->shape->nodes - policy);
    slurm_set_number(out, "CONTROLLER_PORT", sw_json_int(cosmos, "controller_port", 8082));
    sw_buf_add(out, roles_text);
}
