/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data_there.c - the data of a job, tried from where it will run (`slipway preflight --probe`): by a job of
 * its platform that is like it and does nothing else (plan/plan_data.c, runner/try_data.c), so that every
 * platform can, and with the very network, settings and secrets that the job will have.
 *
 * Its rows come back in its log. The job ends by itself; its record is removed when its rows are here.
 */
#include <string.h>

#include "api/api_internal.h"
#include "base/text.h"
#include "core/finding.h"
#include "core/id.h"
#include "core/report.h"

enum { PATIENCE_MS = 15 * 60 * 1000, LOG_MAX = 1024 * 1024 };
#define CHECK "data from there"

/* ---- what it found ------------------------------------------------------------------------------ */

static int keep_piece(void *context, int replica, int64_t at_ms, const char *bytes, size_t length)
{
    struct sw_buf *log = context;

    (void)replica, (void)at_ms;
    if (log->length + length > LOG_MAX)
        return 1;
    sw_buf_add_bytes(log, bytes, length);
    return 0;
}

/* A row as the runner writes it, and nothing else: a log is written by others, too. Owned, or NULL. */
static json_t *row_of(const char *line, size_t length)
{
    const size_t start = strlen(SW_RUNNER_SAYS SW_DATA_WORD);
    sw_auto(json) json_t *row = NULL;

    if (length < start || strncmp(line, SW_RUNNER_SAYS SW_DATA_WORD, start) != 0)
        return NULL;
    row = json_loadb(line + start, length - start, 0, NULL);
    return sw_json_str(row, "check") && json_is_boolean(json_object_get(row, "ok")) ? sw_take(row) : NULL;
}

static void add_rows(const struct sw_buf *log, json_t *rows)
{
    for (const char *at = sw_buf_text(log); *at;) {
        size_t length = strcspn(at, "\n");
        json_t *row = row_of(at, length);

        if (row)
            json_array_append_new(rows, row);
        at += length + (at[length] == '\n');
    }
}

/* ---- the job ------------------------------------------------------------------------------------ */

static int submit(struct sw_session *session, const struct sw_request *request, char id[SW_ID_SIZE],
                  struct sw_error *err)
{
    struct sw_request asked = *request;            /* borrows from it */

    asked.only_data = true;
    sw_id_make("probe", asked.id);
    return sw_submit(session, &asked, id, err) < 0 ? sw_wrap(err, "cannot submit a job that tries the data")
                                                   : 0;
}

/* Why it has no result; -1 always. */
static int say_end(struct sw_session *session, const char *id, struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job row = { 0 };

    if (sw_store_get(session->store, id, SW_COLUMNS_ALL, &row, err) < 0)
        return -1;
    return sw_fail(err, SW_E_REFUSED, "the job that tries it ended as %s: %s", sw_state_name(row.state),
                   sw_text_empty(row.message) ? "no reason is known" : row.message);
}

static int read_rows(struct sw_session *session, const char *id, json_t *rows, struct sw_error *err)
{
    const struct sw_log_options options = { .size = sizeof options };
    sw_auto(sw_buf) struct sw_buf log = SW_BUF_INIT;

    if (sw_logs(session, id, &options, keep_piece, &log, err) < 0)
        return -1;
    add_rows(&log, rows);
    return 0;
}

/* It has not begun for so long: that is the queue's matter, and says nothing about its data. */
static int give_up(struct sw_session *session, const char *id, json_t *rows, struct sw_error *err)
{
    if (sw_cancel(session, id, err) < 0)
        return -1;
    sw_finding_open(rows, CHECK, SW_STATE_NOT_CHECKED,
                    "the job that tries it did not finish within 15 minutes, and was canceled", NULL);
    return 0;
}

static int try_it(struct sw_session *session, const char *id, json_t *rows, struct sw_error *err)
{
    struct sw_error why = { 0 };
    int status;

    if (sw_wait(session, id, PATIENCE_MS, NULL, NULL, &status, &why) < 0)
        return why.code == SW_E_TIMEOUT ? give_up(session, id, rows, err) : sw_pass(err, &why);
    if (read_rows(session, id, rows, err) < 0)
        return -1;
    return status == 0 ? 0 : say_end(session, id, err);
}

void api_data_there(struct sw_session *session, const struct sw_request *request, json_t *rows)
{
    char id[SW_ID_SIZE] = "";
    struct sw_error why = { 0 }, left = { 0 };

    if (submit(session, request, id, &why) < 0 || try_it(session, id, rows, &why) < 0)
        sw_finding_error(rows, CHECK, &why);
    if (id[0] && sw_remove(session, id, false, &left) < 0)
        api_warn(session, left.message);
}
