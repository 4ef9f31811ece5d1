/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_pull.c - bring an image to the engine, and say in our words why it did not come.
 *
 * The engine answers 200 as soon as it begins; a failure later on is a line in the stream. The
 * same words come either way, from the registry by way of the engine, and one table reads them.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/image_ref.h"
#include "core/registry_login.h"
#include "platform/docker/docker_job.h"

#define LAYERS_MAX     512
#define PROGRESS_MS    100
#define WORDS_MAX      400

struct layer {
    char id[16];
    int64_t done, total;
    bool over;
};

struct pulling {
    const struct docker_pull *pull;
    char *what;
    struct layer layers[LAYERS_MAX];
    size_t count;
    int64_t began_ms, told_ms;
    char words[WORDS_MAX + 1];           /* the failure in the stream; "": none yet */
    bool canceled;
};

/* ---- progress ----------------------------------------------------------------------------------- */

static struct layer *layer_of(struct pulling *pulling, const char *id)
{
    for (size_t i = 0; i < pulling->count; i++)
        if (strcmp(pulling->layers[i].id, id) == 0)
            return &pulling->layers[i];
    if (pulling->count == LAYERS_MAX || strlen(id) >= sizeof pulling->layers->id)
        return NULL;
    strcpy(pulling->layers[pulling->count].id, id);
    return &pulling->layers[pulling->count++];
}

static void note_layer(struct pulling *pulling, const json_t *line, const char *id,
                       const char *status)
{
    const json_t *detail = json_object_get(line, "progressDetail");
    struct layer *layer = sw_text_starts(status, "Pulling from") ? NULL : layer_of(pulling, id);

    if (!layer)
        return;
    if (strcmp(status, "Downloading") == 0) {
        layer->done = sw_json_int(detail, "current", layer->done);
        layer->total = sw_json_int(detail, "total", layer->total);
    } else if (strcmp(status, "Download complete") == 0 || strcmp(status, "Extracting") == 0) {
        layer->done = layer->total;
    } else if (strcmp(status, "Pull complete") == 0 || strcmp(status, "Already exists") == 0) {
        layer->done = layer->total;
        layer->over = true;
    }
}

static int tell(struct pulling *pulling)
{
    struct sw_copy_progress progress = { .left_ms = -1 };
    int64_t now_ms = sw_monotonic_ms(), spent_ms = now_ms - pulling->began_ms;

    if (!pulling->pull->progress || now_ms - pulling->told_ms < PROGRESS_MS)
        return 0;
    pulling->told_ms = now_ms;
    for (size_t i = 0; i < pulling->count; i++) {
        progress.files_total++;
        progress.files_done += pulling->layers[i].over;
        progress.bytes_done += pulling->layers[i].done;
        progress.bytes_total += pulling->layers[i].total;
        progress.listing = progress.listing || (!pulling->layers[i].total && !pulling->layers[i].over);
    }
    progress.bytes_per_second = spent_ms > 0 ? progress.bytes_done * 1000 / spent_ms : 0;
    if (!progress.listing && progress.bytes_per_second > 0)
        progress.left_ms = (progress.bytes_total - progress.bytes_done) * 1000 /
                           progress.bytes_per_second;
    pulling->canceled = pulling->pull->progress(pulling->pull->progress_context, pulling->what,
                                                &progress) != 0;
    return pulling->canceled;
}

static int take_line(void *context, json_t *line)
{
    struct pulling *pulling = context;
    const char *id = sw_json_str(line, "id"), *status = sw_json_str(line, "status");
    const char *failure = sw_json_str(json_object_get(line, "errorDetail"), "message");

    failure = failure ? failure : sw_json_str(line, "error");
    if (failure)
        snprintf(pulling->words, sizeof pulling->words, "%s", *failure ? failure : "it failed");
    if (id && status)
        note_layer(pulling, line, id, status);
    return tell(pulling);
}

/* ---- why it did not come ------------------------------------------------------------------------ */

enum remedy { LOG_IN, CHECK_NAME, FREE_DISK, CHECK_NET, TRUST, WAIT, OTHER_BUILD };

