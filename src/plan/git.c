/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git.c - commit and branch from the repository's files, what is not committed from git itself.
 *
 * A repository's own configuration may name programs (filters, monitors, other diffs), and it comes with the
 * folder. So git is shown a repository of ours instead, which is empty, and the other's objects and index
 * by their paths. Submodules have a configuration of their own: git looks at their commit alone.
 */
#include "plan/git.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"
#include "plan/bundle.h"

enum { FILE_MAX = 4096, REFS_MAX = 16 * 1024 * 1024, SHA1_HEX = 40, SHA256_HEX = 64, PATIENCE_MS = 8000,
       PATHS_MAX = 1000, PATHS_BYTES_MAX = 96 * 1024 };

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

struct git_asking {
    const struct git_place *place;
    const char *root;
    char *plain;                     /* our repository */
    int64_t deadline_ms;
};

static void git_asking_auto(struct git_asking *ask)
{
    free(ask->plain);
}

static int write_once(const char *folder, const char *name, const char *text)
{
    sw_autofree char *path = sw_path_join(folder, name);

    return sw_file_exists(path) ? 0 : sw_file_write(path, text, strlen(text), 0600, NULL);
}

/* A repository with nothing in it, for commits of this kind. Each step may be there already: many processes
 * make it at once, and one that dies in the middle leaves the rest to the next. Owned path; NULL: it cannot
 * be made. */
static char *make_plain(const char *state_dir, const char *commit)
{
    bool sha256 = strlen(commit) == SHA256_HEX;
    sw_autofree char *folder = sw_path_join(state_dir, sha256 ? "empty-sha256.git" : "empty.git");
    sw_autofree char *refs = sw_path_join(folder, "refs"), *objects = sw_path_join(folder, "objects");
    const char *config = sha256 ? "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = "
                                  "sha256\n"
                                : "[core]\n\trepositoryformatversion = 0\n";

    if (sw_mkdirs(refs, 0700, NULL) < 0 || sw_mkdirs(objects, 0700, NULL) < 0 ||
        write_once(folder, "config", config) < 0 || write_once(folder, "HEAD", "ref: refs/heads/none\n") < 0)
        return NULL;
    return sw_take(folder);
}

static char *variable(const char *name)
{
    const char *value = getenv(name);

    return sw_format("%s=%s", name, value ? value : "");
}

/* `words` and `paths` end with NULL. -1: git was not asked. */
static int begin(const struct git_asking *ask, const char *const words[], const char *const paths[],
                 struct sw_proc_asking *asking)
{
    sw_autofree char *objects = sw_format("GIT_OBJECT_DIRECTORY=%s/objects", ask->place->shared);
    sw_autofree char *index = sw_format("GIT_INDEX_FILE=%s/index", ask->place->own);
    sw_autofree char *folder = sw_format("--git-dir=%s", ask->plain);
    sw_autofree char *tree = sw_format("--work-tree=%s", ask->root);
    sw_autofree char *path = variable("PATH"), *home = variable("HOME"),
        *config = variable("XDG_CONFIG_HOME");
    const char *const environment[] = {
        path, home, config, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_OPTIONAL_LOCKS=0",
        "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", objects, index, NULL };
    const char *argv[32 + PATHS_MAX] = { "git", "-C", ask->root, folder, tree, "--literal-pathspecs" };
    size_t count = 6;

    for (; *words && count < 32; words++)
        argv[count++] = *words;
    for (; *paths && count + 1 < SW_COUNT(argv); paths++)
        argv[count++] = *paths;
    return sw_proc_ask_begin((char *const *)argv, (char *const *)environment, "", asking, NULL);
}

/* 0: it said all; 1: more than fits; -1: nothing that can be used. */
static int end(const struct git_asking *ask, struct sw_proc_asking *asking, struct sw_buf *out)
{
    int status = sw_proc_ask_end(asking, SW_GIT_DIFF_MAX, ask->deadline_ms, out);

    return status == 0 ? 0 : status < 0 && out->length >= SW_GIT_DIFF_MAX ? 1 : -1;
}

/* What differs from the commit: the names of the files, or the text. */
static int begin_diff(const struct git_asking *ask, const char *commit, bool names,
                      const char *const paths[], struct sw_proc_asking *asking)
{
    const char *const words[] = { "diff", "--no-ext-diff", "--no-textconv", "--no-renames",
                                  "--submodule=short", "--ignore-submodules=dirty",
                                  names ? "--name-only" : "--patch", names ? "-z" : "--no-color", commit,
                                  "--", NULL };

    return begin(ask, words, paths, asking);
}

