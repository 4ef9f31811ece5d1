/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_format.c - the names and file endings of the three formats.
 *
 * Apart from document.c: the runner needs the names, and shall not link the readers with them.
 */
#include "base/document.h"

#include <string.h>

#include "base/text.h"

static const struct {
    const char *word;
    const char *endings[2];
} formats[] = {
    [SW_YAML] = { "yaml", { ".yaml", ".yml" } },
    [SW_JSON] = { "json", { ".json" } },
    [SW_TOML] = { "toml", { ".toml" } },
};

const char *sw_format_name(enum sw_format format)
{
    return formats[format].word;
}

int sw_format_of_path(const char *path, enum sw_format *format, struct sw_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    const char *ending = strrchr(file, '.');

    if (!ending || ending == file) {
        *format = SW_YAML;
        return 0;
    }
    for (size_t i = 0; i < SW_COUNT(formats); i++)
        for (size_t k = 0; k < SW_COUNT(formats[i].endings); k++)
            if (sw_text_same_nocase(ending, formats[i].endings[k])) {
                *format = (enum sw_format)i;
                return 0;
            }
    sw_fail(err, SW_E_USAGE, "'%s': unknown file type '%s'", path, ending);
    return sw_hint(err, "use .yaml, .yml, .json or .toml");
}

int sw_format_parse(const char *word, enum sw_format *format, struct sw_error *err)
{
    if (sw_text_same_nocase(word, "yml"))
        word = "yaml";
    for (size_t i = 0; i < SW_COUNT(formats); i++)
        if (sw_text_same_nocase(word, formats[i].word)) {
            *format = (enum sw_format)i;
            return 0;
        }
    return sw_fail(err, SW_E_USAGE, "unknown format '%s': use yaml, json or toml", word);
}
