[ ! -s /lustre/me/meta/j.mounts ] || exit 0
umask 077
SW_GIT_CACHE=/lustre/me/.cache/git
SW_GIT_LIMIT=600
SW_MOUNTS=''
SW_MOUNTS_FILE=/lustre/me/meta/j.mounts
SW_LEASE=60
SW_BEAT=10
SW_PATIENCE=800
SW_STEP=1
sw_say() {
    printf 'slipway: %s\n' "$*" >&2
}
sw_newest_turn() {
    sw_newest=0
    for sw_at in "$1"/[0-9]*; do
        [ -d "$sw_at" ] && [ "${sw_at##*/}" -gt "$sw_newest" ] && sw_newest=${sw_at##*/}
    done
    echo "$sw_newest"
}
# sw_beat TURN PID: shows the others that we live, for as long as we do.
sw_beat() {
    sw_beats=0
    while kill -0 "$2" 2>/dev/null; do
        sw_beats=$((sw_beats + 1))
        echo "$sw_beats" > "$1/beat.new" && mv -f "$1/beat.new" "$1/beat"
        sleep "$SW_BEAT"
    done
}
sw_once() (
    lock=$1 what=$2 check=$3 make=$4
    began=$(date +%s) since=$began seen='' watched='' beater='' maker='' turn=''
    sw_let_go() {
        [ -z "$maker" ] || kill "$maker" 2>/dev/null
        [ -z "$beater" ] || kill "$beater" 2>/dev/null
        [ -z "$turn" ] || [ -e "$lock/$turn/done" ] || [ -e "$lock/$turn/failed" ] ||
            : > "$lock/$turn/left"
    }
    # Our turn, from the folder made to the thing made.
    sw_work() {
        me=$(exec sh -c 'echo "$PPID"')
        echo "$(uname -n) pid $me job ${SLURM_JOB_ID:-none}" > "$lock/$turn/owner"
        trap sw_let_go EXIT
        trap 'exit 143' TERM INT HUP
        sw_beat "$lock/$turn" "$me" < /dev/null > /dev/null 2>&1 &
        beater=$!
        if ! $check; then
            $make < /dev/null > "$lock/$turn/said" 2>&1 &
            maker=$!
            wait "$maker" || { sw_fail "$?"; return 1; }
            maker=''
            $check || { sw_fail 'it is not usable'; return 1; }
        fi
        : > "$lock/$turn/done"
        old=$turn
        while [ "$((old -= 1))" -gt 0 ] && [ -d "$lock/$old" ]; do
            rm -rf "${lock:?}/$old"
        done
    }
    sw_fail() {
        maker=''
        cat "$lock/$turn/said" >&2
        last=$(tail -n 2 "$lock/$turn/said" | head -c 300 | sed '$!s/$/;/' | tr '\n' ' ')
        echo "${last:-it ended with $1 }(on $(uname -n))" > "$lock/$turn/failed.new"
        mv -f "$lock/$turn/failed.new" "$lock/$turn/failed"
    }
    mkdir -p "$lock" || { sw_say "$what: cannot write to $lock"; exit 1; }
    until $check; do
        now=$(date +%s)
        newest=$(sw_newest_turn "$lock")
        if [ "$newest" = "$watched" ] && [ -e "$lock/$newest/failed" ]; then
            sw_say "$what: $(cat "$lock/$newest/failed")"
            exit 1
        fi
        beat="$newest $(cat "$lock/$newest/beat" 2>/dev/null)"
        [ "$beat" = "$seen" ] || since=$now
        seen=$beat
        if [ "$newest" = 0 ] || [ -e "$lock/$newest/done" ] || [ -e "$lock/$newest/failed" ] ||
            [ -e "$lock/$newest/left" ] || [ "$((now - since))" -ge "$SW_LEASE" ]; then
            turn=$((newest + 1))
            if mkdir "$lock/$turn" 2>/dev/null; then
                sw_work || { sw_say "$what: it could not be made"; exit 1; }
                exit 0
            fi
            [ -d "$lock/$turn" ] || { sw_say "$what: cannot write to $lock"; exit 1; }
            turn=''
            continue
        fi
        watched=$newest
        if [ "$((now - began))" -ge "$SW_PATIENCE" ]; then
            sw_say "$what: not there after $((now - began)) s; it is being made by" \
                "$(cat "$lock/$newest/owner" 2>/dev/null) (see $lock/$newest)"
            exit 75
        fi
        sleep "$SW_STEP"
        # A shared file system may answer from memory until its folder is read again.
        ls "$lock/.." > /dev/null 2>&1
    done
)
sw_git() {
    GIT_TERMINAL_PROMPT=0 GIT_ASKPASS=true GIT_SSH_COMMAND=${GIT_SSH_COMMAND:-ssh -o BatchMode=yes} \
        timeout -k 10 "$SW_GIT_LIMIT" git -c protocol.ext.allow=never -c advice.detachedHead=false \
        "$@" < /dev/null
}
# sw_mount SOURCE TARGET FLAGS
sw_mount_unseen() {
    SW_MOUNTS=${SW_MOUNTS:+$SW_MOUNTS,}$1:$2${3:+:$3}
}
sw_mount() {
    [ -e "$1" ] || { sw_say "mount $1: no such path on $(uname -n)"; exit 66; }
    sw_mount_unseen "$@"
}
# The line in which git says why: the first that is neither a warning nor about what it begins with. Its last
# ones are advice ("and the repository exists").
sw_git_why() {
    sed -e '/^$/d' -e '/^@/d' -e '/^[Ww]arning/d' -e '/^Cloning into/d' "$sw_told" | head -n 1
}
# The commit that a ref stands for now, as git would read it: tags before branches.
sw_git_resolve() {
    sw_refs=$(sw_git ls-remote -- "$1" 2>"$sw_told") || {
        sw_say "mount git+$1: git cannot read the repository: $(sw_git_why)"
        return 1
    }
    printf '%s\n' "$sw_refs" | awk -v ref="$2" '
        $2 == ref { at[1] = $1 }
        $2 == "refs/tags/" ref { at[3] = $1 }
        $2 == "refs/tags/" ref "^{}" { at[2] = $1 }
        $2 == "refs/heads/" ref { at[4] = $1 }
        END { for (i = 1; i <= 4; i++) if (at[i]) { print at[i]; exit } }'
}
sw_git_there() {
    [ -d "$sw_clone/.git" ]
}
# The commit alone when the server hands it out, else its ref, else everything.
sw_git_fetch() {
    sw_git fetch -q --depth 1 "$sw_url" "$sw_commit" 2>/dev/null && return 0
    [ "$sw_ref" != "$sw_commit" ] && sw_git fetch -q --depth 1 "$sw_url" "$sw_ref" 2>/dev/null &&
        sw_git cat-file -e "$sw_commit^{commit}" 2>/dev/null && return 0
    sw_git fetch -q --tags "$sw_url" '+refs/heads/*:refs/remotes/origin/*'
}
sw_git_make() (
    rm -rf "$sw_clone".part.*           # of owners who died: we have the turn now
    part=$(mktemp -d "$sw_clone.part.XXXXXX") || exit 1
    trap 'rm -rf "$part"' EXIT
    trap 'exit 143' TERM INT HUP
    chmod 755 "$part"
    sw_git init -q "$part" && cd "$part" && sw_git remote add origin "$sw_url" && sw_git_fetch &&
        sw_git checkout -q --detach "$sw_commit" || exit 1
    [ ! -e .gitmodules ] || sw_git submodule update -q --init --recursive || exit 1
    [ "$(sw_git rev-parse HEAD)" = "$sw_commit" ] || { echo "it has no commit $sw_commit"; exit 1; }
    cd / && mv -T "$part" "$sw_clone"
)
# A copy that only this job has, kept for its later attempts: no other job sees what it writes.
sw_git_own() {
    [ ! -d "$2" ] || return 0
    mkdir -p "${2%/*}" && rm -rf "$2.part" && cp -a "$1" "$2.part" && mv -T "$2.part" "$2"
}
# sw_mount_git URL REF COMMIT NAME TARGET FLAGS OWN; COMMIT is empty when the ref has to be resolved, OWN
# unless the job writes there: then it is the folder of its own copy.
sw_mount_git() {
    sw_url=$1 sw_ref=$2 sw_commit=$3
    command -v git > /dev/null || { sw_say "mount git+$1: git is not installed here"; exit 69; }
    sw_told=$(mktemp) && mkdir -p "$SW_GIT_CACHE" || exit 73
    [ -n "$sw_commit" ] || sw_commit=$(sw_git_resolve "$1" "$2") || { rm -f "$sw_told"; exit 66; }
    rm -f "$sw_told"
    if [ -z "$sw_commit" ]; then
        sw_say "mount git+$1: there is no branch or tag '$2' (a commit has to be written whole)"
        exit 66
    fi
    sw_clone=$SW_GIT_CACHE/$4-$sw_commit
    sw_once "$sw_clone.lock" "mount git+$1@$2" sw_git_there sw_git_make || exit 66
    if [ -n "$7" ]; then
        sw_git_own "$sw_clone" "$7" || { sw_say "mount git+$1: no copy can be made in $7"; exit 73; }
        sw_clone=$7
    fi
    sw_mount_unseen "$sw_clone" "$5" "$6"
    echo "mount $5 $sw_commit $sw_clone"
}
# The list, for the batch script.
sw_mounts_keep() {
    mkdir -p "${SW_MOUNTS_FILE%/*}" && printf '%s\n' "$SW_MOUNTS" > "$SW_MOUNTS_FILE.new.$$" &&
        mv -f "$SW_MOUNTS_FILE.new.$$" "$SW_MOUNTS_FILE" || exit 73
}
sw_mount /lustre/coco /data ro
sw_mount_git https://git.example.org/team/code.git v1.2 '' code-384fe8b7 /opt/code ro ''
sw_mount_git ssh://git@git.example.org/team/lib 0123456789012345678901234567890123456789 0123456789012345678901234567890123456789 lib-0798d8ab /opt/lib rw ''
sw_mounts_keep
