/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_exec.c - a command beside a running rank: a step of its own in the job's allocation.
 *
 * It finds a process of the rank by our mark and enters the namespaces that it is in: those of its container,
 * which belong to the user. There the runner takes over its environment and folder (runner/beside.c), so
 * that the command sees what the job sees; nothing of it passes through an argument list. Input that has an
 * end (a file, a pipe) is passed on; there is no terminal.
 */
#include "platform/slurm/slurm_internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { PATIENCE_MS = 24 * 3600 * 1000, INPUT_MOST = 256 << 20, PIECE = 64 * 1024 };

/* bash -c THIS - MARK COMMAND...: in the step. The runner takes over environment and folder. */
static const char beside_text[] =
    "mark=SLIPWAY_TASK=$1\n"
    "shift\n"
    "ns() { readlink \"/proc/$1/ns/$2\"; }\n"
    "for try in 1 2 3 4 5 6 7 8 9 10; do\n"
    "    for file in $(grep -lszxF \"$mark\" /proc/[0-9]*/environ 2>/dev/null); do\n"
    "        pid=${file#/proc/} pid=${pid%/environ} enter=\n"
    "        runner=$(tr '\\0' '\\n' <\"$file\" | sed -n 's/^slipway_runner=//p')\n"
    "        case $(readlink \"/proc/$pid/exe\") in '' | *slipway-runner*) continue ;; esac\n"
    "        [ \"$(ns $pid user)\" = \"$(ns self user)\" ] || enter='--user --preserve-credentials'\n"
    "        [ \"$(ns $pid mnt)\" = \"$(ns self mnt)\" ] || enter=\"$enter --mount\"\n"
    "        [ \"$(ns $pid pid)\" = \"$(ns self pid)\" ] || enter=\"$enter --pid\"\n"
    "        exec ${enter:+nsenter --target $pid $enter} \"$runner\" beside \"$mark\" \"$@\"\n"
    "    done\n"
    "    sleep 0.5\n"
    "done\n"
    "echo 'slipway: its command has not begun' >&2\n"
    "exit 75\n";

/* The last line of the runs: restart, Slurm's id of this very run, since when, nodes. */
static const char step_text[] =
    "for try in 1 2 3 4 5 6 7 8 9 10; do              # it may begin just now\n"
    "    [ ! -s \"$own/runs\" ] || break\n"
    "    sleep 0.5\n"
    "done\n"
    "[ -s \"$own/runs\" ] || { echo 'slipway: its batch script has not begun' >&2; exit 75; }\n"
    "while read -r restart number since nodes; do last=$number on=$nodes; done <\"$own/runs\"\n"
    "rows=$(squeue -h -j \"$last\" -o '%j|%k' 2>&1) || rows=\n"
    "case $rows in\n"
    "\"$name|\"* | *\"|$comment\" | *\"|$comment \"*) ;;\n"
    "*) echo \"Slurm job $last is not this job any more\" >&2; exit 75 ;;\n"
    "esac\n"
    "node=$(scontrol show hostnames \"$on\" | sed -n \"$((index + 1))p\")\n"
    "exec srun --quiet --overlap --jobid=\"$last\" --nodes=1 --ntasks=1 --nodelist=\"$node\" \\\n"
    "    bash -c \"$beside\" - \"$last.$rank\"";

static int put(void *context, const char *bytes, size_t length)
{
    (void)context;
    return sw_write_all(STDOUT_FILENO, bytes, length);
}

/* What comes down a pipe, in a file of its own: how much it is must be known before. -1: too much. */
static int hold_input(struct sw_error *err)
{
    sw_autofree char *piece = sw_alloc(PIECE);
    sw_autofd int held = memfd_create("slipway-input", MFD_CLOEXEC);
    int64_t total = 0;
    ssize_t n;
    int fd;

    while (held >= 0 && (n = read(STDIN_FILENO, piece, PIECE)) > 0) {
        total += n;
        if (total > INPUT_MOST)
            return sw_fail(err, SW_E_USAGE, "its input is more than %d MiB", INPUT_MOST >> 20);
        if (sw_write_all(held, piece, (size_t)n) < 0)
            return sw_fail_errno(err, SW_E_IO, "cannot hold the input");
    }
    fd = held;
    held = -1;
    return fd;
}

/* Nothing of a terminal, or of what is no file and no pipe. `held` is to be closed. */
static int take_input(struct sw_ssh_piece *piece, int *held, struct sw_error *err)
{
    struct stat info;

    *held = -1;
    if (fstat(STDIN_FILENO, &info) < 0 || !(S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode)))
        return 0;
    if (S_ISFIFO(info.st_mode)) {
        *held = hold_input(err);
        if (*held < 0 || fstat(*held, &info) < 0)
            return -1;
    }
    piece->fd = *held >= 0 ? *held : STDIN_FILENO;
    piece->offset = *held >= 0 ? 0 : lseek(STDIN_FILENO, 0, SEEK_CUR);
    piece->length = info.st_size > piece->offset ? (size_t)(info.st_size - piece->offset) : 0;
    return 0;
}

static int make_script(struct sw_buf *out, struct sw_connection *conn, const struct sw_jobref *job,
                       int replica, char *const argv[], struct sw_error *err)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    sw_autofree char *own = NULL;
    int nodes = (int)sw_json_int(job->details, "nodes", 1), ranks = slurm_replicas_of(job);

    if (slurm_names_of(conn, job, &names, err) < 0)
        return -1;
    own = slurm_is_array(job) ? sw_format("%s/task-%d", names.state, replica)
                              : sw_strdup(names.state);
    slurm_set(out, "own", own);
    slurm_set(out, "name", names.job_name);
    slurm_set(out, "comment", names.comment);
    slurm_set_number(out, "rank", slurm_is_array(job) ? 0 : replica);
    slurm_set_number(out, "index", slurm_is_array(job) || nodes < 1 ? 0
                                   : replica / (ranks > nodes ? ranks / nodes : 1));
    slurm_set(out, "beside", beside_text);
    sw_buf_add(out, step_text);
    for (; *argv; argv++) {
        sw_buf_add_char(out, ' ');
        sw_buf_add_quoted(out, *argv);
    }
    sw_buf_add_char(out, '\n');
    return 0;
}

/* What srun adds when a command ends with another code than 0 says nothing new. */
static void say_errors(const struct sw_buf *errors)
{
    static const char ended[] = ": task 0: Exited with exit code ";
    const char *line = sw_buf_text(errors), *end = line + errors->length;

    while (line < end) {
        size_t length = strcspn(line, "\n");
        const char *found = sw_text_starts(line, "srun: error: ") ? strstr(line, ended) : NULL;

        length += line + length < end;
        if (!found || found > line + length)
            sw_write_all(STDERR_FILENO, line, length);
        line += length;
    }
}

int slurm_exec(struct sw_connection *conn, const struct sw_jobref *job, int replica, char *const argv[],
               int *exit_status, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_ssh_piece input = { .fd = -1 };
    sw_autofd int held = -1;
    struct sw_ssh_call call = { .sink = put, .input = &input, .timeout_ms = PATIENCE_MS };

    if (make_script(&script, conn, job, replica, argv, err) < 0 ||
        take_input(&input, &held, err) < 0)
        return -1;
    call.script = sw_buf_text(&script);
    call.input_count = input.length > 0;
    if (slurm_call(conn, &call, &reply, err) < 0)
        return -1;
    say_errors(&reply.errors);
    *exit_status = reply.exit_code;
    return 0;
}
