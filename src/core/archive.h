/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive.h - tar archives: written by us, read from anyone, unpacked below one folder and nowhere else.
 *
 *     archive_tar.c     bytes to members        (pure: reads a stream, calls a visitor)
 *     archive_place.c   members to files below one folder
 *     archive_put.c     a stream to one file or folder, whole or not at all
 *     archive_write.c   members to bytes        (pure)
 *
 * Whatever an archive holds, nothing is written outside of its folder: names are checked, folders are
 * entered without following links, links may only point inside.
 */
#ifndef SW_CORE_ARCHIVE_H
#define SW_CORE_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

/* ---- members ------------------------------------------------------------------------------- */

enum sw_archive_kind {
    SW_ARCHIVE_FILE, SW_ARCHIVE_FOLDER, SW_ARCHIVE_LINK, SW_ARCHIVE_HARD_LINK, SW_ARCHIVE_OTHER,
};

struct sw_archive_member {
    const char *name;               /* as the archive has it: not yet checked */
    enum sw_archive_kind kind;
    const char *target;             /* of links */
    mode_t mode;
    int64_t size;
    int64_t mtime_s;
    int64_t uid, gid;               /* written; not read */
};

/* Called in order: member(), then data() as often as needed, then end(). Non-zero stops with err
 * filled in by the visitor. */
struct sw_archive_visitor {
    int (*member)(void *context, const struct sw_archive_member *member, struct sw_error *err);
    int (*data)(void *context, const void *bytes, size_t length, struct sw_error *err);
    int (*end)(void *context, struct sw_error *err);
    void *context;
};

/* ---- streams ------------------------------------------------------------------------------- */

/* Bytes one after another: count, 0 at the end, -1 with err. */
struct sw_archive_stream {
    ssize_t (*read)(struct sw_archive_stream *stream, void *bytes, size_t length,
                    struct sw_error *err);
    void (*close)(struct sw_archive_stream *stream);
};
void sw_archive_stream_close(struct sw_archive_stream *stream);
SW_DEFINE_AUTO(sw_archive_stream, struct sw_archive_stream *, sw_archive_stream_close)

int sw_archive_read_tar(struct sw_archive_stream *stream, const struct sw_archive_visitor *visitor,
                     struct sw_error *err);

/* The content of the first regular file in a small archive; owned, NUL-terminated. NULL: it has none, or is
 * damaged. */
char *sw_tar_first_file(const void *tar, size_t length, size_t *size);

/* ---- writing ------------------------------------------------------------------------------- */

/* Append a member: a file of `size` bytes, a folder, a link. The same members give the same bytes. The
 * archive may hold secrets: it grows without leaving a copy behind (sw_buf_reserve_wiping). */
void sw_tar_add(struct sw_buf *tar, const struct sw_archive_member *member, const void *bytes);
/* The same in steps: the caller appends exactly `size` bytes after begin, then pads. */
void sw_tar_begin(struct sw_buf *tar, const struct sw_archive_member *member);
void sw_tar_pad(struct sw_buf *tar);
/* Only what comes before the bytes, for a file that is too large for memory. */
void sw_tar_head(struct sw_buf *tar, const struct sw_archive_member *member);
void sw_tar_end(struct sw_buf *tar);

/* ---- below one folder ---------------------------------------------------------------------- */

struct sw_archive_place;
struct sw_archive_place *sw_archive_place_open(const char *folder,
                                         void (*warn)(void *context, const char *text),
                                         void *warn_context, struct sw_error *err);
void sw_archive_place_close(struct sw_archive_place *place);
SW_DEFINE_AUTO(sw_archive_place, struct sw_archive_place *, sw_archive_place_close)
struct sw_archive_visitor sw_archive_place_visitor(struct sw_archive_place *place);

/* Who follows an archive that is unpacked; each may be NULL. `part`: a member, or bytes of one (NULL); -1
 * stops. */
struct sw_archive_watch {
    int (*part)(void *context, const struct sw_archive_member *member, size_t length, struct sw_error *err);
    void *context;
    void (*warn)(void *context, const char *text);
    void *warn_context;
};
/* What an archive has as `root` becomes `to`, or `name` in the folder `to`. It is unpacked beside its place
 * and renamed when it is whole; a folder is added to one that is there. *made (or NULL): where it is, owned.
 * The stream is read to its end. */
int sw_archive_put(struct sw_archive_stream *stream, const char *root, const char *name, const char *to,
                   const struct sw_archive_watch *watch, char **made, struct sw_error *err);

/* "a/./b//c" -> "a/b/c", owned; NULL: it leads out ("..", absolute) or is too long. "." and ""
 * give "". Pure. */
char *sw_archive_name(const char *name);
/* May a link in the folder of `name` point there? Pure. */
bool sw_archive_link_stays_inside(const char *name, const char *target);

#endif
