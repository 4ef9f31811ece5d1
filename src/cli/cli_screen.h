/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_screen.h - the terminal: what we write to, lines drawn in place, the whole screen.
 *
 * Three ways to use it, from small to large: plain text (struct cli_screen tells whether colours
 * make sense), a few lines at the bottom that are drawn again and again (struct cli_status_lines), and
 * the whole screen with single keys (cli_fullscreen_*).
 */
#ifndef SW_CLI_SCREEN_H
#define SW_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* ---- what we are writing to (cli_screen.c) ----------------------------------------------- */

struct cli_screen {
    bool out_terminal, err_terminal;
    bool out_color, err_color;
    bool moves;                 /* the terminal understands more than a line printer does */
    size_t width;               /* columns of stdout; 0: not a terminal, cut nothing */
};

/* Make sure that 0, 1 and 2 are open: a file of ours must never become "stdout". */
void cli_screen_guard(void);
enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };
#define CLI_COLOR_WORDS "auto|always|never"
/* auto: colours on a terminal, unless NO_COLOR is set or it is a dumb one. */
void cli_screen_look(struct cli_screen *screen, enum cli_color color);
/* Columns and rows of a terminal as it is now; 80x24 when it does not tell. */
void cli_screen_size(int fd, size_t *columns, size_t *rows);

/* ---- lines drawn in place (cli_status_lines.c) --------------------------------------------------- */

struct cli_status_lines {
    int fd;                     /* a terminal that moves */
    char *shown;                /* what is drawn now; NULL: nothing */
};

/* Draw lines (no line end after the last) where the previous ones were. They must not be wider
 * than the terminal is now. */
void cli_status_lines_draw(struct cli_status_lines *live, const char *lines);
/* Leave the rows empty, the cursor where they began. NULL or nothing drawn: nothing happens. */
void cli_status_lines_erase(struct cli_status_lines *live);
/* What is drawn stays as it is, above whatever comes next. */
void cli_status_lines_keep(struct cli_status_lines *live);

/* ---- the whole screen (cli_fullscreen.c) ------------------------------------------------------- */

enum cli_key {
    CLI_KEY_NONE = 0,           /* nothing was typed: the time passed, or the size changed */
    CLI_KEY_UP = 256, CLI_KEY_DOWN, CLI_KEY_PAGE_UP, CLI_KEY_PAGE_DOWN, CLI_KEY_HOME,
    CLI_KEY_END, CLI_KEY_ESCAPE, CLI_KEY_OTHER,
    CLI_KEY_QUIT,               /* Ctrl-C, or the terminal went away */
};                              /* below 256: the byte itself */

/* Take the terminal: alternate screen, no echo, no cursor. Given back by cli_fullscreen_leave(), at
 * exit, when a signal ends or stops us, and when we crash. */
int cli_fullscreen_enter(struct sw_error *err);
void cli_fullscreen_leave(void);
/* Show a frame: lines separated by '\n', each at most as wide as the screen, no more than rows. */
void cli_fullscreen_draw(const struct sw_buf *frame);
/* The next key; returns early when `wake` (a descriptor, -1: none) is readable. */
int cli_fullscreen_key(int wake, int timeout_ms);

#endif
