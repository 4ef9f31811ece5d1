/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_bring.c - the results of a job, from the cluster to a folder here.
 *
 * One stream down the connection that is there already: tar packs on the login node and unpacks
 * here, both the system's own. Our own notes (.slipway) stay there.
 */
#include "platform/slurm/slurm_internal.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"

extern char **environ;

enum { LONGEST_MS = 24 * 3600 * 1000 };

struct unpacking {
    pid_t pid;
    int to;                        /* its standard input */
};

static int start(struct unpacking *tar, const char *folder, struct sw_error *err)
{
    const char *const words[] = { "tar", "-x", "-f", "-", "-C", folder, "--no-same-owner", NULL };
    posix_spawn_file_actions_t actions;
    int ends[2], problem;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot make a pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
    problem = posix_spawnp(&tar->pid, words[0], &actions, NULL, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    tar->to = ends[1];
    if (problem) {
        close(ends[1]);
        errno = problem;
        return sw_fail_errno(err, SW_E_IO, "cannot start tar");
    }
    return 0;
}

static int pass_on(void *context, const char *bytes, size_t length)
{
    const struct unpacking *tar = context;

    while (length > 0) {
        ssize_t n = send(tar->to, bytes, length, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes += n;
        length -= (size_t)n;
    }
    return 0;
}

/* Was all of it unpacked? */
static int finish(struct unpacking *tar, struct sw_error *err)
{
    int status = 0;

    close(tar->to);
    while (waitpid(tar->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return sw_fail(err, SW_E_IO, "tar could not unpack what came (is there room?)");
    return 0;
}

struct tally {
    int64_t files, bytes;
};

static int count(void *context, const char *relative, const struct stat *info)
{
    struct tally *tally = context;

    (void)relative;
    if (S_ISREG(info->st_mode)) {
        tally->files++;
        tally->bytes += info->st_size;
    }
    return 0;
}

json_t *slurm_bring(struct sw_link *link, const struct sw_jobref *job, const char *to,
                    struct sw_error *err)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct unpacking tar;
    struct sw_ssh_call call = { .sink = pass_on, .sink_context = &tar, .timeout_ms = LONGEST_MS };
    struct tally tally = { 0 };
    int asked, unpacked;

    if (slurm_names_of(link, job, &names, err) < 0 || sw_mkdirs(to, 0777, err) < 0 ||
        start(&tar, to, err) < 0)
        return NULL;
    slurm_set(&script, "results", names.results);
    sw_buf_add(&script, "cd \"$results\" || exit 1\n"
                        "exec tar -c -f - --exclude=./.slipway .\n");
    call.script = script.data;
    pthread_mutex_lock(&link->lock);
    asked = sw_ssh_run(link->ssh, &call, &reply, err);
    pthread_mutex_unlock(&link->lock);
    unpacked = finish(&tar, asked < 0 ? NULL : err);
    if (asked < 0 || unpacked < 0)
        return NULL;
    if (reply.exit_code != 0) {
        sw_fail(err, SW_E_IO, "the cluster could not send '%s': %.300s", names.results,
                sw_buf_text(&reply.errors));
        return NULL;
    }
    sw_walk(to, count, &tally, NULL);
    return sw_json_object(SW_INT("files", tally.files), SW_INT("bytes", tally.bytes),
                          SW_STR("to", to));
}
