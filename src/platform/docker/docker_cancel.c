/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_cancel.c - stop the containers of jobs, some at a time, and see them end.
 *
 * One list of containers serves all jobs of a pass. Passes follow until nothing is left: a container that
 * waited for GPUs may have got them just now.
 */
#include "platform/docker/docker_job.h"

#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "core/stop.h"

enum { WAIT_STEP_MS = 2000, PASSES_MAX = 10 };

struct docker_ending {               /* one container of a pass */
    const json_t *container;         /* lives in the list */
    size_t job;
    int64_t kill_ms;                 /* when the time for its command and its outputs is over */
    bool told;                       /* QUIT was sent */
    int taken;                       /* as end_one() says */
    struct sw_error err;
};

/* ---- one container ---------------------------------------------------------------------------- */

/* It is killed, so its runner cannot say so itself: it was meant to end. */
static void leave_mark(struct docker_api *api, const char *container)
{
    sw_auto(sw_buf) struct sw_buf tar = SW_BUF_INIT;

    docker_tar_add(&tar, "canceled", 0644, (struct docker_owner){ 0, 0 }, "\n", 1);
    sw_tar_end(&tar);
    docker_put(api, container, DOCKER_HOME, tar.data, tar.length, NULL);
}

/* Wait until it is over, a few seconds at most. 1: it is, 0: not yet, -1 + err. */
static int wait_over(struct docker_api *api, const char *container, struct sw_error *err)
{
    sw_autofree char *path = sw_rest_path("/containers/%s/wait?condition=not-running", container);
    struct sw_error why = { 0 };

    if (docker_ask(api, &(struct sw_rest_call){ .method = "POST", .path = path,
                                                .stall_ms = WAIT_STEP_MS,
                                                .silence_counts = true }, NULL, &why) == 0 ||
        why.code == SW_E_NOT_FOUND)
        return 1;
    if (why.code == SW_E_TIMEOUT)
        return 0;
    return sw_pass(err, &why);
}

/* 0, also when it is over already; -1 + err. */
static int send_signal(struct docker_api *api, const char *container, const char *signal,
                       struct sw_error *err)
{
    sw_autofree char *verb = sw_format("/kill?signal=%s", signal);
    struct sw_error why = { 0 };

    if (docker_tell(api, container, verb, &why) == 0 || why.code == SW_E_NOT_FOUND ||
        why.code == SW_E_CONFLICT)
        return 0;
    return sw_pass(err, &why);
}

/* QUIT is sent again and again: a container that begins just now may have missed it. What does not end within
 * its grace is killed. */
static int stop(struct docker_api *api, const char *container, const struct docker_ending *ending,
                int64_t deadline_ms, struct sw_error *err)
{
    bool told = ending->told;
    int over = 0;

    for (; over == 0 && sw_monotonic_ms() < ending->kill_ms; told = false) {
        if (deadline_ms && sw_monotonic_ms() >= deadline_ms)
            return sw_fail(err, SW_E_TIMEOUT, "it was asked to stop and is still running");
        if (!told && send_signal(api, container, "QUIT", err) < 0)
            return -1;
        over = wait_over(api, container, err);
    }
    if (over == 0) {
        leave_mark(api, container);
        if (send_signal(api, container, "KILL", err) < 0)
            return -1;
        over = wait_over(api, container, err);
    }
    if (over == 0)
        sw_fail(err, SW_E_UNREACHABLE, "the engine does not stop a container");
    return over > 0 ? 0 : -1;
}

/* It will not be there to tell: another look finds this in its place. */
static void leave_record(struct docker_api *api, const json_t *container)
{
    const char *folder = api->endpoint.way == DOCKER_UNIX ? docker_bound_ends(container) : NULL;
    int attempt = docker_label_number(container, LABEL_ATTEMPT, 1);
    int rank = docker_label_number(container, LABEL_RANK, 0);
    sw_autofree char *path = folder ? sw_format("%s/" DOCKER_END_NAME, folder, attempt, rank) : NULL;
    sw_auto(json) json_t *report = sw_json_object(
        SW_INT("version", 1), SW_STR("job_id", docker_label(container, LABEL_ID)),
        SW_INT("rank", rank), SW_STR("phase", "over"), SW_INT("exit_code", 130),
        SW_BOOL("canceled", true));
    sw_autofree char *text = sw_json_dump(report);

    if (path)
        sw_file_write(path, text, strlen(text), 0644, NULL);
}

/* One that was never started is taken away: then it cannot be started any more. 1: it was; 0: it is over;
 * -1 + err. */
static int end_one(struct docker_api *api, const struct docker_ending *ending, int64_t deadline_ms,
                   struct sw_error *err)
{
    const json_t *container = ending->container;
    const char *id = sw_json_str(container, "Id"), *state = sw_json_str(container, "State");
    struct sw_error why = { 0 };

    if (!id || docker_is_over(state))
        return 0;
    if (sw_text_same(state, "created")) {
        if (docker_delete(api, id, false, &why) == 0) {
            leave_record(api, container);
            return 1;
        }
        if (why.code != SW_E_CONFLICT)
            return sw_pass(err, &why);
    }
    if (sw_text_same(state, "paused"))
        docker_tell(api, id, "/unpause", NULL);
    return stop(api, id, ending, deadline_ms, err);
}

