/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_out.h - saying things: data on stdout, words on stderr, colours only on a terminal.
 */
#ifndef SW_CLI_OUT_H
#define SW_CLI_OUT_H

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"

struct cli;

/* A line for a person; nothing with --quiet. */
void cli_say(const struct cli *cli, const char *fmt, ...) SW_PRINTF(2, 3);
/* A line about one job, its id in front. */
void cli_say_job(const struct cli *cli, const char *id, const char *fmt, ...) SW_PRINTF(3, 4);
/* Something is wrong, but we go on: also with --quiet. */
void cli_warn(const struct cli *cli, const char *fmt, ...) SW_PRINTF(2, 3);
/* Why we failed and what to do; with -o json as one JSON line. Both on stderr. */
void cli_complain(const struct cli *cli, const struct sw_error *err);
json_t *cli_error_json(const struct sw_error *err);      /* {"code","exit_status","message","hint"} */

/* Data on stdout; what goes wrong is remembered for cli_print_end(). */
void cli_print(const char *text);
void cli_printf(const char *fmt, ...) SW_PRINTF(1, 2);
int cli_flush(void);                   /* -1: stdout takes no more */
/* Flush; 0, or what the program must end with when stdout did not take it all. */
int cli_print_end(const struct cli *cli);

/* Text folded at spaces to `width` terminal columns, every line indented; a word that is wider is folded,
 * too. Line breaks stay; a line that begins with a space is kept as it is. */
void cli_wrap(struct sw_buf *out, const char *text, size_t indent, size_t width);

#endif
