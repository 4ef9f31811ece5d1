/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_plugin.c - runs an exec plugin: no input, its output bounded in size and time.
 *
 * It has a session of its own, so it finds no terminal to ask questions on, and all that it started
 * ends with it when it takes too long. Where it leaves a process behind that still holds its output,
 * that is not waited for.
 */
#include "platform/kube/kube_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"
#include "base/text.h"

enum { COMPLAINT_MAX = 4096, COMPLAINT_SHOWN = 300 };

extern char **environ;

struct kube_program {                /* under way */
    const struct kube_exec *exec;
    char **argv, **environment;      /* the lists are owned, the texts of the process's environment are not */
    char **added;                    /* "NAME=value", owned, NULL-ended */
    int output[2], complaint[2];
    pid_t pid;
    struct sw_buf said, complained;  /* the first holds secrets */
};

/* ---- its arguments and environment --------------------------------------------------------------- */

static void make_argv(struct kube_program *program)
{
    size_t count = json_array_size(program->exec->args);

    program->argv = sw_alloc((count + 2) * sizeof *program->argv);
    program->argv[0] = program->exec->command;
    for (size_t i = 0; i < count; i++)
        program->argv[i + 1] = (char *)json_string_value(json_array_get(program->exec->args, i));
}

static bool is_added(char *const *added, const char *variable)
{
    size_t name = strcspn(variable, "=") + 1;

    for (; *added; added++)
        if (strncmp(*added, variable, name) == 0)
            return true;
    return false;
}

/* What the kubeconfig says comes before what this process has. */
static void make_environment(struct kube_program *program, const struct kube_cluster *cluster)
{
    sw_autofree char *info = kube_exec_info(program->exec, cluster);
    size_t count = json_array_size(program->exec->env), have = 0, at = 0;

    program->added = sw_alloc((count + 2) * sizeof *program->added);
    program->added[0] = sw_format("KUBERNETES_EXEC_INFO=%s", info);
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(program->exec->env, i);

        program->added[i + 1] = sw_format("%s=%s", sw_json_str(one, "name"), sw_json_str(one, "value"));
    }
    while (environ && environ[have])
        have++;
    program->environment = sw_alloc((have + count + 2) * sizeof *program->environment);
    for (size_t i = 0; i < have; i++)
        if (!is_added(program->added, environ[i]))
            program->environment[at++] = environ[i];
    memcpy(program->environment + at, program->added, (count + 1) * sizeof *program->added);
}

static void program_done(struct kube_program *program)
{
    int *ends[] = { program->output, program->complaint };

    for (size_t i = 0; i < SW_COUNT(ends); i++)
        for (int end = 0; end < 2; end++)
            if (ends[i][end] >= 0)
                close(ends[i][end]);
    for (char **at = program->added; at && *at; at++)
        sw_text_wipe(*at);
    free(program->added);
    free(program->environment);
    free(program->argv);
    sw_buf_wipe(&program->said);
    sw_buf_done(&program->complained);
}

/* ---- its run ------------------------------------------------------------------------------------- */

static void become(void *context, struct sw_start_failure *why)
{
    const struct kube_program *program = context;
    int nothing = open("/dev/null", O_RDONLY);

    setsid();
    if (dup2(nothing, 0) >= 0 && dup2(program->output[1], 1) >= 0 && dup2(program->complaint[1], 2) >= 0)
        execvpe(program->argv[0], program->argv, program->environment);
    why->error = errno;
}

