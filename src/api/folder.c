/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.c - env.toml and .env of the folder that a job is planned in.
 *
 * They are looked for beside the job file, else in the current folder, and then in the folders above up
 * to the root of the repository. Without a repository only the folder itself counts: what lies above it
 * (/tmp, a shared disk) may be anyone's. A .git of another user makes no repository, and no search goes
 * above the home folder.
 *
 * The values of .env stay here, under their names. The process's environment is not touched.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api_internal.h"
#include "api/folder.h"
#include "base/file.h"
#include "base/text.h"
#include "diagnose/diagnose.h"

/* ---- where ------------------------------------------------------------------------------------- */

static bool has_repository(const char *folder)
{
    sw_autofree char *git = sw_path_join(folder, ".git");
    struct stat info;

    return lstat(git, &info) == 0 && (info.st_uid == geteuid() || info.st_uid == 0);
}

/* The folder above, in place; false: this is the last one. */
static bool go_up(char *folder, const char *home)
{
    char *slash = strrchr(folder, '/');

    if (slash == folder || sw_text_same(folder, home))
        return false;
    *slash = '\0';
    return true;
}

/* How far up files count, from `start`: the root of its repository, or itself. Owned. */
static char *last_folder(const char *start, const char *home)
{
    sw_autofree char *folder = sw_strdup(start);

    do
        if (has_repository(folder))
            return sw_take(folder);
    while (go_up(folder, home));
    return sw_strdup(start);
}

static char *find_up(const char *start, const char *last, const char *name)
{
    sw_autofree char *folder = sw_strdup(start);

    for (;;) {
        sw_autofree char *path = sw_path_join(folder, name);

        if (sw_file_exists(path))
            return sw_take(path);
        if (strcmp(folder, last) == 0 || !go_up(folder, NULL))
            return NULL;
    }
}

static char *start_of(const struct sw_session *session, const struct sw_request *request)
{
    const char *said = session->project_dir ? session->project_dir
                       : request->base_dir  ? request->base_dir
                                            : ".";

    return realpath(said, NULL);
}

static void look_for_files(const struct sw_session *session, const struct sw_request *request,
                           struct api_folder *folder)
{
    sw_autofree char *start = start_of(session, request);
    sw_autofree char *home = getenv("HOME") ? realpath(getenv("HOME"), NULL) : NULL;
    sw_autofree char *last = NULL;

    if (!start)
        return;
    last = session->project_dir ? sw_strdup(start) : last_folder(start, home);
    folder->env_toml.path = find_up(start, last, "env.toml");
    folder->dotenv.path = find_up(start, last, ".env");
}

/* ---- reading ------------------------------------------------------------------------------------ */

static void judge(const struct sw_session *session, struct api_found *found, const char *text,
                  size_t length)
{
    sw_sha256_hex(text, length, found->sha256);
    found->trusted = api_is_trusted(session->state_dir, found->path, found->sha256);
}

/* As a user would call it: a file of the current folder by its name alone. Borrowed. */
static const char *shown(const char *path)
{
    sw_autofree char *here = realpath(".", NULL);
    size_t length = here ? strlen(here) : 0;

    return path && length > 1 && strncmp(path, here, length) == 0 && path[length] == '/' &&
                   !strchr(path + length + 1, '/')
               ? path + length + 1
               : path;
}

static int read_profiles(struct api_folder *folder, struct sw_error *err)
{
    const char *home = getenv("HOME");
    struct sw_profile_file file = { .name = shown(folder->env_toml.path) };
    sw_autofree char *text = NULL;

    if (folder->env_toml.path) {
        text = sw_file_read_plain(folder->env_toml.path, SW_DOCUMENT_MAX, &file.length, err);
        if (!text)
            return -1;
        judge(folder->session, &folder->env_toml, text, file.length);
        file.text = text;
        file.trusted = folder->env_toml.trusted;
    }
    folder->profiles = sw_profiles_load(text ? &file : NULL, home ? home : "/", err);
    if (!folder->profiles)
        return -1;
    folder->rules = sw_profiles_rules(folder->profiles);
    return sw_rules_check(folder->rules, err) < 0
               ? sw_wrap(err, "[[rules]] in env.toml or profiles.toml") : 0;
}

