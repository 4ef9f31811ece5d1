# SPDX-License-Identifier: Apache-2.0
#
# slurm_exec.sh - a step of its own in a job's allocation, for a command beside a rank.
#
# Before it: own (the folder of the job's records), name, comment, rank, index (of its nodes), beside (slurm_beside.sh), how
# (--quiet, or what else srun needs for its output); the command as positional parameters. Without slurm_common.sh: the command would see what that exports.
# shellcheck disable=SC2034,SC2154

for try in 1 2 3 4 5 6 7 8 9 10; do              # it may begin just now
    [ ! -s "$own/runs" ] || break
    sleep 0.5
done
[ -s "$own/runs" ] || { echo 'slipway: its batch script has not begun' >&2; exit 75; }
# The last line of the runs: restart, Slurm's number of this very run, since when, nodes.
while read -r restart number since nodes; do last=$number on=$nodes; done <"$own/runs"
rows=$(squeue -h -j "$last" -o '%j|%k' 2>&1) || rows=''
case $rows in
"$name|"* | *"|$comment" | *"|$comment "*) ;;
*) echo "Slurm job $last is not this job any more" >&2; exit 75 ;;
esac
node=$(scontrol show hostnames "$on" | sed -n "$((index + 1))p")
exec srun --quiet "$how" --overlap --jobid="$last" --nodes=1 --ntasks=1 --nodelist="$node" bash -c "$beside" - "$last.$rank" "$@"
