/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_submit.c - hand a plan to the cluster, at most once, in one round trip.
 *
 * One script checks, writes and submits. Making the folder of the attempt's records is the lock:
 * who makes it (and that of the logs, with the same command) submits; who finds it looks for the
 * job instead, in the record inside it and in the queue by name and comment. So a repeat after a
 * lost connection, a dead client or from another machine finds the first job. What is left of a
 * submitter that died is taken over only when the queue has nothing of it; and should two jobs of
 * one attempt exist after all, the batch script lets only one run.
 *
 * Small texts travel inside the script and are written by the shell itself, without a process for
 * each; everything else is its standard input (slurm_cargo.h). What all jobs share is sent only when
 * it is missing: then, and only then, there is a second round trip.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "platform/slurm/slurm_cargo.h"

/* ---- the script -------------------------------------------------------------------------------- */

static const char begin_text[] =
    "read -r here </proc/sys/kernel/hostname || here=$(uname -n)\n"
    "umask 077\n"
    "fail() { printf '%s\\n' \"$*\" >&2; exit 1; }\n"
    "take() { part=$2.$here.$$\n"
    "    head -c \"$1\" >\"$part\" && [ \"$(wc -c <\"$part\")\" -eq \"$1\" ] && chmod \"$3\" \"$part\" || "
    "{ rm -f \"$part\"; fail 'cut|the connection ended early'; }\n"
    "    mv \"$part\" \"$2\"; }\n"
    "[ -d \"$base\" ] || (umask \"$own_umask\"; mkdir -p \"$base\") || fail \"base|$base cannot be made\"\n"
    "[ -w \"$base\" ] || fail \"base|$base cannot be written\"\n"
    "[ -d \"$base/runner\" ] || mkdir -p \"$base/specs\" \"$base/env\" \"$base/meta\" "
    "\"$base/entrypoints\" \"$base/sbatch\" \"$base/runner\" || fail \"base|$base\"\n"
    "[ -d \"$base/slurm-logs\" ] || (umask \"$own_umask\"; mkdir -p \"$base/slurm-logs\" "
    "\"$base/results\") || "
    "fail \"base|$base\"\n";

/* With `shared`, what leads to the job's own folders may be entered. */
static const char open_text[] =
    "case $own_umask in 027) right=g+rx ;; *) right=go+rx ;; esac\n"
    "mkdir -p \"$base/work\" && chmod \"$right\" \"$base\" \"$base/results\" \"$base/slurm-logs\" "
    "\"$base/work\" || "
    "fail \"base|$base cannot be opened to others\"\n";

/* What runs as us lies there: no other may be able to put something else in its place. In a folder where
 * each may remove only his own (sticky) ours are safe once they are made. A group of one's own, named as
 * the user, is no other. */
static const char safe_text[] =
    "me=$(id -u)\n"
    "rows=$(cd \"$base\" && stat -L -c '%u %a %G %U %n' . runner entrypoints sbatch meta env specs) || "
    "fail \"base|$base\"\n"
    "while read -r uid mode group user folder; do\n"
    "    others=${mode#\"${mode%?}\"} mode=${mode%?} sticky=0\n"
    "    group_may=${mode#\"${mode%?}\"}\n"
    "    [ \"$folder\" != . ] || case $mode in [0-7][0-7][0-7]) sticky=${mode%??} ;; esac\n"
    "    case $uid$folder in \"$me$folder\" | 0.) ;; *) fail \"theirs|$base/${folder#.} belongs to "
    "$user\" ;; esac\n"
    "    [ \"$group\" != \"$user\" ] || group_may=0\n"
    "    case $sticky in 1 | 3 | 5 | 7) continue ;; esac\n"
    "    case $others$group_may in *[2367]*) fail \"theirs|others may write to $base/${folder#.}\" ;; esac\n"
    "done <<ROWS\n$rows\nROWS\n";

