/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_cancel.c - stop jobs: one script for all of them, with one scancel of each kind.
 *
 * A cancel first leaves a mark in the attempt's folder: a submit that is still on its way finds it
 * and sends nothing, a job that starts later ends itself, and no retry follows. What waits is then
 * taken out of the queue. What runs a step is told so by a signal to its batch script alone, which lets
 * the command have its grace: Slurm's own cancel signals every process at once and kills after KillWait,
 * whatever the job was promised. That is for a job that does not end in time. Slurm is asked until
 * nothing of the jobs is queued, running or being cleaned up; and whatever number we remember, only
 * a job with our name or comment is touched.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/stop.h"

/* late: srun and the script end */
enum {
    CANCEL_PATIENCE_MS = 180000, LATE_MS = 15000,
    ANSWER_MS = 30000, ANSWER_MS_EACH = 300,      /* scancel asks the controller for each of its jobs */
    SCRIPT_JOBS = 256,
};

/* `job HOW NUMBER NAME COMMENT STATE SECRETS` for each of them; HOW: soft, wait, hard. What is known of job i
 * is in variables that end in _i. A folder that cannot be made refuses its own job only. */
static const char jobs_text[] =
    "count=0 open= numbers= names= unnumbered=\n"
    "refuse() { printf 'F %s %s\\n' \"$1\" \"$(printf '%s' \"$2\" | tr '\\n' ' ')\"; }\n"
    "job() {\n"
    "    i=$count count=$((count + 1)) number=$2\n"
    "    [ -d \"$5\" ] || said=$(mkdir -p \"$5\" 2>&1) || { refuse \"$i\" \"$said\"; return; }\n"
    "    [ \"$1\" != soft ] || [ -f \"$5/exit\" ] || said=$( (: >\"$5/canceled\") 2>&1) || {\n"
    "        refuse \"$i\" \"$said\"; return; }\n"
    "    [ ! -s \"$5/job\" ] || { read -r known <\"$5/job\"; ! whole \"$known\" || number=$known; }\n"
    "    whole \"$number\" || number=0\n"
    "    open=\"$open $i\"\n"
    "    eval \"how_$i=\\$1 number_$i=$number name_$i=\\$3 comment_$i=\\$4 state_$i=\\$5 secrets_$i=\\$6 "
    "doing_$i=\"\n"
    "    if [ \"$number\" = 0 ]; then names=$names,$3 unnumbered=\"$unnumbered $i\"\n"
    "    else numbers=$numbers,$number; eval \"job_$number=$i\"; fi\n"
    "}\n";

/* One squeue for all. A row is a job's only when it carries the job's comment, or its number and name. */
static const char ask_text[] =
    "list() {\n"
    "    said=$(squeue -h -t all \"$@\" -o '%F|%T|%N|%j|%k' 2>&1) || case $said in\n"
    "    *'Invalid job id'*) said= ;; *) printf '%s\\n' \"$said\" >&2; exit 75 ;; esac\n"
    "    rows=\"$rows$said\n\"\n"
    "}\n"
    "row() {\n"
    "    eval \"seen_$i=1\"\n"
    "    [ \"$word$where\" = CANCELLED ] || eval \"never_$i=\"\n"
    "    case $word in\n"
    "    '' | " SLURM_OVER ") return ;;\n"
    "    PENDING) eval \"waits_$i=1\" ;;\n"
    "    RUNNING) eval \"runs_$i=1\" ;;\n"
    "    COMPLETING) ;;\n"
    "    *) eval \"other_$i=1\" ;;\n"
    "    esac\n"
    "    eval \"left_$i=\\$id doing_$i=\\$doing_$i\\$word\"\n"
    "    left=1\n"
    "}\n"
    "marked() {\n"
    "    eval \"comment=\\$comment_$i\"\n"
    "    case $mark in \"$comment\" | \"$comment \"*) return 0 ;; esac\n"
    "    return 1\n"
    "}\n"
    "ask() {\n"
    "    rows= left=\n"
    "    for i in $open; do eval \"left_$i= waits_$i= runs_$i= other_$i= seen_$i= never_$i=never\"; done\n"
    "    [ -z \"$numbers\" ] || list -j \"${numbers#,}\"\n"
    "    [ -z \"$unnumbered\" ] || list -u \"$(id -un)\" -n \"${names#,}\"\n"
    "    while IFS='|' read -r id word where called mark; do\n"
    "        whole \"$id\" || continue\n"
    "        eval \"i=\\${job_$id-}\"\n"
    "        if [ -n \"$i\" ]; then\n"
    "            eval \"name=\\$name_$i\"\n"
    "            if marked || [ \"$called\" = \"$name\" ]; then row; fi\n"
    "            continue\n"
    "        fi\n"
    "        for i in $unnumbered; do ! marked || row; done\n"
    "    done <<ROWS\n$rows\nROWS\n"
    "}\n";

