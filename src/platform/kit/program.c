/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c - see program.h. Used for the exec plugins of kubeconfigs and for the brev program.
 */
#include "platform/kit/program.h"

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
#include "base/secret.h"
#include "base/text.h"

enum { COMPLAINT_MAX = 4096, COMPLAINT_SHOWN = 300 };

extern char **environ;

struct running {                         /* under way */
    const struct sw_program_call *program;
    char **environment;                  /* the list is owned, its texts are not */
    int output[2], complaint[2];
    pid_t pid;
};

/* ---- its environment ----------------------------------------------------------------------------- */

static bool is_added(char *const *added, const char *variable)
{
    size_t name = strcspn(variable, "=") + 1;

    for (; added && *added; added++)
        if (strncmp(*added, variable, name) == 0)
            return true;
    return false;
}

static size_t length_of(char *const *list)
{
    size_t length = 0;

    while (list && list[length])
        length++;
    return length;
}

/* What is added comes before what this process has. */
static char **environment_of(char *const *added)
{
    size_t have = length_of(environ), more = length_of(added), at = 0;
    char **all = sw_alloc((have + more + 1) * sizeof *all);

    for (size_t i = 0; i < have; i++)
        if (!is_added(added, environ[i]))
            all[at++] = environ[i];
    for (size_t i = 0; i < more; i++)
        all[at++] = added[i];
    return all;
}

/* ---- its run ------------------------------------------------------------------------------------- */

static void become(void *context, struct sw_start_failure *why)
{
    const struct running *running = context;
    int nothing = open("/dev/null", O_RDONLY);

    setsid();
    if (dup2(nothing, 0) >= 0 && dup2(running->output[1], 1) >= 0 && dup2(running->complaint[1], 2) >= 0)
        execvpe(running->program->argv[0], (char *const *)running->program->argv, running->environment);
    why->error = errno;
}

static int start(struct running *running, struct sw_error *err)
{
    struct sw_start_failure why;

    if (pipe2(running->output, O_CLOEXEC) < 0 || pipe2(running->complaint, O_CLOEXEC) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot create a pipe");
    running->pid = sw_proc_start(become, running, &why, err);
    for (int i = 0; i < 2; i++) {
        int *end = i ? &running->complaint[1] : &running->output[1];

        close(*end);
        *end = -1;
    }
    if (running->pid > 0)
        return 0;
    return why.error ? sw_fail(err, SW_E_UNSUPPORTED, "it cannot be started: %s", strerror(why.error)) : -1;
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
static int listen_to(const struct running *running, int process, struct sw_program_reply *reply,
                     struct sw_error *err)
{
    int64_t deadline_ms = sw_monotonic_ms() + running->program->patience_ms;
    size_t most = running->program->output_max;
    struct pollfd wait[] = { { .fd = running->output[0], .events = POLLIN },
                             { .fd = running->complaint[0], .events = POLLIN },
                             { .fd = process, .events = POLLIN } };

    sw_buf_reserve(&reply->output, most);
    for (;;) {
        int64_t left_ms = deadline_ms - sw_monotonic_ms();
        int ready = left_ms > 0 ? poll(wait, 3, (int)left_ms) : 0;
        int more;

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return sw_fail(err, SW_E_TIMEOUT, "it timed out");
        if (wait[1].revents && take_output(wait[1].fd, &reply->complaint, COMPLAINT_MAX, true) <= 0)
            wait[1].fd = -1;
        more = wait[0].revents ? take_output(wait[0].fd, &reply->output, most, false) : 0;
        if (more < 0)
            return sw_fail(err, SW_E_REFUSED, "it printed more than %zu bytes", most);
        if (wait[0].revents && more == 0)
            wait[0].fd = -1;
        if (wait[2].revents && more == 0 && !(wait[1].fd >= 0 && wait[1].revents))
            return 0;
    }
}

static void close_all(const struct running *running)
{
    const int ends[] = { running->output[0], running->output[1], running->complaint[0],
                         running->complaint[1] };

    for (size_t i = 0; i < SW_COUNT(ends); i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

static int follow(const struct running *running, struct sw_program_reply *reply, struct sw_error *err)
{
    sw_autofd int process = (int)syscall(SYS_pidfd_open, running->pid, 0);
    int status = 0, result = process < 0 ? sw_fail_errno(err, SW_E_IO, "cannot wait for it")
                                         : listen_to(running, process, reply, err);

    if (result < 0)
        kill(-running->pid, SIGKILL);
    while (waitpid(running->pid, &status, 0) < 0 && errno == EINTR) {
    }
    reply->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return result;
}

int sw_program_run(const struct sw_program_call *program, struct sw_program_reply *reply,
                   struct sw_error *err)
{
    sw_autofree char **environment = environment_of(program->added);
    struct running running = { .program = program, .environment = environment, .output = { -1, -1 },
                               .complaint = { -1, -1 } };
    int result = start(&running, err);

    if (result == 0)
        result = follow(&running, reply, err);
    close_all(&running);
    return result;
}

void sw_program_reply_done(struct sw_program_reply *reply)
{
    sw_buf_wipe(&reply->output);
    sw_buf_wipe(&reply->complaint);
}

char *sw_program_words(const struct sw_program_reply *reply)
{
    size_t length = reply->complaint.length;
    size_t skip = length > COMPLAINT_SHOWN ? length - COMPLAINT_SHOWN : 0;

    while (length > skip && reply->complaint.data[length - 1] == '\n')
        length--;
    return sw_text_printable(sw_buf_text(&reply->complaint) + skip, length - skip);
}
