# SPDX-License-Identifier: Apache-2.0
#
# slurm_batch_run.sh - the batch script of every job: one task per node, ended before Slurm would, and a record of its end.
#
# Bash. Behind slurm_batch_begin.sh and the image. Comments stay: users read this.
# shellcheck disable=SC2034,SC2154,SC2317,SC2030,SC2031,SC2094

[ -z "$slipway_mounts" ] || SLIPWAY_MOUNTS=$(cat "$slipway_mounts") ||
    slipway_give_up 66 no-mounts
# Slurm (22.05) puts what srun exports into an OCI bundle and nothing that it knows about the task: the rank gets in as a
# word of the command, which a list of programs can have for each task.
[ -z "$slipway_bundle" ] || echo "* /bin/sh $slipway_entrypoint %t" >"$slipway_own/tasks" || exit 74
slipway_run() {
    umask 022                # what makes a container makes folders
    if [ -n "$slipway_bundle" ]; then
        slipway_srun --multi-prog "$slipway_own/tasks"
    else
        slipway_srun /bin/sh "$slipway_entrypoint"
    fi
}

# A signal that Slurm carries reaches every process of the step, and the command would hear TERM as often as it is passed
# on. So a stop of ours is said with URG, which nothing minds but what each task runs, and which tells the runner alone. A
# task that has not begun finds the file. When Slurm itself ends the job (TERM) it has told all of them already.
slipway_why='' slipway_told='' slipway_stopper=''
slipway_stop() {
    [ -z "$slipway_why" ] || return 0
    slipway_why=$1
    [ "$1" != cancel ] || : >"$slipway_state/canceled"
    echo "$1" >"$slipway_own/stop.new" && mv "$slipway_own/stop.new" "$slipway_own/stop"
    {
        trap 'kill "$!"; exit' TERM
        for slipway_pause in 2 3 5 10; do
            ! scancel --signal=URG "$SLURM_JOB_ID" || slipway_told=1
            sleep "$slipway_pause" &
            wait "$!"
        done
        [ -n "$slipway_told" ] || kill -TERM "$slipway_step"
    } >/dev/null 2>&1 &
    slipway_stopper=$!
}
trap 'slipway_stop time' USR1
trap 'slipway_stop cancel' USR2
trap '[ -n "$slipway_why" ] || slipway_why=term' TERM
if [ "$slipway_limit" -gt 0 ]; then
    {
        trap 'kill "$!"' TERM
        trap - USR1
        sleep "$slipway_limit" &
        wait "$!" && kill -USR1 $$
    } >/dev/null 2>&1 &
    slipway_timer=$!
fi

# How long each log was when it last grew, for questions about what was said when. ($! of a sleep is known at once: with another
# variable, a TERM between the two would leave it behind.)
[ -e "$slipway_own/times" ] || : >"$slipway_own/times"
{
    trap 'kill "$!"; exit' TERM
    trap - USR1
    while :; do
        sleep 5 &
        wait "$!"
        find "$slipway_logs" -name '*.out' -newer "$slipway_own/times" -printf '%f %s %Ts\n' >>"$slipway_own/times"
    done
} >/dev/null 2>&1 &
slipway_clock=$!

slipway_run &
slipway_step=$!
while :; do
    wait "$slipway_step"
    slipway_code=$?
    kill -0 "$slipway_step" 2>/dev/null || break
done
trap '' USR1 USR2 TERM
# shellcheck disable=SC2086
kill "$slipway_clock" ${slipway_timer-} $slipway_stopper 2>/dev/null

# How it ended: the first rank that failed tells.
[ -z "$slipway_why" ] || ls "$slipway_own" >/dev/null 2>&1      # a shared file system may answer from memory
slipway_node=''
if slipway_value=$(readlink "$slipway_own/first"); then
    slipway_failed=$slipway_value slipway_report=$slipway_own/rank-$slipway_value.json
    SW_REPORT=$slipway_report
    [ "$slipway_code" -ne 0 ] || slipway_code=1
    { read -r slipway_code slipway_node <"$slipway_own/rank-$slipway_failed"; } 2>/dev/null
fi
if [ "$slipway_why" = time ] && [ "$slipway_code" -ne 0 ]; then
    slipway_code=124 slipway_failed=-1 slipway_report='' slipway_mark=time
fi
if [ "$slipway_code" = 0 ]; then
    for slipway_file in "$slipway_results/status.json" "$slipway_results"/*/status.json; do
        [ -f "$slipway_file" ] || continue
        case $(tail -n 1 "$slipway_file") in
        *'"status": "FAILURE"'* | *'"status":"FAILURE"'*) slipway_code=1 slipway_mark=status ;;
        esac
    done
fi

# slipway_collect_failed FILE: is all that failed, by this report of a runner, that what the command left did not arrive?
slipway_collect_failed() { grep -q '^ *"exit_code": *74,*$' "$1" && grep -q '^ *"failed": *"collect",*$' "$1"; } 2>/dev/null
# All commands ended well, and what they left did not arrive: the next run only brings that.
slipway_only_outputs() {
    for slipway_file in "$slipway_own"/rank-*.json; do
        grep -q '^ *"exit_code": *0,*$' "$slipway_file" || slipway_collect_failed "$slipway_file" || return 1
    done
}

# What the first rank that failed said: only rank 0 writes to the script's own log.
if [ "$slipway_failed" -gt 0 ]; then
    slipway_file=$slipway_failed${slipway_task:+.$slipway_task}.out
    slipway_value=$(sed -n "s/^$SLIPWAY_ATTEMPT $slipway_file //p" "$slipway_own/parts" 2>/dev/null)
    SW_RANK_LOG=$slipway_logs/$slipway_file:${slipway_value:-0}
fi
slipway_reason=${slipway_mark:-exit}
! slipway_collect_failed "$slipway_report" || slipway_reason=outputs
case $slipway_why in term | cancel) slipway_reason=term ;; esac
[ "$slipway_reason" != outputs ] || ! slipway_only_outputs || : >"$slipway_own/collect"
! sw_retry "$slipway_code" "$slipway_reason" "$slipway_node" || exit "$slipway_code"
[ "$slipway_reason" != term ] || slipway_mark=$SW_REASON
slipway_write_exit
case $slipway_why$slipway_code in cancel0) ;; cancel*) scancel "$SLURM_JOB_ID" ;; esac
exit "$slipway_code"
