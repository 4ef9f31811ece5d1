# SPDX-License-Identifier: Apache-2.0
#
# slurm_caches.sh - runners that no job needs any more.
#
# A runner is kept under the base folder for the jobs to come. One of another version than ours is unused
# when no batch script that is still there names it.

# sw_caches BASE REMOVE NAME...: prints the path of each unused runner; NAME... are those of this version.
# With REMOVE "yes" they are removed: "removed PATH", else "kept PATH".
sw_caches() {
    sw_base=$1 sw_remove=$2
    shift 2
    for sw_file in "$sw_base"/runner/slipway-runner-*; do
        [ -f "$sw_file" ] || continue
        sw_name=${sw_file##*/}
        for sw_ours in "$@"; do
            [ "$sw_ours" != "$sw_name" ] || continue 2
        done
        ! grep -rqsF -- "$sw_name" "$sw_base/sbatch" || continue
        if [ "$sw_remove" = yes ] && rm -f -- "$sw_file"; then
            echo "removed $sw_file"
        else
            echo "kept $sw_file"
        fi
    done
}