static const char find_text[] =
    "unsure() { exit 75; }\n"
    "find_job() {\n"
    "    [ ! -s \"$state/job\" ] || { read -r job <\"$state/job\"; ! whole \"$job\" || return 0; job=; }\n"
    "    rows=$(squeue -h -t all -u \"$(id -un)\" -n \"$name\" -o '%F|%k') || unsure\n"
    "    job=$(printf '%s\\n' \"$rows\" | while IFS='|' read -r number mark; do\n"
    "        case $mark in \"$comment\" | \"$comment \"*) echo \"$number\" ;; esac\n"
    "    done | sort -n | head -n 1)\n"
    "    [ -n \"$job\" ]\n"
    "}\n"
    "alive() {\n"
    "    host=- token=none\n"
    "    [ ! -s \"$state/owner\" ] || read -r host pid since token <\"$state/owner\"\n"
    "    [ \"$host\" != - ] || return 1\n"
    "    if [ \"$host\" = \"$here\" ]; then whole \"$pid\" && kill -0 \"$pid\" 2>/dev/null; return; fi\n"
    "    whole \"$since\" && [ $((now - since)) -lt 600 ]\n"
    "}\n"
    "umask \"$own_umask\"\n"
    "mkdir \"$state\" \"$logs\" 2>/dev/null; made=$?\n"
    "umask 077\n"
    "if [ \"$made\" != 0 ]; then\n"
    "    [ ! -e \"$state/canceled\" ] || fail 'canceled|this attempt was canceled'\n"
    "    tries=0\n"
    "    until find_job; do\n"
    "        tries=$((tries + 1))\n"
    "        alive || break\n"
    "        [ \"$tries\" -lt 50 ] || { echo 'another client is submitting it' >&2; exit 75; }\n"
    "        sleep 0.2\n"
    "    done\n"
    "    if [ -n \"$job\" ] || find_job; then\n"
    "        echo \"$job\" >\"$state/job\"\n"
    "        echo \"job|$job|found\"\n"
    "        exit 0\n"
    "    fi\n"
    "    mkdir \"$state/taken.$token\" 2>/dev/null || { echo 'another client took it over' >&2; exit 75; }\n"
    "fi\n"
    "echo \"$here $$ $now $own_token\" >\"$state/owner\"\n"
    "refuse() { rm -rf \"$state\" \"$secrets\" \"$logs\"; fail \"$@\"; }\n"
    "[ -d \"$logs\" ] || (umask \"$own_umask\"; mkdir -p \"$logs\") || refuse \"base|$logs\"\n"
    "maybe() { echo \"- $$ $now $own_token\" >\"$state/owner\"; "
    "printf '%s\\n' \"${said:-sbatch ended without a word}\" >&2; exit 75; }\n"
    "unsure() { maybe; }\n";

/* When Slurm wants another account or a plugin of the site wants one named: the user's default, else
 * the only other one. Which of several is charged is for its user to say. */
static const char account_text[] =
    "try_accounts() {\n"
    "    me=$(id -un) cluster=$(scontrol show config | sed -n 's/^ClusterName *= *//p')\n"
    "    yours=$(sacctmgr -nP show assoc where user=\"$me\" ${cluster:+cluster=\"$cluster\"} "
    "format=account | sort -u | paste -sd, -)\n"
    "    usual=$(sacctmgr -nP show user where name=\"$me\" format=defaultaccount)\n"
    "    [ -z \"$usual\" ] || ! send \"$usual\" || return 0\n"
    "    other=$(printf %s \"$yours\" | tr , '\\n' | grep -vxF \"$usual\" | paste -sd, -)\n"
    "    case $other in '' | *,*) ;; *) ! send \"$other\" || return 0 ;; esac\n"
    "    refuse \"account|$said; accounts of $me: ${yours:-none}\"\n"
    "}\n";

/* Any other failure than a refusal is in doubt: the queue is asked for the job before anything is said,
 * and nothing is removed. A script that ends in another way than by fail() has refused nothing either:
 * slurm_refused(). */
