/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - the builder of what the user wants, and the plan that follows from it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api_internal.h"
#include "base/file.h"
#include "base/text.h"
#include "core/id.h"
#include "plan/bundle.h"

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
    free(request);
}

static int take_document(struct sw_request *request, struct sw_document *job, char *base_dir)
{
    sw_document_free(request->job);
    free(request->base_dir);
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
    snprintf(request->id, sizeof request->id, "%s", job_id);
    return 0;
}

static void pass_warnings_on(struct sw_session *session, const struct sw_spec *spec)
{
    size_t i;
    json_t *text;

    json_array_foreach(spec->warnings, i, text)
        api_warn(session, json_string_value(text));
}

/* What of the code stays here, before anything is sent. A tree that cannot be read fails when it is
 * packed. */
static void say_code(struct sw_session *session, const struct api_plan *made)
{
    sw_autofree char *what = NULL;
    sw_auto(json) json_t *notes = NULL;
    json_t *text;
    size_t i;

    if (!made->plan->code ||
        sw_bundle_look(made->plan->code, made->plan->base_dir, &what, &notes, NULL) < 0)
        return;
    json_array_foreach(notes, i, text) {
        json_array_append(made->spec->warnings, text);
        api_warn(session, json_string_value(text));
    }
}

int api_plan_make(struct sw_session *session, const struct sw_request *request,
                  struct api_plan *out, struct sw_error *err)
{
    sw_auto(sw_document) struct sw_document *flags = NULL;
    json_t *values;
    sw_autofree char *here = request->base_dir ? NULL : getcwd(NULL, 0);
    struct sw_spec_input input = {
        .job = request->job, .profile = session->profile,
        .getenv = (const char *(*)(const char *))getenv, .default_platform = "local",
    };

    input.profiles = api_profiles(session, err);
    if (!input.profiles)
        return -1;
    values = json_deep_copy(request->flags);
    if (request->argv && json_array_size(request->argv) > 0) {   /* the words after `--` win */
        json_object_set(values, "argv", request->argv);
        json_object_del(values, "command");
        json_object_del(values, "python");
    }
    flags = sw_document_from_json(values, "the command line");
    input.flags = flags;
    input.platforms = api_spec_platforms(&input.platform_count);
    out->spec = sw_spec_resolve(&input, err);
    if (!out->spec)
        return -1;
    pass_warnings_on(session, out->spec);
    out->plan = sw_plan_make(out->spec, request->id[0] ? request->id : NULL,
                             request->base_dir ? request->base_dir : here, err);
    if (!out->plan)
        return -1;
    say_code(session, out);
    if (json_array_size(api_rules(session)) > 0)
        out->plan->rules = json_deep_copy(api_rules(session));
    sw_attempt_mark(out->plan, session->store);
    out->platform = sw_platform_need(out->spec->platform, err);
    if (!out->platform)
        return -1;
    out->link = api_link_of_job(session, out->platform, out->spec->options, err);
    return out->link ? 0 : -1;
}

void api_plan_auto(struct api_plan *plan)
{
    sw_plan_free(plan->plan);
    sw_spec_free(plan->spec);
}
