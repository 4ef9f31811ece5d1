/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_render.c - plan in, batch script out: no ssh, no clock, no environment.
 *
 * The directives are written from one table. Behind them come the values of this job, each quoted,
 * and then a text that is the same for every job: it claims the attempt (a second job of the same
 * attempt ends itself), finds the first node, starts one task per node, ends it before Slurm would,
 * and leaves a last word that says how it went, since accounting may be switched off and knows
 * neither the rank that failed first nor why.
 */
#include "platform/slurm/slurm_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "core/job_env.h"

/* ---- directives -------------------------------------------------------------------------------- */

enum kind { PLAIN, LIST };

/* Options that become one directive each, in this order; what is not said has no line. */
static const struct directive {
    const char *option, *flag;
    enum kind kind;
} directives[] = {
    { "account", "account", PLAIN },       { "partition", "partition", LIST },
    { "qos", "qos", PLAIN },               { "reservation", "reservation", PLAIN },
    { "constraint", "constraint", PLAIN }, { "nodelist", "nodelist", LIST },
    { "dependency", "dependency", PLAIN }, { "array", "array", PLAIN },
    { "begin", "begin", PLAIN },           { "licenses", "licenses", PLAIN },
};

/* A line of #SBATCH ends a value at a blank or '#', and nothing can be escaped in it. */
static int check_value(const char *option, const char *value, struct sw_error *err)
{
    for (const char *at = value; *at; at++)
        if (isspace((unsigned char)*at) || strchr("#\"'\\`$", *at) || iscntrl((unsigned char)*at))
            return sw_fail(err, SW_E_SPEC, "slurm.%s '%s' holds a character that a batch script "
                           "cannot carry: '%c'", option, value, *at);
    return 0;
}

static int add_directive(struct sw_buf *out, const char *option, const char *flag,
                         const char *value, struct sw_error *err)
{
    if (sw_text_empty(value))
        return 0;
    if (check_value(option, value, err) < 0)
        return -1;
    sw_buf_addf(out, "#SBATCH --%s=%s\n", flag, value);
    return 0;
}

static int add_table(struct sw_buf *out, const json_t *options, struct sw_error *err)
{
    for (size_t i = 0; i < SW_COUNT(directives); i++) {
        const struct directive *d = &directives[i];
        sw_autofree char *value = slurm_joined(options, d->option);

        if (d->kind == PLAIN && json_is_array(json_object_get(options, d->option)))
            continue;
        if (!strcmp(d->option, "dependency") && slurm_waits_for_ours(options)) {
            if (check_value(d->option, value, err) < 0)
                return -1;
            sw_buf_addf(out, "# waits for %s: Slurm's number is found when it is submitted\n", value);
            continue;
        }
        if (add_directive(out, d->option, d->flag, value, err) < 0)
            return -1;
    }
    return 0;
}

static int add_gpus(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const json_t *options = job->plan->options;
    const char *said = sw_json_str(options, "gres"), *type = job->plan->gpu_type;
    bool by_gres = !sw_text_same(sw_json_str(options, "gpu_request"), "gpus-per-node");
    sw_autofree char *count = NULL;

    if (said)
        return add_directive(out, "gres", "gres", said, err);
    if (job->shape->gpus <= 0)
        return 0;
    count = sw_format("%s%s%s%d", by_gres ? "gpu:" : "", type ? type : "", type ? ":" : "",
                      job->shape->gpus);
    return add_directive(out, "gpus", by_gres ? "gres" : "gpus-per-node", count, err);
}

static int add_memory(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const char *said = sw_json_str(job->plan->options, "mem");

    if (said)
        return add_directive(out, "mem", "mem", said, err);
    if (job->plan->memory_bytes > 0)
        sw_buf_addf(out, "#SBATCH --mem=%lldM\n",
                    (long long)((job->plan->memory_bytes + (1 << 20) - 1) >> 20));
    else if (json_object_get(job->plan->options, "cosmos"))
        sw_buf_add(out, "#SBATCH --mem=0\n");
    return 0;
}

