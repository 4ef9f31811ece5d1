/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - reading what report.h describes, and writing the line that marks a beginning.
 */
#include "core/report.h"

#include <string.h>

#include "base/text.h"
#include "core/reason.h"

enum { TEXT_MOST = 255 };

enum report_member { WHOLE, TEXT, TRUTH };

static const struct report_field {
    const char *group;            /* NULL: not in one */
    const char *key;
    enum report_member kind;
} fields[] = {
    { NULL, "job_id", TEXT }, { NULL, "rank", WHOLE }, { NULL, "phase", TEXT },
    { NULL, "at", TEXT }, { NULL, "exit_code", WHOLE }, { NULL, "signal", WHOLE },
    { NULL, "message", TEXT }, { NULL, "failed", TEXT }, { NULL, "error", TEXT },
    { NULL, "stopped", TRUTH }, { NULL, "canceled", TRUTH },
    { NULL, "timed_out", TRUTH }, { NULL, "failed_peer", WHOLE }, { NULL, "oom_kills", WHOLE },
    { "in", "files", WHOLE }, { "in", "bytes", WHOLE },
    { "out", "files", WHOLE }, { "out", "bytes", WHOLE }, { "out", "empty", WHOLE },
    { "ms", "prepare", WHOLE }, { "ms", "command", WHOLE }, { "ms", "collect", WHOLE },
    { "gpu", "count", WHOLE }, { "gpu", "memory_bytes", WHOLE },
    { "gpu", "memory_peak_bytes", WHOLE }, { "gpu", "busy_percent", WHOLE },
};

/* ---- one document ---------------------------------------------------------------------------- */

static json_t *clean_text(const json_t *value)
{
    sw_autofree char *text = sw_text_printable(json_string_value(value),
                                               json_string_length(value));
    size_t length = strlen(text);

    if (length > TEXT_MOST)
        for (length = TEXT_MOST; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;)
            length--;
    text[length] = '\0';
    for (char *at = text; (at = strpbrk(at, "\n\r\t"));)
        *at = ' ';
    return sw_json_text(text);
}

/* NULL: it is not what it should be. */
static json_t *clean_value(const json_t *value, enum report_member kind)
{
    switch (kind) {
    case WHOLE:
        return json_is_integer(value) && json_integer_value(value) >= 0
                   ? json_integer(json_integer_value(value)) : NULL;
    case TEXT:
        return json_is_string(value) ? clean_text(value) : NULL;
    case TRUTH:
        return json_is_true(value) ? json_true() : NULL;
    }
    return NULL;
}

static const json_t *group_in(const json_t *report, const struct report_field *field)
{
    return field->group ? json_object_get(report, field->group) : report;
}

static void put(json_t *report, const struct report_field *field, json_t *value)
{
    json_t *group = field->group ? json_object_get(report, field->group) : report;

    if (!group) {
        group = json_object();
        json_object_set_new(report, field->group, group);
    }
    json_object_set_new(group, field->key, value);
}

json_t *sw_report_clean(const json_t *given)
{
    json_t *report;

    if (!json_is_object(given))
        return NULL;
    report = json_object();
    for (size_t i = 0; i < SW_COUNT(fields); i++) {
        json_t *value = clean_value(json_object_get(group_in(given, &fields[i]), fields[i].key),
                                    fields[i].kind);

        if (value)
            put(report, &fields[i], value);
    }
    if (json_object_size(report) > 0)
        return report;
    json_decref(report);
    return NULL;
}

json_t *sw_report_parse(const char *text, size_t length)
{
    sw_auto(json) json_t *given = length <= SW_REPORT_MAX
                                      ? sw_json_parse(text, length, "report", NULL) : NULL;

    return sw_report_clean(given);
}

/* ---- in a log -------------------------------------------------------------------------------- */

static bool is_of(const json_t *report, const char *job_id, int rank)
{
    return sw_text_same(sw_json_str(report, "job_id"), job_id) &&
           (rank < 0 || sw_json_int(report, "rank", 0) == rank);
}

bool sw_report_is_last(const json_t *report)
{
    return json_object_get(report, "exit_code") != NULL;
}

/* Where the last line before `end` begins. */
static size_t line_begin(const char *log, size_t end)
{
    while (end > 0 && log[end - 1] != '\n')
        end--;
    return end;
}

static bool starts_here(const char *line, size_t length)
{
    size_t start = strlen(SW_REPORT_START);

    return length > start && memcmp(line, SW_REPORT_START, start) == 0;
}

json_t *sw_report_in_log(const char *log, size_t length, const char *job_id, int rank)
{
    const size_t start = strlen(SW_REPORT_START);

    for (size_t end = length; end > 0;) {
        size_t begin = line_begin(log, end - 1);
        sw_auto(json) json_t *report = NULL;

        if (log[end - 1] == '\n' && starts_here(log + begin, end - begin))
            report = sw_report_parse(log + begin + start, end - begin - start);
        if (report && is_of(report, job_id, rank))
            return sw_take(report);
        end = begin;
    }
    return NULL;
}

size_t sw_report_begin(const char *log, size_t length)
{
    size_t begin = length > 0 ? line_begin(log, length - 1) : 0;

    return length > 0 && log[length - 1] == '\n' && starts_here(log + begin, length - begin)
               ? begin : length;
}

/* ---- for others ------------------------------------------------------------------------------ */

const char *sw_report_reason(const json_t *report)
{
    static const struct {
        const char *phase, *reason;
    } reasons[] = { { "prepare", SW_REASON_PREPARE }, { "probe", SW_REASON_DESTINATION },
                    { "collect", SW_REASON_OUTPUTS }, { "ray", SW_REASON_NODE_LOST },
                    { "ray-start", SW_REASON_START } };
    const char *failed = sw_json_str(report, "failed");

    for (size_t i = 0; i < SW_COUNT(reasons); i++)
        if (sw_text_same(failed, reasons[i].phase))
            return reasons[i].reason;
    return NULL;
}

char *sw_report_warning(const json_t *report)
{
    int64_t empty = sw_json_int(json_object_get(report, "out"), "empty", 0);

    return empty > 0 ? sw_format("%lld declared output%s empty: nothing was copied for "
                                 "%s", (long long)empty,
                                 empty == 1 ? " is" : "s are", empty == 1 ? "it" : "them")
                     : NULL;
}

void sw_report_facts(const json_t *report, json_t *facts)
{
    int64_t peak = sw_json_int(json_object_get(report, "gpu"), "memory_peak_bytes", 0);

    if (!report)
        return;
    json_object_set(facts, "runner", (json_t *)report);
    if (peak > 0 && !json_object_get(facts, "peak_gpu_memory_bytes"))
        json_object_set_new(facts, "peak_gpu_memory_bytes", json_integer(peak));
}

static bool says_nothing(const json_t *value)
{
    return !value || (json_is_integer(value) && json_integer_value(value) == 0);
}

void sw_report_add(json_t *sum, const json_t *more)
{
    for (size_t i = 0; i < SW_COUNT(fields); i++) {
        json_t *value = json_object_get(group_in(more, &fields[i]), fields[i].key);

        if (value && says_nothing(json_object_get(group_in(sum, &fields[i]), fields[i].key)))
            put(sum, &fields[i], json_incref(value));
    }
}

char *sw_report_begin_by(const char *number, size_t length)
{
    return sw_format(SW_REPORT_BEGIN "%s%.*s\n", length ? " " : "", (int)length, number ? number : "");
}
