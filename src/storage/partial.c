/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partial.c - see partial.h. The hidden names are made from a hash of the last part of the path, since
 * that part may already be as long as a file system allows.
 */
#include "storage/partial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "base/proc.h"
#include "base/text.h"
#include "storage/uri.h"

#define STATE_MAX (1024 * 1024)
#define UNITS_MAX 1000000

static char *hidden(const char *path, const char *ending)
{
    const char *last = sw_uri_last(path);
    char hash[SW_DIGEST_HEX];

    sw_sha256_hex(last, strlen(last), hash);
    return sw_format("%.*s" PARTIAL_PREFIX "%.16s%s", (int)(last - path), path, hash, ending);
}

int partial_parents(const char *path, struct sw_error *err)
{
    const char *last = sw_uri_last(path);
    sw_autofree char *folder = last > path + 1 ? sw_strndup(path, (size_t)(last - path) - 1) : NULL;

    return folder ? sw_mkdirs(folder, 0777, err) : 0;
}

/* Opened, and once more with the folders above when they are what is missing. musl's open() sets
 * O_CLOEXEC by a second call, for kernels of long ago; its openat() does not. */
static int open_here(const char *path, int flags, struct sw_error *err)
{
    int fd = openat(AT_FDCWD, path, flags | O_CLOEXEC, 0666);

    if (fd < 0 && errno == ENOENT && partial_parents(path, err) == 0)
        fd = openat(AT_FDCWD, path, flags | O_CLOEXEC, 0666);
    return fd;
}

int partial_link(int folder, const char *name, const char *target, struct sw_error *err)
{
    sw_autofree char *beside = hidden(name, ".link");

    if (unlinkat(folder, beside, 0) < 0 && errno != ENOENT)
        return sw_fail_errno(err, SW_E_IO, "cannot create the link '%s'", name);
    if (symlinkat(target, folder, beside) < 0 || renameat(folder, beside, folder, name) < 0) {
        sw_fail_errno(err, SW_E_IO, "cannot create the link '%s'", name);
        unlinkat(folder, beside, 0);
        return -1;
    }
    return 0;
}

/* ---- the lock ---------------------------------------------------------------------------------- */

