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
 * An archive is not trusted. Whatever it holds, nothing is written outside of its folder:
 * names are checked, folders are entered without following links, links may only point inside.
 */
#ifndef SW_RUNNER_ARCHIVE_H
#define SW_RUNNER_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "core/archive.h"

/* ---- what users see ------------------------------------------------------------------------ */

bool archive_is(const char *path);              /* by its ending */
char *archive_stem(const char *path);           /* without that ending; owned */

/* Unpack beside it into archive_stem(), or into the folder it lies in. Done before and still the
 * same archive: nothing happens. `marker` is the file that remembers it; NULL: a folder that is younger than
 * the archive shows it. `warn` gets the members that are left out. */
int archive_unpack(const char *path, bool into_parent, const char *marker,
                   void (*warn)(void *context, const char *text), void *warn_context,
                   struct sw_error *err);
bool archive_is_unpacked(const char *path, bool into_parent, const char *marker);
/* Unpack a tar.gz of ours into a folder that may exist already. */
int archive_unpack_into(const char *path, const char *folder, struct sw_error *err);

/* ---- streams ------------------------------------------------------------------------------- */

/* The plain bytes of a file, decompressed by what its first bytes say. */
struct sw_archive_stream *archive_stream_open(int fd, const char *name, struct sw_error *err);
/* "gzip, bzip2 (program), ...": what this build unpacks by itself and what by a program. */
void archive_codecs_describe(struct sw_buf *out);

int archive_read_zip(int fd, const struct sw_archive_visitor *visitor, struct sw_error *err);

#endif
