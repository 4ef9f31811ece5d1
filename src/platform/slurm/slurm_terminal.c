/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_terminal.c - a command beside a running rank on the caller's terminal.
 *
 * ssh has the terminal and gives one to `srun --pty` on the login host, which gives one to the step. Each
 * passes keys and the size of the window on, so nothing is left to do here but to wait.
 *
 * The script of the step is a file of the job on the cluster, which removes itself: the terminal's input is
 * for the command, and an argument list is no place for what a user wrote.
 */
#include "platform/slurm/slurm_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "base/text.h"

struct slurm_terminal {
    struct sw_stream stream;
    pid_t pid;
    int exit_status;
};

static int terminal_read(struct sw_stream *stream, sw_stream_put *put, void *context)
{
    struct slurm_terminal *terminal = (struct slurm_terminal *)stream;
    int status = 0;

    (void)put;
    (void)context;
    while (waitpid(terminal->pid, &status, 0) < 0 && errno == EINTR)
        ;
    terminal->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return 1;
}

static int terminal_status(struct sw_stream *stream, int *exit_status, struct sw_error *err)
{
    (void)err;
    *exit_status = ((struct slurm_terminal *)stream)->exit_status;
    return 0;
}

static void terminal_close(struct sw_stream *stream)
{
    free(stream);
}

/* The script as a file of the job; its name, owned. */
static char *keep_script(struct sw_connection *conn, const struct sw_jobref *job, const struct sw_buf *step,
                         struct sw_error *err)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    const struct sw_ssh_piece input = { .bytes = step->data, .length = step->length, .fd = -1 };
    struct sw_ssh_call call = { .input = &input, .input_count = 1 };

    if (slurm_names_of(conn, job, &names, err) < 0)
        return NULL;
    slurm_set(&script, "own", names.state);
    slurm_text_add(&script, SLURM_TEXT_KEEP);
    call.script = sw_buf_text(&script);
    if (slurm_call(conn, &call, &reply, err) < 0)
        return NULL;
    if (reply.exit_code == 0 && reply.output.length)
        return sw_strdup(sw_buf_text(&reply.output));
    return sw_null(sw_fail(err, SW_E_REFUSED, "cannot write to the job's folder on the cluster: %s",
                           sw_buf_text(&reply.errors)));
}

static int start(struct sw_connection *conn, const char *file, const int fds[3], pid_t *pid,
                 struct sw_error *err)
{
    struct slurm_connection *slurm = slurm_of(conn);
    sw_auto(sw_buf) struct sw_buf command = SW_BUF_INIT;

    sw_buf_add(&command, "exec /bin/sh ");
    sw_buf_add_quoted(&command, file);
    pthread_mutex_lock(&slurm->lock);
    *pid = sw_ssh_terminal(slurm->ssh, sw_buf_text(&command), fds, err);
    pthread_mutex_unlock(&slurm->lock);
    return *pid < 0 ? -1 : 0;
}

int slurm_terminal_open(struct sw_connection *conn, const struct sw_jobref *job, const struct sw_exec *what,
                        struct sw_stream **out, struct sw_error *err)
{
    static const struct sw_stream_ops ops = { .read = terminal_read, .status = terminal_status,
                                              .close = terminal_close };
    sw_auto(sw_buf) struct sw_buf step = SW_BUF_INIT;
    sw_autofree char *file = NULL;
    struct slurm_terminal *terminal;
    pid_t pid;

    sw_buf_add(&step, "rm -f -- \"$0\"\n");
    if (slurm_exec_script(&step, conn, job, what->replica, SLURM_STEP_TERMINAL, what->argv, err) < 0 ||
        !(file = keep_script(conn, job, &step, err)) || start(conn, file, what->fds, &pid, err) < 0)
        return -1;
    terminal = sw_new(struct slurm_terminal);
    *terminal = (struct slurm_terminal){ .stream = { .ops = &ops, .fd = -1, .passed = true }, .pid = pid };
    *out = &terminal->stream;
    return 0;
}