static int add_size(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const struct slurm_shape *shape = job->shape;
    char limit[32];

    sw_buf_addf(out, "#SBATCH --nodes=%d\n#SBATCH --ntasks-per-node=%d\n", shape->nodes,
                shape->tasks_per_node);
    if (add_gpus(out, job, err) < 0)
        return -1;
    if (shape->nodes > 1)
        sw_buf_addf(out, "#SBATCH --ntasks=%d\n", shape->nodes * shape->tasks_per_node);
    if (shape->cpus > 0)
        sw_buf_addf(out, "#SBATCH --cpus-per-task=%d\n", shape->cpus);
    sw_buf_add(out, "#SBATCH --wait-all-nodes=1\n");
    if (add_memory(out, job, err) < 0)
        return -1;
    if (shape->exclusive)
        sw_buf_add(out, "#SBATCH --exclusive\n");
    slurm_time_text(shape->limit_minutes, limit);
    sw_buf_addf(out, "#SBATCH --time=%s\n", limit);
    return 0;
}

/* Nodes to keep away from: the user's and those that failed before. */
static int add_exclude(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_autofree char *said = slurm_joined(job->plan->options, "exclude");
    sw_auto(json) json_t *avoided =
        sw_json_object(SW_SUB_COPY("avoid", job->plan->avoid ? job->plan->avoid : json_null()));
    sw_autofree char *failed = slurm_joined(avoided, "avoid");
    sw_autofree char *both = sw_format("%s%s%s", said ? said : "", said && failed ? "," : "",
                                       failed ? failed : "");

    return add_directive(out, "exclude", "exclude", both, err);
}

static int add_notes(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const json_t *options = job->plan->options;
    const char *comment = sw_json_str(options, "comment");
    sw_autofree char *types = slurm_joined(options, "mail_type");

    if (comment && strpbrk(comment, "\"\\\n\r"))
        return sw_fail(err, SW_E_SPEC, "slurm.comment holds a quote, backslash or line end");
    sw_buf_addf(out, "#SBATCH --comment=\"%s", job->names->comment);
    if (job->plan->store_id && slurm_word_check("store", job->plan->store_id, err) < 0)
        return -1;
    if (job->plan->store_id)                     /* whose it is: which store, and whose */
        sw_buf_addf(out, " store=%s uid=%ld", job->plan->store_id, job->plan->owner_uid);
    sw_buf_addf(out, "%s%s\"\n", comment ? " " : "", comment ? comment : "");
    if (!sw_json_str(options, "mail_user"))
        return 0;
    return add_directive(out, "mail_type", "mail-type", types, err) < 0 ||
                   add_directive(out, "mail_user", "mail-user", sw_json_str(options, "mail_user"),
                                 err) < 0 ? -1 : 0;
}

static int add_life(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const json_t *options = job->plan->options, *nice = json_object_get(options, "nice");
    const char *task = sw_json_str(options, "array") ? ".%a" : "";
    size_t i;
    json_t *line;

    sw_buf_addf(out, "#SBATCH --output=%s/main%s.out\n#SBATCH --error=%s/main%s.err\n"
                "#SBATCH --open-mode=append\n", job->names->logs, task, job->names->logs, task);
    if (job->shape->ahead_s > 0)
        sw_buf_addf(out, "#SBATCH --signal=B:USR1@%lld\n", (long long)job->shape->ahead_s);
    sw_buf_add(out, sw_json_bool(options, "requeue", true) ? "#SBATCH --requeue\n"
                                                           : "#SBATCH --no-requeue\n");
    if (sw_json_str(options, "dependency"))
        sw_buf_add(out, "#SBATCH --kill-on-invalid-dep=yes\n");
    if (json_is_integer(nice))
        sw_buf_addf(out, "#SBATCH --nice=%lld\n", (long long)json_integer_value(nice));
    json_array_foreach(json_object_get(options, "sbatch_args"), i, line) {
        if (check_value("sbatch_args", json_string_value(line), err) < 0)
            return -1;
        sw_buf_addf(out, "#SBATCH %s\n", json_string_value(line));
    }
    return 0;
}

/* ---- the values of this job -------------------------------------------------------------------- */

/* What is known before the nodes are. */
static void add_environment(struct sw_buf *out, const struct slurm_job *job)
{
    sw_auto(json) json_t *env = json_object();
    const char *name;
    json_t *value;

    sw_job_env_add(&(struct sw_job_env){
        .job_id = job->plan->job_id, .attempt = job->attempt, .nodes = job->shape->nodes,
        .node_rank = -1, .gpus_per_node = job->shape->gpus,
        .world_size_ranks = job->plan->world_size_ranks,
    }, env);
    sw_buf_add(out, "export");
    json_object_foreach(env, name, value) {
        sw_buf_addf(out, " %s=", name);
        sw_buf_add_quoted(out, json_string_value(value));
    }
    sw_buf_add_char(out, '\n');
}

