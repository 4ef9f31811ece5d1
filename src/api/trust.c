/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.c - which files of folders the user trusts: their paths and the hash of their content.
 *
 * One byte of a file changes, and it is not trusted any more. The list is trusted.json in the state
 * folder, replaced whole and readable by its owner alone. A list that cannot be read trusts nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api_internal.h"
#include "api/folder.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

enum { LIST_MAX = 16 * 1024 * 1024 };

static const char *const names[] = { "env.toml", ".env", API_JOB_FILE };

/* ---- the list ----------------------------------------------------------------------------------- */

/* Object: path -> {"sha256","at_ms"}. Never NULL. */
static json_t *read_list(const char *state_dir)
{
    sw_autofree char *path = sw_path_join(state_dir, "trusted.json");
    size_t length = 0;
    sw_autofree char *text = sw_file_read_plain(path, LIST_MAX, &length, NULL);
    sw_auto(json) json_t *document = text ? sw_json_parse(text, length, path, NULL) : NULL;
    json_t *files = json_object_get(document, "files");

    return json_is_object(files) ? json_incref(files) : json_object();
}

static int write_list(const char *state_dir, json_t *files, struct sw_error *err)
{
    sw_autofree char *path = sw_path_join(state_dir, "trusted.json");
    sw_auto(json) json_t *document = sw_json_object(SW_INT("version", 1),
                                                    SW_SUB_COPY("files", files));
    sw_autofree char *text = sw_json_dump_pretty(document);

    return sw_file_write(path, text, strlen(text), 0600, err);
}

/* Two may change the list at once; the lock ends with the descriptor. */
static int lock_list(const char *state_dir, struct sw_error *err)
{
    sw_autofree char *path = sw_path_join(state_dir, "trusted.lock");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot open '%s'", path);
    while (flock(fd, LOCK_EX) < 0)
        if (errno != EINTR) {
            sw_fail_errno(err, SW_E_IO, "cannot lock '%s'", path);
            close(fd);
            return -1;
        }
    return fd;
}

bool api_is_trusted(const char *state_dir, const char *path, const char *sha256)
{
    sw_auto(json) json_t *files = read_list(state_dir);
    const char *known = sw_json_str(json_object_get(files, path), "sha256");

    return known && strcmp(known, sha256) == 0;
}

/* ---- one file ----------------------------------------------------------------------------------- */

/* Its folder through links; the file itself keeps its name, which says what it is. */
static char *whole_path(const char *path)
{
    sw_autofree char *absolute = sw_path_absolute(path, NULL);
    char *slash = strrchr(absolute, '/');
    sw_autofree char *folder = sw_strndup(absolute, slash == absolute ? 1
                                                        : (size_t)(slash - absolute));
    sw_autofree char *real = realpath(folder, NULL);
    struct stat info;

    if (stat(absolute, &info) == 0 && S_ISDIR(info.st_mode))
        return realpath(absolute, NULL);
    return sw_path_join(real ? real : folder, slash + 1);
}

static json_t *keys_of_dotenv(const char *text, size_t length, const char *path)
{
    sw_auto(sw_environment) struct sw_environment *values = sw_environment_new();
    size_t count;
    const struct sw_spec_platform *platforms = api_spec_platforms(&count);
    const char *name, *value;
    json_t *keys = json_array();

    sw_dotenv_parse(text, length, path, values, NULL, NULL);
    for (size_t i = 0; sw_environment_at(values, i, &name, &value); i++)
        if (sw_spec_variable_needs_trust(platforms, count, name))
            json_array_append_new(keys, sw_json_text(name));
    return keys;
}

/* What trust in it would let through; a file that cannot be parsed lets nothing through. */
static json_t *keys_of(const char *text, size_t length, const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    enum sw_format format;
    size_t count;
    const struct sw_spec_platform *platforms = api_spec_platforms(&count);
    sw_auto(sw_document) struct sw_document *document = NULL;

    if (strcmp(name, ".env") == 0)
        return keys_of_dotenv(text, length, path);
    if (sw_format_of_path(path, &format, NULL) == 0)
        document = sw_document_parse(text, length, format, path, NULL);
    return document ? sw_spec_sensitive_keys(sw_document_value(document),
                                             strcmp(name, "env.toml") == 0, platforms, count)
                    : json_array();
}

static json_t *file_row(const struct sw_session *session, const char *path, struct sw_error *err)
{
    size_t length = 0;
    char *text = sw_file_read_plain(path, SW_DOCUMENT_MAX, &length, err);
    char sha256[SW_DIGEST_HEX];
    json_t *row;

    if (!text)
        return NULL;
    sw_sha256_hex(text, length, sha256);
    row = sw_json_object(SW_STR("path", path), SW_STR("sha256", sha256),
                         SW_BOOL("trusted", api_is_trusted(session->state_dir, path, sha256)),
                         SW_SUB("keys", keys_of(text, length, path)));
    explicit_bzero(text, length);
    free(text);
    return row;
}

