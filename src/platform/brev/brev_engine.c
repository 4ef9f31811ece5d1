/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brev_engine.c - which instance a job is on, the connection to its Docker engine, and jobs engine by engine.
 *
 * An engine is reached by plain ssh through the configuration that `brev refresh` writes. That configuration
 * checks no host key; each instance has a file of known hosts of its own here, which learns the key at the
 * first contact: an address that serves another instance tomorrow is no trouble, and a changed key never
 * passes.
 */
#include "platform/brev/brev_internal.h"

#include <string.h>

#include "base/file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "core/state.h"
#include "platform/kit/log.h"

enum { CONFIG_MAX = 1024 * 1024, ENGINES_AT_ONCE = 8 };

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

/* One that knows its GPUs serves those that need none, too. */
static struct sw_connection *find_engine(struct brev_connection *conn, const char *id, int gpus)
{
    for (size_t i = 0; i < conn->engine_count; i++)
        if (sw_text_same(conn->engines[i].id, id) && (gpus == 0 || conn->engines[i].gpus == gpus))
            return conn->engines[i].docker;
    return NULL;
}

static struct sw_connection *open_engine(struct brev_connection *conn, const char *name, const char *id,
                                         int gpus, struct sw_error *err)
{
    struct sw_connect_options config = conn->config;
    sw_auto(json) json_t *way = docker_way(conn, name, id, gpus, err);
    struct sw_connection *docker;

    config.options = way;
    docker = way ? sw_platform_docker.open(&config, err) : NULL;
    if (!docker)
        return NULL;
    sw_log_spools_close(docker_of(docker)->spools);  /* one set of copies for all engines */
    docker_of(docker)->spools = conn->spools;
    return docker;
}

struct sw_connection *brev_engine(struct brev_connection *conn, const char *name, const char *id, int gpus,
                                  struct sw_error *err)
{
    struct sw_connection *found, *made;

    pthread_mutex_lock(&conn->lock);
    found = find_engine(conn, id, gpus);
    pthread_mutex_unlock(&conn->lock);
    made = found ? NULL : open_engine(conn, name, id, gpus, err);
    if (!made)
        return found;
    pthread_mutex_lock(&conn->lock);
    found = find_engine(conn, id, gpus);
    if (!found) {
        conn->engines = sw_realloc_array(conn->engines, conn->engine_count + 1, sizeof *conn->engines);
        conn->engines[conn->engine_count++] = (struct brev_engine){ sw_strdup(id), gpus, made };
    }
    pthread_mutex_unlock(&conn->lock);
    if (found)
        brev_engine_close(made);     /* another thread was faster */
    return found ? found : made;
}

struct sw_connection *brev_engine_at(struct brev_connection *conn, const json_t *instance,
                                     struct sw_error *err)
{
    return brev_engine(conn, sw_json_str(instance, "name"), sw_json_str(instance, "id"), 0, err);
}

/* ---- jobs of an instance ------------------------------------------------------------------------- */

json_t *brev_jobs_on(struct brev_connection *conn, const json_t *instance, struct sw_error *err)
{
    struct sw_connection *docker = brev_use(instance, NULL) == BREV_USABLE
                                       ? brev_engine_at(conn, instance, err) : NULL;

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
        return brev_engine(conn, name, id, 0, err);
    list = brev_list(conn, BREV_NOW, err);
    if (!list)
        return NULL;
    found = brev_instance_of(conn, list, job, &why);
    if (found)
        return brev_engine_at(conn, found, err);
    if (!why.code)
        sw_fail(&why, SW_E_NOT_FOUND, "Brev has no instance of job '%s'", job->id);
    return sw_null(sw_pass(err, &why));
}

int brev_engine_doubt(struct brev_connection *conn, const struct sw_jobref *job, const struct sw_error *why,
                      struct sw_error *err)
{
    static const int64_t ages_ms[] = { BREV_RECENT_MS, BREV_NOW };   /* what is missing is looked for anew */
    const char *name = sw_json_str(job->details, "instance"), *note = NULL;
    sw_auto(json) json_t *list = NULL;
    struct sw_error trouble = { 0 };
    const json_t *found = NULL;

    for (size_t i = 0; why->code == SW_E_UNREACHABLE && !found && i < SW_COUNT(ages_ms); i++) {
        json_decref(list);
        list = brev_list(conn, ages_ms[i], NULL);
        found = list ? brev_instance_of(conn, list, job, &trouble) : NULL;
    }
    if (!list || trouble.code)
        return sw_pass(err, why);
    if (!found)
        return sw_fail(err, SW_E_NOT_FOUND, "the instance '%s' of job '%s' does not exist any more",
                       name ? name : "?", job->id);
    if (brev_use(found, &note) == BREV_USABLE)
        return sw_pass(err, why);
    sw_fail(err, SW_E_UNREACHABLE, "the instance '%s' %s", sw_json_str(found, "name"), note);
    return sw_hint(err, "a stopped one comes back with: brev start %s", sw_json_str(found, "name"));
}

/* ---- many jobs, engine by engine ----------------------------------------------------------------- */

struct engine_run {
    struct engine_share {            /* elements of one engine, side by side in `sorted` */
        struct sw_connection *docker;
        size_t first, count;
    } *shares;
    char *sorted;
    size_t size;
    brev_engine_fn *fn;
    void *context;
};

static void run_share(void *context, size_t index)
{
    const struct engine_run *run = context;
    const struct engine_share *share = &run->shares[index];

    run->fn(share->docker, run->sorted + share->first * run->size, share->count, run->context);
}

void brev_by_engine(struct sw_connection **engines, void *elements, size_t size, size_t count,
                    brev_engine_fn *fn, void *context)
{
    sw_autofree struct engine_share *shares = sw_alloc((count + 1) * sizeof *shares);
    sw_autofree size_t *which = sw_alloc((count + 1) * sizeof *which);
    sw_autofree char *sorted = sw_alloc(count * size + 1);
    size_t share_count = 0, used = 0;

    for (size_t next = 0; next < count; next++) {
        struct engine_share *share = &shares[share_count];

        if (!engines[next])
            continue;
        *share = (struct engine_share){ engines[next], used, 0 };
        share_count++;
        for (size_t i = next; i < count; i++)
            if (engines[i] == share->docker) {
                memcpy(sorted + used * size, (char *)elements + i * size, size);
                which[used++] = i;
                share->count++;
                engines[i] = NULL;
            }
    }
    sw_parallel(share_count, ENGINES_AT_ONCE, run_share,
                &(struct engine_run){ shares, sorted, size, fn, context });
    for (size_t i = 0; i < used; i++)
        memcpy((char *)elements + which[i] * size, sorted + i * size, size);
}