static const char put_text[] =
    "put() { umask \"$own_umask\"; exec env -i HOME=\"${HOME-/}\" USER=\"${USER-}\" "
    "LOGNAME=\"${LOGNAME-}\" PATH=\"$PATH\" "
    "SHELL=\"${SHELL-/bin/sh}\" \\\n"
    "    ${LANG+LANG=\"$LANG\"} ${SLURM_CONF+SLURM_CONF=\"$SLURM_CONF\"} "
    "${LD_LIBRARY_PATH+LD_LIBRARY_PATH=\"$LD_LIBRARY_PATH\"} \\\n"
    "    sbatch --parsable --export=ALL \"$@\" \"$sbatch\" 2>&1; }\n"
    "seek() { find_job; }\n"
    "doubt() {\n"
    "    told=$said\n"
    "    for pause in 0.1 0.2 0.7; do\n"
    "        sleep \"$pause\"\n"
    "        ! seek || { said=$job; return 0; }\n"
    "    done\n"
    "    [ \"$status\" != 1 ] || ! refused_without_reason \"$told\" || refuse \"$refusal|$told\"\n"
    "    maybe\n"
    "}\n"
    "send() {\n"
    "    status=0\n"
    "    said=$(put ${1:+--account=\"$1\"} ${after:+--dependency=\"$after\"}) || status=$?\n"
    "    case $status:$said in\n"
    "    0:*) return 0 ;;\n"
    "    1:*nvalid\\ account* | 1:*ccount*required*) return 1 ;;\n"
    "    126:* | 127:*) refuse \"$refusal|$said\" ;;\n"
    "    1:*) ! refused_by \"$said\" || refuse \"$refusal|$said$(gpus_here \"$said\")\" ;;\n"
    "    esac\n"
    "    doubt\n"
    "}\n"
    "submit() { send '' || { [ -z \"$account\" ] || refuse \"account|$said\"; try_accounts; }; }\n";

static const char send_text[] =
    "number_in() {\n"
    "    job=\n"
    "    while read -r row; do\n"
    "        row=${row%%;*}\n"
    "        ! whole \"$row\" || job=$row\n"
    "    done\n"
    "}\n"
    "refusal=refused\n"
    "submit\n"
    "number_in <<ROWS\n$said\nROWS\n"
    "[ -n \"$job\" ] || { doubt; job=$said; }\n"
    "echo \"$job\" >\"$state/job\"\n"
    "echo \"job|$job|new\"\n";

/* Written by the shell itself: printf is no process. */
static void add_file(struct sw_buf *out, const char *path, const char *text)
{
    sw_buf_add(out, "printf '%s' ");
    sw_buf_add_quoted(out, text);
    sw_buf_add(out, " >");
    sw_buf_add_quoted(out, path);
    sw_buf_add(out, " || refuse 'base|a file cannot be written'\n");
}

static int add_conversion(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf batch = SW_BUF_INIT;
    sw_autofree char *path = sw_format("%s/image.sbatch", job->names->state);

    if (slurm_convert_batch(&batch, job, err) < 0)
        return -1;
    add_file(out, path, sw_buf_text(&batch));
    return 0;
}

static int add_files(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(sw_payload) struct sw_payload *letter = slurm_letter(job, err);
    sw_auto(json) json_t *document = letter ? sw_payload_to_json(letter) : NULL;
    sw_auto(json) json_t *specs = sw_plan_to_json(job->plan), *env = slurm_environment(job);
    sw_autofree char *letter_text = document ? sw_json_dump(document) : NULL;
    sw_autofree char *specs_text = NULL, *env_text = sw_json_dump(env);
    sw_auto(sw_buf) struct sw_buf batch = SW_BUF_INIT, entrypoint = SW_BUF_INIT;

    if (!document || slurm_batch(&batch, job, err) < 0)
        return -1;
    slurm_entrypoint(&entrypoint, job);
    json_object_set_new(specs, "results_dir", sw_json_text(job->names->results));
    if (job->plan->signature)                /* not part of what it signs: slurm_adopt takes both out */
        json_object_set_new(specs, "signature", sw_json_text(job->plan->signature));
    specs_text = sw_json_dump(specs);
    add_file(out, job->names->specs, specs_text);
    add_file(out, job->names->env, env_text);
    add_file(out, job->names->letter, letter_text);
    if (job->plan->rules) {
        sw_autofree char *rules = sw_json_dump(job->plan->rules);

        add_file(out, job->names->rules, rules);
    }
    add_file(out, job->names->entrypoint, sw_buf_text(&entrypoint));
    add_file(out, job->names->sbatch, sw_buf_text(&batch));
    return slurm_converts_elsewhere(job->plan) ? add_conversion(out, job, err) : 0;
}

static void add_meta(struct sw_buf *out, const struct slurm_job *job)
{
    sw_auto(json) json_t *meta = sw_json_object(
        SW_INT("version", 1), SW_STR("job_id", job->plan->job_id), SW_INT("attempt", job->attempt),
        SW_STR("job_name", job->names->job_name), SW_STR("job_dir", job->names->base),
        SW_STR("log_dir", job->names->logs), SW_STR("results_dir", job->names->results),
        SW_STR_OPT("store", job->plan->store_id),
        SW_SUB("owner_uid", job->plan->store_id ? json_integer(job->plan->owner_uid) : NULL),
        SW_STR_OPT("image", job->plan->image), SW_INT("nodes", job->shape->nodes),
        SW_INT("replicas", slurm_replica_count(job->plan, job->shape)),
        SW_SUB_COPY("job_name_prefix", json_object_get(job->plan->options, "job_name_prefix")));
    sw_autofree char *text = sw_json_dump(meta);

    add_file(out, job->names->meta, text);
}

