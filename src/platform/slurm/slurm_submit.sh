# SPDX-License-Identifier: Apache-2.0
#
# slurm_submit.sh - hand one attempt of a job to Slurm, at most once: check, write, sbatch.
#
# Before it: slurm_common.sh, slurm_needs.sh, slurm_refusals.sh and the values that slurm_submit.c sets. What travels
# beside it (runners, certificates, secrets, code) is standard input, in that order. Records:
#     need WHAT...           this is missing in the shared folder, and must come along next time
#     job NUMBER             it is in the queue
#     refused WORD TEXT      with exit code 1; slurm_check_text.c knows the words
# Any other end says nothing: the job may have been queued. Making the folder of the attempt's records is the lock. The
# script that makes it (and that of the logs, with the same command) submits; one that finds it searches for the job, in the
# record inside and in the queue by name and comment.
# shellcheck disable=SC2154,SC2034,SC2015

fail() { printf 'refused\t%s\t%s\n' "$1" "$(flat "$2")"; exit 1; }
read -r here </proc/sys/kernel/hostname || here=$(uname -n)
job=''

# ---- the base folder

# take SIZE PATH MODE: the next bytes of standard input become a file.
take() {
    part=$2.$here.$$
    head -c "$1" >"$part" && [ "$(wc -c <"$part")" -eq "$1" ] && chmod "$3" "$part" || {
        rm -f "$part"; fail cut 'the connection ended early'; }
    mv "$part" "$2"
}

make_base() {
    [ -d "$base" ] || (umask "$own_umask"; mkdir -p "$base") || fail base "$base cannot be made"
    [ -w "$base" ] || fail base "$base cannot be written"
    [ -d "$base/runner" ] || mkdir -p "$base/specs" "$base/env" "$base/meta" "$base/entrypoints" "$base/sbatch" \
        "$base/runner" || fail base "$base"
    [ -d "$base/slurm-logs" ] || (umask "$own_umask"; mkdir -p "$base/slurm-logs" "$base/results") || fail base "$base"
    # With `shared`, what leads to the job's own folders may be entered.
    case $own_umask in 077) return 0 ;; 027) right=g+rx ;; *) right=go+rx ;; esac
    mkdir -p "$base/work" && chmod "$right" "$base" "$base/results" "$base/slurm-logs" "$base/work" ||
        fail base "$base cannot be opened to others"
}

# ---- what jobs share: runners and certificates, sent only when they are missing

# Which kinds of machines the partitions have; kept beside the runners, since nodes do not change their processors.
find_machines() {
    known=$base/runner/.machines.$partition
    [ -n "$machines" ] || { read -r machines <"$known"; } 2>/dev/null || {
        machines=$(scontrol -o show node | sed -n 's/.* Arch=\([^ ]*\) .* Partitions=\([^ ]*\).*/\1 ,\2,/p' | sort -u |
            while read -r machine within; do
                [ -n "$partition" ] || echo "$machine"
                IFS=,
                for one in $partition; do
                    case $within in *,"$one",*) echo "$machine" ;; esac
                done
                unset IFS
            done | sort -u | tr '\n' ' ')
        [ -z "$machines" ] || { echo "$machines" >"$known.$$" && mv "$known.$$" "$known"; } 2>/dev/null
    }
}

# A runner that came along is there.
need_runners() {
    [ -z "$runner_x86_64_size$runner_aarch64_size" ] || return 0
    find_machines
    found=''
    for machine in ${machines:-$(uname -m)}; do
        case $machine in x86_64) path=$runner_x86_64 ;; aarch64) path=$runner_aarch64 ;; *) path='' ;; esac
        [ -n "$path" ] || continue
        found=1
        [ -x "$path" ] || need="$need $machine"
    done
    [ -n "$found" ] || fail machines "$machines"
}

take_shared() {
    need=''
    [ -z "$runner_x86_64_size" ] || take "$runner_x86_64_size" "$runner_x86_64" 700
    [ -z "$runner_aarch64_size" ] || take "$runner_aarch64_size" "$runner_aarch64" 700
    need_runners
    if [ -n "$certificates_size" ]; then
        take "$certificates_size" "$certificates" 600
    elif [ -n "$certificates" ] && [ ! -s "$certificates" ]; then
        need="$need certificates"
    fi
    [ -z "$need" ] || { printf 'need\t%s\n' "$need"; exit 0; }
}

# ---- jobs of ours that it waits for

