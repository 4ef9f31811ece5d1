/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_end.c - stop a job, and remove what we made for it.
 *
 * A cancel first leaves a mark in the attempt's folder: a submit that is still on its way finds it
 * and sends nothing, a job that starts later ends itself, and no retry follows. What waits is then
 * taken out of the queue. What runs a step is told so by a signal to its batch script alone, which lets
 * the command have its grace: Slurm's own cancel signals every process at once and kills after KillWait,
 * whatever the job was promised. That is for a job that does not end in time. Slurm is asked until
 * nothing of the job is queued, running or being cleaned up; and whatever number we remember, only
 * a job with our name or comment is touched.
 */
#include "platform/slurm/slurm_internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/stop.h"

/* late: srun and the script end */
enum { CANCEL_PATIENCE_MS = 180000, LATE_MS = 15000, ANSWER_MS = 30000 };

/* Answers "over" when nothing of it is left, "never" when it waited and got no node, "wait" otherwise. One
 * that waited is gone at once. $how: soft, wait, hard. scancel that fails without a word found nothing in
 * that state. */
static const char cancel_text[] =
    "[ -d \"$state\" ] || mkdir -p \"$state\" || exit 1\n"
    "[ \"$how\" != soft ] || [ -f \"$state/exit\" ] || : >\"$state/canceled\"\n"
    "[ ! -s \"$state/job\" ] || { read -r known <\"$state/job\"; ! whole \"$known\" || number=$known; }\n"
    "if [ \"$number\" = 0 ]; then set -- -u \"$(id -un)\" -n \"$name\"; else set -- -j \"$number\"; fi\n"
    "ours() {\n"
    "    case $mark in \"$comment\" | \"$comment \"*) return 0 ;; esac\n"
    "    [ \"$number\" != 0 ] && [ \"$called\" = \"$name\" ]\n"
    "}\n"
    "ask() {\n"
    "    rows=$(squeue -h -t all \"$@\" -o '%F|%T|%N|%j|%k' 2>&1) || case $rows in\n"
    "    *'Invalid job id'*) rows= ;; *) printf '%s\\n' \"$rows\" >&2; exit 75 ;; esac\n"
    "    left= waits= runs= other= seen= never=never\n"
    "    while IFS='|' read -r id word where called mark; do\n"
    "        ours || continue\n"
    "        seen=1\n"
    "        [ \"$word$where\" = CANCELLED ] || never=\n"
    "        case $word in\n"
    "        '' | " SLURM_OVER ") continue ;;\n"
    "        PENDING) waits=1 ;;\n"
    "        RUNNING) runs=1 ;;\n"
    "        COMPLETING) ;;\n"
    "        *) other=1 ;;\n"
    "        esac\n"
    "        left=$id doing=$doing$word\n"
    "    done <<ROWS\n$rows\nROWS\n"
    "    [ -n \"$seen\" ] || never=\n"
    "}\n"
    "end() {\n"
    "    said=$(scancel \"$@\" \"$left\" 2>&1) || case $said in '' | *'nvalid job id'* | *'already "
    "complet'*) ;;\n"
    "    *) printf '%s\\n' \"$said\" >&2; exit 75 ;; esac\n"
    "}\n"
    "begun() {\n"
    "    case $(squeue -h -s -j \"$left\" -o %i 2>/dev/null) in *.[0-9]*) return 0 ;; esac\n"
    "    return 1\n"
    "}\n"
    "doing=\n"
    "ask \"$@\"\n"
    "[ -z \"$waits\" ] || end --state=PENDING\n"
    "case $how in\n"
    "soft)\n"
    "    [ -z \"$runs\" ] || begun || other=1\n"
    "    if [ -n \"$other\" ]; then end; elif [ -n \"$runs\" ]; then end --batch --signal=USR2 "
    "--state=RUNNING; fi ;;\n"
    "hard) [ -z \"$left\" ] || end ;;\n"
    "esac\n"
    "for pause in 0.05 0.1 0.2 0.3 0.5 0.5; do\n"
    "    [ -n \"$left\" ] || break\n"
    "    [ \"$pause$doing\" = 0.05PENDING ] || sleep $pause\n"
    "    ask \"$@\"\n"
    "done\n"
    "[ -z \"$left\" ] || { echo wait; exit 0; }\n"
    "[ ! -e \"$secrets\" ] || rm -f \"$secrets\"\n"
    "[ \"$doing\" = PENDING ] && [ ! -e \"$state/attempts\" ] || never=\n"
    "echo \"${never:-over}\"\n";

