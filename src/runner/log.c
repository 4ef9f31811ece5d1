/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - the runner's own lines in the job's log: few, marked, and never a secret.
 *
 * The log is the user's. Lines of ours begin with "slipway: " and go to standard error in one
 * write, so that they never land inside of a line of the command.
 */
#include "runner/runner.h"

#include <stdio.h>
#include <unistd.h>

#include "base/shown.h"
#include "core/report.h"

static struct sw_secrets *kept;           /* all there are */
static struct sw_redactor *redactor;      /* NULL: there are no secrets */

void runner_keep_secrets(struct sw_secrets *secrets)
{
    sw_redactor_free(redactor);
    sw_secrets_free(kept);
    kept = secrets;
    redactor = runner_redactor_new();
}

struct sw_redactor *runner_redactor_new(void)
{
    return sw_secrets_count(kept) ? sw_redactor_new(kept) : NULL;
}

void runner_complain(const char *text)
{
    dprintf(STDERR_FILENO, "%s\n", text);
}

void runner_log(const char *fmt, ...)
{
    sw_auto(sw_buf) struct sw_buf line = SW_BUF_INIT, clean = SW_BUF_INIT;
    char text[4096];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    sw_uris_hide(text);
    sw_buf_addf(&line, SW_RUNNER_SAYS "%s\n", text);
    if (redactor) {
        sw_redactor_feed(redactor, line.data, line.length, &clean);
        sw_redactor_flush(redactor, &clean);
    }
    /* A log that cannot be written is no reason to end the job. */
    if (write(2, redactor ? clean.data : line.data, redactor ? clean.length : line.length) < 0)
        return;
}
