/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_fullscreen.c - the whole screen: taken, drawn, and above all given back.
 *
 * Whatever ends us - exit, a signal, a crash of our own - the user's shell must find its echo,
 * cursor and screen again. So giving back is a handful of calls that a signal handler may make,
 * and every deadly signal makes them before it goes on as if we had never caught it. The state
 * is static because a signal handler cannot be given a context; there is one terminal anyway.
 *
 * ANSI sequences that every terminal since the VT100 knows; no terminfo, no ncurses.
 */
#include "cli/cli_screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>

#include "base/file.h"
#include "cli/cli_interrupt.h"

#define ENTER "\033[?1049h\033[?25l\033[?7l\033[H\033[2J"    /* other screen, no cursor, no wrap */
#define LEAVE "\033[?7h\033[?25h\033[?1049l\033[0m"
#define ESCAPE_MS 40            /* the rest of an arrow key is here by then, even over ssh */

static struct termios before, raw;
static int terminal = -1;
static volatile sig_atomic_t taken, quit_asked;

static const int deadly[] = { SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

static void give_back(void)
{
    if (!taken)
        return;
    taken = 0;
    (void)!write(STDOUT_FILENO, LEAVE, sizeof LEAVE - 1);
    tcsetattr(terminal, TCSADRAIN, &before);
}

static void take(void)
{
    tcsetattr(terminal, TCSADRAIN, &raw);
    (void)!write(STDOUT_FILENO, ENTER, sizeof ENTER - 1);
    taken = 1;
}

static void die(int number)
{
    give_back();
    signal(number, SIG_DFL);
    raise(number);
}

static void interrupt(int number)
{
    if (quit_asked)
        give_back();            /* the second one ends the program here and now */
    quit_asked = 1;
    cli_interrupt_note(number);
}

/* Ctrl-Z: the shell gets its terminal back, and after `fg` we take ours again. */
static void stop(int number)
{
    int saved = errno;
    sigset_t only;

    give_back();
    signal(number, SIG_DFL);
    raise(number);
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);      /* the process stops here until SIGCONT */
    signal(number, stop);
    take();
    errno = saved;
}

static void wake_up(int number)
{
    (void)number;               /* a changed size only has to end the waiting */
}

static void catch(int number, void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler };

    if (!cli_interrupt_ignored(number))
        sigaction(number, &action, NULL);
}

int cli_fullscreen_enter(struct sw_error *err)
{
    terminal = isatty(STDIN_FILENO) ? STDIN_FILENO : open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal < 0 || tcgetattr(terminal, &before) < 0)
        return sw_fail_errno(err, SW_E_USAGE, "no terminal to read keys from");
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    for (size_t i = 0; i < SW_COUNT(deadly); i++)
        catch(deadly[i], die);
    catch(SIGINT, interrupt);
    catch(SIGTSTP, stop);
    catch(SIGWINCH, wake_up);
    atexit(give_back);
    take();
    return 0;
}

void cli_fullscreen_leave(void)
{
    give_back();
    for (size_t i = 0; i < SW_COUNT(deadly); i++)
        catch(deadly[i], SIG_DFL);
    catch(SIGTSTP, SIG_DFL);
}

void cli_fullscreen_draw(const struct sw_buf *frame)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const char *line = sw_buf_text(frame);

    sw_buf_add(&out, "\033[H");
    for (;;) {
        size_t length = strcspn(line, "\n");

        sw_buf_add(&out, "\033[0m\033[K");       /* before: behind a full line it takes its end */
        sw_buf_add_bytes(&out, line, length);
        if (!line[length])
            break;
        sw_buf_add(&out, "\r\n");
        line += length + 1;
    }
    sw_buf_add(&out, "\033[0m");
    if (taken)
        (void)!sw_write_all(STDOUT_FILENO, out.data, out.length);
}

/* One byte, or -1 when none comes in time. */
static int next_byte(int timeout_ms)
{
    struct pollfd ready = { .fd = terminal, .events = POLLIN };
    unsigned char byte;

    if (poll(&ready, 1, timeout_ms) <= 0 || read(terminal, &byte, 1) != 1)
        return -1;
    return byte;
}

/* What follows an ESC: "[A", "OA", "[5~". */
static int escape_sequence(void)
{
    static const struct { const char *text; int key; } keys[] = {
        { "[A", CLI_KEY_UP },       { "[B", CLI_KEY_DOWN },       { "OA", CLI_KEY_UP },
        { "OB", CLI_KEY_DOWN },     { "[5~", CLI_KEY_PAGE_UP },   { "[6~", CLI_KEY_PAGE_DOWN },
        { "[H", CLI_KEY_HOME },     { "[F", CLI_KEY_END },        { "OH", CLI_KEY_HOME },
        { "OF", CLI_KEY_END },      { "[1~", CLI_KEY_HOME },      { "[4~", CLI_KEY_END },
    };
    char text[8] = "";
    size_t length = 0;
    int byte;

    while (length + 1 < sizeof text && (byte = next_byte(ESCAPE_MS)) >= 0) {
        text[length++] = (char)byte;
        if (length > 1 && byte >= 0x40 && byte <= 0x7e)
            break;
    }
    if (length == 0)
        return CLI_KEY_ESCAPE;
    for (size_t i = 0; i < SW_COUNT(keys); i++)
        if (strcmp(keys[i].text, text) == 0)
            return keys[i].key;
    return CLI_KEY_OTHER;
}

int cli_fullscreen_key(int wake, int timeout_ms)
{
    struct pollfd ready[] = { { .fd = terminal, .events = POLLIN },
                              { .fd = wake, .events = POLLIN } };
    unsigned char byte;
    ssize_t n;

    if (quit_asked)
        return CLI_KEY_QUIT;
    if (poll(ready, SW_COUNT(ready), timeout_ms) <= 0)
        return quit_asked ? CLI_KEY_QUIT : CLI_KEY_NONE;
    if (!ready[0].revents)
        return CLI_KEY_NONE;
    n = read(terminal, &byte, 1);
    if (n < 0 && errno == EINTR)
        return CLI_KEY_NONE;
    if (n != 1)
        return CLI_KEY_QUIT;                    /* the terminal is gone */
    return byte == '\033' ? escape_sequence() : byte;
}
