/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_fetch.c - the results of a job, from the cluster to a folder here.
 *
 * One stream beside the held shell: the login node's own tar packs, and core/archive.h unpacks here,
 * because what a job left (or a login host says it left) may not lead out of the folder: links stay links
 * and point inside, whatever lies in the folder already. Behind the archive the script says how tar ended.
 * Our own notes (.slipway) stay there.
 */
#include "platform/slurm/slurm_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "core/archive.h"

#define PACKED "packed\t"             /* behind the archive: tar's exit code and words */
enum { LAST_BYTES = 1024 };

struct slurm_incoming {
    struct sw_archive_stream stream;     /* first: it is passed as this */
    int fd;
    bool ended;
    char last[LAST_BYTES + 1];           /* what came last, from the script's own words on */
    size_t length;
};

static ssize_t read_stream(struct sw_archive_stream *stream, void *bytes, size_t length, struct sw_error *err)
{
    struct slurm_incoming *incoming = (struct slurm_incoming *)stream;
    ssize_t n;

    do
        n = read(incoming->fd, bytes, length);
    while (n < 0 && errno == EINTR);
    incoming->ended = n <= 0;
    return n >= 0 ? n : sw_fail_errno(err, SW_E_IO, "cannot read the cluster's answer");
}

/* Zeros fill the archive's last block. */
static const char *last_words(struct slurm_incoming *incoming)
{
    char bytes[LAST_BYTES];
    ssize_t n;

    while ((n = read_stream(&incoming->stream, bytes, sizeof bytes, NULL)) > 0)
        for (ssize_t i = 0; i < n; i++)
            if (bytes[i] && incoming->length < LAST_BYTES)
                incoming->last[incoming->length++] = bytes[i];
    return incoming->last;
}

/* The archive, whole, down a stream and into the folder. */
static int receive(struct sw_ssh_stream *stream, int fd, const char *results,
                   struct sw_archive_place *place, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    struct slurm_incoming incoming = { .stream.read = read_stream, .fd = fd };
    struct sw_archive_visitor visitor;
    struct sw_error why = { 0 };
    const char *said;

    slurm_set(&script, "results", results);
    slurm_text_add(&script, SLURM_TEXT_INSPECT);
    sw_buf_add(&script, "send_results; exit\n");
    if (send(fd, script.data, script.length, MSG_NOSIGNAL) != (ssize_t)script.length)
        return sw_ssh_stream_why(stream, err);
    shutdown(fd, SHUT_WR);
    visitor = sw_archive_place_visitor(place);
    if (sw_archive_read_tar(&incoming.stream, &visitor, &why) < 0 && !incoming.ended)
        return sw_pass(err, &why);
    said = last_words(&incoming);
    if (!sw_text_starts(said, PACKED))               /* half an archive: the connection broke */
        return sw_ssh_stream_why(stream, err);
    if (!sw_text_starts(said, PACKED "0\t"))
        return sw_fail(err, SW_E_IO, "the cluster could not send '%s': %.300s", results,
                       said + strcspn(said + strlen(PACKED), "\t") + strlen(PACKED));
    return 0;
}

static int fetch(struct sw_connection *conn, const char *results, const char *to, struct sw_error *err)
{
    struct slurm_connection *slurm = slurm_of(conn);
    sw_auto(sw_archive_place) struct sw_archive_place *place =
        sw_archive_place_open(to, slurm->warn, slurm->warn_context, err);
    sw_auto(sw_ssh_stream) struct sw_ssh_stream *stream = NULL;
    int fd = -1, result;

    if (!place)
        return -1;
    pthread_mutex_lock(&slurm->lock);
    stream = sw_ssh_stream_open(slurm->ssh, "exec /bin/sh", &fd, err);
    pthread_mutex_unlock(&slurm->lock);
    if (!stream)
        return -1;
    result = receive(stream, fd, results, place, err);
    close(fd);
    return result;
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