static int add_row(const struct sw_session *session, const char *path, json_t *rows,
                   struct sw_error *err)
{
    json_t *row = file_row(session, path, err);

    if (!row)
        return -1;
    json_array_append_new(rows, row);
    return 0;
}

char *sw_trust_look(struct sw_session *session, const char *path, struct sw_error *err)
{
    sw_autofree char *whole = whole_path(path);
    sw_auto(json) json_t *rows = json_array();
    struct stat info;

    if (stat(whole, &info) < 0 || !S_ISDIR(info.st_mode))
        return add_row(session, whole, rows, err) < 0 ? NULL : api_text(sw_take(rows));
    for (size_t i = 0; i < SW_COUNT(names); i++) {
        sw_autofree char *file = sw_path_join(whole, names[i]);

        if (sw_file_exists(file) && add_row(session, file, rows, err) < 0)
            return NULL;
    }
    return api_text(sw_take(rows));
}

/* ---- what a request needs ------------------------------------------------------------------------ */

static int add_file(const struct sw_session *session, const char *path, bool needed, json_t *rows,
                    struct sw_error *err)
{
    return needed ? add_row(session, path, rows, err) : 0;
}

static bool is_from(const json_t *untrusted, const char *from)
{
    size_t i;
    json_t *each;

    json_array_foreach(untrusted, i, each)
        if (sw_text_same(sw_json_str(each, "from"), from))
            return true;
    return false;
}

char *sw_untrusted(struct sw_session *session, const struct sw_request *request,
                   struct sw_error *err)
{
    sw_auto(api_plan) struct api_plan made = { 0 };
    sw_auto(json) json_t *rows = json_array();
    const json_t *untrusted;

    if (api_plan_think(session, request, true, &made, err) < 0)
        return NULL;
    untrusted = made.spec->untrusted;
    if (add_file(session, request->found_path, is_from(untrusted, "job"), rows, err) < 0 ||
        add_file(session, made.folder->env_toml.path, is_from(untrusted, "profile"), rows,
                 err) < 0 ||
        add_file(session, made.folder->dotenv.path, is_from(untrusted, "dotenv"), rows, err) < 0)
        return NULL;
    return api_text(sw_take(rows));
}

/* ---- saying it ---------------------------------------------------------------------------------- */

static int change_list(struct sw_session *session, const char *path, json_t *entry,
                       struct sw_error *err)
{
    sw_autofd int lock = session->read_only ? -1 : lock_list(session->state_dir, err);
    sw_auto(json) json_t *files = read_list(session->state_dir);

    if (session->read_only)
        return sw_fail(err, SW_E_STORE, "the session is read-only");
    if (lock < 0)
        return -1;
    if (entry)
        json_object_set(files, path, entry);
    else if (json_object_del(files, path) < 0)
        return sw_fail(err, SW_E_NOT_FOUND, "'%s' is not trusted", path);
    return write_list(session->state_dir, files, err);
}

int sw_trust(struct sw_session *session, const char *path, const char *sha256,
             struct sw_error *err)
{
    sw_autofree char *whole = whole_path(path);
    sw_auto(json) json_t *row = file_row(session, whole, err);
    sw_auto(json) json_t *entry = NULL;

    if (!row)
        return -1;
    if (sha256 && !sw_text_same(sha256, sw_json_str(row, "sha256"))) {
        sw_fail(err, SW_E_CONFLICT, "'%s' has changed meanwhile", whole);
        return sw_hint(err, "review it again");
    }
    entry = sw_json_object(SW_STR("sha256", sw_json_str(row, "sha256")),
                           SW_INT("at_ms", sw_now_ms()));
    return change_list(session, whole, entry, err);
}

int sw_untrust(struct sw_session *session, const char *path, struct sw_error *err)
{
    sw_autofree char *whole = whole_path(path);

    return change_list(session, whole, NULL, err);
}

char *sw_trusted(struct sw_session *session, struct sw_error *err)
{
    sw_auto(json) json_t *files = read_list(session->state_dir);
    sw_auto(json) json_t *rows = json_array();
    const char *path;
    json_t *entry;

    (void)err;
    json_object_foreach(files, path, entry) {
        sw_auto(json) json_t *now = file_row(session, path, NULL);

        json_array_append_new(rows, sw_json_object(
            SW_STR("path", path), SW_STR("sha256", sw_json_str(entry, "sha256")),
            SW_INT("at_ms", sw_json_int(entry, "at_ms", 0)),
            SW_BOOL("trusted", sw_json_bool(now, "trusted", false))));
    }
    return api_document("trust", sw_json_object(SW_SUB("files", sw_take(rows))));
}
