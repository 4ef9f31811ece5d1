# SPDX-License-Identifier: Apache-2.0
#
# slurm_retry.sh - the job's own retry: attempts are numbered, and a failure of the infrastructure is
# followed by the next one without any client.
#
#     sw_begin            first of all: which attempt is this, and may it run?
#     sw_step COMMAND...  the job itself; SW_EXIT is how it ended
#     sw_finish           last: judge, record, requeue or submit the successor, exit
#
# Each attempt is two lines of JSON in SW_RECORD, for whoever looks: one at its begin, one at its end.
# Numbers and the right to a successor are folders made in SW_RECORD.d: mkdir happens once.
#
# A requeue keeps Slurm's job id, and Slurm waits about two minutes by itself; it cannot avoid a node.
# A successor can, and can wait longer; a job that has one and is nevertheless started again by Slurm
# ends at once.
#
#     SW_JOB      our job id           SW_RECORD   file of the attempts
#     SW_SCRIPT   the batch script     SW_LOGS     folder of the logs
#     SW_MAX      retries at most      SW_LOW, SW_HIGH   seconds to wait, doubled each time
#     SW_AVOID    1: keep away from nodes that failed    SW_EXCLUDE  nodes the job avoids anyway
#     SW_TIME     1: go on from the checkpoint after the time limit; SW_AHEAD: seconds of warning
#     SW_ON       causes that are tried again; empty: as the rules say
#     SW_RUNNER   the runner, which has the rules        SW_GPUS     GPUs asked for
# shellcheck disable=SC2034,SC2153

SW_REASON='' SW_EXIT=0 SW_PID='' SW_STOPPED=0

sw_note() {
    printf '{"attempt":%d,"at":%d,%s}\n' "$SLIPWAY_ATTEMPT" "$(date +%s)" "$1" >> "$SW_RECORD"
}

sw_size() {
    stat -L -c %s "$1" 2>/dev/null || echo 0
}

sw_begin() {
    SW_NAMES=" $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p' | tr '\n' ' ')"
    [ -z "${SLURM_ARRAY_TASK_ID:-}" ] || SW_RECORD=$SW_RECORD.$SLURM_ARRAY_TASK_ID
    SW_OUT=$SW_LOGS/$SW_JOB-$SLURM_JOB_ID/main.out SW_ERR=$SW_LOGS/$SW_JOB-$SLURM_JOB_ID/main.err
    if [ -d "$SW_RECORD.d/after-$SLURM_JOB_ID" ]; then
        sw_say "job $SLURM_JOB_ID has a successor already: $(cat "$SW_RECORD.d/after-$SLURM_JOB_ID/id")"
        exit 0
    fi
    SLIPWAY_ATTEMPT=1
    until mkdir -p "$SW_RECORD.d" && mkdir "$SW_RECORD.d/$SLIPWAY_ATTEMPT" 2>/dev/null; do
        [ -d "$SW_RECORD.d/$SLIPWAY_ATTEMPT" ] || { sw_say "cannot write to $SW_RECORD.d"; exit 73; }
        SLIPWAY_ATTEMPT=$((SLIPWAY_ATTEMPT + 1))
    done
    export SLIPWAY_ATTEMPT
    SW_OUT_FROM=$(sw_size "$SW_OUT") SW_ERR_FROM=$(sw_size "$SW_ERR")
    sw_note "\"event\":\"begin\",\"slurm_job_id\":\"$SLURM_JOB_ID\",\"restart\":${SLURM_RESTART_COUNT:-0},\
\"nodes\":\"$SLURM_JOB_NODELIST\",\"out_from\":$SW_OUT_FROM,\"err_from\":$SW_ERR_FROM"
    if [ "$SLIPWAY_ATTEMPT" -gt "$((SW_MAX + 1))" ]; then
        sw_say "all $SW_MAX retries are used up"
        SW_EXIT=75 SW_CLASS=ERR_INFRA SW_CAUSE=node SW_RULE=used-up SW_NODE=''
        sw_over none ''
        exit 75
    fi
    trap sw_warned USR1
    trap sw_stopped TERM
}

