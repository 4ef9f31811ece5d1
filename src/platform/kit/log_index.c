/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_index.c - see log_index.h. Reads 256 bytes a step; no state, no lock.
 */
#include "platform/kit/log_index.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INDEX_LINE_MAX = 64 };

/* "offset time\n" at the beginning of `text`; false: not (yet) a whole line of that form. */
static bool parse_line(const char *text, size_t length, struct sw_log_moment *out)
{
    const char *newline = memchr(text, '\n', length);
    char line[INDEX_LINE_MAX];
    long long offset, at_ms;
    int end = 0;

    if (!newline || newline - text >= INDEX_LINE_MAX)
        return false;
    memcpy(line, text, (size_t)(newline - text));
    line[newline - text] = '\0';
    if (sscanf(line, "%18lld %18lld%n", &offset, &at_ms, &end) != 2 || line[end] || offset < 0)
        return false;
    out->offset = offset;
    out->at_ms = at_ms;
    out->ends = out->begins + (newline - text) + 1;
    return true;
}

/* The first good line that begins at or after `from` and before `until`. */
static bool line_from(int fd, int64_t from, int64_t until, struct sw_log_moment *out)
{
    char text[4 * INDEX_LINE_MAX];

    while (from < until) {
        int64_t start = from > 0 ? from - 1 : 0;          /* a line begins after a newline */
        ssize_t n = pread(fd, text, sizeof text, start);
        const char *at = text, *newline;

        if (n <= 0)
            return false;
        newline = from > 0 ? memchr(text, '\n', (size_t)n) : NULL;
        if (from > 0 && !newline) {
            from = start + n + 1;                         /* a long stretch of rubbish */
            continue;
        }
        if (newline)
            at = newline + 1;
        out->begins = start + (at - text);
        if (out->begins >= until)
            return false;
        if (parse_line(at, (size_t)(n - (at - text)), out))
            return true;
        from = out->begins + 1;
    }
    return false;
}

static int64_t column(const struct sw_log_moment *moment, bool by_time)
{
    return by_time ? moment->at_ms : moment->offset;
}

/* The first moment whose offset (or time) is at or above `value`, in *found, and the one before it.
 * */
static bool search(int fd, bool by_time, int64_t value, struct sw_log_moment *before,
                   struct sw_log_moment *found)
{
    struct stat info;
    int64_t low = 0, high = fstat(fd, &info) == 0 ? info.st_size : 0;
    struct sw_log_moment here;
    bool has_found = false;

    *before = (struct sw_log_moment){ 0 };
    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (!line_from(fd, middle, high, &here)) {
            high = middle;                 /* no line begins in the upper half */
        } else if (column(&here, by_time) >= value) {
            *found = here;
            has_found = true;
            high = middle;
        } else {
            *before = here;
            low = here.ends;
        }
    }
    return has_found;
}

void sw_log_index_time(int index, int64_t offset, int64_t size, int64_t *at_ms, int64_t *until)
{
    struct sw_log_moment moment = { 0 }, next;
    bool has_next = offset < INT64_MAX && search(index, false, offset + 1, &moment, &next);

    *at_ms = moment.at_ms;
    *until = has_next ? next.offset : size > offset ? size : offset;
}

bool sw_log_index_since(int index, int64_t at_ms, struct sw_log_moment *found, struct sw_log_moment *before)
{
    return search(index, true, at_ms - SW_LOG_INDEX_EVERY_MS + 1, before, found);
}
