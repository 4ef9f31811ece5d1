#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#SBATCH -J sweep -N 1 -n 1 -c 16
#SBATCH -G a100:2 -t 90
#SBATCH -p debug -A lab -q high     # where, and who pays
#SBATCH --array=0-15%4
#SBATCH -o sweep_%A_%a.log
#SBATCH -e sweep_%A_%a.err
#SBATCH --mail-type=END,FAIL --mail-user=me@example.org
#SBATCH -d afterok:1234
python sweep.py --index "$SLURM_ARRAY_TASK_ID"
#SBATCH --qos=ignored
