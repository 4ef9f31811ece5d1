# SPDX-License-Identifier: Apache-2.0
#
# copy_into.sh PATH NAME - in a job: an archive on standard input, whose only root is `x`, becomes PATH, or NAME in the folder
# PATH.
#
# It is unpacked beside its place and renamed when it is whole; a folder is added to one that is there. POSIX sh, busybox tar.

p=$1
case $p in */) mkdir -p -- "$p" || exit 73 ;; esac
if [ -d "$p" ]; then
    d=$p b=$2
else
    d=$(dirname -- "$p") b=$(basename -- "$p")
fi
t=$d/.slipway-cp-$$
mkdir -- "$t" || exit 73
trap 'rm -rf -- "$t"' EXIT
trap 'exit 130' HUP INT TERM
tar -xf - -C "$t" || exit 74
if [ -d "$t/x" ] && [ -d "$d/$b" ]; then
    cp -R -P -p -- "$t/x/." "$d/$b/" || exit 74
elif [ -d "$d/$b" ]; then
    echo "$d/$b is a folder" >&2
    exit 73
else
    mv -f -- "$t/x" "$d/$b" || exit 74
fi
