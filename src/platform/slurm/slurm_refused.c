/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_refused.c - the words with which our scripts on a login host refuse a job, and what they mean.
 *
 * A submit ends with the first of them; a preflight lists them all.
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

#include <string.h>

#include "base/text.h"
#include "platform/slurm/slurm_site.h"

enum { FAILED = 1 };               /* what fail() of the script ends with */

static const struct refusal {
    const char *word;
    const char *check;             /* what preflight calls it */
    enum sw_code code;
    const char *message, *hint;
} refusals[] = {
    { "missing", "paths", SW_E_SPEC, "the cluster does not have: ",
      "paths of inputs and mounts are the cluster's own; --no-check submits without looking" },
    { "image", "image", SW_E_SPEC, "the cluster does not have the image: ",
      "the path of a squashfs file is the cluster's own; --no-check submits without looking" },
    { "output", "outputs", SW_E_SPEC, "an output: ",
      "name a folder of the cluster that you may write to, or leave `to` out and fetch it with "
      "`slipway get`" },
    { "limit", "time", SW_E_SPEC, "the job's time is above the limit of its partition: ",
      "ask for less `time:` and go on from a checkpoint, or name another partition" },
    { "machines", "machines", SW_E_UNSUPPORTED, "there is no runner for the machines of this partition: ",
      "runners exist for x86_64 and aarch64; slurm.arch says which kind to take, whatever Slurm calls it" },
    { "convert", "image conversion", SW_E_REFUSED, "Slurm refused the job that converts the image: ",
      "see the message; slurm.conversion_partition names its partition" },
    { "bundle", "OCI bundle", SW_E_SPEC, "the job's OCI bundle: ",
      "add a mount of type bind with that folder as source and destination; without it the job cannot "
      "see its own files" },
    { "depend", "dependency", SW_E_SPEC, "what the job waits for: ",
      "slurm.dependency takes ids of jobs in the same base folder, or Slurm's numbers" },
    { "base", "base folder", SW_E_REFUSED, "the job's folder: ",
      "choose a folder of the shared file system that you may write to (slurm.base_dir)" },
    { "theirs", "base folder", SW_E_REFUSED, "the job's folder is not yours alone: ",
      "another user could exchange what runs as you: name a folder of your own (slurm.base_dir), or "
      "take their right "
      "to write (chmod go-w)" },
    { "canceled", "job", SW_E_CONFLICT, "", "submit it again under another id, or `slipway retry`" },
    { "account", "account", SW_E_REFUSED, "Slurm refused the job: ",
      "say which account is charged: slurm.account, or SLURM_ACCOUNT" },
    { "refused", "Slurm", SW_E_REFUSED, "Slurm refused the job: ",
      "see the message; `slipway inventory slurm` shows partitions, limits and GPUs" },
    { "cut", "connection", SW_E_UNREACHABLE, "", "" },
};

static void bars_to_blanks(char *text)
{
    for (char *bar = text; (bar = strchr(bar, '|'));)
        *bar = ' ';
}

/* The last line "word|text" of what the script said on its standard error. A script that refuses says so
 * and ends with 1; one that ended otherwise (killed with its shell, out of memory) may have sent the job
 * before. */
int slurm_refused(const struct sw_ssh_reply *reply, struct sw_error *err)
{
    const char *said = sw_buf_text(&reply->errors);

    for (size_t i = 0; reply->exit_code == FAILED && i < SW_COUNT(refusals); i++) {
        const char *at = strstr(said, refusals[i].word);
        sw_autofree char *text = NULL;

        while (at && (at[strlen(refusals[i].word)] != '|' || (at > said && at[-1] != '\n')))
            at = strstr(at + 1, refusals[i].word);
        if (!at)
            continue;
        text = sw_strdup(at + strlen(refusals[i].word) + 1);
        for (size_t end = strlen(text); end > 0 && text[end - 1] == '\n'; end--)
            text[end - 1] = '\0';
        bars_to_blanks(text);
        sw_fail(err, refusals[i].code, "%s%.1000s", refusals[i].message, text);
        return sw_hint(err, "%s", refusals[i].hint);
    }
    sw_fail(err, SW_E_UNREACHABLE, "the commands on the login node ended (exit code %d) before they "
            "told how it went%s%.500s", reply->exit_code, *said ? ": " : "", said);
    return sw_hint(err, "the job may have been queued: the next look finds out");
}

void slurm_refusal_finding(json_t *rows, char *line)
{
    const char *word = strsep(&line, "|");

    for (size_t i = 0; line && i < SW_COUNT(refusals); i++) {
        sw_autofree char *message = NULL;

        if (!sw_text_same(refusals[i].word, word))
            continue;
        bars_to_blanks(line);
        message = sw_format("%s%.500s", refusals[i].message, line);
        slurm_finding(rows, refusals[i].check, false, message, refusals[i].hint);
        return;
    }
}
