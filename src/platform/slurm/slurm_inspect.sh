# SPDX-License-Identifier: Apache-2.0
#
# slurm_inspect.sh - read-only questions about one job, all jobs, the cluster and its files. Each is a function; the call comes
# behind the text.
#
# Before it: slurm_common.sh and the values that each names.
# shellcheck disable=SC2154

# state: for each rank that is over "rank N CODE HOST", then "node NAME" for each node of the last run.
inspect_ranks() {
    for file in "$state"/rank-*; do
        case $file in *.json* | *'*') continue ;; esac
        read -r code host <"$file"
        printf 'rank\t%s\t%s\t%s\n' "${file##*/rank-}" "$code" "$host"
    done
    for file in "$state"/task-*/exit; do
        [ -f "$file" ] || continue
        task=${file%/exit}
        printf 'rank\t%s\t' "${task##*-}"
        sed 's/^{"exit_code":\([0-9]*\).*"nodes":"\([^"]*\)".*/\1	\2/' "$file"
    done
    [ ! -s "$state/runs" ] || tail -n 1 "$state/runs" | {
        read -r _ _ _ nodes
        scontrol show hostnames "$nodes" 2>/dev/null | sed 's/^/node	/'
    }
}

# meta: of the newest attempt "found ATTEMPT NUMBER", then our record and the plan as one list.
inspect_job() {
    [ -s "$meta" ] || return 0
    newest "${meta%.json}"
    [ "$newest" -gt 0 ] || return 0
    read -r number <"${meta%.json}.$newest/job"
    printf 'found\t%s\t%s\n' "$newest" "$number"
    read -r row <"$meta"
    printf '[%s,' "$row"
    cat "${meta%/meta/*}/specs/${meta##*/}"
    echo ']'
}

# base: "job ID OWNER SECONDS CODE WORD" for each job there; "-": it has not ended, it is not in the queue.
inspect_jobs() {
    cd "$base/meta" 2>/dev/null || return 0
    rows=$(squeue -h -a -o '%A %T') || exit 75
    for file in *.json; do
        [ -s "$file" ] || continue
        id=${file%.json} code=''
        newest "$id"
        [ "$newest" -gt 0 ] || continue
        read -r number <"$id.$newest/job" || continue
        [ ! -f "$id.$newest/exit" ] || code=$(sed -n 's/^{"exit_code":\([0-9]*\).*/\1/p' "$id.$newest/exit")
        word=$(echo "$rows" | sed -n "s/^$number //p" | head -n 1)
        printf 'job\t%s\t%s\t%s\t%s\n' "$id" "$(stat -c '%U	%Y' "$file")" "${code:--}" "${word:--}"
    done
}

# What tells one cluster from another: "cluster NAME", and "host NAME" for each machine that its controller was put on, in the
# order of its configuration (not which of them is at work now).
inspect_identity() {
    said=$(scontrol show config 2>&1) || { printf '%s\n' "$said" >&2; exit 75; }
    printf '%s\n' "$said" | sed -n 's/^ClusterName *= */cluster	/p
        s/^\(SlurmctldHost\[[0-9]*\]\|ControlMachine\) *= */host	/p'
}

# "version TEXT", "cluster NAME", "partition ROW", "node ROW", "account NAME".
inspect_cluster() {
    said=$(sbatch --version) || exit 75
    printf 'version\t%s\n' "$said"
    said=$(scontrol show config) || exit 75
    printf '%s\n' "$said" | sed -n 's/^ClusterName *= */cluster	/p'
    said=$(scontrol -o show partition) || exit 75
    printf '%s\n' "$said" | sed 's/^/partition	/'
    said=$(scontrol -d -o show node) || exit 75
    printf '%s\n' "$said" | sed 's/^/node	/'
    sacctmgr -nP show assoc where user="$(id -un)" format=account 2>/dev/null | sort -u | sed 's/^/account	/'
}

# path: "exists yes" or "exists no"; else it says why it cannot tell.
inspect_path() {
    if [ -e "$path" ]; then printf 'exists\tyes\n'; return; fi
    said=$(ls -d -- "$path" 2>&1 >/dev/null) && { printf 'exists\tyes\n'; return; }
    case $said in
    *'No such file'* | *'Not a directory'*) printf 'exists\tno\n' ;;
    *) printf '%s\n' "$said" >&2; exit 1 ;;
    esac
}

# path: the names in it with a NUL behind each, since any other byte may be part of one.
inspect_folder() {
    [ -e "$path" ] || { echo 'there is no such path' >&2; exit 66; }
    cd -- "$path" || exit 1
    find . -mindepth 1 -maxdepth 1 -printf '%f\0' | LC_ALL=C sort -z
}

# results: the folder as a tar archive, without the runner's own notes. Behind it: "packed CODE TEXT", how tar ended.
send_results() {
    { said=$(cd "$results" 2>&1 && tar -c -f - --exclude=./.slipway . 2>&1 >&3); } 3>&1
    code=$?
    [ "$code" = 0 ] || tar -c -f - -T /dev/null          # an end of the archive, whatever came before
    printf 'packed\t%s\t%s' "$code" "$said"
}
