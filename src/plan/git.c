/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git.c - commit and branch from the repository's files, what is not committed from git itself.
 *
 * A repository's own configuration may name programs (filters, monitors, other diffs), and it comes with the
 * folder. So git is shown a repository of ours instead, which is empty, and the other's objects and index
 * by their
 * paths. Submodules have a configuration of their own: git looks at their commit alone.
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

enum { FILE_MAX = 4096, REFS_MAX = 16 * 1024 * 1024, SHA1_HEX = 40, SHA256_HEX = 64, PATIENCE_MS = 8000 };

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

/* A repository with nothing in it, for commits of this kind. Each step may be there already: many
 * processes make it
 * at once, and one that dies in the middle leaves the rest to the next. Owned path; NULL: it cannot be
 * made. */
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

/* 0: it said all; 1: more than fits; -1: nothing that can be used. `words` ends with NULL. */
static int ask_git(const struct git_asking *ask, const char *const words[], struct sw_buf *out)
{
    sw_autofree char *objects = sw_format("GIT_OBJECT_DIRECTORY=%s/objects", ask->place->shared);
    sw_autofree char *index = sw_format("GIT_INDEX_FILE=%s/index", ask->place->own);
    sw_autofree char *folder = sw_format("--git-dir=%s", ask->plain);
    sw_autofree char *tree = sw_format("--work-tree=%s", ask->root);
    sw_autofree char *path = variable("PATH"), *home = variable("HOME"),
        *config = variable("XDG_CONFIG_HOME");
    const char *argv[96] = {
        "env", "-i", path, home, config, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
        "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", objects, index, "git", "-C",
            ask->root, folder, tree };
    size_t count = 17;
    int64_t left_ms = ask->deadline_ms - sw_monotonic_ms();
    int status = -1;

    for (; *words && count + 1 < SW_COUNT(argv); words++)
        argv[count++] = *words;
    if (*words || left_ms <= 0 ||
        sw_proc_ask_within((char *const *)argv, "", SW_GIT_DIFF_MAX, left_ms, out, &status, NULL) < 0)
        return -1;
    return status == 0 ? 0 : status < 0 && out->length >= SW_GIT_DIFF_MAX ? 1 : -1;
}

static int ask_diff(const struct git_asking *ask, const char *commit, struct sw_buf *out)
{
    const char *words[64] = { "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames",
                              "--submodule=short", "--ignore-submodules=dirty", commit, "--", ":/" };
    char *left_out[64] = { NULL };
    size_t first = 10, count = 0;
    int said;

    for (; sw_credential_names[count] && first + count + 1 < SW_COUNT(words); count++)
        words[first + count] = left_out[count] =
            sw_format(":(exclude,glob,icase)**/%s%s", sw_credential_names[count],
                      sw_text_ends(sw_credential_names[count], "/") ? "**" : "");
    said = sw_credential_names[count] ? -1 : ask_git(ask, words, out);
    for (size_t i = 0; i < count; i++)
        free(left_out[i]);
    return said;
}

static int ask_untracked(const struct git_asking *ask, struct sw_buf *out)
{
    sw_autofree char *own = sw_format("%s/info/exclude", ask->place->shared);
    sw_autofree char *exclude = sw_format("--exclude-from=%s", sw_file_exists(own) ? own : "/dev/null");
    const char *const words[] = { "ls-files", "--others", "--exclude-standard", exclude, "--directory",
                                  "--no-empty-directory", "-z", NULL };

    return ask_git(ask, words, out);
}

static void cut_at_line(struct sw_buf *diff)
{
    while (diff->length > 0 && diff->data[diff->length - 1] != '\n')
        diff->length--;
    diff->data[diff->length] = '\0';
}

static void look_at_changes(const struct git_asking *ask, struct sw_git *out)
{
    sw_auto(sw_buf) struct sw_buf names = SW_BUF_INIT;
    int changes = ask_diff(ask, out->commit, &out->diff);

    if (changes < 0 || ask_untracked(ask, &names) < 0) {
        sw_buf_clear(&out->diff);
        return;
    }
    out->looked = true;
    out->cut = changes > 0;
    if (out->cut)
        cut_at_line(&out->diff);
    for (size_t i = 0; i < names.length; i++)
        out->untracked += names.data[i] == '\0';
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
