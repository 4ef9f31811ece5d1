/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_exec.c - a command beside a running rank: a step of its own in the job's allocation.
 *
 * It finds a process of the rank by our mark and enters the namespaces that it is in: those of its container,
 * which belong to the user. There the runner takes over its environment and folder (runner/beside.c), so
 * that the command sees what the job sees; nothing of it passes through an argument list. Input that has an
 * end (a file, a pipe) is passed on. A terminal goes another way (slurm_terminal.c).
 */
#include "platform/slurm/slurm_internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { PATIENCE_MS = 24 * 3600 * 1000, INPUT_MOST = 256 << 20 };

int slurm_exec_script(struct sw_buf *out, struct sw_connection *conn, const struct sw_jobref *job,
                      int replica, enum slurm_step_output output, char *const argv[], struct sw_error *err)
{
    static const char *const how[] = { "--quiet", "--unbuffered", "--pty" };
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    sw_auto(sw_buf) struct sw_buf beside = SW_BUF_INIT;
    sw_autofree char *own = NULL;
    size_t count = 0;
    int nodes = (int)sw_json_int(job->details, "nodes", 1), ranks = slurm_replicas_of(job);

    if (slurm_names_of(conn, job, &names, err) < 0)
        return -1;
    own = slurm_is_array(job) ? sw_format("%s/task-%d", names.state, replica)
                              : sw_strdup(names.state);
    slurm_set(out, "own", own);
    slurm_set(out, "name", names.job_name);
    slurm_set(out, "comment", names.comment);
    slurm_set(out, "how", how[output]);
    slurm_set_number(out, "rank", slurm_is_array(job) ? 0 : replica);
    slurm_set_number(out, "index", slurm_is_array(job) || nodes < 1 ? 0
                                   : replica / (ranks > nodes ? ranks / nodes : 1));
    slurm_text_add(&beside, SLURM_TEXT_BESIDE);
    slurm_set(out, "beside", sw_buf_text(&beside));
    while (argv[count])
        count++;
    slurm_call_add(out, "set --", (const char *const *)argv, count);
    slurm_text_add(out, SLURM_TEXT_EXEC);
    return 0;
}

/* ---- the stream ------------------------------------------------------------------------------------ */

struct slurm_step {
    struct sw_stream stream;
    struct sw_connection *conn;
    struct sw_buf script;
    struct sw_ssh_piece input;         /* its file is ours; -1: none */
    bool ready;                        /* all of its input is here */
    int64_t limit_ms;
    struct sw_ssh_reply reply;
    struct sw_error err;               /* code SW_OK: the command ran to its end */
    sw_stream_put *put;                /* during a read */
    void *put_context;
};

static int pass_output(void *context, const char *bytes, size_t length)
{
    const struct slurm_step *step = context;

    return step->put(step->put_context, 1, bytes, length);
}

/* What srun adds when a command ends with another code than 0 says nothing new. */
static int pass_errors(const struct slurm_step *step)
{
    static const char ended[] = ": task 0: Exited with exit code ";
    const struct sw_buf *errors = &step->reply.errors;
    const char *line = sw_buf_text(errors), *end = line + errors->length;

    while (line < end) {
        size_t length = strcspn(line, "\n");
        const char *found = sw_text_starts(line, "srun: error: ") ? strstr(line, ended) : NULL;

        length += line + length < end;
        if ((!found || found > line + length) && step->put(step->put_context, 2, line, length))
            return -1;
        line += length;
    }
    return 1;
}

/* The one held shell runs the step from its beginning to its end. */
static int step_read(struct sw_stream *stream, sw_stream_put *put, void *context)
{
    struct slurm_step *step = (struct slurm_step *)stream;
    const struct sw_ssh_call call = { .script = sw_buf_text(&step->script), .sink = pass_output,
                                      .sink_context = step, .input = &step->input,
                                      .input_count = step->input.length > 0, .timeout_ms = step->limit_ms };

    step->put = put;
    step->put_context = context;
    if (!step->ready && step->err.code == SW_OK)
        return 0;
    if (step->err.code != SW_OK || slurm_call(step->conn, &call, &step->reply, &step->err) < 0)
        return 1;
    return pass_errors(step);
}

/* How much input there is must be known before the step begins: it is held in memory. */
static ssize_t step_write(struct sw_stream *stream, const char *bytes, size_t length)
{
    struct slurm_step *step = (struct slurm_step *)stream;

    if (step->input.length + length > INPUT_MOST)
        return sw_fail(&step->err, SW_E_USAGE, "its input is more than %d MiB", INPUT_MOST >> 20);
    if (sw_write_all(step->input.fd, bytes, length) < 0)
        return sw_fail_errno(&step->err, SW_E_IO, "cannot buffer the input");
    step->input.length += length;
    return (ssize_t)length;
}

static void step_finish(struct sw_stream *stream)
{
    ((struct slurm_step *)stream)->ready = true;
}

static int step_status(struct sw_stream *stream, int *exit_status, struct sw_error *err)
{
    const struct slurm_step *step = (struct slurm_step *)stream;

    *exit_status = step->reply.exit_code;
    if (step->err.code == SW_OK)
        return 0;
    return sw_pass(err, &step->err);
}

static void step_close(struct sw_stream *stream)
{
    struct slurm_step *step = (struct slurm_step *)stream;

    if (step->input.fd >= 0)
        close(step->input.fd);
    sw_ssh_reply_done(&step->reply);
    sw_buf_done(&step->script);
    free(step);
}

/* Input that has an end is passed on: a file as it is, a pipe through memory. */
static int open_input(struct slurm_step *step, const struct sw_exec *what, struct sw_error *err)
{
    int fd = what->fds[0];
    struct stat info;

    step->ready = true;
    if (what->endless || fstat(fd, &info) < 0 || !(S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode)))
        return 0;
    step->stream.takes_input = S_ISFIFO(info.st_mode);
    step->ready = !step->stream.takes_input;
    step->input.fd = step->stream.takes_input ? memfd_create("slipway-input", MFD_CLOEXEC)
                                              : fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (step->input.fd < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot buffer the input");
    if (step->ready) {
        step->input.offset = lseek(fd, 0, SEEK_CUR);
        step->input.length = info.st_size > step->input.offset
                                 ? (size_t)(info.st_size - step->input.offset) : 0;
    }
    return 0;
}

int slurm_exec_open(struct sw_connection *conn, const struct sw_jobref *job, const struct sw_exec *what,
                    struct sw_stream **out, struct sw_error *err)
{
    static const struct sw_stream_ops ops = { .read = step_read, .write = step_write, .finish = step_finish,
                                              .status = step_status, .close = step_close };
    struct slurm_step *step;

    if (what->terminal)
        return slurm_terminal_open(conn, job, what, out, err);
    step = sw_new(struct slurm_step);
    *step = (struct slurm_step){ .stream = { .ops = &ops, .fd = -1 }, .conn = conn, .script = SW_BUF_INIT,
                                 .input = { .fd = -1 },
                                 .limit_ms = what->limit_ms ? what->limit_ms : PATIENCE_MS };
    if (slurm_exec_script(&step->script, conn, job, what->replica, SLURM_STEP_BY_LINES, what->argv,
                          err) < 0 ||
        open_input(step, what, err) < 0) {
        step_close(&step->stream);
        return -1;
    }
    *out = &step->stream;
    return 0;
}
