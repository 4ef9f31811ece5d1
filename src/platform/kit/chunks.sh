# SPDX-License-Identifier: Apache-2.0
#
# chunks.sh - put the variables PREFIX_0, PREFIX_1 ... together again.
#
#     sw_chunks PREFIX FILE
#     sw_script                          $sw_job: a file that can be written
#     sw_ranks INDEX TOTAL PORT HOST     ranks and addresses from the variables INDEX and TOTAL; HOST is where
#                                        rank $sw_rank is
#
# FILE is replaced whole, and the variables are gone from the environment afterwards: thousands of
# characters that the user's command did not ask for. Ends the shell with 74 when something is missing.
# POSIX sh: it runs in dash, busybox and whatever else an image calls /bin/sh.

sw_chunks_pieces() {
    sw_at=0
    while [ "$sw_at" -lt "$2" ]; do
        eval "sw_piece=\${$1_$sw_at-}"
        # shellcheck disable=SC2154
        [ -n "$sw_piece" ] || {
            echo "slipway: $1_$sw_at is missing" >&2
            exit 74
        }
        printf '%s' "$sw_piece"
        sw_at=$((sw_at + 1))
    done
}

sw_chunks() {
    eval "sw_count=\${$1_COUNT:-0}"
    # shellcheck disable=SC2154
    if ! sw_chunks_pieces "$1" "$sw_count" | base64 -d | gzip -dc > "$2.new" || ! mv "$2.new" "$2"; then
        echo "slipway: the variables $1_* cannot be put together" >&2
        exit 74
    fi
    sw_at=0
    while [ "$sw_at" -lt "$sw_count" ]; do
        unset "$1_$sw_at"
        sw_at=$((sw_at + 1))
    done
    unset "$1_COUNT" sw_at sw_count
}

sw_script() {
    for sw_home in "${SLIPWAY_TMP:-}" "${TMPDIR:-}" /tmp /var/tmp /dev/shm .; do
        [ -n "$sw_home" ] && [ -d "$sw_home" ] && [ -w "$sw_home" ] && break
    done
    # shellcheck disable=SC2034
    sw_job=$sw_home/slipway-job-$$.sh
}

sw_ranks() {
    eval "NODE_RANK=\${$1:-0} NNODES=\${$2:-1}"
    MASTER_PORT=${MASTER_PORT:-$3}
    MASTER_ADDR=127.0.0.1
    WORKER_ADDRS=
    sw_rank=0
    while [ "$NNODES" -gt 1 ] && [ "$sw_rank" -lt "$NNODES" ]; do
        eval "sw_host=\"$4\""
        if [ "$sw_rank" -eq 0 ]; then
            # shellcheck disable=SC2154
            MASTER_ADDR=$sw_host
        else
            WORKER_ADDRS=$WORKER_ADDRS${WORKER_ADDRS:+,}$sw_host
        fi
        sw_rank=$((sw_rank + 1))
    done
    export NODE_RANK NNODES MASTER_PORT MASTER_ADDR WORKER_ADDRS
}

# sw_results FOLDER: it is there, and /results leads to it where an image has none and takes it.
sw_results() {
    mkdir -p "$1"
    [ -e /results ] || [ -L /results ] || ln -s "$1" /results 2>/dev/null || :
}
