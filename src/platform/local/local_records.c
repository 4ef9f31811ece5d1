/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_records.c - the job folder: where it is, its small JSON records, and its lock.
 *
 * The surprising decision: whether a supervisor lives is asked of a lock, not of a pid. The
 * kernel drops the lock in the instant the process is gone, zombies included, numbers are never
 * confused, and asking (F_OFD_GETLK) takes one system call and no lock.
 */
#include "platform/local/local_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"

char *local_job_folder(const struct sw_connection *conn, const char *id)
{
    return sw_path_join(local_of(conn)->root, id);
}

char *local_attempt_folder(const struct sw_connection *conn, const char *id, int attempt)
{
    return sw_format("%s/%s/attempt-%d", local_of(conn)->root, id, attempt > 0 ? attempt : 1);
}

int local_newest_attempt(const struct sw_connection *conn, const char *id)
{
    sw_autofree char *folder = local_job_folder(conn, id);
    DIR *entries = opendir(folder);
    int newest = 0;

    if (!entries)
        return 0;
    for (struct dirent *entry; (entry = readdir(entries));) {
        int number = 0;

        if (sscanf(entry->d_name, "attempt-%9d", &number) == 1 && number > newest)
            newest = number;
    }
    closedir(entries);
    return newest;
}

json_t *local_record_read(const char *folder, const char *name)
{
    sw_autofree char *path = sw_path_join(folder, name);
    size_t length = 0;
    sw_autofree char *text = sw_file_read(path, LOCAL_RECORD_MAX, &length, NULL);
    sw_auto(json) json_t *record = NULL;

    if (!text)
        return NULL;
    record = sw_json_parse(text, length, path, NULL);
    return json_is_object(record) ? sw_take(record) : NULL;
}

int local_record_write(const char *folder, const char *name, const json_t *record,
                       struct sw_error *err)
{
    sw_autofree char *path = sw_path_join(folder, name);
    sw_autofree char *beside = sw_format("%s.XXXXXX", path);
    sw_autofree char *text = sw_json_dump_pretty(record);
    sw_autofd int fd = mkostemp(beside, O_CLOEXEC);

    if (fd < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot write '%s'", path);
    if (sw_write_all(fd, text, strlen(text)) < 0 || rename(beside, path) < 0) {
        sw_fail_errno(err, SW_E_IO, "cannot write '%s'", path);
        unlink(beside);
        return -1;
    }
    return 0;
}

int local_record_keep(const char *folder, const char *name, const json_t *record,
                      struct sw_error *err)
{
    sw_autofree char *path = sw_path_join(folder, name);
    sw_autofree char *text = sw_json_dump_pretty(record);

    return sw_file_write(path, text, strlen(text), 0600, err);
}

bool local_has(const char *folder, const char *name)
{
    sw_autofree char *path = sw_path_join(folder, name);

    return sw_file_exists(path);
}

bool local_has_begun(const char *folder)
{
    return local_has(folder, LOCAL_SUPERVISOR) || local_has(folder, LOCAL_EXIT);
}

const json_t *local_next(const json_t *over)
{
    const json_t *retry = json_object_get(over, "retry");

    return sw_json_bool(retry, "again", false) ? retry : NULL;
}

static bool goes_on(const char *folder)
{
    sw_auto(json) json_t *over = local_record_read(folder, LOCAL_EXIT);

    return local_next(over) != NULL;
}

char *local_next_folder(const char *folder)
{
    const char *number = strrchr(folder, '-') + 1;

    return sw_format("%.*s%d", (int)(number - folder), folder, atoi(number) + 1);
}

bool local_pauses(const char *folder)
{
    sw_autofree char *next = local_next_folder(folder);

    return goes_on(folder) && !local_has_begun(next);
}

bool local_is_attended(const char *folder)
{
    return local_lock_held(folder) && (!local_has(folder, LOCAL_EXIT) || local_pauses(folder));
}

int local_attempt_now(const struct sw_connection *conn, const char *id, int attempt)
{
    sw_autofree char *folder = local_attempt_folder(conn, id, attempt);
    sw_autofree char *before = attempt > 1 ? local_attempt_folder(conn, id, attempt - 1) : NULL;

    if (before && !local_has_begun(folder) && goes_on(before))
        return attempt - 1;
    for (attempt = attempt > 0 ? attempt : 1; goes_on(folder); attempt++) {
        sw_autofree char *next = local_attempt_folder(conn, id, attempt + 1);

        if (!local_has_begun(next))
            break;
        free(folder);
        folder = sw_take(next);
    }
    return attempt;
}

int local_flag(const char *folder, const char *name, struct sw_error *err)
{
    sw_autofree char *path = sw_path_join(folder, name);
    sw_autofd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    return fd >= 0 ? 0 : sw_fail_errno(err, SW_E_IO, "cannot write '%s'", path);
}

static struct flock whole_file(void)
{
    return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
}

int local_lock_take(const char *folder)
{
    sw_autofree char *path = sw_path_join(folder, LOCAL_LOCK);
    sw_autofd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct flock lock = whole_file();

    if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) < 0)
        return -1;
    return sw_take_fd(fd);
}

bool local_lock_held(const char *folder)
{
    sw_autofree char *path = sw_path_join(folder, LOCAL_LOCK);
    sw_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct flock lock = whole_file();

    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void local_host_name(char out[128])
{
    if (gethostname(out, 128) < 0)
        snprintf(out, 128, "localhost");
    out[127] = '\0';
}

/* The line "0::/path" of /proc/PID/cgroup. */
char *local_cgroup_of(pid_t pid)
{
    sw_autofree char *path = sw_format("/proc/%d/cgroup", (int)pid);
    sw_autofree char *text = sw_file_read(path, 65536, NULL, NULL);
    char *line = !text ? NULL : sw_text_starts(text, "0::") ? text : strstr(text, "\n0::");

    if (!line)
        return NULL;
    line = strstr(line, "0::") + 3;
    line[strcspn(line, "\n")] = '\0';
    return sw_strdup(line);
}

int local_secrets_file(const struct sw_secrets *secrets)
{
    sw_autofd int fd = memfd_create("slipway-secrets", MFD_CLOEXEC);

    if (fd < 0 || sw_secrets_send(secrets, fd) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return -1;
    return sw_take_fd(fd);
}
