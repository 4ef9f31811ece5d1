# SPDX-License-Identifier: Apache-2.0
#
# slurm_common.sh - the beginning of every script for a login host.
#
# An answer is lines "KIND<TAB>FIELD<TAB>FIELD...", read by slurm_record_next(). The last field may hold any text but a
# newline. A script that ends with 75 says that Slurm did not answer; what it says then is on standard error.
# shellcheck disable=SC2034

umask 077
export LC_ALL=C TZ=UTC SLURM_TIME_FORMAT=%s

# whole WORD: is it digits and nothing else? Shells evaluate words in arithmetic, so only such a word gets there.
whole() { case $1 in '' | *[!0-9]*) return 1 ;; esac; }
# flat TEXT: as one field.
flat() { printf '%s' "$1" | tr '\n\t' '  '; }
# newest PREFIX: sets newest to the last PREFIX.N that has a job; 0: none.
newest() {
    newest=0
    for folder in "$1".[0-9]*; do
        ! whole "${folder##*.}" || [ ! -s "$folder/job" ] || [ "${folder##*.}" -le "$newest" ] || newest=${folder##*.}
    done
}
