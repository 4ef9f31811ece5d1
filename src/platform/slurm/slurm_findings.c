/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_findings.c - the answers of slurm_checks.sh in words for people, each with its fix.
 *
 * Pure. A line that nobody knows is passed over: an older or newer script is no reason to fail.
 */
#include "platform/slurm/slurm_site.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "platform/slurm/slurm_internal.h"

#define LEAST_FREE_KIB (1024 * 1024)

static const struct meaning {
    const char *key, *check;
    const char *good;              /* what "skip" means; NULL: says itself */
    const char *fix;
} meanings[] = {
    { "slurm", "slurm", NULL,
      "make sbatch and squeue known to logins without a terminal (~/.bashrc), or name another host" },
    { "controller", "controller", NULL, "wait until the cluster's controller is back" },
    { "accounting", "accounting", "absent here: how a job ended is read from our own records", NULL },
    { "partition", "partition", NULL, "name one of those with slurm.partition or SLURM_PARTITION" },
    { "account", "account", "not kept here: none is needed",
      "name one of yours with slurm.account or SLURM_ACCOUNT, or ask the administrators for one" },
    { "pyxis", "pyxis", NULL,
      "ask the administrators for Pyxis, or use `container: none` (or `oci`) in the slurm block" },
    { "oci", "OCI bundle", NULL,
      "name a bundle on the shared file system; --container needs Slurm 21.08 and an oci.conf of the site" },
    { "base", "base folder", NULL,
      "choose a folder that you may write to with slurm.base_dir or SLURM_BASE_RESULTS_DIR" },
    { "node", "shared folder", "no compute node was free to look at it",
      "choose a folder of the shared file system with slurm.base_dir" },
};

void slurm_finding(json_t *rows, const char *check, bool ok, const char *message, const char *fix)
{
    sw_autofree char *text = sw_text_printable(message, strnlen(message, 600));

    json_array_append_new(rows, sw_json_object(
        SW_STR("check", check), SW_BOOL("ok", ok), SW_STR("message", text),
        SW_STR("fix", ok || !fix ? "" : fix)));
}

/* Only told: a job may name several partitions, and one that allows its time is enough. */
static void add_limit(json_t *rows, const struct slurm_wish *wish, const char *partition,
                      const char *limit)
{
    sw_autofree char *check = sw_format("time limit of %.60s", partition);
    sw_autofree char *message = NULL;

    if (wish->minutes <= 0)
        return;
    message = sw_format("%lld minutes are asked for, %.40s are allowed", (long long)wish->minutes,
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

/* "ok HOST FILE", "missing HOST FILE", "open HOST MODE FILE" of slurm_credentials.sh. */
static void add_credential(json_t *rows, const struct slurm_wish *wish, char *line)
{
    const char *verdict = strsep(&line, " "), *host = line ? strsep(&line, " ") : NULL;
    const char *file = line ? line : "";
    sw_autofree char *check = NULL, *message = NULL, *fix = NULL;

    if (!host)
        return;
    check = sw_format("credentials for %.100s", host);
    if (sw_text_same(verdict, "ok")) {
        slurm_finding(rows, check, true, file, NULL);
    } else if (sw_text_same(verdict, "missing")) {
        message = sw_format("none in %.300s: %s", file, wish->login_brought
                            ? "registry_login brings them with the job" : "public images only");
        fix = sw_format("set slurm.registry_login, or add the line 'machine %.100s login LOGIN password "
                        "KEY' to %.300s and chmod 600 it", host, file);
        slurm_finding(rows, check, wish->login_brought || !wish->secret_named, message, fix);
    } else if (sw_text_same(verdict, "open")) {
        const char *path = strchr(file, ' ');

        path = path ? path + 1 : file;
        message = sw_format("%.300s may be read by others", path);
        fix = sw_format("run there: chmod 600 %.300s", path);
        slurm_finding(rows, check, false, message, fix);
    }
}

static void add_answer(json_t *rows, const char *key, const char *verdict, const char *text)
{
    for (size_t i = 0; i < SW_COUNT(meanings); i++) {
        if (!sw_text_same(meanings[i].key, key))
            continue;
        if (sw_text_same(verdict, "skip") && meanings[i].good)
            slurm_finding(rows, meanings[i].check, true, meanings[i].good, NULL);
        else
            slurm_finding(rows, meanings[i].check, !sw_text_same(verdict, "no"), text,
                          meanings[i].fix);
    }
}

void slurm_findings(json_t *rows, const struct slurm_wish *wish, const char *answers)
{
    sw_autofree char *copy = sw_strdup(answers);
    char *rest = copy;

    for (char *line; (line = strsep(&rest, "\n"));) {
        const char *key, *second;

        if (sw_text_starts(line, "credential ")) {
            add_credential(rows, wish, line + strlen("credential "));
            continue;
        }
        if (sw_text_starts(line, "refusal ")) {
            slurm_refusal_finding(rows, line + strlen("refusal "));
            continue;
        }
        key = strsep(&line, "|");
        second = line ? strsep(&line, "|") : NULL;
        if (!second || !line)
            continue;
        if (sw_text_same(key, "limit"))
            add_limit(rows, wish, second, line);
        else if (sw_text_same(key, "space"))
            add_space(rows, second, line);
        else
            add_answer(rows, key, second, line);
    }
}
