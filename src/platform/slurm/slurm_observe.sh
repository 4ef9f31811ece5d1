# SPDX-License-Identifier: Apache-2.0
#
# slurm_observe.sh - what is known about all these jobs: one squeue, and one sacct for those that it forgot.
#
# Before it: each_job(), which sets `meta` (the folder of the records) and `prefix` (before the id in the job's name) and
# calls `job INDEX NUMBER FOLDER ARRAY` for each job (NUMBER 0: not known); numbers (those that are known, a comma before
# each); some_unknown; alone (1: there is only one job); and as positional parameters the logs whose growth matters. Changes
# nothing. Records:
#     number INDEX NUMBER      which Slurm job it is, by our own record
#     exit INDEX JSON          how the job's own script says that it ended
#     task INDEX N JSON        the same of task N of an array
#     canceled INDEX           a cancel was asked for
#     attempt INDEX JSON       a line of its attempts, if there is more than the begin of the first
#     submitting INDEX         its submitter may still be at work
#     grown TIME PATH          when a log last grew
#     report INDEX JSON        what the runner of rank 0 said last, of a job that is over or the only one
#     secrets INDEX            the job is over and its secrets are still there
#     squeue ROW, sacct ROW    rows of Slurm's own
#     accounting WORD          there is none ("off"), or it did not answer ("silent")
# The shell does everything but squeue and sacct itself, without a pipe or a here-document (it reads those byte by byte), so
# that five hundred jobs cost about what one costs. Only jobs that neither wait nor run have records to be read. One of them
# may have sent a successor, which has another number and costs a second squeue.
# shellcheck disable=SC2034,SC2154,SC2086

ask() {
    rows=$(squeue -h -t all -S i "$@" -o "squeue	$squeue_format" 2>&1) || case $rows in
    *'Invalid job id'*) rows= ;;
    *) printf '%s\n' "$rows" >&2; exit 75 ;;
    esac
    printf '%s\n' "$rows"
}

report() {
    [ ! -s "$meta/$2/rank-0.json" ] || {
        printf 'report\t%s\t' "$1"; tr -d '\n' <"$meta/$2/rank-0.json"; echo; }
}

read_number() {
    number=$2
    [ ! -s "$meta/$3/job" ] || {
        read -r number <"$meta/$3/job"
        if whole "$number"; then printf 'number\t%s\t%s\n' "$1" "$number"; else number=$2; fi
    }
    eval "number_$1=$number"
}

collect_number() {
    [ -z "$alone" ] || report "$1" "$3"
    [ "$2" = 0 ] || return 0
    read_number "$@"
    if [ "$number" = 0 ]; then search=1; else numbers=$numbers,$number; fi
}

# For each number in the rows: said_N, what is going on (waits, runs, live, cut, over), and tag_N, its name and comment.
read_rows() {
    set -f
    IFS='
'
    for row in $rows; do
        row=${row#*	}; word=${row%%|*}; row=${row#*|}; id=${row%%[_+|]*}
        whole "$id" || continue
        row=${row#*|*|*|*|*|*|}
        eval "tag_$id=\$row"
        case $word in
        PENDING) eval "said_$id=waits" ;;
        RUNNING) eval "said_$id=runs" ;;
        CANCELLED) eval "said_$id=\${said_$id:-cut}" ;;
        COMPLETED | FAILED | TIMEOUT | NODE_FAIL | OUT_OF_MEMORY | DEADLINE | BOOT_FAIL | PREEMPTED)
            eval "case \${said_$id-} in waits | runs | live) ;; *) said_$id=over ;; esac" ;;
        *) eval "case \${said_$id-} in waits | runs) ;; *) said_$id=live ;; esac" ;;
        esac
    done
    set +f
    unset IFS
}

# what_squeue_says NUMBER FOLDER: sets said. A number that another job has now says nothing about ours.
what_squeue_says() {
    eval "said=\${said_$1-} tag=\${tag_$1-}"
    mark=slipway:${2%.*}:${2##*.}
    case $tag in "$prefix${2%.*}|"* | *"|$mark" | *"|$mark "*) ;; *) said= ;; esac
}

