/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bundle_select.c - which files of the user's tree travel with the job.
 *
 * Left out, in this order: version control, caches and environments by name; files that usually hold
 * credentials; what .gitignore says; configs/ (the job carries its own config); other recipe families;
 * what `exclude` names; and, when there is an `include`, everything it does not name. Folders that are
 * left out are not looked into. Credentials and links that lead out are named: the code would
 * miss them there. A name that is in `include` letter for letter beats the credentials' rule and
 * .gitignore.
 */
#include "plan/bundle.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "core/archive.h"
#include "storage/uri.h"

enum { NOTES_MOST = 100, IGNORE_FILE_MAX = 1024 * 1024, DEPTH_MAX = 64, FILES_MAX = 200000,
       LARGE_BYTES = 10 * 1024 * 1024, LARGE_NAMED = 5 };
#define USUAL_MOST_BYTES (INT64_C(256) * 1024 * 1024)

static const char *const never[] = {
    ".git", ".hg", ".svn", ".bzr", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache",
    ".tox", ".nox", ".venv", "venv", "node_modules", ".ipynb_checkpoints", ".DS_Store", ".idea",
    ".vscode", ".cache", ".eggs", ".slipway",
};

static const char *const credential_names[] = {
    ".env", ".env.*", "*.env", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.kdbx",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc", ".pgpass",
    ".git-credentials", ".pypirc", ".npmrc", ".dockercfg", ".s3cfg", ".boto", "*.kubeconfig",
    ".aws/", ".ssh/", ".kube/", ".gnupg/", ".docker/", ".azure/", ".gcloud/", ".ngc/", NULL
};
/* ... but these are made to be shown. */
static const char *const harmless[] = { "*.example", "*.sample", "*.template", "*.dist", "*.pub", NULL };

struct selecting {
    const struct sw_bundle_rules *rules;
    struct sw_ignore *ignore;
    struct sw_bundle_list *list;
    int64_t most_bytes;
    struct sw_error *err;
};

void sw_bundle_list_done(struct sw_bundle_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].path);
        free(list->items[i].target);
    }
    free(list->items);
    json_decref(list->notes);
    *list = (struct sw_bundle_list){ 0 };
}

static bool is_never(const char *name)
{
    for (size_t i = 0; i < SW_COUNT(never); i++)
        if (strcmp(name, never[i]) == 0)
            return true;
    return sw_text_ends(name, ".pyc") || sw_text_ends(name, ".egg-info");
}

static bool fits_one(const char *const *patterns, const char *name, bool is_folder)
{
    for (size_t i = 0; patterns[i]; i++) {
        size_t length = strlen(patterns[i]);
        bool of_folder = patterns[i][length - 1] == '/';
        sw_autofree char *pattern = sw_strndup(patterns[i], length - of_folder);

        if (of_folder == is_folder && sw_wildmatch(pattern, name))
            return true;
    }
    return false;
}

