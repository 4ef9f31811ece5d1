# SPDX-License-Identifier: Apache-2.0
#
# slurm_evidence.sh - the ends of the logs of jobs. Behind it: `tails INDEX LOGS STATE FILE SLURM REPORT MAIN` for each.
#
# Before it: most (bytes of a log), log_only (1: nothing but the log). Records, with sed before each line, so that whatever a log
# holds cannot pass for another job's:
#     line INDEX TEXT        the log of the failed rank or task; for evidence also MAIN, what Slurm itself said, and the report
#     gone INDEX             the folder of its logs is gone
# shellcheck disable=SC2154

tails() {
    [ -n "$log_only" ] || [ -d "$2" ] || printf 'gone\t%s\n' "$1"
    {
        tail -c "$most" "$2/$4" 2>/dev/null
        [ -n "$log_only" ] || {
            [ -z "$7" ] || tail -c 2048 "$2/$7" 2>/dev/null
            tail -c 2048 "$2/$5" 2>/dev/null
            [ ! -s "$3/$6" ] || { printf '\n%s' "$report_start"; tr -d '\n' <"$3/$6"; echo; }
        }
        echo
    } | sed "s/^/line	$1	/"
}
