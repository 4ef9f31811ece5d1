# SPDX-License-Identifier: Apache-2.0
#
# chunks.sh - put the variables PREFIX_0, PREFIX_1 ... together again.
#
#     sw_chunks PREFIX FILE
#
# FILE is replaced whole, and the variables are gone from the environment afterwards: thousands of
# characters that the user's command did not ask for. Ends the shell with 74 when something is missing.
# POSIX sh: it runs in dash, busybox and whatever else an image calls /bin/sh.

sw_chunks_pieces() {
    sw_at=0
    while [ "$sw_at" -lt "$2" ]; do
        eval "sw_piece=\${$1_$sw_at-}"
        # shellcheck disable=SC2154
        [ -n "$sw_piece" ] || {
            echo "slipway: $1_$sw_at is missing" >&2
            exit 74
        }
        printf '%s' "$sw_piece"
        sw_at=$((sw_at + 1))
    done
}

sw_chunks() {
    eval "sw_count=\${$1_COUNT:-0}"
    # shellcheck disable=SC2154
    if ! sw_chunks_pieces "$1" "$sw_count" | base64 -d | gzip -dc > "$2.new" || ! mv "$2.new" "$2"; then
        echo "slipway: the variables $1_* cannot be put together" >&2
        exit 74
    fi
    sw_at=0
    while [ "$sw_at" -lt "$sw_count" ]; do
        unset "$1_$sw_at"
        sw_at=$((sw_at + 1))
    done
    unset "$1_COUNT" sw_at sw_count
}