enum { WAITS = 2 };

/* A login host that hangs must not hold up who wants the job stopped: the answer is "not yet", in time. */
static int ask_briefly(struct sw_link *link, const char *script, struct sw_ssh_reply *reply,
                       struct sw_error *err)
{
    const struct sw_ssh_call call = { .script = script, .repeatable = true, .timeout_ms = ANSWER_MS };

    return slurm_ask_as(link, &call, reply, err);
}

/* 0: over; 1: and never began; WAITS: not yet. */
static int ask_once(struct sw_link *link, const struct sw_jobref *job,
                    const struct slurm_names *names, const char *how, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    sw_buf_add(&script, SLURM_ENVIRONMENT SLURM_WHOLE);
    slurm_set(&script, "state", names->state);
    slurm_set(&script, "secrets", names->secrets);
    slurm_set(&script, "name", names->job_name);
    slurm_set(&script, "comment", names->comment);
    slurm_set(&script, "number", sw_text_empty(job->remote_id) ? "0" : job->remote_id);
    slurm_set(&script, "how", how);
    sw_buf_add(&script, cancel_text);
    if (ask_briefly(link, script.data, &reply, err) < 0)
        return -1;
    if (reply.exit_code != 0)
        return sw_fail(err, SW_E_REFUSED, "the job cannot be canceled: %.500s",
                       sw_buf_text(&reply.errors));
    if (sw_text_starts(sw_buf_text(&reply.output), "never"))
        return !slurm_is_array(job);              /* tasks that ran may be forgotten */
    return sw_text_starts(sw_buf_text(&reply.output), "over") ? 0 : WAITS;
}

int slurm_cancel(struct sw_link *link, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    int64_t hard_at = sw_monotonic_ms() + LATE_MS +
                      sw_stop_budget_ms(sw_json_int(job->plan, "grace_ms", 10000));
    int64_t deadline = hard_at + CANCEL_PATIENCE_MS;
    const char *how = "soft";
    bool hard = false;
    int result = WAITS;

    if (slurm_names_of(link, job, &names, err) < 0)
        return -1;
    while (result == WAITS) {
        if (sw_monotonic_ms() > deadline) {
            sw_fail(err, SW_E_TIMEOUT, "Slurm was asked to cancel job %s and has not done it yet",
                    job->remote_id ? job->remote_id : job->id);
            return sw_hint(err, "a node may not answer; `squeue -j %s` shows it",
                           job->remote_id ? job->remote_id : "ID");
        }
        result = ask_once(link, job, &names, how, err);
        how = !hard && sw_monotonic_ms() > hard_at ? "hard" : "wait";
        hard |= !strcmp(how, "hard");
    }
    return result;
}

static void add_quoted(struct sw_buf *out, const char *path)
{
    sw_buf_add_char(out, ' ');
    sw_buf_add_quoted(out, path);
}

int slurm_cleanup(struct sw_link *link, const struct sw_jobref *job, bool keep_results,
                  struct sw_error *err)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    if (slurm_names_of(link, job, &names, err) < 0)
        return -1;
    /* Attempts are numbers behind the last dot; links carry Slurm's number behind a dash. */
    sw_buf_addf(&script, "cd ");
    sw_buf_add_quoted(&script, names.base);
    sw_buf_addf(&script, " || exit 0\nrm -rf meta/%s.[0-9]* slurm-logs/", job->id);
    sw_buf_add_quoted(&script, names.job_name);
    sw_buf_add(&script, ".[0-9]* slurm-logs/");
    sw_buf_add_quoted(&script, names.job_name);
    sw_buf_add(&script, "-[0-9]*");
    add_quoted(&script, names.specs);
    add_quoted(&script, names.env);
    add_quoted(&script, names.secrets);
    add_quoted(&script, names.entrypoint);
    add_quoted(&script, names.letter);
    add_quoted(&script, names.code);
    add_quoted(&script, names.rules);
    add_quoted(&script, names.sbatch);
    add_quoted(&script, names.meta);
    add_quoted(&script, names.work);
    add_quoted(&script, names.mounts);
    if (!keep_results)
        add_quoted(&script, names.results);
    sw_buf_add_char(&script, '\n');
    if (slurm_ask(link, script.data, NULL, 0, true, &reply, err) < 0)
        return -1;
    if (reply.exit_code != 0)
        return sw_fail(err, SW_E_IO, "not everything could be removed: %.500s",
                       sw_buf_text(&reply.errors));
    return 0;
}
