/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - a bundle for a bug report: enough to understand, nothing to regret.
 *
 * Every text goes through the redactor (redactor.c). Values of `env` are left out; their names stay.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "api/api_internal.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/secret.h"
#include "base/shown.h"
#include "base/text.h"
#include "core/archive.h"

enum { LOG_LINES = 200, LOG_MOST = 1024 * 1024 };

struct report {
    struct sw_session *session;
    struct sw_redactor *redactor;
    struct sw_buf tar;
};

static json_t *harmless_plan(const json_t *plan)
{
    json_t *copy = json_deep_copy(plan);
    json_t *env = json_object_get(copy, "env"), *notify = json_object_get(copy, "notify"), *value;
    const char *name;

    json_object_foreach(env, name, value)
        json_object_set_new(env, name, json_string("[left out]"));
    if (json_object_get(notify, "webhook"))
        json_object_set_new(notify, "webhook", json_string("[left out]"));
    return copy;
}

/* ---- the texts --------------------------------------------------------------------------------- */

static void add_text(struct report *report, const char *name, const char *text, size_t length)
{
    sw_auto(sw_buf) struct sw_buf clean = SW_BUF_INIT;

    sw_redactor_feed(report->redactor, text, length, &clean);
    sw_redactor_flush(report->redactor, &clean);
    sw_buf_add(&clean, "");
    for (size_t i = 0; i < clean.length; i++)
        clean.data[i] = clean.data[i] ? clean.data[i] : ' ';
    sw_uris_hide(clean.data);
    clean.length = strlen(clean.data);
    sw_tar_add(&report->tar, &(struct sw_archive_member){
        .name = name, .mode = 0600, .size = (int64_t)clean.length, .mtime_s = sw_now_ms() / 1000,
        .uid = geteuid(), .gid = getegid() }, clean.data);
}

/* Takes over `text` (JSON), which may be NULL: then `why` is the text. */
static void add_json(struct report *report, const char *name, char *text,
                     const struct sw_error *why)
{
    sw_auto(json) json_t *document = text ? sw_json_parse(text, strlen(text), name, NULL) : NULL;
    sw_autofree char *pretty = document ? sw_json_dump_pretty(document) : sw_strdup(why->message);

    free(text);
    add_text(report, name, pretty, strlen(pretty));
}

static void add_about(struct report *report)
{
    struct utsname system = { 0 };
    sw_autofree char *text = NULL;
    char now[40];

    uname(&system);
    sw_time_format(sw_now_ms(), now);
    text = sw_format("slipway %s\nsystem %s %s %s\ntime %s\n", sw_version(), system.sysname,
                     system.release, system.machine, now);
    add_text(report, "about.txt", text, strlen(text));
}

static int keep_log(void *context, int replica, int64_t at_ms, const char *bytes, size_t length)
{
    struct sw_buf *log = context;

    (void)replica, (void)at_ms;
    sw_buf_add_bytes(log, bytes, length);
    return log->length > LOG_MOST;
}

static void add_log(struct report *report, const char *id)
{
    const struct sw_log_options options = { .size = sizeof options,
                                            .tail_lines = LOG_LINES };
    sw_auto(sw_buf) struct sw_buf log = SW_BUF_INIT;

    sw_logs(report->session, id, &options, keep_log, &log, NULL);
    add_text(report, "log.txt", sw_buf_text(&log), log.length);
}

static void add_job(struct report *report, const char *id, const json_t *plan)
{
    struct sw_session *session = report->session;
    struct sw_error why = { 0 };
    sw_auto(json) json_t *harmless = harmless_plan(plan);

    add_json(report, "status.json", sw_status(session, id, SW_LOOK_STORED, &why), &why);
    add_json(report, "events.json", sw_events(session, id, 0, &why), &why);
    add_json(report, "why.json", sw_why(session, id, &why), &why);
    add_json(report, "replicas.json", sw_replicas(session, id, &why), &why);
    add_json(report, "plan.json", harmless ? sw_json_dump(harmless) : sw_strdup("null"), &why);
    add_log(report, id);
}

int sw_report(struct sw_session *session, const char *id, const char *path, struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job row = { 0 };
    sw_auto(sw_redactor) struct sw_redactor *redactor = NULL;
    struct report report = { .session = session };
    struct sw_error why = { 0 };
    int result;

    if (id && sw_store_get(session->store, id, SW_COLUMNS_ALL, &row, err) < 0)
        return -1;
    report.redactor = redactor = api_redactor(session, row.plan, NULL);
    add_about(&report);
    add_json(&report, "doctor.json", sw_doctor(session, &why), &why);
    add_json(&report, "platforms.json", sw_platforms(session, NULL, &why), &why);
    if (id)
        add_job(&report, id, row.plan);
    sw_tar_end(&report.tar);
    result = sw_file_write(path, report.tar.data, report.tar.length, 0600, err);
    sw_buf_wipe(&report.tar);
    return result;
}
