/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_log.c - writing a log to stdout.
 *
 * Into a pipe or file the bytes pass as they are; on a terminal cli_clean.c takes out what a log must not
 * do there. Whatever is put in front of a line is not cleaned: it is our own.
 */
#include "cli/cli_log.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cli_zone.h"

#define EXIT_READER_GONE 141

static int64_t count_ranks(struct cli *cli, const char *id)
{
    sw_auto(json) json_t *job =
        cli_document(sw_status(cli->session, id, SW_LOOK_STORED, NULL), NULL);

    return sw_json_int(job, "replicas", 1);
}

void cli_log_init(struct cli_log *log, struct cli *cli, const char *id, int rank)
{
    *log = (struct cli_log){
        .terminal = cli->screen.out_terminal,
        .prefix = rank < 0 && count_ranks(cli, id) > 1,
        .json = cli->format == CLI_JSON,
        .id = id,
        .last_rank = -1,
        .clean = { .colors = cli->screen.out_color },
    };
}

bool cli_log_wants_lines(const struct cli_log *log)
{
    return log->front || log->grep || log->json || log->last.wanted;
}

static int put(struct cli_log *log, const char *bytes, size_t length)
{
    if (length == 0)
        return 0;
    if (sw_write_all(STDOUT_FILENO, bytes, length) < 0) {
        log->error = errno;
        return 1;
    }
    log->mid_line = bytes[length - 1] != '\n';
    return 0;
}

/* "2026-05-21T22:50:54.123Z ": always as wide, also when the time is not known. */
static void add_time(struct sw_buf *out, int64_t at_ms)
{
    char at[CLI_TIME_SIZE];

    cli_time_line(at_ms > 0 ? at_ms : 0, 3, at);
    sw_buf_addf(out, "%-*s ", (int)strlen(at), at_ms > 0 ? at : "-");
}

static void begin_line(const struct cli_log *log, struct sw_buf *out, int rank, int64_t at_ms)
{
    if (log->timestamps)
        add_time(out, at_ms);
    if (log->front)
        sw_buf_add(out, log->front);
    if (log->prefix)
        sw_buf_addf(out, "%d| ", rank);
}

/* {"version":1,"job":"train-k3v9q2xa","rank":0,"at":"...","line":"..."} */
static void add_object(const struct cli_log *log, int rank, int64_t at_ms, const char *line, size_t length,
                       struct sw_buf *out)
{
    size_t bare = length && line[length - 1] == '\n' ? length - 1 : length;
    sw_autofree char *text = sw_text_utf8(line, bare), *dumped = NULL;
    sw_auto(json) json_t *object = NULL;
    char at[40];

    sw_time_format(at_ms, at);
    object = sw_json_object(SW_INT("version", 1), SW_STR("job", log->id), SW_INT("rank", rank),
                            at_ms > 0 ? SW_STR("at", at) : SW_NULL("at"), SW_STR("line", text));
    dumped = sw_json_dump(object);
    sw_buf_addf(out, "%s\n", dumped);
}

/* A pattern is for what people read: without colours and the line's end. */
static bool matches(const regex_t *grep, const char *line, size_t length)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    struct cli_clean plain = { 0 };

    if (!grep)
        return true;
    while (length && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        length--;
    cli_clean_add(&plain, line, length, &text);
    cli_clean_end(&plain, &text);
    return regexec(grep, sw_buf_text(&text), 0, NULL, 0) == 0;
}

/* A line, or a part of one. */
static void add_line(struct cli_log *log, int rank, int64_t at_ms, const char *bytes, size_t length,
                     struct sw_buf *out)
{
    if (log->json) {
        add_object(log, rank, at_ms, bytes, length, out);
        return;
    }
    if (!log->mid_line)
        begin_line(log, out, rank, at_ms);
    log->mid_line = bytes[length - 1] != '\n';
    if (log->terminal)
        cli_clean_add(&log->clean, bytes, length, out);
    else
        sw_buf_add_bytes(out, bytes, length);
}

static void keep_line(struct cli_log *log, struct sw_buf *line)
{
    if (log->mid_line)                   /* a part of a line that is too long, or the last one */
        sw_buf_add_char(line, '\n');
    log->mid_line = false;
    cli_last_lines_add(&log->last, line->data, line->length);
    sw_buf_clear(line);
}

static int put_lines(struct cli_log *log, int rank, int64_t at_ms, const char *bytes, size_t length)
{
    sw_auto(sw_buf) struct sw_buf lines = SW_BUF_INIT;

    if (log->prefix && rank != log->last_rank) {
        cli_clean_end(&log->clean, &lines);
        if (log->mid_line)
            sw_buf_add_char(&lines, '\n');
        log->mid_line = false;
    }
    log->last_rank = rank;
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        size_t part = end ? (size_t)(end - bytes) + 1 : length;

        if (matches(log->grep, bytes, part)) {
            add_line(log, rank, at_ms, bytes, part, &lines);
            if (log->last.wanted)
                keep_line(log, &lines);
        }
        bytes += part;
        length -= part;
    }
    return put(log, sw_buf_text(&lines), lines.length);
}

static int put_clean(struct cli_log *log, const char *bytes, size_t length)
{
    sw_auto(sw_buf) struct sw_buf shown = SW_BUF_INIT;

    cli_clean_add(&log->clean, bytes, length, &shown);
    return put(log, sw_buf_text(&shown), shown.length);
}

int cli_log_write(struct cli_log *log, int rank, int64_t at_ms, const char *bytes, size_t length)
{
    if (length == 0)
        return 0;
    if (log->prefix || log->timestamps || cli_log_wants_lines(log))
        return put_lines(log, rank, at_ms, bytes, length);
    return log->terminal ? put_clean(log, bytes, length) : put(log, bytes, length);
}

int cli_log_break(struct cli_log *log)
{
    sw_auto(sw_buf) struct sw_buf rest = SW_BUF_INIT;

    cli_clean_end(&log->clean, &rest);
    if (log->mid_line || rest.length)
        sw_buf_add_char(&rest, '\n');
    return put(log, sw_buf_text(&rest), rest.length);
}

int cli_log_catch_up(struct cli_log *log)
{
    sw_auto(sw_buf) struct sw_buf lines = SW_BUF_INIT;

    if (!log->last.wanted)
        return 0;
    cli_last_lines_take(&log->last, &lines);
    return put(log, sw_buf_text(&lines), lines.length);
}

void cli_log_end(struct cli_log *log)
{
    sw_auto(sw_buf) struct sw_buf rest = SW_BUF_INIT;

    cli_last_lines_take(&log->last, &rest);
    cli_clean_end(&log->clean, &rest);
    if (log->error)
        return;
    put(log, sw_buf_text(&rest), rest.length);
    if (log->terminal && log->mid_line)
        put(log, "\n", 1);
}

int cli_log_failed(const struct cli_log *log, struct cli *cli, struct sw_error *err)
{
    if (log->error == EPIPE) {
        cli->exit_status = EXIT_READER_GONE;
        return 0;
    }
    errno = log->error;
    return sw_fail_errno(err, SW_E_IO, "cannot write to standard output");
}
