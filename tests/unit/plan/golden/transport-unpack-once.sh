slipway_archive=/tmp/code.tar.gz
slipway_folder='/shared/it'"'"'s here'
slipway_marker="$slipway_folder/.slipway-unpacked-0123456789abcdef"
slipway_failed="$slipway_folder/.slipway-failed-0123456789abcdef-${SLIPWAY_ATTEMPT:-1}-${SLURM_JOB_ID:-0}-${SLURM_RESTART_COUNT:-0}"
if [ "${NODE_RANK:-${SLURM_NODEID:-0}}" = 0 ]; then
    [ -e "$slipway_marker" ] || {
        mkdir -p "$slipway_folder" && gzip -t < "$slipway_archive" &&
            gzip -dc < "$slipway_archive" | tar -xf - -C "$slipway_folder" &&
            : > "$slipway_marker"
    } || {
        : > "$slipway_failed"
        echo "slipway: the code cannot be unpacked into $slipway_folder" >&2
        exit 74
    }
else
    slipway_i=0
    until [ -e "$slipway_marker" ]; do
        [ ! -e "$slipway_failed" ] || {
            echo "slipway: node 0 could not unpack the code" >&2
            exit 74
        }
        [ "$slipway_i" -lt 300 ] || {
            echo "slipway: node 0 has not unpacked the code within 300 s; is $slipway_folder shared by all nodes?" >&2
            exit 74
        }
        sleep 1
        slipway_i=$((slipway_i + 1))
    done
fi
unset slipway_archive slipway_folder slipway_marker slipway_failed slipway_i
