/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_text.c - the shell texts, line by line as the build found them, without their comments.
 *
 * Pure: no I/O.
 */
#include "platform/slurm/slurm_text.h"

static const char *const image[] = {
#include "platform/slurm/slurm_image.sh.inc"
    NULL
};
static const char *const credentials[] = {
#include "platform/slurm/slurm_credentials.sh.inc"
    NULL
};
static const char *const retry[] = {
#include "platform/slurm/slurm_retry.sh.inc"
    NULL
};

static const char *const checks[] = {
#include "platform/slurm/slurm_checks.sh.inc"
    NULL
};

static const char *const caches[] = {
#include "platform/slurm/slurm_caches.sh.inc"
    NULL
};

static const char *const *const texts[] = {
    [SLURM_TEXT_IMAGE] = image,
    [SLURM_TEXT_CREDENTIALS] = credentials,
    [SLURM_TEXT_RETRY] = retry,
    [SLURM_TEXT_CHECKS] = checks,
    [SLURM_TEXT_CACHES] = caches,
};

void slurm_text_add(struct sw_buf *out, enum slurm_text which)
{
    for (const char *const *line = texts[which]; *line; line++)
        sw_buf_add(out, *line);
}

void slurm_set(struct sw_buf *out, const char *name, const char *value)
{
    sw_buf_addf(out, "%s=", name);
    sw_buf_add_quoted(out, value ? value : "");
    sw_buf_add_char(out, '\n');
}

void slurm_set_number(struct sw_buf *out, const char *name, long long value)
{
    sw_buf_addf(out, "%s=%lld\n", name, value);
}

void slurm_set_patience(struct sw_buf *out, const struct slurm_patience *patience)
{
    slurm_set_number(out, "SW_LEASE", patience->lease_s > 0 ? patience->lease_s : 60);
    slurm_set_number(out, "SW_BEAT", patience->beat_s > 0 ? patience->beat_s : 10);
    slurm_set_number(out, "SW_PATIENCE", patience->wait_s > 0 ? patience->wait_s : 3600);
    slurm_set_number(out, "SW_STEP", 1);
}
