# SPDX-License-Identifier: Apache-2.0
# rank.sh VOLUME COMMAND - one rank in a root of its own: this machine's files, with VOLUME at /results. The first
# process in a new PID namespace: when it ends, everything that the job started ends.
root=/mnt
mount -t tmpfs tmpfs $root || exit 125
for at in /*; do
    case $at in /proc | /results | "$root") continue ;; esac
    if [ -L "$at" ]; then
        cp -P "$at" "$root$at"
    elif [ -d "$at" ]; then
        mkdir "$root$at" && mount --rbind "$at" "$root$at" || exit 125
    fi
done
mkdir $root/proc $root/results || exit 125
mount -t proc proc $root/proc && mount --bind "$1" $root/results || exit 125
exec chroot $root /bin/sh -c "cd / && $2"
