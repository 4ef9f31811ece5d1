# SPDX-License-Identifier: Apache-2.0
#
# slurm_task.sh - what every task runs: it finds its rank, sets the environment and hands over to the runner.
#
# Before it: slipway_id, slipway_payload, slipway_secrets, slipway_ranks (node, process or bundle), slipway_results_root,
# slipway_results_inside, slipway_alone, slipway_collect_only, slipway_roles, slipway_cuda; slipway_defaults(). From the batch
# script: slipway_own, slipway_logs, slipway_task, slipway_hosts, slipway_runner. Comments stay: users read this.
# shellcheck disable=SC2154,SC2034

# On the batch host SLURM_NODEID is 0 for all: the rank is found here. In an OCI bundle Slurm's words about the task are
# those of the batch script: the rank is our first word, and the node follows from it.
case $slipway_ranks in
process) slipway_rank=$SLURM_PROCID ;;
bundle)
    SLURM_NODEID=$1 SLURM_PROCID=$1 slipway_rank=$1
    IFS=,
    # shellcheck disable=SC2086
    set -- $slipway_hosts
    unset IFS
    shift "$slipway_rank"
    SLURMD_NODENAME=$1
    PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
    export SLURM_NODEID SLURM_PROCID SLURMD_NODENAME PATH ;;
*) slipway_rank=$SLURM_NODEID ;;
esac
NODE_RANK=${SLURM_NODEID:?this runs in a task of Slurm}
export NODE_RANK
slipway_name=$slipway_rank
[ "$slipway_rank" != 0 ] || slipway_name=main
exec >>"$slipway_logs/$slipway_name${slipway_task:+.$slipway_task}.out" 2>&1
slipway_report=$slipway_own/rank-$slipway_rank.json
slipway_defaults

# A task of an array has folders of its own.
if [ -n "$slipway_task" ]; then
    slipway_payload=$slipway_own/payload.json
    TAO_RESULTS_ROOT=$slipway_results_root/$slipway_id/task-$slipway_task
    SLIPWAY_RESULTS_DIR=${slipway_results_inside:-$TAO_RESULTS_ROOT}
else
    TAO_RESULTS_ROOT=$slipway_results_root
    SLIPWAY_RESULTS_DIR=${slipway_results_inside:-$TAO_RESULTS_ROOT/$slipway_id}
fi
export TAO_RESULTS_ROOT SLIPWAY_RESULTS_DIR
# Frameworks that start their own workers must not believe that Slurm started them. With `launcher: mpi` every task is a
# process of the user's, and needs what Slurm says.
if [ -n "$slipway_alone" ]; then
    export SLURM_JOB_NAME=bash
    unset SLURM_NTASKS SLURM_NNODES SLURM_PROCID SLURM_LOCALID SLURM_NTASKS_PER_NODE RANK LOCAL_RANK GROUP_RANK
fi
# The run before this one could only not bring its outputs: the command is not run again.
[ -z "$slipway_collect_only" ] || export SLIPWAY_COLLECT_ONLY="$slipway_collect_only"
[ ! -e "$slipway_own/collect" ] || export SLIPWAY_COLLECT_ONLY=0
[ -z "$slipway_roles" ] || slipway_set_roles
# Another CUDA than the image's first one, where it is installed beside.
if [ -n "$slipway_cuda" ]; then
    CUDA_HOME=$slipway_cuda CUDA_PATH=$slipway_cuda
    LD_LIBRARY_PATH=$slipway_cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    LIBRARY_PATH=$slipway_cuda/lib64${LIBRARY_PATH:+:$LIBRARY_PATH}
    CPATH=$slipway_cuda/include${CPATH:+:$CPATH}
    export CUDA_HOME CUDA_PATH LD_LIBRARY_PATH LIBRARY_PATH CPATH
fi

# Slurm signals every process of a step by itself, the runner among them: nothing is passed on to it from here but a stop
# of ours, once. What ran away from the command has our mark in its environment; where Slurm tracks processes by cgroups
# there is nothing left to find.
export SLIPWAY_TASK="$SLURM_JOB_ID.$slipway_rank"
# shellcheck disable=SC2013
slipway_sweep() {
    for slipway_file in $(grep -lszxF "SLIPWAY_TASK=$SLIPWAY_TASK" /proc/[0-9]*/environ 2>&-); do
        slipway_file=${slipway_file#/proc/}
        kill -KILL "${slipway_file%/environ}" 2>&-
    done
}
slipway_child='' slipway_told='' slipway_how=''
slipway_stop() {
    [ -n "$slipway_child" ] && [ -z "$slipway_told" ] || return 0
    slipway_told=1
    { read -r slipway_how <"$slipway_own/stop"; } 2>&-
    case $slipway_how in
    time) kill -XCPU "$slipway_child" 2>&- ;;
    *) kill -QUIT "$slipway_child" 2>&- ;;
    esac
}
trap slipway_stop URG
trap : TERM INT HUP USR1 USR2
if [ -f "$slipway_secrets" ]; then
    "$slipway_runner" all --report-only "$slipway_report" --secrets-fd 3 "$slipway_payload" 3<"$slipway_secrets" &
else
    "$slipway_runner" all --report-only "$slipway_report" "$slipway_payload" &
fi
slipway_child=$!
[ ! -e "$slipway_own/stop" ] || slipway_stop
while :; do
    wait "$slipway_child"
    slipway_code=$?
    kill -0 "$slipway_child" 2>&- || break
done
slipway_sweep

# Only one rank can make the link to itself, so the clocks of the nodes need not agree on which failed first. A rank that
# ended because another one did was not the first.
! grep -qs '"failed_peer"' "$slipway_report" || slipway_told=peer
[ "$slipway_code" = 0 ] || [ "$slipway_told" = peer ] || ln -s "$slipway_rank" "$slipway_own/first" 2>&-
echo "$slipway_code ${SLURMD_NODENAME:-$(hostname 2>&-)}" >"$slipway_own/rank-$slipway_rank"
[ -z "$slipway_told" ] || exit 0            # or srun would end the others, who still have their grace
exit "$slipway_code"
