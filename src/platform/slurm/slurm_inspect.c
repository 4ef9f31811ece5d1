/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_inspect.c - read-only questions (slurm_inspect.sh): the ranks of a job, a job by nothing but its
 * id, all jobs of the base folder, paths of the cluster.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/id.h"
#include "core/state.h"

enum { REPLICAS_MOST = 100000 };

/* ---- ranks -------------------------------------------------------------------------------------- */

struct slurm_rank {                /* texts are borrowed from the answer; "": not known */
    bool over;
    int code;
    const char *node;
};

static void read_ranks(struct slurm_rank *ranks, size_t count, struct sw_buf *answer)
{
    struct slurm_records records = slurm_records_of(answer);
    struct slurm_record record;
    size_t rank, named = 0;

    while (slurm_record_next(&records, &record)) {
        if (sw_text_same(record.kind, "node") && named < count) {
            ranks[named++].node = record.rest;
        } else if (sw_text_same(record.kind, "rank") && slurm_field_index(&record, count, &rank)) {
            ranks[rank].over = true;
            ranks[rank].code = atoi(slurm_field(&record));
            ranks[rank].node = record.rest;
        }
    }
}

static json_t *replica_row(int number, const struct slurm_rank *rank, const struct sw_observation *seen)
{
    enum sw_state state = !rank->over             ? seen->state
                          : rank->code == 0            ? SW_COMPLETE
                          : seen->state == SW_CANCELED ? SW_CANCELED : SW_ERROR;

    return sw_json_object(SW_INT("rank", number), SW_STR("node", rank->node ? rank->node : ""),
                          SW_STR("status", sw_state_name(state)),
                          SW_SUB("exit_code", rank->over ? json_integer(rank->code) : json_null()),
                          SW_STR("reason", rank->over ? "" : seen->reason),
                          SW_STR("message", rank->over ? "" : seen->message));
}

json_t *slurm_replicas(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_observation seen = { .job = *job, .exit_code = SW_NO_EXIT_CODE, .failed_replica = -1 };
    int count = slurm_replicas_of(job);
    sw_autofree struct slurm_rank *ranks = NULL;
    json_t *all;

    if (slurm_names_of(conn, job, &names, err) < 0 || slurm_observe(conn, &seen, 1, err) < 0)
        return NULL;
    json_decref(seen.before);
    json_decref(seen.runner);
    if (slurm_inspect(conn, "inspect_ranks", "state", names.state, &reply, err) < 0)
        return NULL;
    count = count < 1 || count > REPLICAS_MOST ? 1 : count;
    ranks = sw_alloc((size_t)count * sizeof *ranks);
    read_ranks(ranks, (size_t)count, &reply.output);
    all = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(all, replica_row(i, &ranks[i], &seen));
    return all;
}

/* ---- a job by its id -------------------------------------------------------------------------------- */

char *slurm_results_dir(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };

    return slurm_names_of(conn, job, &names, err) < 0 ? NULL : sw_take(names.results);
}

static void fill_submission(struct sw_submission *out, const struct slurm_names *names, const char *number,
                            int attempt, const json_t *record)
{
    snprintf(out->remote_id, sizeof out->remote_id, "%s", number);
    out->details = sw_json_object(SW_STR("slurm_job_id", number), SW_STR("base_dir", names->base),
                                  SW_STR("job_name", names->job_name), SW_INT("attempt", attempt),
                                  SW_SUB_COPY("nodes", json_object_get(record, "nodes")),
                                  SW_SUB_COPY("replicas", json_object_get(record, "replicas")));
    out->results_dir = sw_strdup(names->results);
}

/* "found ATTEMPT NUMBER" and behind it the list of our record and the plan. */
static int read_found(struct sw_buf *answer, const char *id, const struct slurm_names *names, json_t **plan,
                      struct sw_submission *out, struct sw_error *err)
{
    struct slurm_records records = slurm_records_of(answer);
    struct slurm_record record;
    sw_auto(json) json_t *both = NULL;
    json_t *stored;
    const char *signature;
    int attempt;

