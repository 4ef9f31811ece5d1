/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai_kept_log.c - a log that comes from the results store, where neither the Kubernetes API nor the
 * Cluster API can be read.
 *
 * A second runner in the pod brings pieces of the log (keep_log.sh, cut_log.sh) to a folder beside the job's
 * first output in object storage:
 *
 *     s3://bucket/out/.slipway/ID/attempt-1/rank-0/1763452805-00000007     seconds since 1970, number
 *
 * A piece never changes, so those that are on this machine already are not asked for again, and lines are
 * always cut in the same way: the time of a line is that of the piece in which it begins.
 */
#include "platform/runai/runai_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/text.h"
#include "core/command.h"
#include "platform/kit/log_lines.h"
#include "platform/kit/sending.h"
#include "storage/transfer.h"

enum {
    EVERY_MS = 2000, GRACE_MS = 1000, BLOCK = 64 * 1024, TAIL_MAX = 256 * 1024, BROUGHT_WITHIN_MS = 60000,
};

static const char *const cut_text[] = {
#include "platform/runai/cut_log.sh.inc"
    NULL
};

/* ---- where it is, and what brings it: pure --------------------------------------------------------- */

/* Up to a folder that every rank has. */
static char *folder_of(const char *to)
{
    const char *end = strchr(to, '{');

    end = end ? end : to + strlen(to);
    while (end > to && end[-1] != '/')
        end--;
    return sw_strndup(to, (size_t)(end - to));
}

char *runai_kept_uri(const json_t *outputs, const char *id)
{
    size_t i;
    json_t *output;

    json_array_foreach((json_t *)outputs, i, output) {
        const char *said = sw_json_str(output, "to");
        sw_autofree char *to = said && sw_text_starts(said, "s3://") ? sw_fill_destination(said, id) : NULL;
        sw_autofree char *folder = to ? folder_of(to) : NULL;

        if (folder && strcmp(folder, "s3://") != 0)
            return sw_format("%s.slipway/%s/", folder, id);
    }
    return NULL;
}

static char *uri_of(const char *all, int attempt, const char *rank)
{
    return sw_format("%sattempt-%d/rank-%s/", all, attempt > 1 ? attempt : 1, rank);
}

bool runai_is_kept(const struct sw_jobref *job)
{
    return sw_json_str(job->details, RUNAI_LOG_STORED) != NULL;
}

static char *command_of(void)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    for (const char *const *line = cut_text; *line; line++)
        sw_buf_add(&text, *line);
    return sw_buf_steal(&text);
}

char *runai_kept_payload(const struct sw_plan *plan, int attempt, bool with_ca, struct sw_error *err)
{
    sw_autofree char *all = runai_kept_uri(plan->outputs, plan->job_id), *to = uri_of(all, attempt, "{rank}");
    sw_auto(sw_payload) struct sw_payload *payload = sw_payload_new();
    sw_auto(sw_buf) struct sw_buf ca = SW_BUF_INIT;
    sw_autofree char *text = NULL;
    sw_auto(json) json_t *document = NULL;

    memcpy(payload->job_id, plan->job_id, sizeof payload->job_id);
    payload->command = command_of();
    payload->scratch_dir = sw_strdup(RUNAI_KEPT "/work");
    payload->results_dir = sw_strdup(RUNAI_KEPT "/results");
    payload->credentials = json_incref(plan->credentials);
    payload->settings = sw_plan_settings_sent(plan);
    payload->secrets = json_array();
    payload->inputs = json_array();
    payload->outputs = json_pack("[{s:s, s:s, s:i}]", "path", RUNAI_KEPT "/pieces", "to", to, "every_ms",
                                 EVERY_MS);
    payload->grace_ms = GRACE_MS;
    text = sw_payload_text(payload, plan, &ca, err);
    if (!text)
        return NULL;
    if (!with_ca)
        free(sw_take(payload->ca));
    document = sw_payload_to_json(payload);
    return sw_json_dump(document);
}

/* ---- on this machine ------------------------------------------------------------------------------- */

/* Seconds since 1970; 0: it is no piece. */
static int64_t time_of(const char *name)
{
    char *end;
    int64_t at_s = isdigit((unsigned char)*name) ? strtoll(name, &end, 10) : 0;

    return at_s > 0 && *end == '-' && end[1] && !end[1 + strspn(end + 1, "0123456789")] ? at_s : 0;
}

/* A download that was cut off leaves a file of another name. */
static json_t *pieces_in(const char *folder, struct sw_error *err)
{
    sw_auto(json) json_t *names = sw_folder_names(folder, err);
    json_t *pieces = names ? json_array() : NULL, *name;
    size_t i;

    json_array_foreach(names, i, name)
        if (time_of(json_string_value(name)))
            json_array_append(pieces, name);
    return pieces;
}

/* Brings what is new into a folder here; its names in order, owned; NULL + err. */
static json_t *bring_pieces(struct sw_connection *conn, const struct sw_jobref *job, int rank,
                            const char *folder, struct sw_error *err)
{
    static const char *const manifest[] = { "*manifest.json" };
    const struct sw_copy_rules rules = { .recursive = true, .exclude = manifest, .exclude_count = 1,
                                         .deadline_ms = sw_monotonic_ms() + BROUGHT_WITHIN_MS };
    const struct sw_connect_options *given = &sw_cloud_of(conn)->given;
    const struct sw_transfer_options options = { .storage = { .env = given->env,
                                                              .env_context = given->env_context } };
    sw_autofree char *number = sw_format("%d", rank);
    const char *all = sw_json_str(job->details, RUNAI_LOG_STORED);
    sw_autofree char *uri = all ? uri_of(all, job->attempt, number) : NULL;
    sw_auto(sw_transfer_client) struct sw_transfer_client *client = NULL;
    struct sw_error why = { 0 };

    if (!uri) {
        sw_fail(err, SW_E_UNSUPPORTED, "the job does not copy it to a results store");
        return NULL;
    }
    client = sw_transfer_open(&options, err);
    if (!client || sw_mkdirs(folder, 0700, err) < 0)
        return NULL;
    if (sw_transfer_copy(client, uri, folder, &rules, NULL, &why) < 0 && why.code != SW_E_NOT_FOUND) {
        sw_pass(err, &why);
        sw_wrap(err, "the results store does not show it");
        return NULL;
    }
    return pieces_in(folder, err);
}

