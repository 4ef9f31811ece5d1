/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehearsal_server.c - the other side of the wire, as a few files per job.
 *
 *     <state>/rehearsal/<id>/attempt-1.json   made when the job is accepted
 *     <state>/rehearsal/<id>/cancel-1         made when it is canceled: the time
 *     <state>/rehearsal/<id>/calls            one byte per call, for "down 3 calls"
 *     <state>/rehearsal/<id>/results/         where results would be
 *     <state>/rehearsal.id                    who the server is; another file is another server
 *
 * A server with a name of its own is <state>/rehearsal-NAME.
 *
 * Each file is written once, appears whole (link) and never changes. So nothing needs a lock:
 * of sixteen clients that submit one id, one link() wins and the others find its job; a cancel
 * that overtakes the submit still holds, since the timeline compares the two times.
 *
 * Nothing is synced to disk: a rehearsal need not survive a power cut, only processes.
 */
#include "platform/rehearsal/rehearsal_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/id.h"

#define JOB_FILE_MAX (64 * 1024)

void rehearsal_job_done(struct rehearsal_job *job)
{
    free(job->script);
    free(job->api);
    rehearsal_script_done(&job->steps);
    *job = (struct rehearsal_job){ 0 };
}

static char *job_file(const char *server, const char *id, const char *name, int attempt)
{
    return sw_format("%s/%s/%s-%d%s", server, id, name, attempt,
                     strcmp(name, "attempt") == 0 ? ".json" : "");
}

/* Create `path` with that content in one instant; *made false when it exists already. */
static int make_once(const char *path, const char *text, bool *made, struct sw_error *err)
{
    sw_autofree char *beside = sw_format("%s.XXXXXX", path);
    sw_autofd int fd = mkostemp(beside, O_CLOEXEC);
    int result = 0;

    if (fd < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot write '%s'", path);
    *made = false;
    if (sw_write_all(fd, text, strlen(text)) < 0)
        result = sw_fail_errno(err, SW_E_IO, "cannot write '%s'", path);
    else if (link(beside, path) == 0)
        *made = true;
    else if (errno != EEXIST)
        result = sw_fail_errno(err, SW_E_IO, "cannot make '%s'", path);
    unlink(beside);
    return result;
}

char *rehearsal_server_id(const char *server, struct sw_error *err)
{
    sw_autofree char *path = sw_format("%s.id", server);
    char made_up[SW_ID_SIZE];
    bool made;

    if (!sw_file_exists(path)) {
        sw_id_make("server", made_up);
        if (make_once(path, made_up, &made, err) < 0)
            return NULL;
    }
    return sw_file_read(path, SW_ID_SIZE, NULL, err);
}

int rehearsal_job_make(const char *server, const char *id, int attempt,
                       const json_t *job, bool *made, struct sw_error *err)
{
    sw_autofree char *results = sw_format("%s/%s/results", server, id);
    sw_autofree char *path = job_file(server, id, "attempt", attempt);
    sw_autofree char *text = sw_json_dump(job);

    if (sw_id_check(id, err) < 0 || sw_mkdirs(results, 0700, err) < 0)
        return -1;
    return make_once(path, text, made, err);
}

/* The time in a cancel file; 0 when there is none. */
static int64_t read_cancel(const char *server, const char *id, int attempt)
{
    sw_autofree char *path = job_file(server, id, "cancel", attempt);
    sw_autofree char *text = sw_file_exists(path) ? sw_file_read(path, 64, NULL, NULL) : NULL;
    int64_t at = text ? rehearsal_number(text, INT64_MAX / 16) : 0;

    return at > 0 ? at : 0;
}

int rehearsal_job_read(const char *server, const char *id, int attempt, struct rehearsal_job *out,
                       struct sw_error *err)
{
    sw_autofree char *path = job_file(server, id, "attempt", attempt);
    sw_autofree char *text = NULL;
    sw_auto(json) json_t *json = NULL;
    size_t length;

    if (sw_id_check(id, err) < 0 || !(text = sw_file_read(path, JOB_FILE_MAX, &length, err)) ||
        !(json = sw_json_parse(text, length, path, err)))
        return -1;
    *out = (struct rehearsal_job){
        .script = sw_strdup(sw_json_str(json, "script")),
        .api = sw_strdup(sw_json_str(json, "api")),
        .nodes = (int)sw_json_int(json, "nodes", 1),
        .first_node = (int)sw_json_int(json, "first_node", 0),
        .run = { .submitted_ms = sw_json_int(json, "submitted_ms", 0),
                 .limit_ms = sw_json_int(json, "limit_ms", 0),
                 .canceled_ms = read_cancel(server, id, attempt), .now_ms = sw_now_ms() },
    };
    if (!out->script)
        return sw_fail(err, SW_E_IO, "'%s' is not a rehearsal's job file", path);
    return rehearsal_script_parse(out->script, attempt, &out->steps, err);
}

int rehearsal_job_newest(const char *server, const char *id)
{
    int attempt = 0;

    for (;;) {
        sw_autofree char *path = job_file(server, id, "attempt", attempt + 1);

        if (!sw_file_exists(path))
            return attempt;
        attempt++;
    }
}

int rehearsal_job_cancel(const char *server, const char *id, int attempt, int64_t now_ms,
                         struct sw_error *err)
{
    sw_autofree char *folder = sw_path_join(server, id);
    sw_autofree char *path = job_file(server, id, "cancel", attempt);
    sw_autofree char *text = sw_format("%lld", (long long)now_ms);
    bool made;

    if (sw_id_check(id, err) < 0 || sw_mkdirs(folder, 0700, err) < 0)
        return -1;
    return make_once(path, text, &made, err);
}

int64_t rehearsal_job_count(const char *server, const char *id, const char *name)
{
    sw_autofree char *path = sw_format("%s/%s/%s", server, id, name);
    sw_autofd int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

    /* Appending is atomic, and where our byte landed is our number. */
    if (fd < 0 || write(fd, ".", 1) != 1)
        return 0;
    return (int64_t)lseek(fd, 0, SEEK_CUR) - 1;
}
