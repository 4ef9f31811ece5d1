# SPDX-License-Identifier: Apache-2.0
#
# interactive_wait.sh - the command of an interactive job: it waits for the session on the terminal (interactive_session.sh) and
# ends with its exit code; also when the session is gone without one, when none comes, and after a day. POSIX sh.

f=/tmp/.slipway-$SLIPWAY_JOB_ID n=0
# An earlier attempt may have left it; what another user put there is not used.
rm -rf "$f" 2>/dev/null
mkdir -m 700 "$f" || exit 73
trap 'rm -rf "$f"' EXIT
while [ ! -s "$f/end" ]; do
    sleep 1
    n=$((n + 1))
    if [ -s "$f/pid" ]; then
        kill -0 "$(cat "$f/pid")" 2>/dev/null || [ -s "$f/end" ] || { echo 'its terminal is gone'; exit 129; }
    elif [ "$n" -ge 600 ]; then
        echo 'no terminal came within 10 minutes'
        exit 75
    fi
    [ "$n" -lt 86400 ] || { echo 'an interactive job ends after a day'; exit 124; }
done
exit "$(cat "$f/end")"
