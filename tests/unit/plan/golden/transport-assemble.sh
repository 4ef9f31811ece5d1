slipway_file='/tmp/it'"'"'s here/code.tar.gz'
slipway_i=0
while [ "$slipway_i" -lt "${SLIPWAY_CODE_COUNT:-0}" ]; do
    eval "slipway_piece=\${SLIPWAY_CODE_$slipway_i-}"
    [ -n "$slipway_piece" ] || {
        echo "slipway: SLIPWAY_CODE_$slipway_i is missing" >&2
        exit 74
    }
    printf '%s' "$slipway_piece"
    slipway_i=$((slipway_i + 1))
done | base64 -d > "$slipway_file.new" && gzip -t < "$slipway_file.new" &&
    mv "$slipway_file.new" "$slipway_file" || {
    echo "slipway: what came in SLIPWAY_CODE_* cannot be put together" >&2
    exit 74
}
slipway_i=0
while [ "$slipway_i" -lt "${SLIPWAY_CODE_COUNT:-0}" ]; do
    unset "SLIPWAY_CODE_$slipway_i"
    slipway_i=$((slipway_i + 1))
done
unset SLIPWAY_CODE_COUNT SLIPWAY_CODE_SHA256 slipway_piece slipway_i slipway_file
