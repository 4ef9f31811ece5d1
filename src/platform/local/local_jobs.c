/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_jobs.c - the jobs whose folders are here, known to the store or not.
 */
#include "platform/local/local_internal.h"

#include <dirent.h>
#include <pwd.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "core/id.h"
#include "core/state.h"

static json_t *row_of(struct sw_connection *conn, const char *id)
{
    sw_autofree char *folder = local_attempt_folder(conn, id, local_newest_attempt(conn, id));
    sw_auto(json) json_t *over = local_record_read(folder, LOCAL_EXIT);
    sw_auto(json) json_t *status = over ? NULL : local_record_read(folder, LOCAL_STATUS);
    const char *state = sw_json_str(over ? over : status, "state");
    struct passwd entry, *user = NULL;
    struct stat info;
    char room[1024];

    if (stat(folder, &info) < 0)
        return NULL;
    getpwuid_r(info.st_uid, &entry, room, sizeof room, &user);
    return sw_json_object(SW_STR("id", id), SW_STR("state", state ? state : sw_state_name(SW_UNKNOWN)),
                          SW_STR_OPT("owner", user ? user->pw_name : NULL),
                          SW_INT("created_ms", (json_int_t)info.st_mtim.tv_sec * 1000));
}

json_t *local_jobs(struct sw_connection *conn, struct sw_error *err)
{
    json_t *rows = json_array(), *row;
    DIR *folders = opendir(conn->root);

    (void)err;
    for (struct dirent *entry; folders && (entry = readdir(folders));)
        if (sw_id_valid(entry->d_name) && local_newest_attempt(conn, entry->d_name) > 0 &&
            (row = row_of(conn, entry->d_name)))
            json_array_append_new(rows, row);
    if (folders)
        closedir(folders);
    return rows;
}
