# SPDX-License-Identifier: Apache-2.0
#
# slurm_roles.sh - the roles of Cosmos-RL, as its own launchers read them: some nodes train (policy), the others generate
# (rollout), and the first one also runs the controller.
#
# Before it: TOTAL_NODES, NUM_POLICY_NODES, NUM_ROLLOUT_NODES, CONTROLLER_PORT. COSMOS_CONTROLLER_HOST is HOST:PORT, lists
# of nodes have blanks between. The role and the rank within it are ours.
# shellcheck disable=SC2154,SC2034

slipway_set_roles() {
    POLICY_NODES='' ROLLOUT_NODES='' slipway_count=0
    IFS=,
    for slipway_node in $slipway_hosts; do
        if [ "$slipway_count" -lt "$NUM_POLICY_NODES" ]; then
            POLICY_NODES="${POLICY_NODES:+$POLICY_NODES }$slipway_node"
        else
            ROLLOUT_NODES="${ROLLOUT_NODES:+$ROLLOUT_NODES }$slipway_node"
        fi
        slipway_count=$((slipway_count + 1))
    done
    unset IFS
    if [ "$NODE_RANK" -lt "$NUM_POLICY_NODES" ]; then
        COSMOS_ROLE=policy COSMOS_ROLE_RANK=$NODE_RANK LOCAL_NODE_LIST=$POLICY_NODES
    else
        COSMOS_ROLE=rollout COSMOS_ROLE_RANK=$((NODE_RANK - NUM_POLICY_NODES)) LOCAL_NODE_LIST=$ROLLOUT_NODES
    fi
    COSMOS_CONTROLLER=0
    [ "$NODE_RANK" != 0 ] || COSMOS_CONTROLLER=1
    CONTROLLER_NODE=$MASTER_ADDR COSMOS_CONTROLLER_HOST=$MASTER_ADDR:$CONTROLLER_PORT
    export TOTAL_NODES NUM_POLICY_NODES NUM_ROLLOUT_NODES POLICY_NODES ROLLOUT_NODES LOCAL_NODE_LIST CONTROLLER_NODE \
        CONTROLLER_PORT COSMOS_CONTROLLER_HOST COSMOS_CONTROLLER COSMOS_ROLE COSMOS_ROLE_RANK
}
