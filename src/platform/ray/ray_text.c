/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_text.c - Ray's log of a job, without what Ray and the runner wrote into it.
 *
 * Ray writes "Runtime env is setting up." and the entrypoint into the same file as the driver, and the second
 * of these lines only when the driver has begun: it may stand anywhere among the first output, even inside
 * one of its lines. So it is taken out by its exact text. All before the runner's first line is Ray's, or of
 * an earlier job with the same id, to whose log Ray appends; of a job whose runner never began that is all
 * there is, and it is shown.
 *
 * The same bytes are always cut into the same messages, whichever way they come. Pure.
 */
#include "platform/ray/ray_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "platform/kit/log_lines.h"

enum { PIECE_MOST = 64 * 1024, BEFORE_MOST = 64 * 1024 };

static char *mark_of(const char *entrypoint)
{
    const char *word = entrypoint ? strstr(entrypoint, RAY_START_BY) : NULL;
    const char *number = word ? word + strlen(RAY_START_BY) : "";

    return sw_report_begin_by(number, strspn(number, "0123456789"));
}

void ray_text_init(struct ray_text *text, const json_t *job)
{
    const char *id = sw_json_str(job, "submission_id"), *entrypoint = sw_json_str(job, "entrypoint");

    *text = (struct ray_text){ .held = SW_BUF_INIT, .before = SW_BUF_INIT };
    text->own = sw_format("Running entrypoint for job %s: %s\n", id ? id : "", entrypoint ? entrypoint : "");
    text->mark = mark_of(entrypoint);
}

void ray_text_done(struct ray_text *text)
{
    free(text->own);
    free(text->mark);
    sw_buf_done(&text->held);
    sw_buf_done(&text->before);
}

static int give(struct ray_text *text, const char *bytes, size_t length)
{
    return text->sink->take(text->sink->context, &(struct sw_log_message){
        .bytes = bytes, .length = sw_log_before_report(bytes, length) });
}

/* A line, or a piece of a long one. */
static int take_line(struct ray_text *text, const char *line, size_t length)
{
    size_t own = strlen(text->own);

    if (!text->begun) {
        if (memmem(line, length, text->mark, strlen(text->mark)))
            text->begun = true;
        else if (text->before.length < BEFORE_MOST)
            sw_buf_add_bytes(&text->before, line, length);
        return 0;
    }
    if (length >= own && memcmp(line + length - own, text->own, own) == 0)
        length -= own;
    return length ? give(text, line, length) : 0;
}

static int take_held(struct ray_text *text)
{
    int stop = text->held.length ? take_line(text, text->held.data, text->held.length) : 0;

    sw_buf_clear(&text->held);
    return stop;
}

int ray_text_feed(struct ray_text *text, const char *bytes, size_t length)
{
    while (length > 0) {
        size_t room = PIECE_MOST - text->held.length, most = length < room ? length : room;
        const char *end = memchr(bytes, '\n', most);
        size_t part = end ? (size_t)(end + 1 - bytes) : most;

        sw_buf_add_bytes(&text->held, bytes, part);
        if ((end || text->held.length >= PIECE_MOST) && take_held(text))
            return -1;
        bytes += part;
        length -= part;
    }
    return 0;
}

int ray_text_end(struct ray_text *text)
{
    int stop = take_held(text);

    if (!stop && !text->begun && text->before.length)
        stop = give(text, text->before.data, text->before.length);
    return stop;
}