# A job that waits or runs and never ran before has nothing more to tell; the others go to $act.
job() {
    what_squeue_says "$2" "$3"
    case $said$4 in
    runs0) [ -e "$meta/$3/attempts.d/2" ] || return 0 ;;
    waits? | runs?) [ -s "$meta/$3/attempts" ] || return 0 ;;
    esac
    "$act" "$@"
}

read_attempts() {
    busy=1
    read_number "$@"
    [ "$number" = "$2" ] || [ "$2" = 0 ] || more=$more,$number
    [ ! -s "$meta/$3/attempts" ] || {
        read -r first
        while read -r row; do
            [ -z "$first" ] || printf 'attempt\t%s\t%s\n' "$1" "$first"
            first=
            printf 'attempt\t%s\t%s\n' "$1" "$row"
        done
    } <"$meta/$3/attempts"
}

# What a submitter sent may come into the queue after it died, or after it could not tell: for a while nothing is said.
is_submitting() {
    [ -s "$state/owner" ] || return 1
    read -r host pid _ <"$state/owner"
    case $host in "$(uname -n)") young=30 ;; -) young=60 ;; *) young=600 ;; esac
    if [ "$young" = 30 ] && whole "$pid" && kill -0 "$pid" 2>/dev/null; then return 0; fi
    [ -n "$(find "$state/owner" -newermt "-$young seconds")" ]
}

# The secrets of a job that Slurm killed are left behind; one that has sent a successor needs them.
note_secrets() {
    [ -d "$state/attempts.d/after-$number" ] || [ ! -e "${meta%/meta}/env/${2%.*}.secrets" ] || printf 'secrets\t%s\n' "$1"
}

# The records of a job that neither waits nor runs. sacct has nothing to add where our own record tells the end, or squeue
# says that our cancel was carried out.
read_records() {
    eval "number=\$number_$1"
    what_squeue_says "$number" "$3"
    case $said in waits | runs) return 0 ;; esac
    state=$meta/$3 told=
    [ ! -f "$state/exit" ] || {
        read -r row <"$state/exit"; printf 'exit\t%s\t%s\n' "$1" "$row"; report "$1" "$3"; told=1; }
    [ "$4" = 0 ] || for file in "$state"/task-*/exit; do
        [ ! -f "$file" ] || {
            read -r row <"$file"; task=${file%/exit}; printf 'task\t%s\t%s\t%s\n' "$1" "${task##*-}" "$row"; }
    done
    [ ! -e "$state/canceled" ] || { printf 'canceled\t%s\n' "$1"; [ "$said" != cut ] || told=1; }
    if [ "$number" = 0 ]; then
        ! is_submitting || printf 'submitting\t%s\n' "$1"
        return 0
    fi
    case $said in
    live) ;;
    over | cut) note_secrets "$1" "$3" ;;
    *) [ "$number" != "$2" ] || note_secrets "$1" "$3" ;;
    esac
    case $said$told in live* | over1 | cut1) ;; *) past=$past,$number ;; esac
}

search='' more='' busy='' past=''
[ $# = 0 ] || stat --printf='grown\t%Y\t%n\n' "$@" 2>/dev/null
[ -z "$some_unknown$alone" ] || { act=collect_number; each_job; }
if [ -n "$search" ]; then ask -u "$(id -un)"; else ask -j "${numbers#,}"; fi
read_rows
act=read_attempts; each_job
[ -z "$more" ] || { ask -j "${more#,}"; read_rows; }
[ -n "$busy" ] || exit 0
act=read_records; each_job
[ -n "$past" ] || exit 0
rows=$(sacct -n -P -j "${past#,}" --format="$sacct_format" 2>&1) || {
    case $rows in *disabled*) printf 'accounting\toff\n' ;; *) printf 'accounting\tsilent\n' ;; esac
    rows=
}
[ -z "$rows" ] || printf '%s\n' "$rows" | sed 's/^/sacct	/'
