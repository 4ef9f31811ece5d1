/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brev_engine.c - which instance a job is on, and the connection to its Docker engine.
 *
 * An engine is reached by plain ssh through the configuration that `brev refresh` writes. That configuration
 * checks no host key; each instance has a file of known hosts of its own here, which learns the key at the
 * first contact: an address that serves another instance tomorrow is no trouble, and a changed key never
 * passes.
 */
#include "platform/brev/brev_internal.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "core/state.h"
#include "platform/kit/log.h"

#define CONFIG_MAX (1024u * 1024)

/* ---- connections --------------------------------------------------------------------------------- */

static char *alias_in(const char *config, const char *name)
{
    sw_autofree char *text = sw_file_read_plain(config, CONFIG_MAX, NULL, NULL);

    return text ? brev_ssh_alias(text, name) : NULL;
}

/* Of so many GPUs; owned; NULL: how many there are is not known. */
static json_t *numbers(int gpus)
{
    json_t *all = gpus > 0 ? json_array() : NULL;

    for (int i = 0; i < gpus; i++)
        json_array_append_new(all, json_sprintf("%d", i));
    return all;
}

static json_t *docker_way(struct brev_connection *conn, const char *name, const char *id, int gpus,
                          struct sw_error *err)
{
    sw_autofree char *config = sw_path_join(conn->home, ".brev/ssh_config");
    sw_autofree char *known = sw_format("%s/known_hosts/%s", conn->folder, id);
    sw_autofree char *folder = sw_path_join(conn->folder, "known_hosts"), *host = NULL;
    sw_autofree char *alias = alias_in(config, name);

    if (!alias && brev_refresh(conn, true, err) < 0)
        return NULL;
    if (!alias)
        alias = alias_in(config, name);
    if (!alias)
        return sw_null(sw_fail(err, SW_E_UNREACHABLE, "brev's ssh configuration has no entry for '%s'",
                               name));
    if (sw_mkdirs(folder, 0700, err) < 0)
        return NULL;
    host = sw_format("ssh://%s%s", alias, conn->with.socket ? conn->with.socket : "");
    return sw_json_object(
        SW_STR("host", host), SW_STR("ssh_config", config), SW_STR("known_hosts", known),
        SW_BOOL("accept_new", true),
        SW_SUB_COPY("connect_timeout", json_object_get(conn->options, "connect_timeout")),
        SW_SUB_COPY("keep_connection", json_object_get(conn->options, "keep_connection")),
        SW_SUB("gpu_devices", conn->with.gpu_devices ? json_incref((json_t *)conn->with.gpu_devices)
                                                     : numbers(gpus)));
}

void brev_engine_close(struct sw_connection *docker)
{
    docker_of(docker)->spools = NULL;                /* the connection's own */
    sw_platform_docker.close(docker);
}

static struct sw_connection *find_engine(struct brev_connection *conn, const char *id, int gpus)
{
    struct sw_connection *found = NULL;

    pthread_mutex_lock(&conn->lock);
    for (size_t i = 0; i < conn->engine_count && !found; i++)
        if (sw_text_same(conn->engines[i].id, id) && conn->engines[i].gpus == gpus)
            found = conn->engines[i].docker;
    pthread_mutex_unlock(&conn->lock);
    return found;
}

static struct sw_connection *keep_engine(struct brev_connection *conn, const char *id, int gpus,
                                         struct sw_connection *docker)
{
    struct sw_connection *found = find_engine(conn, id, gpus);

    if (found) {                     /* another thread was faster */
        brev_engine_close(docker);
        return found;
    }
    pthread_mutex_lock(&conn->lock);
    conn->engines = sw_realloc_array(conn->engines, conn->engine_count + 1, sizeof *conn->engines);
    conn->engines[conn->engine_count++] = (struct brev_engine){ sw_strdup(id), gpus, docker };
    pthread_mutex_unlock(&conn->lock);
    return docker;
}

struct sw_connection *brev_engine_with(struct brev_connection *conn, const char *name, const char *id,
                                       int gpus, struct sw_error *err)
{
    struct sw_connection *found = find_engine(conn, id, gpus);
    struct sw_connect_options config = conn->config;
    sw_auto(json) json_t *way = found ? NULL : docker_way(conn, name, id, gpus, err);

    if (found || !way)
        return found;
    config.options = way;
    found = sw_platform_docker.open(&config, err);
    if (!found)
        return NULL;
    sw_log_spools_close(docker_of(found)->spools);   /* one set of copies for all engines */
    docker_of(found)->spools = conn->spools;
    return keep_engine(conn, id, gpus, found);
}

struct sw_connection *brev_engine(struct brev_connection *conn, const char *name, const char *id,
                                  struct sw_error *err)
{
    return brev_engine_with(conn, name, id, 0, err);
}