# Slurm takes a job that it has forgotten for one that went well: what our records know better is refused here.
number_of() {
    newest "$base/meta/$1"
    [ "$newest" -gt 0 ] || fail depend "there is no job '$1' in $base"
    past=$base/meta/$1.$newest ended=''
    read -r number <"$past/job"
    whole "$number" || fail depend "'$1' has no number"
    rows=$(squeue -h -t all -j "$number" -o '%j|%k' 2>/dev/null)
    case $rows in
    '' | "$prefix$1|"* | *"|slipway:$1:"*) ;;
    *) fail depend "Slurm's number of '$1', $number, is another job's now" ;;
    esac
    [ ! -f "$past/exit" ] || read -r ended <"$past/exit"
    [ ! -e "$past/canceled" ] || ended=canceled
    case $kind$ended in
    afterany* | after) ;;
    afternotok'{"exit_code":0,'*) fail depend "'$1' has not failed" ;;
    afterok'{"exit_code":0,'* | afterok | aftercorr* | afternotok*) ;;
    afterok*) fail depend "'$1' has not ended well" ;;
    esac
}

# Sets after from waits_for ("afterok:train-k3,after:17"): our ids become Slurm's numbers.
find_dependencies() {
    after='' kind='' mark=''
    while [ -n "$waits_for" ]; do
        word=${waits_for%%[:,?+]*}
        waits_for=${waits_for#"$word"}
        case $mark$word in
        :[A-Za-z]*) number_of "$word"; word=$number ;;
        :* | +*) ;;
        *) kind=$word ;;
        esac
        mark=${waits_for%"${waits_for#?}"} waits_for=${waits_for#?}
        after=$after$word$mark
    done
}

# ---- the attempt's folder: lock, and record of what was sent

unsure() { exit 75; }
# Sets job, when this attempt has one: by its record, or in the queue.
find_job() {
    [ ! -s "$state/job" ] || { read -r job <"$state/job"; ! whole "$job" || return 0; job=''; }
    rows=$(squeue -h -t all -u "$(id -un)" -n "$name" -o '%F|%k') || unsure
    job=$(printf '%s\n' "$rows" | while IFS='|' read -r number mark; do
        case $mark in "$comment" | "$comment "*) echo "$number" ;; esac
    done | sort -n | head -n 1)
    [ -n "$job" ]
}
# Is the one that made the folder still at work?
is_alive() {
    host=- token=none
    [ ! -s "$state/owner" ] || read -r host pid since token <"$state/owner"
    [ "$host" != - ] || return 1
    if [ "$host" = "$here" ]; then whole "$pid" && kill -0 "$pid" 2>/dev/null; return; fi
    whole "$since" && [ $((now - since)) -lt 600 ]
}
# The folder is there: another submit of this attempt made it. Ends the script unless that one died and left nothing.
find_earlier() {
    [ ! -e "$state/canceled" ] || fail canceled 'this attempt was canceled'
    tries=0
    until find_job; do
        tries=$((tries + 1))
        is_alive || break
        [ "$tries" -lt 50 ] || { echo 'another client is submitting it' >&2; exit 75; }
        sleep 0.2
    done
    if [ -n "$job" ] || find_job; then
        echo "$job" >"$state/job"
        printf 'job\t%s\n' "$job"
        exit 0
    fi
    mkdir "$state/taken.$token" 2>/dev/null || { echo 'another client took it over' >&2; exit 75; }
}
refuse() { rm -rf "$state" "$secrets" "$logs"; fail "$@"; }
# Nothing is certain: the next submit may take over after a while.
maybe() {
    echo "- $$ $now $own_token" >"$state/owner"
    printf '%s\n' "${said:-sbatch ended without a word}" >&2
    exit 75
}
lock_attempt() {
    umask "$own_umask"
    mkdir "$state" "$logs" 2>/dev/null
    made=$?
    umask 077
    [ "$made" = 0 ] || find_earlier
    echo "$here $$ $now $own_token" >"$state/owner"
    [ -d "$logs" ] || (umask "$own_umask"; mkdir -p "$logs") || refuse base "$logs"
    unsure() { maybe; }
}

# Written by the shell itself: printf is no process.
write() { [ -z "$2" ] || printf '%s' "$2" >"$1" || refuse base 'a file cannot be written'; }
write_files() {
    [ -z "$secrets_size" ] || take "$secrets_size" "$secrets" 600
    if [ -n "$code_size" ]; then
        take "$code_size" "$code" 600
    elif [ -n "$code" ] && [ ! -s "$code" ]; then
        refuse refused 'the code of the first attempt is gone'
    fi
    write "$specs" "$specs_text"
    write "$env" "$env_text"
    write "$payload" "$payload_text"
    write "$rules" "$rules_text"
    write "$entrypoint" "$entrypoint_text"
    write "$sbatch" "$sbatch_text"
    write "$state/image.sbatch" "$image_sbatch_text"
    write "$meta" "$meta_text"
}

