/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_submit.c - one plan, sent: look at the image, create, put the files in, start.
 *
 * Names derive from the job's id, and the engine refuses a name that is taken: so a repeat after a
 * crash finds what it made (its labels say so) and goes on where the first one stopped. Nothing is
 * asked beforehand that the steps themselves would tell: a missing image, network or folder is found
 * by the refusal. What was made is removed again when a later step is refused.
 *
 * A refusal is what the engine positively says. An answer that did not come, came in half, or was a 5xx
 * may belong to something that was done: the container itself is looked at, over a new connection (an
 * engine that is going down takes none). What that does not settle, and what could not be removed again,
 * is SW_E_UNREACHABLE: everything stays, and the next look finds it.
 */
#include "platform/docker/docker_job.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "platform/kit/sending.h"

enum { NAME_TRIES = 100, NAME_PAUSE_MS = 50, START_TRIES = 20 };

/* ---- the image ------------------------------------------------------------------------------- */

static int settle_image(struct docker_sending *s, struct sw_error *err)
{
    const struct docker_pull pull = { .image = s->plan->image, .policy = s->options.pull,
                                      .progress = docker_of(s->conn)->progress,
                                      .progress_context = docker_of(s->conn)->progress_context };
    sw_auto(json) json_t *inspected = NULL;

    if (docker_image_ensure(s->api, &pull, &s->image, &inspected, err) < 0)
        return -1;
    docker_base_read(&s->base, inspected);
    return 0;
}

/* ---- where results go, and who runs ---------------------------------------------------------- */

/* For any user of the image; the folder above is closed. */
static int make_writable(const char *folder, struct sw_error *err)
{
    if (sw_mkdirs(folder, 0777, err) < 0)
        return -1;
    chmod(folder, 0777);
    return 0;
}

static int settle_results(struct docker_sending *s, struct sw_error *err)
{
    enum docker_results_at at = s->options.results;
    sw_autofree char *folder = docker_job_folder(s->conn, s->plan->job_id);

    if (docker_has_own_results(s->plan) || at == DOCKER_RESULTS_VOLUME ||
        (!s->site.local && at != DOCKER_RESULTS_BIND))
        return 0;
    if (!s->site.local) {
        sw_fail(err, SW_E_SPEC, "results cannot be bound: the engine is on another machine");
        return sw_hint(err, "use 'results: volume', or mount a folder of it at /results");
    }
    /* A later attempt goes on where the first left its results, whichever store sends it. */
    s->results = s->plan->results_dir ? sw_strdup(s->plan->results_dir)
                                      : sw_path_join(folder, "results");
    s->site.results = s->results;
    if (!s->plan->results_dir)
        return sw_mkdirs(folder, 0700, err) < 0 ? -1 : make_writable(s->results, err);
    if (!sw_file_exists(s->results))
        make_writable(s->results, NULL);
    return 0;
}

/* A folder of its own for the runners' last reports, which survive the containers in it. */
static int settle_ends(struct docker_sending *s, struct sw_error *err)
{
    sw_autofree char *folder = docker_job_folder(s->conn, s->plan->job_id);

    if (!s->site.local)
        return 0;
    s->ends = docker_end_folder(s->conn, s->plan->job_id);
    s->site.ends = s->ends;
    return sw_mkdirs(folder, 0700, err) < 0 ? -1 : make_writable(s->ends, err);
}

static void settle_user(struct docker_sending *s)
{
    bool me = s->options.run_as == DOCKER_RUN_AS_ME ||
              (s->options.run_as == DOCKER_RUN_AUTO && s->site.results && geteuid() != 0);

    if (s->options.user)
        s->user = sw_strdup(s->options.user);
    else if (me)
        s->user = sw_format("%d:%d", (int)geteuid(), (int)getegid());
    s->site.user = s->user;
}

static int make_output_folders(const struct docker_sending *s, struct sw_error *err)
{
    sw_auto(json) json_t *folders = docker_output_folders(s->plan);
    size_t i;
    json_t *folder;

    json_array_foreach(folders, i, folder)
        if (s->site.local && sw_mkdirs(json_string_value(folder), 0777, err) < 0)
            return sw_wrap(err, "output");
    return 0;
}

/* ---- containers ------------------------------------------------------------------------------ */

