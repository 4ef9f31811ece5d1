/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_transfer.c - see cli_transfer.h. One line on stderr, drawn over itself.
 */
#include "cli/cli_transfer.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/cli_interrupt.h"

#define BAR_MOST 30

static void add_bar(struct sw_buf *out, int64_t done, int64_t total, size_t width)
{
    size_t full = total > 0 ? (size_t)((double)done / (double)total * (double)width) : 0;

    full = full < width ? full : width;
    sw_buf_add_char(out, '[');
    for (size_t i = 0; i < width; i++)
        sw_buf_add_char(out, i < full ? '=' : i == full ? '>' : ' ');
    sw_buf_add(out, "] ");
}

static void add_line(const struct sw_copy_progress *progress, const char *parts, size_t width,
                     struct sw_buf *out)
{
    char done[32], total[32], rate[32], left[32] = "";

    sw_size_format(progress->bytes_done, done);
    sw_size_format(progress->bytes_total, total);
    sw_size_format(progress->bytes_per_second, rate);
    if (width >= 100)
        add_bar(out, progress->bytes_done, progress->bytes_total, BAR_MOST);
    sw_buf_addf(out, "%lld/%lld%s %s, %s of %s%s, %s/s", (long long)progress->files_done,
                (long long)progress->files_total, progress->listing ? "+" : "", parts, done, total,
                progress->listing ? "+" : "", rate);
    if (progress->left_ms >= 0) {
        cli_duration(progress->left_ms / 1000 * 1000, left);
        sw_buf_addf(out, ", %s left", *left ? left : "0s");
    }
}

void cli_transfer_line(const struct sw_copy_progress *progress, size_t width, struct sw_buf *out)
{
    add_line(progress, "files", width, out);
}

void cli_transfer_named_line(const char *what, const struct sw_copy_progress *progress,
                             size_t width, struct sw_buf *out)
{
    size_t columns = sw_text_columns(what);

    sw_buf_addf(out, "%s  ", what);
    if (progress->files_total > 0)
        add_line(progress, "layers", width > columns + 2 ? width - columns - 2 : 0, out);
}

static int draw(const struct cli *cli, const struct sw_buf *line)
{
    fprintf(stderr, "\r%.*s\033[K", (int)(cli->screen.width ? cli->screen.width - 1 : 79),
            sw_buf_text(line));
    fflush(stderr);
    return cli_interrupt_count() > 0;
}

int cli_transfer(void *context, const struct sw_copy_progress *progress)
{
    const struct cli *cli = context;
    sw_auto(sw_buf) struct sw_buf line = SW_BUF_INIT;

    if (!cli->screen.err_terminal || cli->quiet)
        return cli_interrupt_count() > 0;
    cli_transfer_line(progress, cli->screen.width, &line);
    return draw(cli, &line);
}

int cli_transfer_named(const struct cli *cli, const char *what,
                       const struct sw_copy_progress *progress)
{
    sw_auto(sw_buf) struct sw_buf line = SW_BUF_INIT;

    if (!cli->screen.err_terminal || cli->quiet)
        return cli_interrupt_count() > 0;
    cli_transfer_named_line(what, progress, cli->screen.width, &line);
    return draw(cli, &line);
}

void cli_say_left_out(const struct cli *cli, const json_t *report)
{
    const json_t *names = json_object_get(report, "left_out_names"), *name;
    int64_t more = sw_json_int(report, "left_out", 0) - (int64_t)json_array_size(names);
    size_t i;

    json_array_foreach(names, i, name)
        cli_warn(cli, "%s", json_string_value(name));
    if (more > 0)
        cli_warn(cli, "%lld more not shown", (long long)more);
}

void cli_transfer_end(const struct cli *cli)
{
    if (cli->screen.err_terminal && !cli->quiet)
        fputs("\r\033[K", stderr);
}