/* ---- all of them ------------------------------------------------------------------------------ */

struct docker_canceling {                   /* one job */
    int before;                      /* containers that there were to end, of all passes */
    int alive, begun;                /* of this pass: those to end, and those that ever were started */
    bool waits;
};

struct pass {                        /* over all jobs */
    struct sw_connection *conn;
    struct sw_batch_job *jobs;
    struct docker_canceling *all;    /* as many */
    size_t job_count;
    int64_t deadline_ms;
    struct docker_ending *endings;
    size_t count;
};

static void end_container(void *context, size_t index)
{
    struct pass *pass = context;
    struct docker_ending *ending = &pass->endings[index];
    sw_auto(docker_lent) struct docker_api *api = docker_borrow(pass->conn, &ending->err);

    ending->taken = api ? end_one(api, ending, pass->deadline_ms, &ending->err) : -1;
}

/* All get the signal first; then each is waited for. */
static void tell_container(void *context, size_t index)
{
    struct pass *pass = context;
    struct docker_ending *ending = &pass->endings[index];
    const json_t *container = ending->container;
    const char *id = sw_json_str(container, "Id"), *state = sw_json_str(container, "State");
    sw_auto(docker_lent) struct docker_api *api = docker_borrow(pass->conn, NULL);

    ending->told = api && id && !sw_text_same(state, "created") && !docker_is_over(state) &&
                   send_signal(api, id, "QUIT", NULL) == 0;
}

static void gather(struct pass *pass, const json_t *list)
{
    sw_auto(json) json_t *index = json_object();     /* the numbers of the jobs by their ids */
    json_t *container;
    size_t i;

    for (i = 0; i < pass->job_count; i++)
        json_object_set_new(index, pass->jobs[i].job->id, json_integer((json_int_t)i));
    pass->endings = sw_alloc((json_array_size(list) + 1) * sizeof *pass->endings);
    pass->count = 0;
    json_array_foreach(list, i, container) {
        const char *id = docker_label(container, LABEL_ID);
        const json_t *known = id ? json_object_get(index, id) : NULL;
        size_t number = (size_t)json_integer_value(known);
        const struct sw_jobref *job = pass->jobs[number].job;

        if (known && pass->all[number].waits &&
            docker_label_number(container, LABEL_ATTEMPT, 1) == job->attempt)
            pass->endings[pass->count++] = (struct docker_ending){
                .container = container, .job = number,
                .kill_ms = sw_monotonic_ms() +
                           sw_stop_budget_ms(sw_json_int(job->plan, "grace_ms", SW_GRACE_MS)) };
    }
}

/* What became of each job in this pass; 1: some are not over. */
static int note_results(const struct pass *pass)
{
    int waits = 0;

    for (size_t i = 0; i < pass->job_count; i++)
        pass->all[i].alive = 0;
    for (size_t i = 0; i < pass->count; i++) {
        const struct docker_ending *ending = &pass->endings[i];
        struct docker_canceling *job = &pass->all[ending->job];

        job->alive += !docker_is_over(sw_json_str(ending->container, "State"));
        job->begun += ending->taken == 0;
        if (ending->taken < 0)
            sw_batch_fail(&pass->jobs[ending->job], 1, &ending->err);
    }
    for (size_t i = 0; i < pass->job_count; i++) {
        struct docker_canceling *one = &pass->all[i];

        if (!one->waits)
            continue;
        one->before += one->alive;
        one->waits = one->alive > 0 && pass->jobs[i].result == 0;
        waits |= one->waits;
        if (!one->waits && pass->jobs[i].result == 0)
            pass->jobs[i].result = one->before > 0 && one->begun == 0;
    }
    return waits;
}

/* One pass: 0, 1: another one is needed, -1 + err. */
static int end_all(struct pass *pass, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_api *api = docker_borrow(pass->conn, err);
    const char *id = pass->job_count == 1 ? pass->jobs[0].job->id : NULL;
    sw_auto(json) json_t *list = docker_list(api, id, err);
    int result;

    if (!list)
        return -1;
    gather(pass, list);
    if (pass->count > 1)
        sw_parallel(pass->count, DOCKER_AT_ONCE, tell_container, pass);
    sw_parallel(pass->count, DOCKER_AT_ONCE, end_container, pass);
    result = note_results(pass);
    free(sw_take(pass->endings));
    return result;
}

void docker_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, int64_t deadline_ms)
{
    sw_autofree struct docker_canceling *all = sw_alloc((count + 1) * sizeof *all);
    struct pass pass = { conn, jobs, all, count, deadline_ms, NULL, 0 };
    struct sw_error why = { 0 };
    int passes = 0;

    for (size_t i = 0; i < count; i++)
        all[i].waits = true;
    while (count && passes++ < PASSES_MAX && end_all(&pass, &why) > 0)
        ;
    if (!why.code)
        sw_fail(&why, SW_E_UNREACHABLE, "its containers do not stop");
    for (size_t i = 0; i < count; i++) {
        if (all[i].waits)
            sw_batch_fail(&jobs[i], 1, &why);
        if (jobs[i].result < 0)
            sw_wrap(&jobs[i].err, "cannot cancel '%s'", jobs[i].job->id);
    }
}