static void add_values(struct sw_buf *out, const struct slurm_job *job)
{
    const struct slurm_names *names = job->names;

    slurm_set(out, "slipway_base", names->base);
    slurm_set(out, "slipway_state", names->state);
    slurm_set(out, "slipway_logs", names->logs);
    slurm_set(out, "slipway_results", names->results);
    slurm_set(out, "slipway_secrets", names->secrets);
    slurm_set(out, "slipway_entrypoint", names->entrypoint);
    slurm_set(out, "slipway_umask", slurm_umask(job->plan->options));
    slurm_set_number(out, "slipway_limit", job->shape->soft_s);
    add_environment(out, job);
}

/* ---- srun -------------------------------------------------------------------------------------- */

/* Slurm (22.05) puts what srun exports into an OCI bundle and nothing that it knows about the task: the
 * rank gets in as a word of the command, which a list of programs can have for each task. */
static const char tasks_text[] =
    "echo \"* /bin/sh $slipway_entrypoint %t\" >\"$slipway_own/tasks\" || exit 74\n";

/* How long the others may go on when a task has ended; a stop leaves each its grace. */
enum { WAIT_S = 60, WAIT_OUTPUTS_S = 3600 };     /* the second when each has outputs to bring */

static int add_srun(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const json_t *options = job->plan->options;
    const char *mpi = sw_json_str(options, "mpi");
    bool bundle = slurm_in_bundle(job->plan);
    sw_autofree char *names = bundle ? slurm_container_names(job) : sw_strdup("ALL");
    size_t i;
    json_t *word;

    if (bundle)
        sw_buf_add(out, tasks_text);
    sw_buf_add(out, "slipway_run() {\n    umask 022                # what makes a container makes folders\n");
    sw_buf_addf(out, "    srun --kill-on-bad-exit=1 --wait=%lld --export=",
                (long long)((slurm_brings(job->plan) ? WAIT_OUTPUTS_S : WAIT_S) +
                            job->shape->time_grace_ms / 1000));
    sw_buf_add_quoted(out, names);
    if (job->shape->cpus > 0)
        sw_buf_addf(out, " --cpus-per-task=%d", job->shape->cpus);
    if (job->plan->launcher == SW_LAUNCHER_MPI) {
        if (slurm_word_check("mpi", mpi ? mpi : "pmix", err) < 0)
            return -1;
        sw_buf_addf(out, " --mpi=%s", mpi ? mpi : "pmix");
    }
    if (slurm_container_step(out, job, err) < 0)
        return -1;
    json_array_foreach(json_object_get(options, "srun_args"), i, word) {
        sw_buf_add_char(out, ' ');
        sw_buf_add_quoted(out, json_string_value(word));
    }
    sw_buf_add(out, bundle ? " \\\n        --multi-prog \"$slipway_own/tasks\"\n}\n"
                           : " \\\n        /bin/sh \"$slipway_entrypoint\"\n}\n");
    return 0;
}

/* ---- what is the same for every job ------------------------------------------------------------- */

static const char claim_text[] =
    "\n# Slurm's own words go to main.err; ours and the first task's to main.out.\n"
    "exec 2>&1\n"
    "umask \"$slipway_umask\"\n"
    "slipway_task=${SLURM_ARRAY_TASK_ID-}\n"
    "slipway_number=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}\n"
    "slipway_own=$slipway_state${slipway_task:+/task-$slipway_task}\n"
    "slipway_results=$slipway_results${slipway_task:+/task-$slipway_task}\n"
    "export slipway_own slipway_logs slipway_task\n"
    "mkdir -p \"$slipway_own\" \"$slipway_results\" || exit 74\n"
    "\n# Two jobs of one attempt: the first that starts owns it.\n"
    "ln -s \"$SLURM_JOB_ID\" \"$slipway_own/claim\" 2>/dev/null\n"
    "slipway_owner=$(readlink \"$slipway_own/claim\")\n"
    "if [ \"$slipway_owner\" != \"$SLURM_JOB_ID\" ]; then\n"
    "    echo \"slipway: Slurm job $slipway_owner has this attempt; this one ends\"\n"
    "    scancel \"$SLURM_JOB_ID\"\n"
    "    exit 0\n"
    "fi\n"
    "[ ! -e \"$slipway_state/canceled\" ] || { scancel \"$SLURM_JOB_ID\"; exit 0; }\n"
    "[ -s \"$slipway_state/job\" ] || echo \"$slipway_number\" >\"$slipway_state/job\"\n"
    "ln -sfn \"${slipway_logs##*/}\" "
    "\"$slipway_base/slurm-logs/$SLURM_JOB_NAME-$slipway_number\"\n"
    "rm -f \"$slipway_own\"/exit \"$slipway_own\"/first \"$slipway_own\"/stop \"$slipway_own\"/rank-*\n"
    "slipway_started=$(date +%s)\n"
    "echo \"${SLURM_RESTART_COUNT:-0} $SLURM_JOB_ID $slipway_started $SLURM_JOB_NODELIST\" "
    ">>\"$slipway_own/runs\"\n"
    "[ \"${SLURM_RESTART_COUNT:-0}\" = 0 ] || "
    "echo \"slipway: run $((SLURM_RESTART_COUNT + 1)) on $SLURM_JOB_NODELIST\"\n"
    "\nslipway_nodes=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\")\n"
    "MASTER_ADDR=${slipway_nodes%%$'\\n'*}\n"
    "slipway_hosts=${slipway_nodes//$'\\n'/,}\n"
    "WORKER_ADDRS=${slipway_hosts#\"$MASTER_ADDR\"}\n"
    "WORKER_ADDRS=${WORKER_ADDRS#,}\n"
    "export MASTER_ADDR WORKER_ADDRS slipway_hosts\n";

