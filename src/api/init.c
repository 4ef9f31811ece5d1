/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.c - a job file for a folder, or from a file of another tool. Decided in translate/, read here.
 */
#include "api/api_internal.h"

#include <string.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/text.h"
#include "translate/translate.h"

/* Beside the job file and by a relative path: works without a network and in every clone of the folder. */
#define SCHEMA_FILE ".slipway-schema.json"

enum { DRAFT_FILE_MAX = 256 * 1024, DRAFT_FILES_MAX = 200 };

static char *answer(const struct sw_job_text *what, const char *tool, const char *from, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    if (sw_job_text_write(&text, what, err) < 0)
        return NULL;
    return api_text(sw_json_object(
        SW_INT("version", 1), SW_STR("job_file", sw_buf_text(&text)), SW_STR("schema_file", SCHEMA_FILE),
        SW_STR("tool", tool), SW_STR("from", from),
        SW_SUB("left_out", what->left_out ? json_incref((json_t *)what->left_out) : json_array())));
}

char *sw_translate_job(const char *file, const char *tool, const char *section, struct sw_error *err)
{
    size_t length = 0;
    sw_autofree char *text = sw_file_read(file, SW_TRANSLATE_MAX, &length, err);
    struct sw_translate_input input = {
        .text = text, .length = length, .name = file, .tool = tool, .section = section,
    };
    sw_auto(sw_translation) struct sw_translation *made = NULL;
    sw_auto(json) json_t *remarks = NULL;

    if (!text)
        return NULL;
    input.platforms = api_spec_platforms(&input.platform_count);
    made = sw_translate(&input, err);
    if (!made)
        return NULL;
    remarks = json_array();
    json_array_append_new(remarks, json_sprintf("Translated from %s (%s).", file, made->tool));
    return answer(&(struct sw_job_text){ .job = made->job, .left_out = made->left_out, .remarks = remarks,
                                         .schema = SCHEMA_FILE }, made->tool, file, err);
}

/* The files that decide, by name; those that cannot be read or are too large do not count. */
static json_t *read_files(const char *folder, struct sw_error *err)
{
    sw_auto(json) json_t *names = sw_folder_names(folder, err), *files = NULL;
    const json_t *name;
    size_t i;

    if (!names)
        return NULL;
    files = json_object();
    json_array_foreach(names, i, name) {
        const char *own = json_string_value(name);
        sw_autofree char *path = sw_path_join(folder, own), *text = NULL;
        size_t length = 0;

        if (!sw_draft_reads(own) || json_object_size(files) >= DRAFT_FILES_MAX)
            continue;
        text = sw_file_read_plain(path, DRAFT_FILE_MAX, &length, NULL);
        if (text && strlen(text) == length && sw_text_is_utf8(text))
            json_object_set_new(files, own, json_string(text));
    }
    return sw_take(files);
}

char *sw_draft_job(const char *folder, struct sw_error *err)
{
    sw_autofree char *whole = sw_path_absolute(folder, NULL), *path = NULL;
    sw_auto(json) json_t *files = whole ? read_files(whole, err) : NULL;
    const char *slash = whole ? strrchr(whole, '/') : NULL;
    struct sw_draft_input input = { .files = files, .folder = slash && slash[1] ? slash + 1 : "job" };
    sw_auto(sw_draft) struct sw_draft draft = { 0 };

    if (!files)
        return NULL;
    input.platforms = api_spec_platforms(&input.platform_count);
    sw_draft_make(&input, &draft);
    if (draft.translated) {
        path = strcmp(folder, ".") == 0 ? sw_strdup(draft.translated)
                                        : sw_path_join(folder, draft.translated);
        return sw_translate_job(path, NULL, NULL, err);
    }
    return answer(&(struct sw_job_text){ .job = draft.job, .ideas = draft.ideas, .remarks = draft.remarks,
                                         .schema = SCHEMA_FILE }, NULL, NULL, err);
}