# The time limit is near: the job hears it as USR1. With a checkpoint to go on from it is ended in time
# for us to requeue it; without one it may use the minutes that are left.
# shellcheck disable=SC2317
sw_warned() {
    [ -z "$SW_REASON" ] || return 0
    SW_REASON="time"
    [ -n "$SW_PID" ] || return 0
    kill -USR1 "$SW_PID" 2>/dev/null
    [ "$SW_TIME" = 1 ] || return 0
    sw_say "the time limit is near: the job is asked to write its checkpoint"
    (
        trap - TERM
        trap '' USR1
        sleep "$((SW_AHEAD > 60 ? SW_AHEAD - 40 : SW_AHEAD / 3))"
        kill -TERM "$SW_PID"
    ) < /dev/null > /dev/null 2>&1 &
    SW_TIMER=$!
}

# shellcheck disable=SC2317
sw_stopped() {
    SW_STOPPED=1
    [ -z "$SW_PID" ] || kill -TERM "$SW_PID" 2>/dev/null
}

# A signal ends `wait`, not the step: wait until it is gone.
sw_step() {
    "$@" &
    SW_PID=$!
    while :; do
        SW_EXIT=0
        wait "$SW_PID" || SW_EXIT=$?
        kill -0 "$SW_PID" 2>/dev/null || break
    done
    SW_PID=''
    [ -z "${SW_TIMER:-}" ] || kill "$SW_TIMER" 2>/dev/null
}

# Somebody ended us: was it the user, or did Slurm take the nodes back?
sw_who_stopped() {
    sw_job=$(scontrol -o show job "$SLURM_JOB_ID" 2>/dev/null)
    case $sw_job in
    *JobState=PREEMPTED*Restarts="${SLURM_RESTART_COUNT:-0} "*) SW_REASON=preempted ;;
    *) SW_REASON=canceled ;;
    esac
}

# The rules are the client's own, compiled into the runner: the same answer here as there.
sw_judge() {
    SW_CLASS=ERR_PROGRAM SW_CAUSE=unknown SW_RULE='' SW_NODE='' SW_AGAIN=never
    sw_said=$("$SW_RUNNER" verdict --exit "$SW_EXIT" --reason "${SW_REASON:-exit}" --gpus "$SW_GPUS" \
        --on "$SW_ON" --log "$SW_OUT:$SW_OUT_FROM" --log "$SW_ERR:$SW_ERR_FROM") || {
        sw_say "the runner could not judge this failure; it is not tried again"
        return 0
    }
    # shellcheck disable=SC2086
    set -- $sw_said
    SW_AGAIN=$1 SW_CLASS=$2 SW_CAUSE=$3 SW_RULE=$4 SW_NODE=$5
    [ "$SW_NODE" != - ] || SW_NODE=''
    [ -n "$SW_NODE" ] || [ "${SLURM_JOB_NUM_NODES:-1}" != 1 ] || SW_NODE=$SLURM_JOB_NODELIST
    [ "$SW_REASON$SW_TIME" != time1 ] || SW_AGAIN=again
}

# sw_over ACTION NEXT: the attempt's last line; if there are two, the later one counts.
sw_over() {
    sw_note "\"event\":\"end\",\"exit_code\":$SW_EXIT,\"class\":\"$SW_CLASS\",\"cause\":\"$SW_CAUSE\",\
\"rule\":\"$SW_RULE\",\"node\":\"$SW_NODE\",\"action\":\"$1\",\"next\":\"$2\""
}

sw_pause() {
    sw_wait=$SW_LOW sw_n=1
    while [ "$sw_n" -lt "$SLIPWAY_ATTEMPT" ] && [ "$sw_wait" -lt "$SW_HIGH" ]; do
        sw_wait=$((sw_wait * 2)) sw_n=$((sw_n + 1))
    done
    [ "$sw_wait" -le "$SW_HIGH" ] || sw_wait=$SW_HIGH
    # Jobs that fell together do not come back together.
    echo "$((sw_wait + sw_wait * (SLURM_JOB_ID * 37 % 100) / 400))"
}

# A successor begins with the environment that we began with, and nothing that we or Slurm added.
sw_forget() {
    for sw_name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
        case $sw_name in
        SLURM_CONF | PATH | HOME | PWD) ;;
        SLURM_* | SBATCH_*) unset "$sw_name" ;;
        *) case $SW_NAMES in *" $sw_name "*) ;; *) unset "$sw_name" ;; esac ;;
        esac
    done
}