/* Locked, and still the file of that name: another copy may have renamed it just now. */
static bool is_ours(struct partial *partial)
{
    struct stat opened, named;

    if (flock(partial->fd, LOCK_EX | LOCK_NB) < 0 || fstat(partial->fd, &opened) < 0)
        return false;
    partial->empty = opened.st_size == 0;
    return stat(partial->part, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

static int open_part(struct partial *partial, struct sw_error *err)
{
    sw_autofree char *own = NULL;

    partial->part = hidden(partial->path, ".part");
    partial->state = partial->unit_count > 1 ? hidden(partial->path, ".state") : NULL;
    partial->fd = open_here(partial->part, O_RDWR | O_CREAT | O_NOFOLLOW, err);
    if (partial->fd >= 0 && is_ours(partial))
        return 0;
    if (partial->fd >= 0)
        close(partial->fd);
    free(partial->part);
    free(sw_take(partial->state));
    own = sw_format("-%d-%p", (int)getpid(), (void *)partial);
    partial->part = hidden(partial->path, own);
    partial->fd = open_here(partial->part, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, err);
    if (partial->fd < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot write '%s'", partial->path);
    partial->empty = true;
    return 0;
}

/* ---- the state ---------------------------------------------------------------------------------- */

static char *boot_id(void)
{
    struct sw_proc self;

    return sw_proc_self(&self) == 0 ? sw_strdup(self.boot_id) : sw_strdup("");
}

static bool state_fits(const struct partial *partial, const json_t *state, const char *version)
{
    sw_autofree char *boot = boot_id();
    const char *have = sw_json_str(state, "have");

    return *boot && sw_text_same(sw_json_str(state, "boot"), boot) &&
           sw_text_same(sw_json_str(state, "version"), version) &&
           sw_json_int(state, "size", -2) == partial->size &&
           sw_json_int(state, "unit", 0) == partial->unit && have &&
           strlen(have) == partial->unit_count;
}

/* What an earlier copy left: true when it can be used. */
static bool read_state(struct partial *partial, const char *version)
{
    size_t length;
    sw_autofree char *text = partial->state ? sw_file_read(partial->state, STATE_MAX, &length, NULL)
                                            : NULL;
    sw_auto(json) json_t *state = text ? sw_json_parse(text, length, "state", NULL) : NULL;
    const char *have;

    if (!state || sw_text_empty(version) || !state_fits(partial, state, version))
        return false;
    have = sw_json_str(state, "have");
    for (size_t i = 0; i < partial->unit_count; i++)
        if (have[i] == '1')
            partial->have[i / 8] |= (unsigned char)(1u << i % 8);
    return true;
}

static void write_state(const struct partial *partial, const char *version)
{
    sw_autofree char *boot = boot_id();
    sw_autofree char *have = sw_alloc(partial->unit_count + 1);
    sw_autofree char *fresh = sw_format("%s.new", partial->state);
    sw_autofree char *text = NULL;
    sw_auto(json) json_t *state = NULL;
    int fd;

    for (size_t i = 0; i < partial->unit_count; i++)
        have[i] = partial_has(partial, i) ? '1' : '0';
    state = sw_json_object(SW_STR("boot", boot), SW_STR("version", version),
                           SW_INT("size", partial->size), SW_INT("unit", partial->unit),
                           SW_STR("have", have));
    text = sw_json_dump(state);
    fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return;                        /* the copy goes on; only going on later is lost */
    if (sw_write_all(fd, text, strlen(text)) == 0)
        rename(fresh, partial->state);
    close(fd);
}

bool partial_has(const struct partial *partial, size_t unit)
{
    return partial->have[unit / 8] >> unit % 8 & 1;
}

void partial_got(struct partial *partial, size_t unit, const char *version)
{
    partial->have[unit / 8] |= (unsigned char)(1u << unit % 8);
    if (partial->state && !sw_text_empty(version))
        write_state(partial, version);
}

/* ---- life ---------------------------------------------------------------------------------------- */

static int set_length(struct partial *partial, struct sw_error *err)
{
    int result;

    if (partial->size <= 0)
        return ftruncate(partial->fd, 0);
    /* Room is asked for first: a full disk is better found out now than at the end. */
    result = posix_fallocate(partial->fd, 0, partial->size);
    if (result == ENOSPC || result == EDQUOT || result == EFBIG) {
        errno = result;
        return sw_fail_errno(err, SW_E_IO, "no space for '%s'", partial->path);
    }
    return result && ftruncate(partial->fd, partial->size) < 0
               ? sw_fail_errno(err, SW_E_IO, "cannot write '%s'", partial->path)
               : 0;
}

int partial_open(struct partial *partial, const char *path, const char *version, int64_t size,
                 int64_t unit, struct sw_error *err)
{
    *partial = (struct partial)PARTIAL_INIT;
    partial->path = sw_strdup(path);
    partial->size = size;
    partial->unit = unit;
    partial->unit_count = size > unit ? (size_t)((size - 1) / unit + 1) : 1;
    if (partial->unit_count > UNITS_MAX)
        return sw_fail(err, SW_E_REFUSED, "'%s' would be too large", path);
    partial->have = sw_alloc(partial->unit_count / 8 + 1);
    if (open_part(partial, err) < 0)
        return -1;
    if (read_state(partial, version))
        return 0;
    if (ftruncate(partial->fd, 0) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot write '%s'", path);
    return set_length(partial, err);
}

static void set_mtime(int fd, int64_t mtime_ms)
{
    struct timespec times[2] = {
        { .tv_nsec = UTIME_OMIT },
        { .tv_sec = (time_t)(mtime_ms / 1000), .tv_nsec = (long)(mtime_ms % 1000) * 1000000 },
    };

    if (mtime_ms > 0)
        (void)!futimens(fd, times);       /* best effort: FAT, some network mounts */
}

int partial_land(struct partial *partial, int64_t mtime_ms, bool flush, struct sw_error *err)
{
    set_mtime(partial->fd, mtime_ms);
    if (flush && fsync(partial->fd) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot write '%s'", partial->path);
    if (rename(partial->part, partial->path) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot rename to '%s'", partial->path);
    if (partial->state)
        unlink(partial->state);
    free(sw_take(partial->part));
    return 0;
}

void partial_done(struct partial *partial, bool keep)
{
    if (partial->part && (!keep || !partial->state)) {
        if (partial->state)
            unlink(partial->state);
        unlink(partial->part);
    }
    if (partial->fd >= 0)
        close(partial->fd);
    free(partial->path);
    free(partial->part);
    free(partial->state);
    free(partial->have);
    *partial = (struct partial)PARTIAL_INIT;
}

/* Under the name that the next copy of this file takes over: a killed one leaves nothing for good. */
int partial_write(const char *path, const void *bytes, size_t length, int64_t mtime_ms, bool flush,
                  struct sw_error *err)
{
    struct partial whole = PARTIAL_INIT;
    int result = -1;

    whole.path = sw_strdup(path);
    whole.unit_count = 1;
    if (open_part(&whole, err) == 0) {
        if ((!whole.empty && ftruncate(whole.fd, 0) < 0) || sw_write_all(whole.fd, bytes, length) < 0)
            sw_fail_errno(err, SW_E_IO, "cannot write '%s'", path);
        else
            result = partial_land(&whole, mtime_ms, flush, err);
    }
    partial_done(&whole, false);
    return result;
}
