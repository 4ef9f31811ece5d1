/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document.c - one kind of document from three formats.
 *
 * What is the same for all formats happens here, before any parser sees the text: the size,
 * the encoding, the byte order mark. The file's ending decides the format. Standard input and
 * files without an ending (a pipe under /dev/fd) are read as YAML, which takes JSON as well;
 * an ending we do not know is refused, as guessing would only move the error further away.
 */
#include "base/document.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/document_internal.h"
#include "base/file.h"
#include "base/text.h"
#include "base/toml.h"

struct sw_document {
    json_t *value;
    struct sw_positions *positions;
    char *name;
};

int sw_source_fail(const struct sw_source *source, struct sw_position place, const char *fmt, ...)
{
    char why[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    if (place.line == 0)
        return sw_fail(source->err, SW_E_SPEC, "%s: %s", source->name, why);
    return sw_fail(source->err, SW_E_SPEC, "%s:%d:%d: %s", source->name, place.line, place.column,
                   why);
}

struct sw_position sw_source_place(const struct sw_source *source, size_t offset)
{
    struct sw_position place = { 1, 1 };

    for (size_t i = 0; i < offset && i < source->length; i++) {
        if (source->text[i] == '\n')
            place = (struct sw_position){ place.line + 1, 1 };
        else
            place.column += ((unsigned char)source->text[i] & 0xc0) != 0x80;
    }
    return place;
}

int sw_source_check(struct sw_source *source)
{
    if (source->length > SW_DOCUMENT_MAX)
        return sw_fail(source->err, SW_E_SPEC, "%s: larger than %d MiB", source->name,
                       SW_DOCUMENT_MAX / (1024 * 1024));
    if (source->length >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0) {
        source->text += 3;
        source->length -= 3;
    }
    for (size_t i = 0; i < source->length;) {
        size_t n = sw_text_utf8_char(source->text + i, source->length - i);

        if (n == 0 || source->text[i] == '\0')
            return sw_source_fail(source, sw_source_place(source, i),
                                  n ? "a NUL byte: not valid text" : "not valid UTF-8");
        i += n;
    }
    return 0;
}

static json_t *toml_read(const struct sw_source *source)
{
    return sw_toml_read(source->text, source->length, source->name, false, source->positions,
                        source->err);
}

static json_t *(*const readers[])(const struct sw_source *source) = {
    [SW_YAML] = sw_yaml_read, [SW_JSON] = sw_json_read, [SW_TOML] = toml_read,
};

struct sw_document *sw_document_parse(const char *text, size_t length, enum sw_format format,
                                      const char *name, struct sw_error *err)
{
    sw_auto(sw_document) struct sw_document *document = sw_document_from_json(NULL, name);
    struct sw_source source = { text, length, name, document->positions, err };

    if (sw_source_check(&source) < 0)
        return NULL;
    document->value = readers[format](&source);
    return document->value ? sw_take(document) : NULL;
}

struct sw_document *sw_document_read(const char *path, struct sw_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    enum sw_format format;
    size_t length;
    sw_autofree char *text = NULL;

    if (sw_format_of_path(path, &format, err) < 0)
        return NULL;
    text = sw_file_read(is_stdin ? "/dev/stdin" : path, SW_DOCUMENT_MAX, &length, err);
    if (!text)
        return NULL;
    return sw_document_parse(text, length, format, is_stdin ? "<stdin>" : path, err);
}

struct sw_document *sw_document_from_json(json_t *value, const char *name)
{
    struct sw_document *document = sw_new(struct sw_document);

    document->value = value;
    document->positions = sw_positions_new();
    document->name = sw_strdup(name);
    return document;
}

void sw_document_free(struct sw_document *document)
{
    if (!document)
        return;
    json_decref(document->value);
    sw_positions_free(document->positions);
    free(document->name);
    free(document);
}

json_t *sw_document_value(const struct sw_document *document)
{
    return document->value;
}

const char *sw_document_name(const struct sw_document *document)
{
    return document->name;
}

struct sw_position sw_document_place(const struct sw_document *document, const char *path)
{
    return sw_positions_find(document->positions, path);
}

const char *sw_document_written(const struct sw_document *document, const char *path)
{
    return sw_positions_find_written(document->positions, path);
}