# sw_submitted COMMENT: the job that carries it, when sbatch did not live to tell.
sw_submitted() {
    squeue -h -n "$SW_JOB" -o '%A %k' | while read -r sw_id sw_comment; do
        [ "$sw_comment" != "$1" ] || { echo "$sw_id"; break; }
    done
}

sw_successor() {
    mkdir "$SW_RECORD.d/after-$SLURM_JOB_ID" 2>/dev/null || return 1
    sw_comment="slipway $SW_JOB attempt=$((SLIPWAY_ATTEMPT + 1))"
    sw_task=${SLURM_ARRAY_TASK_ID:-} sw_tries=0 sw_next=''
    set -- --parsable --comment "$sw_comment" --begin "now+$1"
    [ -z "$sw_task" ] || set -- "$@" --array "$sw_task"
    sw_bad=$(sort -u "$SW_RECORD.d/avoid" 2>/dev/null | tr '\n' ',')
    sw_bad=${SW_EXCLUDE:+$SW_EXCLUDE,}${sw_bad%,}
    [ -z "${sw_bad%,}" ] || set -- "$@" --exclude "${sw_bad%,}"
    while [ -z "$sw_next" ] && [ "$sw_tries" -lt 5 ]; do
        [ "$sw_tries" = 0 ] || { sleep "$((1 << sw_tries))"; sw_next=$(sw_submitted "$sw_comment"); }
        [ -n "$sw_next" ] || sw_next=$(sw_forget; sbatch "$@" "$SW_SCRIPT" < /dev/null)
        sw_next=${sw_next%%;*} sw_tries=$((sw_tries + 1))
    done
    [ -n "$sw_next" ] || return 1
    # Slurm 22.05 does not make the folder of the log, and a job without one dies.
    mkdir -p "$SW_LOGS/$SW_JOB-$sw_next"
    echo "$sw_next" > "$SW_RECORD.d/after-$SLURM_JOB_ID/id"
}

sw_requeue() {
    sw_over requeue "$SLURM_JOB_ID"
    sw_say "attempt $SLIPWAY_ATTEMPT failed ($SW_CAUSE); requeued"
    scontrol requeue "$SLURM_JOB_ID" || return 1
    sleep 300                           # it ends us; if not, that was no requeue
    return 1
}

sw_again() {
    sw_delay=$(sw_pause) sw_way=requeue
    case $SW_CAUSE in
    node | gpu | network) [ "$SW_AVOID" != 1 ] || [ -z "$SW_NODE" ] || {
        sw_way=successor
        echo "$SW_NODE" >> "$SW_RECORD.d/avoid"
    } ;;
    esac
    # Nothing but a successor helps a job that Slurm has ended; and only a successor waits longer.
    [ "$SW_REASON" != preempted ] && [ "$sw_delay" -le 180 ] || sw_way=successor
    [ "$sw_way" = successor ] || sw_requeue || sw_say 'Slurm refused the requeue'
    [ "$sw_delay" -ge 10 ] || sw_delay=10
    if sw_successor "$sw_delay"; then
        sw_over successor "$sw_next"
        sw_say "attempt $SLIPWAY_ATTEMPT failed ($SW_CAUSE); job $sw_next follows in $sw_delay s${sw_bad:+, \
not on ${sw_bad%,}}"
    else
        sw_over lost ''
        sw_say "attempt $SLIPWAY_ATTEMPT failed ($SW_CAUSE), and the next one could not be submitted"
    fi
}

sw_finish() {
    trap '' USR1 TERM
    SW_CLASS='' SW_CAUSE='' SW_RULE='' SW_NODE='' SW_AGAIN=never
    [ "$SW_STOPPED" = 0 ] || sw_who_stopped
    if [ "$SW_EXIT" = 0 ] && [ "$SW_STOPPED" = 0 ]; then
        sw_over none ''
        exit 0
    fi
    [ "$SW_REASON" = canceled ] || sw_judge
    if [ "$SW_AGAIN" = again ] && [ ! -e "$SW_RECORD.d/canceled" ] &&
        [ "$SLIPWAY_ATTEMPT" -le "$SW_MAX" ]; then
        sw_again
    else
        [ "$SW_AGAIN" = never ] || sw_say "attempt $SLIPWAY_ATTEMPT failed; all $SW_MAX retries are used up"
        sw_over none ''
    fi
    exit "$((SW_EXIT == 0 ? 143 : SW_EXIT))"
}
