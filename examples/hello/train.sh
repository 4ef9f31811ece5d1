#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train.sh - a training loop small enough to read: gradient descent on y = w*x + b, in awk.
# usage: train.sh CONFIG.yaml
set -eu

config=$1

# setting KEY [SECTION] - one value of the config, at the top or inside a section.
setting() {
    awk -v key="$1:" -v wanted="${2:-}" '
        /^[^ ]/                           { section = "" }
        $1 == key && section == wanted    { sub(/^ *[^ ]+: */, ""); gsub(/^["\047]|["\047]$/, ""); print; exit }
        /^[^ ]+: *$/                      { section = $1; sub(/:$/, "", section) }
    ' "$config"
}

samples=$(setting samples data)
epochs=$(setting epochs train)
rate=$(setting learning_rate train)
pause=$(setting seconds_per_epoch train)
results=$(setting results_dir)

echo "Training on $(awk 'END { print NR }' "$samples") samples for $epochs epochs"
mkdir -p "$results"
w=0
b=0
epoch=1
while [ "$epoch" -le "$epochs" ]; do
    # One epoch is forty steps along the gradient of the mean squared error.
    step=$(awk -v w="$w" -v b="$b" -v rate="$rate" '
        { x[NR] = $1; y[NR] = $2 }
        END {
            for (i = 0; i < 40; i++) {
                dw = db = loss = 0
                for (n = 1; n <= NR; n++) {
                    e = w * x[n] + b - y[n]
                    dw += e * x[n]; db += e; loss += e * e
                }
                w -= rate * dw / NR; b -= rate * db / NR
            }
            printf "%.6f %.6f %.6f", w, b, loss / NR
        }' "$samples")
    w=${step%% *}
    loss=${step##* }
    b=${step#* }
    b=${b%% *}
    echo "Epoch $epoch/$epochs loss=$loss"
    printf 'epoch=%s\nw=%s\nb=%s\n' "$epoch" "$w" "$b" > "$results/checkpoint.tmp"
    mv "$results/checkpoint.tmp" "$results/checkpoint-$epoch.txt"
    sleep "$pause"
    epoch=$((epoch + 1))
done
printf '{"epochs": %s, "loss": %s, "w": %s, "b": %s}\n' "$epochs" "$loss" "$w" "$b" > "$results/metrics.json"
echo "Done: y = $w * x + $b"