/* In case of no accounting, and for what accounting does not know. */
static const char last_word_text[] =
    "\nslipway_last_word() {\n"
    "    printf '{\"exit_code\":%d,\"signal\":%d,\"reason\":\"%s\",\"failed_replica\":%d,"
    "\"message\":%s,\"started\":%d,\"ended\":%d,\"runs\":%d,\"nodes\":\"%s\"}\\n' \\\n"
    "        \"$slipway_code\" \"$slipway_signal\" \"$slipway_reason\" \"$slipway_failed\" "
    "\"$slipway_message\" \\\n"
    "        \"$slipway_started\" \"$(date +%s)\" $((SLIPWAY_ATTEMPT - SW_FIRST + 1)) "
    "\"$SLURM_JOB_NODELIST\" >\"$slipway_own/exit.new\" &&\n"
    "        mv \"$slipway_own/exit.new\" \"$slipway_own/exit\"\n"
    "    [ -n \"$slipway_task\" ] || rm -f \"$slipway_secrets\"\n"
    "}\n"
    "slipway_signal=0 slipway_failed=-1\n"
    "slipway_give_up() {\n"
    "    slipway_code=$1 slipway_reason=$2 slipway_message=$3\n"
    "    [ \"$1\" = 75 ] || ! sw_retry \"$1\" \"$2\" '' || exit \"$1\"\n"
    "    slipway_last_word\n"
    "    exit \"$1\"\n"
    "}\n";

/* The next run of a job that failed keeps its claim and its records. */
static const char handed_text[] =
    "sw_handed() {\n"
    "    ln -s \"$1\" \"$slipway_own/claim.new\" && mv -T \"$slipway_own/claim.new\" "
    "\"$slipway_own/claim\"\n"
    "    echo \"$1\" >\"$slipway_state/job.new\" && mv \"$slipway_state/job.new\" "
    "\"$slipway_state/job\"\n"
    "}\n"
    "sw_begin\n"
    "\n# Where its part of each log begins.\n"
    "[ \"$SLIPWAY_ATTEMPT\" = \"$SW_FIRST\" ] || find \"$slipway_logs\" -name '*.out' "
    "-printf \"$SLIPWAY_ATTEMPT %f %s\\n\" >>\"$slipway_own/parts\"\n"
    "! sw_used_up || slipway_give_up 75 node-lost '\"its retries are used up\"'\n";

/* A signal that Slurm carries reaches every process of the step, and the command would hear TERM as often
 * as it is passed on. So a stop of ours is said with URG, which nothing minds but what each task runs
 * (slurm_task.c), and which tells the runner alone. A task that has not begun finds the file. When Slurm
 * itself ends the job (TERM) it has told all of them already. */