/* The name is taken: by us, when all labels agree. */
static int find_ours(struct docker_sending *s, struct docker_api *api, const char *name, int rank,
                     char **id, bool *begun, struct sw_error *err)
{
    sw_auto(json) json_t *found = docker_inspect(api, name, err);

    if (!found)
        return -1;
    if (!sw_text_same(docker_label(found, LABEL_ID), s->plan->job_id) ||
        docker_label_number(found, LABEL_ATTEMPT, 0) != s->site.attempt ||
        docker_label_number(found, LABEL_RANK, -1) != rank) {
        sw_fail(err, SW_E_CONFLICT, "the engine has a container '%s' that belongs to another job", name);
        return sw_hint(err, "remove it, or give the job another name");
    }
    *id = sw_strdup(sw_json_str(found, "Id"));
    *begun = !sw_text_same(sw_json_str(json_object_get(found, "State"), "Status"), "created");
    return *id ? 0 : sw_fail(err, SW_E_UNREACHABLE, "the engine returned no id for '%s'", name);
}

static int create_once(struct docker_sending *s, const char *name, const json_t *body, int rank,
                       char **id, bool *begun, struct sw_error *err)
{
    struct sw_error why = { 0 };

    *begun = false;
    if (docker_make(s->api, name, body, id, &why) == 0)
        return 0;
    if (why.code == SW_E_CONFLICT)
        return find_ours(s, s->api, name, rank, id, begun, err);
    /* Whether it was made is not known: if it was, it has our name and labels. */
    if (why.code == SW_E_UNREACHABLE) {
        sw_auto(docker_api) struct docker_api *fresh = docker_api_open(&s->api->endpoint, NULL);

        if (find_ours(s, fresh, name, rank, id, begun, NULL) == 0)
            return 0;
    }
    return sw_pass(err, &why);
}

/* An engine gives the name away before there is a container, and takes it back when its client dies in
 * between: then the name is in use, and no container has it. A moment later it is one or the other. */
static int create(struct docker_sending *s, const char *name, const json_t *body, int rank,
                  char **id, bool *begun, struct sw_error *err)
{
    struct sw_error why = { 0 };
    int result = create_once(s, name, body, rank, id, begun, &why);

    for (int i = 0; i < NAME_TRIES && result < 0 && why.code == SW_E_NOT_FOUND &&
                    s->api->refusal == DOCKER_NO_SUCH_CONTAINER; i++) {
        sw_sleep_ms(NAME_PAUSE_MS);
        why = (struct sw_error){ 0 };
        result = create_once(s, name, body, rank, id, begun, &why);
    }
    return result < 0 ? sw_pass(err, &why) : 0;
}

static const char *const start_hints[] = {
    [DOCKER_NO_DEVICE_DRIVER] = "install the NVIDIA container toolkit on the engine's machine, then restart "
                                "Docker there",
    [DOCKER_NO_RUNTIME] = "the engine has no such runtime: see 'slipway inventory'",
    [DOCKER_OTHER_PROCESSOR] = "the image is for another kind of processor",
    [DOCKER_MAY_NOT_EXECUTE] = "the runner may not be executed there: is the image's user allowed to?",
    [DOCKER_NVIDIA_FAILS] = "the NVIDIA driver and the container toolkit on the engine's machine do not work "
                            "together: try nvidia-smi there",
};

/* Whether it is worth starting again, now that there is one. */
static bool mend_network(struct docker_api *api, const char *network, struct sw_error *why)
{
    if (api->refusal == DOCKER_NETWORK_AMBIGUOUS) {
        docker_network_settle(api, network);
        return true;
    }
    return why->code == SW_E_NOT_FOUND && api->refusal == DOCKER_NO_NETWORK &&
           docker_network_make(api, network, why) == 0;
}

/* Was it started, although no answer said so? 1: it was; 0: that stays open; -1: no, the engine refused, and
 * what it noted in the container is `why`. One that restarted meanwhile refused for its own reasons. */
