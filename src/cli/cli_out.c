/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_out.c - data on stdout, words on stderr.
 *
 * Words that came from elsewhere (a platform's message, a file's content in an error) are made
 * harmless before a terminal sees them. A reader that went away (`slipway ps | head -1`) is
 * not an error worth words: the status is the shell's usual 141.
 */
#include "cli/cli_out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/shown.h"
#include "base/text.h"
#include "cli/cli.h"

#define EXIT_READER_GONE 141

/* One line: what came from elsewhere is made harmless, what is in front is our own. */
static void say(const struct cli *cli, const char *front, const char *fmt, va_list args)
{
    sw_autofree char *made = NULL, *clean = NULL;

    if (vasprintf(&made, fmt, args) < 0)
        made = sw_strdup("");
    sw_uris_hide(made);
    clean = sw_text_printable(made, strlen(made));
    cli_status_lines_erase(cli->live);
    fprintf(stderr, "%s%s\n", front, clean);
}

void cli_say(const struct cli *cli, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (!cli->quiet)
        say(cli, "", fmt, args);
    va_end(args);
}

void cli_say_job(const struct cli *cli, const char *id, const char *fmt, ...)
{
    sw_autofree char *front = sw_format(cli->screen.err_color ? "\033[1m%s\033[0m  " : "%s  ", id);
    va_list args;

    va_start(args, fmt);
    if (!cli->quiet)
        say(cli, front, fmt, args);
    va_end(args);
}

void cli_warn(const struct cli *cli, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(cli, cli->screen.err_color ? "slipway: \033[33mwarning:\033[0m " : "slipway: warning: ",
        fmt, args);
    va_end(args);
}

/* Later lines of a message go below the first, indented. */
static void print_lines(const char *text)
{
    sw_autofree char *clean = sw_text_printable(text, strlen(text));

    for (const char *line = clean; *line;) {
        size_t length = strcspn(line, "\n");

        fprintf(stderr, "%s%.*s\n", line == clean ? "" : "  ", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

json_t *cli_error_json(const struct sw_error *err)
{
    return sw_json_object(
        SW_STR("code", sw_code_name(err->code)), SW_INT("exit_status", sw_code_exit_status(err->code)),
        SW_STR("message", err->message), SW_STR("hint", err->hint[0] ? err->hint : NULL));
}

void cli_complain(const struct cli *cli, const struct sw_error *err)
{
    if (cli->format == CLI_JSON) {
        sw_auto(json) json_t *document = sw_json_object(SW_INT("version", 1),
                                                        SW_SUB("error", cli_error_json(err)));
        sw_autofree char *text = sw_json_dump(document);

        fprintf(stderr, "%s\n", text);
        return;
    }
    fputs(cli->screen.err_color ? "\033[31mslipway:\033[0m " : "slipway: ", stderr);
    print_lines(err->message);
    if (err->hint[0]) {
        fputs("  hint: ", stderr);
        print_lines(err->hint);
    }
}

/* Why stdout took no more, at the first failure: later ones know less. */
static int out_problem;

static int note_problem(int result)
{
    if (result < 0 && !out_problem)
        out_problem = errno;
    return result < 0 ? -1 : 0;
}

void cli_print(const char *text)
{
    note_problem(fputs(text, stdout));
}

void cli_printf(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    note_problem(vprintf(fmt, args));
    va_end(args);
}

/* -1 also when an earlier write failed: then there may be nothing left to flush. */
int cli_flush(void)
{
    return note_problem(fflush(stdout)) < 0 || ferror(stdout) ? -1 : 0;
}

int cli_print_end(const struct cli *cli)
{
    struct sw_error err = { 0 };

    if (cli_flush() == 0)
        return 0;
    if (out_problem == EPIPE)
        return EXIT_READER_GONE;
    errno = out_problem;
    sw_fail_errno(&err, SW_E_IO, "cannot write to standard output");
    cli_complain(cli, &err);
    return sw_code_exit_status(err.code);
}

/* How many bytes of a word go into a line of their own: at least a character, at most `room` columns. */
static size_t part_of_word(const char *word, size_t length, size_t room)
{
    sw_autofree char *whole = sw_strndup(word, length);
    size_t taken = sw_text_columns(whole) <= room ? length : sw_text_utf8_char(word, length);

    while (taken && taken < length) {
        size_t next = sw_text_utf8_char(word + taken, length - taken);
        sw_autofree char *part = sw_strndup(word, taken + next);

        if (!next || sw_text_columns(part) > room)
            return taken;
        taken += next;
    }
    return length;
}

/* One line of text, folded. Returns where the next one begins. */
static const char *wrap_line(struct sw_buf *out, const char *text, size_t indent, size_t width)
{
    const char *end = text + strcspn(text, "\n");
    size_t column = 0, room = width > indent + 1 ? width - indent : 1;

    while (text < end) {
        size_t length = part_of_word(text, strcspn(text, " \n"), room);
        sw_autofree char *word = sw_strndup(text, length);
        size_t columns = sw_text_columns(word);

        if (column && column + 1 + columns > width) {
            sw_buf_add_char(out, '\n');
            column = 0;
        }
        sw_buf_addf(out, "%*s%s", column ? 1 : (int)indent, "", word);
        column += (column ? 1 : indent) + columns;
        text += length;
        text += text < end && *text == ' ';
    }
    sw_buf_add_char(out, '\n');
    return *end ? end + 1 : end;
}

void cli_wrap(struct sw_buf *out, const char *text, size_t indent, size_t width)
{
    do {
        size_t length = strcspn(text, "\n");

        if (*text == ' ') {
            sw_buf_addf(out, "%*s%.*s\n", (int)indent, "", (int)length, text);
            text += length + (text[length] == '\n');
        } else {
            text = wrap_line(out, text, indent, width);
        }
    } while (*text);
}
