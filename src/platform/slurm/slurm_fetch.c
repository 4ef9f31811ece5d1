/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_fetch.c - the results of a job, from the cluster to a folder here.
 *
 * One stream down the connection that is there already: the login node's own tar packs, and core/archive.h
 * unpacks here, because what a job left (or a login host says it left) may not lead out of the folder: links
 * stay links and point inside, whatever lies in the folder already. A thread unpacks while the connection
 * brings more; what they share is a socket. Our own notes (.slipway) stay there.
 */
#include "platform/slurm/slurm_internal.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/file.h"
#include "core/archive.h"

enum { LONGEST_MS = 24 * 3600 * 1000 };

struct slurm_unpacking {
    struct sw_archive_stream stream;     /* first: it is passed as this */
    struct sw_archive_place *place;
    int from, to;                        /* the two ends */
    pthread_t thread;
    int result;
    struct sw_error err;
};

static ssize_t read_socket(struct sw_archive_stream *stream, void *bytes, size_t length, struct sw_error *err)
{
    const struct slurm_unpacking *unpacking = (const struct slurm_unpacking *)stream;
    ssize_t n;

    do
        n = read(unpacking->from, bytes, length);
    while (n < 0 && errno == EINTR);
    return n >= 0 ? n : sw_fail_errno(err, SW_E_IO, "cannot read what the cluster sent");
}

/* What comes behind the archive's end is swallowed; after a failure the sender must not wait for us. */
static void *unpack(void *context)
{
    struct slurm_unpacking *unpacking = context;
    const struct sw_archive_visitor visitor = sw_archive_place_visitor(unpacking->place);
    char rest[4096];

    unpacking->result = sw_archive_read_tar(&unpacking->stream, &visitor, &unpacking->err);
    if (unpacking->result < 0)
        shutdown(unpacking->from, SHUT_RD);
    else
        while (read_socket(&unpacking->stream, rest, sizeof rest, NULL) > 0)
            ;
    return NULL;
}

static int start(struct slurm_unpacking *unpacking, struct sw_connection *conn, const char *folder,
                 struct sw_error *err)
{
    int ends[2];

    unpacking->stream.read = read_socket;
    unpacking->place = sw_archive_place_open(folder, slurm_of(conn)->warn, slurm_of(conn)->warn_context, err);
    if (!unpacking->place)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot make a pipe");
    unpacking->from = ends[0];
    unpacking->to = ends[1];
    errno = pthread_create(&unpacking->thread, NULL, unpack, unpacking);
    if (errno == 0)
        return 0;
    sw_fail_errno(err, SW_E_IO, "cannot start a thread");
    close(ends[0]);
    close(ends[1]);
    return -1;
}

static int pass_on(void *context, const char *bytes, size_t length)
{
    const struct slurm_unpacking *unpacking = context;

    while (length > 0) {
        ssize_t n = send(unpacking->to, bytes, length, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes += n;
        length -= (size_t)n;
    }
    return 0;
}

static void finish(struct slurm_unpacking *unpacking)
{
    close(unpacking->to);
    pthread_join(unpacking->thread, NULL);
    close(unpacking->from);
    sw_archive_place_close(unpacking->place);
}

/* Whose failure it was: a connection that broke leaves half an archive, too. */
static int judge(const struct slurm_unpacking *unpacking, int asked, const struct sw_error *why,
                 const struct sw_ssh_reply *reply, const char *results, struct sw_error *err)
{
    bool ours = unpacking->result < 0 && (asked < 0 ? why->code == SW_E_INTERRUPTED : reply->exit_code == 0);

    if (ours || asked < 0) {
        if (err)
            *err = ours ? unpacking->err : *why;
        return -1;
    }
    if (reply->exit_code != 0)
        return sw_fail(err, SW_E_IO, "the cluster could not send '%s': %.300s", results,
                       sw_buf_text(&reply->errors));
    return 0;
}

struct slurm_count {
    int64_t files, bytes;
};

static int count(void *context, const char *relative, const struct stat *info)
{
    struct slurm_count *tally = context;

    (void)relative;
    if (S_ISREG(info->st_mode)) {
        tally->files++;
        tally->bytes += info->st_size;
    }
    return 0;
}

/* The archive, whole, down the connection and into the folder. */
static int fetch(struct sw_connection *conn, const char *results, const char *to, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct slurm_unpacking unpacking = { .from = -1, .to = -1 };
    struct sw_ssh_call call = { .sink = pass_on, .sink_context = &unpacking, .timeout_ms = LONGEST_MS };
    struct sw_error why = { 0 };
    int asked;

    if (start(&unpacking, conn, to, err) < 0) {
        sw_archive_place_close(unpacking.place);
        return -1;
    }
    slurm_set(&script, "results", results);
    slurm_text_add(&script, SLURM_TEXT_INSPECT);
    sw_buf_add(&script, "send_results\n");
    call.script = script.data;
    asked = slurm_call(conn, &call, &reply, &why);
    finish(&unpacking);
    return judge(&unpacking, asked, &why, &reply, results, err);
}

json_t *slurm_fetch_results(struct sw_connection *conn, const struct sw_jobref *job, const char *to,
                    struct sw_error *err)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    struct slurm_count tally = { 0 };

    if (slurm_names_of(conn, job, &names, err) < 0 || fetch(conn, names.results, to, err) < 0)
        return NULL;
    sw_walk(to, count, &tally, NULL);
    return sw_json_object(SW_INT("files", tally.files), SW_INT("bytes", tally.bytes),
                          SW_STR("to", to));
}