/* Returns the text, which is parsed when the folder turns out to be a new one; NULL: none. */
static char *read_dotenv(struct api_folder *folder, size_t *length)
{
    char *text = folder->dotenv.path ? sw_dotenv_read(folder->dotenv.path, length, api_warn,
                                                      folder->session)
                                     : NULL;

    if (text)
        judge(folder->session, &folder->dotenv, text, *length);
    return text;
}

static void folder_free(struct api_folder *folder)
{
    if (!folder)
        return;
    free(folder->env_toml.path);
    free(folder->dotenv.path);
    sw_profiles_free(folder->profiles);
    json_decref(folder->rules);
    sw_environment_free(folder->values);
    free(folder);
}
SW_DEFINE_AUTO(folder, struct api_folder *, folder_free)

void api_folders_free(struct sw_session *session)
{
    for (size_t i = 0; i < session->folder_count; i++)
        folder_free(session->folders[i]);
    free(session->folders);
}

static bool is_same(const struct api_found *one, const struct api_found *other)
{
    return sw_text_same(one->path, other->path) && strcmp(one->sha256, other->sha256) == 0 &&
           one->trusted == other->trusted;
}

/* Connections belong to a folder, so that the same one is not made twice. */
static struct api_folder *known_folder(struct sw_session *session, const struct api_folder *folder)
{
    for (size_t i = 0; i < session->folder_count; i++)
        if (is_same(&session->folders[i]->env_toml, &folder->env_toml) &&
            is_same(&session->folders[i]->dotenv, &folder->dotenv))
            return session->folders[i];
    return NULL;
}

static struct api_folder *keep(struct sw_session *session, struct api_folder *folder)
{
    session->folders = sw_realloc_array(session->folders, session->folder_count + 1,
                                        sizeof *session->folders);
    session->folders[session->folder_count++] = folder;
    return folder;
}

struct api_folder *api_folder(struct sw_session *session, const struct sw_request *request,
                              bool read, struct sw_error *err)
{
    sw_auto(folder) struct api_folder *folder = sw_new(struct api_folder);
    struct api_folder *known;
    char *text = NULL;
    size_t length = 0;

    folder->session = session;
    folder->values = sw_environment_new();
    if (!api_profiles(session, err))              /* the user's own .env is there from now on */
        return NULL;
    if (read)
        look_for_files(session, request, folder);
    if (read_profiles(folder, err) < 0)
        return NULL;
    text = read_dotenv(folder, &length);
    pthread_mutex_lock(&session->lock);
    known = known_folder(session, folder);
    if (!known) {
        if (text)
            sw_dotenv_parse(text, length, shown(folder->dotenv.path), folder->values, api_warn,
                            session);
        known = keep(session, sw_take(folder));
    }
    pthread_mutex_unlock(&session->lock);
    if (text)
        explicit_bzero(text, length);
    free(text);
    return known;
}

/* ---- values ------------------------------------------------------------------------------------- */

static const char *look_up(struct api_folder *folder, const char *name, bool *refused)
{
    const char *own = getenv(name);
    const char *value = sw_text_empty(own) ? sw_environment_find(folder->values, name) : own;
    size_t count;
    const struct sw_spec_platform *platforms = api_spec_platforms(&count);

    *refused = false;
    if (!sw_text_empty(own))
        return own;
    if (!value)
        return sw_environment_find(folder->session->values, name);
    *refused = !folder->dotenv.trusted && sw_spec_variable_needs_trust(platforms, count, name);
    return *refused ? NULL : value;
}

const char *api_folder_env(void *folder, const char *name)
{
    bool refused;

    return look_up(folder, name, &refused);
}

const char *api_asking_env(void *context, const char *name)
{
    struct api_asking *asking = context;
    bool refused;
    const char *value = look_up(asking->folder, name, &refused);

    if (refused)
        json_object_set_new(asking->refused, name, json_true());
    asking->used |= value && value == sw_environment_find(asking->folder->values, name);
    return value;
}

const char *api_asking_source(void *context, const char *name)
{
    const struct api_asking *asking = context;

    if (!sw_text_empty(getenv(name)))
        return "the environment";
    return sw_environment_find(asking->folder->values, name) ? shown(asking->folder->dotenv.path)
                                                             : "~/.config/tao/.env";
}