static const struct {
    const char *words;
    enum sw_code code;
    enum remedy remedy;
} refusals[] = {
    { "no space left on device",        SW_E_REFUSED,    FREE_DISK },
    { "no matching manifest for",       SW_E_NOT_FOUND,  OTHER_BUILD },
    { "toomanyrequests",                SW_E_REFUSED,    WAIT },
    { "manifest unknown",               SW_E_NOT_FOUND,  CHECK_NAME },
    { "name unknown",                   SW_E_NOT_FOUND,  CHECK_NAME },
    { "no basic auth credentials",      SW_E_CREDENTIAL, LOG_IN },
    { "unauthorized",                   SW_E_CREDENTIAL, LOG_IN },
    { "authentication required",        SW_E_CREDENTIAL, LOG_IN },
    { "incorrect username or password", SW_E_CREDENTIAL, LOG_IN },
    { "pull access denied",             SW_E_CREDENTIAL, LOG_IN },
    { "denied:",                        SW_E_CREDENTIAL, LOG_IN },
    { "Forbidden",                      SW_E_CREDENTIAL, LOG_IN },
    { "not found",                      SW_E_NOT_FOUND,  CHECK_NAME },
    { "x509:",                          SW_E_REFUSED,    TRUST },
    { "server gave HTTP response to HTTPS client", SW_E_REFUSED, TRUST },
    { "no such host",                   SW_E_REFUSED,    CHECK_NET },
    { "connection refused",             SW_E_REFUSED,    CHECK_NET },
    { "i/o timeout",                    SW_E_REFUSED,    CHECK_NET },
    { "timeout",                        SW_E_REFUSED,    CHECK_NET },
    { "name resolution",                SW_E_REFUSED,    CHECK_NET },
    { "unreachable",                    SW_E_REFUSED,    CHECK_NET },
};

static int say_log_in(const struct sw_image_ref *image, const struct sw_registry_login *login,
                      struct sw_error *err)
{
    bool ngc = strcmp(image->registry, "nvcr.io") == 0;

    if (login->secret)
        return sw_hint(err, "%s was used (as '%.60s'): is it still valid, and can it read this image?"
                            "%s", login->origin, login->user,
                       ngc ? " Create a key at org.ngc.nvidia.com" : "");
    if (login->trouble)
        return sw_hint(err, "no credential was used, because %.150s", login->trouble);
    if (ngc)
        return sw_hint(err, "no credential was used: set NGC_KEY (a key from org.ngc.nvidia.com)");
    return sw_hint(err, "no credential was used: `docker login %s`, or set DOCKER_USERNAME,"
                        " DOCKER_PASSWORD and DOCKER_REGISTRY=%s", image->registry,
                   image->registry);
}

static int say_remedy(enum remedy remedy, const struct sw_image_ref *image,
                      const struct sw_registry_login *login, struct sw_error *err)
{
    switch (remedy) {
    case LOG_IN:
        return say_log_in(image, login, err);
    case CHECK_NAME:
        return sw_hint(err, "check name and tag; a private image looks the same to a login without access "
                            "(%s was used)",
                       login->secret ? login->origin : "no credential");
    case FREE_DISK:
        return sw_hint(err, "the engine's disk is full: `docker system prune` frees what is not used");
    case CHECK_NET:
        return sw_hint(err, "the engine's machine cannot reach %s: check its network, DNS and proxy",
                       image->registry);
    case TRUST:
        return sw_hint(err, "the engine does not trust %s: put its authority into"
                            " /etc/docker/certs.d/%s/ca.crt on the engine's machine",
                       image->registry, image->registry);
    case WAIT:
        return sw_hint(err, "%s limits pulls: log in, or try again later", image->registry);
    case OTHER_BUILD:
        break;
    }
    return sw_hint(err, "it has no build for the engine's processor");
}

/* `words` are the engine's, from the stream or the status. */
static int did_not_come(const struct sw_image_ref *image, const struct sw_registry_login *login,
                        const char *words, struct sw_error *err)
{
    sw_autofree char *clean = sw_text_printable(words, strlen(words));
    sw_autofree char *name = sw_image_ref_text(image);

    sw_fail(err, SW_E_REFUSED, "cannot pull %s: %.300s", name, clean);
    for (size_t i = 0; i < SW_COUNT(refusals); i++)
        if (strcasestr(words, refusals[i].words)) {
            if (err)
                err->code = refusals[i].code;
            return say_remedy(refusals[i].remedy, image, login, err);
        }
    return -1;
}

/* The engine's "no" to a question about an image; no answer at all stays what it is. */
static int explain(const struct docker_api *api, const struct sw_image_ref *image,
                   const struct sw_registry_login *login, const struct sw_error *why, struct sw_error *err)
{
    const char *words = api->refused_words;

    if (why->code == SW_E_UNREACHABLE || why->code == SW_E_TIMEOUT || why->code == SW_E_INTERNAL ||
        why->code == SW_E_UNSUPPORTED) {
        sw_pass(err, why);
        return sw_wrap(err, "cannot pull the image");
    }
    return did_not_come(image, login, words ? words : why->message, err);
}

/* ---- asking ------------------------------------------------------------------------------------- */

struct end {
    bool over;
    struct sw_error why;
};

static void note_end(void *context, const struct sw_rest_answer *answer)
{
    struct end *end = context;

    end->over = true;
    end->why = answer->error;
}

/* Like docker_ask(), but the user can stop it also while the registry is silent. */
static int ask_and_tell(struct docker_api *api, const struct sw_rest_call *call,
                        struct pulling *pulling, struct sw_error *err)
{
    struct end end = { 0 };

