/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origin.c - what ran: who submitted a job, from where, with which request, and what its repository said.
 *
 * Written down once, at the submit, beside the plan: {"user","host","version","file","folder","profile",
 * "command","sources","git"}, and the request, {"job","flags","argv","base_dir"}, from which the job can be
 * made again. A request holds names of secrets, never values; the command as it is shown and what was not
 * committed pass the redactor.
 */
#include "api/api_internal.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "plan/git.h"

static json_t *request_json(const struct sw_request *request, const char *base_dir)
{
    return sw_json_object(
        SW_SUB("job", request->job ? sw_spec_written(request->job) : json_null()),
        SW_SUB_COPY("flags", request->flags),
        SW_SUB_COPY("argv", request->argv ? request->argv : json_null()),
        SW_STR("base_dir", base_dir));
}

/* The job file's whole path, owned; NULL: it has none. */
static char *file_of(const struct sw_request *request)
{
    const char *name = request->job ? sw_document_name(request->job) : NULL;
    const char *slash = name ? strrchr(name, '/') : NULL;

    if (request->found_path)
        return sw_strdup(request->found_path);
    return name && request->base_dir ? sw_path_join(request->base_dir, slash ? slash + 1 : name) : NULL;
}

static char *user_name(void)
{
    const struct passwd *user = getpwuid(geteuid());

    return user ? sw_strdup(user->pw_name) : sw_format("uid-%ld", (long)geteuid());
}

/* A program that submits a thousand jobs in a row does not ask git a thousand times. */
enum { SEEN_FOR_MS = 1000 };

struct api_seen_git {
    char *folder;
    int64_t at_ms;                   /* when it had answered; monotonic */
    struct sw_git git;
};

void api_seen_git_free(struct api_seen_git *seen)
{
    if (!seen)
        return;
    free(seen->folder);
    sw_git_done(&seen->git);
    free(seen);
}

static void look_at_git(struct sw_session *session, const char *folder, struct sw_git *out)
{
    struct api_seen_git *seen;
    bool known;

    pthread_mutex_lock(&session->lock);
    seen = session->seen_git;
    known = seen && sw_monotonic_ms() < seen->at_ms + SEEN_FOR_MS && strcmp(seen->folder, folder) == 0;
    if (known)
        sw_git_copy(&seen->git, out);
    pthread_mutex_unlock(&session->lock);
    if (known)
        return;
    sw_git_look(folder, session->state_dir, out);
    seen = sw_new(struct api_seen_git);
    seen->folder = sw_strdup(folder);
    seen->at_ms = sw_monotonic_ms();
    sw_git_copy(out, &seen->git);
    pthread_mutex_lock(&session->lock);
    api_seen_git_free(session->seen_git);
    session->seen_git = seen;
    pthread_mutex_unlock(&session->lock);
}

static json_t *git_json(const struct sw_git *git)
{
    bool dirty = git->diff.length > 0 || git->untracked > 0;

    return !git->root ? json_null() : sw_json_object(
        SW_STR("root", git->root), SW_STR("commit", git->commit), SW_STR("branch", git->branch),
        SW_SUB("dirty", git->looked ? json_boolean(dirty) : json_null()),
        SW_SUB("untracked", git->looked ? json_integer(git->untracked) : json_null()),
        SW_SUB("diff_bytes", git->looked ? json_integer((json_int_t)git->diff.length) : json_null()),
        SW_BOOL("diff_cut", git->cut));
}

void api_origin(struct sw_session *session, const struct sw_request *request, const struct api_plan *made,
                const struct sw_secrets *secrets, struct api_origin *out)
{
    const struct sw_plan *plan = made->group ? made->group : made->plan;
    sw_auto(json) json_t *document = sw_plan_to_json(plan);
    sw_auto(sw_redactor) struct sw_redactor *redactor = api_redactor(session, document, secrets);
    sw_auto(sw_git) struct sw_git git = { 0 };
    sw_autofree char *file = file_of(request), *here = getcwd(NULL, 0), *user = user_name();
    sw_autofree char *command = api_command(document);
    sw_autofree char *shown = command ? api_clean(redactor, command, strlen(command)) : NULL;
    char host[SW_HOST_SIZE];

    sw_host_name(host);
    look_at_git(session, plan->base_dir ? plan->base_dir : ".", &git);
    out->diff = git.diff.length ? api_clean(redactor, git.diff.data, git.diff.length) : NULL;
    out->request = request_json(request, plan->base_dir);
    out->document = sw_json_object(
        SW_STR("user", user), SW_STR("host", host), SW_STR("version", sw_version()),
        SW_STR("file", file), SW_STR("folder", here), SW_STR("profile", api_profile(session, request)),
        SW_STR("command", shown), SW_SUB_COPY("sources", plan->sources), SW_SUB("git", git_json(&git)));
}

void api_origin_done(struct api_origin *origin)
{
    json_decref(origin->document);
    json_decref(origin->request);
    free(origin->diff);
}
