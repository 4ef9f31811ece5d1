/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crashes.c - a watcher that keeps crashing stays down.
 *
 * SOCKET.starts remembers the process that watches, and when earlier ones ended without a word:
 * {"running":{...},"crashes":[MS,...],"why":"..."}. Only the holder of the lock writes it. It is in the
 * runtime folder: after a reboot nothing of it counts any more.
 */
#include "watcher/watcher.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"

enum { CRASHES_MOST = 3, WITHIN_MS = 10 * 60 * 1000, LARGEST = 65536 };

static char *path_of(const struct sw_watcher_place *place, const char *kind)
{
    return sw_format("%s.%s", place->socket, kind);
}

/* Crashes within the last ten minutes, and no others. */
static json_t *read_record(const struct sw_watcher_place *place, int64_t now_ms)
{
    sw_autofree char *path = path_of(place, "starts");
    size_t length = 0;
    sw_autofree char *text = sw_file_read(path, LARGEST, &length, NULL);
    json_t *record = text ? json_loadb(text, length, 0, NULL) : NULL, *recent = json_array(), *each;
    size_t i;

    if (!json_is_object(record)) {
        json_decref(record);
        record = json_object();
    }
    json_array_foreach(json_object_get(record, "crashes"), i, each)
        if (json_integer_value(each) > now_ms - WITHIN_MS && json_integer_value(each) <= now_ms)
            json_array_append(recent, each);
    json_object_set_new(record, "crashes", recent);
    return record;
}

static int write_record(const struct sw_watcher_place *place, const json_t *record, struct sw_error *err)
{
    sw_autofree char *path = path_of(place, "starts"), *text = sw_json_dump(record);

    return sw_file_write(path, text, strlen(text), 0600, err);
}

/* What the last one could still say. */
static void note_crash(const struct sw_watcher_place *place, json_t *record, int64_t now_ms)
{
    sw_autofree char *path = path_of(place, "died"), *why = sw_file_read(path, 256, NULL, NULL);

    json_array_append_new(json_object_get(record, "crashes"), json_integer(now_ms));
    json_object_set_new(record, "why", sw_json_text(sw_text_empty(why) ? "it was killed" : why));
    unlink(path);
}

static int refuse(const json_t *record, struct sw_error *err)
{
    sw_fail(err, SW_E_REFUSED, "the watcher ended three times within ten minutes without finishing (%s)",
            sw_json_str(record, "why") ? sw_json_str(record, "why") : "it was killed");
    return sw_hint(err, "`slipway watcher` names its log; `slipway watcher start` starts it again");
}

static bool stays_down(const json_t *record)
{
    return json_array_size(json_object_get(record, "crashes")) >= CRASHES_MOST;
}

int sw_watcher_begin(const struct sw_watcher_place *place, struct sw_error *err)
{
    int64_t now_ms = sw_now_ms();
    sw_auto(json) json_t *record = read_record(place, now_ms);
    const json_t *last = json_object_get(record, "running");
    struct sw_proc self, before;

    if (sw_proc_self(&self) < 0)
        return sw_fail(err, SW_E_IO, "cannot read /proc");
    if (last && sw_proc_from_json(last, &before) == 0 && before.pid != self.pid)
        note_crash(place, record, now_ms);
    json_object_del(record, "running");
    if (!stays_down(record))
        json_object_set_new(record, "running", sw_proc_json(&self));
    if (write_record(place, record, err) < 0)
        return -1;
    return stays_down(record) ? refuse(record, err) : 0;
}

void sw_watcher_finish(const struct sw_watcher_place *place)
{
    sw_auto(json) json_t *record = read_record(place, sw_now_ms());

    json_object_del(record, "running");
    write_record(place, record, NULL);
}

int sw_watcher_may_start(const struct sw_watcher_place *place, struct sw_error *err)
{
    sw_auto(json) json_t *record = read_record(place, sw_now_ms());

    return stays_down(record) ? refuse(record, err) : 0;
}

void sw_watcher_failed(const struct sw_watcher_place *place)
{
    int64_t now_ms = sw_now_ms();
    sw_auto(json) json_t *record = read_record(place, now_ms);

    json_array_append_new(json_object_get(record, "crashes"), json_integer(now_ms));
    json_object_set_new(record, "why", sw_json_text("it did not start"));
    write_record(place, record, NULL);
}

void sw_watcher_forgive(const struct sw_watcher_place *place)
{
    sw_autofree char *path = path_of(place, "starts");

    unlink(path);
}

/* ---- the last word ----------------------------------------------------------------------------------- */

static int last_word = -1;

static void on_crash(int number)
{
    char text[] = "signal 00";

    text[7] = (char)('0' + number / 10);
    text[8] = (char)('0' + number % 10);
    (void)!write(last_word, text, sizeof text - 1);
    signal(number, SIG_DFL);
    raise(number);
}

void sw_watcher_note_crashes(const struct sw_watcher_place *place)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGSYS };
    sw_autofree char *path = path_of(place, "died");

    last_word = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    for (size_t i = 0; last_word >= 0 && i < SW_COUNT(signals); i++)
        signal(signals[i], on_crash);
}