static int look_whether_started(struct docker_api *api, const char *id, struct sw_error *why)
{
    sw_auto(docker_api) struct docker_api *fresh = docker_api_open(&api->endpoint, NULL);
    sw_auto(json) json_t *found = fresh ? docker_inspect(fresh, id, NULL) : NULL;
    const json_t *state = json_object_get(found, "State");
    const char *noted = sw_json_str(state, "Error");
    int64_t since_ms = 0;

    if (!state)
        return 0;
    if (!sw_text_same(sw_json_str(state, "Status"), "created"))
        return 1;
    if (sw_text_empty(noted) || docker_up_since(fresh, &since_ms, NULL) < 0 ||
        since_ms > docker_time_ms(sw_json_str(found, "Created")))
        return 0;
    *why = (struct sw_error){ 0 };
    docker_api_note_refusal(api, noted);
    return sw_fail(why, strstr(noted, "not found") ? SW_E_NOT_FOUND : SW_E_REFUSED,
                   "Docker says: %.400s", noted);
}

static int start_once(struct docker_api *api, const char *id, struct sw_error *why)
{
    *why = (struct sw_error){ 0 };
    if (docker_tell(api, id, "/start", why) == 0)
        return 0;
    return why->code == SW_E_UNREACHABLE && look_whether_started(api, id, why) > 0 ? 0 : -1;
}

int docker_start(struct docker_api *api, const char *id, const char *network, struct sw_error *err)
{
    struct sw_error why = { 0 };
    int tries = 0;

    while (start_once(api, id, &why) < 0) {
        enum docker_refusal refusal = api->refusal;

        if (tries++ < START_TRIES && network && mend_network(api, network, &why))
            continue;
        if (refusal < SW_COUNT(start_hints) && start_hints[refusal])
            sw_hint(&why, "%s", start_hints[refusal]);
        return sw_pass(err, &why);
    }
    return 0;
}

int docker_forget_made(struct docker_sending *s)
{
    int result = 0;

    for (int i = 0; i < s->made; i++) {
        if (s->begun[i] || docker_delete(s->api, s->ids[i], true, NULL) < 0)
            result = -1;
        free(s->ids[i]);
        s->ids[i] = NULL;
    }
    s->made = 0;
    return result;
}

/* Make all containers of the job; *begun: which run already. */
static int make_all(struct docker_sending *s, struct sw_error *err)
{
    for (int rank = 0; rank < s->plan->nodes; rank++) {
        const json_t *devices = json_array_get(s->devices, (size_t)rank);
        sw_auto(json) json_t *body = docker_render_container(s->plan, &s->site, rank, devices, err);
        char name[DOCKER_NAME_SIZE + 8];

        if (!body)
            return -1;
        json_object_set_new(body, "Image", sw_json_text(s->image));
        docker_upload_render(s, body);
        docker_name(name, s->plan->job_id, s->site.attempt, s->plan->nodes, rank);
        if (s->waits)
            strcat(name, DOCKER_WAIT);
        if (create(s, name, body, rank, &s->ids[rank], &s->begun[rank], err) < 0)
            return sw_wrap(err, "cannot create the container '%s'", name);
        s->made = rank + 1;
    }
    return 0;
}

/* Does it refuse a folder of ours because it does not see it? Then it shall be a volume. */
static bool do_without(struct docker_sending *s, const char **folder)
{
    if (!*folder || s->api->refusal != DOCKER_NO_BIND_SOURCE ||
        !sw_text_same(docker_api_refused_path(s->api), *folder))
        return false;
    docker_forget_made(s);
    *folder = NULL;
    return true;
}

/* An engine that does not see our files says so; then its own volumes hold the results, and how it
 * ended. */
static int make_somewhere(struct docker_sending *s, struct sw_error *err)
{
    bool must = s->options.results == DOCKER_RESULTS_BIND;
    struct sw_error why = { 0 };

    while (make_all(s, &why) < 0) {
        if (!do_without(s, &s->site.ends) && (must || !do_without(s, &s->site.results)))
            break;
        why = (struct sw_error){ 0 };
    }
    if (!why.code)
        return 0;
    if (s->api->refusal == DOCKER_NO_BIND_SOURCE)
        sw_hint(&why, "the path must exist on the engine's machine");
    return sw_pass(err, &why);
}

/* A rootless engine may not raise limits; the job did not ask for those, so they are left out. */
static bool can_do_with_plain_limits(struct docker_sending *s)
{
    if (s->site.plain_limits || s->plan->gpus == 0 || s->api->refusal != DOCKER_LIMIT_DENIED)
        return false;
    docker_forget_made(s);
    s->site.plain_limits = true;
    sw_buf_wipe(&s->tar);
    return true;
}

