/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_secrets.c - secrets, sealed for the runner that waits for them (docs/decisions/0073).
 *
 * The runner says its public key in its log, before the user's first line. Here the secrets are sealed for
 * that key and packed; the package is brought to the driver's node by a submission of its own, which is held
 * to that node and moves one file. Its presence in the list says that they were handed over, to every client
 * and the watcher. What the cluster keeps of it only the runner could read, and its key is gone.
 */
#include "platform/ray/ray_internal.h"

#include <string.h>

#include "base/text.h"
#include "core/report.h"
#include "net/seal.h"
#include "platform/kit/sending.h"

#define SAID SW_RUNNER_SAYS "secrets {"

/* ---- kept until they are handed over ------------------------------------------------------- */

void ray_keep_secrets(struct sw_connection *conn, const char *id, const struct sw_secrets *secrets)
{
    struct ray_connection *ray = ray_of(conn);

    pthread_mutex_lock(&ray->kept_lock);
    sw_secrets_drop_owned(ray->kept, id);
    sw_secrets_add_owned(ray->kept, id, secrets);
    pthread_mutex_unlock(&ray->kept_lock);
}

struct sw_secrets *ray_kept_secrets(struct sw_connection *conn, const char *id)
{
    struct ray_connection *ray = ray_of(conn);
    struct sw_secrets *found;

    pthread_mutex_lock(&ray->kept_lock);
    found = sw_secrets_owned(ray->kept, id);
    pthread_mutex_unlock(&ray->kept_lock);
    if (found && sw_secrets_count(found) == 0) {
        sw_secrets_free(found);
        return NULL;
    }
    return found;
}

/* ---- handing over --------------------------------------------------------------------------- */

static char *helper_name(const char *submission)
{
    return sw_format("%s-secrets", submission);
}

/* A helper that failed counts as none, as does one that is older than the job: it was for a job that had
 * this id before and was removed. */
static bool has_helper(const json_t *helper, const json_t *job)
{
    return helper && ray_state(sw_json_str(helper, "status")) != SW_ERROR &&
           sw_json_int(helper, "start_time", 0) >= sw_json_int(job, "start_time", 0);
}

bool ray_wants_secrets(const json_t *job, const json_t *all, const struct sw_jobref *ref)
{
    const char *entrypoint = sw_json_str(job, "entrypoint");
    sw_autofree char *name = helper_name(ray_name(ref->id, ref->attempt).text);

    return ray_state(sw_json_str(job, "status")) == SW_RUNNING && entrypoint &&
           strstr(entrypoint, RAY_SEALED) && !has_helper(json_object_get(all, name), job);
}

/* The last line with which a runner said it: before it the log may be that of an earlier job with this id. */
static const char *last_said(const char *log)
{
    const char *found = NULL;

    for (const char *at = log; (at = strstr(at, SAID)); at++)
        found = at;
    return found;
}

/* What the runner said: {"key","to"}, owned; NULL without err: it has not said it yet. It waits then, so that
 * the end of its log is enough. */
static json_t *what_was_said(struct sw_connection *conn, const json_t *job, const char *id)
{
    sw_autofree char *log = ray_log_end(conn, job);
    const char *line = log ? last_said(log) : NULL, *end;
    sw_auto(json) json_t *said = NULL;

    end = line ? strchr(line, '\n') : NULL;
    if (!end)
        return NULL;
    line += strlen(SAID) - 1;
    said = sw_json_parse(line, (size_t)(end - line), "log", NULL);
    return sw_text_same(sw_json_str(said, "job_id"), id) ? sw_take(said) : NULL;
}

/* The folder becomes a word of a shell command. */
static bool is_plain_path(const char *path)
{
    return path && *path == '/' && !strstr(path, "..") &&
           path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-")] == '\0';
}

static int pack_sealed(const char *key, const struct sw_secrets *secrets, struct ray_package *out,
                       struct sw_error *err)
{
    sw_auto(sw_zip) struct sw_zip zip = SW_ZIP_INIT;
    sw_auto(sw_buf) struct sw_buf sealed = SW_BUF_INIT;
    struct sw_buf plain = SW_BUF_INIT;
    int result = sw_secrets_bytes(secrets, &plain, err);

    if (result == 0)
        result = sw_seal(key, plain.data, plain.length, &sealed, err);
    sw_buf_wipe(&plain);
    if (result < 0)
        return -1;
    sw_zip_add(&zip, "sealed", 0644, sealed.data, sealed.length);
    sw_zip_end(&zip);
    out->length = zip.bytes.length;
    out->bytes = sw_buf_steal(&zip.bytes);
    ray_package_name(out->bytes, out->length, out->name);
    return 0;
}

/* "10.0.0.7" of "http://10.0.0.7:52365"; owned; NULL: no node runs it yet. */
static char *node_of(const json_t *job)
{
    const char *agent = sw_json_str(job, "driver_agent_http_address");
    const char *host = agent && sw_text_starts(agent, "http://") ? agent + strlen("http://") : NULL;
    const char *colon = host ? strrchr(host, ':') : NULL;

    return colon ? sw_strndup(host, (size_t)(colon - host)) : NULL;
}

int ray_hand_secrets(struct sw_connection *conn, const struct sw_observation *seen,
                     const struct sw_secrets *secrets, struct sw_error *err)
{
    struct sw_jobs_name name = ray_name(seen->job.id, seen->job.attempt);
    sw_auto(json) json_t *job = ray_get(conn, name.text, err);
    sw_auto(json) json_t *said = job ? what_was_said(conn, job, seen->job.id) : NULL;
    sw_autofree char *helper = helper_name(name.text), *command = NULL, *node = node_of(job);
    sw_auto(ray_package) struct ray_package package = { .bytes = NULL };
    sw_auto(sw_secrets) struct sw_secrets *kept = ray_kept_secrets(conn, seen->job.id);
    const char *to = sw_json_str(said, "to"), *key = sw_json_str(said, "key");

    if (!job)
        return -1;
    if (!said || (!secrets && !kept))
        return 0;
    if (!node)
        return sw_fail(err, SW_E_CONFLICT, "the job has no driver yet");
    if (!key || !is_plain_path(to))
        return sw_fail(err, SW_E_REFUSED, "the runner's words about its secrets are damaged");
    if (pack_sealed(key, secrets ? secrets : kept, &package, err) < 0 ||
        ray_package_send(conn, &package, err) < 0)
        return -1;
    ray_forget_beside(conn, helper);             /* one that failed before */
    command = sw_format("cp sealed %s/sealed.new && mv %s/sealed.new %s/sealed", to, to, to);
    return ray_run_beside(conn, &(struct ray_beside){ helper, name.text, command, node, package.name }, err);
}
