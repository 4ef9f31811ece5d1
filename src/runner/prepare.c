/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare.c - before the command: inputs to their places, output folders, the config file.
 *
 * Inputs on this machine are linked, not copied: a data set is used where it is. Doing it again
 * (a second attempt, a second rank) finds the same link and is content.
 */
#include "runner/runner.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash != path ? sw_strndup(path, (size_t)(slash - path)) : sw_strdup("/");
}

static int link_input(const char *from, const char *path, struct sw_error *err)
{
    sw_autofree char *folder = folder_of(path);
    struct stat info;

    if (stat(from, &info) < 0)
        return sw_fail_errno(err, SW_E_NOT_FOUND, "input '%s'", from);
    if (sw_mkdirs(folder, 0777, err) < 0)
        return -1;
    if (symlink(from, path) == 0)
        return 0;
    if (errno == EEXIST && lstat(path, &info) == 0 && S_ISLNK(info.st_mode) &&
        unlink(path) == 0 && symlink(from, path) == 0)
        return 0;
    return sw_fail_errno(err, SW_E_IO, "cannot link the input '%s' to '%s'", from, path);
}

static int write_config(const struct sw_payload *payload, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    sw_autofree char *folder = folder_of(payload->config_path);

    if (sw_document_write(&text, payload->config, payload->config_format, err) < 0 ||
        sw_mkdirs(folder, 0777, err) < 0 ||
        sw_file_write(payload->config_path, sw_buf_text(&text), text.length, 0644, err) < 0)
        return sw_wrap(err, "cannot write the config");
    return 0;
}

int runner_prepare(const struct sw_payload *payload, struct sw_error *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach(payload->inputs, i, entry) {
        const char *from = sw_json_str(entry, "from"), *path = sw_json_str(entry, "path");

        if (!from || !path)
            return sw_fail(err, SW_E_SPEC, "input %zu of the payload is incomplete", i);
        if (link_input(from, path, err) < 0)
            return -1;
    }
    json_array_foreach(payload->outputs, i, entry) {
        const char *path = sw_json_str(entry, "path");
        /* A name with an ending is a file: only its folder is made. */
        sw_autofree char *folder = path ? folder_of(path) : NULL;
        bool is_file = path && strchr(strrchr(path, '/') ? strrchr(path, '/') : path, '.');

        if (path && sw_mkdirs(is_file ? folder : path, 0777, err) < 0)
            return -1;
    }
    return payload->config && payload->config_path ? write_config(payload, err) : 0;
}
