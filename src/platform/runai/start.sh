# SPDX-License-Identifier: Apache-2.0
#
# start.sh - what a container finds out before the job begins. Ends the shell with 74 when it cannot.
#
#     sw_worker              which pod of a distributed workload this is: they are called NAME-worker-N, and N is
#                            the rank. Sets sw_index (N) and sw_workers (NAME-worker).
#     sw_own_results VOLUME ID   /results becomes the job's own folder of a volume that jobs share.

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
    if ! mkdir -p "$1/$2" || { [ -d /results ] && ! rmdir /results; } || ! ln -s "$1/$2" /results; then
        echo "slipway: /results cannot be made a link to $1/$2; this image or user does not allow it" >&2
        exit 74
    fi
}
