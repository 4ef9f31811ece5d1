/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mounts.c - the shell texts about mounts, and running them on this machine.
 *
 * The client clones with the very text that a cluster's login node runs (mounts.sh): one way to
 * resolve a ref, one way to be alone, one set of tests.
 */
#include "plan/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/text.h"

enum { SAID_MAX = 64 * 1024 };

static const char *const once[] = {
#include "plan/once.sh.inc"
    NULL
};
static const char *const mounts[] = {
#include "plan/mounts.sh.inc"
    NULL
};

static void add_lines(struct sw_buf *out, const char *const *lines)
{
    for (; *lines; lines++)
        sw_buf_add(out, *lines);
}

void sw_text_once(struct sw_buf *out)
{
    add_lines(out, once);
}

void sw_text_mounts(struct sw_buf *out)
{
    add_lines(out, mounts);
}

char *sw_mount_clone_name(const struct sw_mount *mount)
{
    const char *slash = strrchr(mount->source, '/');
    const char *base = slash && slash[1] ? slash + 1 : "repository";
    size_t length = strlen(base);
    char hash[SW_DIGEST_HEX];

    sw_sha256_hex(mount->source, strlen(mount->source), hash);
    if (sw_text_ends(base, ".git") && length > 4)
        length -= 4;
    return sw_format("%.*s-%.8s", (int)(length < 64 ? length : 64), base, hash);
}

char *sw_mount_own(const struct sw_mount *mount, const char *folder)
{
    sw_autofree char *name = sw_mount_clone_name(mount);
    char hash[SW_DIGEST_HEX];

    if (!folder || !sw_mount_is_writable(mount))
        return NULL;
    sw_sha256_hex(mount->target, strlen(mount->target), hash);
    return sw_format("%s/%s-%.8s", folder, name, hash);
}

static char *clone_script(const struct sw_mount *mount, const char *cache, const char *own)
{
    sw_autofree char *name = sw_mount_clone_name(mount);
    const char *words[] = { mount->source, mount->ref,
                            sw_mount_is_commit(mount) ? mount->ref : "", name, mount->target, "",
                            own ? own : "" };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    sw_buf_add(&out, "SW_LEASE=60 SW_BEAT=10 SW_PATIENCE=900 SW_STEP=1 SW_GIT_LIMIT=600 SW_MOUNTS=\n"
                     "SW_GIT_CACHE=");
    sw_buf_add_quoted(&out, cache);
    sw_buf_add_char(&out, '\n');
    sw_text_once(&out);
    sw_text_mounts(&out);
    sw_buf_add(&out, "sw_mount_git");
    for (size_t i = 0; i < SW_COUNT(words); i++) {
        sw_buf_add_char(&out, ' ');
        sw_buf_add_quoted(&out, words[i]);
    }
    sw_buf_add_char(&out, '\n');
    return sw_buf_steal(&out);
}

/* What `sh -c text` says, both streams, at most SAID_MAX of it; its exit code, or -1. */
static int run(const char *text, struct sw_buf *said, struct sw_error *err)
{
    int ends[2], status;
    ssize_t got;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot start a process");
    pid = fork();
    if (pid == 0) {
        dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        execl("/bin/sh", "sh", "-c", text, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    while (pid > 0 && ((got = read(ends[0], sw_buf_reserve(said, 4096), 4096)) > 0 ||
                       (got < 0 && errno == EINTR)))
        if (got > 0 && said->length < SAID_MAX)
            said->data[said->length += (size_t)got] = '\0';
    close(ends[0]);
    if (pid < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot start a process");
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

char *sw_mount_clone(const struct sw_mount *mount, const char *cache, const char *folder,
                     struct sw_error *err)
{
    sw_autofree char *own = sw_mount_own(mount, folder);
    sw_autofree char *text = clone_script(mount, cache, own);
    sw_auto(sw_buf) struct sw_buf said = SW_BUF_INIT;
    int code = run(text, &said, err);
    const char *line, *path;

    if (code < 0)
        return NULL;
    line = strstr(sw_buf_text(&said), "mount ");
    path = code == 0 && line ? strstr(line, own ? own : cache) : NULL;
    if (!path) {
        sw_fail(err, SW_E_SPEC, "cannot prepare a mount: %.400s", sw_buf_text(&said));
        return sw_null(sw_hint(err,
                               "check address and ref; `git ls-remote %.150s` shows what git says",
                               mount->source));
    }
    return sw_strndup(path, strcspn(path, "\n"));
}
