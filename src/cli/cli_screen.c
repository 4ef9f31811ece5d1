/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_screen.c - what stdout and stderr are.
 */
#include "cli/cli_screen.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include "base/text.h"

void cli_screen_guard(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
            _exit(sw_code_exit_status(SW_E_IO));    /* the wrong way round: use of it must fail */
}

void cli_screen_size(int fd, size_t *columns, size_t *rows)
{
    struct winsize size = { 0 };
    bool known = ioctl(fd, TIOCGWINSZ, &size) == 0;

    *columns = known && size.ws_col ? size.ws_col : 80;
    *rows = known && size.ws_row ? size.ws_row : 24;
}

void cli_screen_look(struct cli_screen *screen, enum cli_color color)
{
    bool dumb = sw_text_same(getenv("TERM"), "dumb");
    bool fits = color == CLI_COLOR_AUTO && sw_text_empty(getenv("NO_COLOR")) && !dumb;
    bool always = color == CLI_COLOR_ALWAYS;
    size_t rows;

    screen->out_terminal = isatty(STDOUT_FILENO);
    screen->err_terminal = isatty(STDERR_FILENO);
    screen->out_color = always || (fits && screen->out_terminal);
    screen->err_color = always || (fits && screen->err_terminal);
    screen->moves = !dumb;
    screen->width = 0;
    if (screen->out_terminal)
        cli_screen_size(STDOUT_FILENO, &screen->width, &rows);
}
