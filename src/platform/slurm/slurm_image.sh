# SPDX-License-Identifier: Apache-2.0
#
# slurm_image.sh - an image of a registry as one squashfs file that all nodes share.
#
# Each node that pulls on its own asks the registry again; hundreds of them meet its limits. So the
# first job that wants an image converts it (once.sh: once, however many ask), beside its final
# name, and renames it when it begins as squashfs files do.
#
#     SW_IMAGE        the reference, for people       SW_IMAGE_PYXIS   as Pyxis takes it
#     SW_IMAGE_URI    as enroot takes it              SW_IMAGE_FILE    its place in the cache
#     SW_IMAGE_WHEN   reuse | refresh | digest: what a file in the cache is worth
#     SW_IMAGE_LIMIT  seconds that one import may take
#     SW_IMAGE_MUST   1: no image but the converted one
#     SW_IMAGE_ELSEWHERE  1: a job before this one had to convert it, in its first run (slurm_convert.c)
#     SW_IMAGE_TEMP   where enroot unpacks; empty: the node's own temporary folder
#     SW_SUBMITTED    a file written when the job was submitted, for `refresh`
#
# sw_image sets SLIPWAY_IMAGE, what --container-image gets.

sw_image_whole() {
    [ -s "$1" ] && [ "$(head -c 4 "$1" 2>/dev/null | tr -d '\000')" = hsqs ]
}

# shellcheck disable=SC2317,SC3013
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

# shellcheck disable=SC2317
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
    # shellcheck disable=SC2034
    SLIPWAY_IMAGE=$SW_IMAGE_PYXIS
}
