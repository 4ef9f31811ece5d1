# SPDX-License-Identifier: Apache-2.0
#
# slurm_retry.sh - the job's own retry: runs are numbered, and a failure of the infrastructure is
# followed by the next run without any client.
#
#     sw_begin                       which run is this, and may it run? Sets SLIPWAY_ATTEMPT
#     sw_retry EXIT REASON NODE      after a failure. 0: another run follows, so end without a last
#                                    word; 1: this was the end. REASON is a word that the rules
#                                    know, NODE the one that failed first, if that is known
#
# Each run is two lines of JSON in SW_RECORD, one at its begin, one at its end.
# Numbers and the right to a successor are folders made in SW_RECORD.d: mkdir happens once.
#
# A requeue keeps Slurm's job id, and Slurm waits about two minutes by itself; it cannot avoid a node.
# A successor can, and can wait longer; a job that has one and is nevertheless started again by Slurm
# ends at once. The caller's sw_handed NEXT, if there is such a function, hears of the successor's id.
#
#     SW_RECORD   file of the runs       SW_FIRST    number of the first run
#     SW_SCRIPT   the batch script       SW_COMMENT, SW_NAME   how its jobs are known in the queue
#     SW_OUT, SW_ERR   its logs          SW_CANCELED  file: no next run, whatever happens
#     SW_MAX      retries at most        SW_LOW, SW_HIGH   seconds to wait, doubled each time
#     SW_AVOID    1: keep away from nodes that failed    SW_EXCLUDE  nodes the job avoids anyway
#     SW_TIME     1: go on from the checkpoint after the time limit
#     SW_ON       causes that are tried again; empty: as the rules say
#     SW_RUNNER   the runner, which has the rules        SW_GPUS     GPUs asked for
#     SW_RULES    file of the user's own rules, or empty
#     SW_RANK_LOG FILE:FROM, the log of the rank that failed first when it is not in SW_OUT; may be unset
# shellcheck disable=SC2034,SC2153

sw_note() {
    printf '{"attempt":%d,"at":%d,%s}\n' "$SLIPWAY_ATTEMPT" "$(date +%s)" "$1" >> "$SW_RECORD"
}

sw_size() {
    stat -L -c %s "$1" 2>/dev/null || echo 0
}

sw_begin() {
    SW_NAMES=" $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p' | tr '\n' ' ')"
    if [ -d "$SW_RECORD.d/after-$SLURM_JOB_ID" ]; then
        sw_say "job $SLURM_JOB_ID has a successor: $(cat "$SW_RECORD.d/after-$SLURM_JOB_ID/id")"
        exit 0
    fi
    SLIPWAY_ATTEMPT=$SW_FIRST
    until mkdir -p "$SW_RECORD.d" && mkdir "$SW_RECORD.d/$SLIPWAY_ATTEMPT" 2>/dev/null; do
        [ -d "$SW_RECORD.d/$SLIPWAY_ATTEMPT" ] || { sw_say "cannot write to $SW_RECORD.d"; exit 73; }
        SLIPWAY_ATTEMPT=$((SLIPWAY_ATTEMPT + 1))
    done
    export SLIPWAY_ATTEMPT
    SW_OUT_FROM=$(sw_size "$SW_OUT") SW_ERR_FROM=$(sw_size "$SW_ERR")
    sw_note "\"event\":\"begin\",\"slurm_job_id\":\"$SLURM_JOB_ID\",\
\"restart\":${SLURM_RESTART_COUNT:-0},\
\"nodes\":\"$SLURM_JOB_NODELIST\",\"out_from\":$SW_OUT_FROM,\"err_from\":$SW_ERR_FROM"
}

# Slurm starts a job again after each node failure; this counts them.
sw_used_up() {
    [ "$((SLIPWAY_ATTEMPT - SW_FIRST))" -gt "$SW_MAX" ] || return 1
    sw_say "no retries left ($SW_MAX of $SW_MAX used)"
    SW_EXIT=75 SW_CLASS=ERR_INFRA SW_CAUSE=node SW_RULE=used-up SW_NODE=''
    sw_over none ''
}

# Has Slurm put us back into the queue already, after a node failure or a preemption?
sw_slurm_restarts() {
    sw_restarts=$(scontrol -o show job "$SLURM_JOB_ID" 2>/dev/null | sed -n 's/.* Restarts=\([0-9]*\) .*/\1/p')
    [ "${sw_restarts:-0}" -gt "${SLURM_RESTART_COUNT:-0}" ]
}

