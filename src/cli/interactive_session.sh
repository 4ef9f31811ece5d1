# SPDX-License-Identifier: Apache-2.0
#
# interactive_session.sh [COMMAND...] - on the terminal, beside interactive_wait.sh: runs the command, or a shell, and leaves its
# exit code. Keys such as Ctrl-C are for the command. POSIX sh.

f=/tmp/.slipway-$SLIPWAY_JOB_ID
until [ -d "$f" ]; do sleep 1; done
echo $$ >"$f/pid"
trap : INT QUIT
if [ $# -eq 0 ]; then
    set -- sh
    ! command -v bash >/dev/null 2>&1 || set -- bash
fi
"$@"
code=$?
echo "$code" >"$f/new"
mv -f "$f/new" "$f/end"
exit "$code"