static int begin_untracked(const struct git_asking *ask, struct sw_proc_asking *asking)
{
    sw_autofree char *own = sw_format("%s/info/exclude", ask->place->shared);
    sw_autofree char *exclude = sw_format("--exclude-from=%s", sw_file_exists(own) ? own : "/dev/null");
    const char *const words[] = { "ls-files", "--others", "--exclude-standard", exclude, "--directory",
                                  "--no-empty-directory", "-z", NULL };

    return begin(ask, words, (const char *const[]){ NULL }, asking);
}

static void cut_after(struct sw_buf *text, char last)
{
    while (text->length > 0 && text->data[text->length - 1] != last)
        text->length--;
    text->data[text->length] = '\0';
}

/* A path also names what is in a folder of that name: is one of these a file of credentials? */
static bool holds_secret(const char *path, const struct sw_buf *names)
{
    size_t length = strlen(path);

    for (size_t at = 0; at < names->length; at += strlen(names->data + at) + 1) {
        const char *other = names->data + at;

        if (strncmp(other, path, length) == 0 && other[length] == '/' && sw_bundle_is_secret(other))
            return true;
    }
    return sw_bundle_is_secret(path);
}

/* The text of what changed in these files, but for those of credentials. 1: not all of it. -1: unknown. */
static int read_changes(const struct git_asking *ask, const char *commit, const struct sw_buf *names,
                        struct sw_buf *out)
{
    const char *paths[PATHS_MAX + 1] = { NULL };
    size_t count = 0, bytes = 0;
    struct sw_proc_asking asking;
    bool cut = false;
    int said;

    for (size_t at = 0; at < names->length && !cut; at += strlen(names->data + at) + 1) {
        const char *path = names->data + at;

        if (holds_secret(path, names))
            continue;
        bytes += strlen(path);
        cut = count == PATHS_MAX || bytes > PATHS_BYTES_MAX;
        if (!cut)
            paths[count++] = path;
    }
    if (count == 0)
        return cut;
    if (begin_diff(ask, commit, false, paths, &asking) < 0)
        return -1;
    said = end(ask, &asking, out);
    if (said > 0)
        cut_after(out, '\n');
    return said < 0 ? -1 : said > 0 || cut;
}

/* The first two questions at once; a clean tree needs no third. */
static void look_at_changes(const struct git_asking *ask, struct sw_git *out)
{
    static const char *const everything[] = { NULL };
    sw_auto(sw_buf) struct sw_buf changed = SW_BUF_INIT, others = SW_BUF_INIT;
    struct sw_proc_asking asking, asking_others;
    int listed, cut, said;

    if (begin_diff(ask, out->commit, true, everything, &asking) < 0)
        return;
    listed = begin_untracked(ask, &asking_others);
    cut = end(ask, &asking, &changed);
    if (listed == 0)
        listed = end(ask, &asking_others, &others);
    if (cut < 0 || listed < 0)
        return;
    if (cut > 0)
        cut_after(&changed, '\0');
    said = read_changes(ask, out->commit, &changed, &out->diff);
    if (said < 0) {
        sw_buf_clear(&out->diff);
        return;
    }
    out->looked = true;
    out->cut = cut > 0 || said > 0;
    for (size_t i = 0; i < others.length; i++)
        out->untracked += others.data[i] == '\0';
}

void sw_git_look(const char *folder, const char *state_dir, struct sw_git *out)
{
    sw_auto(git_place) struct git_place place = { 0 };
    sw_auto(git_asking) struct git_asking ask = { .place = &place,
        .deadline_ms = sw_monotonic_ms() + PATIENCE_MS };

    if (!find_root(folder, &place, &out->root))
        return;
    read_head(&place, out);
    ask.root = out->root;
    ask.plain = out->commit ? make_plain(state_dir, out->commit) : NULL;
    if (ask.plain)
        look_at_changes(&ask, out);
}

void sw_git_copy(const struct sw_git *git, struct sw_git *out)
{
    *out = *git;
    out->root = git->root ? sw_strdup(git->root) : NULL;
    out->branch = git->branch ? sw_strdup(git->branch) : NULL;
    out->commit = git->commit ? sw_strdup(git->commit) : NULL;
    out->diff = (struct sw_buf)SW_BUF_INIT;
    sw_buf_add_bytes(&out->diff, git->diff.data, git->diff.length);
}

void sw_git_done(struct sw_git *git)
{
    free(git->root);
    free(git->branch);
    free(git->commit);
    sw_buf_done(&git->diff);
}
