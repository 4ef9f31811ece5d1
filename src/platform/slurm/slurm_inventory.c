/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_inventory.c - what the cluster has: partitions, nodes and accounts, in one round trip.
 */
#include "platform/slurm/slurm_internal.h"

#include <string.h>

#include "base/text.h"

struct slurm_inventory_rows {      /* the answer, sorted out */
    struct sw_buf partitions, nodes;
    json_t *accounts;
    const char *version, *cluster;         /* borrowed from the answer; NULL: not told */
};

static void slurm_inventory_rows_auto(struct slurm_inventory_rows *rows)
{
    sw_buf_done(&rows->partitions);
    sw_buf_done(&rows->nodes);
    json_decref(rows->accounts);
}

static void read_answer(struct slurm_inventory_rows *rows, struct sw_buf *answer)
{
    struct slurm_records records = slurm_records_of(answer);
    struct slurm_record record;

    while (slurm_record_next(&records, &record)) {
        if (sw_text_same(record.kind, "partition"))
            sw_buf_addf(&rows->partitions, "%s\n", record.rest);
        else if (sw_text_same(record.kind, "node"))
            sw_buf_addf(&rows->nodes, "%s\n", record.rest);
        else if (sw_text_same(record.kind, "version"))
            rows->version = record.rest;
        else if (sw_text_same(record.kind, "cluster"))
            rows->cluster = record.rest;
        else if (sw_text_same(record.kind, "account") && *record.rest)
            json_array_append_new(rows->accounts, sw_json_text(record.rest));
    }
}

json_t *slurm_inventory(struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(slurm_inventory_rows) struct slurm_inventory_rows rows = { .accounts = json_array() };
    sw_auto(sw_buf) struct sw_buf answer = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    const char *host = sw_ssh_host(slurm_of(conn)->ssh);
    sw_autofree char *text = NULL;
    json_t *site;

    if (slurm_inspect(conn, "inspect_cluster", NULL, NULL, &reply, err) < 0)
        return NULL;
    text = sw_text_utf8(sw_buf_text(&reply.output), reply.output.length);
    sw_buf_add(&answer, text);
    read_answer(&rows, &answer);
    if (reply.exit_code != 0 || !rows.version) {
        sw_fail(err, SW_E_REFUSED, "%s does not report what the cluster has: %.300s", host,
                sw_buf_text(&reply.errors));
        return NULL;
    }
    site = slurm_site(sw_buf_text(&rows.partitions), sw_buf_text(&rows.nodes));
    json_object_set_new(site, "version", sw_json_text(rows.version));
    json_object_set_new(site, "cluster", sw_json_text(rows.cluster ? rows.cluster : ""));
    json_object_set(site, "accounts", rows.accounts);
    json_object_set_new(site, "host", sw_json_text(host));
    return site;
}
