#!/bin/sh
# Job golden-aaaaaaaa, everything it needs inside. Made by `slipway entrypoint --script`.
#     docker run --rm -v "$PWD/job.sh:/job.sh" IMAGE sh /job.sh
#     sbatch job.sh
#     sh job.sh                                        (results go to ./results)
# Secrets are read from the environment by their names; none is in this file.
set -u
trap 'exit 143' TERM
umask 077
slipway_fail() { echo "slipway: $*" >&2; exit 74; }
slipway_unpack_runner() {
case "$(uname -m)" in
x86_64|amd64)
base64 -d <<'SLIPWAY' | gzip -dc > "$slipway_dir/slipway-runner"
H4sIAAAAAAAC/2WNMRKCMBRE+3+K5ZNCixAUxpKLOBYQYkihYeIvHIbDG6GkfLvzdsvCDOFtPhPd
oUpoL6jxwLrCfYPg1pKzUwSrC9QV6mR7ydDymdHBR8laAf3MWWNsHF0lfar8wvuGX8IMPdpj3eGP
lF7QabOZtsOGftsjBQ6SAAAA
SLIPWAY
;;
aarch64|arm64)
base64 -d <<'SLIPWAY' | gzip -dc > "$slipway_dir/slipway-runner"
H4sIAAAAAAAC/2WNMRKCMBRE+3+K5ZNCixAUxpKLOBYQYkihYeIvHIbDG6GkfLvzdsvCDOFtPhPd
oUpoL6jxwLrCfYPg1pKzUwSrC9QV6mR7ydDymdHBR8laAf3MWWNsHF0lfar8wvuGX8IMPdpj3eGP
lF7QabOZtsOGftsjBQ6SAAAA
SLIPWAY
;;
*) slipway_fail "no runner for $(uname -m) in this script" ;;
esac
}
slipway_dir=
for slipway_try in "${SLIPWAY_TMP:-}" "${TMPDIR:-}" /tmp /var/tmp /dev/shm .; do
    [ -n "$slipway_try" ] && [ -d "$slipway_try" ] || continue
    slipway_dir=$slipway_try/slipway-golden-aaaaaaaa-$$
    mkdir "$slipway_dir" 2>&- && slipway_unpack_runner &&
        chmod 755 "$slipway_dir/slipway-runner" && {
        "$slipway_dir/slipway-runner" >&- 2>&-
        [ $? -eq 64 ] && break
    }
    rm -rf "$slipway_dir"
    slipway_dir=
done
[ -n "$slipway_dir" ] || slipway_fail "no folder here takes and runs a program; set SLIPWAY_TMP to one"
base64 -d <<'SLIPWAY' | gzip -dc > "$slipway_dir/payload.json"
H4sIAAAAAAAC/2VQPWvDMBD9K+aWLC4KzaahEFwPIZBAFSilFKHYcqLWlox0ShOM/3tPxpCW3nbv
3pc0wEX7YJwF/pjDpztKUwOHk2trbR/UPJBD5bpO2XRT31/ZYui9sTguMlYrVOyaPWXM6xBbDOxG
dG0vwIcxh6ArrzEAf/8gE6/JFo1qEwDrVyHXRVEKIbflm9w8k/C+p4UIoixeyoP8g8/Yb5IQm/1O
HvbbcgeUZGwfp9QBeoVnqj0XJUHjXUdAWHHGjhOir+hVhcAbaqZH0ruI/wzm9xEf3V3vow1sMPXI
khH95k12pFst0ySrRmN1ltEbQtFHncOJwvTEWo4/awHP1oEBAAA=
SLIPWAY
if [ -z "${TAO_RESULTS_ROOT:-}${S3_BUCKET_NAME:-}" ] && [ $$ != 1 ] && [ ! -d /results ]; then
    TAO_RESULTS_ROOT=${PWD%/}/results
    export TAO_RESULTS_ROOT
    echo "slipway: results go to $TAO_RESULTS_ROOT/golden-aaaaaaaa" >&2
fi
[ $# -eq 0 ] || cp "$1" "$slipway_dir/payload.json" || exit 74
umask 022
exec "$slipway_dir/slipway-runner" all --cleanup "$slipway_dir" "$slipway_dir/payload.json"