/* A limit that allowed as much a moment ago still does: the cluster is asked once per connection. */
static bool is_allowed(struct sw_connection *conn, const char *partition, int64_t minutes)
{
    bool allowed;

    pthread_mutex_lock(&conn->lock);
    allowed = conn->allowed_in && sw_text_same(conn->allowed_in, partition ? partition : "") &&
              minutes <= conn->allowed_minutes;
    pthread_mutex_unlock(&conn->lock);
    return allowed;
}

/* Asked once per connection, too. */
static bool is_safe(struct sw_connection *conn, const char *base)
{
    bool safe;

    pthread_mutex_lock(&conn->lock);
    safe = sw_text_same(conn->safe_base, base);
    pthread_mutex_unlock(&conn->lock);
    return safe;
}

static void remember_safe(struct sw_connection *conn, const char *base)
{
    pthread_mutex_lock(&conn->lock);
    free(conn->safe_base);
    conn->safe_base = sw_strdup(base);
    pthread_mutex_unlock(&conn->lock);
}

static void remember_limit(struct sw_connection *conn, const struct slurm_job *job)
{
    char *partition = slurm_joined(job->plan->options, "partition");

    if (!sw_json_bool(job->plan->options, "check", true) ||
        is_allowed(conn, partition, job->shape->limit_minutes)) {
        free(partition);
        return;
    }
    pthread_mutex_lock(&conn->lock);
    free(conn->allowed_in);
    conn->allowed_in = partition ? partition : sw_strdup("");
    conn->allowed_minutes = job->shape->limit_minutes;
    pthread_mutex_unlock(&conn->lock);
}

static int make_script(struct sw_buf *out, struct sw_connection *conn, const struct slurm_job *job,
                       const struct slurm_cargo *cargo, unsigned sent, struct sw_error *err)
{
    const struct slurm_names *names = job->names;
    sw_autofree char *partition = slurm_joined(job->plan->options, "partition");

    sw_buf_add(out, SLURM_ENVIRONMENT);
    slurm_set(out, "own_umask", slurm_umask(job->plan->options));
    slurm_set(out, "base", names->base);
    slurm_set(out, "state", names->state);
    slurm_set(out, "logs", names->logs);
    slurm_set(out, "secrets", names->secrets);
    slurm_set(out, "sbatch", names->sbatch);
    slurm_set(out, "name", names->job_name);
    slurm_set(out, "prefix", slurm_prefix(conn, job->plan->options));
    slurm_set(out, "comment", names->comment);
    slurm_set(out, "partition", partition);
    slurm_set(out, "account", sw_json_str(job->plan->options, "account"));
    sw_buf_addf(out, "asked=%lld\nnow=%lld\nown_token=%lld-%d\njob=\nafter=\n",
                (long long)job->shape->limit_minutes, (long long)(sw_now_ms() / 1000),
                (long long)sw_now_ms(), (int)getpid());
    sw_buf_add(out, SLURM_WHOLE);
    sw_buf_add(out, begin_text);
    if (strcmp(slurm_umask(job->plan->options), "077") != 0)
        sw_buf_add(out, open_text);
    if (!is_safe(conn, names->base))
        sw_buf_add(out, safe_text);
    slurm_cargo_stock(out, job, cargo, sent);
    slurm_depend_script(out, job->plan->options);
    slurm_needs(out, job->plan, !is_allowed(conn, partition, job->shape->limit_minutes));
    sw_buf_add(out, find_text);
    slurm_cargo_own(out, job, cargo);
    if (add_files(out, job, err) < 0)
        return -1;
    add_meta(out, job);
    slurm_refusals_script(out);
    slurm_gpus_here(out, job->plan);
    sw_buf_add(out, account_text);
    sw_buf_add(out, put_text);
    if (slurm_converts_elsewhere(job->plan) && slurm_convert_submit(out, job, err) < 0)
        return -1;
    sw_buf_add(out, send_text);
    return 0;
}

