/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate_values.c - values that all tools have: amounts, commands, variables, data, a place to run.
 *
 * A job's command is read by sh, the other tools' scripts by bash. Most of them are the same to both; a
 * text that is not is handed to bash by name.
 *
 * Pure.
 */
#include "translate/translate_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/mount.h"

/* ---- amounts ------------------------------------------------------------------------------------- */

char *translate_scalar(const json_t *value)
{
    if (json_is_string(value))
        return sw_strdup(json_string_value(value));
    if (json_is_boolean(value))
        return sw_strdup(json_is_true(value) ? "true" : "false");
    if (json_is_integer(value))
        return sw_format("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return json_is_real(value) ? sw_format("%.15g", json_real_value(value)) : NULL;
}

char *translate_least(const json_t *value, bool *exact)
{
    sw_autofree char *text = translate_scalar(value);
    size_t length;

    if (!text)
        return NULL;
    length = strstr(text, "..") ? (size_t)(strstr(text, "..") - text) : strlen(text);
    *exact = text[length] == '\0';
    if (length > 0 && (text[length - 1] == '+' || text[length - 1] == 'x')) {
        length--;
        *exact = false;
    }
    while (length > 0 && text[length - 1] == ' ')
        length--;
    return sw_strndup(text, length);
}

char *translate_size(const char *text, const char *unit)
{
    static const char *const units[][2] = {
        { "", NULL }, { "K", "KiB" }, { "KB", "KiB" }, { "M", "MiB" }, { "MB", "MiB" }, { "G", "GiB" },
        { "GB", "GiB" }, { "T", "TiB" }, { "TB", "TiB" },
    };
    size_t digits = strspn(text, "0123456789.");
    const char *rest = text + digits + strspn(text + digits, " ");

    for (size_t i = 0; digits > 0 && i < SW_COUNT(units); i++)
        if (sw_text_same_nocase(rest, units[i][0]))
            return sw_format("%.*s%s", (int)digits, text, units[i][1] ? units[i][1] : unit);
    return NULL;
}

/* ---- what to run ---------------------------------------------------------------------------------- */

static bool needs_bash(const char *text)
{
    static const char *const signs[] = {
        "[[", "((", "=(", "<(", ">(", "<<<", "&>", "|&", "${!", "@]}", "*]}", "$'", "source ", "pipefail",
        "function ", "shopt ", "declare ", "mapfile ", "readarray ", "pushd ", "popd", "BASH_SOURCE",
        "$RANDOM", "$SECONDS",
    };

    for (size_t i = 0; i < SW_COUNT(signs); i++)
        if (strstr(text, signs[i]))
            return true;
    return false;
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Where this variable's name is, as a whole word; NULL: nowhere. */
static const char *find_name(const char *begin, const char *text, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = text; (at = strstr(at, name)); at += length)
        if ((at == begin || !is_name_char(at[-1])) && !is_name_char(at[length]))
            return at;
    return NULL;
}

static char *rename_one(const char *text, const struct translate_variable *row)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const char *begin = text;

    for (const char *at; (at = find_name(begin, text, row->theirs)); text = at + strlen(row->theirs)) {
        sw_buf_add_bytes(&out, text, (size_t)(at - text));
        sw_buf_add(&out, row->ours);
    }
    sw_buf_add(&out, text);
    return sw_buf_steal(&out);
}

