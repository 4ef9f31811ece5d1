/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack.c - `slipway-runner pack FOLDER [NAME]`: a folder, or one thing in it, as a tar on standard output.
 *
 * For a client that reaches it only through a container, which `slipway-runner wait` keeps, or through a
 * command beside a job (`slipway cp JOB:PATH`).
 *
 * Links stay links, except the one that NAME is, and what is neither file, folder nor link is left out. A
 * file that shrinks meanwhile is filled with zeros, since its size is said first; the exit code is then 1.
 */
#include "runner/runner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "core/archive.h"

enum { PIECE = 65536, CHANGED = 1 };

static bool changed;                         /* a file, while it was read */

static int fail(const char *path)
{
    sw_autofree char *text = sw_format("cannot read '%s': %s", path, strerror(errno));

    runner_complain(text);
    return -1;
}

static int put(struct sw_buf *tar)
{
    int result = sw_write_all(STDOUT_FILENO, tar->data, tar->length);

    sw_buf_clear(tar);
    return result;
}

static int pack_content(int fd, int64_t size)
{
    char bytes[PIECE];

    for (int64_t left = (size + 511) / 512 * 512, real = size; left > 0;) {
        ssize_t n = real > 0 ? read(fd, bytes, real < PIECE ? (size_t)real : PIECE) : 0;

        if (n <= 0) {                        /* the end, or what fills the last block */
            changed |= real > 0;
            n = left < PIECE ? (ssize_t)left : PIECE;
            memset(bytes, 0, (size_t)n);
        }
        if (sw_write_all(STDOUT_FILENO, bytes, (size_t)n) < 0)
            return -1;
        real -= n;
        left -= n;
    }
    return 0;
}

static int pack_file(struct sw_buf *tar, struct sw_archive_member *member, bool named)
{
    sw_autofd int fd = open(member->name, O_RDONLY | (named ? 0 : O_NOFOLLOW) | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return fail(member->name);
    sw_tar_head(tar, member);
    return put(tar) < 0 ? -1 : pack_content(fd, member->size);
}

static int pack_folder(const char *folder);

static int pack_one(const char *name, bool named)
{
    sw_auto(sw_buf) struct sw_buf tar = SW_BUF_INIT;
    struct sw_archive_member member = { .name = name };
    static char target[4096];                /* not on the stack: folders may be deep */
    ssize_t length;
    struct stat info;

    if ((named ? stat(name, &info) : lstat(name, &info)) < 0)
        return named ? fail(name) : 0;       /* gone meanwhile */
    member.mode = info.st_mode & 0777;
    member.mtime_s = info.st_mtime;
    if (S_ISDIR(info.st_mode)) {
        member.kind = SW_ARCHIVE_FOLDER;
        sw_tar_add(&tar, &member, NULL);
        return put(&tar) < 0 ? -1 : pack_folder(name);
    }
    if (S_ISLNK(info.st_mode) && (length = readlink(name, target, sizeof target - 1)) > 0) {
        target[length] = '\0';
        member.kind = SW_ARCHIVE_LINK;
        member.target = target;
        sw_tar_add(&tar, &member, NULL);
    } else if (S_ISREG(info.st_mode)) {
        member.size = info.st_size;
        if (pack_file(&tar, &member, named) < 0)
            return -1;
    }
    return put(&tar);
}

static int pack_folder(const char *folder)
{
    DIR *names = opendir(folder);
    int result = 0;

    if (!names)
        return fail(folder);
    for (const struct dirent *entry; result == 0 && (entry = readdir(names));) {
        sw_autofree char *name = strcmp(folder, ".") == 0 ? sw_strdup(entry->d_name)
                                                          : sw_path_join(folder, entry->d_name);

        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = pack_one(name, false);
    }
    closedir(names);
    return result;
}

int runner_pack(const char *folder, const char *name)
{
    sw_auto(sw_buf) struct sw_buf tar = SW_BUF_INIT;

    sw_tar_end(&tar);
    if (chdir(folder) < 0) {
        fail(folder);
        return RUNNER_IO;
    }
    if ((name ? pack_one(name, true) : pack_folder(".")) < 0 || put(&tar) < 0)
        return RUNNER_IO;
    if (changed)
        runner_complain("a file became shorter while it was read");
    return changed ? CHANGED : 0;
}

int runner_wait(void)
{
    for (;;)
        pause();                             /* the container goes with its pod */
}
