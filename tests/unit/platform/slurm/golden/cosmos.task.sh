#!/bin/sh
# Job dino-abcd2345: what each task runs. Made by slipway.
slipway_runner=/lustre/ann/runner/slipway-runner-x86_64-0123
slipway_letter=/lustre/ann/entrypoints/job_dino-abcd2345.json
slipway_secrets=/lustre/ann/env/dino-abcd2345.secrets
slipway_rank=$SLURM_NODEID
NODE_RANK=${SLURM_NODEID:?this runs in a task of Slurm}
export NODE_RANK
slipway_name=$slipway_rank
[ "$slipway_rank" != 0 ] || slipway_name=main
exec >>"$slipway_logs/$slipway_name${slipway_task:+.$slipway_task}.out" 2>&1
slipway_report=$slipway_own/rank-$slipway_rank.json
TAO_RESULTS_ROOT=/lustre/ann/results
export TAO_RESULTS_ROOT
export COSMOS_POLICY_NODES=1 COSMOS_ROLLOUT_NODES=2
export COSMOS_CONTROLLER_HOST=$MASTER_ADDR COSMOS_CONTROLLER_PORT=8082
if [ "$NODE_RANK" -lt 1 ]; then
    COSMOS_ROLE=policy COSMOS_ROLE_RANK=$NODE_RANK
else
    COSMOS_ROLE=rollout COSMOS_ROLE_RANK=$((NODE_RANK - 1))
fi
COSMOS_CONTROLLER=$([ "$NODE_RANK" = 0 ] && echo 1 || echo 0)
export COSMOS_ROLE COSMOS_ROLE_RANK COSMOS_CONTROLLER
export SLIPWAY_TASK="$SLURM_JOB_ID.$slipway_rank"
slipway_sweep() {
    for slipway_file in $(grep -lszxF "SLIPWAY_TASK=$SLIPWAY_TASK" /proc/[0-9]*/environ 2>&-); do
        slipway_file=${slipway_file#/proc/}
        kill -KILL "${slipway_file%/environ}" 2>&-
    done
}
slipway_child=
trap '[ -z "$slipway_child" ] || kill -TERM "$slipway_child" 2>&-' TERM INT
trap '[ -z "$slipway_child" ] || kill -USR1 "$slipway_child" 2>&-' USR1
if [ -f "$slipway_secrets" ]; then
    "$slipway_runner" all --report "$slipway_report" --secrets-fd 3 "$slipway_letter" 3<"$slipway_secrets" &
else
    "$slipway_runner" all --report "$slipway_report" "$slipway_letter" &
fi
slipway_child=$!
while :; do
    wait "$slipway_child"
    slipway_code=$?
    kill -0 "$slipway_child" 2>&- || break
done
slipway_sweep
[ "$slipway_code" = 0 ] || ln -s "$slipway_rank" "$slipway_own/first" 2>&-
echo "$slipway_code ${SLURMD_NODENAME:-$(hostname 2>&-)}" >"$slipway_own/rank-$slipway_rank"
exit "$slipway_code"
