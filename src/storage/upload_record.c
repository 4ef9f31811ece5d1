/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upload_record.c - see upload_record.h. The first line is a JSON object, each further one a part:
 * "NUMBER ETAG CRC". Lines are only appended, so a kill at any instant loses at most the last.
 */
#include "storage/upload_record.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#define RECORD_MAX (2 * 1024 * 1024)       /* 10,000 parts with long ETags */
#define ETAG_MAX   128

/* ---- reading ------------------------------------------------------------------------------------- */

static void read_part(struct upload_record *record, const char *line, size_t length)
{
    char text[ETAG_MAX + SW_CRC_HEX + 24], etag[ETAG_MAX + 1], crc[SW_CRC_HEX] = "";
    unsigned long number;

    if (length >= sizeof text)
        return;
    memcpy(text, line, length);
    text[length] = '\0';
    if (sscanf(text, "%9lu %128s %8[0-9a-f]", &number, etag, crc) < 2 || number < 1 ||
        number > record->part_count)
        return;
    free(record->parts[number - 1].etag);
    record->parts[number - 1].etag = sw_strdup(etag);
    memcpy(record->parts[number - 1].crc, crc, sizeof crc);
}

bool upload_record_read(struct upload_record *record, const char *text, size_t length,
                        const char *identity, int64_t unit)
{
    const char *end = text + length, *line = memchr(text, '\n', length);
    sw_auto(json) json_t *head = line ? sw_json_parse(text, (size_t)(line - text), "record", NULL)
                                      : NULL;
    const char *upload = sw_json_str(head, "upload");

    if (sw_text_empty(upload))
        return false;
    if (!sw_text_same(sw_json_str(head, "file"), identity) || sw_json_int(head, "unit", 0) != unit) {
        record->stale = sw_strdup(upload);
        return false;
    }
    record->upload = sw_strdup(upload);
    record->checked = sw_json_bool(head, "checked", false);
    for (line++; line < end; line++) {
        const char *next = memchr(line, '\n', (size_t)(end - line));

        if (!next)
            break;                         /* its writer was killed */
        read_part(record, line, (size_t)(next - line));
        line = next;
    }
    return true;
}

/* ---- the file -------------------------------------------------------------------------------------- */

static bool lock_record(struct upload_record *record)
{
    struct stat opened, named;

    record->fd = open(record->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    return record->fd >= 0 && flock(record->fd, LOCK_EX | LOCK_NB) == 0 &&
           fstat(record->fd, &opened) == 0 && stat(record->path, &named) == 0 &&
           opened.st_ino == named.st_ino;
}

void upload_record_open(struct upload_record *record, const char *folder, const char *from,
                        const char *to, const char *identity, int64_t unit, size_t part_count)
{
    sw_autofree char *both = sw_format("%s\n%s", from, to);
    sw_autofree char *text = NULL;
    char hash[SW_DIGEST_HEX];
    size_t length;

    *record = (struct upload_record)UPLOAD_RECORD_INIT;
    if (!folder || sw_mkdirs(folder, 0700, NULL) < 0)
        return;
    sw_sha256_hex(both, strlen(both), hash);
    record->path = sw_format("%s/%.32s", folder, hash);
    record->parts = sw_alloc(part_count * sizeof *record->parts);
    record->part_count = part_count;
    if (!lock_record(record)) {
        upload_record_close(record);
        return;
    }
    text = sw_file_read(record->path, RECORD_MAX, &length, NULL);
    if (!text || !upload_record_read(record, text, length, identity, unit))
        (void)!ftruncate(record->fd, 0);
}

void upload_record_begin(struct upload_record *record, const char *upload, const char *identity,
                         int64_t unit, bool checked)
{
    sw_auto(json) json_t *head = NULL;
    sw_autofree char *text = NULL;

    if (record->fd < 0)
        return;
    head = sw_json_object(SW_STR("upload", upload), SW_STR("file", identity), SW_INT("unit", unit),
                          SW_BOOL("checked", checked));
    text = sw_json_dump(head);
    if (ftruncate(record->fd, 0) == 0 && sw_write_all(record->fd, text, strlen(text)) == 0)
        (void)!write(record->fd, "\n", 1);
}

void upload_record_part(struct upload_record *record, size_t index, const char *etag,
                        const char *crc)
{
    char line[ETAG_MAX + SW_CRC_HEX + 24];
    int length = snprintf(line, sizeof line, "%zu %s %s\n", index + 1, etag, crc ? crc : "");

    if (record->fd >= 0 && length < (int)sizeof line && !strpbrk(etag, " \t\r\n"))
        (void)!write(record->fd, line, (size_t)length);
}

void upload_record_drop(struct upload_record *record)
{
    if (record->fd >= 0)
        unlink(record->path);
    upload_record_close(record);
}

void upload_record_close(struct upload_record *record)
{
    for (size_t i = 0; i < record->part_count; i++)
        free(record->parts[i].etag);
    free(record->parts);
    if (record->fd >= 0)
        close(record->fd);
    free(record->path);
    free(record->upload);
    free(record->stale);
    *record = (struct upload_record)UPLOAD_RECORD_INIT;
}