/* scancel that fails without a word found nothing in that state. */
static const char end_text[] =
    "end() {\n"
    "    said=$(scancel \"$@\" 2>&1) || printf '%s\\n' \"$said\" |\n"
    "        sed -e '/^$/d' -e '/nvalid job id/d' -e '/already complet/d' -e 's/^/E /'\n"
    "}\n"
    "ask\n"
    "pending= running= softly= all= first=0.05\n"
    "for i in $open; do\n"
    "    eval \"how=\\$how_$i id=\\$left_$i waits=\\$waits_$i runs=\\$runs_$i other=\\$other_$i "
    "doing=\\$doing_$i\"\n"
    "    [ -z \"$id\" ] || [ \"$doing\" = PENDING ] || first=\n"
    "    [ -z \"$waits\" ] || pending=\"$pending $id\"\n"
    "    case $how in\n"
    "    soft) if [ -n \"$other\" ]; then all=\"$all $id\"; elif [ -n \"$runs\" ]; then "
    "running=\"$running $id\"; fi ;;\n"
    "    hard) [ -z \"$id\" ] || all=\"$all $id\" ;;\n"
    "    esac\n"
    "done\n"
    "if [ -n \"$running\" ]; then\n"
    "    steps=$(squeue -h -s -j \"$(printf '%s' \"${running# }\" | tr ' ' ',')\" -o %i 2>/dev/null)\n"
    "    for step in $steps; do\n"
    "        case $step in [0-9]*.[0-9]*) eval \"begun_${step%%[!0-9]*}=1\" ;; esac\n"
    "    done\n"
    "    for id in $running; do\n"
    "        eval \"begun=\\${begun_$id-}\"\n"
    "        if [ -n \"$begun\" ]; then softly=\"$softly $id\"; else all=\"$all $id\"; fi\n"
    "    done\n"
    "fi\n"
    "[ -z \"$pending\" ] || end --state=PENDING $pending\n"
    "[ -z \"$all\" ] || end $all\n"
    "[ -z \"$softly\" ] || end --batch --signal=USR2 --state=RUNNING $softly\n";

/* Answers for each job i "R i over" when nothing of it is left, "R i never" when it waited and got no node,
 * "R i wait NUMBER" otherwise. One that waited is gone at once. */
static const char confirm_text[] =
    "for pause in $pauses; do\n"
    "    [ -n \"$left\" ] || break\n"
    "    [ \"$pause\" = \"$first\" ] || sleep $pause\n"
    "    ask\n"
    "done\n"
    "for i in $open; do\n"
    "    eval \"left=\\$left_$i doing=\\$doing_$i never=\\$never_$i seen=\\$seen_$i number=\\$number_$i "
    "state=\\$state_$i secrets=\\$secrets_$i\"\n"
    "    [ -z \"$left\" ] || { echo \"R $i wait $left\"; continue; }\n"
    "    [ ! -e \"$secrets\" ] || rm -f \"$secrets\"\n"
    "    [ -n \"$seen\" ] && [ \"$doing\" = PENDING ] && [ ! -e \"$state/attempts\" ] || never=\n"
    "    echo \"R $i ${never:-over} $number\"\n"
    "done\n";

struct stopping {
    struct slurm_names names;
    int64_t hard_at, deadline;
    const char *how;
    bool hard, waits;
    long long number;              /* Slurm's, of the last answer; 0: not known */
};

static void add_job(struct sw_buf *script, const struct sw_jobref *job, const struct stopping *stopping)
{
    const char *const words[] = {
        stopping->how, sw_text_empty(job->remote_id) ? "0" : job->remote_id, stopping->names.job_name,
        stopping->names.comment, stopping->names.state, stopping->names.secrets,
    };

    sw_buf_add(script, "job");
    for (size_t i = 0; i < SW_COUNT(words); i++) {
        sw_buf_add_char(script, ' ');
        sw_buf_add_quoted(script, words[i]);
    }
    sw_buf_add_char(script, '\n');
}

/* What one job's line says. */
static void read_answer(struct sw_batch_job *one, struct stopping *stopping, const char *word,
                        long long number)
{
    stopping->waits = sw_text_same(word, "wait");
    stopping->number = number;
    if (sw_text_same(word, "never"))
        one->result = !slurm_is_array(one->job);          /* tasks that ran may be forgotten */
}

/* scancel complained: about one job, when it names its number, or else about all that are still there. */
static void read_complaint(struct sw_connection *conn, struct sw_batch_job *jobs, struct stopping *all,
                           const size_t *which, size_t count, const char *text)
{
    const char *named = strstr(text, "job id ");
    long long number = named ? strtoll(named + strlen("job id "), NULL, 10) : 0;
    struct sw_error why = { 0 };

    sw_fail(&why, SW_E_UNREACHABLE, "Slurm does not answer on %s: %.500s", sw_ssh_host(conn->ssh), text);
    for (size_t i = 0; i < count; i++)
        if (all[which[i]].waits && (number == 0 || number == all[which[i]].number)) {
            all[which[i]].waits = false;
            sw_batch_fail(&jobs[which[i]], 1, &why);
        }
}

