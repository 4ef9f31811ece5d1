/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git.c - commit and branch from the repository's files, what is not committed from git itself.
 *
 * A repository's own configuration may name programs (filters, monitors, other diffs), and it comes with the
 * folder. So git is shown a folder of ours instead, with the commit and nothing else in it, and the
 * repository's objects and index by their paths.
 */
#include "plan/git.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"

enum { FILE_MAX = 4096, REFS_MAX = 16 * 1024 * 1024, SHA1_HEX = 40, SHA256_HEX = 64, PATIENCE_MS = 5000 };

struct git_place {
    char *own, *shared;              /* .git of this work tree, and of all of them */
};

static void git_place_auto(struct git_place *place)
{
    free(place->own);
    free(place->shared);
}

/* The first line of a file, owned; NULL: there is none. */
static char *line_of(const char *folder, const char *name)
{
    sw_autofree char *path = sw_path_join(folder, name);
    char *text = sw_file_read_plain(path, FILE_MAX, NULL, NULL);

    if (text)
        text[strcspn(text, "\r\n")] = '\0';
    return text;
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* `.git` is a folder, or a file that names it: a work tree, a submodule. */
static char *git_folder(const char *root)
{
    static const char begins[] = "gitdir: ";
    sw_autofree char *path = sw_path_join(root, ".git"), *line = NULL;

    if (is_folder(path))
        return sw_take(path);
    line = line_of(root, ".git");
    return line && sw_text_starts(line, begins) ? sw_path_absolute(line + strlen(begins), root) : NULL;
}

static bool find_root(const char *folder, struct git_place *place, char **root)
{
    sw_autofree char *at = realpath(folder, NULL), *shared = NULL;

    while (at && !(place->own = git_folder(at))) {
        char *slash = strrchr(at, '/');

        if (!slash || !at[1])
            return false;
        slash[slash == at] = '\0';
    }
    if (!at)
        return false;
    shared = line_of(place->own, "commondir");
    place->shared = shared ? sw_path_absolute(shared, place->own) : sw_strdup(place->own);
    *root = sw_take(at);
    return true;
}

/* ---- the commit ------------------------------------------------------------------------------- */

static bool is_commit(const char *text)
{
    size_t length = text ? strspn(text, "0123456789abcdef") : 0;

    return (length == SHA1_HEX || length == SHA256_HEX) && !text[length];
}

/* Of "COMMIT NAME" lines that of this name, owned. */
static char *packed_commit(const struct git_place *place, const char *name)
{
    sw_autofree char *path = sw_path_join(place->shared, "packed-refs");
    sw_autofree char *text = sw_file_read_plain(path, REFS_MAX, NULL, NULL);

    for (char *line = text; line && *line;) {
        size_t length = strcspn(line, "\n");
        char *next = line[length] ? line + length + 1 : line + length, *blank;

        line[length] = '\0';
        blank = strchr(line, ' ');
        if (blank && strcmp(blank + 1, name) == 0) {
            *blank = '\0';
            return is_commit(line) ? sw_strdup(line) : NULL;
        }
        line = next;
    }
    return NULL;
}

static void read_head(const struct git_place *place, struct sw_git *out)
{
    static const char begins[] = "ref: ", heads[] = "refs/heads/";
    sw_autofree char *head = line_of(place->own, "HEAD"), *commit = NULL;
    const char *name = head && sw_text_starts(head, begins) ? head + strlen(begins) : NULL;

    if (name && (!sw_text_starts(name, "refs/") || strstr(name, "..")))
        return;
    if (name)
        out->branch = sw_strdup(sw_text_starts(name, heads) ? name + strlen(heads) : name);
    commit = name ? line_of(place->shared, name) : sw_strdup(head);
    if (name && !is_commit(commit)) {
        free(commit);
        commit = packed_commit(place, name);
    }
    if (is_commit(commit))
        out->commit = sw_take(commit);
}

/* ---- what is not committed -------------------------------------------------------------------- */

/* A repository without a configuration: HEAD is the commit. Owned path; NULL: it cannot be made. */
static char *make_plain(const char *commit)
{
    const char *base = getenv("TMPDIR");
    sw_autofree char *folder = sw_format("%s/slipway-git-XXXXXX", sw_text_empty(base) ? "/tmp" : base);
    sw_autofree char *refs = NULL, *objects = NULL, *head = NULL, *config = NULL;
    sw_autofree char *text = sw_format("%s\n", commit);
    const char *format = strlen(commit) == SHA256_HEX
        ? "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
        : "[core]\n\trepositoryformatversion = 0\n";

    if (!mkdtemp(folder))
        return NULL;
    refs = sw_path_join(folder, "refs");
    objects = sw_path_join(folder, "objects");
    head = sw_path_join(folder, "HEAD");
    config = sw_path_join(folder, "config");
    if (mkdir(refs, 0700) == 0 && mkdir(objects, 0700) == 0 &&
        sw_file_write(head, text, strlen(text), 0600, NULL) == 0 &&
        sw_file_write(config, format, strlen(format), 0600, NULL) == 0)
        return sw_take(folder);
    sw_remove_tree(folder, NULL);
    return NULL;
}

/* 0: it said all; 1: more than fits; -1: nothing that can be used. */
static int ask_git(const struct git_place *place, const char *plain, const char *root,
                   const char *const words[], struct sw_buf *out)
{
    sw_autofree char *objects = sw_format("GIT_OBJECT_DIRECTORY=%s/objects", place->shared);
    sw_autofree char *index = sw_format("GIT_INDEX_FILE=%s/index", place->own);
    sw_autofree char *folder = sw_format("--git-dir=%s", plain), *tree = sw_format("--work-tree=%s", root);
    const char *argv[40] = {
        "env", "-C", root, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
        "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", objects, index, "git", folder, tree };
    size_t count = 13;
    int status = -1;

    for (; *words && count + 1 < SW_COUNT(argv); words++)
        argv[count++] = *words;
    if (sw_proc_ask_within((char *const *)argv, "", SW_GIT_DIFF_MAX, PATIENCE_MS, out, &status, NULL) < 0)
        return -1;
    return status == 0 ? 0 : status < 0 && out->length >= SW_GIT_DIFF_MAX ? 1 : -1;
}

static void look_at_changes(const struct git_place *place, const char *plain, struct sw_git *out)
{
    static const char *const diff[] = {
        "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--submodule=short", "HEAD", "--", ":/",
        ":(exclude,glob)**/.env*", ":(exclude,glob)**/*.pem", ":(exclude,glob)**/*.key",
        ":(exclude,glob)**/id_*", ":(exclude,glob)**/*credential*", ":(exclude,glob)**/.netrc", NULL };
    static const char *const others[] = { "ls-files", "--others", "--exclude-standard", "--directory",
                                          "--no-empty-directory", "-z", NULL };
    sw_auto(sw_buf) struct sw_buf names = SW_BUF_INIT;
    int changes = ask_git(place, plain, out->root, diff, &out->diff);

    if (changes < 0 || ask_git(place, plain, out->root, others, &names) < 0)
        return;
    out->looked = true;
    out->cut = changes > 0;
    for (size_t i = 0; i < names.length; i++)
        out->untracked += names.data[i] == '\0';
}

void sw_git_look(const char *folder, struct sw_git *out)
{
    sw_auto(git_place) struct git_place place = { 0 };
    sw_autofree char *plain = NULL;

    if (!find_root(folder, &place, &out->root))
        return;
    read_head(&place, out);
    plain = out->commit ? make_plain(out->commit) : NULL;
    if (!plain)
        return;
    look_at_changes(&place, plain, out);
    sw_remove_tree(plain, NULL);
}

void sw_git_done(struct sw_git *git)
{
    free(git->root);
    free(git->branch);
    free(git->commit);
    sw_buf_done(&git->diff);
}
