/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_ask.c - one connection of the Kubernetes client, driven line by line from a script.
 *
 *     kube_ask KUBECONFIG [ACCOUNT_DIR]        "": the service account of a pod
 *
 * Lines of standard input are "get PATH", "create PATH", "identity", "version" and "together N PATH" (N
 * threads at once). Each is answered with one line of JSON: {"answer"} or {"code", "message", "hint"}.
 * The first line says whether the connection was opened, and which warning was heard.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "platform/kube/kube.h"

static void answer(json_t *json)
{
    sw_autofree char *text = sw_json_dump(json);

    puts(text);
    fflush(stdout);
    json_decref(json);
}

static json_t *trouble(const struct sw_error *err)
{
    return sw_json_object(SW_STR("code", sw_code_name(err->code)), SW_STR("message", err->message),
                          SW_STR("hint", err->hint));
}

static json_t *call(struct kube *kube, const char *method, const char *path)
{
    sw_auto(json) json_t *body = strcmp(method, "POST") == 0 ? json_object() : NULL;
    struct sw_rest_call one = { .method = method, .path = path, .json = body };
    struct sw_error err = { 0 };
    json_t *json = NULL;

    return sw_rest_call(kube_rest(kube), &one, &json, &err) < 0 ? trouble(&err)
                                                                : sw_json_object(SW_SUB("answer", json));
}

static json_t *identity(struct kube *kube)
{
    sw_auto(sw_buf) struct sw_buf id = SW_BUF_INIT;
    struct sw_error err = { 0 };

    return kube_identity(kube, &id, &err) < 0 ? trouble(&err)
                                              : sw_json_object(SW_STR("answer", sw_buf_text(&id)));
}

static json_t *version(struct kube *kube)
{
    struct sw_error err = { 0 };
    int major, minor;

    return kube_version(kube, &major, &minor, &err) < 0
               ? trouble(&err) : sw_json_object(SW_SUB("answer", json_pack("[ii]", major, minor)));
}

struct one_of_many {
    struct kube *kube;
    const char *path;
    pthread_t thread;
    bool good;
};

static void *call_once(void *context)
{
    struct one_of_many *one = context;
    sw_auto(json) json_t *said = call(one->kube, "GET", one->path);

    one->good = json_object_get(said, "answer") != NULL;
    return NULL;
}

static json_t *together(struct kube *kube, int count, const char *path)
{
    struct one_of_many all[64];
    int good = 0;

    for (int i = 0; i < count && i < 64; i++) {
        all[i] = (struct one_of_many){ .kube = kube, .path = path };
        pthread_create(&all[i].thread, NULL, call_once, &all[i]);
    }
    for (int i = 0; i < count && i < 64; i++) {
        pthread_join(all[i].thread, NULL);
        good += all[i].good;
    }
    return sw_json_object(SW_INT("answer", good));
}

static json_t *obey(struct kube *kube, const char *line)
{
    char path[512] = "";
    int count = 0;

    if (sscanf(line, "get %511s", path) == 1)
        return call(kube, "GET", path);
    if (sscanf(line, "create %511s", path) == 1)
        return call(kube, "POST", path);
    if (sscanf(line, "together %d %511s", &count, path) == 2)
        return together(kube, count, path);
    return sw_text_starts(line, "identity") ? identity(kube) : version(kube);
}

static void hear(void *context, const char *text)
{
    sw_buf_add(context, text);
}

int main(int argc, char **argv)
{
    static const struct sw_rest_field fields[] = {
        { "spec.template.spec.containers[0].image", "image" },
        { "spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]", "gpus" }, { 0 },
    };
    sw_auto(sw_buf) struct sw_buf warning = SW_BUF_INIT;
    struct kube_options options = {
        .kubeconfig = *argv[1] ? argv[1] : NULL, .account_dir = argc > 2 ? argv[2] : "/nonexistent",
        .env = sw_env_process, .warn = hear, .warn_context = &warning, .patience_ms = 20000, .fields = fields,
    };
    struct sw_error err = { 0 };
    sw_auto(kube) struct kube *kube = kube_open(&options, &err);
    char line[1024];

    if (!kube) {
        answer(trouble(&err));
        return 1;
    }
    answer(sw_json_object(SW_STR("answer", kube_address(kube)->namespace),
                          SW_STR("warning", sw_buf_text(&warning))));
    while (fgets(line, sizeof line, stdin))
        answer(obey(kube, line));
    return 0;
}