struct kept_reading {
    const char *folder;              /* borrowed, as the sink */
    struct sw_log_lines lines;
    int64_t since_s, skip;           /* lines that are left out: of an earlier time, and the first so many */
    bool inside, shown;              /* a line has begun; it is handed over */
};

static int give_bytes(struct kept_reading *r, const char *stamp, int64_t at_s, const char *bytes,
                      size_t length)
{
    while (length) {
        const char *end = memchr(bytes, '\n', length);
        size_t part = end ? (size_t)(end + 1 - bytes) : length;
        bool begins = !r->inside;

        if (begins)
            r->shown = at_s >= r->since_s && r->skip <= 0;
        r->inside = !end;
        r->skip -= end != NULL;
        if (r->shown && ((begins && sw_log_lines_sink(&r->lines, NULL, stamp, strlen(stamp)) != 0) ||
                         sw_log_lines_sink(&r->lines, NULL, bytes, part) != 0))
            return -1;
        bytes += part;
        length -= part;
    }
    return 0;
}

static int give_piece(struct kept_reading *r, const char *name)
{
    sw_autofree char *path = sw_path_join(r->folder, name), *block = sw_alloc(BLOCK);
    int64_t at_s = time_of(name);
    char time[40], stamp[48];
    FILE *file = fopen(path, "re");
    int result = file ? 0 : -1;
    size_t length;

    sw_time_format(at_s * 1000, time);
    snprintf(stamp, sizeof stamp, "%s ", time);
    while (result == 0 && (length = fread(block, 1, BLOCK, file)) > 0)
        result = give_bytes(r, stamp, at_s, block, length);
    if (file)
        fclose(file);
    return result;
}

static int64_t count_lines(const char *folder, const json_t *names)
{
    int64_t count = 0;
    size_t i;
    json_t *name;

    json_array_foreach((json_t *)names, i, name) {
        sw_autofree char *path = sw_path_join(folder, json_string_value(name));
        FILE *file = fopen(path, "re");
        int c, last = '\n';

        while (file && (c = getc_unlocked(file)) != EOF) {
            count += c == '\n';
            last = c;
        }
        if (i + 1 == json_array_size(names))
            count += last != '\n';
        if (file)
            fclose(file);
    }
    return count;
}

int runai_kept_fetch(struct sw_connection *conn, const struct sw_jobref *job, int rank,
                     const struct sw_log_cursor *cursor, const struct sw_log_sink *sink, struct sw_error *err)
{
    sw_autofree char *place = sw_format("kept-%d", rank);
    sw_autofree char *folder = sw_cloud_note_path(conn, job->id, job->attempt, place);
    sw_auto(json) json_t *pieces = bring_pieces(conn, job, rank, folder, err);
    struct kept_reading r = { .folder = folder, .lines = { .sink = sink },
                         .since_s = cursor->since_ns / 1000000000 };
    int result = 0;
    size_t i;
    json_t *name;

    if (!pieces)
        return -1;
    if (json_array_size(pieces) == 0 && cursor->life == SW_LOG_ENDED)
        return sw_fail(err, SW_E_NOT_FOUND, "the results store has no log of rank %d", rank);
    if (cursor->last > 0) {
        r.since_s = 0;
        r.skip = count_lines(folder, pieces) - cursor->last;
    }
    json_array_foreach(pieces, i, name)
        if (result == 0)
            result = give_piece(&r, json_string_value(name));
    if (result == 0 && cursor->life == SW_LOG_ENDED)
        result = sw_log_lines_end(&r.lines);
    sw_log_lines_done(&r.lines);
    return result == 0 ? 0 : sw_fail(err, SW_E_INTERRUPTED, "the reader closed the log");
}

/* ---- the end --------------------------------------------------------------------------------------- */

char *runai_kept_tail(struct sw_connection *conn, const struct sw_jobref *job, int rank)
{
    sw_autofree char *place = sw_format("kept-%d", rank);
    sw_autofree char *folder = sw_cloud_note_path(conn, job->id, job->attempt, place);
    sw_autofree char *block = sw_alloc(BLOCK);
    sw_auto(json) json_t *pieces = bring_pieces(conn, job, rank, folder, NULL);
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    size_t i, length;
    json_t *name;

    json_array_foreach(pieces, i, name) {
        sw_autofree char *path = sw_path_join(folder, json_string_value(name));
        FILE *file = fopen(path, "re");

        while (file && (length = fread(block, 1, BLOCK, file)) > 0) {
            sw_buf_add_bytes(&text, block, length);
            if (text.length > 2 * TAIL_MAX) {
                memmove(text.data, text.data + text.length - TAIL_MAX, TAIL_MAX + 1);
                text.length = TAIL_MAX;
            }
        }
        if (file)
            fclose(file);
    }
    return text.length ? sw_buf_steal(&text) : NULL;
}
