/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - what the user asks for: a job file, flags, a command, an id.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api_internal.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "core/id.h"
#include "core/selector.h"

struct sw_request *sw_request_new(void)
{
    struct sw_request *request = sw_new(struct sw_request);

    request->flags = json_object();
    return request;
}

void sw_request_free(struct sw_request *request)
{
    if (!request)
        return;
    sw_document_free(request->job);
    json_decref(request->flags);
    json_decref(request->argv);
    free(request->base_dir);
    free(request->found_path);
    free(request->profile);
    free(request);
}

static int take_document(struct sw_request *request, struct sw_document *job, char *base_dir)
{
    sw_document_free(request->job);
    free(request->base_dir);
    free(sw_take(request->found_path));
    request->job = job;
    request->base_dir = base_dir;
    return 0;
}

static char *read_standard_input(size_t *length, struct sw_error *err)
{
    return sw_file_read("/dev/stdin", SW_DOCUMENT_MAX, length, err);
}

int sw_request_file(struct sw_request *request, const char *path, struct sw_error *err)
{
    struct sw_document *job;
    sw_autofree char *whole = NULL;
    char *slash;

    if (strcmp(path, "-") == 0) {
        size_t length;
        sw_autofree char *text = read_standard_input(&length, err);

        if (!text)
            return -1;
        return sw_request_text(request, text, length, "yaml", "standard input", err);
    }
    job = sw_document_read(path, err);
    if (!job)
        return -1;
    whole = sw_path_absolute(path, NULL);
    slash = strrchr(whole, '/');
    *(slash == whole ? slash + 1 : slash) = '\0';
    return take_document(request, job, sw_take(whole));
}

int sw_request_find(struct sw_request *request, bool *found, struct sw_error *err)
{
    struct sw_document *job;
    sw_autofree char *here = NULL, *text = NULL;
    size_t length = 0;

    *found = sw_file_exists(API_JOB_FILE);
    if (!*found)
        return 0;
    here = realpath(".", NULL);
    text = here ? sw_file_read_plain(API_JOB_FILE, SW_DOCUMENT_MAX, &length, err) : NULL;
    if (!here)
        return sw_fail_errno(err, SW_E_IO, "cannot find the current folder");
    job = text ? sw_document_parse(text, length, SW_YAML, API_JOB_FILE, err) : NULL;
    if (!job)
        return -1;
    take_document(request, job, sw_strdup(here));
    request->found_path = sw_path_join(here, API_JOB_FILE);
    sw_sha256_hex(text, length, request->found_sha256);
    return 0;
}

int sw_request_text(struct sw_request *request, const char *text, size_t length,
                    const char *format, const char *name, struct sw_error *err)
{
    enum sw_format kind;
    struct sw_document *job;

    if (sw_format_parse(format, &kind, err) < 0)
        return -1;
    job = sw_document_parse(text, length, kind, name ? name : "job", err);
    return job ? take_document(request, job, NULL) : -1;
}

int sw_request_set(struct sw_request *request, const char *key, const char *text,
                   struct sw_error *err)
{
    size_t count;
    const struct sw_spec_platform *platforms = api_spec_platforms(&count);

    if (!sw_text_is_utf8(key) || !sw_text_is_utf8(text))
        return sw_fail(err, SW_E_USAGE, "what is given for '%.*s' is not valid UTF-8",
                       (int)strcspn(key, "."), key);
    return sw_spec_set_text(request->flags, platforms, count, key, text, err);
}

int sw_request_argv(struct sw_request *request, int argc, const char *const *argv,
                    struct sw_error *err)
{
    json_t *words = json_array();

    for (int i = 0; i < argc; i++) {
        if (json_array_append_new(words, json_string(argv[i])) < 0) {
            json_decref(words);
            return sw_fail(err, SW_E_USAGE, "argument %d of the command is not valid UTF-8", i + 1);
        }
    }
    json_decref(request->argv);
    request->argv = words;
    return 0;
}

int sw_request_id(struct sw_request *request, const char *job_id, struct sw_error *err)
{
    if (sw_id_check(job_id, err) < 0)
        return -1;
    if (sw_selector_is_word(job_id))
        return sw_fail(err, SW_E_USAGE, "'%s' cannot be an id: this word selects jobs", job_id);
    snprintf(request->id, sizeof request->id, "%s", job_id);
    return 0;
}

const char *api_profile(const struct sw_session *session, const struct sw_request *request)
{
    return session->profile ? session->profile : request->profile;
}

static json_t *copy_of(const json_t *object, const char *key)
{
    return json_deep_copy(json_object_get(object, key));       /* NULL of NULL */
}

/* Takes over what the request of a job says: the row is not needed afterwards. */
static void take_request(struct sw_request *request, const struct sw_job *job)
{
    const json_t *made = job->request, *document = json_object_get(made, "job"),
        *argv = json_object_get(made, "argv");
    const char *file = sw_json_str(job->origin, "file"), *base_dir = sw_json_str(made, "base_dir");
    const char *profile = sw_json_str(job->origin, "profile");
    json_t *flags = copy_of(made, "flags");

    take_document(request, json_is_object(document)
                               ? sw_document_from_json(json_deep_copy(document),
                                   file ? file : job->id) : NULL,
                  base_dir ? sw_strdup(base_dir) : NULL);
    json_decref(request->flags);
    json_decref(request->argv);
    free(request->profile);
    request->flags = flags ? flags : json_object();
    request->argv = json_is_array(argv) ? json_deep_copy(argv) : NULL;
    request->profile = profile ? sw_strdup(profile) : NULL;
}

int sw_request_again(struct sw_session *session, struct sw_request *request, const char *id,
                     struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job job = { 0 };

    if (api_need(session, err) < 0 || sw_store_get(session->store, id, SW_COLUMNS_ALL, &job, err) < 0)
        return -1;
    if (!job.request) {
        sw_fail(err, SW_E_UNSUPPORTED, "the request of job '%s' is not recorded: it was adopted, or "
                                       "submitted by an "
                                       "older Slipway", id);
        return sw_hint(err, "'slipway run' with its job file starts a new job; 'slipway retry %s' runs this "
                            "one again", id);
    }
    take_request(request, &job);
    return 0;
}