# The job was ended from outside. Slurm says in the log when it took the nodes back; the user's scancel says nothing.
sw_who_stopped() {
    case $SW_CAUSE$SW_TIME in
    preempted? | node? | time1) SW_REASON=$SW_CAUSE SW_AGAIN=again ;;
    *) SW_REASON=canceled SW_CLASS='' SW_CAUSE='' SW_RULE='' SW_AGAIN=never ;;
    esac
}

# The rules are the client's own, compiled into the runner: the same answer here as there.
sw_judge() {
    SW_CLASS=ERR_PROGRAM SW_CAUSE=unknown SW_RULE='' SW_AGAIN=never
    sw_said=$("$SW_RUNNER" verdict --exit "$SW_EXIT" --reason "$SW_REASON" --gpus "$SW_GPUS" \
        --on "$SW_ON" ${SW_RULES:+--rules "$SW_RULES"} --log "$SW_OUT:$SW_OUT_FROM" --log "$SW_ERR:$SW_ERR_FROM" \
        ${SW_RANK_LOG:+--log "$SW_RANK_LOG"} ${SW_REPORT:+--report "$SW_REPORT"}) || {
        sw_say 'the runner could not judge this failure; not retried'
        return 0
    }
    # shellcheck disable=SC2086
    set -- $sw_said
    SW_AGAIN=$1 SW_CLASS=$2 SW_CAUSE=$3 SW_RULE=$4
    [ -n "$SW_NODE" ] && [ "$4" != slurm-node ] || [ "$5" = - ] || SW_NODE=$5
    [ -n "$SW_NODE" ] || [ "${SLURM_JOB_NUM_NODES:-1}" != 1 ] || SW_NODE=$SLURM_JOB_NODELIST
    [ "$SW_REASON$SW_TIME" != time1 ] || SW_AGAIN=again
    [ "$SW_REASON" != term ] || sw_who_stopped
}

# sw_over ACTION NEXT: the run's last line; if there are two, the later one counts.
sw_over() {
    sw_note "\"event\":\"end\",\"exit_code\":$SW_EXIT,\"class\":\"$SW_CLASS\",\"cause\":\"$SW_CAUSE\",\
\"rule\":\"$SW_RULE\",\"node\":\"$SW_NODE\",\"action\":\"$1\",\"next\":\"$2\""
}

sw_pause() {
    sw_wait=$SW_LOW sw_n=$SW_FIRST
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
        SLURM_* | SLURMD_* | SBATCH_*) unset "$sw_name" ;;
        *) case $SW_NAMES in *" $sw_name "*) ;; *) unset "$sw_name" ;; esac ;;
        esac
    done
}

# The job that carries our comment and is not us, when sbatch did not live to tell.
sw_submitted() {
    squeue -h -n "$SW_NAME" -o '%A %k' | while read -r sw_id sw_comment; do
        case $sw_comment in
        "$SW_COMMENT" | "$SW_COMMENT "*) [ "$sw_id" = "$SLURM_JOB_ID" ] || { echo "$sw_id"; break; } ;;
        esac
    done
}

# Without the bad nodes there may not be enough; then a bad one is better than none.
sw_refused() {
    sw_say "$sw_next"
    case $sw_next in *'not available'* | *'nvalid node'*) sw_bad=$SW_EXCLUDE ;; esac
    sw_next=''
}

# Jobs that wait for this one wait for its successor; said before we end, or Slurm would end them, too.
sw_repoint() {
    squeue -h -t PD -u "$(id -un)" -o '%F|%E' | sort -u | while IFS='|' read -r sw_id sw_waits; do
        case $sw_waits in *":$SLURM_JOB_ID"[!0-9]*) ;; *) continue ;; esac
        sw_waits=$(echo "$sw_waits" | sed "s/([^)]*)//g; s/:$SLURM_JOB_ID\([^0-9]\|\$\)/:$sw_next\1/g")
        scontrol update "JobId=$sw_id" "Dependency=$sw_waits" &&
            sw_say "job $sw_id waits for job $sw_next now"
    done
}

