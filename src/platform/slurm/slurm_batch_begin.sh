# SPDX-License-Identifier: Apache-2.0
#
# slurm_batch_begin.sh - the batch script of every job, up to where the job's own `setup_lines` run.
#
# Bash. Before it: the #SBATCH lines, the values of this job (slurm_batch.c), once.sh and slurm_retry.sh. Behind it: the
# `setup_lines`, the image (slurm_image.sh) and slurm_batch_run.sh. Comments stay: users read this.
# shellcheck disable=SC2034,SC2154

# Slurm's own words go to main.err; ours and the first task's to main.out.
exec 2>&1
umask "$slipway_umask"
slipway_task=${SLURM_ARRAY_TASK_ID-}
slipway_number=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}
slipway_own=$slipway_state${slipway_task:+/task-$slipway_task}
slipway_results=$slipway_results${slipway_task:+/task-$slipway_task}
export slipway_own slipway_logs slipway_task
mkdir -p "$slipway_own" "$slipway_results" || exit 74

# Two jobs of one attempt: the first that starts owns it.
ln -s "$SLURM_JOB_ID" "$slipway_own/claim" 2>/dev/null
slipway_owner=$(readlink "$slipway_own/claim")
if [ "$slipway_owner" != "$SLURM_JOB_ID" ]; then
    echo "slipway: Slurm job $slipway_owner has this attempt; this one ends"
    scancel "$SLURM_JOB_ID"
    exit 0
fi
[ ! -e "$slipway_state/canceled" ] || { scancel "$SLURM_JOB_ID"; exit 0; }
[ -s "$slipway_state/job" ] || echo "$slipway_number" >"$slipway_state/job"
ln -sfn "${slipway_logs##*/}" "$slipway_base/slurm-logs/$SLURM_JOB_NAME-$slipway_number"
rm -f "$slipway_own"/exit "$slipway_own"/first "$slipway_own"/stop "$slipway_own"/rank-*
slipway_started=$(date +%s)
echo "${SLURM_RESTART_COUNT:-0} $SLURM_JOB_ID $slipway_started $SLURM_JOB_NODELIST" >>"$slipway_own/runs"
[ "${SLURM_RESTART_COUNT:-0}" = 0 ] || echo "slipway: run $((SLURM_RESTART_COUNT + 1)) on $SLURM_JOB_NODELIST"

# Where the ranks find each other.
slipway_nodes=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
MASTER_ADDR=${slipway_nodes%%$'\n'*}
slipway_hosts=${slipway_nodes//$'\n'/,}
WORKER_ADDRS=${slipway_hosts#"$MASTER_ADDR"}
WORKER_ADDRS=${WORKER_ADDRS#,}
export MASTER_ADDR WORKER_ADDRS slipway_hosts

# The facts of its end, for where there is no accounting, and with what accounting does not know: exit code, first rank that
# failed, a mark for what this script did or saw, and behind a tab the report of that rank's runner. What they mean is decided
# elsewhere (slurm_observation.c).
slipway_failed=-1 slipway_mark='' slipway_report=''
slipway_write_exit() {
    {
        printf '{"exit_code":%d,"mark":"%s","failed_replica":%d,"started":%d,"ended":%d,"runs":%d,"nodes":"%s"}\t' \
            "$slipway_code" "$slipway_mark" "$slipway_failed" "$slipway_started" "$(date +%s)" \
            $((SLIPWAY_ATTEMPT - SW_FIRST + 1)) "$SLURM_JOB_NODELIST"
        [ ! -s "$slipway_report" ] || tr -d '\n' <"$slipway_report"
        echo
    } >"$slipway_own/exit.new" && mv "$slipway_own/exit.new" "$slipway_own/exit"
    [ -n "$slipway_task" ] || rm -f "$slipway_secrets"
}
# slipway_end CODE MARK: end before the command ran.
slipway_end() {
    slipway_code=$1 slipway_mark=$2
    slipway_write_exit
    exit "$1"
}
# slipway_give_up CODE MARK: the same; perhaps another attempt follows.
slipway_give_up() {
    ! sw_retry "$1" "$2" '' || exit "$1"
    slipway_end "$@"
}

# Which attempt this is. The next run of a job that failed keeps its claim and its records.
SW_RECORD=$slipway_own/attempts
SW_OUT=$slipway_logs/main${slipway_task:+.$slipway_task}.out
SW_ERR=$slipway_logs/main${slipway_task:+.$slipway_task}.err
SW_CANCELED=$slipway_state/canceled
sw_handed() {
    ln -s "$1" "$slipway_own/claim.new" && mv -T "$slipway_own/claim.new" "$slipway_own/claim"
    echo "$1" >"$slipway_state/job.new" && mv "$slipway_state/job.new" "$slipway_state/job"
}
sw_begin
# Where its part of each log begins.
[ "$SLIPWAY_ATTEMPT" = "$SW_FIRST" ] ||
    find "$slipway_logs" -name '*.out' -printf "$SLIPWAY_ATTEMPT %f %s\n" >>"$slipway_own/parts"
! sw_used_up || slipway_end 75 node-lost

# The runner for this node's processors, checked against the hash in its name. What is removed here the next submit asks
# for or sends anew.
case $(uname -m) in
x86_64) slipway_runner=$slipway_runner_x86_64 ;;
aarch64) slipway_runner=$slipway_runner_aarch64 ;;
*) slipway_runner='' ;;
esac
export slipway_runner
if [ ! -x "$slipway_runner" ]; then
    rm -f "$slipway_base"/runner/.machines.*
    echo "slipway: the runner for machines of the kind $(uname -m) was not sent; submit it again"
    slipway_end 78 no-runner
fi
case $(sha256sum <"$slipway_runner") in
"${slipway_runner##*-}"*) ;;
*)
    rm -f "$slipway_runner"
    echo "slipway: $slipway_runner is not what was sent; submit it again"
    slipway_end 78 other-runner ;;
esac
SW_RUNNER=$slipway_runner

# The payload of a task of an array names the task's own folders.
[ -z "$slipway_task" ] ||
    sed "s|/$SLIPWAY_JOB_ID/task-@|/$SLIPWAY_JOB_ID/task-$slipway_task|g" "$slipway_payload" >"$slipway_own/payload.json" ||
    exit 74
