/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_look.c - reading a job: its ranks, its results, and the job itself by nothing but its id.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/state.h"

enum { NODE_ROOM = 128, REPLICAS_MOST = 100000 };

/* ---- ranks -------------------------------------------------------------------------------------- */

/* "rank code host" for each rank that is over, then the names of the nodes. */
static const char ranks_text[] =
    "for file in \"$state\"/rank-*; do\n"
    "    case $file in *.json* | *'*') continue ;; esac\n"
    "    read -r code host <\"$file\"; echo \"R ${file##*/rank-} $code $host\"\n"
    "done\n"
    "for file in \"$state\"/task-*/exit; do\n"
    "    [ -f \"$file\" ] || continue\n"
    "    task=${file%/exit}\n"
    "    echo \"R ${task##*-} $(sed "
    "'s/.*\"exit_code\":\\([0-9]*\\).*\"nodes\":\"\\([^\"]*\\)\".*/\\1 \\2/' \"$file\")\"\n"
    "done\n"
    "[ ! -s \"$state/runs\" ] || { tail -n 1 \"$state/runs\" | { read -r run number since nodes\n"
    "    scontrol show hostnames \"$nodes\" 2>/dev/null | sed 's/^/N /'; }; }\n";

static const char *status_of(enum sw_state job, bool over, int code)
{
    if (over)
        return sw_state_name(code == 0 ? SW_COMPLETE : job == SW_CANCELED ? SW_CANCELED : SW_ERROR);
    return sw_state_name(job);
}

static json_t *replica_row(int rank, const char *node, enum sw_state state, bool over, int code,
                           const struct sw_observation *seen)
{
    return sw_json_object(SW_INT("rank", rank), SW_STR("node", node),
                          SW_STR("status", status_of(state, over, code)),
                          SW_SUB("exit_code", over ? json_integer(code) : json_null()),
                          SW_STR("reason", over ? "" : seen->reason),
                          SW_STR("message", over ? "" : seen->message));
}

struct ranks {
    int count;
    bool *over;
    int *codes;
    char (*nodes)[NODE_ROOM];
};

static void read_ranks(struct ranks *ranks, char *text)
{
    int named = 0;

    for (char *line; (line = strsep(&text, "\n"));) {
        int rank, code;
        char host[NODE_ROOM] = "";

        if (sscanf(line, "R %9d %9d %127s", &rank, &code, host) >= 2 && rank >= 0 &&
            rank < ranks->count) {
            ranks->over[rank] = true;
            ranks->codes[rank] = code;
            if (!ranks->nodes[rank][0])
                memcpy(ranks->nodes[rank], host, sizeof host);
        } else if (named < ranks->count && sscanf(line, "N %127s", host) == 1) {
            memcpy(ranks->nodes[named++], host, sizeof host);
        }
    }
}

json_t *slurm_replicas(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_observation seen = { .job = *job, .exit_code = SW_NO_EXIT_CODE, .failed_replica = -1 };
    struct ranks ranks = { .count = slurm_replicas_of(job) };
    json_t *all;

    if (slurm_names_of(conn, job, &names, err) < 0 || slurm_observe(conn, &seen, 1, err) < 0)
        return NULL;
    if (ranks.count < 1 || ranks.count > REPLICAS_MOST)
        ranks.count = 1;
    slurm_set(&script, "state", names.state);
    sw_buf_add(&script, ranks_text);
    json_decref(seen.before);
    json_decref(seen.runner);
    if (slurm_ask(conn, script.data, NULL, 0, true, &reply, err) < 0)
        return NULL;
    ranks.over = sw_alloc((size_t)ranks.count);
    ranks.codes = sw_alloc((size_t)ranks.count * sizeof *ranks.codes);
    ranks.nodes = sw_alloc((size_t)ranks.count * NODE_ROOM);
    read_ranks(&ranks, reply.output.data);
    all = json_array();
    for (int i = 0; i < ranks.count; i++)
        json_array_append_new(all, replica_row(i, ranks.nodes[i], seen.state, ranks.over[i],
                                               ranks.codes[i], &seen));
    free(ranks.over);
    free(ranks.codes);
    free(ranks.nodes);
    return all;
}

/* ---- results, adopt -------------------------------------------------------------------------------- */

char *slurm_results_dir(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };

    return slurm_names_of(conn, job, &names, err) < 0 ? NULL : sw_take(names.results);
}

/* "attempt number", then a list of our record and the plan. */
static const char adopt_text[] =
    SLURM_NEWEST
    "[ -s \"$meta\" ] || exit 0\n"
    "newest \"${meta%.json}\"\n"
    "[ \"$newest\" -gt 0 ] || exit 0\n"
    "read -r number <\"${meta%.json}.$newest/job\"\n"
    "echo \"$newest $number\"\n"
    "read -r record <\"$meta\"\n"
    "printf '[%s,' \"$record\"; cat \"$specs\"; echo ']'\n";

int slurm_adopt(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *receipt,
                struct sw_error *err)
{
    const struct sw_jobref job = { .id = id, .attempt = 1 };
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    sw_auto(json) json_t *both = NULL, *stored = NULL;
    const json_t *record;
    const char *signature;
    char number[SLURM_ID_ROOM] = "";
    int attempt = 0, used = 0;

    if (slurm_names_of(conn, &job, &names, err) < 0)
        return -1;
    slurm_set(&script, "meta", names.meta);
    slurm_set(&script, "specs", names.specs);
    sw_buf_add(&script, adopt_text);
    if (slurm_ask(conn, script.data, NULL, 0, true, &reply, err) < 0)
        return -1;
    if (sscanf(sw_buf_text(&reply.output), "%9d %31[0-9] %n", &attempt, number, &used) < 2)
        return sw_fail(err, SW_E_NOT_FOUND, "there is no job '%s' in '%s'", id, names.base);
    both = sw_json_parse(reply.output.data + used, reply.output.length - (size_t)used, names.specs,
                         err);
    if (!both)
        return -1;
    record = json_array_get(both, 0);
    stored = json_incref(json_array_get(both, 1));
    if (!json_is_object(stored))
        return sw_fail(err, SW_E_NOT_FOUND, "'%s' does not say what job '%s' is", names.specs, id);
    snprintf(receipt->remote_id, sizeof receipt->remote_id, "%s", number);
    receipt->details = sw_json_object(SW_STR("slurm_job_id", number), SW_STR("base_dir", names.base),
                                      SW_STR("job_name", names.job_name), SW_INT("attempt", attempt),
                                      SW_SUB_COPY("nodes", json_object_get(record, "nodes")),
                                      SW_SUB_COPY("replicas", json_object_get(record, "replicas")));
    receipt->results_dir = sw_strdup(names.results);
    json_object_del(stored, "results_dir");
    signature = sw_json_str(stored, "signature");
    snprintf(receipt->signature, sizeof receipt->signature, "%s", signature ? signature : "");
    json_object_del(stored, "signature");
    *plan = sw_take(stored);
    return 0;
}
