/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_depend.c - waiting for a job of ours: `dependency: afterok:ID`, our id for Slurm's number.
 *
 * A job that tries again on another node gets another number, so the number is read from the job's
 * records when the waiting one is submitted; a successor that is sent later re-points whoever waits
 * (slurm_retry.sh). Slurm takes a job that it has forgotten for one that went well: what our records
 * know better is refused here.
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

/* Behind a colon stands a job, and Slurm's are numbers. */
bool slurm_waits_for_ours(const json_t *options)
{
    const char *at = sw_json_str(options, "dependency");

    while (at && (at = strchr(at, ':')))
        if (isalpha((unsigned char)*++at))
            return true;
    return false;
}

char *slurm_waits_for(const char *dependency)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const char *at = dependency ? dependency : "";

    while (*at) {
        size_t length = strcspn(at, ":,?+");
        bool named = at > dependency && at[-1] == ':' && length > 0;

        if (named)
            sw_buf_addf(&out, "%s%s%.*s", out.length ? ", " : "",
                        isdigit((unsigned char)*at) ? "Slurm job " : "", (int)length, at);
        at += length + (at[length] != '\0');
    }
    return out.length ? sw_buf_steal(&out) : NULL;
}

/* Sets `after` from `waits`. */
static const char depend_text[] =
    SLURM_NEWEST
    "number_of() {\n"
    "    newest \"$base/meta/$1\"\n"
    "    [ \"$newest\" -gt 0 ] || fail \"depend|there is no job '$1' in $base\"\n"
    "    past=$base/meta/$1.$newest ended=\n"
    "    read -r number <\"$past/job\"\n"
    "    whole \"$number\" || fail \"depend|'$1' has no number\"\n"
    "    rows=$(squeue -h -t all -j \"$number\" -o '%j|%k' 2>/dev/null)\n"
    "    case $rows in\n"
    "    '' | \"$prefix$1|\"* | *\"|slipway:$1:\"*) ;;\n"
    "    *) fail \"depend|Slurm's number of '$1', $number, is another job's now\" ;;\n"
    "    esac\n"
    "    [ ! -f \"$past/exit\" ] || read -r ended <\"$past/exit\"\n"
    "    [ ! -e \"$past/canceled\" ] || ended=canceled\n"
    "    case $kind$ended in\n"
    "    afterany* | after) ;;\n"
    "    afternotok*'\"exit_code\":0,'*) fail \"depend|'$1' has not failed\" ;;\n"
    "    afterok*'\"exit_code\":0,'* | afterok | aftercorr* | afternotok*) ;;\n"
    "    afterok*) fail \"depend|'$1' has not ended well\" ;;\n"
    "    esac\n"
    "}\n"
    "after= kind= mark=\n"
    "while [ -n \"$waits\" ]; do\n"
    "    word=${waits%%[:,?+]*}\n"
    "    waits=${waits#\"$word\"}\n"
    "    case $mark$word in\n"
    "    :[A-Za-z]*) number_of \"$word\"; word=$number ;;\n"
    "    :* | +*) ;;\n"
    "    *) kind=$word ;;\n"
    "    esac\n"
    "    mark=${waits%\"${waits#?}\"} waits=${waits#?}\n"
    "    after=$after$word$mark\n"
    "done\n";

void slurm_depend_script(struct sw_buf *out, const json_t *options)
{
    if (!slurm_waits_for_ours(options)) {
        sw_buf_add(out, "after=\n");
        return;
    }
    slurm_set(out, "waits", sw_json_str(options, "dependency"));
    sw_buf_add(out, depend_text);
}
