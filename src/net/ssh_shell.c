/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_shell.c - the remote shell that is held open, and what it does with what we send.
 *
 * The loop below is all that is ever in ssh's argument list. It must survive any login shell (bash, dash,
 * csh, fish), so it is one line without quote, exclamation mark or newline. For each call it reads "MARK
 * SCRIPT_LENGTH INPUT_LENGTH LINES", then the script: LINES lines of it by itself, which costs a system call
 * for each byte and no process, or when that would be more (LINES is 0) with head -c. Neither reads ahead.
 * Who asks the same long question again and again (a watcher does) sends it once: LINES is -1, and the last
 * one that was long is meant. It runs only when it came whole. Output lies between "<MARK" and ">MARK code"
 * lines on both streams; the mark is random and not visible to the script. What a script leaves of its input
 * is swallowed, so the next call starts at its own first byte. Scripts find in $u the umask of the login:
 * asking for it costs a process.
 */
#include "net/ssh_internal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/digest.h"

#define HIDE_AND_RUN "(set -- \"$s\"; unset s m n i l x e r p; eval \"shift; $1\")"
#define LOOP \
    "e=$(printf \"\\n.\"); e=${e%.}; u=$(umask); " \
    "while read -r m n i l; do " \
        "if [ $l -lt 0 ]; then s=$p; elif [ $l -eq 0 ]; then s=$(head -c $n); p=$s; else s=; " \
        "while [ $l -gt 0 ]; do IFS= read -r x || exit 1; s=$s$x$e; l=$((l-1)); done; fi; " \
        "[ ${#s} -eq $n ] || exit 1; " \
        "printf \"<%s\\n\" $m; printf \"<%s\\n\" $m >&2; " \
        "if [ $i -eq 0 ]; then " HIDE_AND_RUN " </dev/null; " \
        "else head -c $i | { " HIDE_AND_RUN "; r=$?; cat >/dev/null; exit $r; }; fi; r=$?; " \
        "printf \"\\n>%s %s\\n\" $m $r; printf \"\\n>%s %s\\n\" $m $r >&2; " \
    "done"

#define JUNK_LIMIT 65536         /* what a login script may print before our loop begins */

void ssh_marker(char out[33])
{
    unsigned char bytes[16];

    while (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        ;
    sw_hex(bytes, sizeof bytes, out);
}

static int start(struct sw_ssh *ssh, const char *hello, struct sw_error *err)
{
    sw_autofree char *loop = sw_format("printf \"%%s\\n\" %s; %s", hello, LOOP);
    sw_autofree char *command = sw_format("exec env LC_ALL=C /bin/sh -c '%s'", loop);
    sw_auto(ssh_arguments) struct ssh_arguments arguments = { .count = 0 };
    char *const local[] = { (char *)"env", (char *)"LC_ALL=C", (char *)"/bin/sh", (char *)"-c", loop,
                            NULL };

    if (!ssh->local)
        ssh_arguments_make(&arguments, ssh, ssh->hosts[ssh->current].control_path, SSH_COMMAND, command);
    if (ssh_process_start(&ssh->shell, ssh->local ? local : arguments.list, SSH_PIPES, err) < 0)
        return -1;
    ssh->counters.processes++;
    return 0;
}

enum greeting { GREETED, SILENT, GONE };

/* Read until the hello line; what a login script prints before it is dropped. */
static enum greeting await_hello(struct sw_ssh *ssh, const char *hello, int64_t until_ms)
{
    sw_auto(sw_buf) struct sw_buf heard = SW_BUF_INIT;
    sw_autofree char *line = sw_format("%s\n", hello);

    for (;;) {
        struct pollfd wait[2] = { { .fd = ssh->shell.out, .events = POLLIN },
                                  { .fd = ssh->shell.err, .events = POLLIN } };
        int64_t left = until_ms - sw_monotonic_ms();
        bool open;

        if (left <= 0)
            return SILENT;
        poll(wait, 2, left < 1000 ? (int)left : 1000);
        ssh_read_some(ssh->shell.err, &ssh->shell_said, JUNK_LIMIT);
        open = ssh_read_some(ssh->shell.out, &heard, JUNK_LIMIT);
        if (heard.data && memmem(heard.data, heard.length, line, strlen(line)))
            return GREETED;
        if (!open || heard.length >= JUNK_LIMIT)
            return GONE;
    }
}

/* The shell went away before it said hello: find out why. */
static int explain_end(struct sw_ssh *ssh, struct sw_error *err)
{
    int64_t until = sw_monotonic_ms() + 2000;
    int status = ssh_process_wait(&ssh->shell, &ssh->shell_said, until);

    if (status == 255 && !ssh->local)
        return ssh_explain_current(ssh, sw_buf_text(&ssh->shell_said), err);
    sw_fail(err, SW_E_REFUSED, "%s accepted the login, but its shell ran no command (exit %d): %.300s",
            sw_ssh_host(ssh), status, sw_buf_text(&ssh->shell_said));
    return sw_hint(err, "`ssh %s true` must work without a prompt", sw_ssh_host(ssh));
}

bool ssh_shell_lives(const struct sw_ssh *ssh)
{
    struct pollfd look[] = { { .fd = ssh->shell.out }, { .fd = ssh->shell.in },
                             { .fd = ssh->watch } };

    if (ssh->shell.out < 0)
        return false;
    return poll(look, SW_COUNT(look), 0) == 0;       /* the other end is open */
}

/* SILENT is not an error yet: a master whose network is gone looks like this. */
static int open_shell(struct sw_ssh *ssh, int64_t until_ms, enum greeting *greeting,
                      struct sw_error *err)
{
    char hello[33];

    ssh_marker(hello);
    if (start(ssh, hello, err) < 0)
        return -1;
    ssh->counters.round_trips++;
    *greeting = await_hello(ssh, hello, until_ms);
    if (*greeting == GONE) {
        explain_end(ssh, err);
        ssh_shell_end(ssh);
        return -1;
    }
    return 0;
}

int ssh_shell_need(struct sw_ssh *ssh, int64_t until_ms, struct sw_error *err)
{
    enum greeting greeting = SILENT;

    if (ssh_shell_lives(ssh) || ssh_shell_borrow(ssh))
        return 0;
    ssh_shell_end(ssh);
    for (int try = 0; try < 2; try++) {
        int64_t logins = ssh->counters.connections, until;
        bool fresh;

        if (!ssh->local && ssh_master_need(ssh, until_ms, err) < 0)
            return -1;
        /* An old master gets less patience than a new one: it may be connected to nothing. */
        fresh = ssh->local || ssh->counters.connections > logins;
        until = sw_monotonic_ms() + (fresh ? ssh->connect_ms : ssh->connect_ms / 3);
        if (open_shell(ssh, until < until_ms ? until : until_ms, &greeting, err) < 0)
            return -1;
        if (greeting == GREETED)
            return 0;
        ssh_shell_end(ssh);
        if (!ssh->local)
            ssh_master_end(ssh, ssh->current);
        if (fresh)
            break;
    }
    sw_fail(err, SW_E_UNREACHABLE, "%s accepted the login, but its shell did not answer in time",
            sw_ssh_host(ssh));
    return sw_hint(err, "try `ssh %s true`: a login script may be waiting for input",
                   sw_ssh_host(ssh));
}

void ssh_shell_end(struct sw_ssh *ssh)
{
    ssh_process_end(&ssh->shell);
    sw_buf_clear(&ssh->shell_said);
    sw_buf_clear(&ssh->shell_knows);
    if (ssh->watch >= 0)
        close(ssh->watch);
    ssh->watch = -1;
}
