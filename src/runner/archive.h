/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive.h - inputs that come as archives: which are some, and unpacking them safely.
 *
 *     archive_codec.c   compressed bytes to bytes: gzip here, others by library or program
 *     archive_tar.c     bytes to members        (pure: reads a stream, calls a visitor)
 *     archive_zip.c     a zip file to members   (the same visitor)
 *     archive_place.c   members to files below one folder, and nowhere else
 *     archive.c         the order of things: marker, unpack beside, put in place
 *
 * An archive comes from somebody else. Whatever it holds, nothing is written outside of its folder:
 * names are checked, folders are entered without following links, links may only point inside.
 */
#ifndef SW_RUNNER_ARCHIVE_H
#define SW_RUNNER_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

/* ---- what users see ------------------------------------------------------------------------ */

bool archive_is(const char *path);              /* by its ending */
char *archive_stem(const char *path);           /* without that ending; owned */

/* Unpack beside it into archive_stem(), or into the folder it lies in. Done before and still the
 * same archive: nothing happens. `warn` hears of members left out. */
int archive_unpack(const char *path, bool into_parent,
                   void (*warn)(void *context, const char *text), void *warn_context,
                   struct sw_error *err);
bool archive_is_unpacked(const char *path, bool into_parent);
/* Unpack a tar.gz of ours into a folder that may exist already. */
int archive_unpack_into(const char *path, const char *folder, struct sw_error *err);

/* ---- members ------------------------------------------------------------------------------- */

enum archive_kind { ARCHIVE_FILE, ARCHIVE_FOLDER, ARCHIVE_LINK, ARCHIVE_HARD_LINK, ARCHIVE_OTHER };

struct archive_member {
    const char *name;               /* as the archive has it: not yet checked */
    enum archive_kind kind;
    const char *target;             /* of links */
    mode_t mode;
    int64_t size;
    int64_t mtime_s;
};

/* Called in order: member(), then data() as often as needed, then end(). Non-zero stops with err
 * filled in by the visitor. */
struct archive_visitor {
    int (*member)(void *context, const struct archive_member *member, struct sw_error *err);
    int (*data)(void *context, const void *bytes, size_t length, struct sw_error *err);
    int (*end)(void *context, struct sw_error *err);
    void *context;
};

/* ---- streams ------------------------------------------------------------------------------- */

/* Bytes one after another: count, 0 at the end, -1 with err. */
struct archive_stream {
    ssize_t (*read)(struct archive_stream *stream, void *bytes, size_t length,
                    struct sw_error *err);
    void (*close)(struct archive_stream *stream);
};

/* The plain bytes of a file, decompressed by what its first bytes say. */
struct archive_stream *archive_stream_open(int fd, const char *name, struct sw_error *err);
void archive_stream_close(struct archive_stream *stream);
SW_DEFINE_AUTO(archive_stream, struct archive_stream *, archive_stream_close)
/* "gzip, bzip2 (program), ...": what this build unpacks by itself and what by a program. */
void archive_codecs_describe(struct sw_buf *out);

int archive_read_tar(struct archive_stream *stream, const struct archive_visitor *visitor,
                     struct sw_error *err);
int archive_read_zip(int fd, const struct archive_visitor *visitor, struct sw_error *err);

/* ---- below one folder ---------------------------------------------------------------------- */

struct archive_place;
struct archive_place *archive_place_open(const char *folder,
                                         void (*warn)(void *context, const char *text),
                                         void *warn_context, struct sw_error *err);
void archive_place_close(struct archive_place *place);
SW_DEFINE_AUTO(archive_place, struct archive_place *, archive_place_close)
struct archive_visitor archive_place_visitor(struct archive_place *place);

/* "a/./b//c" -> "a/b/c", owned; NULL: it leads out ("..", absolute) or is too long. "." and ""
 * give "". Pure. */
char *archive_name(const char *name);
/* May a link in the folder of `name` point there? Pure. */
bool archive_link_stays_inside(const char *name, const char *target);

#endif
