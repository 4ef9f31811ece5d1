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
H4sIAAAAAAAC/1WPwU7DMBBE/2XPISnl5lsVcqgqtRKuhBBClutsHEMSW44TKUT5d9ahUPBpZzR+
OzvDiL43tgO2TeDdXoQpgYG2TYndnbw+SEB6PQJ7BTeFmtIJhNRN8JYAduTPSwI9Ko+hpxC5NBIg
GNlEA3bPXOzyvOBcHIoXsX8kwE1HQQFe5E/FWfzzr97fEOf701GcT4fiGPcrWyIVoIKqNiONq5MG
6VP9CdTLdG74qWWHcBMVBlWLwRvSwQ+4HtlHVimDJFD/wLLskpUZ7W48sE16T7yqkXo9Srbuu0BX
GS1+18zwgRP9XiFLDESWkqnDlkDaS4WipeRm+QIsCDVRfgEAAA==
SLIPWAY
base64 -d <<'SLIPWAY' | gzip -dc > "$slipway_dir/code.tar.gz"
H4sIAAAAAAAC/5Pv5mAAAab/2ic9Qj3O+XuyMryQOWEFEgUAsDl/OhwAAAA=
SLIPWAY
base64 -d <<'SLIPWAY' | gzip -dc > "$slipway_dir/ca.pem"
H4sIAAAAAAAC/0tUSE4tKslMy0xOLEnlAgDFqD2sDgAAAA==
SLIPWAY
if [ -z "${TAO_RESULTS_ROOT:-}${S3_BUCKET_NAME:-}" ] && [ $$ != 1 ] && [ ! -d /results ]; then
    TAO_RESULTS_ROOT=${PWD%/}/results
    export TAO_RESULTS_ROOT
    echo "slipway: results go to $TAO_RESULTS_ROOT/golden-aaaaaaaa" >&2
fi
[ $# -eq 0 ] || cp "$1" "$slipway_dir/payload.json" || exit 74
umask 022
exec "$slipway_dir/slipway-runner" all --cleanup "$slipway_dir" "$slipway_dir/payload.json"