static int fill_and_start(struct docker_sending *s, struct sw_error *err)
{
    if (docker_upload(s, err) < 0)
        return -1;
    for (int rank = 0; rank < s->plan->nodes && !s->waits; rank++)
        if (!s->begun[rank] && docker_start(s->api, s->ids[rank], s->options.network, err) < 0)
            return sw_wrap(err, "cannot start the container");
    return 0;
}

int docker_make_and_start(struct docker_sending *s, struct sw_error *err)
{
    struct sw_error why = { 0 };

    if (docker_upload_begin(s, err) < 0)
        return -1;
    /* A client that chose GPUs for it checks its lock once more, when others can see that it holds them. */
    while (make_somewhere(s, &why) < 0 ||
           (s->lock && !s->waits && docker_queue_holds(s->api, s->lock, &why) < 0) ||
           fill_and_start(s, &why) < 0) {
        if (!can_do_with_plain_limits(s) &&           /* Podman refuses a limit with a 500 */
            (why.code == SW_E_UNREACHABLE || !docker_upload_otherwise(s)))
            return sw_pass(err, &why);
        why = (struct sw_error){ 0 };
    }
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int sending_begin(struct docker_sending *s, struct sw_error *err)
{
    s->site.local = docker_is_local(s->conn);
    s->site.owner = s->owner;
    s->site.image = &s->base;
    sw_owner_name(s->owner);
    if (settle_image(s, err) < 0 || settle_results(s, err) < 0 || settle_ends(s, err) < 0 ||
        make_output_folders(s, err) < 0 || docker_clone_repositories(s, err) < 0)
        return -1;
    s->site.podman = s->api->podman;
    if (s->site.podman && s->options.network)
        /* Podman wants it before the container; that it may be there already is fine. */
        docker_network_make(s->api, s->options.network, NULL);
    settle_user(s);
    return 0;
}

static void docker_sending_auto(struct docker_sending *s)
{
    sw_buf_wipe(&s->tar);
    docker_base_done(&s->base);
    json_decref(s->devices);
    json_decref(s->clones);
    for (int i = 0; i < DOCKER_NODES_MAX; i++)
        free(s->ids[i]);
    free(s->image);
    free(s->payload);
    free(s->plan_text);
    free(s->ca_name);
    sw_buf_done(&s->ca);
    free(s->runner_volume);
    free(s->results);
    free(s->ends);
    free(s->user);
}

void docker_receipt(struct sw_submission *receipt, const char *host, const char *container,
                    const char *results, const char *ends, const char *digest)
{
    snprintf(receipt->remote_id, sizeof receipt->remote_id, "%s", container);
    receipt->details = sw_json_object(SW_STR("engine", host), SW_STR("container", container),
                                      SW_STR_OPT("ends", ends), SW_STR_OPT("image_digest", digest));
    receipt->results_dir = sw_strdup(results);
}

int docker_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                  const struct sw_secrets *secrets, struct sw_submission *receipt,
                  struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_api *api = docker_borrow(conn, err);
    sw_auto(docker_sending) struct docker_sending s = {
        .conn = conn, .api = api, .plan = plan, .secrets = secrets, .site.attempt = attempt,
        .options = docker_job_options(plan->options) };
    sw_autofree char *own = docker_is_local(conn) ? docker_own_results(plan) : NULL;
    sw_autofree char *results = own ? sw_path_join(own, plan->job_id) : NULL;    /* of this machine */
    struct sw_error why = { 0 };

    if (!api || sending_begin(&s, err) < 0)
        return sw_wrap(err, "cannot start '%s'", plan->job_id);
    if ((docker_gpus(plan) > 0 && !s.options.share_gpus
             ? docker_queue_submit(&s, &why) : docker_make_and_start(&s, &why)) < 0) {
        if (why.code != SW_E_UNREACHABLE && docker_forget_made(&s) < 0) {
            sw_wrap(&why, "rejected, and what had been created could not be removed");
            why.code = SW_E_UNREACHABLE;
        }
        sw_pass(err, &why);
        return sw_wrap(err, "cannot start '%s'", plan->job_id);
    }
    docker_receipt(receipt, docker_of(conn)->endpoint.text, s.ids[0],
                   results ? results : s.site.results, s.site.ends, s.base.digest[0] ? s.base.digest : NULL);
    return 0;
}
