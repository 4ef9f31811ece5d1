# SPDX-License-Identifier: Apache-2.0
#
# slurm_keep.sh - a script on standard input becomes a file of the job, whose name is printed.
#
# Before it: own (the folder of the job's records).
# shellcheck disable=SC2154

umask 077
f=$(mktemp "$own/exec.XXXXXX") && cat >"$f" && printf %s "$f"
