# SPDX-License-Identifier: Apache-2.0
#
# setup.sh - runs the commands of `setup:`, then becomes the job's command. Behind once.sh.
#
#     sh -c TEXT slipway-setup SETUP HASH OWN CACHE FRESH COMMAND...
#
# OWN is the job's folder there, which its ranks and attempts share; empty: this container has one rank and no such folder.
# CACHE is a folder that jobs share; empty: none. FRESH is not empty where every attempt begins with files of its own, a
# container's. $SLIPWAY_SETUP_DIR is where setup puts what it makes. A setup that names it keeps nothing elsewhere, so it is
# done once for all jobs with the same content; any other is done once for each node of a job, and again in a new container.
# The folder is made in place, since a virtual environment cannot be moved, and counts only with its `done` beside it.

sw_setup=$1 sw_hash=$2 sw_own=$3 sw_cache=$4 sw_fresh=$5
shift 5
# shellcheck disable=SC2034
SW_LEASE=60 SW_BEAT=2 SW_STEP=1 SW_PATIENCE=2592000

# What decides about the result beside the text: the machine, and the files that setup names or that its tools read.
# shellcheck disable=SC2046,SC2086
sw_setup_content() {
    uname -m
    cat /etc/os-release 2>/dev/null
    set -f
    for sw_at in $(printf '%s' "$sw_setup" | tr -cs 'A-Za-z0-9_./+-' ' ') \
        requirements.txt pyproject.toml setup.py setup.cfg uv.lock poetry.lock environment.yml; do
        [ ! -f "$sw_at" ] || cksum "$sw_at"
    done
}

sw_setup_choose() {
    case $sw_setup in
    *SLIPWAY_SETUP_DIR*) ;;
    *) sw_cache='' ;;
    esac
    if [ -n "$sw_cache" ] && mkdir -p "$sw_cache" 2>/dev/null && [ -w "$sw_cache" ]; then
        sw_content=$(sw_setup_content | cksum | tr ' ' '-')
        SLIPWAY_SETUP_DIR=$sw_cache/$sw_hash-$sw_content
        return
    fi
    if [ -n "$sw_own" ] && mkdir -p "$sw_own" 2>/dev/null && [ -w "$sw_own" ]; then
        SLIPWAY_SETUP_DIR=$sw_own/$(uname -n)
        [ -z "$sw_fresh" ] || SLIPWAY_SETUP_DIR=$SLIPWAY_SETUP_DIR-${SLIPWAY_ATTEMPT:-1}-${SLURM_JOB_ID:-0}-${SLURM_RESTART_COUNT:-0}
        return
    fi
    for sw_at in "${TMPDIR:-}" /tmp /var/tmp /dev/shm .; do
        [ -n "$sw_at" ] || continue
        mkdir -m 700 "$sw_at/slipway-setup-$$" 2>/dev/null || continue
        SLIPWAY_SETUP_DIR=$(cd "$sw_at" && pwd)/slipway-setup-$$/made
        return
    done
    sw_say 'setup: no folder here can be written to'
    exit 74
}

sw_setup_there() {
    [ -e "$SLIPWAY_SETUP_DIR.done" ]
}

# Its output goes to the job's log.
sw_setup_make() {
    rm -rf "$SLIPWAY_SETUP_DIR" "$SLIPWAY_SETUP_DIR.code"
    mkdir -p "$SLIPWAY_SETUP_DIR" || return 74
    /bin/sh -e -c "$sw_setup" >&3 2>&4 3>&- 4>&-
    sw_code=$?
    [ "$sw_code" = 0 ] || { echo "$sw_code" > "$SLIPWAY_SETUP_DIR.code"; return "$sw_code"; }
    : > "$SLIPWAY_SETUP_DIR.done"
}

sw_setup_choose
export SLIPWAY_SETUP_DIR
if sw_setup_there; then
    sw_say "setup: done before, in $SLIPWAY_SETUP_DIR"
else
    exec 3>&1 4>&2
    sw_once "$SLIPWAY_SETUP_DIR.lock" setup sw_setup_there sw_setup_make
    sw_code=$?
    exec 3>&- 4>&-
    if [ "$sw_code" != 0 ]; then
        [ ! -s "$SLIPWAY_SETUP_DIR.code" ] || read -r sw_code < "$SLIPWAY_SETUP_DIR.code"
        sw_say "setup failed with exit code $sw_code: the command was not started"
        exit "$sw_code"
    fi
fi
[ ! -d "$SLIPWAY_SETUP_DIR/bin" ] || export PATH="$SLIPWAY_SETUP_DIR/bin:$PATH"
exec "$@"