# sw_successor SECONDS: sets sw_next, sw_bad. What the job itself waited for has happened.
sw_successor() {
    mkdir "$SW_RECORD.d/after-$SLURM_JOB_ID" 2>/dev/null || return 1
    sw_tries=0 sw_next=''
    set -- --parsable --dependency= --begin "now+$1" ${SLURM_JOB_ACCOUNT:+--account="$SLURM_JOB_ACCOUNT"}
    sw_bad=$(sort -u "$SW_RECORD.d/avoid" 2>/dev/null | tr '\n' ',')
    sw_bad=$SW_EXCLUDE${SW_EXCLUDE:+${sw_bad:+,}}${sw_bad%,}
    while [ -z "$sw_next" ] && [ "$sw_tries" -lt 5 ]; do
        [ "$sw_tries" = 0 ] || { sleep "$((1 << sw_tries))"; sw_next=$(sw_submitted); }
        [ -n "$sw_next" ] || sw_next=$(sw_forget; sbatch "$@" ${sw_bad:+--exclude="$sw_bad"} "$SW_SCRIPT" \
            2>&1 < /dev/null) || sw_refused
        sw_next=${sw_next%%;*} sw_tries=$((sw_tries + 1))
    done
    [ -n "$sw_next" ] || return 1
    echo "$sw_next" > "$SW_RECORD.d/after-$SLURM_JOB_ID/id"
    sw_repoint
    ! command -v sw_handed > /dev/null || sw_handed "$sw_next"
}

sw_requeue() {
    sw_over requeue "$SLURM_JOB_ID"
    sw_say "attempt $SLIPWAY_ATTEMPT failed ($SW_CAUSE); it is requeued"
    scontrol requeue "$SLURM_JOB_ID" || return 1
    sleep 300                           # it ends us; if not, that was no requeue
    return 1
}

# The newest sixteen: a cluster is not avoided as a whole.
sw_avoid() {
    echo "$SW_NODE" >> "$SW_RECORD.d/avoid"
    tail -n 16 "$SW_RECORD.d/avoid" > "$SW_RECORD.d/avoid.new" &&
        mv -f "$SW_RECORD.d/avoid.new" "$SW_RECORD.d/avoid"
}

sw_again() {
    sw_delay=$(sw_pause) sw_way=requeue
    case $SW_CAUSE in
    node | gpu | network)
        [ "$SW_AVOID" != 1 ] || [ -z "$SW_NODE" ] || [ "$SW_REASON" = outputs ] || { sw_way=successor; sw_avoid; } ;;
    esac
    # Nothing but a successor helps a job that Slurm has ended; and only a successor waits longer.
    [ "$SW_ENDED" = 0 ] && [ "$sw_delay" -le 180 ] || sw_way=successor
    # A task of an array is known by its array.
    [ -z "${SLURM_ARRAY_TASK_ID:-}" ] || sw_way=requeue
    [ "$sw_way" = successor ] || sw_requeue || sw_say 'Slurm did not requeue it'
    [ "$sw_delay" -ge 5 ] || sw_delay=5
    if [ -z "${SLURM_ARRAY_TASK_ID:-}" ] && sw_successor "$sw_delay"; then
        sw_over successor "$sw_next"
        sw_say "attempt $SLIPWAY_ATTEMPT failed ($SW_CAUSE); job $sw_next follows in $sw_delay s\
${sw_bad:+, not on $sw_bad}"
        return 0
    fi
    sw_over lost ''
    sw_say "attempt $SLIPWAY_ATTEMPT failed ($SW_CAUSE), and the next one could not be submitted"
    return 1
}

sw_retry() {
    SW_EXIT=$1 SW_REASON=$2 SW_NODE=$3 SW_CLASS='' SW_CAUSE='' SW_RULE='' SW_AGAIN=never SW_ENDED=0
    [ "$SW_REASON" != term ] || SW_ENDED=1
    [ "$SW_EXIT$SW_ENDED" = 00 ] || sw_judge
    if [ "$SW_ENDED" = 1 ] && [ ! -e "$SW_CANCELED" ] && sw_slurm_restarts; then
        sw_over requeue "$SLURM_JOB_ID"
        sw_say "attempt $SLIPWAY_ATTEMPT was ended (${SW_CAUSE:-by Slurm}); Slurm starts it again"
        return 0
    fi
    if [ "$SW_AGAIN" = again ] && [ ! -e "$SW_CANCELED" ]; then
        if [ "$((SLIPWAY_ATTEMPT - SW_FIRST))" -lt "$SW_MAX" ]; then
            sw_again
            return
        fi
        sw_say "attempt $SLIPWAY_ATTEMPT failed ($SW_CAUSE); no retries left ($SW_MAX of $SW_MAX used)"
    fi
    sw_over none ''
    return 1
}
