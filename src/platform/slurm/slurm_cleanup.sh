# SPDX-License-Identifier: Apache-2.0
#
# slurm_cleanup.sh - remove what is no longer needed: files of finished jobs, and runners of other versions.
#
# Before it: slurm_common.sh. Behind it calls of these functions. Records:
#     failed INDEX TEXT       something stays
#     cache WORD PATH         a runner that no job needs: removed or kept

# remove_job INDEX BASE ID NAME PATH...: its attempts are numbers behind the last dot, links carry Slurm's number behind a dash.
remove_job() {
    i=$1 id=$3 name=$4
    cd "$2" 2>/dev/null || return 0
    shift 4
    said=$(rm -rf "meta/$id".[0-9]* "slurm-logs/$name".[0-9]* "slurm-logs/$name"-[0-9]* "$@" 2>&1) ||
        printf 'failed\t%s\t%s\n' "$i" "$(flat "$said")"
}

# remove_runners BASE REMOVE NAME...: a runner of another version (NAMEs are ours) is unused when no batch script that is still
# there names it. REMOVE: yes or no.
remove_runners() {
    base=$1 remove=$2
    shift 2
    for file in "$base"/runner/slipway-runner-*; do
        [ -f "$file" ] || continue
        name=${file##*/}
        for ours in "$@"; do
            [ "$ours" != "$name" ] || continue 2
        done
        ! grep -rqsF -- "$name" "$base/sbatch" || continue
        if [ "$remove" = yes ] && rm -f -- "$file"; then
            printf 'cache\tremoved\t%s\n' "$file"
        else
            printf 'cache\tkept\t%s\n' "$file"
        fi
    done
}
