# SPDX-License-Identifier: Apache-2.0
#
# start.sh - what a container does before the job begins. Ends the shell with 74 when it cannot.
#
#     sw_worker              which pod of a distributed workload this is: they are called NAME-worker-N, and N is
#                            the rank. Sets sw_index (N) and sw_workers (NAME-worker).
#     sw_own_results FOLDER [needed]   the job's own folder of a volume that jobs share; /results leads there where
#                            the image's user may make it so. With `needed` the job says /results itself.

sw_worker() {
    sw_name=${HOSTNAME:-$(cat /etc/hostname)}
    sw_index=${sw_name##*-}
    # shellcheck disable=SC2034
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