/* ---- the answer -------------------------------------------------------------------------------- */

static void fill_receipt(struct sw_submission *receipt, const struct sw_connection *conn,
                         const struct slurm_job *job, const char *number)
{
    snprintf(receipt->remote_id, sizeof receipt->remote_id, "%s", number);
    receipt->details = sw_json_object(
        SW_STR("slurm_job_id", number), SW_STR("job_name", job->names->job_name),
        SW_STR("base_dir", job->names->base), SW_STR("job_dir", job->names->base),
        SW_STR("log_dir", job->names->logs),
        SW_SUB_COPY("job_name_prefix", json_object_get(job->plan->options, "job_name_prefix")),
        SW_INT("attempt", job->attempt), SW_INT("nodes", job->shape->nodes),
        SW_INT("replicas", slurm_replica_count(job->plan, job->shape)),
        SW_STR("hostname", sw_ssh_host(conn->ssh)));
    receipt->results_dir = sw_strdup(job->names->results);
}

/* 1: something of the stock is missing there; *sent then says what has to come along. */
static int send_once(struct sw_connection *conn, const struct slurm_job *job, struct slurm_cargo *cargo,
                     unsigned *sent, struct sw_submission *receipt, struct sw_error *err)
{
    struct sw_ssh_piece pieces[SLURM_PIECES];
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    char number[SLURM_ID_ROOM];
    size_t count = 0;
    unsigned missing;

    if (slurm_cargo_pieces(cargo, *sent, pieces, &count, err) < 0 ||
        make_script(&script, conn, job, cargo, *sent, err) < 0 ||
        slurm_ask(conn, script.data, pieces, count, false, &reply, err) < 0)
        return -1;
    missing = reply.exit_code == 0 ? slurm_cargo_missing(sw_buf_text(&reply.output)) : 0;
    if (missing) {
        *sent |= missing;
        return 1;
    }
    if (reply.exit_code == 0 && sscanf(sw_buf_text(&reply.output), "job|%31[0-9]", number) == 1) {
        fill_receipt(receipt, conn, job, number);
        remember_limit(conn, job);
        remember_safe(conn, job->names->base);
        return 0;
    }
    return slurm_refused(&reply, err);
}

/* A round trip of its own, and only for jobs with mounts: a clone may take minutes. */
static int stage_mounts(struct sw_connection *conn, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    if (json_array_size(job->plan->mounts) == 0)
        return 0;
    if (slurm_mounts_script(&script, job, err) < 0 ||
        slurm_ask_patiently(conn, sw_buf_text(&script), &reply, err) < 0)
        return -1;
    if (reply.exit_code == 0)
        return 0;
    sw_fail(err, SW_E_SPEC, "a mount cannot be had: %.400s", sw_buf_text(&reply.errors));
    return sw_hint(err, "sources are paths of the cluster, or repositories that its login host can "
                        "read; nothing was submitted");
}

int slurm_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                 const struct sw_secrets *secrets, struct sw_submission *receipt,
                 struct sw_error *err)
{
    const char *base = slurm_base(conn, plan->options, err);
    sw_auto(slurm_cargo) struct slurm_cargo cargo = SLURM_CARGO_INIT;
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    struct slurm_shape shape;
    struct slurm_job job;
    unsigned sent = 0;
    int result;

    if (!base || slurm_shape_of(plan, &shape, err) < 0 ||
        slurm_cargo_load(&cargo, conn, plan, base, attempt, secrets, err) < 0)
        return -1;
    slurm_names_init(&names, base, slurm_prefix(conn, plan->options), plan->job_id, attempt);
    job = (struct slurm_job){ .plan = plan, .names = &names, .shape = &shape, .attempt = attempt,
                              .ca = cargo.stock[SLURM_STOCK_CA].path };
    for (size_t kind = 0; kind < SLURM_MACHINES; kind++)
        job.runner[kind] = cargo.stock[kind].path;
    if (slurm_registry_login(conn, plan, err) < 0 || stage_mounts(conn, &job, err) < 0)
        return -1;
    result = send_once(conn, &job, &cargo, &sent, receipt, err);
    if (result == 1)
        result = send_once(conn, &job, &cargo, &sent, receipt, err);
    if (result == 1)
        return sw_fail(err, SW_E_REFUSED, "the runner cannot be kept in '%s/runner'", base);
    return result;
}
