/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doc_convert.c - read one format from standard input, write another to standard output.
 *
 *     doc_convert yaml json <job.yaml
 *
 * With --each, standard input holds one JSON-quoted text per line, and every line is answered
 * by one line of JSON: {"text": ...} or {"error": ...}. The read-back tests convert thousands
 * of documents that way through a single process.
 */
#include <stdio.h>
#include <string.h>

#include "base/document.h"

static int convert(const char *text, size_t length, const enum sw_format formats[2],
                   struct sw_buf *out, struct sw_error *err)
{
    sw_auto(sw_document) struct sw_document *document =
        sw_document_parse(text, length, formats[0], "<stdin>", err);

    return document ? sw_document_write(out, sw_document_value(document), formats[1], err) : -1;
}

static void answer_line(const char *line, size_t length, const enum sw_format formats[2])
{
    struct sw_error err = { 0 };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_auto(json) json_t *text = sw_json_parse(line, length, "line", &err);
    sw_auto(json) json_t *answer = NULL;
    sw_autofree char *answer_text = NULL;

    if (text && convert(json_string_value(text), json_string_length(text), formats, &out, &err) == 0)
        answer = sw_json_object(SW_STR("text", sw_buf_text(&out)));
    else
        answer = sw_json_object(SW_STR("error", err.message));
    answer_text = sw_json_dump(answer);
    puts(answer_text);
    fflush(stdout);
}

static int convert_each(const enum sw_format formats[2])
{
    sw_autofree char *line = NULL;
    size_t room = 0;

    for (ssize_t n; (n = getline(&line, &room, stdin)) > 0;)
        answer_line(line, (size_t)n, formats);
    return 0;
}

static int convert_all(const enum sw_format formats[2], struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf in = SW_BUF_INIT, out = SW_BUF_INIT;

    for (size_t n; (n = fread(sw_buf_reserve(&in, 65536), 1, 65536, stdin)) > 0;)
        in.length += n;
    if (convert(sw_buf_text(&in), in.length, formats, &out, err) < 0)
        return -1;
    fwrite(sw_buf_text(&out), 1, out.length, stdout);
    return 0;
}

int main(int argc, char **argv)
{
    struct sw_error err = { 0 };
    bool each = argc > 1 && strcmp(argv[1], "--each") == 0;
    enum sw_format formats[2];

    if (argc != 3 + each) {
        fprintf(stderr, "usage: doc_convert [--each] FROM TO\n");
        return 64;
    }
    if (sw_format_parse(argv[1 + each], &formats[0], &err) < 0 ||
        sw_format_parse(argv[2 + each], &formats[1], &err) < 0 ||
        (each ? convert_each(formats) : convert_all(formats, &err)) < 0) {
        fprintf(stderr, "doc_convert: %s\n", err.message);
        return 1;
    }
    return 0;
}