    attempt = slurm_record_next(&records, &record) ? atoi(slurm_field(&record)) : 0;
    if (attempt < 1 || !*record.rest || record.rest[strspn(record.rest, "0123456789")])
        return sw_fail(err, SW_E_NOT_FOUND, "no job '%s' in '%s'", id, names->base);
    both = sw_json_parse(records.at, (size_t)(records.end - records.at), names->specs, err);
    if (!both)
        return -1;
    stored = json_array_get(both, 1);
    if (!json_is_object(stored))
        return sw_fail(err, SW_E_NOT_FOUND, "'%s' does not describe job '%s'", names->specs, id);
    fill_submission(out, names, record.rest, attempt, json_array_get(both, 0));
    json_object_del(stored, "results_dir");
    signature = sw_json_str(stored, "signature");
    snprintf(out->signature, sizeof out->signature, "%s", signature ? signature : "");
    json_object_del(stored, "signature");
    *plan = json_incref(stored);
    return 0;
}

int slurm_adopt(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *out,
                struct sw_error *err)
{
    const struct sw_jobref job = { .id = id, .attempt = 1 };
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    if (slurm_names_of(conn, &job, &names, err) < 0)
        return -1;
    if (slurm_inspect(conn, "inspect_job", "meta", names.meta, &reply, err) < 0)
        return -1;
    return read_found(&reply.output, id, &names, plan, out, err);
}

/* ---- all jobs of the base folder ------------------------------------------------------------------ */

static const char *state_of(const char *code, const char *word)
{
    enum sw_state state = strcmp(word, "-") != 0  ? slurm_state(word, NULL)
                          : strcmp(code, "0") == 0 ? SW_COMPLETE
                          : strcmp(code, "-") == 0 ? SW_UNKNOWN : SW_ERROR;

    return sw_state_name(state);
}

json_t *slurm_jobs(struct sw_connection *conn, struct sw_error *err)
{
    const char *base = slurm_of(conn)->options.base_dir;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct slurm_records records;
    struct slurm_record record;
    json_t *rows;

    if (slurm_base_check(base, err) < 0)
        return NULL;
    if (slurm_inspect(conn, "inspect_jobs", "base", base, &reply, err) < 0)
        return NULL;
    rows = json_array();
    records = slurm_records_of(&reply.output);
    while (slurm_record_next(&records, &record)) {
        const char *id = slurm_field(&record), *owner = slurm_field(&record), *at = slurm_field(&record);
        const char *code = slurm_field(&record);

        if (sw_id_valid(id))
            json_array_append_new(rows, sw_json_object(
                SW_STR("id", id), SW_STR("state", state_of(code, record.rest)), SW_STR("owner", owner),
                SW_INT("created_ms", strtoll(at, NULL, 10) * 1000)));
    }
    return rows;
}

/* ---- paths ------------------------------------------------------------------------------------- */

static char *path_of(const char *place, struct sw_error *err)
{
    char *path = slurm_path_of(place);

    if (!path) {
        sw_fail(err, SW_E_SPEC, "'%s' is not an absolute path of the cluster", place);
        sw_hint(err, "write it as /path or lustre:///path");
    }
    return path;
}

int slurm_check_path(struct sw_connection *conn, const char *place, bool *exists, struct sw_error *err)
{
    sw_autofree char *path = path_of(place, err);
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    if (!path || slurm_inspect(conn, "inspect_path", "path", path, &reply, err) < 0)
        return -1;
    if (reply.exit_code != 0)
        return sw_fail(err, SW_E_REFUSED, "%s cannot read '%s': %.300s", sw_ssh_host(slurm_of(conn)->ssh),
                       path, sw_buf_text(&reply.errors));
    *exists = sw_text_starts(sw_buf_text(&reply.output), "exists\tyes");
    return 0;
}

static json_t *names_in(const struct sw_buf *answer)
{
    json_t *names = json_array();

    for (size_t at = 0; at < answer->length; at += strlen(answer->data + at) + 1)
        json_array_append_new(names, sw_json_text(answer->data + at));
    return names;
}

json_t *slurm_list_path(struct sw_connection *conn, const char *place, struct sw_error *err)
{
    enum { MISSING = 66 };
    sw_autofree char *path = path_of(place, err);
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    if (!path || slurm_inspect(conn, "inspect_folder", "path", path, &reply, err) < 0)
        return NULL;
    if (reply.exit_code == 0)
        return names_in(&reply.output);
    sw_fail(err, reply.exit_code == MISSING ? SW_E_NOT_FOUND : SW_E_REFUSED,
            "cannot list '%s' on %s: %.300s", path, sw_ssh_host(slurm_of(conn)->ssh),
            sw_buf_text(&reply.errors));
    return NULL;
}