static void read_answers(struct sw_connection *conn, struct sw_batch_job *jobs, struct stopping *all,
                         const size_t *which, size_t count, const char *output)
{
    sw_autofree char *answers = sw_strdup(output), *complaints = sw_strdup(output);
    char *rest = answers;

    for (char *line; (line = strsep(&rest, "\n"));) {
        size_t i = count;
        char word[8] = "";
        long long number = 0;
        int used = 0;

        if (sscanf(line, "R %zu %7s %lld", &i, word, &number) >= 2 && i < count)
            read_answer(&jobs[which[i]], &all[which[i]], word, number);
        else if (sscanf(line, "F %zu %n", &i, &used) == 1 && i < count) {
            all[which[i]].waits = false;
            jobs[which[i]].result = sw_fail(&jobs[which[i]].err, SW_E_REFUSED,
                                            "the job cannot be canceled: %.500s", line + used);
        }
    }
    rest = complaints;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (sw_text_starts(line, "E "))
            read_complaint(conn, jobs, all, which, count, line + 2);
}

/* One script for these. -1 + err: nothing is known of any of them. A login host that hangs must not hold up
 * who wants jobs stopped: the answer is "not yet", in time. */
static int ask_about(struct sw_connection *conn, struct sw_batch_job *jobs, struct stopping *all,
                     const size_t *which, size_t count, bool last, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_ssh_call call = { .repeatable = true,
                                .timeout_ms = ANSWER_MS + ANSWER_MS_EACH * (int64_t)(count - 1) };

    sw_buf_add(&script, SLURM_ENVIRONMENT SLURM_WHOLE);
    sw_buf_addf(&script, "pauses='%s'\n", last ? "0.05 0.1 0.2 0.3 0.5 0.5" : "");
    sw_buf_add(&script, jobs_text);
    for (size_t i = 0; i < count; i++)
        add_job(&script, jobs[which[i]].job, &all[which[i]]);
    sw_buf_add(&script, ask_text);
    sw_buf_add(&script, end_text);
    sw_buf_add(&script, confirm_text);
    call.script = script.data;
    if (slurm_ask_as(conn, &call, &reply, err) < 0)
        return -1;
    if (reply.exit_code != 0)
        return sw_fail(err, SW_E_REFUSED, "the job cannot be canceled: %.500s",
                       sw_buf_text(&reply.errors));
    read_answers(conn, jobs, all, which, count, sw_buf_text(&reply.output));
    return 0;
}

static void begin(struct sw_connection *conn, struct sw_batch_job *one, struct stopping *stopping)
{
    int64_t grace_ms = sw_json_int(one->job->plan, "grace_ms", 10000);

    stopping->hard_at = sw_monotonic_ms() + LATE_MS + sw_stop_budget_ms(grace_ms);
    stopping->deadline = stopping->hard_at + CANCEL_PATIENCE_MS;
    stopping->how = "soft";
    stopping->waits = slurm_names_of(conn, one->job, &stopping->names, &one->err) == 0;
    if (!stopping->waits)
        one->result = -1;
}

/* What is asked for next, where it still waits. */
static void go_on(struct sw_batch_job *one, struct stopping *stopping)
{
    const char *remote_id = one->job->remote_id;
    int64_t now_ms = sw_monotonic_ms();

    stopping->how = !stopping->hard && now_ms > stopping->hard_at ? "hard" : "wait";
    stopping->hard |= !strcmp(stopping->how, "hard");
    if (!stopping->waits || now_ms <= stopping->deadline)
        return;
    stopping->waits = false;
    one->result = sw_fail(&one->err, SW_E_TIMEOUT, "Slurm was asked to cancel job %s and has not done it "
                          "yet", remote_id ? remote_id : one->job->id);
    sw_hint(&one->err, "a node may not answer; `squeue -j %s` shows it", remote_id ? remote_id : "ID");
}

/* The next that wait, from *at on: how many. */
static size_t gather(const struct stopping *all, size_t count, size_t *at, size_t which[SCRIPT_JOBS])
{
    size_t found = 0;

    for (; *at < count && found < SCRIPT_JOBS; ++*at)
        if (all[*at].waits)
            which[found++] = *at;
    return found;
}

/* One round over all that wait. false: none is left. */
static bool ask_all(struct sw_connection *conn, struct sw_batch_job *jobs, struct stopping *all, size_t count)
{
    size_t which[SCRIPT_JOBS], found, at = 0;
    bool any = false;

    while ((found = gather(all, count, &at, which)) > 0) {
        struct sw_error why = { 0 };

        any = true;
        if (ask_about(conn, jobs, all, which, found, at == count, &why) == 0)
            continue;
        for (size_t i = 0; i < count; i++)           /* the others would wait for the same silence */
            if (all[i].waits) {
                all[i].waits = false;
                sw_batch_fail(&jobs[i], 1, &why);
            }
    }
    return any;
}

void slurm_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, int64_t deadline_ms)
{
    (void)deadline_ms;
    sw_autofree struct stopping *all = sw_alloc((count ? count : 1) * sizeof *all);

    for (size_t i = 0; i < count; i++)
        begin(conn, &jobs[i], &all[i]);
    while (ask_all(conn, jobs, all, count))
        for (size_t i = 0; i < count; i++)
            go_on(&jobs[i], &all[i]);
    for (size_t i = 0; i < count; i++)
        slurm_names_done(&all[i].names);
}
