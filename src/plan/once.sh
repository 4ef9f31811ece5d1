# SPDX-License-Identifier: Apache-2.0
#
# once.sh - make something once, however many jobs on however many nodes ask for it together.
#
#     sw_once LOCK WHAT CHECK MAKE
#
# LOCK is a folder beside the thing, on the shared file system; the folders in it are numbered turns.
# The process that makes folder N has turn N: mkdir is what every shared file system does exactly once, and a
# number is never taken twice. A turn lives while its `beat` changes; after SW_LEASE seconds without,
# by the waiter's own clock, the waiter tries for turn N+1. So no clocks of two machines are compared,
# no process removes the lock of another, and there is no flock. MAKE has to put the thing in place
# with one rename: an owner who was only slow then does no harm.
#
# Ends 0 when CHECK says that the thing is there; 75 when it was not made within SW_PATIENCE seconds;
# 1 when making it failed, also when another process's turn failed while we waited for it.

sw_say() {
    printf 'slipway: %s\n' "$*" >&2
}

sw_newest_turn() {
    sw_newest=0
    for sw_at in "$1"/[0-9]*; do
        [ -d "$sw_at" ] && [ "${sw_at##*/}" -gt "$sw_newest" ] && sw_newest=${sw_at##*/}
    done
    echo "$sw_newest"
}

# sw_beat TURN PID: shows the others that we live, for as long as we do.
sw_beat() {
    sw_beats=0
    while kill -0 "$2" 2>/dev/null; do
        sw_beats=$((sw_beats + 1))
        echo "$sw_beats" > "$1/beat.new" && mv -f "$1/beat.new" "$1/beat"
        sleep "$SW_BEAT"
    done
}

sw_once() (
    lock=$1 what=$2 check=$3 make=$4
    began=$(date +%s) since=$began seen='' watched='' beater='' maker='' turn=''

    # shellcheck disable=SC2317
    sw_let_go() {
        [ -z "$maker" ] || kill "$maker" 2>/dev/null
        [ -z "$beater" ] || kill "$beater" 2>/dev/null
        [ -z "$turn" ] || [ -e "$lock/$turn/done" ] || [ -e "$lock/$turn/failed" ] ||
            : > "$lock/$turn/left"
    }

    # Our turn, from the folder made to the thing made.
    sw_work() {
        me=$(exec sh -c 'echo "$PPID"')
        echo "$(uname -n) pid $me job ${SLURM_JOB_ID:-none}" > "$lock/$turn/owner"
        trap sw_let_go EXIT
        trap 'exit 143' TERM INT HUP
        sw_beat "$lock/$turn" "$me" < /dev/null > /dev/null 2>&1 &
        beater=$!
        if ! $check; then
            $make < /dev/null > "$lock/$turn/said" 2>&1 &
            maker=$!
            wait "$maker" || { sw_fail "$?"; return 1; }
            maker=''
            $check || { sw_fail 'it is not usable'; return 1; }
        fi
        : > "$lock/$turn/done"
        old=$turn
        while [ "$((old -= 1))" -gt 0 ] && [ -d "$lock/$old" ]; do
            rm -rf "${lock:?}/$old"
        done
    }
    sw_fail() {
        maker=''
        cat "$lock/$turn/said" >&2
        last=$(tail -n 2 "$lock/$turn/said" | head -c 300 | sed '$!s/$/;/' | tr '\n' ' ')
        echo "${last:-it ended with $1 }(on $(uname -n))" > "$lock/$turn/failed.new"
        mv -f "$lock/$turn/failed.new" "$lock/$turn/failed"
    }

    mkdir -p "$lock" || { sw_say "$what: cannot write to $lock"; exit 1; }
    until $check; do
        now=$(date +%s)
        newest=$(sw_newest_turn "$lock")
        if [ "$newest" = "$watched" ] && [ -e "$lock/$newest/failed" ]; then
            sw_say "$what: $(cat "$lock/$newest/failed")"
            exit 1
        fi
        beat="$newest $(cat "$lock/$newest/beat" 2>/dev/null)"
        [ "$beat" = "$seen" ] || since=$now
        seen=$beat
        if [ "$newest" = 0 ] || [ -e "$lock/$newest/done" ] || [ -e "$lock/$newest/failed" ] ||
            [ -e "$lock/$newest/left" ] || [ "$((now - since))" -ge "$SW_LEASE" ]; then
            turn=$((newest + 1))
            if mkdir "$lock/$turn" 2>/dev/null; then
                sw_work || { sw_say "$what: it could not be made"; exit 1; }
                exit 0
            fi
            [ -d "$lock/$turn" ] || { sw_say "$what: cannot write to $lock"; exit 1; }
            turn=''
            continue
        fi
        watched=$newest
        if [ "$((now - began))" -ge "$SW_PATIENCE" ]; then
            sw_say "$what: not there after $((now - began)) s; it is being made by" \
                "$(cat "$lock/$newest/owner" 2>/dev/null) (see $lock/$newest)"
            exit 75
        fi
        sleep "$SW_STEP"
        # A shared file system may answer from memory until its folder is read again.
        ls "$lock/.." > /dev/null 2>&1
    done
)
