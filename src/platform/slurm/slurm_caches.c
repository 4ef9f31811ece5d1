/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_caches.c - `gc --caches` on a cluster: runners of other versions that no job names any more.
 *
 * Jobs themselves are not looked for: what they leave is found by their rows. Without --caches the cluster
 * is not asked.
 */
#include "platform/slurm/slurm_internal.h"

#include <string.h>

#include "base/text.h"
#include "platform/slurm/slurm_text.h"

static void add_rows(json_t *rows, char *answer)
{
    for (char *line; (line = strsep(&answer, "\n"));) {
        bool removed = sw_text_starts(line, "removed ");

        if (removed || sw_text_starts(line, "kept "))
            json_array_append_new(rows, sw_json_object(
                SW_STR("what", "cache"), SW_STR("where", strchr(line, ' ') + 1), SW_STR("job", ""),
                SW_BOOL("removed", removed)));
    }
}

json_t *slurm_orphans(struct sw_connection *conn, const struct sw_sweep *sweep, struct sw_error *err)
{
    sw_auto(json) json_t *rows = json_array();
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    const char *base;

    if (!sweep->caches)
        return sw_take(rows);
    base = slurm_base(conn, NULL, err);
    if (!base)
        return NULL;
    sw_buf_add(&script, SLURM_ENVIRONMENT SLURM_WHOLE);
    slurm_text_add(&script, SLURM_TEXT_CACHES);
    slurm_set(&script, "base", base);
    sw_buf_addf(&script, "sw_caches \"$base\" %s", sweep->remove ? "yes" : "no");
    slurm_runner_names(&script, conn);
    sw_buf_add_char(&script, '\n');
    if (slurm_ask(conn, script.data, NULL, 0, false, &reply, err) < 0)
        return NULL;
    add_rows(rows, reply.output.data);
    return sw_take(rows);
}
