# SPDX-License-Identifier: Apache-2.0
#
# slurm_credentials.sh - enroot's .credentials on the cluster: check it, and put one line in.
#
# Pyxis does not see the job's environment; what a private registry wants is in a netrc file of
# the user. A password comes by standard input and leaves by the shell's own printf: no process has it
# among its arguments.

sw_credentials_file() {
    echo "${ENROOT_CONFIG_PATH:-${XDG_CONFIG_HOME:-$HOME/.config}/enroot}/.credentials"
}

# sw_credential_check MACHINE: the record "credential WORD MACHINE FILE": ok, missing, or open to others.
sw_credential_check() {
    sw_file=$(sw_credentials_file)
    if ! awk -v m="$1" '$1 == "machine" && $2 == m && $3 == "login" { found = 1 }
                        END { exit !found }' "$sw_file" 2>/dev/null; then
        printf 'credential\tmissing\t%s\t%s\n' "$1" "$sw_file"
    elif [ -n "$(find -L "$sw_file" -perm /077)" ]; then
        printf 'credential\topen\t%s\t%s\n' "$1" "$sw_file"
    else
        printf 'credential\tok\t%s\t%s\n' "$1" "$sw_file"
    fi
}

# One at a time: each writer starts from what all others wrote. A lock that is older than any writer takes was left.
sw_credentials_lock() {
    tries=0
    until mkdir "$1" 2>/dev/null; do
        [ "$((tries += 1))" -lt 100 ] || { rmdir "$1" 2>/dev/null; tries=0; }
        sleep 0.1
    done
}

# sw_credential_install LOGIN MACHINE...: the password is the next line of standard input.
sw_credential_install() (
    umask 077
    login=$1
    shift
    file=$(readlink -m "$(sw_credentials_file)")
    IFS= read -r password || { sw_say 'no password came'; exit 1; }
    case $password in
    '' | *[[:space:]]*) sw_say 'a password without blanks is needed'; exit 1 ;;
    \$*) sw_say "enroot would run a password that begins with \$ as a command"; exit 1 ;;
    esac
    mkdir -p "${file%/*}" && new=$(mktemp "${file%/*}/.credentials.XXXXXX") || exit 1
    trap 'rm -f "$new"' EXIT
    sw_credentials_lock "$file.lock"
    trap 'rm -f "$new"; rmdir "$file.lock"' EXIT
    [ ! -e "$file" ] || cat "$file" > "$new" || exit 1
    for machine; do
        kept=$(awk -v m="$machine" -v l="$login" \
            '!($1 == "machine" && $2 == m && $3 == "login" && $4 == l)' "$new") || exit 1
        {
            [ -z "$kept" ] || printf '%s\n' "$kept"
            printf 'machine %s login %s password %s\n' "$machine" "$login" "$password"
        } > "$new"
    done
    chmod 600 "$new" && mv -f "$new" "$file"
)
