# SPDX-License-Identifier: Apache-2.0
#
# keep_log.sh - a job whose log can only be read from the results store.
#
#     sw_keep_log FOLDER     runs $sw_job with a copy of its log in FOLDER, and once more with the payload $SLIPWAY_LOG,
#                            which brings pieces of that (cut_log.sh) to the store. Ends with the job's status.

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
