/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_log.c - writing a log to stdout.
 *
 * Into a pipe or file the bytes pass as they are. On a terminal a log is untrusted text:
 * escape sequences could retitle the window or hide lines, so they are made visible. A piece
 * may end inside a UTF-8 character; its first bytes wait for the rest.
 */
#include "cli/cli_log.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/text.h"

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
        .last_rank = -1,
    };
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

/* How many bytes at the end begin a UTF-8 character that is not complete. */
static size_t unfinished(const char *bytes, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char c = (unsigned char)bytes[length - back];
        size_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

        if ((c & 0xc0) == 0x80)
            continue;
        return whole > back ? back : 0;
    }
    return 0;
}

static int put_harmless(struct cli_log *log, const char *bytes, size_t length)
{
    sw_auto(sw_buf) struct sw_buf joined = SW_BUF_INIT;
    sw_autofree char *clean = NULL;
    size_t keep;

    sw_buf_add_bytes(&joined, log->held, log->held_length);
    sw_buf_add_bytes(&joined, bytes, length);
    keep = unfinished(sw_buf_text(&joined), joined.length);
    memcpy(log->held, joined.data + joined.length - keep, keep);
    log->held_length = keep;
    clean = sw_text_printable(joined.data, joined.length - keep);
    return put(log, clean, strlen(clean));
}

static int put_piece(struct cli_log *log, const char *bytes, size_t length)
{
    return log->terminal ? put_harmless(log, bytes, length) : put(log, bytes, length);
}

/* "2026-05-21T22:50:54.123Z ": always as wide, also when the time is not known. */
static void add_time(struct sw_buf *out, int64_t at_ms)
{
    time_t seconds = (time_t)(at_ms / 1000);
    struct tm parts;
    char day[24] = "";

    if (at_ms <= 0 || !gmtime_r(&seconds, &parts)) {
        sw_buf_addf(out, "%-24s ", "-");
        return;
    }
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    sw_buf_addf(out, "%s.%03dZ ", day, (int)(at_ms % 1000));
}

static void begin_line(const struct cli_log *log, struct sw_buf *out, int rank, int64_t at_ms)
{
    if (log->timestamps)
        add_time(out, at_ms);
    if (log->prefix)
        sw_buf_addf(out, "%d| ", rank);
}

static int put_prefixed(struct cli_log *log, int rank, int64_t at_ms, const char *bytes,
                        size_t length)
{
    sw_auto(sw_buf) struct sw_buf lines = SW_BUF_INIT;

    if (log->prefix && log->mid_line && rank != log->last_rank) {
        sw_buf_add_char(&lines, '\n');
        log->mid_line = false;
    }
    log->last_rank = rank;
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        size_t part = end ? (size_t)(end - bytes) + 1 : length;

        if (!log->mid_line)
            begin_line(log, &lines, rank, at_ms);
        log->mid_line = !end;
        sw_buf_add_bytes(&lines, bytes, part);
        bytes += part;
        length -= part;
    }
    return put_piece(log, lines.data, lines.length);
}

int cli_log_write(struct cli_log *log, int rank, int64_t at_ms, const char *bytes, size_t length)
{
    if (length == 0)
        return 0;
    return log->prefix || log->timestamps ? put_prefixed(log, rank, at_ms, bytes, length)
                                          : put_piece(log, bytes, length);
}

void cli_log_end(struct cli_log *log)
{
    sw_autofree char *rest = sw_text_printable(log->held, log->held_length);

    if (log->error)
        return;
    log->held_length = 0;
    put(log, rest, strlen(rest));
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
