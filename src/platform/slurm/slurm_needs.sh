# SPDX-License-Identifier: Apache-2.0
#
# slurm_needs.sh - what a job needs of the cluster, checked on a login host before anything is queued.
#
# The submit and the preflight run the same functions. `fail WORD TEXT` is theirs: it ends a submit; a preflight notes it and
# continues. Before it: check (empty: check nothing), base, bundle, image_file, inputs and outputs (paths, a newline behind each), partition,
# asked (minutes; empty: the time is known to be allowed), gpus (empty: none is asked for).
# shellcheck disable=SC2154,SC2015

# minutes LIMIT: of sinfo's "2-00:00:00", "4:00:00", "30:00", "infinite".
minutes() {
    case $1 in
    *-*) rest=${1#*-}; echo $((${1%%-*} * 1440 + ${rest%%:*} * 60)) ;;
    *:*:*) rest=${1#*:}; hours=${1%%:*}; rest=${rest%%:*}; echo $((${hours#0} * 60 + ${rest#0})) ;;
    *:*) rest=${1%%:*}; echo $((${rest#0})) ;;
    *) echo 999999999 ;;
    esac
}

# One of the partitions that allows the time is enough.
check_time() {
    rows=$(sinfo -h ${partition:+-p "$partition"} -o '%P|%l' | sort -u) || exit 75
    over='' fits=''
    while IFS='|' read -r part limit; do
        [ -n "$part" ] || continue
        case $partition$part in *\*) part=${part%\*} ;; "$part") continue ;; esac
        if [ "$(minutes "$limit")" -ge "$asked" ]; then fits=1; else over="$part $limit"; fi
    done <<ROWS
$rows
ROWS
    [ -n "$fits" ] || [ -z "$over" ] || fail limit "$over"
}

# Slurm cannot mount anything into an OCI bundle: it has to bring our folder itself.
check_bundle() {
    [ -r "$bundle/config.json" ] || fail missing "$bundle/config.json"
    grep -o '"destination"[[:space:]]*:[[:space:]]*"[^"]*"' "$bundle/config.json" | {
        while IFS='"' read -r _ _ _ where _; do
            case $base/ in "${where%/}"/*) exit 0 ;; esac
        done
        exit 1
    } || fail bundle "$bundle/config.json has no mount for $base"
}

# Folders are made by the job: the nearest one above that exists must let it.
check_output() {
    where=$1
    until [ -e "$where" ]; do where=${where%/*}; [ -n "$where" ] || where=/; done
    [ -d "$where" ] && [ -w "$where" ] || fail output "$1 cannot be written"
}

check_needs() {
    [ -n "$check" ] || return 0
    [ -z "$bundle" ] || check_bundle
    [ -z "$image_file" ] || [ -r "$image_file" ] || fail image "$image_file"
    missing=''
    set -f
    IFS='
'
    for path in $inputs; do [ -e "$path" ] || missing="$missing $path"; done
    [ -z "$missing" ] || fail missing "${missing# }"
    for path in $outputs; do check_output "$path"; done
    set +f
    unset IFS
    [ -z "$asked" ] || check_time
}

# check_base_is_ours FOLDER...: what runs as us lies in these, below base: no other user may be able to put something else in
# its place. In a folder where each may remove only his own (sticky) ours are safe once they are made. A group named as the user
# is the user's own.
check_base_is_ours() {
    me=$(id -u)
    rows=$(cd "$base" && stat -L -c '%u %a %G %U %n' "$@") || fail base "$base"
    while read -r uid mode group user folder; do
        others=${mode#"${mode%?}"} mode=${mode%?} sticky=0
        group_may=${mode#"${mode%?}"}
        [ "$folder" != . ] || case $mode in [0-7][0-7][0-7]) sticky=${mode%??} ;; esac
        case $uid$folder in
        "$me$folder" | 0.) ;;
        *) fail theirs "$base/${folder#.} belongs to $user" ;;
        esac
        [ "$group" != "$user" ] || group_may=0
        case $sticky in 1 | 3 | 5 | 7) continue ;; esac
        case $others$group_may in *[2367]*) fail theirs "others may write to $base/${folder#.}" ;; esac
    done <<ROWS
$rows
ROWS
}

# gpus_here TEXT: Slurm names no resource when it refuses one; which GPUs there are helps most.
gpus_here() {
    [ -n "$gpus" ] || return 0
    case $1 in *'node configuration'* | *gres* | *GRES* | *TRES*) ;; *) return 0 ;; esac
    types=$(sinfo -h ${partition:+-p "$partition"} -o %G | tr ',' '\n' | sed -n 's/(.*//; /^gpu/p' | sort -u | paste -sd' ' -)
    printf '; GPUs of its nodes: %s' "${types:-none}"
}
