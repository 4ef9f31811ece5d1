# SPDX-License-Identifier: Apache-2.0
#
# cut_log.sh - the command of the runner that brings a log to the results store: it cuts pieces off the log, each
# named by its time and number, until the job is over. They become rarer, so that a long job has some thousand at most.

cd /tmp/slipway-log || exit 1
sw_number=0
sw_at=0
sw_time=0
sw_over=
until [ -n "$sw_over" ]; do
    [ ! -e over ] || sw_over=yes
    sw_size=$(($(wc -c < log)))
    sw_now=$(date +%s)
    [ "$sw_now" -lt "$sw_time" ] || sw_time=$sw_now
    if [ "$sw_size" -gt "$sw_at" ]; then
        sw_name=$(printf '%010d-%08d' "$sw_time" "$sw_number")
        tail -c "+$((sw_at + 1))" log | head -c "$((sw_size - sw_at))" > "$sw_name" && mv "$sw_name" pieces/ || exit 1
        sw_at=$sw_size
        sw_number=$((sw_number + 1))
    fi
    sw_pause=$((1 + sw_number / 20))
    [ "$sw_pause" -le 30 ] || sw_pause=30
    while [ "$sw_pause" -gt 0 ] && [ ! -e over ]; do
        sleep 1
        sw_pause=$((sw_pause - 1))
    done
done
