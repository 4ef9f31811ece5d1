# SPDX-License-Identifier: Apache-2.0
#
# slurm_beside.sh - in a step of its own: bash -c THIS - MARK COMMAND... runs a command beside a rank.
#
# It finds a process of the rank by our mark and enters the namespaces that it is in: those of its container, which belong to
# the user. There the runner takes over its environment and folder, so that the command sees what the job sees.
# shellcheck disable=SC2013,SC2034,SC2046,SC2086,SC2093

mark=SLIPWAY_TASK=$1
shift
ns() { readlink "/proc/$1/ns/$2"; }
for try in 1 2 3 4 5 6 7 8 9 10; do
    for file in $(grep -lszxF "$mark" /proc/[0-9]*/environ 2>/dev/null); do
        pid=${file#/proc/} pid=${pid%/environ} enter=''
        runner=$(tr '\0' '\n' <"$file" | sed -n 's/^slipway_runner=//p')
        case $(readlink "/proc/$pid/exe") in '' | *slipway-runner*) continue ;; esac
        [ "$(ns $pid user)" = "$(ns self user)" ] || enter='--user --preserve-credentials'
        [ "$(ns $pid mnt)" = "$(ns self mnt)" ] || enter="$enter --mount"
        [ "$(ns $pid pid)" = "$(ns self pid)" ] || enter="$enter --pid"
        exec ${enter:+nsenter --target $pid $enter} "$runner" beside "$mark" "$@"
    done
    sleep 0.5
done
echo 'slipway: its command has not begun' >&2
exit 75
