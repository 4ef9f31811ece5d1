/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.c - recognising processes through /proc, and finding our own helper programs.
 */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

static int read_boot_id(char out[40])
{
    size_t length = 0;
    sw_autofree char *text = sw_file_read("/proc/sys/kernel/random/boot_id", 100, &length, NULL);

    if (!text)
        return -1;
    text[strcspn(text, "\n")] = '\0';
    snprintf(out, 40, "%s", text);
    return 0;
}

int sw_proc_stat(pid_t pid, struct sw_proc_stat *out)
{
    char path[64];
    sw_autofree char *stat = NULL;
    char *after_name, state = 'X';
    long pages = 0, own[2] = { 0 }, waited_for[2] = { 0 };

    *out = (struct sw_proc_stat){ .pid = pid };
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    stat = sw_file_read(path, 8192, NULL, NULL);
    /* The name is between parentheses and may itself hold any of them: look from the end. */
    after_name = stat ? strrchr(stat, ')') : NULL;
    if (!after_name ||
        sscanf(after_name + 1,
               " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld %ld %ld %*d %*d %*d %*d %llu %*u %ld",
               &state, &out->parent, &own[0], &own[1], &waited_for[0], &waited_for[1], &out->start_ticks,
               &pages) != 8 ||
        state == 'Z' || state == 'X')
        return -1;
    out->resident_bytes = (int64_t)pages * sysconf(_SC_PAGESIZE);
    out->cpu_ticks = (int64_t)own[0] + own[1] + waited_for[0] + waited_for[1];
    return 0;
}

int sw_proc_of(pid_t pid, struct sw_proc *out)
{
    struct sw_proc_stat stat;

    if (sw_proc_stat(pid, &stat) < 0)
        return -1;
    out->pid = pid;
    out->start_ticks = stat.start_ticks;
    return read_boot_id(out->boot_id);
}

int sw_proc_self(struct sw_proc *out)
{
    return sw_proc_of(getpid(), out);
}

bool sw_proc_same_boot(const struct sw_proc *proc)
{
    char now[40];

    return read_boot_id(now) == 0 && strcmp(now, proc->boot_id) == 0;
}

bool sw_proc_alive(const struct sw_proc *proc)
{
    struct sw_proc now;

    return proc->pid > 0 && sw_proc_of(proc->pid, &now) == 0 &&
           now.start_ticks == proc->start_ticks && strcmp(now.boot_id, proc->boot_id) == 0;
}

json_t *sw_proc_json(const struct sw_proc *proc)
{
    return sw_json_object(SW_INT("pid", proc->pid), SW_INT("start", (json_int_t)proc->start_ticks),
                          SW_STR("boot", proc->boot_id));
}

int sw_proc_from_json(const json_t *json, struct sw_proc *out)
{
    const char *boot = sw_json_str(json, "boot");

    out->pid = (pid_t)sw_json_int(json, "pid", 0);
    out->start_ticks = (unsigned long long)sw_json_int(json, "start", 0);
    snprintf(out->boot_id, sizeof out->boot_id, "%s", boot ? boot : "");
    return out->pid > 0 && boot ? 0 : -1;
}

int sw_proc_signal(const struct sw_proc *proc, int signal)
{
    /* The descriptor pins the process: if it is still ours now, the signal cannot go astray. */
    sw_autofd int fd = (int)syscall(SYS_pidfd_open, proc->pid, 0);

    if (fd < 0 && errno != ENOSYS)
        return -1;
    if (!sw_proc_alive(proc))
        return -1;
    if (fd < 0)
        return kill(proc->pid, signal);
    return (int)syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
}

/* In the child: nothing but system calls, since the caller may have threads. */
static void become_detached(const char *program, char *const argv[], char *const environment[])
{
    int nothing = open("/dev/null", O_RDWR);
    sigset_t none;

    setsid();
    if (fork() != 0)
        _exit(0);
    for (int fd = 0; nothing >= 0 && fd < 3; fd++)
        dup2(nothing, fd);
    (void)!syscall(SYS_close_range, 3U, ~0U, 0U);      /* an old kernel: ours are closed by exec */
    (void)!chdir("/");
    umask(077);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(program, argv, environment);
    _exit(127);
}

void sw_proc_take_fds(const int fds[3])
{
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    for (int fd = 0; fd < 3; fd++)
        if (fds[fd] != fd)
            dup2(fds[fd], fd);
}

int sw_proc_detach(const char *program, char *const argv[], char *const environment[], struct sw_error *err)
{
    pid_t child = fork();

    if (child == 0)
        become_detached(program, argv, environment ? environment : environ);
    if (child < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot start %s", argv[0]);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

static bool helpers_inside;

void sw_helpers_inside(void)
{
    helpers_inside = true;
}

char *sw_helper_path(const char *name, struct sw_error *err)
{
    const char *asked = getenv("SLIPWAY_LIBEXEC_DIR");
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    char *slash;

    if (!sw_text_empty(asked)) {
        sw_autofree char *path = sw_path_join(asked, name);

        if (access(path, X_OK) == 0)
            return sw_take(path);
    }
    if (helpers_inside)
        return sw_strdup(SW_PROC_SELF);
    if (n > 0) {
        program[n] = '\0';
        slash = strrchr(program, '/');
        if (slash) {
            static const char *const beside[] = { ".", "../libexec/slipway", "../runner",
                                                  "../platform/local", "../hook" };

            *slash = '\0';
            for (size_t i = 0; i < SW_COUNT(beside); i++) {
                sw_autofree char *folder = sw_path_absolute(beside[i], program);
                sw_autofree char *path = sw_path_join(folder, name);

                if (access(path, X_OK) == 0)
                    return sw_take(path);
            }
        }
    }
    {
        sw_autofree char *path = sw_path_join(SW_LIBEXEC_DIR, name);

        if (access(path, X_OK) == 0)
            return sw_take(path);
    }
    sw_fail(err, SW_E_NOT_FOUND, "cannot find the helper program '%s'", name);
    sw_hint(err, "reinstall Slipway, or set SLIPWAY_LIBEXEC_DIR to the folder that holds it");
    return NULL;
}

/* ---- starting ---------------------------------------------------------------------------------- */

static void become_child(void (*become)(void *, struct sw_start_failure *), void *context,
                         pid_t parent, int failed)
{
    struct sw_start_failure why = { 0 };
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)                     /* it died before we said so */
        _exit(127);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    become(context, &why);
    _exit(write(failed, &why, sizeof why) < 0 ? 126 : 127);
}

pid_t sw_proc_start(void (*become)(void *context, struct sw_start_failure *why), void *context,
                    struct sw_start_failure *why, struct sw_error *err)
{
    pid_t parent = getpid(), pid;
    int ends[2];
    ssize_t n;

    *why = (struct sw_start_failure){ 0 };
    if (pipe2(ends, O_CLOEXEC) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot create a pipe");
    pid = fork();
    if (pid == 0)
        become_child(become, context, parent, ends[1]);
    close(ends[1]);
    do                                           /* the end of it is closed by a good exec */
        n = pid > 0 ? read(ends[0], why, sizeof *why) : -1;
    while (n < 0 && pid > 0 && errno == EINTR);
    close(ends[0]);
    if (pid < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot start a process");
    if (n != (ssize_t)sizeof *why)
        return pid;
    waitpid(pid, NULL, 0);
    return -1;
}

void sw_host_name(char out[SW_HOST_SIZE])
{
    if (gethostname(out, SW_HOST_SIZE) < 0)
        strcpy(out, "localhost");
    out[SW_HOST_SIZE - 1] = '\0';
    out[strcspn(out, "/.")] = '\0';
}
