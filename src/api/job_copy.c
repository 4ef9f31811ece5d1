/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_copy.c - files and folders out of a running job, and into it: an archive through a command beside it.
 *
 * The command is the job's runner (runner/pack.c, runner/place.c), with the job's user, folder and view of
 * files. It reads from or writes to a pipe; the other end is served by a thread here (job_copy_here.c), so
 * that neither side keeps more than a pipe holds. What goes wrong here counts before what the command says of
 * it.
 */
#include "api/job_copy.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/api_internal.h"
#include "base/file.h"
#include "base/text.h"
#include "base/thread.h"
#include "core/archive.h"

enum { WORDS_MOST = 400 };

struct job_copying {
    struct sw_session *session;
    struct api_job job;
    bool into;                       /* the job, from here */
    const char *name;                /* its last part */
    const char *here;
    struct job_copy_count count;

    int pipe[2];                     /* read and written; -1: closed */
    int words;                       /* what the command says, kept */
    int result;                      /* of our side */
    struct sw_error err;
    char *made;
};

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void job_copying_auto(struct job_copying *copy)
{
    close_end(&copy->pipe[0]);
    close_end(&copy->pipe[1]);
    close_end(&copy->words);
    api_job_auto(&copy->job);
    free(copy->made);
}

/* ---- our side, in a thread ------------------------------------------------------------------------- */

