/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_names.c - what things of a job are called on the cluster.
 *
 * The layout is the Python SDK's (specs, env, meta, entrypoints, sbatch, slurm-logs, results). Two
 * things surprise: the folder of the logs is named after the attempt, because the number that Slurm
 * will give is not known when the folder has to exist (a link named after that number is made when
 * the job starts); and meta/<id>.<attempt>/ is a folder of small records that say what happened
 * even where accounting is switched off.
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

enum { WORD_MOST = 100 };

char *slurm_comment(const char *id, int attempt)
{
    return sw_format("slipway:%s:%d", id, attempt);
}

void slurm_names_init(struct slurm_names *names, const char *base, const char *prefix,
                      const char *id, int attempt)
{
    *names = (struct slurm_names){
        .base = sw_strdup(base),
        .job_name = sw_format("%s%s", prefix, id),
        .comment = slurm_comment(id, attempt),
        .specs = sw_format("%s/specs/%s.json", base, id),
        .env = sw_format("%s/env/%s.json", base, id),
        .secrets = sw_format("%s/env/%s.secrets", base, id),
        .meta = sw_format("%s/meta/%s.json", base, id),
        .entrypoint = sw_format("%s/entrypoints/job_%s.sh", base, id),
        .payload = sw_format("%s/entrypoints/job_%s.json", base, id),
        .code = sw_format("%s/entrypoints/job_%s.code.tar.gz", base, id),
        .rules = sw_format("%s/entrypoints/job_%s.rules.json", base, id),
        .sbatch = sw_format("%s/sbatch/job_%s.sbatch", base, id),
        .mounts = sw_format("%s/meta/%s.mounts", base, id),
        .state = sw_format("%s/meta/%s.%d", base, id, attempt),
        .logs = sw_format("%s/slurm-logs/%s%s.%d", base, prefix, id, attempt),
        .results = sw_format("%s/results/%s", base, id),
        .work = sw_format("%s/work/%s", base, id),
    };
}

void slurm_names_done(struct slurm_names *names)
{
    char **const all[] = {
        &names->base, &names->job_name, &names->comment, &names->specs, &names->env,
        &names->secrets, &names->meta, &names->entrypoint, &names->payload, &names->code,
        &names->rules, &names->sbatch, &names->mounts, &names->state, &names->logs,
        &names->results, &names->work,
    };

    for (size_t i = 0; i < SW_COUNT(all); i++) {
        free(*all[i]);
        *all[i] = NULL;
    }
}

static bool has_dots(const char *path)
{
    for (const char *at = strstr(path, ".."); at; at = strstr(at + 2, ".."))
        if ((at == path || at[-1] == '/') && (at[2] == '\0' || at[2] == '/'))
            return true;
    return false;
}

/* The first character that is neither a letter, a digit, nor one of these; NULL: there is none. */
static const char *odd_character(const char *text, const char *allowed)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr(allowed, *text))
            return text;
    return NULL;
}

/* A character as a message can show it. */
static char *shown(char c)
{
    return isprint((unsigned char)c) ? sw_format("'%c'", c) : sw_format("character %d", (unsigned char)c);
}

int slurm_path_check(const char *option, const char *path, struct sw_error *err)
{
    if (path[0] != '/' || !strcmp(path, "/") || has_dots(path))
        return sw_fail(err, SW_E_SPEC, "slurm.%s '%s' is not an absolute path below /", option, path);
    for (const char *at = path; (at = odd_character(at, "/._-+@=,")); at++) {
        sw_autofree char *what = shown(*at);

        if (!((unsigned char)*at & 0x80))
            return sw_fail(err, SW_E_SPEC, "slurm.%s '%s' contains a character that Slurm's file names "
                                           "cannot "
                           "have: %s", option, path, what);
    }
    return 0;
}

char *slurm_path_of(const char *place)
{
    static const char *const schemes[] = { "lustre://", "slurm://" };

    for (size_t i = 0; place && i < SW_COUNT(schemes); i++)
        if (sw_text_starts(place, schemes[i])) {
            place += strlen(schemes[i]);
            return *place == '/' ? sw_strdup(place) : *place ? sw_format("/%s", place) : NULL;
        }
    return place && *place == '/' ? sw_strdup(place) : NULL;
}

int slurm_base_check(const char *base, struct sw_error *err)
{
    if (!sw_text_empty(base))
        return slurm_path_check("base_dir", base, err);
    sw_fail(err, SW_E_SPEC, "no folder on the cluster is configured for the files of jobs");
    return sw_hint(err, "set slurm.base_dir or SLURM_BASE_RESULTS_DIR to a folder on its "
                        "shared file system");
}

int slurm_word_check(const char *option, const char *word, struct sw_error *err)
{
    const char *odd = odd_character(word, "._-+:@=,");
    sw_autofree char *what = odd ? shown(*odd) : NULL;

    if (!odd && strlen(word) <= WORD_MOST)
        return 0;
    if (odd)
        sw_fail(err, SW_E_SPEC, "slurm.%s '%s' may not contain %s", option, word, what);
    else
        sw_fail(err, SW_E_SPEC, "slurm.%s has more than %d characters", option, WORD_MOST);
    return sw_hint(err, "it becomes part of names and commands: letters, digits and . _ - + : @ = , only");
}
