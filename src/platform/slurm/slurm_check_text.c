/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_check_text.c - the records of slurm_checks.sh and the refusals of our scripts in words for people,
 * each with its fix.
 *
 * A submit ends with the first refusal; a preflight lists them all.
 *
 * Pure, but for this machine's clock beside the login host's.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "core/finding.h"

#define LEAST_FREE_KIB (1024 * 1024)

static const struct {
    const char *key, *check;
    const char *good;              /* what "skip" means; NULL: says itself */
    const char *fix;
    bool open;                     /* "skip" means that it was not checked */
} meanings[] = {
    { "slurm", "slurm", NULL,
      "put sbatch and squeue in the PATH of logins without a terminal (~/.bashrc), or use another host" },
    { "controller", "controller", NULL, "wait until the cluster's controller is back" },
    { "accounting", "accounting", "absent here: how a job ended is read from Slipway's own records", NULL },
    { "partition", "partition", NULL, "name one of those with slurm.partition or SLURM_PARTITION" },
    { "account", "account", "not kept here: none is needed",
      "name one of yours with slurm.account or SLURM_ACCOUNT, or ask the administrators for one" },
    { "pyxis", "pyxis", NULL,
      "ask the administrators for Pyxis, or use `container: none` (or `oci`) in the slurm block" },
    { "oci", "OCI bundle", NULL,
      "name a bundle on the shared file system; --container needs Slurm 21.08 and an oci.conf of the site" },
    { "base", "base folder", NULL,
      "choose a folder that you may write to with slurm.base_dir or SLURM_BASE_RESULTS_DIR" },
    { "node", "shared folder", "no compute node was free to check it",
      "choose a folder of the shared file system with slurm.base_dir", .open = true },
    { "nodepaths", "paths on a node", NULL,
      "name paths of the shared file system, which compute nodes see and may write to" },
};

static const struct {
    const char *word;
    const char *check;             /* what preflight calls it */
    enum sw_code code;
    const char *message, *hint;
} refusals[] = {
    { "missing", "paths", SW_E_SPEC, "the cluster does not have: ",
      "paths of inputs and mounts are the cluster's own; --no-check submits without checking" },
    { "image", "image", SW_E_SPEC, "the cluster does not have the image: ",
      "the path of a squashfs file is the cluster's own; --no-check submits without checking" },
    { "output", "outputs", SW_E_SPEC, "an output: ",
      "name a folder of the cluster that you may write to, or leave `to` out and fetch it with "
      "`slipway get`" },
    { "limit", "time", SW_E_SPEC, "the job's time is above the limit of its partition: ",
      "ask for less `time:` and continue from a checkpoint, or name another partition" },
    { "machines", "machines", SW_E_UNSUPPORTED, "no runner for the machines of this partition: ",
      "runners exist for x86_64 and aarch64; slurm.arch selects one, whatever Slurm calls it" },
    { "convert", "image conversion", SW_E_REFUSED, "Slurm rejected the job that converts the image: ",
      "see the message; slurm.conversion_partition names its partition" },
    { "bundle", "OCI bundle", SW_E_SPEC, "the job's OCI bundle: ",
      "add a bind mount with that folder as source and destination; without it the job cannot see its own "
      "files" },
    { "depend", "dependency", SW_E_SPEC, "what the job waits for: ",
      "slurm.dependency takes ids of jobs in the same base folder, or Slurm's numbers" },
    { "base", "base folder", SW_E_REFUSED, "the job's folder: ",
      "choose a folder of the shared file system that you may write to (slurm.base_dir)" },
    { "theirs", "base folder", SW_E_REFUSED, "the job's folder is not yours alone: ",
      "another user could replace what runs as you: use a folder of your own (slurm.base_dir), or remove "
      "write access (chmod go-w)" },
    { "canceled", "job", SW_E_CONFLICT, "", "submit it again under another id, or `slipway retry`" },
    { "account", "account", SW_E_REFUSED, "Slurm rejected the job: ",
      "set the account to charge: slurm.account, or SLURM_ACCOUNT" },
    { "refused", "Slurm", SW_E_REFUSED, "Slurm rejected the job: ",
      "see the message; `slipway inventory slurm` shows partitions, limits and GPUs" },
    { "cut", "connection", SW_E_UNREACHABLE, "", "" },
};

void slurm_finding(json_t *rows, const char *check, bool ok, const char *message, const char *fix)
{
    sw_autofree char *text = sw_text_printable(message, strnlen(message, 600));

    sw_finding(rows, check, ok, text, fix);
}

/* Only told: a job may name several partitions, and one that allows its time is enough. */
static void add_limit(json_t *rows, const struct slurm_checked *job, const char *partition,
                      const char *limit)
{
    sw_autofree char *check = sw_format("time limit of %.60s", partition);
    sw_autofree char *message = NULL;

    if (job->minutes <= 0)
        return;
    message = sw_format("%lld minutes requested, %.40s allowed", (long long)job->minutes,
                        limit);
    slurm_finding(rows, check, true, message, NULL);
}

