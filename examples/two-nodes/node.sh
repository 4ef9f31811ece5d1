#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# node.sh - what one node does: say who it is, then wait until every other node has said so too.
# usage: node.sh RESULTS_DIR
set -eu

results=$1
echo "I am node $NODE_RANK of $NNODES; we meet at $MASTER_ADDR:$MASTER_PORT"
mkdir -p "$results"
: > "$results/node-$NODE_RANK.here"

tries=0
while [ "$(ls "$results" | grep -c '\.here$')" -lt "$NNODES" ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 300 ]; then
        echo "node $NODE_RANK waited 30 s and is still alone" >&2
        exit 1
    fi
    sleep 0.1
done
echo "node $NODE_RANK: all $NNODES are here"