int brev_engine_identity(struct brev_connection *conn, const char *name, const char *id, struct sw_buf *out,
                         struct sw_error *err)
{
    struct sw_connection *docker = brev_engine(conn, name, id, err);

    sw_buf_addf(out, "%s/", id);
    return docker ? sw_platform_docker.identify(docker, out, err) : -1;
}

/* ---- jobs of an instance ------------------------------------------------------------------------- */

json_t *brev_jobs_on(struct brev_connection *conn, const json_t *instance, struct sw_error *err)
{
    struct sw_connection *docker = brev_engine(conn, sw_json_str(instance, "name"),
                                               sw_json_str(instance, "id"), err);

    return docker ? docker_jobs(docker, err) : NULL;
}

int brev_live_jobs(const json_t *jobs, const char *but)
{
    const json_t *each;
    int live = 0;
    size_t i;

    json_array_foreach(jobs, i, each) {
        enum sw_state state = SW_UNKNOWN;

        sw_state_parse(sw_json_str(each, "state"), &state);
        live += !sw_state_is_final(state) && !sw_text_same(sw_json_str(each, "id"), but);
    }
    return live;
}

/* ---- the instance of a job ----------------------------------------------------------------------- */

/* Created for this job, the newest attempt first. */
static const json_t *created_for(const json_t *list, const char *job)
{
    const json_t *each, *found = NULL;
    struct brev_mark mark;
    int attempt = 0;
    size_t i;

    json_array_foreach(list, i, each)
        if (brev_name_read(sw_json_str(each, "name"), &mark) && sw_text_same(mark.job, job) &&
            mark.attempt > attempt) {
            attempt = mark.attempt;
            found = each;
        }
    return found;
}

/* A pool's instance was chosen, and its row does not say which: each is asked. */
static const json_t *found_in_pool(struct brev_connection *conn, const json_t *list, const char *pool,
                                   const char *job, struct sw_error *err)
{
    const json_t *each;
    size_t i;

    json_array_foreach(list, i, each) {
        sw_auto(json) json_t *jobs = NULL;

        if (!sw_text_starts(sw_json_str(each, "name"), pool) || brev_use(each, NULL) != BREV_USABLE)
            continue;
        jobs = brev_jobs_on(conn, each, err);
        if (!jobs)
            return NULL;
        if (brev_find(jobs, job))
            return each;
    }
    return NULL;
}

const json_t *brev_instance_of(struct brev_connection *conn, const json_t *list, const struct sw_jobref *job,
                               struct sw_error *err)
{
    const struct brev_job_options options = brev_job_options(json_object_get(job->plan, "options"));
    const char *id = sw_json_str(job->details, "instance_id");

    if (id || options.instance_id)
        return brev_find(list, id ? id : options.instance_id);
    if (options.pool)
        return found_in_pool(conn, list, options.pool, job->id, err);
    return created_for(list, job->id);
}

struct sw_connection *brev_engine_of(struct brev_connection *conn, const struct sw_jobref *job,
                                     struct sw_error *err)
{
    const char *name = sw_json_str(job->details, "instance"), *id = sw_json_str(job->details, "instance_id");
    sw_auto(json) json_t *list = NULL;
    struct sw_error why = { 0 };
    const json_t *found;

    if (name && id)
        return brev_engine(conn, name, id, err);
    list = brev_list(conn, err);
    if (!list)
        return NULL;
    found = brev_instance_of(conn, list, job, &why);
    if (found)
        return brev_engine(conn, sw_json_str(found, "name"), sw_json_str(found, "id"), err);
    if (!why.code)
        sw_fail(&why, SW_E_NOT_FOUND, "Brev has no instance of job '%s'", job->id);
    return sw_null(sw_pass(err, &why));
}

int brev_engine_doubt(struct brev_connection *conn, const struct sw_jobref *job, const struct sw_error *why,
                      struct sw_error *err)
{
    const char *name = sw_json_str(job->details, "instance"), *note = NULL;
    sw_auto(json) json_t *list = why->code == SW_E_UNREACHABLE ? brev_list(conn, NULL) : NULL;
    const json_t *found = list ? brev_instance_of(conn, list, job, NULL) : NULL;

    if (!list)
        return sw_pass(err, why);
    if (!found)
        return sw_fail(err, SW_E_NOT_FOUND, "the instance '%s' of job '%s' does not exist any more",
                       name ? name : "?", job->id);
    if (brev_use(found, &note) == BREV_USABLE)
        return sw_pass(err, why);
    sw_fail(err, SW_E_UNREACHABLE, "the instance '%s' %s", sw_json_str(found, "name"), note);
    return sw_hint(err, "a stopped one comes back with: brev start %s", sw_json_str(found, "name"));
}
