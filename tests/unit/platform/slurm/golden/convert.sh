#!/bin/bash
#SBATCH --job-name=tao-sqsh-3e8b9a99
#SBATCH --partition=cpu
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --mem=32G
#SBATCH --time=00:31:00
#SBATCH --output=/lustre/ann/nvcr.io_nvidia_app_1.sqsh.log
#SBATCH --dependency=singleton
#SBATCH --account=edgeai
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
SW_IMAGE='nvcr.io#nvidia/app:1'
SW_IMAGE_PYXIS='nvcr.io#nvidia/app:1'
SW_IMAGE_URI='docker://nvcr.io#nvidia/app:1'
SW_IMAGE_FILE=/lustre/ann/nvcr.io_nvidia_app_1.sqsh
SW_IMAGE_WHEN=reuse
SW_IMAGE_LIMIT=1800
SW_IMAGE_MUST=1
SW_IMAGE_ELSEWHERE=0
SW_IMAGE_TEMP=''
SW_SUBMITTED=/lustre/ann/sbatch/job_dino-abcd2345.sbatch
SW_LEASE=60
SW_BEAT=10
SW_PATIENCE=2400
SW_STEP=1
sw_image_whole() {
    [ -s "$1" ] && [ "$(head -c 4 "$1" 2>/dev/null | tr -d '\000')" = hsqs ]
}
sw_image_there() {
    sw_image_whole "$SW_IMAGE_FILE" || return 1
    [ "$SW_IMAGE_WHEN" != refresh ] || [ "$SW_IMAGE_FILE" -nt "$SW_SUBMITTED" ]
}
# One rename. A refreshed image gets a name of its own, since others may run from the old file, and
# then the link that everybody knows is turned to it.
sw_image_publish() {
    if [ "$SW_IMAGE_WHEN" = refresh ]; then
        named=${SW_IMAGE_FILE%.sqsh}.$2.sqsh
        mv -f "$1" "$named" && ln -s "${named##*/}" "$1.link" && mv -f "$1.link" "$SW_IMAGE_FILE"
    else
        mv -f "$1" "$SW_IMAGE_FILE"
    fi
}
sw_image_make() (
    worker='' temp=$(mktemp -d "${SW_IMAGE_TEMP:-${TMPDIR:-/tmp}}/slipway-enroot.XXXXXX") || exit 1
    part=$SW_IMAGE_FILE.part.${temp##*.}
    trap 'rm -rf "$temp" "$part"' EXIT
    trap '[ -z "$worker" ] || kill "$worker" 2>/dev/null; exit 143' TERM INT HUP
    rm -f "$SW_IMAGE_FILE".part.*       # of owners who died: we have the turn now
    mkdir "$temp/work" "$temp/cache" || exit 1
    ENROOT_TEMP_PATH=$temp/work ENROOT_CACHE_PATH=$temp/cache \
        timeout -k 30 "$SW_IMAGE_LIMIT" enroot import -o "$part" -- "$SW_IMAGE_URI" &
    worker=$!
    status=0
    wait "$worker" || status=$?
    worker=''
    case $status in
    0) ;;
    124 | 137) echo "enroot import was not done within $SW_IMAGE_LIMIT s"; exit 1 ;;
    *) echo "enroot import failed with exit code $status"; exit 1 ;;
    esac
    sw_image_whole "$part" || { echo 'enroot import left no squashfs image'; exit 1; }
    sw_image_publish "$part" "${temp##*.}"
)
# The name with the digest that the tag has now; enroot before 3.5 cannot tell it.
sw_image_by_digest() {
    sw_digest=$(enroot digest "$SW_IMAGE_URI" 2>/dev/null | sed -n 's/^sha256:\([0-9a-f]\{64\}\)$/\1/p')
    if [ -n "$sw_digest" ]; then
        SW_IMAGE_FILE=${SW_IMAGE_FILE%.sqsh}_sha256-$sw_digest.sqsh
    else
        sw_say "the digest of $SW_IMAGE is not known here; a file in the cache is used as it is"
    fi
}
# What became of the job that had to convert it.
sw_image_told() {
    ls "${SW_IMAGE_FILE%/*}" > /dev/null 2>&1      # a shared file system may answer from memory
    ! sw_image_there || return 0
    sw_told=$SW_IMAGE_FILE.lock/$(sw_newest_turn "$SW_IMAGE_FILE.lock")
    if [ -e "$sw_told/failed" ]; then
        cat "$sw_told/said" >&2
        cat "$sw_told/failed"
    else
        echo "the job that had to convert it ended without it (see ${SW_IMAGE_FILE##*/}.log beside it)"
    fi
}
# Why it cannot be converted here; a run after the first one tries by itself.
sw_image_not_here() {
    if [ "$SW_IMAGE_ELSEWHERE" = 1 ] && [ "$SLIPWAY_ATTEMPT" = "$SW_FIRST" ]; then
        sw_image_told
    else
        command -v enroot > /dev/null || echo "enroot is not installed on $(uname -n)"
    fi
}
sw_image() {
    mkdir -p "${SW_IMAGE_FILE%/*}" 2>/dev/null
    [ "$SW_IMAGE_WHEN" != digest ] || sw_image_by_digest
    sw_missing=$(sw_image_not_here)
    if sw_image_there || { [ -z "$sw_missing" ] &&
        sw_once "$SW_IMAGE_FILE.lock" "image $SW_IMAGE" sw_image_there sw_image_make; }; then
        SLIPWAY_IMAGE=$(readlink -f "$SW_IMAGE_FILE")
        return 0
    fi
    [ -z "$sw_missing" ] || sw_say "image $SW_IMAGE: $sw_missing"
    if [ "$SW_IMAGE_MUST" = 1 ]; then
        sw_say "image $SW_IMAGE is not in the cache and could not be converted"
        return 1
    fi
    sw_say "image $SW_IMAGE was not converted; each node pulls it from the registry"
    SLIPWAY_IMAGE=$SW_IMAGE_PYXIS
}
sw_image
