# SPDX-License-Identifier: Apache-2.0
#
# slurm_checks.sh - is everything there that a job of ours needs? Checked from a login host.
#
# Before it: slurm_common.sh, slurm_needs.sh; base, probe (a file to be made there), partition, account, image (1: a container
# is wanted), bundle (an OCI bundle, or nothing), batch (the batch script; empty: no job is checked) and the values of
# slurm_needs.sh. Leaves `probe` behind for other hosts. Records:
#     KEY WORD TEXT              yes, no or skip
#     limit PARTITION TIME       space KIB FOLDER       clock SECONDS
#     refused WORD TEXT          what a submit would refuse
# shellcheck disable=SC2154,SC2034

sw_answer() { printf '%s\t%s\t%s\n' "$1" "$2" "$(flat "$3")"; }

fail() { printf 'refused\t%s\t%s\n' "$1" "$(flat "$2")"; }

sw_check_slurm() {
    if ! said=$(sbatch --version 2>&1); then
        sw_answer slurm no "$said"
        return 1
    fi
    sw_answer slurm yes "$said"
    said=$(scontrol ping 2>&1)
    case $said in
    *' is UP'*) sw_answer controller yes "$said" ;;
    *) sw_answer controller no "$said"; return 1 ;;
    esac
    if said=$(sacct -nX -S now 2>&1); then
        sw_answer accounting yes 'sacct answers'
    else
        sw_answer accounting skip "$said"
    fi
}

sw_check_partition() {
    rows=$(sinfo -h -o '%P|%a|%l|%D') || return
    names=$(printf '%s\n' "$rows" | sed 's/|.*//' | sort -u | tr '\n' ' ')
    for wanted in $(printf '%s' "${partition:-*}" | tr ',' ' '); do
        [ "$wanted" != '*' ] || wanted=$(printf '%s\n' "$rows" | sed -n 's/^\([^|]*\)\*|.*/\1/p' | head -n 1)
        [ -n "$wanted" ] || { sw_answer partition no "none is named, and there is no default: $names"; continue; }
        row=$(printf '%s\n' "$rows" | while IFS='|' read -r name state limit nodes; do
            [ "${name%\*}" != "$wanted" ] || { echo "$state $limit $nodes"; break; }
        done)
        case $row in
        '') sw_answer partition no "there is no $wanted, but: $names" ;;
        up*) sw_answer partition yes "$wanted is $row nodes"
             row=${row#* }; printf 'limit\t%s\t%s\n' "$wanted" "${row%% *}" ;;
        *) sw_answer partition no "$wanted is ${row%% *}" ;;
        esac
    done
}

sw_check_account() {
    if ! rows=$(sacctmgr -nP show assoc where user="$(id -un)" format=account 2>&1); then
        sw_answer account skip 'no accounts are kept here'
        return
    fi
    rows=$(printf '%s\n' "$rows" | sort -u | tr '\n' ' ')
    case " $rows" in
    ' '*[!\ ]*) ;;
    *) sw_answer account no "$(id -un) has no account on this cluster"; return ;;
    esac
    case " $rows" in
    *" $account "*) sw_answer account yes "$account" ;;
    *) if [ -z "$account" ]; then
           sw_answer account yes "${rows%% *}"
       else
           sw_answer account no "$(id -un) may not use $account, but: $rows"
       fi ;;
    esac
}

sw_check_pyxis() {
    if srun --help 2>&1 | grep -q -e --container-image; then
        sw_answer pyxis yes 'srun knows --container-image'
    else
        sw_answer pyxis no 'srun does not know --container-image'
    fi
}

sw_check_bundle() {
    if ! srun --help 2>&1 | grep -q -e '--container '; then
        sw_answer oci no 'srun does not know --container'
    elif [ ! -r "$bundle/config.json" ]; then
        sw_answer oci no "there is no $bundle/config.json"
    else
        sw_answer oci yes "$bundle"
    fi
}

sw_check_base() {
    if ! (umask 077; mkdir -p "$base") 2>/dev/null; then
        sw_answer base no "$base cannot be made"
        return 1
    fi
    if ! said=$( (umask 077; printf '%s\n' "${probe##*/}" >"$probe") 2>&1); then
        sw_answer base no "$base cannot be written: $said"
        return 1
    fi
    set -- .
    for said in runner entrypoints sbatch meta env specs; do [ ! -e "$base/$said" ] || set -- "$@" "$said"; done
    if said=$(check_base_is_ours "$@") && [ -z "$said" ]; then
        sw_answer base yes "$base"
    else
        printf '%s\n' "$said"
    fi
    printf 'space\t%s\t%s\n' "$(df -Pk "$base" | awk 'NR == 2 { print $4 }')" \
        "$(df -P "$base" | awk 'NR == 2 { print $6 }')"
}

# A compute node reads the file that we just wrote: the only proof that the folder is shared. There the paths of the job are
# looked at, too: a login host may see more.
sw_check_node() {
    set -f
    IFS='
'
    # shellcheck disable=SC2016,SC2086
    said=$(srun -Q --immediate=10 -N1 -n1 -t1 -J slipway-check ${partition:+--partition="$partition"} \
        ${account:+--account="$account"} sh -c 'echo "${SLURMD_NODENAME:-$(uname -n)}"; cat "$1"; shift
            until [ "$1" = -- ]; do [ -e "$1" ] || echo "missing $1"; shift; done; shift
            for path; do
                where=$path
                until [ -e "$where" ]; do where=${where%/*}; [ -n "$where" ] || where=/; done
                [ -w "$where" ] || echo "not writable $path"
            done' sh "$probe" ${inputs:-} -- ${outputs:-} 2>&1)
    unset IFS
    set +f
    node=$(printf '%s\n' "$said" | head -n 1)
    lacks=$(printf '%s\n' "$said" | grep -e '^missing ' -e '^not writable ')
    case $said in
    *"${probe##*/}"*)
        sw_answer node yes "$node sees it"
        if [ -n "$lacks" ]; then
            sw_answer nodepaths no "$node: $lacks"
        elif [ -n "${inputs:-}${outputs:-}" ]; then
            sw_answer nodepaths yes "$node sees all of them"
        fi ;;
    *'No such file'*) sw_answer node no "$node does not see $base" ;;
    *) sw_answer node skip "$said" ;;
    esac
}

# Slurm itself checks the very script that a submit would hand over, and queues nothing. Which account is charged is checked
# above: a submit tries the user's own.
sw_check_batch() {
    said=$(printf '%s' "$batch" | sbatch --test-only 2>&1) || case $said in
    *nvalid\ account* | *ccount*required*) ;;
    *) fail refused "$said$(gpus_here "$said")" ;;
    esac
}

printf 'clock\t%s\n' "$(date +%s)"
sw_slurm=''
if sw_check_slurm; then
    sw_slurm=1
    sw_check_partition
    sw_check_account
    [ "$image" != 1 ] || sw_check_pyxis
    [ -z "$bundle" ] || sw_check_bundle
    sw_check_base && sw_check_node
else
    sw_check_base
fi
[ -z "$batch" ] || check_needs
[ -z "$batch" ] || [ -z "$sw_slurm" ] || sw_check_batch
