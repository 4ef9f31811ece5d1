/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.c - see spool.h.
 */
#include "platform/kit/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/file.h"
#include "platform/kit/log_index.h"

/* Both readings of the platform's clock are whole seconds; less than this is within the overlap. */
enum { SET_BACK_MS = 3500 };

static const char magic[8] = "swlog02";

uint64_t sw_spool_hash(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t check_of(const struct sw_spool_note *note)
{
    return sw_spool_hash(note, offsetof(struct sw_spool_note, check));
}

static uint64_t check_of_marks(const struct sw_spool_note *note)
{
    return sw_spool_hash(&note->marks, offsetof(struct sw_spool_marks, check)) ^
           sw_spool_hash(&note->messages, sizeof note->messages);
}

static int open_one(const char *folder, int replica, const char *ending)
{
    sw_autofree char *path = sw_format("%s/%d.%s", folder, replica, ending);

    return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

int sw_spool_open(struct sw_spool *spool, const char *folder, int replica,
                      struct sw_error *err)
{
    *spool = (struct sw_spool)SW_SPOOL_INIT;
    if (sw_mkdirs(folder, 0700, err) < 0)
        return -1;
    spool->log = open_one(folder, replica, "log");
    spool->index = open_one(folder, replica, "idx");
    spool->state = open_one(folder, replica, "state");
    if (spool->log >= 0 && spool->index >= 0 && spool->state >= 0)
        return 0;
    sw_fail_errno(err, SW_E_IO, "cannot store a log in '%s'", folder);
    sw_spool_close(spool);
    return -1;
}

void sw_spool_close(struct sw_spool *spool)
{
    int *const all[] = { &spool->log, &spool->index, &spool->state };

    for (size_t i = 0; i < SW_COUNT(all); i++) {
        if (*all[i] >= 0)
            close(*all[i]);
        *all[i] = -1;
    }
    sw_buf_done(&spool->fresh);
}

/* Bytes beyond the note are from a process that died. After a log that is shorter than its note, or
 * a damaged note, the spool begins anew. */
static int make_sound(struct sw_spool *spool)
{
    struct sw_spool_note *note = &spool->note;
    struct stat info;

    if (fstat(spool->log, &info) < 0)
        return -1;
    if (memcmp(note->magic, magic, sizeof magic) != 0 || note->check != check_of(note) ||
        info.st_size < note->bytes) {
        *note = (struct sw_spool_note){ 0 };
        memcpy(note->magic, magic, sizeof magic);
        if (ftruncate(spool->index, 0) < 0)
            return -1;
    }
    return info.st_size > note->bytes ? ftruncate(spool->log, note->bytes) : 0;
}

int sw_spool_lock(struct sw_spool *spool, struct sw_error *err)
{
    int locked;

    assert(!spool->locked);
    do
        locked = flock(spool->state, LOCK_EX);
    while (locked < 0 && errno == EINTR);
    if (locked < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot lock a log");
    spool->note = (struct sw_spool_note){ 0 };
    if (pread(spool->state, &spool->note, sizeof spool->note, 0) <
        (ssize_t)offsetof(struct sw_spool_note, marks))
        spool->note = (struct sw_spool_note){ 0 };
    if (spool->note.marks.check != check_of_marks(&spool->note))
        spool->note.marks = (struct sw_spool_marks){ 0 };
    spool->locked = make_sound(spool) == 0;
    if (spool->locked)
        return 0;
    flock(spool->state, LOCK_UN);
    return sw_fail_errno(err, SW_E_IO, "cannot repair a log");
}

static int write_at(int fd, const char *bytes, size_t length, int64_t offset)
{
    while (length > 0) {
        ssize_t n = pwrite(fd, bytes, length, offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        bytes += n;
        length -= (size_t)n;
        offset += n;
    }
    return 0;
}

int sw_spool_unlock(struct sw_spool *spool, struct sw_error *err)
{
    struct sw_spool_note *note = &spool->note;
    int64_t before = note->bytes - (int64_t)spool->fresh.length;
    int result = 0;

    assert(spool->locked);
    if (spool->fresh.length)
        result = write_at(spool->log, spool->fresh.data, spool->fresh.length, before);
    if (result == 0) {
        note->check = check_of(note);
        note->marks.check = check_of_marks(note);
        result = write_at(spool->state, (const char *)note, sizeof *note, 0);
    }
    if (result < 0)
        sw_fail_errno(err, SW_E_IO, "cannot store a log");
    sw_buf_clear(&spool->fresh);
    spool->locked = false;
    flock(spool->state, LOCK_UN);
    return result;
}

int sw_spool_read_note(struct sw_spool *spool, struct sw_error *err)
{
    return sw_spool_lock(spool, err) < 0 ? -1 : sw_spool_unlock(spool, err);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void note_time(struct sw_spool_note *note, int64_t at_s)
{
    if (at_s > note->last_s) {
        int64_t gap = at_s - note->last_s;

        for (int64_t i = 1; i <= gap && i <= SW_SPOOL_SECONDS; i++)
            note->recent[(at_s - (i - 1)) % SW_SPOOL_SECONDS] = 0;
        note->last_s = at_s;
    }
    if (at_s >= note->last_s - SW_SPOOL_OVERLAP_S)
        note->recent[at_s % SW_SPOOL_SECONDS]++;
    else
        note->unsorted = 1;
}

/* After note_time(). A spool that began without marks gets none for its beginning. */
static void note_marks(struct sw_spool_note *note, int64_t number, int64_t at_ns)
{
    int64_t at_s = at_ns / 1000000000;
    struct sw_spool_marks *marks = &note->marks;

    if (number == 0)
        marks->begin_ns = at_ns;
    if (at_ns > marks->newest_ns)
        marks->newest_ns = at_ns;
    if (note->recent[at_s % SW_SPOOL_SECONDS] == 1)
        marks->first[at_s % SW_SPOOL_SECONDS] = (struct sw_spool_mark){ number, at_ns };
}

static void add_to_index(struct sw_spool *spool, int64_t at_ms)
{
    struct sw_spool_note *note = &spool->note;
    char line[64];
    struct stat info;
    int length;

    if (at_ms - note->indexed_ms < SW_LOG_INDEX_EVERY_MS || fstat(spool->index, &info) < 0)
        return;
    length = snprintf(line, sizeof line, "%lld %lld\n", (long long)note->bytes, (long long)at_ms);
    note->indexed_ms = at_ms;
    write_at(spool->index, line, (size_t)length, info.st_size);     /* only times need it */
}

void sw_spool_add(struct sw_spool *spool, int64_t number,
                      const struct sw_log_message *message)
{
    struct sw_spool_note *note = &spool->note;

    assert(spool->locked);
    if (number < note->messages)
        return;
    note->messages = number + 1;
    if (message->at_ns > 0) {
        note_time(note, message->at_ns / 1000000000);
        note_marks(note, number, message->at_ns);
        add_to_index(spool, message->at_ns / 1000000);
    } else {
        note->unsorted = 1;
    }
    sw_buf_add_bytes(&spool->fresh, message->bytes, message->length);
    note->bytes += (int64_t)message->length;
}

void sw_spool_say(struct sw_spool *spool, const char *line)
{
    assert(spool->locked);
    sw_buf_add(&spool->fresh, line);
    spool->note.bytes += (int64_t)strlen(line);
}

bool sw_spool_clock(struct sw_spool *spool, int64_t server_ms, int64_t machine_ms,
                        uint64_t boot)
{
    struct sw_spool_note *note = &spool->note;
    int64_t skew_ms = server_ms - machine_ms;
    bool known = note->boot != 0 && note->messages > 0;
    bool set_back = known && (note->boot != boot || skew_ms < note->skew_ms - SET_BACK_MS);

    assert(spool->locked);
    note->skew_ms = skew_ms;
    note->boot = boot;
    if (!set_back || note->unsorted)
        return false;
    note->unsorted = 1;
    return true;
}

int64_t sw_spool_resume(const struct sw_spool *spool, int64_t *since_s)
{
    const struct sw_spool_note *note = &spool->note;
    int64_t again = 0;

    assert(spool->locked);
    *since_s = 0;
    if (note->unsorted || note->last_s <= SW_SPOOL_OVERLAP_S)
        return 0;
    *since_s = note->last_s - SW_SPOOL_OVERLAP_S;
    for (int64_t s = *since_s; s <= note->last_s; s++)
        again += note->recent[s % SW_SPOOL_SECONDS];
    return note->messages - again;
}

int64_t sw_spool_expects(const struct sw_spool *spool, int64_t since_s)
{
    const struct sw_spool_note *note = &spool->note;
    struct sw_spool_mark first = { INT64_MAX, 0 };

    assert(spool->locked);
    if (since_s == 0)
        return note->marks.begin_ns;
    for (int64_t s = since_s; s <= note->last_s; s++) {
        const struct sw_spool_mark *mark = &note->marks.first[s % SW_SPOOL_SECONDS];

        if (note->recent[s % SW_SPOOL_SECONDS] > 0 && mark->number < first.number)
            first = *mark;
    }
    return first.at_ns / 1000000000 >= since_s ? first.at_ns : 0;
}
