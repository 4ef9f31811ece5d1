# SPDX-License-Identifier: Apache-2.0
#
# use.sh - in a job: CPU time, memory and GPUs of its container or of its group of processes, one fact per line. POSIX sh.
#
# Under Slurm the group is the whole job, not the step that we are; where Slurm makes no groups, ours is that of slurmd and
# of every job there. What cannot be known is not printed: never the use of the whole machine for that of the job.

# below NAME: the path of our group in the tree of controllers that NAME matches, a pattern of sed.
below() {
    at=$(sed -n "s/^[0-9]*:$1://p" /proc/self/cgroup 2>/dev/null | head -n 1)
    case ${SLURM_JOB_ID:+slurm}$at in
    slurm*/job_*) echo "${at%%/step_*}" ;;
    slurm*) echo /nowhere ;;
    *) echo "$at" ;;
    esac
}

root=/sys/fs/cgroup near=/nowhere
[ -n "${SLURM_JOB_ID-}" ] || near=$root                    # in a container the root is its own group
if [ -e $root/cgroup.controllers ]; then
    group=$root$(below '')
    [ -e "$group/cpu.stat" ] || group=$near
    if [ -e "$group/memory.current" ]; then                # the machine's own group has none
        echo "memory $(cat "$group/memory.current")"
        echo "cpu_us $(sed -n 's/^usage_usec //p' "$group/cpu.stat")"
    fi
else
    for group in "$root/memory$(below '[a-z_,]*memory[a-z_,]*')" $near/memory; do
        [ -e "$group/memory.usage_in_bytes" ] || continue
        [ -e "$group/release_agent" ] || echo "memory $(cat "$group/memory.usage_in_bytes")"
        break
    done
    own=$(below '[a-z_,]*cpuacct[a-z_,]*')
    for group in "$root/cpuacct$own" "$root/cpu,cpuacct$own" "$near/cpuacct" "$near/cpu,cpuacct"; do
        [ -e "$group/cpuacct.usage" ] || continue
        [ -e "$group/release_agent" ] || echo "cpu_ns $(cat "$group/cpuacct.usage")"
        break
    done
fi
if command -v nvidia-smi >/dev/null 2>&1; then
    nvidia-smi ${CUDA_VISIBLE_DEVICES:+-i "$CUDA_VISIBLE_DEVICES"} --format=csv,noheader,nounits \
        --query-gpu=index,uuid,pci.bus_id,memory.total,memory.used,utilization.gpu,ecc.errors.uncorrected.volatile.total,name \
        2>/dev/null | sed -n 's/^[0-9]/gpu &/p'
fi
exit 0