    if (docker_send(api, call, note_end, &end, err) < 0)
        return -1;
    while (!end.over && !pulling->canceled)
        if (sw_rest_work(api->rest, PROGRESS_MS, err) < 0 || tell(pulling) != 0) {
            sw_rest_drop(api->rest, &end);
            return -1;
        }
    sw_rest_drop(api->rest, &end);
    pulling->told_ms = 0;                    /* the last word is the whole */
    tell(pulling);
    if (err)
        *err = end.why;
    return end.why.code == SW_OK ? 0 : -1;
}

/* The login for the image's registry, and its header for the engine (NULL: no login). */
static char *find_login(struct docker_api *api, const struct sw_image_ref *image,
                        struct sw_registry_login *login)
{
    const struct docker_endpoint *endpoint = &api->endpoint;

    sw_registry_login_find(&(struct sw_registry_query){ .registry = image->registry, .env = endpoint->env,
                                                        .env_context = endpoint->env_context }, login);
    return sw_registry_auth_header(login, image->registry);
}

static int pull_image(struct docker_api *api, const struct docker_pull *pull,
                      const struct sw_image_ref *image, struct sw_error *err)
{
    sw_auto(sw_registry_login) struct sw_registry_login login = { 0 };
    sw_auto(sw_text_wipe) char *header = NULL;
    sw_autofree char *name = sw_image_ref_name(image);
    sw_autofree char *path = sw_rest_path("/images/create?fromImage=%s&tag=%s", name,
                                          image->digest ? image->digest : image->tag);
    sw_autofree struct pulling *pulling = sw_new(struct pulling);
    sw_autofree char *what = sw_format("pulling %s", pull->image);
    struct sw_rest_lines lines = { .take = take_line, .context = pulling };
    struct sw_rest_pair auth[2] = { { "X-Registry-Auth", NULL } };
    struct sw_rest_call call = { .method = "POST", .path = path, .headers = auth,
                                 .sink = sw_rest_lines_sink, .stall_ms = -1,
                                 .sink_context = &lines, .changes_nothing = true };
    struct sw_error why = { 0 };
    int result;

    auth[0].value = header = find_login(api, image, &login);
    pulling->pull = pull;
    pulling->what = what;
    pulling->began_ms = sw_monotonic_ms();
    result = ask_and_tell(api, &call, pulling, &why);
    sw_rest_lines_done(&lines);
    if (pulling->canceled)
        return sw_fail(err, SW_E_INTERRUPTED, "pulling %s was stopped", pull->image);
    if (pulling->words[0])
        return did_not_come(image, &login, pulling->words, err);
    return result < 0 ? explain(api, image, &login, &why, err) : 0;
}

static int not_there(const char *image, struct sw_error *err)
{
    sw_fail(err, SW_E_NOT_FOUND, "the engine does not have %s, and it may not be pulled", image);
    return sw_hint(err, "pull it there yourself, or use `pull: missing`");
}

int docker_image_ensure(struct docker_api *api, const struct docker_pull *pull, char **use,
                        json_t **inspected, struct sw_error *err)
{
    sw_auto(sw_image_ref) struct sw_image_ref image = { 0 };
    sw_auto(json) json_t *found = NULL;
    sw_autofree char *name = NULL;
    struct sw_error why = { 0 };
    bool always;             /* an id is known to one engine only */

    if (sw_image_ref_parse(pull->image, &image, err) < 0)
        return -1;
    name = sw_image_ref_text(&image);
    always = pull->policy == DOCKER_PULL_ALWAYS && image.registry;
    if (!always && !(found = docker_inspect_image(api, name, &why)) && why.code != SW_E_NOT_FOUND)
        return sw_pass(err, &why);
    if (!found && (pull->policy == DOCKER_PULL_NEVER || !image.registry))
        return not_there(pull->image, err);
    if (!found && (pull_image(api, pull, &image, err) < 0 ||
                   !(found = docker_inspect_image(api, name, err))))
        return -1;
    *use = sw_take(name);
    if (inspected)
        *inspected = sw_take(found);
    return 0;
}

int docker_image_reachable(struct docker_api *api, const char *text, json_t **platforms, struct sw_error *err)
{
    sw_auto(sw_image_ref) struct sw_image_ref image = { 0 };
    sw_auto(sw_registry_login) struct sw_registry_login login = { 0 };
    sw_auto(sw_text_wipe) char *header = NULL;
    sw_autofree char *name = NULL, *path = NULL;
    sw_auto(json) json_t *reply = NULL;
    struct sw_error why = { 0 };

    if (sw_image_ref_parse(text, &image, err) < 0)
        return -1;
    if (!image.registry)
        return not_there(text, err);
    header = find_login(api, &image, &login);
    name = sw_image_ref_text(&image);
    path = sw_rest_path("/distribution/%s/json", name);
    if (docker_ask(api, &(struct sw_rest_call){
            .path = path, .headers = (const struct sw_rest_pair[]){ { "X-Registry-Auth", header }, { 0 } },
            .stall_ms = 120000, .changes_nothing = true }, &reply, &why) < 0)
        return explain(api, &image, &login, &why, err);
    if (platforms)
        *platforms = json_incref(json_object_get(reply, "Platforms"));
    return 0;
}