static int start(struct kube_program *program, struct sw_error *err)
{
    struct sw_start_failure why;

    if (pipe2(program->output, O_CLOEXEC) < 0 || pipe2(program->complaint, O_CLOEXEC) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot make a pipe");
    program->pid = sw_proc_start(become, program, &why, err);
    for (int i = 0; i < 2; i++) {
        int *end = i ? &program->complaint[1] : &program->output[1];

        close(*end);
        *end = -1;
    }
    if (program->pid > 0)
        return 0;
    if (!why.error)
        return -1;
    sw_fail(err, SW_E_CREDENTIAL, "it cannot be started: %s", strerror(why.error));
    return program->exec->install_hint ? sw_hint(err, "%.240s", program->exec->install_hint) : -1;
}

/* What is there now, up to `most` in all; what is more of a complaint is dropped. 0: the end. -1:
 * too much. */
static int take_output(int fd, struct sw_buf *out, size_t most, bool drop)
{
    char bytes[4096];
    ssize_t got = read(fd, bytes, sizeof bytes);

    if (got > 0 && out->length + (size_t)got > most && !drop)
        got = -1;
    else if (got > 0 && out->length + (size_t)got <= most)
        sw_buf_add_bytes(out, bytes, (size_t)got);
    explicit_bzero(bytes, sizeof bytes);
    return got > 0 ? 1 : (int)got;
}

/* Until it has ended and all that it wrote is read. */
static int listen_to(struct kube_program *program, int process, int64_t deadline_ms, struct sw_error *err)
{
    struct pollfd wait[] = { { .fd = program->output[0], .events = POLLIN },
                             { .fd = program->complaint[0], .events = POLLIN },
                             { .fd = process, .events = POLLIN } };

    sw_buf_reserve(&program->said, KUBE_ANSWER_MAX);     /* once, so that growing leaves no copy behind */
    for (;;) {
        int64_t left_ms = deadline_ms - sw_monotonic_ms();
        int ready = left_ms > 0 ? poll(wait, 3, (int)left_ms) : 0;
        int more;

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return sw_fail(err, SW_E_TIMEOUT, "it did not end in time");
        if (wait[1].revents && take_output(wait[1].fd, &program->complained, COMPLAINT_MAX, true) <= 0)
            wait[1].fd = -1;
        more = wait[0].revents ? take_output(wait[0].fd, &program->said, KUBE_ANSWER_MAX, false) : 0;
        if (more < 0)
            return sw_fail(err, SW_E_CREDENTIAL, "it printed more than %d bytes", KUBE_ANSWER_MAX);
        if (wait[0].revents && more == 0)
            wait[0].fd = -1;
        if (wait[2].revents && more == 0 && !(wait[1].fd >= 0 && wait[1].revents))
            return 0;
    }
}

static int finish(struct kube_program *program, int result, struct sw_error *err)
{
    int status = 0;
    size_t length = program->complained.length;
    size_t skip = length > COMPLAINT_SHOWN ? length - COMPLAINT_SHOWN : 0;
    sw_autofree char *words = NULL;

    if (result < 0)
        kill(-program->pid, SIGKILL);
    while (waitpid(program->pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (result < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
        return result;
    while (length > skip && program->complained.data[length - 1] == '\n')
        length--;
    words = sw_text_printable(sw_buf_text(&program->complained) + skip, length - skip);
    sw_fail(err, SW_E_CREDENTIAL, "it ended with %s %d%s%s", WIFEXITED(status) ? "status" : "signal",
            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), *words ? ": " : "", words);
    return sw_hint(err, "a new login may be needed: does `kubectl get pods` work?");
}

int kube_exec_run(const struct kube_exec *exec, const struct kube_cluster *cluster, int64_t patience_ms,
                  struct kube_exec_credential *out, struct sw_error *err)
{
    struct kube_program program = { .exec = exec, .output = { -1, -1 }, .complaint = { -1, -1 } };
    int result;

    make_argv(&program);
    make_environment(&program, cluster);
    result = start(&program, err);
    if (result == 0) {
        sw_autofd int process = (int)syscall(SYS_pidfd_open, program.pid, 0);

        result = process < 0 ? sw_fail_errno(err, SW_E_IO, "cannot wait for it")
                             : listen_to(&program, process, sw_monotonic_ms() + patience_ms, err);
        result = finish(&program, result, err);
    }
    if (result == 0)
        result = kube_exec_answer(sw_buf_text(&program.said), program.said.length, exec->api_version, out,
                                  err);
    program_done(&program);
    return result < 0 ? sw_wrap(err, "the program '%s', which says who the user is", exec->command) : 0;
}