static const char life_text[] =
    "\nslipway_why= slipway_told= slipway_stopper=\n"
    "slipway_stop() {\n"
    "    [ -z \"$slipway_why\" ] || return 0\n"
    "    slipway_why=$1\n"
    "    [ \"$1\" != cancel ] || : >\"$slipway_state/canceled\"\n"
    "    echo \"$1\" >\"$slipway_own/stop.new\" && mv \"$slipway_own/stop.new\" \"$slipway_own/stop\"\n"
    "    { trap 'kill \"$slipway_nap\"; exit' TERM\n"
    "        for slipway_pause in 2 3 5 10; do\n"
    "            ! scancel --signal=URG \"$SLURM_JOB_ID\" || slipway_told=1\n"
    "            sleep \"$slipway_pause\" & slipway_nap=$!\n"
    "            wait \"$slipway_nap\"\n"
    "        done\n"
    "        [ -n \"$slipway_told\" ] || kill -TERM \"$slipway_step\"; } >/dev/null 2>&1 &\n"
    "    slipway_stopper=$!\n"
    "}\n"
    "trap 'slipway_stop time' USR1\n"
    "trap 'slipway_stop cancel' USR2\n"
    "trap '[ -n \"$slipway_why\" ] || slipway_why=term' TERM\n"
    "if [ \"$slipway_limit\" -gt 0 ]; then\n"
    "    { trap 'kill \"$slipway_sleep\"' TERM; trap - USR1\n"
    "        sleep \"$slipway_limit\" & slipway_sleep=$!\n"
    "        wait \"$slipway_sleep\" && kill -USR1 $$; } >/dev/null 2>&1 &\n"
    "    slipway_timer=$!\n"
    "fi\n"
    "\n# How long each log was when it last grew, for those who ask what was said when.\n"
    "[ -e \"$slipway_own/times\" ] || : >\"$slipway_own/times\"\n"
    "{ trap 'kill \"$slipway_nap\"; exit' TERM; trap - USR1\n"
    "    while :; do\n"
    "        sleep " SLURM_TIMES_S " & slipway_nap=$!\n"
    "        wait \"$slipway_nap\"\n"
    "        find \"$slipway_logs\" -name '*.out' -newer \"$slipway_own/times\" -printf '%f %s %Ts\\n' "
    ">>\"$slipway_own/times\"\n"
    "    done; } >/dev/null 2>&1 &\n"
    "slipway_clock=$!\n"
    "\nslipway_run &\n"
    "slipway_step=$!\n"
    "while :; do\n"
    "    wait \"$slipway_step\"\n"
    "    slipway_code=$?\n"
    "    kill -0 \"$slipway_step\" 2>/dev/null || break\n"
    "done\n"
    "trap '' USR1 USR2 TERM\n"
    "kill \"$slipway_clock\" ${slipway_timer-} $slipway_stopper 2>/dev/null\n";

static const char end_text[] =
    "\n# How it ended: the first rank that failed tells code, signal and words.\n"
    "slipway_reason=exit slipway_signal=0 slipway_failed=-1 slipway_message='\"\"'\n"
    "slipway_field() {\n"
    "    sed -n \"s/^ *\\\"$1\\\": *\\(.*[^,]\\),*\\$/\\1/p\" \"$2\" 2>/dev/null | head -n 1\n"
    "}\n"
    "[ -z \"$slipway_why\" ] || ls \"$slipway_own\" >/dev/null 2>&1    # a shared file system may "
    "answer from memory\n"
    "if slipway_failed=$(readlink \"$slipway_own/first\"); then\n"
    "    [ \"$slipway_code\" -ne 0 ] || { read -r slipway_code slipway_value "
    "<\"$slipway_own/rank-$slipway_failed\"; } "
    "2>/dev/null\n"
    "    slipway_code=${slipway_code:-1}\n"
    "    slipway_report=$slipway_own/rank-$slipway_failed.json\n"
    "    slipway_value=$(slipway_field exit_code \"$slipway_report\")\n"
    "    slipway_code=${slipway_value:-$slipway_code}\n"
    "    slipway_value=$(slipway_field signal \"$slipway_report\")\n"
    "    slipway_signal=${slipway_value:-0}\n"
    "    slipway_value=$(slipway_field message \"$slipway_report\")\n"
    "    slipway_message=${slipway_value:-$slipway_message}\n"
    "    [ \"$slipway_signal\" = 0 ] || slipway_reason=signal\n"
    "    case $slipway_code$(slipway_field failed \"$slipway_report\") in\n"
    "    '74\"prepare\"') slipway_reason=prepare ;;\n"
    "    '74\"probe\"') slipway_reason=destination ;;\n"
    "    '74\"collect\"') slipway_reason=outputs ;;\n"
    "    esac\n"
    "    SW_REPORT=$slipway_report\n"
    "fi\n"
    "[ -n \"$slipway_failed\" ] || slipway_failed=-1\n"
    "if [ \"$slipway_why\" = time ] && [ \"$slipway_code\" -ne 0 ]; then\n"
    "    slipway_code=124 slipway_signal=0 slipway_failed=-1 slipway_reason=time\n"
    "    slipway_message='\"its time limit passed\"'\n"
    "fi\n"
    "if [ \"$slipway_code\" = 0 ]; then\n"
    "    for slipway_file in \"$slipway_results/status.json\" \"$slipway_results\"/*/status.json; do\n"
    "        [ -f \"$slipway_file\" ] || continue\n"
    "        case $(tail -n 1 \"$slipway_file\") in\n"
    "        *'\"status\": \"FAILURE\"'* | *'\"status\":\"FAILURE\"'*)\n"
    "            slipway_code=1 slipway_reason=status\n"
    "            slipway_message='\"its own status.json says FAILURE\"' ;;\n"
    "        esac\n"
    "    done\n"
    "fi\n";

