# SPDX-License-Identifier: Apache-2.0
#
# worker.sh - which pod of a distributed workload this is.
#
# Pods are called NAME-worker-N, and N is the rank. Sets sw_index (N) and sw_workers (NAME-worker, so that
# $sw_workers-0 is the first one's host name). Ends the shell with 74 when the name has no number at its end.

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
