/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp_job.c - `slipway cp JOB:PATH TO` and `slipway cp FROM JOB:PATH` (cp_job.h).
 */
#include "cli/cp_job.h"

#include <string.h>

#include "cli/cli_transfer.h"

bool cli_cp_is_job(const char *word)
{
    size_t length = strcspn(word, ":/");

    return length > 0 && word[length] == ':' && strncmp(word + length, "://", 3) != 0;
}

json_t *cli_cp_job(struct cli *cli, const char *from, const char *to, int rank, struct sw_error *err)
{
    bool out = cli_cp_is_job(from);
    const char *word = out ? from : to, *path = strchr(word, ':') + 1;
    sw_autofree char *selector = sw_strndup(word, (size_t)(path - 1 - word));
    sw_autofree char *id = NULL;
    char *text;

    if (out && cli_cp_is_job(to))
        return sw_null(sw_fail(err, SW_E_USAGE, "one of the two places must be on this machine"));
    if (strstr(out ? to : from, "://")) {
        sw_fail(err, SW_E_USAGE, "between a running job and a URI nothing is copied directly");
        return sw_null(sw_hint(err, "copy it to this machine first, or copy inside the job with "
                                    "`slipway exec`"));
    }
    id = cli_select_one(cli, selector, err);
    if (!id)
        return NULL;
    text = out ? sw_copy_from_job(cli->session, id, rank, path, to, cli_transfer, cli, err)
               : sw_copy_to_job(cli->session, id, rank, from, path, cli_transfer, cli, err);
    cli_transfer_end(cli);
    return cli_document(text, err);
}
