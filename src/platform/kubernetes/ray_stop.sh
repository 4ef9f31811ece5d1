# SPDX-License-Identifier: Apache-2.0
#
# ray_stop.sh - before the head of a Ray cluster ends: its driver is stopped, and collects its outputs first. POSIX sh.

driver=$(cat /.slipway/work/driver.pid) || exit 0
kill -TERM "$driver" || exit 0
while kill -0 "$driver" 2>/dev/null; do
    sleep 0.2
done
