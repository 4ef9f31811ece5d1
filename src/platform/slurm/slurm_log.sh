# SPDX-License-Identifier: Apache-2.0
#
# slurm_log.sh - the log of one rank, or the part of it that one attempt wrote.
#
# Before it: state, logs (folders of the attempt), name (of the log's file), part (the attempt that is meant; 0: all of it), task
# (of an array; empty: none). Behind it one of the calls. Sets file, and from and to (empty: the end), the part that is meant.
# shellcheck disable=SC2154

# Each attempt notes in `parts` where its part of every file begins; an attempt that was submitted anew has folders of its own.
find_part() {
    from=0 to=''
    if [ "$part" != 0 ]; then
        n=$part
        while [ "$n" -gt 1 ] && [ ! -d "${state%.*}.$n" ]; do n=$((n - 1)); done
        state=${state%.*}.$n logs=${logs%.*}.$n
        [ ! -f "$state/parts" ] || while read -r n of size; do
            [ "$n" != $((part + 1)) ] || to=${to:-0}
            case $n.$of in "$part.$name") from=$size ;; "$((part + 1)).$name") to=$size ;; esac
        done <"$state/parts"
    fi
    file=$logs/$name
    [ -z "$task" ] || state=$state/task-$task
}

# log_read OFFSET COUNT: the bytes. 66: the folder is gone.
log_read() {
    [ -d "$logs" ] || exit 66
    [ -f "$file" ] || return 0
    skip=$((from + $1)) count=$2
    [ -z "$to" ] || [ $((to - skip)) -ge "$count" ] || count=$((to - skip))
    [ "$count" -gt 0 ] || return 0
    exec dd if="$file" bs=65536 iflag=skip_bytes,count_bytes skip="$skip" count="$count" 2>/dev/null
}

# "size BYTES"
log_size() {
    size=$from
    [ ! -f "$file" ] || size=${to:-$(wc -c <"$file")}
    printf 'size\t%s\n' $((size - from))
}

# log_since SECONDS: "offset BYTES". The batch script notes sizes every few seconds (`times`), so it may be that much too early,
# never too late.
log_since() {
    best=$from
    [ ! -f "$state/times" ] || while read -r of size at; do
        [ "$of" != "$name" ] || [ "$at" -ge "$1" ] || best=$size
    done <"$state/times"
    [ -z "$to" ] || [ "$best" -le "$to" ] || best=$to
    [ "$best" -ge "$from" ] || best=$from
    printf 'offset\t%s\n' $((best - from))
}

# log_times SKIP MOST: "from OFFSET" where the part begins, the notes behind the first SKIP bytes of them ("note END TIME" for each,
# "read BYTES" of them), and "now END TIME" of the file as it is.
log_times() {
    printf 'from\t%s\n' "$from"
    [ ! -f "$state/times" ] || {
        size=$(($(wc -c <"$state/times") - $1))
        [ "$size" -le "$2" ] || size=$2
        tail -c +$(($1 + 1)) "$state/times" | head -c "$size" | sed -n "s/^$name \([0-9]*\) /note	\1	/p"
        printf 'read\t%s\n' $(($1 + size))
    }
    stat --printf='now\t%s\t%Y\n' "$file" 2>/dev/null || :
}

find_part
