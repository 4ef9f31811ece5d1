# SPDX-License-Identifier: Apache-2.0
#
# ray_node.sh - in a pod of a Ray cluster, below the runner: `ray start` as KubeRay wrote it. POSIX sh.

ulimit -Sn "$(ulimit -Hn)"                       # KubeRay does the same where it writes the whole command
eval "exec $KUBERAY_GEN_RAY_START_CMD"