static void add_space(json_t *rows, const char *free_kib, const char *where)
{
    char *end;
    long long kib = strtoll(free_kib, &end, 10);
    sw_autofree char *message = NULL;
    char size[32];

    if (end == free_kib || *end || kib < 0 || kib > INT64_MAX / 1024)
        return;
    sw_size_format(kib * 1024, size);
    message = sw_format("%s free on %.200s", size, where);
    slurm_finding(rows, "space", kib >= LEAST_FREE_KIB, message,
                  "remove old results (`slipway gc`), or choose another folder with slurm.base_dir");
}

static void add_clock(json_t *rows, const char *seconds)
{
    long long theirs_s = strtoll(seconds, NULL, 10);

    if (theirs_s > 0 && theirs_s < INT64_MAX / 1000)
        sw_finding_clock(rows, "the login host", theirs_s * 1000, sw_now_ms());
}

/* "WORD MACHINE FILE" of slurm_credentials.sh. */
static void add_credential(json_t *rows, const struct slurm_checked *job, struct slurm_record *record)
{
    const char *word = slurm_field(record), *host = slurm_field(record), *file = record->rest;
    sw_autofree char *check = sw_format("credentials for %.100s", host);
    sw_autofree char *message = NULL, *fix = NULL;

    if (sw_text_same(word, "ok")) {
        slurm_finding(rows, check, true, file, NULL);
    } else if (sw_text_same(word, "missing")) {
        message = sw_format("none in %.300s: %s", file, job->login_brought
                            ? "registry_login sends them with the job" : "public images only");
        fix = sw_format("set slurm.registry_login, or add the line 'machine %.100s login LOGIN password "
                        "KEY' to %.300s and chmod 600 it", host, file);
        slurm_finding(rows, check, job->login_brought || !job->secret_named, message, fix);
    } else if (sw_text_same(word, "open")) {
        message = sw_format("others can read %.300s", file);
        fix = sw_format("run there: chmod 600 %.300s", file);
        slurm_finding(rows, check, false, message, fix);
    }
}

static void add_answer(json_t *rows, const char *key, const char *verdict, const char *text)
{
    for (size_t i = 0; i < SW_COUNT(meanings); i++) {
        if (!sw_text_same(meanings[i].key, key))
            continue;
        if (sw_text_same(verdict, "skip") && meanings[i].open)
            sw_finding_open(rows, meanings[i].check, SW_STATE_NOT_CHECKED, meanings[i].good, NULL);
        else if (sw_text_same(verdict, "skip") && meanings[i].good)
            slurm_finding(rows, meanings[i].check, true, meanings[i].good, NULL);
        else
            slurm_finding(rows, meanings[i].check, !sw_text_same(verdict, "no"), text,
                          meanings[i].fix);
    }
}

/* "WORD TEXT"; the row of `refusals`; -1: it has none. */
static int refusal_of(struct slurm_record *record)
{
    const char *word = slurm_field(record);

    for (size_t i = 0; i < SW_COUNT(refusals); i++)
        if (sw_text_same(refusals[i].word, word))
            return (int)i;
    return -1;
}

int slurm_refused(struct slurm_record *record, struct sw_error *err)
{
    int i = refusal_of(record);

    if (i < 0)
        return sw_fail(err, SW_E_UNREACHABLE, "unexpected answer from the login node");
    sw_fail(err, refusals[i].code, "%s%.1000s", refusals[i].message, record->rest);
    return sw_hint(err, "%s", refusals[i].hint);
}

static void add_refusal(json_t *rows, struct slurm_record *record)
{
    int i = refusal_of(record);
    sw_autofree char *message = NULL;

    if (i < 0)
        return;
    message = sw_format("%s%.500s", refusals[i].message, record->rest);
    slurm_finding(rows, refusals[i].check, false, message, refusals[i].hint);
}

void slurm_check_text(json_t *rows, const struct slurm_checked *job, const char *answers)
{
    sw_auto(sw_buf) struct sw_buf copy = SW_BUF_INIT;
    struct slurm_records records;
    struct slurm_record record;

    sw_buf_add(&copy, answers);
    records = slurm_records_of(&copy);
    while (slurm_record_next(&records, &record)) {
        const char *second;

        if (sw_text_same(record.kind, "credential")) {
            add_credential(rows, job, &record);
            continue;
        }
        if (sw_text_same(record.kind, "clock")) {
            add_clock(rows, record.rest);
            continue;
        }
        if (sw_text_same(record.kind, "refused")) {
            add_refusal(rows, &record);
            continue;
        }
        second = slurm_field(&record);
        if (!*record.rest)
            continue;
        if (sw_text_same(record.kind, "limit"))
            add_limit(rows, job, second, record.rest);
        else if (sw_text_same(record.kind, "space"))
            add_space(rows, second, record.rest);
        else
            add_answer(rows, record.kind, second, record.rest);
    }
}
