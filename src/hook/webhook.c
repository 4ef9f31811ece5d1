/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webhook.c - post the event as JSON: three tries, thirty seconds each at most.
 *
 * The address often is a secret (who knows a chat's webhook may write there), so it may be given
 * as ${NAME}, and no report has it. A refusal is final, theirs (4xx) or ours
 * (its certificate); a server's own trouble (5xx) and a broken connection are worth another try.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/text.h"
#include "core/job_values.h"
#include "hook/hook.h"
#include "net/http_post.h"

enum { TRIES = 3, TIMEOUT_MS = 30000, FIRST_PAUSE_MS = 1000 };

/* ${NAME} from the environment and the job's .env files; NULL and *missing when one is not set. */
static char *fill_in(const char *url, struct sw_environment *values, char **missing)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    for (const char *at = url; *at;) {
        const char *open = strstr(at, "${"), *close = open ? strchr(open, '}') : NULL;
        sw_autofree char *name = NULL;

        if (!close) {
            sw_buf_add(&out, at);
            break;
        }
        name = sw_strndup(open + 2, (size_t)(close - open - 2));
        if (sw_text_empty(sw_environment_get(values, name))) {
            *missing = sw_take(name);
            return NULL;
        }
        sw_buf_add_bytes(&out, at, (size_t)(open - at));
        sw_buf_add(&out, sw_environment_get(values, name));
        at = close + 1;
    }
    return sw_buf_steal(&out);
}

/* 1: try again. */
static int try_once(const char *url, const char *body, char **result)
{
    struct sw_error why = { 0 };
    long status = 0;

    free(sw_take(*result));
    if (sw_http_post_json(url, body, TIMEOUT_MS, &status, &why) < 0) {
        *result = sw_format("%s%s%s", why.message, why.hint[0] ? "; " : "", why.hint);
        return why.code == SW_E_SPEC || why.code == SW_E_REFUSED ? -1 : 1;
    }
    *result = sw_format("answered %ld", status);
    if (status >= 200 && status < 300)
        return 0;
    return status >= 500 || status == 429 ? 1 : -1;
}

int hook_webhook(const struct sw_notice *notice, const char *url, char **result)
{
    sw_auto(json) json_t *document = hook_document(notice);
    sw_autofree char *body = sw_json_dump(document);
    sw_autofree char *missing = NULL;
    sw_auto(sw_environment) struct sw_environment *values =
        sw_job_values(json_object_get(notice->job.plan, "dotenv"));
    sw_autofree char *address = fill_in(url, values, &missing);
    int outcome = 1;

    if (!address) {
        *result = sw_format("%s is not set where the job is watched", missing);
        return -1;
    }
    for (int i = 0; i < TRIES && outcome > 0; i++) {
        if (i > 0)
            sw_sleep_ms((int64_t)FIRST_PAUSE_MS << (2 * (i - 1)));
        outcome = try_once(address, body, result);
    }
    return outcome == 0 ? 0 : -1;
}
