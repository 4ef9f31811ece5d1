# SPDX-License-Identifier: Apache-2.0
#
# slurm_cancel.sh - one step of stopping jobs: ask squeue, scancel what must end, ask until nothing is left or time is up.
#
# Before it: slurm_common.sh; each_job(), which calls `job HOW NUMBER NAME COMMENT STATE SECRETS` for each (HOW: soft, wait or
# hard); pauses (seconds between two questions). What is known of job i is in variables that end in _i. Records:
#     state INDEX WORD NUMBER      over: nothing of it is left; never: it waited and got no node; wait: not yet over
#     failed INDEX TEXT            its own folder refused the mark
#     complaint TEXT               what scancel said
# shellcheck disable=SC2034,SC2154,SC2086

count=0 open='' numbers='' names='' unnumbered=''

# The mark makes a submit that is still on its way send nothing, and a job that starts later end itself.
job() {
    i=$count count=$((count + 1)) number=$2
    [ -d "$5" ] || said=$(mkdir -p "$5" 2>&1) || { printf 'failed\t%s\t%s\n' "$i" "$(flat "$said")"; return; }
    [ "$1" != soft ] || [ -f "$5/exit" ] || said=$( (: >"$5/canceled") 2>&1) || {
        printf 'failed\t%s\t%s\n' "$i" "$(flat "$said")"; return; }
    [ ! -s "$5/job" ] || { read -r known <"$5/job"; ! whole "$known" || number=$known; }
    whole "$number" || number=0
    open="$open $i"
    eval "how_$i=\$1 number_$i=$number name_$i=\$3 comment_$i=\$4 state_$i=\$5 secrets_$i=\$6 doing_$i="
    if [ "$number" = 0 ]; then
        names=$names,$3 unnumbered="$unnumbered $i"
    else
        numbers=$numbers,$number
        eval "job_$number=$i"
    fi
}

list() {
    said=$(squeue -h -t all "$@" -o '%F|%T|%N|%j|%k' 2>&1) || case $said in
    *'Invalid job id'*) said='' ;;
    *) printf '%s\n' "$said" >&2; exit 75 ;;
    esac
    rows="$rows$said
"
}

# A row of job i.
read_row() {
    eval "seen_$i=1"
    [ "$word$where" = CANCELLED ] || eval "never_$i="
    case $word in
    '' | COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL | OUT_OF_MEMORY | DEADLINE | BOOT_FAIL | PREEMPTED) return ;;
    PENDING) eval "waits_$i=1" ;;
    RUNNING) eval "runs_$i=1" ;;
    COMPLETING) ;;
    *) eval "other_$i=1" ;;
    esac
    eval "left_$i=\$id doing_$i=\$doing_$i\$word"
    left=1
}

has_mark() {
    eval "comment=\$comment_$i"
    case $mark in "$comment" | "$comment "*) return 0 ;; esac
    return 1
}

# One squeue for all. A row is a job's only when it carries the job's comment, or its number and name.
ask() {
    rows='' left=''
    for i in $open; do eval "left_$i= waits_$i= runs_$i= other_$i= seen_$i= never_$i=never"; done
    [ -z "$numbers" ] || list -j "${numbers#,}"
    [ -z "$unnumbered" ] || list -u "$(id -un)" -n "${names#,}"
    while IFS='|' read -r id word where called mark; do
        whole "$id" || continue
        eval "i=\${job_$id-}"
        if [ -n "$i" ]; then
            eval "name=\$name_$i"
            if has_mark || [ "$called" = "$name" ]; then read_row; fi
            continue
        fi
        for i in $unnumbered; do ! has_mark || read_row; done
    done <<ROWS
$rows
ROWS
}

# scancel that fails without a word found nothing in that state.
end() {
    said=$(scancel "$@" 2>&1) || printf '%s\n' "$said" |
        sed -e '/^$/d' -e '/nvalid job id/d' -e '/already complet/d' -e 's/^/complaint	/'
}

# What waits is taken out of the queue. What runs a step gets a signal to its batch script alone, which lets the command
# have its grace: Slurm's own cancel signals every process and kills after KillWait, whatever the job was promised.
end_jobs() {
    pending='' running='' softly='' all='' first=0.05
    for i in $open; do
        eval "how=\$how_$i id=\$left_$i waits=\$waits_$i runs=\$runs_$i other=\$other_$i doing=\$doing_$i"
        [ -z "$id" ] || [ "$doing" = PENDING ] || first=''
        [ -z "$waits" ] || pending="$pending $id"
        case $how in
        soft) if [ -n "$other" ]; then all="$all $id"; elif [ -n "$runs" ]; then running="$running $id"; fi ;;
        hard) [ -z "$id" ] || all="$all $id" ;;
        esac
    done
    if [ -n "$running" ]; then
        for step in $(squeue -h -s -j "$(printf '%s' "${running# }" | tr ' ' ',')" -o %i 2>/dev/null); do
            case $step in [0-9]*.[0-9]*) eval "begun_${step%%[!0-9]*}=1" ;; esac
        done
        for id in $running; do
            eval "begun=\${begun_$id-}"
            if [ -n "$begun" ]; then softly="$softly $id"; else all="$all $id"; fi
        done
    fi
    [ -z "$pending" ] || end --state=PENDING $pending
    [ -z "$all" ] || end $all
    [ -z "$softly" ] || end --batch --signal=USR2 --state=RUNNING $softly
}

each_job
ask
end_jobs
for pause in $pauses; do
    [ -n "$left" ] || break
    [ "$pause" = "$first" ] || sleep "$pause"            # one that waited is gone immediately
    ask
done
for i in $open; do
    eval "left=\$left_$i doing=\$doing_$i never=\$never_$i seen=\$seen_$i number=\$number_$i state=\$state_$i \
secrets=\$secrets_$i"
    [ -z "$left" ] || { printf 'state\t%s\twait\t%s\n' "$i" "$left"; continue; }
    [ ! -e "$secrets" ] || rm -f "$secrets"
    [ -n "$seen" ] && [ "$doing" = PENDING ] && [ ! -e "$state/attempts" ] || never=''
    printf 'state\t%s\t%s\t%s\n' "$i" "${never:-over}" "$number"
done
