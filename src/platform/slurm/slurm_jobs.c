/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_jobs.c - the jobs that lie in the base folder, whoever submitted them: their records and the queue,
 * in one round trip.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/id.h"
#include "core/state.h"

/* ID, owner, seconds since 1970, exit code ("-": none), Slurm's word ("-": not in the queue). */
static const char jobs_text[] =
    SLURM_NEWEST
    "cd \"$base/meta\" 2>/dev/null || exit 0\n"
    "rows=$(squeue -h -a -o '%A %T') || exit 75\n"
    "for record in *.json; do\n"
    "    [ -s \"$record\" ] || continue\n"
    "    id=${record%.json} code=- word=-\n"
    "    newest \"$id\"\n"
    "    [ \"$newest\" -gt 0 ] || continue\n"
    "    read -r number <\"$id.$newest/job\" || continue\n"
    "    [ ! -f \"$id.$newest/exit\" ] || code=$(sed -n 's/.*\"exit_code\":\\([0-9]*\\).*/\\1/p' "
    "\"$id.$newest/exit\")\n"
    "    word=$(echo \"$rows\" | sed -n \"s/^$number //p\" | head -n 1)\n"
    "    echo \"$id $(stat -c '%U %Y' \"$record\") ${code:--} ${word:--}\"\n"
    "done\n";

static const char *state_of(const char *code, const char *word)
{
    enum sw_state state = strcmp(word, "-") != 0  ? slurm_state(word, NULL)
                          : strcmp(code, "0") == 0 ? SW_COMPLETE
                          : strcmp(code, "-") == 0 ? SW_UNKNOWN : SW_ERROR;

    return sw_state_name(state);
}

json_t *slurm_jobs(struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    const char *base = slurm_base(conn, conn->options, err);
    json_t *rows;
    char *line, *rest;

    if (!base)
        return NULL;
    slurm_set(&script, "base", base);
    sw_buf_add(&script, jobs_text);
    if (slurm_ask(conn, script.data, NULL, 0, true, &reply, err) < 0)
        return NULL;
    rows = json_array();
    rest = reply.output.data;
    while (rest && (line = strsep(&rest, "\n"))) {
        char id[64], owner[64], code[16], word[32];
        long long at = 0;

        if (sscanf(line, "%63s %63s %18lld %15s %31s", id, owner, &at, code, word) == 5 && sw_id_valid(id))
            json_array_append_new(rows, sw_json_object(
                SW_STR("id", id), SW_STR("state", state_of(code, word)), SW_STR("owner", owner),
                SW_INT("created_ms", at * 1000)));
    }
    return rows;
}