/* In capitals, too: ".ENV", "server.KEY". */
static bool is_secret(const char *name, bool is_folder)
{
    sw_autofree char *small = sw_strdup(name);

    for (char *at = small; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return fits_one(credential_names, small, is_folder) && !fits_one(harmless, small, is_folder);
}

bool sw_bundle_is_secret(const char *path)
{
    sw_autofree char *copy = sw_strdup(path);
    char *name = copy, *slash;

    for (; (slash = strchr(name, '/')); name = slash + 1) {
        *slash = '\0';
        if (is_secret(name, true))
            return true;
    }
    return is_secret(name, false);
}

/* Does `include` name this file, or one in this folder, letter for letter? */
static bool is_named(const json_t *include, const char *path, bool is_folder)
{
    size_t i, length = strlen(path);
    json_t *one;

    json_array_foreach((json_t *)include, i, one) {
        const char *name = json_string_value(one);

        if (sw_text_starts(name, "./"))
            name += 2;
        if (name && (is_folder ? strncmp(name, path, length) == 0 && name[length] == '/' && name[length + 1]
                               : strcmp(name, path) == 0))
            return true;
    }
    return false;
}

static void note(struct selecting *s, const char *path, const char *what)
{
    s->list->notes = s->list->notes ? s->list->notes : json_array();
    if (json_array_size(s->list->notes) < NOTES_MOST) {
        sw_autofree char *text = sw_format("code: '%s' %s", path, what);

        json_array_append_new(s->list->notes, sw_json_text(text));
    }
}

static bool is_listed(const json_t *patterns, const char *path)
{
    size_t i;
    json_t *one;

    json_array_foreach(patterns, i, one) {
        const char *pattern = json_string_value(one);
        size_t length = pattern ? strlen(pattern) : 0;

        while (length > 1 && pattern[length - 1] == '/')
            length--;
        if (!pattern)
            continue;
        if (sw_text_starts(pattern, "./")) {
            pattern += 2;
            length -= 2;
        }
        /* A folder's name means all in it. */
        if (strncmp(path, pattern, length) == 0 && (path[length] == '/' || !path[length]))
            return true;
        if (sw_name_matches(pattern, path))
            return true;
    }
    return false;
}

/* "pkg/recipes/dino/x.py" of another family than the active one. Files directly in recipes/ are
 * shared by all. */
static bool is_other_recipe(const char *recipe, const char *path, bool is_folder)
{
    const char *at = sw_text_starts(path, "recipes/") ? path : strstr(path, "/recipes/");
    const char *family;
    size_t length;

    if (!recipe || !at)
        return false;
    family = strchr(at + (*at == '/'), '/') + 1;
    length = strcspn(family, "/");
    if (!family[length] && !is_folder)
        return false;
    return strlen(recipe) != length || strncmp(family, recipe, length) != 0;
}

static bool is_left_out(const struct selecting *s, const char *path, const char *name,
                        bool is_folder)
{
    bool named = is_named(s->rules->include, path, is_folder);

    return is_never(name) || (is_folder && strcmp(name, "configs") == 0) ||
           (!named && sw_ignore_matches(s->ignore, path, is_folder)) ||
           is_other_recipe(s->rules->recipe, path, is_folder) ||
           is_listed(s->rules->exclude, path) ||
           (!is_folder && json_array_size(s->rules->include) &&
            !is_listed(s->rules->include, path));
}

/* Credentials stay unless they are asked for by name. */
static bool is_kept_back(struct selecting *s, const char *path, const char *name, bool is_folder)
{
    if (!is_secret(name, is_folder))
        return false;
    if (!is_named(s->rules->include, path, is_folder)) {
        note(s, path, "is left out: it usually contains credentials (use 'secrets:'; code.include sends "
                      "it if it names it)");
        return true;
    }
    if (!is_folder)
        note(s, path, "is sent with the job although it usually contains credentials: code.include names "
                      "it");
    return false;
}

static int add(struct selecting *s, const char *path, const struct stat *info, char *target)
{
    struct sw_bundle_list *list = s->list;

    list->items = sw_realloc_array(list->items, list->count + 1, sizeof *list->items);
    list->items[list->count++] = (struct sw_bundle_file){
        .path = sw_strdup(path), .size = target ? 0 : info->st_size,
        .executable = (info->st_mode & 0111) != 0, .is_private = (info->st_mode & 0077) == 0,
        .target = target };
    list->bytes += target ? 0 : info->st_size;
    if (list->count > FILES_MAX)
        return sw_fail(s->err, SW_E_SPEC, "the code in '%s' has more than %d files", s->rules->root,
                       FILES_MAX);
    return 0;
}

static int add_link(struct selecting *s, const char *path, const struct stat *info)
{
    sw_autofree char *whole = sw_path_join(s->rules->root, path);
    char target[PATH_MAX];
    ssize_t n = readlink(whole, target, sizeof target - 1);

    if (n <= 0)
        return sw_fail_errno(s->err, SW_E_IO, "cannot read the link '%s'", whole);
    target[n] = '\0';
    /* One that leads out of the tree would lead nowhere, there. */
    if (!s->rules->whole && !sw_archive_link_stays_inside(path, target)) {
        s->list->ignored++;
        note(s, path, "is left out: it links to outside the code folder");
        return 0;
    }
    return add(s, path, info, sw_strdup(target));
}

static void read_ignore_file(struct selecting *s, const char *folder)
{
    sw_autofree char *relative = *folder ? sw_format("%s/.gitignore", folder)
                                         : sw_strdup(".gitignore");
    sw_autofree char *path = sw_path_join(s->rules->root, relative);
    size_t length = 0;
    sw_autofree char *text = sw_file_exists(path)
                                 ? sw_file_read(path, IGNORE_FILE_MAX, &length, NULL) : NULL;

    if (text)
        sw_ignore_add(s->ignore, folder, text, length);
}

static int visit(struct selecting *s, const char *folder, int depth);

static int visit_entry(struct selecting *s, const char *path, const char *name, int depth)
{
    sw_autofree char *whole = sw_path_join(s->rules->root, path);
    struct stat info;

    if (lstat(whole, &info) < 0)
        return errno == ENOENT ? 0 : sw_fail_errno(s->err, SW_E_IO, "cannot access '%s'", whole);
    if (!s->rules->whole && (is_left_out(s, path, name, S_ISDIR(info.st_mode)) ||
                             is_kept_back(s, path, name, S_ISDIR(info.st_mode)))) {
        s->list->ignored++;
        return 0;
    }
    if (S_ISDIR(info.st_mode))
        return visit(s, path, depth + 1);
    if (S_ISLNK(info.st_mode))
        return add_link(s, path, &info);
    if (S_ISREG(info.st_mode))
        return add(s, path, &info, NULL);
    s->list->ignored++;
    note(s, path, "is left out: it is not a file, folder or link");
    return 0;
}

static int visit(struct selecting *s, const char *folder, int depth)
{
    sw_autofree char *whole = *folder ? sw_path_join(s->rules->root, folder)
                                      : sw_strdup(s->rules->root);
    DIR *dir = opendir(whole);
    int result = 0;

    if (!dir)
        return sw_fail_errno(s->err, SW_E_NOT_FOUND, "cannot read the code in '%s'", whole);
    if (depth > DEPTH_MAX) {
        closedir(dir);
        return sw_fail(s->err, SW_E_SPEC, "'%s' is nested too deeply", whole);
    }
    read_ignore_file(s, folder);
    for (struct dirent *entry; result == 0 && (entry = readdir(dir));) {
        sw_autofree char *path = *folder ? sw_format("%s/%s", folder, entry->d_name)
                                         : sw_strdup(entry->d_name);

        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = visit_entry(s, path, entry->d_name, depth);
    }
    closedir(dir);
    return result;
}

static int by_path(const void *left, const void *right)
{
    return strcmp(((const struct sw_bundle_file *)left)->path,
                  ((const struct sw_bundle_file *)right)->path);
}

int sw_bundle_select(const struct sw_bundle_rules *rules, struct sw_bundle_list *out,
                     struct sw_error *err)
{
    sw_auto(sw_ignore) struct sw_ignore *ignore = sw_ignore_new();
    struct selecting s = { rules, ignore, out,
                           rules->most_bytes ? rules->most_bytes : USUAL_MOST_BYTES, err };

    if (visit(&s, "", 0) < 0)
        return -1;
    if (out->count > 0)
        qsort(out->items, out->count, sizeof *out->items, by_path);
    if (out->bytes > s.most_bytes) {
        sw_autofree char *what = sw_bundle_describe(out);

        sw_fail(err, SW_E_SPEC, "the code in '%s' is too large to send with the job: %s",
                rules->root, what);
        return sw_hint(err, "leave data out with `code.exclude` or .gitignore, and name it under "
                            "`inputs`");
    }
    return 0;
}

static int largest_first(const void *left, const void *right)
{
    const struct sw_bundle_file *const *a = left, *const *b = right;

    return (*a)->size < (*b)->size ? 1 : (*a)->size > (*b)->size ? -1 : 0;
}

char *sw_bundle_describe(const struct sw_bundle_list *list)
{
    sw_autofree const struct sw_bundle_file **order =
        sw_realloc_array(NULL, list->count + 1, sizeof *order);
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    char size[32];

    for (size_t i = 0; i < list->count; i++)
        order[i] = &list->items[i];
    qsort(order, list->count, sizeof *order, largest_first);
    sw_size_format(list->bytes, size);
    sw_buf_addf(&out, "%zu file%s, %s", list->count, sw_text_plural((double)list->count), size);
    if (list->ignored)
        sw_buf_addf(&out, ", %zu left out", list->ignored);
    for (size_t i = 0; i < list->count && i < LARGE_NAMED && order[i]->size >= LARGE_BYTES; i++) {
        sw_size_format(order[i]->size, size);
        sw_buf_addf(&out, "%s%s (%s)", i ? ", " : "; large: ", order[i]->path, size);
    }
    return sw_buf_steal(&out);
}
