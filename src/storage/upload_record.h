/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upload_record.h - what this machine remembers of an upload in parts, so that a killed copy goes on.
 *
 * One file per upload in a folder of our own, never beside the user's: which file, as it was then,
 * goes where, under which upload id, and what the server answered to each part. A part is believed only
 * when the server still lists it with the same ETag and the file is still the same one. A lock keeps
 * two copies of one file apart: the second remembers nothing.
 */
#ifndef SW_STORAGE_UPLOAD_RECORD_H
#define SW_STORAGE_UPLOAD_RECORD_H

#include "storage/storage.h"

struct upload_part {
    char *etag;                  /* NULL: this part is not there */
    char crc[SW_CRC_HEX];        /* "": it was sent without */
};

struct upload_record {
    char *path;                  /* NULL: nothing is remembered */
    int fd;                      /* -1: not open; locked otherwise */
    char *upload;                /* begun earlier and good to go on with; NULL: none */
    char *stale;                 /* begun earlier with another file: to be given up; NULL: none */
    bool checked;                /* the server checks the crc32c of its parts */
    struct upload_part *parts;
    size_t part_count;
};
#define UPLOAD_RECORD_INIT { .fd = -1 }

/* Look for an earlier upload of `from`, which is `identity` now, to the URI `to`, in parts of this
 * size. Never fails: what cannot be remembered is sent anew. */
void upload_record_open(struct upload_record *record, const char *folder, const char *from,
                        const char *to, const char *identity, int64_t unit, size_t part_count);
void upload_record_begin(struct upload_record *record, const char *upload, const char *identity,
                         int64_t unit, bool checked);
void upload_record_part(struct upload_record *record, size_t index, const char *etag,
                        const char *crc);
void upload_record_drop(struct upload_record *record);      /* it is over: nothing to go on with */
void upload_record_close(struct upload_record *record);     /* the file stays */

/* Read a record's text; true: it is of this very file and part size. Pure. */
bool upload_record_read(struct upload_record *record, const char *text, size_t length,
                        const char *identity, int64_t unit);

#endif