/* Where the first rank that failed was, and what it said: only rank 0 writes to the script's own log. */
static const char next_text[] =
    "\n# All commands ended well, and what they left did not arrive: the next run only brings that.\n"
    "slipway_only_outputs() {\n"
    "    for slipway_file in \"$slipway_own\"/rank-*.json; do\n"
    "        case $(slipway_field exit_code \"$slipway_file\")$(slipway_field failed \"$slipway_file\") in\n"
    "        0 | '74\"collect\"') ;;\n"
    "        *) return 1 ;;\n"
    "        esac\n"
    "    done\n"
    "}\n"
    "\nslipway_node= slipway_file=$slipway_failed${slipway_task:+.$slipway_task}.out\n"
    "if [ \"$slipway_failed\" -gt 0 ]; then\n"
    "    slipway_value=$(sed -n \"s/^$SLIPWAY_ATTEMPT $slipway_file //p\" "
    "\"$slipway_own/parts\" 2>/dev/null)\n"
    "    SW_RANK_LOG=$slipway_logs/$slipway_file:${slipway_value:-0}\n"
    "fi\n"
    "[ \"$slipway_failed\" = -1 ] || read -r slipway_value slipway_node "
    "<\"$slipway_own/rank-$slipway_failed\"\n"
    "case $slipway_why in term | cancel) slipway_reason=term ;; esac\n"
    "[ \"$slipway_reason\" != outputs ] || ! slipway_only_outputs || : >\"$slipway_own/collect\"\n"
    "! sw_retry \"$slipway_code\" \"$slipway_reason\" \"$slipway_node\" || exit \"$slipway_code\"\n"
    "case $slipway_why in term | cancel) slipway_reason=$SW_REASON ;; esac\n"
    "slipway_last_word\n"
    "case $slipway_why$slipway_code in cancel0) ;; cancel*) scancel \"$SLURM_JOB_ID\" ;; esac\n"
    "exit \"$slipway_code\"\n";

static void add_setup(struct sw_buf *out, const json_t *options)
{
    size_t i;
    json_t *line;

    json_array_foreach(json_object_get(options, "setup"), i, line)
        sw_buf_addf(out, "%s\n", json_string_value(line));
}

int slurm_batch(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_buf_add(out, "#!/bin/bash\n");
    if (slurm_word_check("job_name_prefix", job->names->job_name, err) < 0)
        return -1;
    if (add_size(out, job, err) < 0)
        return -1;
    sw_buf_addf(out, "#SBATCH --job-name=%s\n", job->names->job_name);
    if (add_table(out, job->plan->options, err) < 0 || add_exclude(out, job, err) < 0 ||
        add_notes(out, job, err) < 0 || add_life(out, job, err) < 0)
        return -1;
    sw_buf_add(out, "\n# Made by slipway; a repeated submit writes the same.\n");
    add_values(out, job);
    sw_buf_add(out, claim_text);
    if (slurm_job_retry(out, job, err) < 0)
        return -1;
    sw_buf_add(out, last_word_text);
    sw_buf_add(out, handed_text);
    slurm_runner_choose(out, job);
    slurm_task_letter(out, job);
    add_setup(out, job->plan->options);
    if (slurm_container_prepare(out, job, err) < 0 || add_srun(out, job, err) < 0)
        return -1;
    sw_buf_add(out, life_text);
    sw_buf_add(out, end_text);
    sw_buf_add(out, next_text);
    return 0;
}
