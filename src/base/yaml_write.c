/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_write.c - YAML that every reader reads the same way.
 *
 * Our files are read by PyYAML and OmegaConf, which follow YAML 1.1, where `no` is false, 12:30
 * is 750 and 1_000 is 1000. A list of all such spellings would never be complete, so the rule
 * is turned around: a text stays unquoted only if it begins with a letter, '_' or a path ("/",
 * "./", "../") and is none of a few words; every number, date or operator of any YAML begins
 * otherwise. Everything else is quoted.
 *
 * libyaml does the writing and has its own, purely syntactic, reasons to quote even more.
 */
#include "base/document_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/text.h"

struct yaml_writer {
    yaml_emitter_t emitter;
    struct sw_buf *out;
};

static bool is_reserved_word(const char *text)
{
    static const char *const words[] = {
        "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity",
    };

    for (size_t i = 0; i < SW_COUNT(words); i++)
        if (sw_text_same_nocase(text, words[i]))
            return true;
    return false;
}

static bool begins_harmlessly(const char *text)
{
    return isalpha((unsigned char)*text) || *text == '_' || *text == '/' ||
           sw_text_starts(text, "./") || sw_text_starts(text, "../");
}

static bool may_stay_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("_-./ :@%+=,~", text[i]))
            return false;
    return length > 0 && begins_harmlessly(text) && text[length - 1] != ' ' &&
           !strstr(text, ": ") && text[length - 1] != ':' && !is_reserved_word(text);
}

/* Block style shows a script as a script. Only for lines that no reader could trim or fold. */
static bool may_be_block(const char *text, size_t length)
{
    if (!strchr(text, '\n') || isspace((unsigned char)*text))
        return false;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];

        if ((c != '\n' && (c < 0x20 || c > 0x7e)) || (c == '\n' && i > 0 && text[i - 1] == ' '))
            return false;
    }
    return text[length - 1] != ' ';
}

static yaml_scalar_style_t text_style(const char *text, size_t length, bool is_key)
{
    if (may_stay_plain(text, length))
        return YAML_PLAIN_SCALAR_STYLE;
    if (!is_key && may_be_block(text, length))
        return YAML_LITERAL_SCALAR_STYLE;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] > 0x7e)
            return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return YAML_SINGLE_QUOTED_SCALAR_STYLE;
}

static int emit(struct yaml_writer *w, yaml_event_t *event, int made)
{
    return made && yaml_emitter_emit(&w->emitter, event) ? 0 : -1;
}

static int emit_scalar(struct yaml_writer *w, const char *text, size_t length, yaml_scalar_style_t style)
{
    yaml_event_t event;

    return emit(w, &event,
                yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
                                             (int)length, 1, 1, style));
}

static int emit_text(struct yaml_writer *w, const char *text, size_t length, bool is_key)
{
    return emit_scalar(w, text, length, text_style(text, length, is_key));
}

static int emit_number(struct yaml_writer *w, const json_t *value)
{
    char text[40];

    if (json_is_integer(value))
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        sw_real_format(json_real_value(value), text);
    return emit_scalar(w, text, strlen(text), YAML_PLAIN_SCALAR_STYLE);
}

static int emit_value(struct yaml_writer *w, const json_t *value);

static int emit_list(struct yaml_writer *w, const json_t *list)
{
    yaml_event_t event;
    const json_t *element;
    size_t i;

    if (emit(w, &event, yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
                                                             YAML_BLOCK_SEQUENCE_STYLE)) < 0)
        return -1;
    json_array_foreach(list, i, element)
        if (emit_value(w, element) < 0)
            return -1;
    return emit(w, &event, yaml_sequence_end_event_initialize(&event));
}

static int emit_map(struct yaml_writer *w, const json_t *map)
{
    yaml_event_t event;
    const char *key;
    json_t *value;

    if (emit(w, &event, yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
                                                            YAML_BLOCK_MAPPING_STYLE)) < 0)
        return -1;
    json_object_foreach((json_t *)map, key, value)
        if (emit_text(w, key, strlen(key), true) < 0 || emit_value(w, value) < 0)
            return -1;
    return emit(w, &event, yaml_mapping_end_event_initialize(&event));
}

static int emit_value(struct yaml_writer *w, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return emit_map(w, value);
    case JSON_ARRAY:
        return emit_list(w, value);
    case JSON_STRING:
        return emit_text(w, json_string_value(value), json_string_length(value), false);
    case JSON_INTEGER:
    case JSON_REAL:
        return emit_number(w, value);
    case JSON_TRUE:
        return emit_scalar(w, "true", 4, YAML_PLAIN_SCALAR_STYLE);
    case JSON_FALSE:
        return emit_scalar(w, "false", 5, YAML_PLAIN_SCALAR_STYLE);
    case JSON_NULL:
        break;
    }
    return emit_scalar(w, "null", 4, YAML_PLAIN_SCALAR_STYLE);
}

static int emit_document(struct yaml_writer *w, const json_t *value)
{
    yaml_event_t event;

    if (emit(w, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)) < 0 ||
        emit(w, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1)) < 0 ||
        emit_value(w, value) < 0 ||
        emit(w, &event, yaml_document_end_event_initialize(&event, 1)) < 0)
        return -1;
    return emit(w, &event, yaml_stream_end_event_initialize(&event));
}

static int append(void *context, unsigned char *bytes, size_t length)
{
    sw_buf_add_bytes(context, bytes, length);
    return 1;
}

int sw_yaml_write(struct sw_buf *out, const json_t *value, struct sw_error *err)
{
    struct yaml_writer writer = { .out = out };
    int result;

    if (!yaml_emitter_initialize(&writer.emitter))
        return sw_fail(err, SW_E_INTERNAL, "cannot start the YAML writer");
    yaml_emitter_set_output(&writer.emitter, append, out);
    yaml_emitter_set_unicode(&writer.emitter, 1);
    yaml_emitter_set_width(&writer.emitter, -1);
    result = emit_document(&writer, value);
    if (result < 0)
        sw_fail(err, SW_E_INTERNAL, "cannot write YAML: %s",
                writer.emitter.problem ? writer.emitter.problem : "no reason given");
    yaml_emitter_delete(&writer.emitter);
    return result;
}
