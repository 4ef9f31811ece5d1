/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_source.c - where inputs come from and outputs go: paths of this machine, or URIs that the
 * runner's transfer engine takes care of.
 */
#include "platform/local/local_internal.h"

#include <string.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/text.h"
#include "storage/storage.h"

static size_t scheme_length(const char *uri)
{
    const char *colon = strstr(uri, "://");

    if (!colon || colon == uri || memchr(uri, '/', (size_t)(colon - uri)))
        return 0;
    return (size_t)(colon - uri);
}

char *local_source_path(const char *uri, const char *base_dir, struct sw_error *err)
{
    size_t scheme = scheme_length(uri);
    const char *rest = scheme ? uri + scheme + 3 : uri;

    if (scheme && (scheme != 4 || strncmp(uri, "file", 4) != 0)) {
        sw_fail(err, SW_E_UNSUPPORTED, "'%s' is not a path of this machine", uri);
        sw_hint(err, "a plain path or file:// is meant here");
        return NULL;
    }
    if (scheme && sw_text_starts(rest, "localhost/"))
        rest += strlen("localhost");
    if (scheme && *rest != '/') {
        sw_fail(err, SW_E_SPEC, "'%s' names another machine: file:// needs three slashes", uri);
        return NULL;
    }
    if (sw_text_starts(rest, "~/")) {
        sw_autofree char *home = sw_path_home(rest + 2);

        return sw_path_absolute(home, "/");
    }
    return sw_path_absolute(rest, base_dir);
}

/* lustre:// and slurm:// are paths too, on whatever this machine has mounted. */
char *local_place_of(const char *uri, const char *base_dir, struct sw_error *err)
{
    sw_auto(sw_uri) struct sw_uri parts = { 0 };
    const struct sw_storage *storage;

    if (!sw_uri_is_remote(uri) || sw_text_starts(uri, "file://"))
        return local_source_path(uri, base_dir, err);
    if (sw_uri_parse(uri, &parts, err) < 0)
        return NULL;
    storage = sw_storage_find(parts.scheme, err);
    if (!storage)
        return NULL;
    return storage->local ? storage->path(&parts, err) : sw_strdup(uri);
}

int local_check_path(struct sw_connection *conn, const char *path, bool *exists, struct sw_error *err)
{
    sw_autofree char *place = local_source_path(path, NULL, err);

    (void)conn;
    return place ? sw_file_look(place, exists, err) : -1;
}

json_t *local_list_path(struct sw_connection *conn, const char *path, struct sw_error *err)
{
    sw_autofree char *place = local_source_path(path, NULL, err);

    (void)conn;
    return place ? sw_folder_names(place, err) : NULL;
}