# ---- sbatch

call_sbatch() {
    umask "$own_umask"
    exec env -i HOME="${HOME-/}" USER="${USER-}" LOGNAME="${LOGNAME-}" PATH="$PATH" SHELL="${SHELL-/bin/sh}" \
        ${LANG+LANG="$LANG"} ${SLURM_CONF+SLURM_CONF="$SLURM_CONF"} ${LD_LIBRARY_PATH+LD_LIBRARY_PATH="$LD_LIBRARY_PATH"} \
        sbatch --parsable --export=ALL "$@" "$sbatch" 2>&1
}
seek() { find_job; }
# Any other failure than a refusal is in doubt: the queue is asked for the job before anything is said, and nothing is removed.
doubt() {
    told=$said
    for pause in 0.1 0.2 0.7; do
        sleep "$pause"
        ! seek || { said=$job; return 0; }
    done
    [ "$status" != 1 ] || ! is_refused_without_reason "$told" || refuse "$refusal" "$told"
    maybe
}
# send ACCOUNT: sets said; 1: Slurm wants another account.
send() {
    status=0
    said=$(call_sbatch ${1:+--account="$1"} ${after:+--dependency="$after"}) || status=$?
    case $status:$said in
    0:*) return 0 ;;
    1:*nvalid\ account* | 1:*ccount*required*) return 1 ;;
    126:* | 127:*) refuse "$refusal" "$said" ;;
    1:*) ! is_refused "$said" || refuse "$refusal" "$said$(gpus_here "$said")" ;;
    esac
    doubt
}
# When Slurm wants another account or a plugin of the site wants one named: the user's default, else the only other one.
# Which of several is charged is for its user to say.
try_accounts() {
    me=$(id -un) cluster=$(scontrol show config | sed -n 's/^ClusterName *= *//p')
    yours=$(sacctmgr -nP show assoc where user="$me" ${cluster:+cluster="$cluster"} format=account | sort -u | paste -sd, -)
    usual=$(sacctmgr -nP show user where name="$me" format=defaultaccount)
    [ -z "$usual" ] || ! send "$usual" || return 0
    other=$(printf %s "$yours" | tr , '\n' | grep -vxF "$usual" | paste -sd, -)
    case $other in '' | *,*) ;; *) ! send "$other" || return 0 ;; esac
    refuse account "$said; accounts of $me: ${yours:-none}"
}
submit() { send '' || { [ -z "$account" ] || refuse account "$said"; try_accounts; }; }
# The number that sbatch printed, perhaps among a site's own lines; sets number.
number_in() {
    number=''
    while read -r row; do
        row=${row%%;*}
        ! whole "$row" || number=$row
    done <<ROWS
$1
ROWS
}

# The image's conversion is a job of its own; ours starts behind it. All jobs that want the image wait for the same one.
convert_image() {
    if [ "$SW_IMAGE_WHEN" != digest ] && sw_image_there; then return 0; fi
    mkdir -p "${SW_IMAGE_FILE%/*}" || refuse base "${SW_IMAGE_FILE%/*} cannot be made"
    number=$(squeue -h -u "$(id -un)" -n "$image_job" -t PD,CF,R -o %A | head -n 1)
    if [ -z "$number" ]; then
        refusal=convert own_sbatch=$sbatch own_after=$after
        sbatch=$state/image.sbatch after=''
        seek() {
            job=$(squeue -h -u "$(id -un)" -n "$image_job" -t PD,CF,R -o %A) || unsure
            job=${job%%[!0-9]*}
            [ -n "$job" ]
        }
        submit
        seek() { find_job; }
        sbatch=$own_sbatch after=$own_after job=''
        number_in "$said"
        [ -n "$number" ] || maybe
    fi
    after=${after:-$dependency}
    after=${after:+$after,}afterany:$number
}

make_base
[ -n "$base_is_safe" ] || check_base_is_ours . runner entrypoints sbatch meta env specs
take_shared
find_dependencies
check_needs
lock_attempt
write_files
[ -z "$image_job" ] || convert_image
refusal=refused
submit
number_in "$said"
[ -n "$number" ] || { doubt; number=$said; }
echo "$number" >"$state/job"
printf 'job\t%s\n' "$number"
