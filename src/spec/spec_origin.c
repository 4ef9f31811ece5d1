/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_origin.c - where a value came from, in words: for complaints and for `slipway plan`.
 *
 * A value has two paths. `path` is where it will stand in the spec ("slurm.partition"), `place`
 * where it stands in its document ("slurm_big.partition" of env.toml). They differ only in
 * profiles, but there they differ always, so both are kept in step here.
 */
#include "spec/spec_internal.h"

#include <string.h>

#include "base/text.h"

/* Longer paths get no source: a hostile config could otherwise cost depth times size. */
#define PATH_MAX_BYTES 512

void spec_check_done(struct spec_check *check)
{
    sw_buf_done(&check->filled);
    sw_buf_done(&check->path);
    sw_buf_done(&check->place);
}

static void cut(struct sw_buf *buf, size_t length)
{
    if (!buf->data)
        return;
    buf->length = length;
    buf->data[length] = '\0';
}

struct spec_mark spec_enter(struct spec_check *check, const char *key)
{
    struct spec_mark mark = { check->path.length, check->place.length };

    sw_path_add_key(&check->path, key);
    sw_path_add_key(&check->place, key);
    return mark;
}

struct spec_mark spec_enter_index(struct spec_check *check, size_t index)
{
    struct spec_mark mark = { check->path.length, check->place.length };

    sw_path_add_index(&check->path, index);
    sw_path_add_index(&check->place, index);
    return mark;
}

void spec_rename(struct spec_check *check, struct spec_mark mark, const char *key)
{
    cut(&check->path, mark.path);
    sw_path_add_key(&check->path, key);
}

void spec_leave(struct spec_check *check, struct spec_mark mark)
{
    cut(&check->path, mark.path);
    cut(&check->place, mark.place);
}

/* The flag that sets this path: "--env" for env.A, "--set retry.max" for a field of a group. */
static char *flag_of_path(const char *path)
{
    size_t length = strcspn(path, ".[");
    sw_autofree char *key = sw_strndup(path, length);
    const struct sw_option *row = sw_option_find(sw_spec_keys, key);

    return row && row->flag ? sw_format("--%s", row->flag) : sw_format("--set %s", path);
}

char *spec_where(const struct spec_check *check)
{
    struct sw_position at;

    if (check->origin == SPEC_FLAGS)
        return check->path.length ? flag_of_path(sw_buf_text(&check->path)) : sw_strdup("flags");
    if (check->origin == SPEC_ELSEWHERE)
        return sw_strdup(check->label);
    at = sw_document_place(check->document, sw_buf_text(&check->place));
    if (at.line == 0)
        return sw_strdup(sw_document_name(check->document));
    return sw_format("%s:%d:%d", sw_document_name(check->document), at.line, at.column);
}

char *spec_subject(const struct spec_check *check, const char *path)
{
    sw_autofree char *flag = check->origin == SPEC_FLAGS ? flag_of_path(path) : NULL;
    sw_autofree char *shown = spec_shown(path);

    if (flag && (strcmp(flag + strlen("--"), path) == 0 || sw_text_starts(flag, "--set ")))
        return sw_strdup("");
    return sw_format("%s: ", shown);
}

char *spec_source(const struct spec_check *check)
{
    sw_autofree char *flag = NULL;
    struct sw_position at;

    switch (check->origin) {
    case SPEC_FLAGS:
        flag = flag_of_path(sw_buf_text(&check->path));
        return sw_format("flag %s", flag);
    case SPEC_PROFILE:
        at = sw_document_place(check->document, sw_buf_text(&check->place));
        return sw_format("profile [%s] %s:%d", check->label, sw_document_name(check->document),
                         at.line);
    case SPEC_FILE:
    case SPEC_ELSEWHERE:
        break;
    }
    if (check->filled.length > 0) {
        sw_autofree char *where = spec_where(check);

        return sw_format("%s (%s)", where, sw_buf_text(&check->filled));
    }
    return spec_where(check);
}

void spec_remember_source(struct spec_check *check)
{
    sw_autofree char *source = NULL;

    if (!check->sources || check->path.length > PATH_MAX_BYTES)
        return;
    source = spec_source(check);
    json_object_set_new(check->sources, sw_buf_text(&check->path), sw_json_text(source));
}
