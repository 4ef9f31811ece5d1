trap 'exit 143' TERM
sw_chunks_pieces() {
    sw_at=0
    while [ "$sw_at" -lt "$2" ]; do
        eval "sw_piece=\${$1_$sw_at-}"
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
sw_worker() {
    sw_name=${HOSTNAME:-$(cat /etc/hostname)}
    sw_index=${sw_name##*-}
    sw_workers=${sw_name%-*}
    case $sw_index in
        '' | *[!0-9]*)
            echo "slipway: the host name $sw_name does not end with a rank" >&2
            exit 74
            ;;
    esac
}
sw_own_results() {
    mkdir -p "$1" || {
        echo "slipway: the volume of the results cannot be written to: $1" >&2
        exit 74
    }
    { [ ! -d /results ] || [ -L /results ] || rmdir /results; } 2>&- && ln -s "$1" /results 2>&- && return
    [ "${2:-}" != needed ] && [ ! -e /results ] || {
        echo "slipway: /results cannot lead to $1, since this user may not write to /; let the job use" \
            "\$SLIPWAY_RESULTS_DIR or {results_dir} instead of /results" >&2
        exit 74
    }
}
# sw_ends PID: sw_code is its status, also when a signal came meanwhile.
sw_ends() {
    sw_code=0
    wait "$1" || sw_code=$?
    while kill -0 "$1" 2>&-; do
        sw_code=0
        wait "$1" || sw_code=$?
    done
}
# sw_ends_within PID SECONDS: after that it is ended.
sw_ends_within() {
    (sleep "$2" && kill "$1") > /dev/null 2>&1 &
    sw_ends "$1"
}
sw_keep_log() {
    mkdir -p "$1/pieces" && mkfifo "$1/pipe" && : > "$1/log" && printf '%s' "$SLIPWAY_LOG" > "$1/payload.json" || {
        echo "slipway: the log cannot be kept in $1" >&2
        exec sh "$sw_job" 2>&1
    }
    unset SLIPWAY_LOG
    sw_main=
    trap '[ -z "$sw_main" ] || kill -TERM "$sw_main"' TERM
    tee "$1/log" < "$1/pipe" &
    sw_tee=$!
    sh "$sw_job" "$1/payload.json" > "$1/said" 2>&1 &
    sw_brings=$!
    sh "$sw_job" > "$1/pipe" 2>&1 &
    sw_main=$!
    sw_ends "$sw_main"
    sw_status=$sw_code
    sw_main=
    sw_ends_within "$sw_tee" 5
    : > "$1/over"
    sw_ends_within "$sw_brings" 60
    exit "$sw_status"
}
sw_worker
sw_total=4
WORLD_SIZE=4
export WORLD_SIZE
MASTER_PORT=29500
sw_ranks sw_index sw_total 29500 '$sw_workers-$sw_rank'
sw_own_results /slipway-results/train-abcdefgh
unset SLIPWAY_BOOT SLIPWAY_START
sw_script
sw_chunks SLIPWAY_JOB "$sw_job"
sw_keep_log /tmp/slipway-log