static char *rename_variables(struct translating *at, int line, const char *text,
                              const struct translate_variable *variables)
{
    char *renamed = sw_strdup(text);

    for (; variables && variables->theirs; variables++) {
        char *before = renamed;

        if (!find_name(before, before, variables->theirs))
            continue;
        if (!variables->ours) {
            translate_leave_out(at, line, variables->theirs,
                                "no variable of a job has this; MASTER_ADDR and WORKER_ADDRS are addresses");
            continue;
        }
        renamed = rename_one(before, variables);
        free(before);
    }
    return renamed;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

void translate_command(struct translating *at, int line, const char *what, const char *text,
                       const struct translate_variable *variables)
{
    sw_autofree char *renamed = rename_variables(at, line, text, variables);

    if (is_blank(renamed)) {
        translate_leave_out(at, line, what, "it runs nothing: write the command into 'command'");
        translate_set(at, line, what, "command", "echo replace this with the command");
    } else if (needs_bash(renamed)) {
        translate_set(at, line, what, "argv", "bash");
        translate_set(at, line, what, "argv", "-c");
        translate_set(at, line, what, "argv", renamed);
    } else {
        translate_set(at, line, what, "command", renamed);
    }
}

static char *both(const char *first, const char *second)
{
    return sw_format("%s%s%s", first, *first && !sw_text_ends(first, "\n") ? "\n" : "", second);
}

/* Lines before the command, in the same shell. */
static void prepend(struct translating *at, int line, const char *what, const char *text)
{
    const json_t *argv = json_object_get(at->job, "argv");
    const char *now = argv ? json_string_value(json_array_get(argv, 2)) : sw_json_str(at->job, "command");
    sw_autofree char *whole = both(text, now ? now : "");

    json_object_del(at->job, "argv");
    json_object_del(at->job, "command");
    translate_command(at, line, what, whole, NULL);
}

void translate_setup(struct translating *at, int line, const char *what, const char *text,
                     const struct translate_variable *variables)
{
    sw_autofree char *renamed = rename_variables(at, line, text, variables);

    if (!is_blank(renamed))
        translate_set(at, line, what, "setup", renamed);
}

/* ---- variables and data ---------------------------------------------------------------------------- */

/* A name is in one of both. */
static void set_secret(struct translating *at, int line, const char *what, const char *name)
{
    json_t *env = json_object_get(at->job, "env");

    if (!translate_set(at, line, what, "secrets", name))
        return;
    json_object_del(env, name);
    if (env && json_object_size(env) == 0)
        json_object_del(at->job, "env");
}

void translate_env(struct translating *at, int line, const char *what, const char *name, const char *value)
{
    sw_autofree char *key = sw_format("env.%s", name);

    if (!value || translate_lists(at, "secrets", name)) {
        set_secret(at, line, what, name);
    } else if (sw_spec_looks_like_credential(name)) {
        translate_leave_out(at, line, name, "credentials are not written into job files: export it first");
        set_secret(at, line, what, name);
    } else {
        translate_set(at, line, what, key, value);
    }
}

void translate_input(struct translating *at, int line, const char *what, const char *path, const char *from)
{
    static const char *const schemes[] = { "s3://", "https://", "http://" };
    sw_autofree char *key = sw_format("inputs[\"%s\"]", path);

    if (*path != '/' || strchr(path, '"')) {
        translate_leave_out(at, line, what, "an input needs an absolute path in the job");
        return;
    }
    for (size_t i = 0; i < SW_COUNT(schemes); i++)
        if (sw_text_starts(from, schemes[i])) {
            translate_set(at, line, what, key, from);
            return;
        }
    translate_leave_out(at, line, what,
                        strstr(from, "://") ? "this storage is not supported: put the data into s3://"
                                            : "files of this machine travel with 'code', or come from s3://");
}

/* ---- where ------------------------------------------------------------------------------------------ */

/* Pods cannot mount a repository: it is cloned before the command. */
static void clone_repositories(struct translating *at)
{
    sw_auto(json) json_t *mounts = json_incref(json_object_get(at->job, "mounts"));
    sw_auto(sw_buf) struct sw_buf lines = SW_BUF_INIT;
    const json_t *each;
    size_t i;

    json_object_del(at->job, "mounts");
    json_array_foreach(mounts, i, each) {
        sw_auto(sw_mount) struct sw_mount mount = { 0 };

        if (sw_mount_parse(json_string_value(each), &mount, NULL) < 0 || mount.kind != SW_MOUNT_GIT) {
            translate_set(at, 0, "mounts", "mounts", json_string_value(each));
            continue;
        }
        sw_buf_add(&lines, "git clone ");
        sw_buf_add_quoted(&lines, mount.source);
        sw_buf_add_char(&lines, ' ');
        sw_buf_add_quoted(&lines, mount.target);
        sw_buf_add(&lines, " && git -C ");
        sw_buf_add_quoted(&lines, mount.target);
        sw_buf_add(&lines, " checkout ");
        sw_buf_add_quoted(&lines, mount.ref);
        sw_buf_add_char(&lines, '\n');
        if (sw_text_same(sw_json_str(at->job, "workdir"), mount.target)) {
            json_object_del(at->job, "workdir");         /* it is not there yet when the command starts */
            sw_buf_add(&lines, "cd ");
            sw_buf_add_quoted(&lines, mount.target);
            sw_buf_add_char(&lines, '\n');
        }
        translate_leave_out(at, 0, mount.source, "pods cannot mount a repository: it is cloned");
    }
    if (lines.length > 0)
        prepend(at, 0, "mounts", sw_buf_text(&lines));
}

void translate_rented(struct translating *at, const char *platform)
{
    bool many = sw_json_int(at->job, "nodes", 1) > 1;
    const char *image = translate_has(at, "gpus") ? "pytorch/pytorch" : "python:3.12";

    platform = platform ? platform : many ? "kubernetes" : "brev";
    translate_set(at, 0, "platform", "platform", platform);
    if (strcmp(platform, "kubernetes") == 0)
        clone_repositories(at);
    if (translate_has(at, "image") || strcmp(platform, "slurm") == 0)
        return;
    translate_set(at, 0, "image", "image", image);
    translate_leave_out(at, 0, "image", "the file names none, and a container needs one: this is a guess");
}