static void block_pipe_signal(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void *serve(void *context)
{
    struct job_copying *copy = context;

    block_pipe_signal();
    copy->result = copy->into ? job_copy_pack(copy->pipe[1], copy->here, &copy->count, &copy->err)
                              : job_copy_unpack(copy->pipe[0], copy->name, copy->here, &copy->count,
                                                &copy->made, api_warn, copy->session, &copy->err);
    close_end(&copy->pipe[copy->into]);
    return NULL;
}

/* ---- the command beside the job -------------------------------------------------------------------- */

static int words_of(const struct job_copying *copy, int status, struct sw_error *err)
{
    char said[WORDS_MOST + 1];
    ssize_t n = pread(copy->words, said, WORDS_MOST, 0);
    sw_autofree char *words = NULL;

    said[n > 0 ? n : 0] = '\0';
    words = sw_text_printable(said, strcspn(said, "\n"));
    if (*words)
        sw_fail(err, SW_E_REFUSED, "%s", words);
    else
        sw_fail(err, SW_E_REFUSED, "the copying command ended with exit code %d", status);
    return -1;
}

/* Runs it to its end; *status: -1 when it did not get there. */
static int run_beside(struct job_copying *copy, int replica, char *const argv[], int *status,
                      struct sw_error *err)
{
    sw_autofd int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const struct sw_exec what = { .replica = replica, .argv = argv,
                                  .fds = { copy->into ? copy->pipe[0] : none,
                                           copy->into ? copy->words : copy->pipe[1], copy->words } };
    struct sw_stream *stream;
    pthread_t thread;
    int result;

    if (copy->job.platform->exec_open(copy->job.conn, &copy->job.ref, &what, &stream, err) < 0)
        return -1;
    if (copy->into && !stream->passed && !stream->takes_input) {
        stream->ops->close(stream);
        return sw_fail(err, SW_E_UNSUPPORTED, "nothing can be sent to a command of this job");
    }
    if (sw_thread_start(&thread, 0, serve, copy) < 0) {
        stream->ops->close(stream);
        return sw_fail(err, SW_E_IO, "there can be no more threads");
    }
    result = api_exec_pump(stream, what.fds, status, err);
    close_end(&copy->pipe[!copy->into]);
    pthread_join(thread, NULL);
    return result;
}

/* A signal of a pipe that has no reader any more is the failure of a write, and nothing else. */
static int run_quietly(struct job_copying *copy, int replica, char *const argv[], int *status,
                       struct sw_error *err)
{
    const struct timespec now = { 0 };
    sigset_t before, pipes, pending;
    int result;

    sigpending(&pending);
    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipes, &before);
    result = run_beside(copy, replica, argv, status, err);
    if (!sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipes, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

static int open_copy(struct job_copying *copy, const char *id, int replica, struct sw_error *err)
{
    copy->pipe[0] = copy->pipe[1] = copy->words = -1;
    if (api_job_running(copy->session, id, replica, &copy->job, err) < 0)
        return copy->job.row.phase == SW_PHASE_OVER
                   ? sw_hint(err, "`slipway get %s` fetches the results of a finished job", id) : -1;
    if (!copy->job.platform->exec_open) {
        sw_fail(err, SW_E_UNSUPPORTED, "files of a running job cannot be copied on %s",
                copy->job.platform->name);
        return sw_hint(err, "`slipway get %s` fetches its results when it has finished", id);
    }
    copy->words = memfd_create("slipway-words", MFD_CLOEXEC);
    if (copy->words < 0 || pipe2(copy->pipe, O_CLOEXEC) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot make a pipe");
    return 0;
}

/* The runner ends with 1 when a file changed while it was read: all of it is here, and that is said. */
static char *finish(struct job_copying *copy, int status, const char *to, struct sw_error *err)
{
    bool failed = copy->result < 0;
    struct sw_error said = { 0 };

    if (status > 0)
        words_of(copy, status, &said);
    if (failed && (status == 0 || !copy->count.cut))
        return sw_null(sw_pass(err, &copy->err));
    if (failed || status > 1 || (status == 1 && copy->into))
        return sw_null(sw_pass(err, &said));
    if (status == 1)
        api_warn(copy->session, said.message);
    return api_document("cp", sw_json_object(
        SW_INT("files", copy->count.files), SW_INT("bytes", copy->count.bytes),
        SW_STR("to", to ? to : copy->made)));
}

char *sw_copy_from_job(struct sw_session *session, const char *id, int replica, const char *path,
                       const char *to, sw_copy_progress_fn *progress, void *context, struct sw_error *err)
{
    sw_auto(job_copying) struct job_copying copy = { .session = session, .here = to, .pipe = { -1, -1 },
                                                     .words = -1,
                                                     .count = { .progress = progress, .context = context } };
    sw_autofree char *trimmed = sw_strdup(path);
    char *slash;
    int status = 0;

    for (size_t n = strlen(trimmed); n > 1 && trimmed[n - 1] == '/'; n--)
        trimmed[n - 1] = '\0';
    slash = strrchr(trimmed, '/');
    copy.name = slash ? slash + 1 : trimmed;
    if (!*copy.name || strcmp(copy.name, ".") == 0 || strcmp(copy.name, "..") == 0)
        return sw_null(sw_fail(err, SW_E_USAGE, "'%s' does not end in the name of a file or folder", path));
    if (open_copy(&copy, id, replica, err) < 0)
        return NULL;
    if (slash)
        *slash = '\0';
    {
        char *argv[] = { (char *)SW_EXEC_RUNNER, (char *)"pack",
                         !slash ? (char *)"." : *trimmed ? trimmed : (char *)"/", (char *)copy.name, NULL };

        if (run_quietly(&copy, replica, argv, &status, err) < 0)
            return NULL;
    }
    return finish(&copy, status, NULL, err);
}

char *sw_copy_to_job(struct sw_session *session, const char *id, int replica, const char *from,
                     const char *path, sw_copy_progress_fn *progress, void *context, struct sw_error *err)
{
    sw_auto(job_copying) struct job_copying copy = { .session = session, .into = true, .here = from,
                                                     .pipe = { -1, -1 }, .words = -1,
                                                     .count = { .progress = progress, .context = context } };
    sw_autofree char *absolute = sw_path_absolute(from, NULL);
    int status = 0;

    if (access(from, R_OK) < 0)
        return sw_null(sw_fail_errno(err, SW_E_NOT_FOUND, "cannot read '%s'", from));
    copy.name = strrchr(absolute, '/') + 1;
    if (!*path || !*copy.name)
        return sw_null(sw_fail(err, SW_E_USAGE, "which place in the job?"));
    if (open_copy(&copy, id, replica, err) < 0)
        return NULL;
    {
        char *argv[] = { (char *)SW_EXEC_RUNNER, (char *)"place", (char *)path, (char *)copy.name, NULL };

        if (run_quietly(&copy, replica, argv, &status, err) < 0)
            return NULL;
    }
    return finish(&copy, status, path, err);
}
